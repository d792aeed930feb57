"""Advice to an operator: the smallest set of statements after which an allowed check is refused."""
