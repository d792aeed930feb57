"""Probes of grants on tags: checks, lists, paths and remedies in a small world must agree with the oracle."""

from collections.abc import Iterator
from functools import partial
from itertools import product

from ..conftest import Tenants
from ..support.small_tenants import Small
from . import probes_lists, probes_privilege
from .probe import Probe, always
from .probes_marks import answers
from .probes_questions import Twin, checks, explanation, paths_of, twin

ROOT = "tags"
USE = ("USE_CATALOG on catalog:c", "USE_SCHEMA on catalog:c")
TABLES = ("table:c.s.t", "table:c.s.u", "table:d.s.w")
USERS = ("direct", "grouped", "denied", "both", "above", "far", "other", "stranger")
# who may SELECT_TABLE on which of TABLES
ALLOWED = {
    *(("direct", table) for table in ("table:c.s.t", "table:d.s.w")),
    *(("grouped", table) for table in ("table:c.s.t", "table:c.s.u")),
    ("denied", "table:c.s.u"),
    ("both", "table:c.s.u"),
    ("above", "table:d.s.w"),
    ("far", "table:d.s.w"),
}
TAGGED = Small(
    facts=[
        *("add catalog:c", "add schema:c.s", "add catalog:d", "add schema:d.s", *(f"add {table}" for table in TABLES)),
        *("add tag:x", "add tag:y", "add policy:x", "add role:lower", "add role:upper", "add tag:idle"),
        "add tag:far",
        *(f"add user:{name}" for name in USERS),
        # an object with two tags, one of another type with the same name, and one of an object above
        *("tag table:c.s.t with tag:x", "tag table:c.s.t with tag:y", "tag table:c.s.u with tag:y"),
        *("tag table:c.s.u with policy:x", "tag schema:d.s with tag:x", "tag catalog:c with tag:idle"),
        # directly; by a nested group; a DENY by a nested role, and an ALLOW above; an ALLOW and a DENY by two tags
        "allow SELECT_TABLE on tag:x to user:direct",
        *(
            "member user:grouped of group:in",
            "member group:in of group:out",
            "allow SELECT_TABLE on tag:y to group:out",
        ),
        *(
            "member user:denied of role:lower",
            "member role:lower of role:upper",
            "deny SELECT_TABLE on tag:x to role:upper",
            "allow MODIFY_TABLE on tag:x to role:upper",
            "allow MODIFY_TABLE on tag:y to role:upper",
        ),
        *("allow SELECT_TABLE on metalake:tags to user:denied", "allow MODIFY_TABLE on tag:x to user:denied"),
        *("allow SELECT_TABLE on tag:y to user:both", "deny SELECT_TABLE on tag:x to user:both"),
        # a DENY on the object overrides the ALLOW on the tag above it
        *("allow SELECT_TABLE on tag:x to user:above", "deny SELECT_TABLE on table:c.s.t to user:above"),
        # two steps below the tagged object; more than 50 others with the same grant, whose names come first
        *("tag catalog:d with tag:far", "allow SELECT_TABLE on tag:far to user:far"),
        *(f"allow SELECT_TABLE on tag:{tag} to user:crowd{number}" for tag in ("far", "x") for number in range(51)),
        # other privileges, and ownership of the tag, which puts nothing in effect
        *(
            "allow APPLY_TAG on tag:x to user:other",
            "owner user:other of tag:x",
            "deny MODIFY_TABLE on tag:x to user:direct",
        ),
    ],
    neighbour=[
        *("add catalog:c", "add schema:c.s", "add table:c.s.t", "add table:c.s.u", "add tag:x", "add tag:y"),
        *(
            "tag table:c.s.u with tag:x",
            "tag schema:c.s with tag:y",
            "tag table:c.s.t with tag:y",
            "add user:stranger",
            "add user:direct",
        ),
        *("allow SELECT_TABLE on tag:x to user:stranger", "deny SELECT_TABLE on tag:y to user:direct"),
    ],
    checks=[
        *(
            f"user:{name} can{'' if (name, table) in ALLOWED else 'not'} SELECT_TABLE on {table}"
            for name, table in product(USERS, TABLES)
        ),
        *("user:denied can MODIFY_TABLE on table:c.s.t", "user:direct cannot MODIFY_TABLE on table:c.s.t"),
        "user:other can get_tag on tag:x",
    ],
)
# schemas in schemas, with a tag on the inner one
NESTED = Small(
    facts=[
        *("add catalog:c", "add schema:c.s", "add schema:c.s.in", "add table:c.s.t", "add table:c.s.in.t", "add tag:x"),
        *("add user:direct", "add user:denied", "tag schema:c.s.in with tag:x"),
        *("allow SELECT_TABLE on tag:x to user:direct", "allow SELECT_TABLE on catalog:c to user:denied"),
        "deny SELECT_TABLE on tag:x to user:denied",
        *(f"allow {use} to {user}" for use in USE for user in ("user:direct", "user:denied")),
    ],
    neighbour=[
        *("add catalog:c", "add schema:c.s", "add table:c.s.t", "add tag:x", "tag table:c.s.t with tag:x"),
        *("add user:direct", "allow SELECT_TABLE on tag:x to user:direct"),
    ],
    checks=[
        "user:direct can SELECT_TABLE on table:c.s.in.t",
        "user:direct cannot SELECT_TABLE on table:c.s.t",
        "user:denied can SELECT_TABLE on table:c.s.t",
        "user:denied cannot SELECT_TABLE on table:c.s.in.t",
        "user:direct can load_table on table:c.s.in.t",
        "user:denied cannot load_table on table:c.s.in.t",
    ],
)
PATHS = {
    "user:both cannot SELECT_TABLE on table:c.s.t": ["user:both -DENY SELECT_TABLE-> tag:x <-TAGGED- table:c.s.t"],
    "user:grouped can SELECT_TABLE on table:c.s.t": [
        "user:grouped -MEMBER_OF-> group:in -MEMBER_OF-> group:out -ALLOW SELECT_TABLE-> tag:y <-TAGGED- table:c.s.t"
    ],
    "user:far can SELECT_TABLE on table:d.s.w": [
        "user:far -ALLOW SELECT_TABLE-> tag:far <-TAGGED- catalog:d <-CHILD_OF- schema:d.s <-CHILD_OF- table:d.s.w"
    ],
    "user:direct can SELECT_TABLE on table:d.s.w": [
        "user:direct -ALLOW SELECT_TABLE-> tag:x <-TAGGED- schema:d.s <-CHILD_OF- table:d.s.w"
    ],
    "user:denied cannot SELECT_TABLE on table:c.s.t": [
        "user:denied -HAS_ROLE-> role:lower -HAS_ROLE-> role:upper -DENY SELECT_TABLE-> tag:x <-TAGGED- table:c.s.t"
    ],
    "user:grouped can SELECT_TABLE on table:c.s.u": [
        "user:grouped -MEMBER_OF-> group:in -MEMBER_OF-> group:out -ALLOW SELECT_TABLE-> tag:y <-TAGGED- table:c.s.u"
    ],
}
NOTHING = {"types": [], "names": [], "joining": [], "below": [], "together": True}
AT = [{"at": "table", "ref": "table:c.s.t"}, {"at": "schema", "ref": "schema:d.s"}]


def probes(tenants: Tenants) -> Iterator[Probe]:
    """The expected answers."""
    world = twin(tenants, "lakehouse", TAGGED, ROOT)
    yield checks(world)
    yield from probes_lists.lists(world)
    nested = twin(tenants, "lakehouse_nested", NESTED, "nested_tags")
    yield checks(nested)
    yield from probes_lists.lists(nested)
    for text, paths in PATHS.items():
        yield paths_of(world, text, paths)
    yield from (explanation(world, check) for check in world.checks)
    decided = [world.is_allowed(each) for each in probes_privilege.checks(world)]
    yield Probe("privileges by tags", "privilege", partial(_decided, world), always(decided))
    yield Probe("what is denied on tags", "remedy", partial(_denied, world), always(DENIED))
    yield Probe("what later roles have by tags", "remedy", partial(_later, world), always(LATER))
    yield Probe("trees of two tags", "explain", partial(_trees, world), always(TREES))
    for query in ("which", "which_below"):
        yield Probe("tags of a second object", query, partial(_by_second, world, query), always(sorted(TABLES)))


def _decided(world: Twin) -> list[bool]:
    return probes_privilege.decided(world, probes_privilege.checks(world))


DENIED = sorted(
    ("DENY " + name + "#tag " + at, by, ["tag:x"])
    for at in ("table", "schema")
    for name, by in (("SELECT_TABLE", "role:upper"), ("SELECT_TABLE", "user:both"), ("MODIFY_TABLE", "user:direct"))
)
LATER = sorted(
    (f"{grant}#tag {at}", ["role:upper"])
    for grant in ("DENY SELECT_TABLE", "ALLOW MODIFY_TABLE")
    for at in ("table", "schema")
)


def _denied(world: Twin) -> list[tuple[str, str, list[str]]]:
    [row] = answers(world.graph, "remedy", subject="user:denied", roles=[], places=AT, **NOTHING)
    return sorted((each["fact"], each["by"], each["tags"]) for each in row["denied"])


TREES = [
    ("DENY SELECT_TABLE#tag table", ["table:c.s.t", "tag:x"]),
    ("ALLOW SELECT_TABLE#tag table", ["table:c.s.t", "tag:y"]),
]


def _trees(world: Twin) -> list[tuple[str, list[str]]]:
    """The paths up to two tags of one object, among facts of which some are not about tags."""
    facts = ["ALLOW SELECT_TABLE table", *(fact for fact, _ in TREES)]
    place = {"at": "table", "ref": "table:c.s.t", "of": "table:c.s.t"}
    [row] = answers(world.graph, "explain", subject="user:both", places=[place], facts=facts)
    return sorted(((each["fact"], each["down"]) for each in row["paths"]), reverse=True)


def _by_second(world: Twin, query: str) -> list[str]:
    """The tables that a user can move to a tagged schema, if a tag were enough for that: all of them."""
    fact, second = "ALLOW SELECT_TABLE#tag to", {"name": "to", "ref": "schema:d.s"}
    clauses = {"facts": [fact], "clauses": [[[{"any": [fact], "none": []}]]]}
    top = f"metalake:{ROOT}"
    places = [{"name": "metalake", "ref": top}, second]
    [row] = answers(world.graph, query, subject="user:direct", type="table", top=top, places=places, **clauses)
    return list(row["answer"])


def _later(world: Twin) -> list[tuple[str, list[str]]]:
    [row] = answers(world.graph, "remedy", subject="user:denied", roles=["role:lower"], places=AT, **NOTHING)
    return sorted((each["fact"], each["by"]) for each in row["found"])
