"""A batch has the same effect on history and graph as its statements one by one, or no effect at all."""

import random
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from grantpath.engine import Authorizer, Change, Invalid, InvalidInput, InvalidReference, Refused, Unavailable, Unknown
from grantpath.engine.change import authorize
from grantpath.engine.change.authorize import Authorizing
from grantpath.engine.change.change_step import Actor, ChangeStep
from grantpath.engine.change.schedule import ReadWriteSet, levels
from grantpath.engine.change.service import ChangeService
from grantpath.graph.errors import Conflict, UnknownName

from ...conftest import Tenants
from ...oracle import oracle
from ...support.random_world import ROOT_NAME, random_statements, random_world
from ...support.tiers import others_slow

POLICIES = ["gravitino", "lakehouse", "deltastream", "onehouse", "cdap", "cdap_design"]
SMALL = [
    "add catalog:hr",
    "add schema:hr.public",
    "add table:hr.public.staff",
    "add user:ann",
    "add user:bob",
    "add role:analyst",
    "owner user:ann of metalake:ml",
]


def state(auth: Authorizer) -> tuple[list[Any], list[Any]]:
    """All facts of a tenant, and its revision."""
    row = auth.ask("tenant_state")
    entities = sorted(tuple(sorted(each.items())) for each in row["entities"])
    edges = sorted(tuple(sorted((k, v or "") for k, v in each.items())) for each in row["edges"])
    return [row["revision"], *entities], edges


def history(auth: Authorizer) -> list[tuple[int, str | None, str]]:
    return [(each.revision, each.actor, each.statement) for each in auth.log(limit=10_000)]


def one_by_one(auth: Authorizer, statements: Iterable[str], by: str | None, as_role: str | None) -> list[int | None]:
    """The revision of each statement; None if it changed nothing."""
    changes = [auth.change(statement, by=by, as_role=as_role) for statement in statements]
    return [change.revision if change.id else None for change in changes]


def revisions(changes: Iterable[Change]) -> list[int | None]:
    return [change.revision if change.id else None for change in changes]


def before_grants_to_new_roles(statements: list[str]) -> list[str]:
    """The statements before the first grant to a subject that one of them adds: alone, such a grant may be refused."""
    added: set[str] = set()
    for at, statement in enumerate(statements):
        words = statement.split(" ")
        if words[0] in ("allow", "deny") and words[-1] in added:
            return statements[:at]
        if words[0] == "add":
            added.update(words[1:2])
        if words[0] == "rename" and words[1] in added:
            added.add(f"{words[1].partition(':')[0]}:{words[-1]}")
    return statements


# ---- the same as one by one --------------------------------------------------------------------------------------
@contextmanager
def asking_above(found: list[int]) -> Iterator[None]:
    """Checks the places above the objects first, like for large batches; `found`: how many changes this allowed."""
    allowed_by_above = Authorizing._allowed_by_above

    def counted(*asked: Any) -> set[tuple[ChangeStep, Actor]]:
        allowed = allowed_by_above(*asked)
        found.append(len(allowed))
        return allowed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(authorize, "MANY", 1)
        patch.setattr(authorize, "SHARED", 0)
        patch.setattr(Authorizing, "_allowed_by_above", counted)
        yield


@pytest.mark.parametrize("policy", others_slow(POLICIES))
def test_batch_has_the_effect_of_its_statements_one_by_one(tenant: Tenants, policy: str) -> None:
    """Random statements: wrong ones are reported at the same index, with the same error."""
    above: list[int] = []
    rng = random.Random(f"batches {policy}")
    world = oracle(policy, ROOT_NAME)
    facts = random_world(policy, rng, 80)
    for fact in facts:
        world.given(fact)
    alone, batch = tenant(policy, facts, ROOT_NAME), tenant(policy, facts, ROOT_NAME)
    assert state(alone) == state(batch)
    wrong = changed = 0
    for _ in range(2):
        by_actor: dict[tuple[str | None, str | None], list[str]] = {}
        for statement, by, as_role in random_statements(policy, world, rng, 60):
            by_actor.setdefault((by, as_role), []).append(statement)
        for (by, as_role), statements in by_actor.items():
            while statements:
                made: list[int | None] = []
                error: Refused | Invalid | None = None
                asked = before_grants_to_new_roles(statements)
                for statement in asked:
                    try:
                        made += one_by_one(alone, [statement], by, as_role)
                    except (Refused, Invalid) as caught:
                        error = caught
                        break
                if error is not None:
                    with pytest.raises(type(error)) as raised, asking_above(above):
                        batch.change_all(asked, by=by, as_role=as_role)
                    assert raised.value.index == len(made)
                    assert str(raised.value) == f"statement {len(made)}: {error}"
                    wrong += 1
                good, statements = statements[: len(made)], statements[len(made) + (error is not None) :]
                with asking_above(above):
                    assert revisions(batch.change_all(good, by=by, as_role=as_role)) == made
                changed += sum(revision is not None for revision in made)
                assert state(batch) == state(alone)
    assert history(batch) == history(alone)
    assert wrong > 12 and changed > 8
    assert bool(sum(above)) != batch.policy.active_roles  # with active roles, all places are checked


@pytest.mark.parametrize("policy", others_slow(POLICIES))
def test_facts_in_a_batch_equal_facts_one_by_one(tenant: Tenants, policy: str) -> None:
    rng = random.Random(f"facts {policy}")
    facts = random_world(policy, rng, 60)
    world = oracle(policy, ROOT_NAME)
    for fact in facts:
        world.given(fact)
    facts += [statement for statement, _, _ in random_statements(policy, world, rng, 50)]
    alone, batch = tenant(policy, root=ROOT_NAME), tenant(policy, root=ROOT_NAME)
    expected = [problem for fact in facts for problem in alone.given([fact])]
    assert batch.given(facts) == expected
    assert state(batch) == state(alone)
    assert history(batch) == history(alone)


# ---- each sees those before it -------------------------------------------------------------------------------------
def test_statement_sees_earlier_ones_of_its_batch(tenant: Tenants) -> None:
    auth = tenant(given=SMALL)
    statements = [
        "add catalog:mine",
        "add schema:mine.s",
        "add table:mine.s.t",
        "allow SELECT_TABLE on table:mine.s.t to role:analyst",
        "allow SELECT_TABLE on table:mine.s.t to role:analyst",
        "member user:bob of role:analyst",
        "owner user:bob of catalog:mine",
        "drop table:mine.s.t",
        "add table:mine.s.t",
        "allow USE_CATALOG on metalake:ml to role:analyst",
    ]
    changes = auth.change_all(statements, by="user:ann")
    assert [change.id is None for change in changes] == [False] * 4 + [True] + [False] * 5
    assert revisions(changes)[3:6] == [len(SMALL) + 4, None, len(SMALL) + 5]
    assert auth.check("user:bob", "alter_catalog", "catalog:mine")
    assert not auth.check("user:bob", "SELECT_TABLE", "table:mine.s.t")  # the drop removed its grants


def test_grant_or_revoke_in_a_batch_counts_for_later_statements(tenant: Tenants) -> None:
    auth = tenant(given=[*SMALL, "add role:maker", "member user:bob of role:maker", "owner user:bob of catalog:hr"])
    given_away = ["owner user:ann of catalog:hr", "add schema:hr.more"]
    with pytest.raises(Refused, match=r"^statement 1: 'add schema:hr\.more' by user:bob"):
        auth.change_all(given_away, by="user:bob")
    assert auth.check("user:bob", "alter_catalog", "catalog:hr")
    auth.change_all(["add schema:hr.more", "owner user:ann of catalog:hr"], by="user:bob")
    assert not auth.check("user:bob", "alter_catalog", "catalog:hr")


@pytest.mark.parametrize("policy", ["gravitino", "lakehouse"])
def test_role_is_created_with_its_grants_in_one_batch(tenant: Tenants, policy: str) -> None:
    """For a role that the batch adds, an actor needs only CREATE_ROLE, as for the document's request "create role"."""
    facts = ["add catalog:c", "add role:creators", "add role:old", "add user:ann", "add user:bob"]
    facts += ["member user:ann of role:creators", f"allow CREATE_ROLE on metalake:{ROOT_NAME} to role:creators"]
    auth = tenant(policy, facts, ROOT_NAME)
    grants = ["allow USE_CATALOG on catalog:c to role:new", "deny CREATE_SCHEMA on catalog:c to role:new"]
    with pytest.raises(Refused, match="statement 1: "):
        auth.change_all(["add role:new", "allow USE_CATALOG on catalog:c to role:old", *grants], by="user:ann")
    with pytest.raises(Refused, match="statement 3: "):
        auth.change_all(["add role:new", *grants, "member user:ann of role:new"], by="user:ann")
    with pytest.raises(Refused, match="statement 0: "):
        auth.change_all(["add role:new", *grants], by="user:bob")
    assert [each.revision for each in auth.change_all(["add role:new", *grants], by="user:ann")] == [8, 9, 10]
    for later in ("allow CREATE_SCHEMA on catalog:c to role:new", f"revoke {grants[0]}".replace(" to ", " from ")):
        with pytest.raises(Refused):
            auth.change(later, by="user:ann")
    with pytest.raises(Refused, match="statement 2: "):  # a revoke has no such rule
        auth.change_all(
            ["add role:x", grants[0].replace("new", "x"), "revoke " + grants[0].replace("to role:new", "from role:x")],
            by="user:ann",
        )
    auth.change_all(["drop role:new", "add role:new", *grants], by="user:ann")


def test_new_users_and_groups_have_no_rule_of_their_own(tenant: Tenants) -> None:
    facts = ["add catalog:c", "add user:ann", f"allow CREATE_ROLE on metalake:{ROOT_NAME} to user:ann"]
    facts += [f"allow MANAGE_USERS on metalake:{ROOT_NAME} to user:ann"]
    auth = tenant("lakehouse", facts, ROOT_NAME)
    with pytest.raises(Refused, match="statement 1: "):
        auth.change_all(["add user:new", "allow USE_CATALOG on catalog:c to user:new"], by="user:ann")


def test_cycle_within_a_batch_is_found(tenant: Tenants) -> None:
    groups = [f"add group:g{number}" for number in range(5)]
    auth = tenant("lakehouse", [*groups, "member group:g0 of group:g1"])
    ring = ["member group:g1 of group:g2", "member group:g2 of group:g3", "member group:g3 of group:g0"]
    with pytest.raises(Invalid, match=r"^statement 2: .* would close a cycle: .*; first remove the memberships"):
        auth.change_all(ring)
    opened = [*ring[:2], "remove group:g0 from group:g1", ring[2]]
    assert all(change.id for change in auth.change_all(opened))
    assert [bool(problem) for problem in auth.given([*ring, "member group:g0 of group:g1"])] == [False] * 3 + [True]


# ---- all or nothing ------------------------------------------------------------------------------------------------
def test_wrong_statement_undoes_the_batch(tenant: Tenants) -> None:
    auth = tenant(given=SMALL)
    before = state(auth), history(auth)
    wrong_ones: list[tuple[str, type[Invalid]]] = [
        ("add table:hr.nowhere.t", Unknown),
        ("give user:bob all", Invalid),
        ("add user:ann", Invalid),
        ("owner group:x of catalog:hr", Invalid),
    ]
    for wrong, kind in wrong_ones:
        with pytest.raises(kind, match=r"^statement 2: ") as raised:
            auth.change_all(["add user:cas", "add user:dan", wrong, "add user:eve"], by="user:ann")
        assert raised.value.index == 2
    with pytest.raises(Refused, match=r"^statement 0: "):
        auth.change_all(["add catalog:mine", "add catalog:mine"], by="user:bob")
    assert (state(auth), history(auth)) == before


def test_first_wrong_statement_is_named(tenant: Tenants) -> None:
    auth = tenant(given=SMALL)
    with pytest.raises(Invalid, match=r"^statement 2: 'allow .*|^statement 2: table"):
        # the last is always wrong, the one before only after the first two
        auth.change_all(
            [
                "add table:hr.public.t",
                "drop table:hr.public.t",
                "allow SELECT_TABLE on table:hr.public.t to role:analyst",
                "add user:ann",
            ],
            by="user:ann",
        )


def test_empty_batch_changes_nothing(tenant: Tenants) -> None:
    assert tenant(given=SMALL).change_all([], by="user:ann") == []


# ---- each alone ------------------------------------------------------------------------------------------------------
def test_each_statement_has_an_outcome_of_its_own(tenant: Tenants) -> None:
    auth = tenant(given=[*SMALL, "owner user:bob of catalog:hr"])
    statements = ["drop schema:hr.public", "add role:maker", "give it", "add user:bob", "drop schema:hr.public"]
    would = auth.change_all(statements, by="user:bob", dry_run=True, each=True)
    assert [type(each) for each in would] == [Change, Refused, InvalidInput, Conflict, Change]
    outcomes = auth.change_all(statements, by="user:bob", id="mine", each=True)
    assert [type(each) for each in outcomes] == [Change, Refused, InvalidInput, Conflict, Unknown]
    assert str(outcomes[1]).startswith("'add role:maker' by user:bob is refused")
    assert [each.id for each in auth.log(limit=1)] == ["mine.0"]
    again = auth.change_all(statements[:1], by="user:bob", id="mine", each=True)
    assert again[:1] == outcomes[:1] and isinstance(again[0], Change) and again[0].already
    assert auth.change_all([], each=True) == []


@pytest.mark.parametrize("id_", ["", "i" * 198, 7])
def test_wrong_id_is_found_before_the_first_of_many_statements(tenant: Tenants, id_: Any) -> None:
    auth = tenant(given=SMALL)
    before = auth.revision_now()
    with pytest.raises(InvalidInput, match="pass a string of 1 to 197 characters"):
        auth.change_all([f"add user:u{number}" for number in range(11)], id=id_, each=True)
    assert auth.revision_now() == before


def test_longest_id_is_that_with_the_number_of_the_last_statement(tenant: Tenants) -> None:
    auth = tenant(given=SMALL)
    made = auth.change_all([f"add user:u{number}" for number in range(10)], id="i" * 198, each=True)
    assert [each.id for each in made if isinstance(each, Change)] == [f"{'i' * 198}.{at}" for at in range(10)]


def test_failure_ends_a_call_for_each_statement(tenant: Tenants, monkeypatch: pytest.MonkeyPatch) -> None:
    auth = tenant(given=SMALL)
    change = Authorizer.change

    def failing(self: Authorizer, statement: str, **named: Any) -> Change:
        if statement == "add user:lost":
            raise Unavailable("the connection was lost", unknown=True)
        return change(self, statement, **named)

    monkeypatch.setattr(Authorizer, "change", failing)
    monkeypatch.setattr(ChangeService, "in_order", lambda *_: [None])  # each is made alone
    with pytest.raises(Unavailable) as raised:
        auth.change_all(["add user:cas", "add user:lost", "add user:dan"], each=True)
    assert (raised.value.index, raised.value.unknown) == (1, True)
    assert [each.statement for each in auth.log(limit=1)] == ["add user:cas"]
    with pytest.raises(InvalidInput, match="omit at_revision and root_id"):
        auth.change_all(["add user:x"], each=True, at_revision=1)  # type: ignore[call-overload]


# ---- a dry run -------------------------------------------------------------------------------------------------------
def test_dry_run_reports_the_outcome_and_changes_nothing(tenant: Tenants) -> None:
    auth = tenant(given=SMALL)
    before = state(auth), history(auth), auth.log(refused=True)
    would = auth.change("drop schema:hr.public", by="user:ann", dry_run=True)
    assert (would.id is None, would.revision) == (False, len(SMALL) + 1)
    assert (same := auth.change("owner user:ann of metalake:ml", dry_run=True)).id is None and same.revision == len(
        SMALL
    )
    assert len(auth.change_all(["add user:x", "drop user:x", "add user:x"], dry_run=True)) == 3
    with pytest.raises(Refused):
        auth.change("drop schema:hr.public", by="user:bob", dry_run=True)
    with pytest.raises(Invalid):
        auth.change("add user:ann", by="user:ann", dry_run=True)
    assert (state(auth), history(auth), auth.log(refused=True)) == before


# ---- checks --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("check", "kind", "text"),
    [
        (
            ("user:own", "load_catalog", "catalog:nope"),
            Unknown,
            "catalog:nope does not exist; add it, or check the name",
        ),
        (("user:own", "fly", "catalog:hr"), UnknownName, "the operation fly is unknown in the policy gravitino"),
        (("user:own", "USE_CATALOG", "catalog:"), InvalidReference, ""),
        (("role:analyst", "USE_CATALOG", "catalog:hr"), Invalid, "role:analyst: the subject must be a user"),
        (("user:own", "USE_CATALOG"), Invalid, r"\('user:own', 'USE_CATALOG'\) is neither"),
        (("user:own", "get_tag_for_object", "catalog:hr"), UnknownName, ""),
    ],
)
def test_wrong_check_of_a_batch_is_named_by_its_index(
    tenant: Tenants, check: Any, kind: type[Exception], text: str
) -> None:
    auth = tenant(given=SMALL)
    right = ("user:own", "load_catalog", "catalog:hr")
    for index, batch in ((1, [right, check]), (0, [check, right, check])):
        with pytest.raises(Invalid, match=f"^check {index}: {text}") as raised:
            auth.check_many(batch)
        assert (type(raised.value), raised.value.index) == (kind, index)


# ---- as alone --------------------------------------------------------------------------------------------------------
PIPES = """
policy: pipes
types: {org: {}, database: {in: org}, pipe: {in: org}, user: {in: org, kind: user}}
grants: {to: user}
privileges: {READ: {on: "org, database"}, WRITE: {on: "org, database"}}
operations: {}
changes:
  add: {pipe: {if: READ(with.source) and WRITE(with.target), with: {source: database, target: database}}}
"""


def test_equal_names_in_other_places_are_other_checks(tenant: Tenants, tmp_path: Path) -> None:
    (tmp_path / "pipes.yaml").write_text(PIPES)
    given = ["add user:u", "add database:a", "add database:b"]
    given += ["allow READ on database:a to user:u", "allow WRITE on database:b to user:u"]
    auth = tenant(str(tmp_path / "pipes.yaml"), given)
    right = "add pipe:one with source=database:a, target=database:b"
    for wrong in (
        "add pipe:two with target=database:a, source=database:b",
        "add pipe:two with source=database:b, target=database:a",
    ):
        with pytest.raises(Refused):
            auth.change(wrong, by="user:u")
        for batch in ([right, wrong], [wrong, right]):
            with pytest.raises(Refused) as raised:
                auth.change_all(batch, by="user:u")
            assert raised.value.index == batch.index(wrong)
    assert len(auth.change_all([right, right.replace("one", "two")], by="user:u")) == 2


WHOLE = """
policy: whole
types: {org: {}, project: {in: org, owned_by: user}, doc: {in: project}, user: {in: org, kind: user}}
grants: {to: user, inherit: false}
creating: READ
privileges: {READ: {on: "project, doc"}, SHARE: {on: "org, project"}, EDIT: {on: "project, doc"}}
operations: {}
changes:
  add: {doc: SHARE(project)}
  drop: {doc: SHARE(project)}
  grant: {project: "every(EDIT in doc) and SHARE(project)", doc: SHARE(project)}
  revoke: {project: "every(EDIT in doc)", doc: SHARE(project)}
  owner: {project: "every(EDIT in doc)"}
"""


def test_condition_about_all_descendants_sees_earlier_statements(tenant: Tenants, tmp_path: Path) -> None:
    (tmp_path / "whole.yaml").write_text(WHOLE)
    given = ["add user:u", "add project:p", "add doc:p.a", "allow SHARE on project:p to user:u"]
    auth = tenant(str(tmp_path / "whole.yaml"), [*given, "allow EDIT on doc:p.a to user:u"])
    needs_all = [
        "allow READ on project:p to user:u",
        "revoke allow READ on project:p from user:u",
        "owner user:u of project:p",
    ]
    for breaks in ("add doc:p.b", "revoke allow EDIT on doc:p.a from user:u"):
        for statement in needs_all:
            auth.change_all([statement, breaks], by="user:u", dry_run=True)
            with pytest.raises(Refused) as raised:
                auth.change_all([breaks, statement], by="user:u", dry_run=True)
            assert raised.value.index == 1


# ---- levels --------------------------------------------------------------------------------------------------------
def read_write_set(reads: str, writes: str, joins: bool = False) -> ReadWriteSet:
    return ReadWriteSet(set(reads), set(writes), joins)


def test_read_is_on_a_level_after_earlier_and_not_after_later_writes() -> None:
    assert levels([read_write_set("a", "a"), read_write_set("b", "b")]) == [[0, 1]]
    assert levels([read_write_set("a", "a"), read_write_set("a", "b"), read_write_set("b", "c")]) == [[0], [1], [2]]
    assert levels([read_write_set("ab", "b"), read_write_set("b", "c"), read_write_set("x", "b")]) == [[0], [1, 2]]
    assert levels([read_write_set("a", "a"), read_write_set("a", "b", True), read_write_set("x", "y", True)]) == [
        [0],
        [1, 2],
    ]
    assert levels([]) == []


def test_wrong_fact_does_not_add_mentioned_subjects(tenant: Tenants) -> None:
    auth = tenant("gravitino", ["add role:r"])
    problems = auth.given(["member user:a of role:nope", "member user:b of role:nope", "member user:b of role:r"])
    assert [bool(problem) for problem in problems] == [True, True, False]
    there = {entity["ref"] for entity in auth.ask("tenant_state")["entities"]}
    assert "user:a" not in there and "user:b" in there
    assert [each.statement for each in auth.log(object="user:a")] == []
