"""Explanations word for word: paths, what is missing, and the statements of the remedy."""

from collections.abc import Sequence
from typing import NamedTuple

import pytest

from ...conftest import Tenants

ROLES = [
    "add database:d",
    "add schema:d.s",
    "add relation:d.s.r",
    "member user:u of role:a",
    "member user:u of role:b",
    "allow USAGE on database:d to role:a",
    "allow USAGE on schema:d.s to role:b",
    "allow USAGE on database:d to role:b",
]
TABLE = [
    "add catalog:c",
    "add schema:c.s",
    "add table:c.s.t",
    "add role:r",
    "member user:u of group:g",
    "member group:g of role:r",
    "allow USE_CATALOG on metalake:ml to role:r",
    "allow USE_SCHEMA on metalake:ml to role:r",
    "allow SELECT_TABLE on catalog:c to role:r",
    "deny SELECT_TABLE on table:c.s.t to role:r",
    "add user:w",
]
NAMESPACE = [
    "add namespace:n",
    "add dataset:n.a",
    "add dataset:n.b",
    "add user:u",
    "allow ADMIN on dataset:n.b to user:u",
]
GROUPS = "user:u -MEMBER_OF-> group:g -HAS_ROLE-> role:r"


class Case(NamedTuple):
    """A question, and its expected explanation."""

    policy: str
    given: list[str]
    asked: str  # subject, name, object, and maybe key=REF or as=role:X
    paths: Sequence[str] = ()
    missing: Sequence[str] = ()
    remedy: Sequence[str] = ()


CASES = {
    "a second object has its own path": Case(
        "gravitino",
        ["add catalog:c", "add tag:t", "owner user:u of tag:t", "owner user:u of catalog:c"],
        "user:u associate_object_tags catalog:c tag=tag:t",
        ["user:u -OWNS-> catalog:c", "user:u -OWNS-> tag:t"],
    ),
    "every edge of the tree is printed": Case(
        "gravitino",
        TABLE,
        "user:u USE_SCHEMA schema:c.s",
        [f"{GROUPS} -ALLOW USE_SCHEMA-> metalake:ml <-CHILD_OF- catalog:c <-CHILD_OF- schema:c.s"],
    ),
    "membership is a path": Case("gravitino", TABLE, "user:u get_role role:r", [GROUPS]),
    "being the object itself is a sentence": Case(
        "gravitino", TABLE, "user:u get_user user:u", ["user:u is user:u itself"]
    ),
    "a condition that everyone meets is a sentence": Case(
        "gravitino", TABLE, "user:u load_metalake metalake:ml", ["user:u exists, and every user is allowed"]
    ),
    "only the acting role is on a path": Case(
        "deltastream",
        ROLES,
        "user:u use_schema schema:d.s as=role:b",
        [
            "user:u -HAS_ROLE-> role:b -ALLOW USAGE-> database:d <-CHILD_OF- schema:d.s",
            "user:u -HAS_ROLE-> role:b -ALLOW USAGE-> schema:d.s",
        ],
    ),
    "the paths show the role that allows it, whatever other roles have": Case(
        "deltastream",
        ROLES,
        "user:u use_schema schema:d.s",
        [
            "user:u -HAS_ROLE-> role:b -ALLOW USAGE-> database:d <-CHILD_OF- schema:d.s",
            "user:u -HAS_ROLE-> role:b -ALLOW USAGE-> schema:d.s",
        ],
    ),
    "a refusal shows only the path of the DENY": Case(
        "gravitino",
        TABLE,
        "user:u load_table table:c.s.t",
        [f"{GROUPS} -DENY SELECT_TABLE-> table:c.s.t"],
        ["DENY SELECT_TABLE on table:c.s.t to role:r wins: revoke deny SELECT_TABLE on table:c.s.t from role:r"],
        ["revoke deny SELECT_TABLE on table:c.s.t from role:r"],
    ),
    "a refusal for a missing ALLOW has no path": Case(
        "deltastream",
        ROLES,
        "user:u use_schema schema:d.s as=role:a",
        [],
        ["USAGE is not granted on schema:d.s: allow USAGE on schema:d.s to role:a"],
        ["allow USAGE on schema:d.s to role:a"],
    ),
    "the owner is a role if users cannot own": Case(
        "deltastream",
        ROLES,
        "user:u drop_database database:d",
        [],
        ["database:d is not owned by role:a: owner role:a of database:d"],
        ["owner role:a of database:d"],
    ),
    "one role at a time: the remedy names one role": Case(
        "deltastream",
        ROLES,
        "user:u create_relation schema:d.s",
        [],
        ["CREATE is not granted on schema:d.s: allow CREATE on schema:d.s to role:b"],
        ["allow CREATE on schema:d.s to role:b"],
    ),
    "a subject without a role gets a new one": Case(
        "gravitino",
        TABLE,
        "user:w SELECT_TABLE table:c.s.t",
        [],
        [
            "user:w holds no role: add role:for-w; member user:w of role:for-w",
            "SELECT_TABLE is not granted on table:c.s.t or above: allow SELECT_TABLE on table:c.s.t to role:for-w",
        ],
        ["add role:for-w", "member user:w of role:for-w", "allow SELECT_TABLE on table:c.s.t to role:for-w"],
    ),
    "a missing subject is added": Case(
        "gravitino",
        TABLE,
        "user:x load_metalake metalake:ml",
        [],
        ["user:x does not exist: add user:x"],
        ["add user:x"],
    ),
    "a membership that only the operator sets has no remedy": Case(
        "gravitino",
        TABLE,
        "user:u create_metalake metalake:ml",
        [],
        ["no change allows it: the operator sets the members"],
    ),
    "a condition that excludes a built-in role has no remedy": Case(
        "deltastream",
        ROLES,
        "user:u drop_role role:SYSADMIN",
        [],
        ["no change allows it: role:SYSADMIN is built into the policy deltastream"],
    ),
    "three grants give less than ownership": Case(
        "lakehouse",
        ["add catalog:c", "add schema:c.s", "add table:c.s.t", "add user:u"],
        "user:u load_table table:c.s.t",
        [],
        [
            "USE_CATALOG is not granted on catalog:c or above: allow USE_CATALOG on catalog:c to user:u",
            "USE_SCHEMA is not granted on schema:c.s or above: allow USE_SCHEMA on schema:c.s to user:u",
            "SELECT_TABLE is not granted on table:c.s.t or above: allow SELECT_TABLE on table:c.s.t to user:u",
        ],
        [
            "allow USE_CATALOG on catalog:c to user:u",
            "allow USE_SCHEMA on schema:c.s to user:u",
            "allow SELECT_TABLE on table:c.s.t to user:u",
        ],
    ),
    "two grants give less than administration": Case(
        "onehouse",
        ["add project:p", "add lake:p.l", "add user:u"],
        "user:u drop_lake lake:p.l",
        [],
        [
            "PROJECT_MEMBER is not granted on project:p: allow PROJECT_MEMBER on project:p to user:u",
            "DROP is not granted on lake:p.l: allow DROP on lake:p.l to user:u",
        ],
        ["allow PROJECT_MEMBER on project:p to user:u", "allow DROP on lake:p.l to user:u"],
    ),
    "without inheritance, no place above is offered": Case(
        "cdap",
        NAMESPACE,
        "user:u READ dataset:n.b",
        [],
        ["READ is not granted on dataset:n.b: allow READ on dataset:n.b to user:u"],
        ["allow READ on dataset:n.b to user:u"],
    ),
    "the descendant that lacks the grant is named": Case(
        "cdap",
        NAMESPACE,
        "user:u delete_namespace namespace:n",
        [],
        [
            "ADMIN is not granted on namespace:n: allow ADMIN on namespace:n to user:u",
            "ADMIN is not granted on dataset:n.a below namespace:n: allow ADMIN on dataset:n.a to user:u",
        ],
        ["allow ADMIN on namespace:n to user:u", "allow ADMIN on dataset:n.a to user:u"],
    ),
    "a missing object is added": Case(
        "cdap",
        NAMESPACE,
        "user:u read_dataset dataset:m.c",
        [],
        [
            "dataset:m.c does not exist: add namespace:m; add dataset:m.c",
            "READ is not granted on dataset:m.c: allow READ on dataset:m.c to user:u",
        ],
        ["add namespace:m", "add dataset:m.c", "allow READ on dataset:m.c to user:u"],
    ),
    "a grant on a descendant is a path up the tree": Case(
        "cdap",
        NAMESPACE,
        "user:u list_namespace namespace:n",
        ["user:u -ALLOW ADMIN-> dataset:n.b -CHILD_OF-> namespace:n"],
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_explanation_is_as_expected(tenant: Tenants, case: Case) -> None:
    graph = tenant(case.policy, root="ml")
    mentioned = {word for fact in case.given for word in fact.split() if word.startswith("role:")}
    given = [f"add {role}" for role in sorted(mentioned) if f"add {role}" not in case.given]
    assert not [problem for problem in graph.given([*given, *case.given]) if problem]
    subject, name, on, *more = case.asked.split()
    with_ = dict(each.split("=") for each in more)
    role = with_.pop("as", None)
    told = graph.explain(subject, name, on, with_=with_, as_role=role)
    assert told.decision.allowed is not bool(case.missing)
    assert told.paths == list(case.paths)
    assert told.decision.missing == list(case.missing)
    assert told.remedy == list(case.remedy)
    graph.change_all(told.remedy)
    assert bool(graph.check(subject, name, on, with_=with_, as_role=role)) is (bool(case.remedy) or not case.missing)
