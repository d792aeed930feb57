"""What tests submit to a cluster: the job's mirror of a root, by tasks whatever its size, and the job's access."""

import sys

from grantpath.engine.facts.set import graph_ranges
from grantpath.spark_sync import job
from grantpath.spark_sync.mirroring import mirror as mirroring

SMALL, RANGE_ROWS = 0, 150


def main(root: str, out: str, *options: str) -> int:
    """Runs both commands in one application, because each application takes long to start."""
    mirroring.SMALL, graph_ranges.RANGE_ROWS = SMALL, RANGE_ROWS
    return job.main(["mirror", root, out]) or job.main(["access", out, *options])


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
