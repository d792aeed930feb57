"""The comparison of all access before and after a change. Start at `comparison.py`."""
