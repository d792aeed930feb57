"""Ranges of a sorted column contain every value once, with about as many rows each."""

import random
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from grantpath.engine.facts.snapshot.even_ranges import even_ranges


def written(folder: Path, values: list[int], files: int, group: int) -> list[Path]:
    """The values in so many files, with row groups of so many rows."""
    paths = [folder / f"part-{at}.parquet" for at in range(files)]
    for at, path in enumerate(paths):
        part = values[at * len(values) // files : (at + 1) * len(values) // files]
        pq.write_table(pa.table({"subject": pa.array(part, pa.int64())}), path, row_group_size=group)
    return paths


def test_each_value_is_in_one_range_whose_files_contain_all_of_it(tmp_path: Path) -> None:
    rng = random.Random(3)
    for turn, (size, files, group, most) in enumerate(
        [(0, 1, 9, 4), (1, 1, 9, 4), (500, 3, 40, 4), (500, 7, 1000, 20)]
    ):
        values = sorted(rng.randrange(200) for _ in range(size))
        folder = tmp_path / str(turn)
        folder.mkdir()
        paths = written(folder, values, files, group)
        found = even_ranges(paths, "subject", most)
        assert len(found) <= most and found[0].low == 0 and found[-1].high > 10**9
        assert all(one.high == other.low for one, other in pairwise(found))
        for part in found:
            here = [value for path in paths[part.files] for value in pq.read_table(path)["subject"].to_pylist()]
            wanted = [value for value in values if part.low <= value < part.high]
            assert [value for value in here if part.low <= value < part.high] == wanted
            assert size < 500 or len(wanted) < 2 * size / most + 10
