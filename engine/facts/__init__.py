"""The facts of a root in arrays, and the kernel that decides questions from them, without a database or Spark.

Start at `fact_table.py`, which prepares questions for the kernel in `intervals.py`; `snapshot_reader.py` reads the
facts of a snapshot. This needs the extra `replica`.
"""

from grantpath.graph.extras import need_extra

need_extra("replica", "a copy of the facts")
