"""The copy of a root's facts in this process, and the proof that it is current. Start at `replica.py`."""
