"""Isolated graphs: each root is one, with its own policy."""
