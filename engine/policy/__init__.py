"""What a policy says: its file format, its names, and its conditions as clauses.

Start at `policy.py`: `load` gives a Policy, which turns a name on a type, or a change, into clauses.
"""
