"""Guarded reads and writes: the seqlock, the writer's lock and queue, heartbeats, bulk writes, recovery.

Start at `store.py` for reading, and at `revision_guard.py` for writing.
"""
