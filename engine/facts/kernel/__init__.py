"""The kernel: access as sets of intervals of positions in tree order.

Start at `intervals.py`; `fact_table.py` prepares questions for it.
"""
