"""Keeping a snapshot current by the deltas of the log. Start at `follower.py`."""

from grantpath.graph.extras import require_extra

require_extra("spark", "following a root")
