"""The mirror: a root of the graph as a snapshot. Start at `graph_reader.py`."""
