"""Probes of the further results of queries: the facts that check finds, and which names exist."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from grantpath import cypher
from grantpath.engine import Authorizer

from .probe import Probe, always
from .probes_marks import answers
from .probes_questions import Twin

PROPERTIES = ["EXISTS", "BUILTIN", "IS", "HOLDS"]
# by subject, the found facts with these properties: on itself, on its group, on another group, and on a role
ASKED = ["user:grouped", "group:in", "group:left", "role:service_admin"]
ON_PLACES = [
    *("EXISTS user:grouped", "IS user:grouped", "HOLDS user:grouped", "EXISTS group:in", "HOLDS group:in"),
    *("EXISTS group:left", "EXISTS role:service_admin", "BUILTIN role:service_admin"),
]
# of places with many grants, and of places with few; there are two ways to the principals of schema:c.other
GRANTS = {
    ("user:direct", "table:c.s.busy", False): ["ALLOW SELECT_TABLE by user:direct"],
    ("user:owner", "table:c.s.busy", False): ["OWNS by user:owner"],
    ("user:direct", "table:c.s.t", False): ["ALLOW SELECT_TABLE by user:direct"],
    ("user:direct", "schema:c.s", False): [],
    ("user:joiner", "table:c.s.u", False): ["ALLOW SELECT_TABLE by group:many3"],
    ("user:diamond", "schema:c.other", False): ["ALLOW USE_SCHEMA by group:top"],
    ("user:hatted", "schema:c.other", True): ["ALLOW USE_SCHEMA by role:upper"],
}
# there are two ways to each of them
NAMED = {
    ("user:diamond", "group:top", False): ["HOLDS =group:top"],
    ("user:hatted", "role:upper", True): ["HOLDS =role:upper"],
}
# several tables have the same privilege
BELOW = ["ALLOW MODIFY_TABLE table below by user:direct", "ALLOW SELECT_TABLE table below by user:direct"]


# a name without an entity, and an entity of another tenant
NAMED_IN_A_QUESTION = ["namespace:n", "dataset:n.missing", "namespace:empty"]
# where the answer hinges on one fact about a second object: on which namespaces
SECONDS = {
    ("EXISTS", "namespace:n"): ["namespace:bare", "namespace:half", "namespace:n", "namespace:tall"],
    ("EXISTS", "dataset:n.missing"): [],
    ("BUILTIN", "namespace:n"): [],
}
KNOWN = (
    *((query, "needed", "known") for query in ("who", "which", "which_below")),
    ("remedy", "names", "existing"),
)


def probes(lakehouse: Twin, deltastream: Twin, cdap: Twin) -> Iterator[Probe]:
    yield from _facts(lakehouse)
    for query, parameter, column in KNOWN:
        asked = {parameter: NAMED_IN_A_QUESTION}
        yield Probe(
            f"what {query} knows", query, partial(_column, cdap, query, column, asked), always(NAMED_IN_A_QUESTION[:1])
        )
    for query, builtin in (("which", "builtin"), ("which_below", "builtin_types")):
        yield from _single_facts(lakehouse, cdap, query, builtin)
    question = ("select_from_relation", "relation:d.s.r")
    allowed = deltastream.oracle.who(*question) - {"user:u"}
    yield Probe(
        "who lists users, not names", "who", partial(_who_without, deltastream, *question), always(sorted(allowed))
    )


def _single_facts(lakehouse: Twin, cdap: Twin, query: str, builtin: str) -> Iterator[Probe]:
    """Answers of which that depend on one fact; the parameter `builtin` has the types that may be built in."""
    for (word, ref), namespaces in SECONDS.items():
        asked = _hinging_on(f"{word} second", "user:early", "namespace", "instance:main", ref)
        about = partial(_column, cdap, query, "answer", asked)
        yield Probe(f"{word} {ref}, a second object", query, about, always(namespaces))
    both: dict[str, Any] = {
        **_hinging_on("EXISTS second", "user:early", "namespace", "instance:main", "namespace:n"),
        "facts": ["EXISTS second", "EXISTS instance"],
        "clauses": [[[{"any": ["EXISTS second"], "none": ["EXISTS instance"]}]]],
    }
    about = partial(_column, cdap, query, "answer", both)
    yield Probe("a fact of a second object and one of the root object", query, about, always([]))
    asked = _hinging_on("IS group", "user:grouped", "group", "metalake:main")
    yield Probe("a user is no group", query, partial(_column, lakehouse, query, "answer", asked), always([]))
    asked = {**_hinging_on("BUILTIN role", "user:grouped", "role", "metalake:main"), builtin: ["role"]}
    builtins = sorted(ref for ref in lakehouse.graph.policy.builtins if ref.startswith("role:"))
    yield Probe("built-in roles", query, partial(_column, lakehouse, query, "answer", asked), always(builtins))


def _hinging_on(fact: str, subject: str, type_: str, top: str, *seconds: str) -> dict[str, Any]:
    """The parameters of which.cypher, without $builtin, for an answer that depends on one fact."""
    return {
        "subject": subject,
        "type": type_,
        "top": top,
        "places": [{"name": top.partition(":")[0], "ref": top}, *({"name": "second", "ref": ref} for ref in seconds)],
        "given": [f"EXISTS {type_}"],
        "facts": [fact],
        "clauses": [[[{"any": [fact], "none": []}]]],
    }


def _column(world: Twin, query: str, column: str, asked: dict[str, Any]) -> object:
    [row] = answers(world.graph, query, **asked)
    return row[column]


SET = "MATCH (user:Entity {root: $root, ref: $ref}) SET user.exists = $exists"


@contextmanager
def as_name(graph: Authorizer, ref: str) -> Iterator[None]:
    """While the block runs, the entity is only a name with grants on it and roles."""
    graph.store.execute(SET, {"root": graph.tenant, "ref": ref, "exists": False})
    try:
        yield
    finally:
        graph.store.execute(SET, {"root": graph.tenant, "ref": ref, "exists": None})


def _who_without(world: Twin, name: str, on: str) -> list[str]:
    """The allowed users, while user:u is only a name that holds its roles."""
    with as_name(world.graph, "user:u"):
        return list(world.graph.who(name, on))


def _facts(world: Twin) -> Iterator[Probe]:
    found = partial(_found, world)
    places = [{"name": ref, "ref": ref, "privileges": [], "properties": PROPERTIES} for ref in ASKED]
    yield Probe(
        "properties of places", "check", partial(found, "user:grouped", places=places), always(sorted(ON_PLACES))
    )
    for (subject, ref, one_role), grants in GRANTS.items():
        place = {"name": "", "ref": ref, "privileges": ["SELECT_TABLE", "USE_SCHEMA", "OWNS"], "properties": []}
        asked = partial(found, subject, places=[place], one_role=one_role)
        yield Probe(f"grants on {ref}", "check", asked, always(grants))
    for (subject, ref, one_role), named in NAMED.items():
        place = {"name": f"={ref}", "ref": ref, "privileges": [], "properties": ["HOLDS"]}
        asked = partial(found, subject, places=[place], one_role=one_role)
        yield Probe(f"{ref} is held", "check", asked, always(named))
    yield Probe("the role that acts", "check", partial(_roles, world, "user:hatted"), always(["role:lower"]))
    below = [{"name": "", "ref": "schema:c.s"}]
    yield Probe("grants below", "check", partial(found, "user:direct", below=below), always(BELOW))


def _roles(world: Twin, subject: str) -> list[str | None]:
    return [each["role"] for each in _acting(world, subject, one_role=True)]


def _found(world: Twin, subject: str, **asked: Any) -> list[str]:
    """The facts of the only acting principal."""
    [acting] = _acting(world, subject, **asked)
    return sorted(
        f"{each['fact'].strip()} by {by}" if by else each["fact"].strip()
        for each in acting["found"]
        for by in each["by"] or [None]
    )


def _acting(world: Twin, subject: str, **asked: Any) -> list[dict[str, Any]]:
    """The acting principals with their facts, as check returns them."""
    check = {
        "index": 0,
        "subject": subject,
        "needed": [],
        "places": [],
        "condition": 0,
        "one_role": False,
        "as_role": None,
        "below": [],
        "every": [],
        **asked,
    }
    given = {"root": world.graph.tenant, "checks": [check], "conditions": [[]]}
    [row] = cypher.load("check").run(world.graph.store.read, **given)
    acting: list[dict[str, Any]] = row["answers"][0]["acting"]
    return acting
