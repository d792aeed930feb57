"""The effects of a load and of a policy upgrade, before they are made, are the difference of everything."""

import random
from collections.abc import Callable, Iterable
from itertools import chain
from pathlib import Path

import pytest

from grantpath.engine import Authorizer, Conflict, Effects
from grantpath.engine.facts.compare.access_names import requirements
from grantpath.engine.policy.policy import Policy
from grantpath.engine.transfer import importer
from grantpath.engine.transfer.exporter import dump
from grantpath.engine.transfer.policy_upgrade import upgrade

from ....conftest import Tenants
from ....oracle import Oracle, oracle
from ....support.access_oracle import access, told
from ....support.command_line import Run, facts, run
from ....support.random_world import ROOT_NAME, random_world
from ....support.small_estate import FACTS
from ....support.tiers import all_slow, others_slow
from ...tenants.test_policy_upgrades import edited, reopened
from ...transfer.test_upgrade_dry_run import PUBLIC, RENAMED

__all__ = ["edited", "facts", "run"]
TYPES = (  # each with an entity that the new policy has built in
    (
        "  group: {in: metalake, kind: group}",
        "  group: {in: metalake, kind: group}\n  squad: {in: metalake, kind: role}",
    ),
    ("  role: user, group", "  role: user, group\n  squad: user"),
    ("grants: {to: role,", 'grants: {to: "role, squad",'),
    ("builtin:\n", "builtin:\n  squad:everyone: {held_by_every: user, allow: USE_CATALOG}\n"),
)
WIDER = ("    load_table: ", "    peek_table: SELECT_TABLE\n    load_table: ")


def world_of(policy: str, stated: list[str]) -> Oracle:
    world = oracle(policy, ROOT_NAME)
    for fact in stated:
        world.given(fact)
    return world


@pytest.mark.parametrize("policy", others_slow(["lakehouse", "gravitino", "deltastream", "cdap"]))
def test_effects_of_a_load_are_the_difference_of_everything(tenant: Tenants, tmp_path: Path, policy: str) -> None:
    first, wanted = (random_world(policy, random.Random(f"{policy} {seed}"), 60) for seed in ("first", "wanted"))
    dump(tenant(policy, wanted, ROOT_NAME), tmp_path / "new")
    auth = tenant(policy, first, ROOT_NAME)
    report = importer.load(auth, tmp_path / "new", replace=True, dry_run=True, list_facts=True)
    assert report.delta
    effects = auth.effects_of(report.delta.added, report.delta.removed, at=report.revision)
    before, after = world_of(policy, first), world_of(policy, wanted)
    gained, lost = access(after) - access(before), access(before) - access(after)
    assert gained and lost
    assert told(effects, before, after) == (gained, lost)
    importer.load(auth, tmp_path / "new", replace=True, consent=True)
    with pytest.raises(Conflict, match="repeat the dry run"):
        auth.effects_of(report.delta.added, report.delta.removed, at=report.revision)


def allowed(auth: Authorizer) -> set[tuple[str, str, str]]:
    """All access in a small root, by checks."""
    users = [user for type_ in auth.policy.user_types for user in auth.list(type_).answer]
    asked = [
        (user, name, on)
        for name, type_ in requirements(auth.policy)
        for on in auth.list(type_).answer
        for user in users
    ]
    found: set[tuple[str, str, str]] = set()
    for at in range(0, len(asked), 5_000):
        part = asked[at : at + 5_000]
        found.update(check for check, decision in zip(part, auth.check_many(part), strict=True) if decision)
    return found


def pairs(effects: Effects, verb: str, objects: dict[str, list[str]]) -> set[tuple[str, str, str]]:
    """What is gained, or lost. `objects` by place and type: all below."""
    return {
        (user, name, on)
        for effect in effects.effects
        if effect.effect == verb
        for name in effect.names
        for share in effect.shares
        for user in share.users
        for on in _meant(share.objects, [objects[f"{effect.type} {place}"] for place in share.below])
        - _meant(share.except_objects, [objects[f"{effect.type} {place}"] for place in share.except_below])
    }


def _meant(objects: Iterable[str], inside: Iterable[list[str]]) -> set[str]:
    return {*objects, *chain.from_iterable(inside)}


@pytest.mark.parametrize("changes", [(PUBLIC, WIDER), (RENAMED,), TYPES, *all_slow([((PUBLIC,),), ((WIDER,),)])])
def test_effects_of_an_upgrade_are_the_difference_of_everything(
    tenant: Tenants, edited: Callable[..., Policy], changes: tuple[tuple[str, str], ...]
) -> None:
    auth, new = tenant(given=FACTS), edited(*changes)
    before = allowed(auth)
    planned = upgrade(auth, new, dry_run=True)
    effects = auth.effects_of(planned.added, planned.removed, at=planned.revision, policy=new)
    upgrade(auth, new)
    again = reopened(auth)
    after = allowed(again)
    objects = {
        f"{type_} {place}": [each for each in again.list(type_).answer if _is_inside(again, each, place)]
        for type_ in again.policy.names.types
        for at in again.policy.names.types
        for place in again.list(at).answer
    }
    assert pairs(effects, "gain", objects) == after - before
    assert pairs(effects, "lose", objects) == before - after
    assert after != before
    back = edited()
    planned = upgrade(again, back, dry_run=True)
    if not planned.problems:
        returned = again.effects_of(planned.added, planned.removed, at=planned.revision, policy=back)
        assert pairs(returned, "lose", objects) == after - before
        assert pairs(returned, "gain", objects) == before - after


def _is_inside(auth: Authorizer, ref: str, place: str) -> bool:
    chain = auth.policy.chain(auth.policy.reference(ref, auth.root), auth.root)
    return any(each.text == place for _, each in chain[1:])


# ---- the commands ----------------------------------------------------------------------------------------------------
def test_the_load_command_prints_effects(run: Run, facts: str, tmp_path: Path) -> None:
    (tmp_path / "members.csv").write_text("member,of\nuser:ann,role:analyst\n")
    words = ["load", str(tmp_path), "--root", facts, "--dry-run", "--effects"]
    ran = run(*words)
    assert (ran.code, "effects 1 user gains access\n" in ran.out) == (0, True)
    found = Effects.model_validate(run(*words, "--json").json["effects"], strict=False)
    assert (found.gaining, found.losing) == (1, 0)
    (tmp_path / "members.csv").write_text("member,of\nuser:bob,role:analyst\n")
    assert run(*words).out.endswith("effects no user gains or loses anything\n")
    assert "--effects needs --dry-run" in run("load", str(tmp_path), "--root", facts, "--effects").err


def test_the_upgrade_command_prints_effects(run: Run, facts: str) -> None:
    words = ["policy", "upgrade", "gravitino", "--root", facts]
    ran = run(*words, "--dry-run", "--effects")
    assert (ran.code, "effects no user gains or loses anything\n" in ran.out) == (0, True)
    assert run(*words, "--dry-run", "--effects", "--json").json["effects"]["effects"] == []
    assert "--effects needs --dry-run" in run(*words, "--effects").err
