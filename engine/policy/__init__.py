"""Policies: the file format, the names that a policy defines, and its conditions as clauses.

Start at `policy.py`: `load` returns a Policy, which compiles privileges and operations on a type, and changes, to
clauses.
"""
