"""The estates that benchmarks measure, generated once and kept in the cache."""

import tempfile
from collections.abc import Callable
from pathlib import Path

from generate import Size, generate

from grantpath.graph.files.private_files import cache_folder

SEED = 7
ROOTS = {"gravitino": "bench", "lakehouse": "bench-nested"}  # by policy; lakehouse nests groups and roles


def usual_size(policy: str, users: int, schemas: int) -> Size:
    """An estate in which there are 1 group, 2 roles and 40 grants for 20 users."""
    return Size(
        users=users,
        groups=users // 20 or 1,
        roles=users // 10 or 1,
        schemas=schemas,
        grants=users * 2,
        policy=policy,
        nested=policy == "lakehouse",
        root=ROOTS[policy],
    )


def usual_estate(size: Size, progress: Callable[[str], None]) -> Path:
    """The files of an estate of `usual_size`."""
    return estate_files(f"{size.policy}-{size.users}-{size.schemas}", size, progress)


def estate_files(
    name: str, size: Size, progress: Callable[[str], None], change: Callable[[Path], None] | None = None
) -> Path:
    """The folder with the estate's tables. After they are generated, `change` may add rows."""
    directory = cache_folder() / "bench" / f"{name}-{SEED}"
    if not directory.is_dir():
        progress(f"generating an estate of {size.users:,} users for {size.policy} in {directory}")
        directory.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=directory.parent) as fresh:
            generate(Path(fresh) / "estate", size, SEED)
            if change is not None:
                change(Path(fresh) / "estate")
            (Path(fresh) / "estate").rename(directory)
    return directory
