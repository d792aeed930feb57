"""The mirror: a root of the graph as a snapshot. Start at `mirror.py`."""
