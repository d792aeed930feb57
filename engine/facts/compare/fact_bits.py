"""Codes facts as bits, and decides from the bits which names a user is allowed on an object."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from grantpath.engine.facts.compare.access_names import AskedName
from grantpath.engine.facts.set.fact_version import OWNS
from grantpath.engine.policy.fact_plan import FactPlan
from grantpath.engine.policy.facts import Fact, FactKind, place_type
from grantpath.engine.policy.policy import Policy

Chain = tuple[int, ...]  # bits: those of the user itself, then those on each place from the root object down
THERE = 1  # a bit of the user itself: it exists, and answers may contain it
BITS = 62  # the facts on one place are the bits of one integer
KINDS = (FactKind.ALLOW, FactKind.DENY, FactKind.OWNS, FactKind.HOLDS, FactKind.IS)
MANY_VERDICTS = 200_000  # combinations of facts whose decisions are kept


class FactBits:
    """The facts that the conditions of a policy's names read, as bits.

    `on[type of the place][word]` is the bit of a fact; a word is 'ALLOW SELECT_TABLE', OWNS, HOLDS or IS.
    `named[reference]` is the bit of an entity that a condition names. `fits`: whether all conditions can be coded like
    this. It requires that the conditions are the same before and after a change, that all principals of a user act
    together, that each fact is a grant, an ownership, a membership or the user itself, and that no place has more than
    62 facts.
    """

    def __init__(self, names: Sequence[AskedName], policy: Policy) -> None:
        self._policy = policy
        self.on: dict[str, dict[str, int]] = defaultdict(dict)
        self.named: dict[str, int] = {}
        self._names: dict[str, list[AskedName]] = defaultdict(list)
        self._plans: dict[str, list[FactPlan]] = defaultdict(list)
        self._known: dict[tuple[str, Chain], int] = {}
        for name in names:
            if name.before is not None:
                self._names[name.type].append(name)
                self._plans[name.type].append(name.before.plan)
        facts = {fact for plans in self._plans.values() for plan in plans for fact in plan.facts}
        self.fits = all(name.before and name.before is name.after and not name.before.one_role for name in names)
        self.fits &= all(fact.kind in KINDS for fact in facts)
        used: dict[str, int] = defaultdict(int)
        for fact in sorted(facts):
            type_ = "" if fact.entity else place_type(fact.place)
            if fact.entity:
                self.named[fact.entity] = THERE << 1 + used[type_]
            else:
                self.on[type_][_word(fact)] = 1 << used[type_]
            used[type_] += 1
        self.fits &= max(used.values(), default=0) < BITS
        self._facts = {type_: self._placed(plans) for type_, plans in self._plans.items()} if self.fits else {}

    def depth(self, type_: str) -> int:
        """The index of a place of this type in a chain."""
        return len(self._policy.names.types_up(type_))

    def names(self, type_: str) -> Sequence[AskedName]:
        """The names on a type, in the order of the bits that `allowed` returns."""
        return self._names[type_]

    def allowed(self, type_: str, chain: Chain) -> int:
        """The names that a user with these facts is allowed on an object of the type, as bits. A chain may be shorter
        than the object's depth if the last places have no facts."""
        known = self._known.get((type_, chain))
        if known is None:
            if len(self._known) >= MANY_VERDICTS:
                self._known.clear()
            facts, read = self._facts[type_]
            key = type_, tuple(bits & mask for bits, mask in zip(chain, read, strict=False))
            known = self._known.get(key)
            if known is None:
                true = [fact for fact, depth, bit in facts if depth < len(chain) and chain[depth] & bit]
                plans = self._plans[type_] if chain[0] & THERE else []
                known = self._known[key] = sum(
                    1 << at for at, plan in enumerate(plans) if plan.allows(plan.bits_of(true))
                )
            self._known[type_, chain] = known
        return known

    def _placed(self, plans: Sequence[FactPlan]) -> tuple[list[tuple[Fact, int, int]], list[int]]:
        """The facts of conditions as (fact, index in a chain, bit), and by index the bits that conditions read."""
        facts = [
            (fact, 0, self.named[fact.entity])
            if fact.entity
            else (fact, self.depth(place_type(fact.place)), self.on[place_type(fact.place)][_word(fact)])
            for fact in {fact for plan in plans for fact in plan.facts}
        ]
        read = [THERE] + [0] * max((depth for _, depth, _ in facts), default=0)
        for _, depth, bit in facts:
            read[depth] |= bit
        return facts, read


@dataclass(frozen=True)
class Chosen:
    """Some of the names of FactBits, and what their conditions read.

    `names`: by type, their bits in the result of `allowed`. `on`: as in FactBits. `granted`: the types of places whose
    grants and owners are read. `itself`: the types of places for which it matters whether the user is the place or
    belongs to it.
    """

    names: Mapping[str, int]
    on: Mapping[str, Mapping[str, int]]
    granted: frozenset[str]
    itself: frozenset[str]


@lru_cache(maxsize=256)
def chosen(bits: FactBits, names: tuple[AskedName, ...]) -> Chosen:
    """Some of the names of `bits`, and what their conditions read."""
    some = frozenset(names)
    facts = {fact for name in names if name.before for fact in name.before.plan.facts if not fact.entity}
    itself = {fact for fact in facts if fact.kind in (FactKind.HOLDS, FactKind.IS)}
    on: dict[str, dict[str, int]] = {}
    for type_, word in ((place_type(fact.place), _word(fact)) for fact in facts):
        on.setdefault(type_, {})[word] = bits.on[type_][word]
    return Chosen(
        names={
            type_: sum(1 << at for at, name in enumerate(bits.names(type_)) if name in some)
            for type_ in {name.type for name in names}
        },
        on=on,
        granted=frozenset(place_type(fact.place) for fact in facts - itself),
        itself=frozenset(place_type(fact.place) for fact in itself),
    )


@lru_cache(maxsize=16)
def coded(names: tuple[AskedName, ...], policy: Policy) -> FactBits:
    """The facts that these names of the policy read, as bits; kept for the next call."""
    return FactBits(names, policy)


def _word(fact: Fact) -> str:
    if fact.kind is FactKind.OWNS:
        return OWNS
    return " ".join((fact.kind.value, *fact.privileges))
