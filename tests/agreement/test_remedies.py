"""Remedies and paths: a remedy makes a refused check allowed, and each hop of a path is an edge of the graph."""

import random
import re
from collections.abc import Iterator

import pytest

from grantpath.engine.policy import policy as policies
from grantpath.graph.language.statement import Check as Asked

from ..conftest import Closing, Tenants
from ..oracle import Oracle, oracle
from ..support.graph_edges import edges_of
from ..support.random_world import ROOT_NAME, Check, random_checks, random_world
from ..support.remedy_oracle import RefusedCheck
from ..support.tiers import others_slow
from ..support.twin import POLICIES, SEED, Twin

SIZES = (40, 160)  # facts in each world of a policy
CHECKS = 200  # in each world
EXPLAINED = 20  # in each world, by the server
DENIED = 8  # allowed checks of the larger world that get a DENY, if the policy has DENY
SUPERFLUOUS = 0.02  # fraction of the remedies: a role that is joined can have superfluous grants, too

_REF = r"[a-z][a-z0-9_]*:(?:`(?:[^`]|``)*`|[^` ])+"
_ALLOWED = re.compile(rf"({_REF}) has ALLOW ([A-Z_]+) on ({_REF})")
_HOP = re.compile(rf" (?:-([A-Z_]+(?: [A-Z_]+)?)->|<-(CHILD_OF)-) ({_REF})")


def questions(policy: str, size: int, count: int) -> tuple[Oracle, list[Check]]:
    """A random world, and checks in it, some of them about a missing user."""
    rng = random.Random(f"{policy} {SEED} {size} remedies")
    world = oracle(policy, ROOT_NAME)
    for fact in random_world(policy, rng, size, tags=False):
        assert world.given(fact) == "done"
    checks = random_checks(world, rng, count)
    return world, checks + [("user:nobody-yet", *check[1:]) for check in checks[: count // 10]]


@pytest.mark.parametrize("policy", POLICIES)
def test_remedies_turn_no_into_yes(closing: Closing, policy: str) -> None:
    model = policies.load(policy)
    denied = remedied = statements = superfluous = powerful = 0
    wrong: list[str] = []
    for size in SIZES:
        world, checks = questions(policy, size, CHECKS)
        for check in checks:
            if world.check(*check):
                continue
            denied += 1
            case = RefusedCheck(model, world, check)
            assert case.seen.texts
            assert case.remedy.texts
            said = case.remedy.statements
            wrong += [f"{check}: {problem}: {said}" for problem in case.problems()]
            if case.plain_grants_suffice():
                wrong.append(f"{check}: {said} gives administrative rights, but plain grants suffice")
            if not said and case.remedy.texts[0].partition(":")[0] not in (
                "no change allows it",
                "the policy never allows this",
            ):
                wrong.append(f"{check}: no remedy, but {case.remedy.texts}")
            remedied += bool(said)
            statements += len(said)
            powerful += case.powerful()
            superfluous += case.superfluous()
    closing(
        f"remedies, {policy}: {remedied:,} of {denied:,} denied questions have one, of {statements:,} statements; "
        f"{len(wrong)} wrong, {powerful} that give administrative rights because nothing less suffices, "
        f"{superfluous} with a statement that is not needed; seed {SEED}"
    )
    assert not wrong, f"{len(wrong)} wrong:\n" + "\n".join(wrong[:10])
    assert remedied > denied * 0.8
    assert superfluous <= remedied * SUPERFLUOUS


@pytest.mark.parametrize("policy", others_slow(POLICIES))
def test_paths_consist_of_edges_and_remedies_agree(module_tenant: Tenants, closing: Closing, policy: str) -> None:
    model = policies.load(policy)
    paths = hops = sentences = denials = explained = 0
    for size in SIZES:
        twin = Twin(module_tenant, policy, f"{SEED} paths", size)
        checks = random_checks(twin.world, twin.rng, EXPLAINED)
        if twin.world.denies and size == max(SIZES):
            deny(twin, checks)
        edges = set(edges_of(twin.graph))
        for check in checks:
            subject, name, on, with_, role = check
            told = twin.graph.explain(subject, name, on, with_=with_, as_role=role)
            explained += 1
            assert told.decision.allowed == twin.world.check(*check), check
            if told.decision:
                assert told.paths, check
                assert not told.remedy
            else:
                assert told.remedy == list(RefusedCheck(model, twin.world, check).remedy.statements), check
            for path in told.paths:
                if path in told.decision.because:
                    sentences += 1
                    continue
                steps = list(steps_of(path))
                assert steps, path
                assert not [step for step in steps if step not in edges], (check, path)
                assert path.startswith(f"{subject} "), (check, path)
                denied = [edge for _, edge, _ in steps if edge.startswith("DENY ")]
                assert bool(denied) != told.decision.allowed, (check, path)
                paths, hops, denials = paths + 1, hops + len(steps), denials + bool(denied)
    closing(
        f"paths, {policy}: {explained} explanations, {paths} paths with {hops} hops, all of them edges of the graph; "
        f"{denials} lead over a DENY; {sentences} sentences where no edge tells"
    )
    assert paths
    assert bool(denials) == twin.world.denies


def deny(twin: Twin, checks: list[Check]) -> None:
    """Adds a DENY against some of the ALLOWs that cause allowed checks."""
    allowed = [check for check in checks if twin.world.check(*check)]
    asked = [
        Asked(subject=who, name=name, object=on, with_=with_, as_role=role) for who, name, on, with_, role in allowed
    ]
    for decision in twin.graph.check_many(asked)[:DENIED]:
        for reason in filter(None, map(_ALLOWED.fullmatch, decision.because[-1:])):
            by, privilege, place = reason.groups()
            twin.say([f"deny {privilege} on {place} to {by}"])


def steps_of(path: str) -> Iterator[tuple[str, str, str]]:
    """The hops of a path, each in the direction of its arrow."""
    start = re.match(_REF, path)
    assert start, path
    here, at = start.group(), start.end()
    while at < len(path):
        hop = _HOP.match(path, at)
        assert hop, path[at:]
        there = hop.group(3)
        yield (here, hop.group(1), there) if hop.group(1) else (there, hop.group(2), here)
        here, at = there, hop.end()
