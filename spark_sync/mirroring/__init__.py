"""The mirror: a root of the graph as a snapshot. Start at `mirror.py`."""

from grantpath.graph.extras import need_extra

need_extra("spark", "a mirror")
