"""Answers questions: decisions, lists, explanations, remedies.

Start at `request.py`, which resolves every question, then read `decision.py`.
"""
