"""Guarded changes, and the log of accepted changes.

Start at `service.py`: it takes statements, `apply.py` validates and writes them, and `audit_writer.py` logs them.
"""
