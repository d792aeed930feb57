"""Measures how long the effects of a change take to compute, on one large root, with a copy of its facts in memory.

As docs/python.md advises for a service, Python's garbage collector does not visit the copy.
"""

import argparse
import gc
import statistics
import time
from collections.abc import Callable

from estates import ROOTS, usual_estate, usual_size
from figures import print_progress
from generate import Size

from grantpath.engine import Authorizer, Effects
from grantpath.engine.facts.copy.replica import Replica
from grantpath.engine.tenants import registry
from grantpath.engine.transfer import importer

ROOT = ROOTS["gravitino"]
MEMBERS = 10_000  # the members of the role that gets a grant on a catalog
TURNS = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=Size.users)
    parser.add_argument("--schemas", type=int, default=Size.schemas, help="per catalog; a schema has 100 tables")
    parser.add_argument("--drop", action="store_true", help="remove the root afterwards; otherwise it is used again")
    options = parser.parse_args()
    directory = usual_estate(usual_size("gravitino", options.users, options.schemas), print_progress)
    with Authorizer.open(ROOT, "gravitino", create=True, timeout=60) as auth:
        if auth.revision_now() == 0:
            print_progress("loading")
            importer.load(auth, directory)
        auth.replica = Replica.of(auth.store, auth.tenant, auth.root, auth.policy)
        gc.collect()
        gc.freeze()
        for name, statement in _statements(auth).items():
            seconds, effects = _measured(lambda: auth.plan([statement]).effects)  # noqa: B023
            pairs = sum(each.pairs for each in effects.effects)
            print(f"{name:<50} {seconds:6.3f} s  {effects.summary()}, {pairs:,} pairs")
        if options.drop:
            registry.remove(auth.store, auth.tenant)


def _statements(auth: Authorizer) -> dict[str, str]:
    """The changes to plan, by description. Adds two roles, of MEMBERS and of 50 members, unless the root has them."""
    role, few = "role:effects-many", "role:effects-few"
    users = auth.list("user", limit=MEMBERS).answer
    for ref, members in ((role, users), (few, users[:50])):
        auth.given([f"add {ref}"])
        for at in range(0, len(members), 5_000):
            auth.given([f"member {user} of {ref}" for user in members[at : at + 5_000]])
    catalog = auth.list("catalog", limit=1).answer[0]
    table = auth.list("table", limit=1).answer[0]
    return {
        "one grant on a table, to a role of 50 members": f"allow SELECT_TABLE on {table} to {few}",
        f"one grant on a table, to a role of {len(users):,}": f"allow SELECT_TABLE on {table} to {role}",
        f"one grant on a catalog, to a role of {len(users):,}": f"allow SELECT_TABLE on {catalog} to {role}",
        "the removal of a user from the role of 50 members": f"remove {users[0]} from {few}",
    }


def _measured(work: Callable[[], Effects]) -> tuple[float, Effects]:
    """The median time of TURNS runs, and the result. A first run is not counted."""
    effects, times = work(), []
    for _ in range(TURNS):
        start = time.perf_counter()
        effects = work()
        times.append(time.perf_counter() - start)
    return statistics.median(times), effects


if __name__ == "__main__":
    main()
