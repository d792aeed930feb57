"""The facts of a root in memory, and the decisions that follow from them, without Spark.

Start at `copy/replica.py`, the copy of the facts that a question proves to be current. For all users at once,
`kernel/fact_table.py` prepares questions for the kernel in `kernel/intervals.py`. `snapshot/snapshot_reader.py` reads
the facts of a snapshot. `compare/comparison.py` compares all access before and after a change. The package needs the
extra `replica`.
"""

from grantpath.graph.extras import require_extra

require_extra("replica", "a copy of the facts")
