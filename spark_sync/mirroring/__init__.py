"""The mirror: a root of the graph as a snapshot. Start at `mirror.py`."""

from grantpath.graph.extras import require_extra

require_extra("spark", "a mirror")
