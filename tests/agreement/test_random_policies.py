"""Random policies, held to an evaluator written from docs/writing-a-policy.md, and the pairs of keys in them."""

import itertools
import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from pydantic import BaseModel

from grantpath.engine import Authorizer
from grantpath.engine.facts.set import memory_verdicts
from grantpath.engine.policy import schema
from grantpath.engine.policy.clauses import Clauses
from grantpath.engine.policy.index import Lengths
from grantpath.engine.policy.policy import Policy, load
from grantpath.graph.errors import InvalidPolicy
from grantpath.graph.language.statement import Check

from ..conftest import Closing, Tenants
from ..oracle.language import Language, World, questions, type_of
from ..support.random_policies import (
    LABELS,
    LATER,
    LATER_FOLDER,
    PAGES,
    PEOPLE,
    ROOT,
    TEAMS,
    RandomPolicy,
    entities,
    in_themselves,
    random_facts,
)
from ..support.sizes import size
from ..support.twin import SEED
from ..support.with_replica import with_replica
from ..unit.test_unread_keys import CASES, changed, loaded

pytestmark = pytest.mark.trust
POLICIES = size(2_000, 120)
QUESTIONS = size(1_000, 100)  # of each policy
STORED = size(40, 3)  # of them, in a graph
ASKING = [*PEOPLE, "crew:one"]
LISTED = size(200, 30)  # lists of subjects, of each policy in a graph
Drawn = tuple[dict[str, Any], Policy]
Asked = tuple[str, str, str, dict[str, str]]  # subject, name, object, second objects


def drawn(number: int, folder: Path, nested: bool = False) -> Drawn | None:
    """A random policy, as data and loaded; None if it is refused. `nested`: its folders are in folders."""
    data = RandomPolicy(random.Random(f"policy {SEED} {number}"), nested).data
    path, base = folder / f"drawn{number}.yaml", folder / f"base{number}.yaml"
    if number % 3 == 0:  # a third of the policies extend another one, which has the operations
        base.write_text(json.dumps({**data, "policy": "base", "define": {**data.get("define", {}), "away": "never"}}))
        written = {key: value for key, value in data.items() if key in ("policy", "operations")}
        path.write_text(json.dumps({**written, "extends": f"./{base.name}", "define": {"away": None}}))
        data = {**data, "extends": base.name}
    else:
        path.write_text(json.dumps(data))
    try:
        return data, load(str(path))
    except InvalidPolicy:
        return None


def asked(data: dict[str, Any]) -> Iterator[Asked]:
    """Every question about the world, with different second objects; without those that are errors."""
    missing = data["grants"].get("on_missing", False)
    subjects = [each for each in ASKING if type_of(each) in data.get("ask", {}).get("subjects", ["user"])]
    model = Language(data, World({*entities(data)}), ROOT)
    for name, ref, keys in questions(data, [ROOT, *entities(data), *([LATER] if missing else [])]):
        for subject in subjects:
            for to in ("folder:a", "folder:b", LATER_FOLDER) if keys else ("",):
                if not keys or model.can_take(name, ref, to):
                    yield subject, name, ref, dict.fromkeys(keys, to)


class Places:
    """The facts of one question, by the text of a fact (see engine/policy/facts.py)."""

    def __init__(self, model: Language, subject: str, principals: frozenset[str], named: Mapping[str, str]) -> None:
        self.model, self.world, self.subject, self.principals, self.named = (
            model,
            model.world,
            subject,
            principals,
            named,
        )

    def allows(self, clauses: Clauses) -> bool:
        return any(
            all(
                any(any(map(self.true, one.any)) and not any(map(self.true, one.none)) for one in term)
                for term in clause
            )
            for clause in clauses
        )

    def true(self, fact: object) -> bool:
        world, at = self.world, str(fact).rpartition(" ")[2]
        ref = at[1:] if at.startswith("=") else self.named.get(at, "")
        match str(fact).split(" "):
            case ["ALLOW" | "DENY" as effect, name, _] if "#" in name:
                name, _, kind = name.partition("#")
                tags = [tag for tagged, tag in world.tags if tagged == ref and type_of(tag) == kind]
                return any((effect.lower(), name, tag, by) in world.grants for tag in tags for by in self.principals)
            case ["ALLOW" | "DENY" as effect, name, _]:
                return any((effect.lower(), name, ref, by) in world.grants for by in self.principals)
            case ["OWNS", _]:
                return world.owners.get(ref) in self.principals
            case ["IS", _]:
                return ref == self.subject
            case ["HOLDS", _]:
                return ref in self.principals
            case ["EXISTS", _]:
                return ref in world.existing
            case ["BUILTIN", _]:
                return ref in self.model.policy["builtin"]
            case ["ALLOW", name, type_, "below", _]:
                return any(
                    (effect, each, type_of(on)) == ("allow", name, type_)
                    and by in self.principals
                    and ref in self.model.upward(on)[1:]
                    for effect, each, on, by in world.grants
                )
            case ["EVERY", names, types, "below", _]:
                return all(
                    any(("allow", name, on, by) in world.grants for name in names.split(",") for by in self.principals)
                    for on in world.existing
                    if type_of(on) in types.split(",") and ref in self.model.upward(on)[1:]
                )
        raise AssertionError(fact)


def places(model: Language, ref: str, second: Mapping[str, str]) -> dict[str, str]:
    def at(each: str) -> str:
        return f"folder@{each.count('.') + 1}" if nested and type_of(each) == "folder" else type_of(each)

    nested = in_themselves(dict(model.policy))
    named = {at(each): each for each in model.upward(ref)}
    for key, other in second.items():
        prefix = "grantee." if key == "grantee" else f"with.{key}."
        named |= {f"{prefix}{at(each)}": each for each in model.upward(other)}
    return named


def lengths(policy: Policy, ref: str, second: Mapping[str, str]) -> Lengths:
    root = policy.root(ROOT)
    return policy.lengths(
        policy.reference(ref, root), {key: policy.reference(each, root) for key, each in second.items()}
    )


def compiled(policy: Policy, model: Language, subject: str, name: str, ref: str, second: Mapping[str, str]) -> bool:
    """The answer of the compiled clauses."""
    question = policy.question(name, type_of(ref), frozenset(second), lengths(policy, ref, second))
    return subject in model.world.existing and any(
        Places(model, subject, principals, places(model, ref, second)).allows(question.clauses)
        for principals in model.acting(subject, None, not question.one_role)
    )


def changes(data: dict[str, Any]) -> Iterator[tuple[str, str, str | None, dict[str, str]]]:
    """Changes that have a rule: kind, object, grantee, second objects."""
    for kind, rules in data.get("changes", {}).items():
        for types, rule in rules.items():
            for ref in [each for each in entities(data) if type_of(each) in types.split(", ")]:
                if kind in ("add", "drop", "rename", "move", "tag"):
                    with_ = rule.get("with", {}) if isinstance(rule, dict) else {}
                    yield kind, ref, None, dict.fromkeys(with_, LABELS[0] if kind == "tag" else PAGES[0])
                    continue
                allowed = {
                    "owner": data["types"][type_of(ref)].get("owned_by", []),
                    "member": data["members"].get(type_of(ref), []),
                    "remove": data["members"].get(type_of(ref), []),
                }.get(kind, data["grants"]["to"])
                for grantee in [*PEOPLE, *TEAMS, "crew:one"]:
                    if type_of(grantee) in allowed:
                        yield kind, ref, grantee, {}


def differences(data: dict[str, Any], policy: Policy, world: World, told: Counter[bool]) -> Iterator[str]:
    model = Language(data, world, ROOT)
    every = list(asked(data))
    for question in random.Random(len(every)).sample(every, min(len(every), QUESTIONS)):
        wanted = model.check(*question)
        told[wanted] += 1
        if compiled(policy, model, *question) != wanted:
            yield f"{question}: the manual says {wanted}"
    for kind, ref, grantee, second in changes(data):
        named = {**second, **({"grantee": grantee} if grantee else {})}
        for actor, new in itertools.product(PEOPLE, (False, True) if kind == "grant" else (False,)):
            wanted = model.may_change(actor, kind, ref, named, new)
            told[wanted] += 1
            grantee_type = type_of(grantee) if grantee else None
            of = lengths(policy, ref, second)
            clauses = policy.change(kind, type_of(ref), grantee_type, frozenset(second), new, of)
            found = any(
                Places(model, actor, principals, places(model, ref, named)).allows(clauses)
                for principals in model.acting(actor, None, not model.one_role)
            )
            if found != wanted:
                yield f"{actor}: {kind} {ref} {named}, new {new}: the manual says {wanted}"


def stored(
    data: dict[str, Any], world: World, said: list[str], tenants: Tenants, folder: Path, number: int
) -> Iterator[str]:
    """The same questions, by Cypher and from memory."""
    auth = tenants(str(folder / f"drawn{number}.yaml"), said)
    model, wanted = Language(data, world, ROOT), list(asked(data))
    checks = [Check(subject=subject, name=name, object=ref, with_=with_) for subject, name, ref, with_ in wanted]
    for engine, asking in (("Cypher", auth), ("memory", with_replica(auth))):
        for question, decision in zip(wanted, asking.check_many(checks), strict=True):
            if bool(decision) != model.check(*question):
                yield f"{engine}, {question}: the manual says {not decision}"
        yield from (f"{engine}, {each}" for each in in_columns(asking, model, wanted))
        yield from (f"{engine}, {each}" for each in lists_of_subjects(asking, model, wanted))
        yield from (f"{engine}, {each}" for each in lists_of_objects(asking, model, wanted))


def in_columns(asking: Authorizer, model: Language, wanted: list[Asked]) -> Iterator[str]:
    """`check_table` of the questions without second objects, and `filter` of the objects of those that are alike."""
    plain = [question for question in wanted if not question[3]]
    columns = zip(*[question[:3] for question in plain], strict=True)
    table = dict(zip(("subject", "name", "object"), map(list, columns), strict=True))
    for question, yes in zip(plain, asking.check_table(table).column("allowed").to_pylist(), strict=True):
        if yes != model.check(*question):
            yield f"check_table, {question}: the manual says {not yes}"
    alike: dict[tuple[str, str, tuple[tuple[str, str], ...]], list[str]] = {}
    for subject, name, ref, with_ in wanted:
        alike.setdefault((subject, name, tuple(with_.items())), []).append(ref)
    for (subject, name, second), refs in random.Random(len(wanted)).sample([*alike.items()], min(len(alike), LISTED)):
        expected = [ref for ref in refs if model.check(subject, name, ref, dict(second))]
        for many in (memory_verdicts.MANY, 0):  # from memory: one by one, and by all that is allowed
            with patch.object(memory_verdicts, "MANY", many):
                found = asking.filter(subject, name, refs, with_=dict(second))
            if found != expected:
                yield f"filter, {subject} {name} {refs} with {second}: the manual says {expected}, found {found}"


def lists_of_subjects(asking: Authorizer, model: Language, wanted: list[Asked]) -> Iterator[str]:
    """`who` of each type that checks can be about, held to the checks of all that exist of this type."""
    rng = random.Random(len(wanted))
    for subject, name, ref, with_ in rng.sample(wanted, min(len(wanted), LISTED)):
        type_ = type_of(subject)
        there = [each for each in sorted(model.world.existing) if type_of(each) == type_]
        expected = [each for each in there if model.check(each, name, ref, with_)]
        found = list(asking.who(name, ref, type=type_, with_=with_))
        if found != [each for each in expected if each not in asking.policy.hidden]:
            yield f"who of type {type_} can {name} on {ref} with {with_}: the manual says {expected}, found {found}"


def lists_of_objects(asking: Authorizer, model: Language, wanted: list[Asked]) -> Iterator[str]:
    """`which`, held to the checks of all existing objects of the type that the second objects fit."""
    rng = random.Random(len(wanted))
    for subject, name, ref, with_ in rng.sample(wanted, min(len(wanted), LISTED)):
        type_ = type_of(ref)
        there = [each for each in sorted(model.world.existing) if type_of(each) == type_]
        fitting = [each for each in there if all(model.can_take(name, each, to) for to in with_.values())]
        expected = [each for each in fitting if model.check(subject, name, each, with_)]
        found = list(asking.which(type_, subject, name, with_=with_))
        if found != [each for each in expected if each not in asking.policy.hidden]:
            yield f"which {type_} can {subject} {name} with {with_}: the manual says {expected}, found {found}"


# ---- keys


def models() -> dict[str, type[BaseModel]]:
    """The entries of a policy file, found in its schema."""
    found = [value for value in vars(schema).values() if isinstance(value, type) and issubclass(value, schema._Entry)]
    return {each.__name__: each for each in found if each is not schema._Entry}


def defaults() -> dict[str, list[object]]:
    """Every key of the language, with the values that are the same as no key."""
    return {
        f"{name}.{info.alias or key}": [] if info.is_required() else [info.default, None]
        for name, model in models().items()
        for key, info in model.model_fields.items()
    }


DEFAULTS = defaults()


def entries(policy: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every entry of a policy, with the name of its model."""
    yield "PolicyFile", policy
    yield from (("TypeEntry", each) for each in policy["types"].values())
    yield "GrantRules", policy["grants"]
    yield "AskRules", policy.get("ask", {})
    yield from (("PrivilegeEntry", each) for each in policy["privileges"].values())
    yield from (("BuiltinEntry", each) for each in policy.get("builtin", {}).values())
    yield from (("TagEntry", each) for each in policy.get("tags", {}).values())
    yield "Changes", policy.get("changes", {})
    for section in (*policy["operations"].values(), *policy.get("changes", {}).values()):
        for rule in section.values():
            whole: Mapping[str, Any] = {"if": rule} if isinstance(rule, str) else rule
            yield "ConditionEntry", whole
            for second in whole.get("with", {}).values():
                yield "WithEntry", {"type": second} if isinstance(second, str) else second


def pairs_in(policy: Mapping[str, Any]) -> set[frozenset[str]]:
    """The pairs of keys whose values differ from their defaults; two keys of one kind of entry in the same entry."""
    found: set[frozenset[str]] = set()
    keys: set[str] = set()
    for name, entry in entries(policy):
        own = [f"{name}.{key}" for key, value in entry.items() if value not in DEFAULTS[f"{name}.{key}"]]
        keys |= {*own}
        found |= {frozenset(pair) for pair in itertools.combinations(own, 2)}
    return found | {frozenset(pair) for pair in itertools.combinations(keys, 2) if not _of_one_kind(pair)}


def _of_one_kind(pair: tuple[str, ...]) -> bool:
    return len({each.partition(".")[0] for each in pair}) == 1


REFUSED = {  # pairs that `load` refuses, each with the case of tests/unit/test_unread_keys.py that shows it
    **{
        frozenset({"PrivilegeEntry.alias_of", f"PrivilegeEntry.{key}"}): f"{key} of an alias"
        for key in ("on", "effective", "implies", "inherit", "in_effect")
    },
    frozenset({"PrivilegeEntry.alias_of", "PrivilegeEntry.membership"}): "membership of an alias",
    frozenset({"PrivilegeEntry.membership", "GrantRules.deny"}): "membership with DENY",
    **{
        frozenset({"ConditionEntry.if_new", f"ConditionEntry.{key}"}): f"{key} of a grant with if_new"
        for key in ("with", "new", "all_roles", "returns")
    },
}


@pytest.mark.parametrize("pair", REFUSED, ids=lambda pair: " and ".join(sorted(pair)))
def test_pair_of_keys_is_refused(pair: frozenset[str], tmp_path: Path) -> None:
    edits, message = CASES[REFUSED[pair]]
    data = changed(edits)
    assert pair in pairs_in(data)
    with pytest.raises(InvalidPolicy) as caught:
        loaded(data, tmp_path)
    assert message in str(caught.value)


def test_random_policies_decide_as_the_manual_says(tenant: Tenants, tmp_path: Path, closing: Closing) -> None:
    told: Counter[bool] = Counter()
    wrong: list[str] = []
    covered: set[frozenset[str]] = set()
    accepted = refused = in_graph = 0
    number = 0
    while accepted < POLICIES:
        number += 1
        found = drawn(number, tmp_path)
        if found is None:
            refused += 1
            continue
        accepted += 1
        data, policy = found
        covered |= pairs_in(data)
        world, said = random_facts(data, random.Random(f"facts {SEED} {number}"))
        wrong += [f"policy {number}: {each}" for each in differences(data, policy, world, told)]
        if in_graph < STORED:
            in_graph += 1
            wrong += [f"policy {number}, {each}" for each in stored(data, world, said, tenant, tmp_path, number)]
    pairs = {frozenset(pair) for pair in itertools.combinations(DEFAULTS, 2)}
    closing(
        f"{accepted} random policies ({refused} others were refused), {in_graph} of them in a graph: "
        f"{told.total():,} decisions, {told[True]:,} of them yes, {len(wrong)} different; of {len(pairs):,} pairs of "
        f"{len(DEFAULTS)} keys {len(pairs & covered):,} are together, and {len(REFUSED)} are refused"
    )
    assert not wrong, "\n".join(wrong[:20])
    assert told[True] > told.total() / 10
    assert [" and ".join(sorted(pair)) for pair in sorted(pairs - covered - REFUSED.keys(), key=sorted)] == []
    assert not covered & REFUSED.keys()
