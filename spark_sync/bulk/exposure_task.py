"""A Spark task that sums the exposure of a block of targets, from the users before the block and the steps in it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from grantpath.engine.facts.kernel.intervals import Ints
from grantpath.graph.files.remote_path import AnyPath
from grantpath.spark_sync.bulk.bulk_questions import Name, listed_objects
from grantpath.spark_sync.bulk.sweep_task import opened

SCHEMA = "position long, name string, type string, users long"


@dataclass(frozen=True)
class Blocks:
    """The data that the tasks need. `before`: by condition and block, the users of the last target before the block."""

    folder: AnyPath
    meta: str
    names: Mapping[int, Sequence[Name]]  # by condition
    before: Mapping[tuple[int, int], int]
    size: int  # the number of targets in a block


def exposed(blocks: Blocks, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Turns rows (condition, block, steps), sorted by block, into the users of each target.

    `steps`: for each target of the block, how many more users it has than the previous target; null if the block has no
    steps. A target with users gets a row for each name of the condition; a target without users gets none.
    """
    current: tuple[int, int] | None = None
    sums = np.zeros(blocks.size, np.int64)
    for batch in batches:
        for condition, block, steps in zip(*(batch.column(at) for at in range(3)), strict=True):
            key = condition.as_py(), block.as_py()
            if current is not None and key != current:
                yield from _users(blocks, current, sums)
                sums = np.zeros(blocks.size, np.int64)
            current = key
            if steps.is_valid:
                more = np.frombuffer(steps.as_buffer(), np.int64)
                sums[: len(more)] += more
    if current is not None:
        yield from _users(blocks, current, sums)


def _users(blocks: Blocks, key: tuple[int, int], sums: Ints) -> Iterator[pa.RecordBatch]:
    condition, block = key
    names = blocks.names[condition]
    targets = listed_objects(opened(blocks.folder, blocks.meta), names[0].type)
    here = targets[block * blocks.size : (block + 1) * blocks.size]
    users = blocks.before.get(key, 0) + np.cumsum(sums)[: len(here)]
    some = users > 0
    positions, counts = pa.array(here[some]), pa.array(users[some])
    for each in names:
        words = (pa.array([word] * len(positions), pa.string()) for word in (each.name, each.type))
        yield pa.RecordBatch.from_arrays([positions, *words, counts], ["position", "name", "type", "users"])
