"""Computes the bulk answers: the access of all users, by subject (reach) and by object (exposure), in one pass.

Small estates are answered in this process (`access_in_process.py`), which takes seconds; large ones by Spark
(`access_in_spark.py`). Both run the same functions, and write the same tables.
"""

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import pyarrow as pa

from grantpath.engine.answers.batches import require_list
from grantpath.graph.errors import InvalidInput
from grantpath.graph.extras import require_extra
from grantpath.graph.files.remote_path import AnyPath
from grantpath.graph.messages import counted
from grantpath.graph.progress import ReportLine
from grantpath.spark_sync.bulk.access_in_process import write_in_process
from grantpath.spark_sync.bulk.bulk_questions import Name, conditions
from grantpath.spark_sync.bulk.sweep_task import Sweep, forget, opened
from grantpath.spark_sync.session.snapshot import Snapshot, write_table
from grantpath.spark_sync.versions.remote_versions import writing

BROADCAST_MIB = 256  # if the facts need more, Spark joins them to the subjects, and no worker has all of them
IN_PROCESS_LIMIT = 250_000  # the most entities of an estate that is answered in this process
FACTS_PER_ENTITY = 8  # the most facts for each of these
ROWS = 200_000  # rows (subject, role, holder) in a sweep
BLOCK = 65_536  # a task sums the exposure of this many targets of one condition at a time
FACT_BYTES = 32  # memory of one fact in a worker: four integers


@dataclass(frozen=True)
class AccessReport:
    """A summary of the tables that `access` wrote into the snapshot."""

    snapshot: AnyPath
    names: list[Name]
    expanded: list[str]
    reach_rows: int
    accessible: dict[tuple[str, str], int]  # (name, type): the number of allowed pairs of user and object
    seconds: float


def access(
    snapshot: AnyPath | str,
    names: Sequence[str] | None = None,
    expand: Sequence[str] = (),
    progress: ReportLine = lambda _: None,
    broadcast_mib: int = BROADCAST_MIB,
    in_process_limit: int = IN_PROCESS_LIMIT,
) -> AccessReport:
    """Writes reach, exposure and, for the names in `expand`, intervals into the snapshot's folder `access`.

    `names` are privileges and operations, each on all of its types; None means all names that need no second object.

    A snapshot with at most `in_process_limit` entities, and 8 times as many facts, is answered in this process; a
    larger one by Spark, which needs the extra `spark`. In Spark, each worker has all facts in memory if they need at
    most `broadcast_mib` MiB. Otherwise Spark joins them to the subjects, which takes longer. Raises Unknown or Invalid
    for a name, InvalidInput if the snapshot cannot be read, ServerError, and GrantpathError if the disk is full.
    """
    started = time.monotonic()
    names = None if names is None else require_list("names", names, None)
    expand = require_list("names", expand, None)
    found = Snapshot(snapshot)
    folder, meta = found.folder.absolute(), found.meta.model_dump_json()  # workers have another working folder
    source = opened(folder, meta)  # the one that tasks in this process read
    wanted = None if names is None else (*names, *expand)
    listed, questions = conditions(source.policy, wanted)
    unknown = {name for name in expand if not any(each.name == name for each in listed)}
    if unknown:
        raise InvalidInput(
            f"expand: {', '.join(sorted(unknown))} needs a second object and has no bulk answer; omit it"
        )
    entities, facts = source.meta.counts["objects"], source.meta.counts["intervals"]
    here = entities <= in_process_limit and facts <= FACTS_PER_ENTITY * in_process_limit
    joined = not here and facts * FACT_BYTES > broadcast_mib * 2**20
    plans = [
        Sweep(folder, meta, wanted, frozenset(expand), one_role, joined, ROWS, BLOCK)
        for one_role in sorted({question.one_role for question in questions})
    ]
    source.require_complete()
    how = "in this process" if here else "joined to the subjects" if joined else "in each worker"
    progress(f"{counted(len(questions), 'conditions')} over {counted(facts, 'facts')}, {how}")
    with ExitStack() as done:
        done.callback(forget)
        fresh = done.enter_context(writing(source.folder / "access", replace=True))
        _write_names(fresh, listed)
        if here or not plans:
            written = write_in_process(plans, listed, fresh)
        else:
            require_extra("spark", f"an estate of {entities:,} entities")
            from grantpath.spark_sync.bulk.access_in_spark import write_in_spark

            written = write_in_spark(source, plans, listed, fresh, progress)
        report = AccessReport(found.folder, listed, [*expand], *written, time.monotonic() - started)
    progress(f"access of {entities:,} entities for {counted(len(listed), 'names')} in {report.seconds:.0f} s")
    return report


def _write_names(folder: AnyPath, listed: Sequence[Name]) -> None:
    conditions_of = pa.array([each.condition for each in listed], pa.int32())
    names, types = [each.name for each in listed], [each.type for each in listed]
    write_table(folder, "names", {"name": names, "type": types, "condition": conditions_of})
