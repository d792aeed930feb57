"""From the words of a question to its answer: decisions, lists, explanations, remedies.

Start at `request.py`, which resolves every question, then read `decision.py`.
"""
