"""A Spark task that sums the exposure of a block of targets, from the users before the block and the steps in it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from grantpath.engine.facts.intervals import Ints
from grantpath.spark_sync.bulk_questions import Name, listed_objects
from grantpath.spark_sync.sweep_task import opened

SCHEMA = "position long, name string, type string, users long"


@dataclass(frozen=True)
class Blocks:
    """The data that the tasks need. `before`: by condition and block, the users of the last target before the block."""

    folder: Path
    meta: str
    names: Mapping[int, Sequence[Name]]  # by condition
    before: Mapping[tuple[int, int], int]
    size: int  # the number of targets in a block


def exposed(blocks: Blocks, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Turns steps (condition, block, a: target, b: more users), sorted by block, into the number of users by target.

    Each name of a condition has its own rows. Targets without users have no row.
    """
    current: tuple[int, int] | None = None
    steps = np.zeros(blocks.size, np.int64)
    for batch in batches:
        condition, block, target, more = (batch.column(at).to_numpy() for at in range(4))
        edges = np.flatnonzero((condition[1:] != condition[:-1]) | (block[1:] != block[:-1])) + 1
        for begin, end in zip([0, *edges], [*edges, len(condition)], strict=True):
            if begin == end:
                continue
            key = int(condition[begin]), int(block[begin])
            if current is not None and key != current:
                yield from _users(blocks, current, steps)
                steps = np.zeros(blocks.size, np.int64)
            current = key
            np.add.at(steps, target[begin:end] - key[1] * blocks.size, more[begin:end])
    if current is not None:
        yield from _users(blocks, current, steps)


def _users(blocks: Blocks, key: tuple[int, int], steps: Ints) -> Iterator[pa.RecordBatch]:
    condition, block = key
    names = blocks.names[condition]
    targets = listed_objects(opened(blocks.folder, blocks.meta), names[0].type)
    here = targets[block * blocks.size : (block + 1) * blocks.size]
    users = blocks.before.get(key, 0) + np.cumsum(steps)[: len(here)]
    some = users > 0
    positions, counts = pa.array(here[some]), pa.array(users[some])
    for each in names:
        words = (pa.array([word] * len(positions), pa.string()) for word in (each.name, each.type))
        yield pa.RecordBatch.from_arrays([positions, *words, counts], ["position", "name", "type", "users"])
