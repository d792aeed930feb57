"""The reasons of an answer are the same by Cypher, from memory and for the past: because, missing, paths and remedy."""

import re
from functools import partial
from pathlib import Path

import pytest

from grantpath.graph.errors import Unknown
from grantpath.graph.language.statement import Check

from ..conftest import Closing, Tenants
from ..support.random_world import random_checks
from ..support.sizes import size
from ..support.twin import POLICIES, SEED, Twin, _asked, as_check
from ..support.with_replica import with_replica

pytestmark = pytest.mark.trust

CHECKS, FACTS, EXPLAINED = size(full=4_000, short=600), size(full=400, short=120), size(full=200, short=25)
CROWDED = size(full=200, short=30)


_ALLOWED = re.compile(r"(\S+) has ALLOW ([A-Z_]+) on (\S+)")


def crowd(twin: Twin, count: int) -> list[Check]:
    """Gives allowed checks further reasons: groups and roles of the subject with the same grant, and DENYs of several
    of them. Returns these checks."""
    world, rng = twin.world, twin.rng
    asked = [each for each in random_checks(world, rng, 4 * count) if world.check(*each)][:count]
    containers = [each for each in world.subjects() if each.startswith(("group:", "role:"))]
    checks = [as_check(_asked(*each)) for each in asked]
    for check, decision in zip(checks, twin.graph.check_many(checks), strict=True):
        joined = rng.sample(containers, min(4, len(containers)))
        twin.say([f"member {check.subject} of {container}" for container in joined])
        for _, privilege, on in filter(None, (_groups(reason) for reason in decision.because)):
            twin.say([f"allow {privilege} on {on} to {each}" for each in [check.subject, *joined]])
            if world.denies and rng.random() < 0.4:
                twin.say([f"deny {privilege} on {on} to {each}" for each in rng.sample(joined, len(joined))])
    return checks


def _groups(reason: str) -> tuple[str, str, str] | None:
    found = _ALLOWED.fullmatch(reason)
    return (found[1], found[2], found[3]) if found else None


@pytest.mark.parametrize("policy", POLICIES)
def test_reasons_are_the_same_in_every_mode(tenant: Tenants, closing: Closing, policy: str) -> None:
    twin = Twin(tenant, policy, f"{SEED}.reasons", FACTS)
    plain, memory = twin.graph, with_replica(twin.graph)
    past = plain.past(plain.revision_now())
    checks = [as_check(_asked(*check)) for check in random_checks(twin.world, twin.rng, CHECKS)]
    different = []
    by_cypher = plain.check_many(checks)
    for name, others in (("memory", memory.check_many(checks)), ("past", plain.check_many(checks, as_of=past))):
        for one, other in zip(by_cypher, others, strict=True):
            if one.model_dump() != other.model_dump():
                different.append((name, one.question, one.because, other.because, one.missing, other.missing))
    for check in twin.rng.sample(checks, min(EXPLAINED, len(checks))):
        explain = partial(
            plain.explain, check.subject, check.name, check.object, as_role=check.as_role, with_=check.with_
        )
        one, other = explain(), explain(as_of=past)
        if one.model_dump() != other.model_dump():
            different.append(("explain", one.question, one.paths, other.paths, one.missing, other.missing))
    closing(f"reasons, {policy}: {2 * len(checks):,} decisions, {len(different)} differ; seed {SEED}")
    assert not different, different[:3]


@pytest.mark.parametrize("policy", POLICIES)
def test_first_of_many_reasons_is_the_same_in_every_mode(tenant: Tenants, closing: Closing, policy: str) -> None:
    twin = Twin(tenant, policy, f"{SEED}.reasons", FACTS)
    checks = [*crowd(twin, CROWDED), *(as_check(_asked(*each)) for each in random_checks(twin.world, twin.rng, CHECKS))]
    plain = twin.graph
    by_cypher, past = plain.check_many(checks), plain.past(plain.revision_now())
    different = [
        (one.question, one.because, other.because, one.missing, other.missing)
        for others in (with_replica(plain).check_many(checks), plain.check_many(checks, as_of=past))
        for one, other in zip(by_cypher, others, strict=True)
        if one.model_dump() != other.model_dump()
    ]
    closing(f"many reasons, {policy}: {2 * len(checks):,} decisions, {len(different)} differ; seed {SEED}")
    assert not different, different[:3]
    assert not twin.differences, twin.report()


LINKS = """policy: links
types:
  site: {}
  doc: {in: site}
  user: {in: site, kind: user}
grants: {to: user}
privileges:
  EDIT: {on: doc}
operations:
  doc:
    link:
      if: EDIT
      with:
        source: {type: doc, optional: true, if: EDIT(with.source)}
        target: {type: doc, optional: true, if: EDIT(with.target)}
"""


def test_first_of_two_missing_second_objects_does_not_depend_on_their_order(tenant: Tenants, tmp_path: Path) -> None:
    (tmp_path / "links.yaml").write_text(LINKS)
    auth = tenant(str(tmp_path / "links.yaml"), ["add user:u", "add doc:d"])
    absent = {"source": "doc:not", "target": "doc:nor"}
    for ask in (auth.check, auth.explain, with_replica(auth).check):
        for with_ in (absent, dict(reversed(absent.items()))):
            with pytest.raises(Unknown, match="doc:not does not exist"):
                ask("user:u", "link", "doc:d", with_=with_)
