"""The facts of a root at one revision, in maps: building them, deltas, versions, and questions to them.

Start at `fact_version.py`.
"""
