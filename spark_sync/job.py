"""The entry point for spark-submit: mirrors a tenant, or computes the bulk answers of a snapshot.

    spark-submit --jars graphframes.jar job.py mirror metalake:ml /data/snapshot
    spark-submit job.py access /data/snapshot --names load_table,SELECT_TABLE --expand load_table

NEO4J_URI, NEO4J_USER and NEO4J_PASSWORD select the server. Driver and executors must reach the snapshot, and
grantpath must be installed on all of them.
"""

import argparse
import sys
from collections.abc import Sequence

from grantpath.graph.embedded.connect import connection
from grantpath.graph.errors import GrantpathError
from grantpath.spark_sync.bulk.bulk_access import BROADCAST_MIB, access
from grantpath.spark_sync.mirroring.mirror import mirror_tenant


def main(given: Sequence[str] | None = None) -> int:
    """Runs one command. Returns the exit code: 0, or 2 with the reason on standard error."""
    options = _arguments(given)
    try:
        if options.command == "mirror":
            meta = mirror_tenant(connection(), options.root, options.out, _report)
            _report(f"{options.out}: {meta.root} at revision {meta.revision}")
        else:
            report = access(options.snapshot, options.names, options.expand, _report, options.broadcast_limit, 0)
            _report(f"{report.snapshot}: {len(report.names)} names, {report.reach_rows:,} rows of reach")
    except GrantpathError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("mirror", help="write the graph of a tenant as a snapshot")
    one.add_argument("root")
    one.add_argument("out", help="a path or a URI")
    other = commands.add_parser("access", help="compute the bulk answers of a snapshot")
    other.add_argument("snapshot", help="a path or a URI")
    other.add_argument("--names", type=_split, help="privileges and operations, separated by commas; default: all")
    other.add_argument("--expand", type=_split, default=[], help="names for which to write the intervals by user")
    limit = "MiB of memory for all facts in a worker; if they need more, they are joined to the subjects"
    other.add_argument("--broadcast-limit", type=int, default=BROADCAST_MIB, help=limit)
    return parser.parse_args(given)


def _split(text: str) -> list[str]:
    return [word.strip() for word in text.split(",")]


def _report(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
