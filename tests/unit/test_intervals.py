"""Compares the interval kernel with a naive evaluation, one subject, object and fact at a time."""

import random
from collections.abc import Mapping
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from grantpath.engine.facts.kernel import intervals
from grantpath.engine.facts.kernel.fact_table import FactTable, Prepared, TargetedQuestion
from grantpath.engine.facts.kernel.intervals import ActingPrincipals
from grantpath.engine.facts.kernel.principals import Closure, Roles, as_role
from grantpath.engine.facts.kernel.tree_order import Numbering, number
from grantpath.engine.policy.clauses import Atom, Clauses
from grantpath.engine.policy.facts import Fact, FactKind
from grantpath.engine.policy.policy import load
from grantpath.engine.tenants.tenant_state import Entity
from grantpath.graph.errors import InvalidInput

TYPES = ["catalog", "schema", "table", "role", "user", "group"]
PRIVILEGES = ["A", "B"]
POLICY = load("gravitino")


class World:
    """A random estate with Gravitino's types, stored in plain sets."""

    def __init__(self, seed: int) -> None:
        rng = self.rng = random.Random(seed)
        self.policy = POLICY
        entities = [Entity("metalake:m", "metalake")]
        for c in range(2):
            catalog = f"c{c}"
            entities.append(self._entity(f"catalog:{catalog}", "catalog"))
            for s in rng.sample(["s", "s-x", "`s.x`"], 2):
                entities.append(self._entity(f"schema:{catalog}.{s}", "schema"))
                for t in rng.sample(["t", "a", "`t t`"], rng.randrange(3)):
                    entities.append(self._entity(f"table:{catalog}.{s}.{t}", "table"))
        for kind, count in (("user", 4), ("group", 2), ("role", 3)):
            entities += [self._entity(f"{kind}:{kind}{at}", kind, 1.0) for at in range(count)]
        rng.shuffle(entities)
        self.numbering: Numbering = number(self.policy, "metalake:m", entities)
        self.at = {ref: at for at, ref in enumerate(self.numbering.refs)}
        self.type = {ref: self.numbering.types[self.numbering.type[at]] for ref, at in self.at.items()}
        self.subjects = [ref for ref in self.at if self.type[ref] in ("user", "group", "role")]
        containers = [ref for ref in self.subjects if self.type[ref] != "user"]
        self.edges = {(rng.choice(self.subjects), rng.choice(containers)) for _ in range(9)}
        self.grants = {
            (rng.choice(self.subjects), f"{rng.choice(['ALLOW', 'ALLOW', 'DENY'])} {rng.choice(PRIVILEGES)}", ref)
            for ref in rng.choices(list(self.at), k=25)
        }
        self.grants |= {(rng.choice(self.subjects), "OWNS", ref) for ref in rng.choices(list(self.at), k=5)}

    def _entity(self, ref: str, type_: str, exists: float = 0.8) -> Entity:
        return Entity(ref, type_, self.rng.random() < exists, self.rng.random() < 0.3)

    @cache  # noqa: B019 (a World lives as long as its test)
    def reach(self, subject: str) -> frozenset[str]:
        seen, waiting = {subject}, [subject]
        while waiting:
            here = waiting.pop()
            for source, target in self.edges:
                if source == here and target not in seen:
                    seen.add(target)
                    waiting.append(target)
        return frozenset(seen)

    def fact_table(self) -> FactTable:
        rows = sorted((self.at[who], f"{what} {self.type[ref]}", self.at[ref]) for who, what, ref in self.grants)
        keys = sorted({key for _, key, _ in rows})
        principals = np.array([who for who, _, _ in rows], np.int64)
        numbers = np.array([keys.index(key) for _, key, _ in rows], np.int64)
        places = np.array([at for _, _, at in rows], np.int64)
        return FactTable(self.numbering, principals, numbers, places, tuple(map(Fact.parse, keys)))

    def closure(self) -> Closure:
        pairs = sorted((self.at[who], self.at[principal]) for who in self.subjects for principal in self.reach(who))
        return Closure.of(np.array([a for a, _ in pairs]), np.array([b for _, b in pairs]), len(self.at))

    # ---- one fact at a time ------------------------------------------------------------------------------------
    def chain(self, ref: str) -> dict[str, str]:
        places, at = {}, self.at[ref]
        while at >= 0:
            place = self.numbering.refs[at]
            places[self.type[place]] = place
            at = int(self.numbering.parent[at])
        return places

    def true(self, fact: Fact, subject: str, principals: set[str], places: Mapping[str, str]) -> bool:
        words = str(fact).split()
        if words[-1].startswith("="):
            return words[-1][1:] in principals
        place = places[words[-1]]
        exists = self.numbering.exists
        match words:
            case ["IS", _]:
                return place == subject
            case ["HOLDS", _]:
                return place in principals
            case ["EXISTS", _]:
                return bool(exists[self.at[place]])
            case ["BUILTIN", _]:
                return bool(self.numbering.builtin[self.at[place]])
            case ["OWNS", _]:
                return any((principal, "OWNS", place) in self.grants for principal in principals)
            case ["EVERY", privileges, types, "below", _]:
                below = [ref for ref in self.at if place in self.chain(ref).values() and exists[self.at[ref]]]
                return all(
                    any(
                        (who, f"ALLOW {name}", ref) in self.grants
                        for who in principals
                        for name in privileges.split(",")
                    )
                    for ref in below
                    if self.type[ref] in types.split(",")
                )
            case ["ALLOW", name, type_, "below", _]:
                return any(
                    (who, f"ALLOW {name}", ref) in self.grants
                    for ref in self.at
                    if self.type[ref] == type_ and place in self.chain(ref).values()
                    for who in principals
                )
            case [effect, name, _]:
                return any((who, f"{effect} {name}", place) in self.grants for who in principals)
        raise AssertionError(fact)

    def allowed(self, clauses: Clauses, subject: str, principals: set[str], places: Mapping[str, str]) -> bool:
        def truth(fact: Fact) -> bool:
            return self.true(fact, subject, principals, places)

        return any(
            all(any(any(map(truth, atom.any)) and not any(map(truth, atom.none)) for atom in term) for term in clause)
            for clause in clauses
        )

    # ---- random clauses ----------------------------------------------------------------------------------------
    def fact(self, places: list[str]) -> Fact:
        return Fact.parse(self.words(places))

    def words(self, places: list[str]) -> str:
        place, name = self.rng.choice(places), self.rng.choice(PRIVILEGES)
        end = place.rpartition(".")[2]
        choices = ["ALLOW", "ALLOW", "ALLOW", "DENY", "OWNS", "EXISTS", "BUILTIN", "HOLDS ="]
        if end in ("role", "group", "user"):
            choices += ["IS", "HOLDS", "HOLDS"]
        if end in ("metalake", "catalog", "schema"):
            choices += ["below", "EVERY"]
        match self.rng.choice(choices):
            case "HOLDS =":
                return "HOLDS =role:role0"
            case "below":
                return f"ALLOW {name} table below {place}"
            case "EVERY":
                types = self.rng.choice(["table", "table,schema"] if end != "schema" else ["table"])
                return f"EVERY {self.rng.choice(['A', 'A,B'])} {types} below {place}"
            case "ALLOW" | "DENY" as effect:
                return f"{effect} {name} {place}"
            case kind:
                return f"{kind} {place}"

    def clauses(self, places: list[str]) -> Clauses:
        rng = self.rng

        def atom() -> Atom:
            none = [fact for fact in (self.fact(places) for _ in range(rng.randrange(3))) if "EVERY" not in str(fact)]
            return Atom(tuple(self.fact(places) for _ in range(rng.randint(1, 3))), tuple(none))

        return tuple(
            tuple(tuple(atom() for _ in range(rng.randint(1, 2))) for _ in range(rng.randrange(4)))
            for _ in range(rng.randint(1, 3))
        )


def answers(prepared: Prepared, acting: ActingPrincipals, asked: int = 0) -> set[tuple[int, int]]:
    """The answer as pairs of row and target."""
    pairs = []
    begin = 0
    for piece in acting.pieces(prepared.facts):
        row, low, high = list(prepared.answers(piece))[asked]
        pairs += [
            (int(begin + r), int(prepared.asked[asked].targets[at]))
            for r, lo, hi in zip(row, low, high, strict=True)
            for at in range(lo, hi)
        ]
        begin += len(piece.subject)
    assert len(pairs) == len(set(pairs)), "intervals overlap"
    return set(pairs)


@pytest.mark.parametrize("seed", range(40))
def test_kernel_agrees_with_reading_each_fact(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intervals, "PAIRS", 7)  # several sweeps even here
    world = World(seed)
    numbering, closure, fact_table = world.numbering, world.closure(), world.fact_table()
    subjects = np.array(sorted(world.at[ref] for ref in world.subjects))
    for type_ in TYPES:
        second = world.rng.choice(list(world.at))
        bound = {f"with.k.{name}": ref for name, ref in world.chain(second).items() if name != "metalake"}
        places = [*world.policy.names.types_up(type_), *bound]
        targets = np.flatnonzero(numbering.of_type(type_) & (world.rng.random() < 0.5 or numbering.exists))
        asks = [TargetedQuestion(world.clauses(places), type_, targets, {"k": world.at[second]}) for _ in range(3)]
        prepared = Prepared(fact_table, asks)
        for number_, ask in enumerate(asks):
            got = answers(prepared, closure.acting(subjects), number_)
            expected = {
                (row, int(target))
                for row, subject in enumerate(subjects)
                for target in targets
                if world.allowed(
                    ask.clauses,
                    numbering.refs[int(subject)],
                    set(world.reach(numbering.refs[int(subject)])),
                    world.chain(numbering.refs[int(target)]) | bound,
                )
            }
            assert got == expected, (seed, ask.clauses)


@pytest.mark.parametrize("seed", range(4))
def test_condition_may_have_more_facts_than_an_integer_has_bits(seed: int) -> None:
    """A condition over the existence of 80 second objects."""
    world = World(seed)
    numbering, tables = world.numbering, np.flatnonzero(world.numbering.of_type("table"))
    second_objects = {f"k{at}": world.rng.choice(list(world.at)) for at in range(80)}
    bound = {f"with.{key}.{world.type[ref]}": ref for key, ref in second_objects.items()}
    there = [fact for fact in (Fact(FactKind.EXISTS, place) for place in bound) if world.true(fact, "", set(), bound)]
    every = tuple((Atom((fact,)),) for fact in there)
    builtin = {place: Fact(FactKind.BUILTIN, place) for place in (*bound, "table")}
    some = tuple(((Atom((Fact(FactKind.EXISTS, place),), (builtin[place], builtin["table"])),),) for place in bound)
    subjects = np.array(sorted(world.at[ref] for ref in world.subjects))
    asks = [TargetedQuestion((every,), "table", tables, {key: world.at[ref] for key, ref in second_objects.items()})]
    asks.append(TargetedQuestion(some, "table", tables, asks[0].with_))
    asks.append(TargetedQuestion((*some[60:], every), "table", tables, asks[0].with_))
    prepared = Prepared(world.fact_table(), asks)
    for number_, ask in enumerate(asks):
        expected = {
            (row, int(target))
            for row in range(len(subjects))
            for target in tables
            if world.allowed(ask.clauses, "", set(), world.chain(numbering.refs[int(target)]) | bound)
        }
        assert answers(prepared, world.closure().acting(subjects), number_) == expected
    assert len(there) > 40 and len(bound) == 80


def test_too_many_entities_are_refused_before_the_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intervals, "BITS", 25)
    world = World(1)
    with pytest.raises(InvalidInput, match=r"19 entities are too many .* at most 14 are possible; ask for fewer names"):
        Prepared(
            world.fact_table(),
            [TargetedQuestion((((Atom((Fact(FactKind.EXISTS, "table"),)),),),), "table", np.array([1]))],
        )
    monkeypatch.setattr(intervals, "BITS", 62)
    intervals.check_size(2**30, 500)
    with pytest.raises(InvalidInput, match=r"1,073,741,824 entities .* 5,000 different facts"):
        intervals.check_size(2**30, 5_000)


@pytest.mark.parametrize("seed", range(10))
def test_subject_acts_with_one_role_at_a_time(seed: int) -> None:
    world = World(seed)
    numbering, closure = world.numbering, world.closure()
    users = np.array(sorted(at for ref, at in world.at.items() if world.type[ref] == "user"))
    held = sorted((world.at[a], world.at[b]) for a, b in world.edges if world.type[b] == "role")
    roles = Roles(np.array([a for a, _ in held], np.int64), np.array([b for _, b in held], np.int64))
    acting = roles.acting(users, closure)
    expected = [
        (user, {int(each) for each in closure.principals(role)})
        for user in users
        for role in [b for a, b in held if a == user]
    ]
    spoken = [set(acting.principal[a:b].tolist()) for a, b in pairwise(acting.offset)]
    assert list(zip(acting.subject, spoken, strict=True)) == expected
    for user in users:
        for role in numbering.of_type("role").nonzero()[0]:
            active = as_role(int(user), int(role), closure)
            assert active.principal.tolist() == closure.principals(int(role)).tolist()


def test_every_counts_each_type_separately() -> None:
    """A grant on all schemas does not cover the tables in them."""
    for seed in range(6):
        world = World(seed)
        schemas = [ref for ref in world.at if world.type[ref] == "schema"]
        tables = [ref for ref in world.at if world.type[ref] == "table"]
        for granted in (schemas, [*schemas, *tables]):
            world.grants = {("user:user0", "ALLOW A", ref) for ref in granted}
            clauses = (((Atom((Fact.parse("EVERY A schema,table below metalake"),)),),),)
            ask = TargetedQuestion(clauses, "metalake", np.array([0]), {})
            subjects = np.array([world.at["user:user0"]])
            got = answers(Prepared(world.fact_table(), [ask]), world.closure().acting(subjects))
            wanted = world.allowed(clauses, "user:user0", set(world.reach("user:user0")), world.chain("metalake:m"))
            assert bool(got) == wanted
