"""Distributes test files so that one worker runs those that need Spark: every worker's session takes long to start."""

from functools import cache
from pathlib import Path

from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]
from xdist.workermanage import WorkerController  # type: ignore[import-untyped]

MARK = "pytest.mark.spark"
ROOT = Path(__file__).parents[2]


class OneSparkWorker(LoadFileScheduling):  # type: ignore[misc]
    """Gives the first worker the files that need Spark; the others get these only if no other file is left."""

    def _assign_work_unit(self, node: WorkerController) -> None:
        wanted = node is self.nodes[0]
        file = next((file for file in self.workqueue if needs_spark(file) is wanted), None)
        if file is not None:
            self.workqueue.move_to_end(file, last=False)
        super()._assign_work_unit(node)


@cache
def needs_spark(file: str) -> bool:
    """Whether a test file, named by its path in the repository, has the mark `spark`."""
    return MARK in (ROOT / file).read_text()
