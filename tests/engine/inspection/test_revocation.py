"""`revocation`: the smallest set of statements after which the answer is no."""

import random
from collections import Counter

import pytest

from grantpath.engine import Revocation
from grantpath.engine.policy import policy as policies

from ...conftest import Closing, Tenants
from ...oracle import oracle
from ...support.random_world import ROOT_NAME, random_checks, random_world
from ...support.revocation_oracle import AllowedCheck, enriched, reduced
from ...support.sizes import size
from ...support.twin import POLICIES, SEED, Twin

pytestmark = pytest.mark.trust
WORLDS, CHECKS, FACTS = size(12, 2), size(200, 60), 160
SMALL = 8  # facts of a world in which all smaller sets are tried
EXECUTED = size(40, 8)  # revocations in one tenant, one after the other
TABLE = "table:c.s.t"
COMPANY = ["add catalog:c", "add schema:c.s", f"add {TABLE}", "add role:a", "add role:b", "add user:u", "add user:z"]
TWICE = [  # the use of the catalog and the schema is granted twice, so that one revoke does not end it
    *(f"allow {privilege} on metalake:main to user:u" for privilege in ("USE_CATALOG", "USE_SCHEMA")),
    *(f"allow {privilege} on catalog:c to role:b" for privilege in ("USE_CATALOG", "USE_SCHEMA")),
    "member user:u of role:b",
]


def answered(facts: list[str], subject: str, name: str, object_: str, policy: str = "lakehouse") -> Revocation:
    """The answer in a world of these facts; its statements are accepted and make the answer no."""
    world = oracle(policy, ROOT_NAME)
    for fact in facts:
        assert world.given(fact) == "done", fact
    case = AllowedCheck(policies.load(policy), world, (subject, name, object_, {}, None))
    assert case.answer.allowed == world.check(subject, name, object_)
    if case.answer.statements:
        assert not case.after(case.answer.statements)
    assert not [*case.wrong_denies()]
    assert len(facts) > SMALL * 2 or case.smaller() is None
    return case.answer


@pytest.mark.parametrize("policy", POLICIES)
def test_no_smaller_set_makes_the_answer_no(closing: Closing, policy: str) -> None:
    model, rng = policies.load(policy), random.Random(f"{policy} {SEED} revocations")
    sizes, wrong, denies = Counter[int | None](), list[str](), 0
    for _ in range(WORLDS):
        world = oracle(policy, ROOT_NAME)
        for fact in random_world(policy, rng, FACTS, tags=False):
            world.given(fact)
        for check in random_checks(world, rng, CHECKS):
            small = reduced(world, check, rng, SMALL - 3) if world.check(*check) else None
            if small is None:
                continue
            case = AllowedCheck(model, enriched(model, small, check, rng, SMALL), check)
            statements = case.answer.statements
            sizes[None if statements is None else len(statements)] += 1
            denies += bool(case.answer.denies)
            assert case.answer.proved_smallest, check
            if statements is not None and case.after(statements):
                wrong.append(f"{check}: still yes after {statements}")
            if (fewer := case.smaller()) is not None:
                wrong.append(f"{check}: {fewer} would do instead of {statements}")
            wrong += [f"{check}: {deny}" for deny in case.wrong_denies()]
    closing(f"revocations, {policy}: by number of statements {dict(sizes)}; {denies} with a DENY; {len(wrong)} wrong")
    assert not wrong, "\n".join(wrong[:10])
    assert sum(sizes.values()) > 10


@pytest.mark.parametrize("policy", POLICIES)
def test_statements_are_executed_and_the_answer_is_no(tenant: Tenants, closing: Closing, policy: str) -> None:
    twin, model = Twin(tenant, policy, f"{SEED}.revocation", FACTS), policies.load(policy)
    executed = statements = impossible = unproved = 0
    for check in random_checks(twin.world, twin.rng, EXECUTED * 12):
        if executed == EXECUTED:
            break
        subject, name, object_, with_, role = check
        if not twin.world.check(*check):
            continue
        case = AllowedCheck(model, twin.world, check)
        answer = twin.graph.revocation(subject, name, object_, with_=with_, as_role=role)
        assert answer.model_copy(update={"revision": 0}) == case.answer, check
        unproved += not answer.proved_smallest
        if answer.statements is None:
            impossible += 1
            continue
        twin.say(answer.statements)
        assert not twin.differences, twin.report()
        assert not twin.graph.check(subject, name, object_, with_=with_, as_role=role), check
        after = twin.graph.revocation(subject, name, object_, with_=with_, as_role=role)
        assert (after.allowed, after.statements, after.proved_smallest) == (False, (), True)
        executed, statements = executed + 1, statements + len(answer.statements)
    closing(
        f"revocations executed, {policy}: {executed} of {statements} statements, each then no; "
        f"{impossible} impossible, {unproved} not proved smallest"
    )
    assert executed


# ---- cases -------------------------------------------------------------------------------------------------------
def test_removal_that_also_ends_a_deny_is_not_chosen() -> None:
    facts = [
        *(*COMPANY, *TWICE, "member user:u of role:a"),
        f"allow SELECT_TABLE on {TABLE} to role:a",
        f"allow MODIFY_TABLE on {TABLE} to user:u",
        f"deny MODIFY_TABLE on {TABLE} to role:a",
    ]
    select = answered(facts, "user:u", "SELECT_TABLE", TABLE)
    assert select.statements == ("remove user:u from role:a",)  # that concerns only the subject
    load = answered(facts, "user:u", "load_table", TABLE)
    assert load.statements == (f"revoke allow SELECT_TABLE on {TABLE} from role:a",)


def test_more_than_twenty_candidates_are_not_proved() -> None:
    roles = [f"role:r{number}" for number in range(21)]
    facts = [*COMPANY, *(f"add {role}" for role in roles), *(f"member user:u of {role}" for role in roles)]
    granted = [f"allow SELECT_TABLE on {TABLE} to {role}" for role in roles]
    few = answered([*facts, *granted[:10]], "user:u", "SELECT_TABLE", TABLE)
    assert (few.candidates, len(few.statements or ()), few.proved_smallest) == (20, 10, True)
    many = answered([*facts, *granted], "user:u", "SELECT_TABLE", TABLE)
    assert (many.candidates, len(many.statements or ()), many.proved_smallest) == (42, 21, False)
    shared = [*(f"member {role} of role:a" for role in roles), f"allow SELECT_TABLE on {TABLE} to role:a"]
    one = answered([*facts, *shared], "user:u", "SELECT_TABLE", TABLE)
    assert (one.candidates, one.statements) == (43, (f"revoke allow SELECT_TABLE on {TABLE} from role:a",))


def test_new_owner_is_the_owner_above_or_else_the_first_that_the_subject_does_not_belong_to() -> None:
    facts = [*COMPANY, *TWICE, "member user:u of group:g", f"owner user:u of {TABLE}"]
    asked = ("user:u", "drop_table", TABLE)
    assert answered([*facts, "owner user:z of catalog:c"], *asked).statements == (f"owner user:z of {TABLE}",)
    others = answered([*facts, "owner group:g of catalog:c", "add user:y"], *asked)
    assert set(others.statements or ()) == {"remove user:u from group:g", f"owner user:y of {TABLE}"}


def test_group_becomes_the_owner_if_nothing_else_exists_and_the_subject_leaves_it() -> None:
    company = [fact for fact in COMPANY if fact not in ("add role:a", "add user:z")]
    facts = [*company, *TWICE, "member user:u of group:g", f"owner user:u of {TABLE}"]
    facts += ["allow USE_CATALOG on catalog:c to group:g", "add role:c", "member user:u of role:c"]
    facts += ["allow USE_CATALOG on catalog:c to role:c", "allow USE_SCHEMA on catalog:c to role:c"]
    answer = answered(facts, "user:u", "drop_table", TABLE)
    assert set(answer.statements or ()) == {f"owner group:g of {TABLE}", "remove user:u from group:g"}
    assert answer.proved_smallest


def test_what_every_user_may_do_cannot_be_revoked() -> None:
    answer = answered(COMPANY, "user:u", "load_metalake", "metalake:main", "gravitino")
    assert (answer.statements, answer.proved_smallest, answer.denies) == (None, True, ())


def test_what_comes_with_the_policy_is_not_a_candidate() -> None:
    facts = ["add user:u", "member user:u of role:ORGADMIN"]
    answer = answered(facts, "user:u", "CREATE_DATABASE", "organization:main", "deltastream")
    assert (answer.statements, answer.candidates) == (("remove user:u from role:ORGADMIN",), 1)


def test_grants_on_everything_below_count_only_where_something_exists() -> None:
    streams = [f"stream:n.{name}" for name in "abc"]
    facts = ["add namespace:n", *(f"add {stream}" for stream in streams[:2]), "add user:u"]
    facts += [f"allow ADMIN on {stream} to user:u" for stream in streams]
    answer = answered(facts, "user:u", "drop_all_streams", "namespace:n", "cdap")
    assert (answer.statements, answer.candidates) == ((f"revoke allow ADMIN on {streams[0]} from user:u",), 2)


def test_refused_check_needs_no_statement(tenant: Tenants) -> None:
    answer = tenant("lakehouse", COMPANY).revocation("user:u", "SELECT_TABLE", TABLE)
    assert (answer.allowed, answer.statements, answer.proved_smallest, answer.denies) == (False, (), True, ())
    assert answer.question.subject == "user:u"
