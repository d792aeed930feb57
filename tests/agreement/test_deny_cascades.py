"""`deny: cascades`: a DENY of a privilege denies every privilege that implies it, in every engine and verb."""

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from grantpath.engine import Authorizer
from grantpath.engine.cli.main import main
from grantpath.engine.policy.clauses import texts
from grantpath.engine.policy.policy import load, warnings
from grantpath.engine.scenarios import runner
from grantpath.engine.tenants.tenant_state import TenantState, read_state
from grantpath.graph.errors import InvalidPolicy
from grantpath.graph.guard.store import Store
from grantpath.graph.language.statement import Check, Which, Who
from grantpath.spark_sync.bulk.batch_answers import BulkQuestion, answer_many

from ..conftest import Closing, Tenants
from ..oracle.rungs import PEOPLE, PLACES, Rungs, given, random_rungs
from ..support.sizes import size
from ..support.twin import SEED
from ..support.with_replica import replica_of, with_replica

pytestmark = pytest.mark.trust

WORLDS = size(60, 1)
EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
Question = tuple[str, str, str]  # user, name, place


def world(tenants: Tenants, number: int, folder: Path) -> tuple[Rungs, Authorizer]:
    """Two in three worlds use `cascades`; the others test the rule of `deny: true`."""
    rng = random.Random(f"cascades {SEED} {number}")
    rungs = random_rungs(rng, "cascades" if number % 3 else "true", rng.randint(5, 20))
    path = folder / f"rungs{number}.yaml"
    path.write_text(rungs.policy())
    return rungs, tenants(str(path), given(rungs))


def answers(rungs: Rungs) -> Iterator[tuple[Question, bool]]:
    """Every privilege and operation on every place, with the expected decision."""
    for place in PLACES:
        for name, types in rungs.on.items():
            if place.partition(":")[0] in types:
                for user in PEOPLE:
                    truth = rungs.may(user, name, place)
                    yield (user, name, place), truth
                    yield (user, f"do_{name.lower()}", place), truth


def listed(truth: dict[Question, bool]) -> Iterator[tuple[Who | Which, list[str]]]:
    """The same as lists."""
    for name, place in {(name, place) for _, name, place in truth}:
        yield Who(name=name, object=place), sorted(user for user in PEOPLE if truth[user, name, place])
    for user, name, type_ in {(user, name, place.partition(":")[0]) for user, name, place in truth}:
        found = sorted(place for place in PLACES if place.startswith(f"{type_}:") and truth[user, name, place])
        yield Which(type=type_, subject=user, name=name), found


def differences(rungs: Rungs, auth: Authorizer, truth: dict[Question, bool]) -> Iterator[str]:
    for (question, wanted), decision in zip(truth.items(), auth.check_many(list(truth)), strict=True):
        if bool(decision) != wanted:
            yield f"check {question}: {bool(decision)}"
        for reason in decision.because:
            yield from unmentioned_denials(rungs, question, reason, " has ALLOW ")
    for asked, found in listed(truth):
        if isinstance(asked, Who):
            got = list(auth.who(asked.name, asked.object))
        else:
            got = list(auth.which(asked.type, asked.subject, asked.name))
        if got != found:
            yield f"{asked}: {got}, not {found}"


def unmentioned_denials(rungs: Rungs, question: Question, reason: str, before: str) -> Iterator[str]:
    """The reasons that name a grant, and are wrong about whether its own privilege is denied."""
    if before in reason:
        name = reason.partition(before)[2].split()[0].removesuffix("->")
        if rungs.denied(question[0], name, question[2]) is not (" itself is denied to " in reason):
            yield f"{question}: {reason}"


def explained(rungs: Rungs, auth: Authorizer, question: Question, wanted: bool) -> Iterator[str]:
    """An allowed check has paths; a refused one has a remedy that makes it allowed."""
    told = auth.explain(*question)
    if bool(told) != wanted:
        yield f"explain {question}: {bool(told)}"
    for path in told.paths if wanted else []:
        yield from unmentioned_denials(rungs, question, path, " -ALLOW ")
    after = Rungs(rungs.deny, rungs.ladders, rungs.implies, rungs.on, rungs.inherited, [*rungs.grants])
    for statement in told.remedy:
        words = statement.split()
        revoked = words.pop(0) == "revoke" if words[0] == "revoke" else False
        grant = (words[0], words[1], words[3], words[5])
        after.grants.remove(grant) if revoked else after.grants.append(grant)
    user, name, place = question
    if not after.may(user, name.removeprefix("do_").upper(), place):
        yield f"{question}: the remedy {told.remedy} does not turn the no into a yes"


@pytest.mark.spark
def test_every_engine_follows_deny_cascades(tenant: Tenants, tmp_path: Path, closing: Closing) -> None:
    wrong: list[str] = []
    states: list[TenantState] = []
    asked: list[BulkQuestion] = []
    expected: list[bool | list[str]] = []
    told = 0
    for number in range(1, WORLDS + 1):
        rungs, auth = world(tenant, number, tmp_path)
        truth = dict(answers(rungs))
        copied = with_replica(auth)
        for engine, asking in (("Cypher", auth), ("the copy", copied)):
            wrong += [f"{engine}, world {number}, {each}" for each in differences(rungs, asking, truth)]
        assert replica_of(copied).answered
        assert not replica_of(copied).left
        for question in random.Random(number).sample(list(truth), 12):
            wrong += [f"world {number}, {each}" for each in explained(rungs, auth, question, truth[question])]
            told += 1
        states.append(read_state(f"world {number}", auth))
        for (who, name, on), yes in truth.items():
            asked.append(BulkQuestion(f"world {number}", Check(subject=who, name=name, object=on)))
            expected.append(yes)
        for one, names in listed(truth):
            asked.append(BulkQuestion(f"world {number}", one))
            expected.append(names)
    for bulk, wanted, answer in zip(asked, expected, answer_many(states, asked, print), strict=True):
        if answer != wanted:
            wrong.append(f"Spark, {bulk}: {answer}, not {wanted}")
    closing(
        f"deny: cascades: {len(asked):,} questions on {WORLDS} random ladders asked in every way and {told} "
        f"explained, {len(wrong)} different"
    )
    assert sum(map(bool, expected)) > len(expected) / 10
    assert not wrong, "\n".join(wrong[:20])


def test_the_example_decides_as_its_scenarios_say(store: Store) -> None:
    report = runner.run(runner.read_files([EXAMPLES / "ladders.scenarios.yaml"]), store)
    assert [each for each in report.results if not each.passed] == []
    assert report.passed == 20


@pytest.mark.parametrize("policy", ["ladders", "ladders_deny_true"])
def test_reason_with_denied_privilege_says_so(tenant: Tenants, policy: str) -> None:
    said = ["add dashboard:d", "allow ADMIN on site:ml to user:u", "deny ADMIN on dashboard:d to user:u"]
    auth = tenant(str(EXAMPLES / f"{policy}.yaml"), said)
    denied = " (ADMIN itself is denied to user:u on dashboard:d; only what it implies is granted)"
    reason = "user:u has ALLOW ADMIN on site:ml"
    told = auth.explain("user:u", "view", "dashboard:d")
    assert told.decision.because == auth.check("user:u", "view", "dashboard:d").because == [reason + denied]
    assert told.paths == ["user:u -ALLOW ADMIN-> site:ml <-CHILD_OF- dashboard:d" + denied]
    auth.given(["allow EDITOR on dashboard:d to user:u"])
    assert auth.check("user:u", "view", "dashboard:d").because == ["user:u has ALLOW EDITOR on dashboard:d"]


RUNGS = """policy: p
types:
  site: {{}}
  user: {{in: site, kind: user}}
grants: {{to: user, deny: {deny}}}
privileges:
  LOW: {{on: site}}
  MID: {{on: site}}
  HIGH: {{on: site}}
ladders:
  - LOW, MID, HIGH
operations:
  site: {{look: LOW}}
"""


def facts(deny: str, name: str, folder: Path) -> tuple[list[str], list[str]]:
    path = folder / "p.yaml"
    path.write_text(RUNGS.format(deny=deny))
    ((((one,),),),) = (load(str(path)).question(name, "site").clauses,)
    return texts(one.any), texts(one.none)


def test_deny_of_a_rung_denies_higher_rungs_only_if_it_cascades(tmp_path: Path) -> None:
    assert facts("true", "HIGH", tmp_path) == (["ALLOW HIGH site"], ["DENY HIGH site"])
    assert facts("false", "HIGH", tmp_path) == (["ALLOW HIGH site"], [])
    assert facts("cascades", "HIGH", tmp_path) == (
        ["ALLOW HIGH site"],
        ["DENY HIGH site", "DENY LOW site", "DENY MID site"],
    )
    assert facts("cascades", "LOW", tmp_path)[1] == ["DENY LOW site"]


def test_ladder_or_implies_with_deny_true_is_a_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(RUNGS.format(deny="true").replace("LOW: {on", "LAST: {on: site, implies: HIGH}\n  LOW: {on"))
    remedy = "to deny those, too, write `deny: cascades` under `grants`"
    assert warnings(str(path)) == [
        f"{path}:12: ladders.0: with `deny: true` a DENY of LOW does not deny MID, HIGH; {remedy}",
        f"{path}:7: privileges.LAST.implies: with `deny: true` a DENY of HIGH does not deny LAST; {remedy}",
    ]
    assert main(["policy", "validate", str(path)]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("ok ") and said.err.count("warning: ") == 2
    assert main(["policy", "validate", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["warnings"] == warnings(str(path))
    for deny in ("false", "cascades"):
        path.write_text(RUNGS.format(deny=deny))
        assert warnings(str(path)) == []


@pytest.mark.parametrize("word", ["yes", '"true"', "1", "cascade", "[true]"])
def test_unknown_value_of_deny_is_refused(word: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidPolicy, match=r"p\.yaml:5: grants\.deny: .*write true, false or cascades"):
        facts(word, "LOW", tmp_path)
