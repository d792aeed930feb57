"""No answer is kept, merged or scheduled by a key that leaves out a part of its question.

Random policies have questions and changes with two and three second objects of one type. Batches ask about the same few
entities in all orders of their words; each decision must be that of an oracle, and that of the question alone. A
control leaves each part out of each key: the comparison must notice it. GRANTPATH_SEED chooses other policies, and
GRANTPATH_TRUST=full makes 1,000,000 decisions.
"""

import random
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from grantpath.engine import Authorizer, Refused
from grantpath.engine.answers.request import Places
from grantpath.engine.change import authorize
from grantpath.engine.change.apply import BatchApplier
from grantpath.engine.change.authorize import Authorizing
from grantpath.engine.change.change_step import Actor, ChangeStep
from grantpath.engine.change.precheck import PrecheckedWriting
from grantpath.engine.change.schedule import ReadWriteSet, ReadWriteSets
from grantpath.engine.facts.set.fact_version import FactVersion
from grantpath.engine.facts.set.place_grants import ConditionGrants, PlacesGranted
from grantpath.engine.policy import policy
from grantpath.engine.policy.fact_plan import FactPlan
from grantpath.engine.policy.policy import Policy, Requirement
from grantpath.engine.policy.statement_rules import ResolvedStatement
from grantpath.graph.errors import Invalid
from grantpath.graph.guard.transaction import Writing
from grantpath.graph.language.reference import Reference
from grantpath.graph.language.statement import Check

from ..conftest import Closing, Tenants
from ..support.key_world import USERS, Asked, KeyWorld, RandomRules, checks, statements
from ..support.sizes import size
from ..support.twin import SEED
from ..support.with_replica import with_replica

pytestmark = pytest.mark.trust

DECISIONS = size(1_000_000, 6_000)
CHECKS = size(4_000, 400)  # of each world, before and after a change
STATEMENTS = size(300, 60)  # of each user
ALONE = size(40, 10)


class Different(Exception):
    """A decision differs from the oracle's, and the first one is enough."""


@dataclass
class Compared:
    """The decisions of one world, compared with the oracle. With `first`, the first difference raises Different."""

    first: bool = False
    made: Counter[str] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)

    def compare(self, how: str, asked: object, wanted: object, got: object) -> None:
        """Counts a decision."""
        self.made["decisions"] += 1
        self.made[how] += 1
        if not isinstance(wanted, tuple):
            self.made[str(wanted)] += 1
        if wanted != got:
            self.differences.append(f"{how}: {asked}: the oracle {wanted}, the product {got}")
            if self.first:
                raise Different(self.differences[0])


@dataclass
class Case:
    """A policy with a root, and the same facts in an oracle."""

    file: Path
    auth: Authorizer
    world: KeyWorld
    seed: str
    runs: int = 0

    @staticmethod
    def of(tenant: Tenants, folder: Path, seed: str, number: int) -> "Case":
        """The case of a seed and a number; every second policy has DENY."""
        seed = f"{seed} {number}"
        rng = random.Random(seed)
        rules = RandomRules(rng, deny=number % 2 == 0)
        world, file = KeyWorld(rules, rng), folder / f"keys{number}.yaml"
        file.write_text(rules.policy)
        return Case(file, tenant(str(file), world.given(), "o"), world, seed)

    def fresh(self) -> Authorizer:
        """The root with nothing kept: the policy is compiled again."""
        return Authorizer(self.auth.store, self.auth.tenant, policy.load(str(self.file)), self.auth.root)

    def run(self, asked: int, written: int, alone: int, *, first: bool = False) -> Compared:
        """Compares checks before and after a change of facts, and then the outcomes of changes that are not kept."""
        self.runs += 1
        compared, rng = Compared(first), random.Random(f"{self.seed}.{self.runs}")
        auth = self.fresh()
        copy = with_replica(auth)
        for _ in range(2):
            compare_checks(compared, (auth, copy), self.world, checks(self.world, rng, asked), alone)
            facts = [each for each in statements(self.world, rng, 40) if not each.startswith(("add", "drop"))]
            assert auth.given(facts) == [None] * len(facts)
            for each in facts:
                self.world.do(each, None)
        for user in USERS:
            compare_changes(compared, auth, self.world, user, statements(self.world, rng, written), alone)
        said = [(text, rng.choice([*USERS, None])) for text in statements(self.world, rng, written)]
        compare_actors(compared, auth, self.world, said)
        return compared


def compare_checks(
    compared: Compared, both: tuple[Authorizer, Authorizer], world: KeyWorld, asked: list[Asked], alone: int
) -> None:
    """Compares checks in batches and alone, by Cypher and from memory."""
    wanted = [(each, world.check(each)) for each in asked]
    words = [Check(subject=one, name=name, object=on, with_=dict(with_)) for one, name, on, with_ in asked]
    for how, auth in zip(("Cypher", "memory"), both, strict=True):
        for (each, yes), got in zip(wanted, auth.check_many(words), strict=True):
            compared.compare(f"check_many, {how}", each, yes, got.allowed)
        for each, yes in wanted[:alone]:
            decision = auth.check(each.subject, each.name, each.object, with_=dict(each.with_))
            compared.compare(f"check, {how}", each, yes, decision.allowed)


def compare_changes(
    compared: Compared, auth: Authorizer, world: KeyWorld, user: str, texts: list[str], alone: int
) -> None:
    """Compares the outcome of each statement of a batch in which wrong ones have no effect, and the outcomes of
    batches that are made as a whole."""
    after, good, whole = world.copy(), list[str](), 0
    for step in made_together(auth, [(text, user) for text in texts]):
        wanted = after.do(step.text, user)
        compared.compare("a change of a batch", (user, step.text), wanted, outcome(step.error))
        if wanted == "done":
            good.append(step.text)
        elif whole < alone // 5:
            whole += 1
            got = outcome_of_all(auth, [*good, step.text], user)
            compared.compare("change_all", (user, *good, step.text), (wanted, len(good)), got)
    compared.compare("change_all", (user, *good), ("done", None), outcome_of_all(auth, good, user))


def compare_actors(compared: Compared, auth: Authorizer, world: KeyWorld, said: list[tuple[str, str | None]]) -> None:
    """Compares the outcome of each statement of a transaction in which each has an actor of its own."""
    after = world.copy()
    for step, (_, user) in zip(made_together(auth, said), said, strict=True):
        wanted = after.do(step.text, user)
        compared.compare("a change of several actors", (user, step.text), wanted, outcome(step.error))


def made_together(auth: Authorizer, said: list[tuple[str, str | None]]) -> list[ChangeStep]:
    """The outcomes of statements, each with its actor, in one transaction that is not kept. Wrong ones have no
    effect."""
    service = auth._service
    steps = [service._step(text, service._actor(user, None)) for text, user in said]

    def work(writing: Writing) -> None:
        BatchApplier(PrecheckedWriting(writing, None), auth.policy, auth.root).apply(steps, all_or_nothing=False)

    auth.store.write(auth.tenant, work, commit=False)
    return steps


def outcome(error: Exception | None) -> str:
    """The outcome of a statement, as the oracle says it."""
    return "done" if error is None else "refused" if isinstance(error, Refused) else "invalid"


def outcome_of_all(auth: Authorizer, texts: list[str], user: str) -> tuple[str, int | None]:
    """The outcome of a batch that is made as a whole or not at all, and the index of its first wrong statement."""
    try:
        auth.change_all(texts, by=user, dry_run=True)
    except (Refused, Invalid) as error:
        return outcome(error), error.index
    return "done", None


def test_batches_decide_as_alone(tenant: Tenants, closing: Closing, tmp_path: Path) -> None:
    total = Counter[str]()
    worlds = 0
    while total["decisions"] < DECISIONS:
        compared = Case.of(tenant, tmp_path, f"keys {SEED}", worlds).run(CHECKS, STATEMENTS, ALONE)
        tenant.remove()
        worlds += 1
        total += compared.made
        assert not compared.differences, (
            f"GRANTPATH_SEED={SEED}, {len(compared.differences)}: {compared.differences[:5]}"
        )
    told = ", ".join(f"{count:,} {how}" for how, count in sorted(total.items()) if how != "decisions")
    closing(f"keys: {total['decisions']:,} decisions of {worlds} policies equal the oracle's ({told}); seed {SEED}")
    assert min(total[each] for each in ("True", "False", "done", "refused", "invalid")) > DECISIONS // 100


NAMED = """
policy: named
types: {org: {}, box: {in: org}, user: {in: org, kind: user}}
grants: {to: user, deny: true}
privileges: {READ: {on: "org, box"}}
operations: {box: {copy: {if: READ(with.grantee), with: {grantee: box}}}}
changes: {add: {box: {if: READ(with.grantee), with: {grantee: box}}}}
"""


def test_second_object_may_have_the_name_of_another_place(tenant: Tenants, tmp_path: Path) -> None:
    (tmp_path / "named.yaml").write_text(NAMED)
    boxes = ["add user:u", "add box:a", "add box:b", "add box:c"]
    grants = ["allow READ on org:o to user:u", "deny READ on box:b to user:u"]
    auth = tenant(str(tmp_path / "named.yaml"), [*boxes, *grants], "o")
    for each in (auth, with_replica(auth)):
        assert each.check("user:u", "copy", "box:a", with_={"grantee": "box:c"})
        assert not each.check("user:u", "copy", "box:a", with_={"grantee": "box:b"})
    assert auth.change("add box:d with grantee=box:c", by="user:u").id
    with pytest.raises(Refused):
        auth.change("add box:e with grantee=box:b", by="user:u")


# ---- control -----------------------------------------------------------------------------------------------------
class Blind(dict[Any, Any]):
    """A dictionary that finds a value by a smaller key."""

    def __init__(self, smaller: Callable[[Any], Any]) -> None:
        super().__init__()
        self._smaller = smaller

    def __contains__(self, key: object) -> bool:
        return super().__contains__(self._smaller(key))

    def __getitem__(self, key: object) -> Any:
        return super().__getitem__(self._smaller(key))

    def __setitem__(self, key: object, value: Any) -> None:
        super().__setitem__(self._smaller(key), value)

    def get(self, key: object, default: Any = None) -> Any:
        return super().get(self._smaller(key), default)

    def setdefault(self, key: object, default: Any = None) -> Any:
        return super().setdefault(self._smaller(key), default)


Install = Callable[[pytest.MonkeyPatch], None]


def blind(owner: type, attribute: str, smaller: Callable[[Any], Any]) -> Install:
    """Gives each new object of the class a dictionary with smaller keys."""

    def install(patch: pytest.MonkeyPatch) -> None:
        begin = vars(owner)["__init__"]

        def begun(self: Any, *given: Any, **named: Any) -> None:
            begin(self, *given, **named)
            object.__setattr__(self, attribute, Blind(smaller))

        patch.setattr(owner, "__init__", begun)

    return install


def without(part: int) -> Callable[[tuple[Any, ...]], tuple[Any, ...]]:
    """The key without one of its parts."""
    return lambda key: (*key[:part], *key[part + 1 :])


def one_of_each(part: int) -> Callable[[tuple[int, frozenset[tuple[str, Reference]]]], object]:
    """The key of a check with only the places, or only the entities."""
    return lambda key: (key[0], frozenset(pair[part] for pair in key[1]))


def one_parent(patch: pytest.MonkeyPatch) -> None:
    """What is kept of the places above an object is used for objects in other places."""
    begin = ConditionGrants.__init__

    def begun(self: ConditionGrants, requirement: Requirement) -> None:
        begin(self, requirement)
        self._parent = self._parent and requirement.up[-1]

    patch.setattr(ConditionGrants, "__init__", begun)


def one_version(patch: pytest.MonkeyPatch) -> None:
    """What is kept of the places above an object is used for later facts."""
    on = ConditionGrants.on

    def kept(self: ConditionGrants, version: FactVersion, places: Places) -> PlacesGranted:
        self._above = version.grants, self._above[1]
        return on(self, version, places)

    patch.setattr(ConditionGrants, "on", kept)


def one_verdict(patch: pytest.MonkeyPatch) -> None:
    """The verdict about some facts is used for others."""
    kept = property(lambda self: self.__dict__.setdefault("one", Blind(lambda _: 0)))
    patch.setattr(FactPlan, "_verdicts", kept)


def merged(key: Callable[[Requirement], object]) -> Install:
    """Conditions of a batch with this key in common are sent once."""

    def install(patch: pytest.MonkeyPatch) -> None:
        patch.setattr(Requirement, "__eq__", lambda one, other: key(one) == key(other))
        patch.setattr(Requirement, "__hash__", lambda one: hash(key(one)))

    return install


def unscheduled(reads: Callable[[str], bool], writes: Callable[[str], bool]) -> Install:
    """Statements are ordered without the keys that they read or write of these kinds."""

    def install(patch: pytest.MonkeyPatch) -> None:
        of = ReadWriteSets.of

        def fewer(
            self: ReadWriteSets, change: ResolvedStatement, actor: Actor | None, below: Mapping[str, Reference]
        ) -> ReadWriteSet:
            made = of(self, change, actor, below)
            read, written = (
                {each for each in keys if not less(each)} for keys, less in ((made.reads, reads), (made.writes, writes))
            )
            return replace(made, reads=read, writes=written)

        patch.setattr(ReadWriteSets, "of", fewer)

    return install


def nothing(_: str) -> bool:
    """No key."""
    return False


def of_kind(word: str) -> Callable[[str], bool]:
    """The keys that begin with a word."""
    return lambda key: key.startswith(word)


MUTANTS: dict[str, Install] = {
    "a check of a change: its actor": blind(authorize._Checks, "_checks", without(0)),
    "a check of a change: its condition": blind(authorize._Checks, "_checks", without(1)),
    "a check of a change: its places": blind(
        authorize._Checks, "_checks", lambda key: (*key[:2], frozenset(r for _, r in key[2]))
    ),
    "a check of a change: its entities": blind(
        authorize._Checks, "_checks", lambda key: (*key[:2], frozenset(p for p, _ in key[2]))
    ),
    "a right: the kind of the change": blind(Authorizing, "_rights", without(0)),
    "a right: the type of the object": blind(Authorizing, "_rights", without(1)),
    "a right: the type of the subject": blind(Authorizing, "_rights", without(2)),
    "a right: the second objects": blind(Authorizing, "_rights", without(3)),
    "a rule: the kind of the change": blind(Policy, "_changes", without(0)),
    "a rule: the type of the object": blind(Policy, "_changes", without(1)),
    "a rule: the type of the subject": blind(Policy, "_changes", without(2)),
    "a rule: the second objects": blind(Policy, "_changes", without(3)),
    "a question: its name": blind(Policy, "_questions", without(0)),
    "a question: the type of the object": blind(Policy, "_questions", without(1)),
    "a question: the second objects": blind(Policy, "_questions", without(2)),
    "the places above: the type": blind(Policy, "_chains", without(0)),
    "the places above: the names": blind(Policy, "_chains", without(1)),
    "grants in memory: the place": blind(ConditionGrants, "_bits", without(0)),
    "grants in memory: the condition": blind(FactVersion, "granted", lambda key: None),
    "grants in memory: the parent": one_parent,
    "grants in memory: the version": one_version,
    "a verdict: the facts": one_verdict,
    "a condition of a batch: its name": merged(lambda each: each.type),
    "a condition of a batch: its type": merged(lambda each: each.name),
    "a condition of a batch: its second objects": merged(lambda each: (each.name, each.type)),
    "the schedule: what is below a condition's place": lambda patch: patch.setattr(
        BatchApplier, "_looks_below", lambda *_: {}
    ),
    "the schedule: the places that are read": unscheduled(of_kind("at "), nothing),
    "the schedule: the places that are written": unscheduled(nothing, of_kind("at ")),
    "the schedule: the contents that are written": unscheduled(nothing, of_kind("below ")),
    "the schedule: the actor": unscheduled(nothing, of_kind("actor")),
}


@pytest.fixture(scope="module")
def cases(module_tenant: Tenants, tmp_path_factory: pytest.TempPathFactory) -> list[Case]:
    """The cases on which a mutant must be noticed."""
    return [Case.of(module_tenant, tmp_path_factory.mktemp("keys"), "control", number) for number in range(6)]


@pytest.mark.slow
@pytest.mark.parametrize("left_out", MUTANTS)
def test_every_part_of_a_key_is_needed(cases: list[Case], left_out: str) -> None:
    for case in cases * 3:
        with pytest.MonkeyPatch.context() as patch:
            MUTANTS[left_out](patch)
            try:
                case.run(400, 150, 5, first=True)
            except (Different, Invalid, LookupError, TypeError, ValueError):  # or the answer does not fit a question
                return
    raise AssertionError(f"the comparison did not notice that a key leaves out {left_out}")
