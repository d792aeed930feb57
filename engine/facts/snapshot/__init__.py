"""Snapshots on disk: their format, their reader, and questions to them. Start at `snapshot_reader.py`."""
