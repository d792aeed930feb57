"""The facts of a root in memory, and the decisions that follow from them, without Spark.

Start at `replica.py`, the copy of the facts that a question proves to be current. For all users at once,
`fact_table.py` prepares questions for the kernel in `intervals.py`; `snapshot_reader.py` reads the facts of a snapshot;
`comparison.py` compares all access before and after a change. The package needs the extra `replica`.
"""

from grantpath.graph.extras import need_extra

need_extra("replica", "a copy of the facts")
