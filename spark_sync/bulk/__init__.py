"""The access of all users, computed by Spark from a snapshot. Start at `bulk_access.py`."""
