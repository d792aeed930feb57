"""Keeping a snapshot current by the deltas of the log. Start at `follower.py`."""
