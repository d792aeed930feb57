"""Memberships with very many paths: ladders with 2^40 paths, a cycle, and wide fans."""

import csv
from collections.abc import Iterator, Sequence
from itertools import chain, pairwise, product
from pathlib import Path

from grantpath.engine import Authorizer
from grantpath.engine.transfer.importer import load

from .sizes import size

RUNGS = 40
WIDE = size(10_000, 2_500)
TABLE = "table:c.s.t"
CYCLE = ["group:round-0", "group:round-1", "group:round-2"]
LOW, MANY, LOST = "user:low", "user:many", "user:lost"


def rungs(kind: str) -> list[list[str]]:
    """The two subjects of each rung, from the lowest to the highest."""
    return [[f"{kind}:ladder-{rung:02d}-{side}" for side in "ab"] for rung in range(RUNGS)]


def ladder(kind: str) -> Iterator[tuple[str, str]]:
    """Each subject of a rung is a member of both subjects of the next one."""
    for lower, upper in pairwise(rungs(kind)):
        yield from product(lower, upper)


def fan(kind: str) -> list[str]:
    return [f"{kind}:fan-{number:05d}" for number in range(WIDE)]


def tables() -> dict[str, Sequence[tuple[str, ...]]]:
    """The tables of a bulk import.

    user:low is at the bottom of the ladders, together with many others in a wide group; user:many is in as many groups
    and holds as many roles, each with a grant on the catalog; role:top, above the ladders, has the grants that count.
    """
    foot, head = rungs("role")[0], rungs("role")[-1]
    members = [*ladder("role"), *((role, "role:top") for role in head), *((MANY, role) for role in fan("role"))]
    members += [(MANY, foot[0]), *((user, foot[1]) for user in fan("user")), (LOW, foot[0]), (LOW, foot[1])]
    subjects = [LOW, MANY, LOST, "user:boss", "role:top", *fan("user"), *fan("role"), *chain(*rungs("role"))]
    subjects += [*fan("group"), *CYCLE, "group:wide", *chain(*rungs("group"))]
    bottom, top = rungs("group")[0], rungs("group")[-1]
    members += [*ladder("group"), *product(top, foot), *product(["group:wide", LOW], bottom)]
    members += [*((user, "group:wide") for user in fan("user")), *((MANY, group) for group in fan("group"))]
    return {"subjects": [(ref,) for ref in subjects], "members": members}


def write(folder: Path, **found: Sequence[tuple[str, ...]]) -> Path:
    """The tables as files."""
    columns = {"subjects": "ref", "objects": "ref", "members": "member of", "owners": "object owner"}
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in found.items():
        header = columns.get(name, "effect privilege object subject").split()
        with (folder / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file).writerows([header, *rows])
    return folder


def build(auth: Authorizer, folder: Path) -> None:
    """A lakehouse tenant with all of it; the cycle is written without the checks."""
    grants = [
        ("allow", name, place, "role:top")
        for name, place in (("USE_CATALOG", "catalog:c"), ("USE_SCHEMA", "schema:c.s"), ("SELECT_TABLE", TABLE))
    ]
    grants += [("allow", "CREATE_SCHEMA", "catalog:c", role) for role in fan("role")]
    objects = [("catalog:c",), ("schema:c.s",), (TABLE,)]
    load(auth, write(folder, objects=objects, owners=[("metalake:ml", "user:boss")], grants=grants, **tables()))
    auth.given(f"member {lower} of {upper}" for lower, upper in [*pairwise(CYCLE), (rungs("group")[-1][0], CYCLE[0])])
    auth.store.execute(
        "MATCH (one:Entity {root: $root, ref: $one}), (other:Entity {root: $root, ref: $other}) "
        "CREATE (one)-[:MEMBER_OF]->(other)",
        {"root": auth.tenant, "one": CYCLE[-1], "other": CYCLE[0]},
    )
