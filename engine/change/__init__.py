"""Guarded changes, and the log of what was changed.

Start at `service.py`: it takes a statement, has `apply.py` judge and write it, and keeps it in the log.
"""
