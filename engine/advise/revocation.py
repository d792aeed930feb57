"""The revocation of an allowed check: the smallest set of statements after which it is refused."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from grantpath.engine.advise.revocable_facts import STORED, HeldEdge, Holding, Needs, RevocableFacts
from grantpath.engine.advise.smallest_set import Removal, smallest
from grantpath.engine.answers.access_effects import Effects
from grantpath.engine.answers.decision import Decision, words_of
from grantpath.engine.answers.evaluation import Evaluation
from grantpath.engine.answers.explanation import PinnedAsk
from grantpath.engine.answers.notebook import verdict_html
from grantpath.engine.policy.clauses import facts_of
from grantpath.engine.policy.facts import Fact, FactKind, of_tag
from grantpath.engine.policy.statement_rules import Rules
from grantpath.graph.errors import GrantpathError
from grantpath.graph.frozen import Frozen
from grantpath.graph.language.reference import type_of
from grantpath.graph.language.statement import Check, parse_statement

MAX_DENIED = 20  # groups and roles for which a DENY is tried
STATED = (FactKind.EXISTS, FactKind.BUILTIN, FactKind.IS)  # facts that no statement of a revocation changes
OF_EDGES = (FactKind.ALLOW, FactKind.DENY, FactKind.OWNS)


class Revocation(Frozen):
    """The smallest set of statements after which the subject of a check is not allowed any more.

    `statements` are revokes, removals of memberships and changes of owner that the policy accepts; their order does not
    matter. They are empty if the check is not allowed anyway, and None if no such set is found. `proved_smallest`: it
    is proved that no smaller set has this effect; if `statements` is None, that no set has it. `candidates` is the
    number of facts that such a set can remove; up to 20, there is a proof. `denies` are DENY statements; each of them
    alone has this effect.

    A new owner is a proposal: any owner that the subject neither is nor belongs to has the same effect. The search does
    not consider that the statements can also remove other access, of this subject or of others. If requested, `effects`
    has all access that the statements would take away and give, including the access that the check asks about.
    """

    question: Check
    revision: int
    allowed: bool
    statements: tuple[str, ...] | None
    proved_smallest: bool
    candidates: int
    denies: tuple[str, ...]
    effects: Effects | None = None

    def _repr_html_(self) -> str:
        proof = "" if self.proved_smallest else ", not proved smallest"
        lists = [("revoke" + proof, self.statements or ()), ("or", self.denies)]
        verdict = "allowed" if self.allowed else "not allowed"
        return verdict_html(verdict, words_of(self.question), lists, self.revision)


def revocation(ask: PinnedAsk, decision: Decision) -> Revocation:
    """The statements that turn a decision into a no; `ask` reads at the revision of the decision."""
    if not decision:
        return Revocation(
            question=decision.question,
            revision=decision.revision,
            allowed=False,
            statements=(),
            proved_smallest=True,
            candidates=0,
            denies=(),
        )
    evaluation, acted = decision.evidence.evaluation, decision.evidence.acted
    links = ask("membership_edges", subject=evaluation.subject.text)["links"]
    row = ask("revocation_facts", **revocation_parameters(evaluation, acted))
    return revoked(decision.question, decision.revision, evaluation, acted, links, row)


def revocation_parameters(evaluation: Evaluation, acted: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The parameters of revocation_facts.cypher, without `root`."""
    types = evaluation.policy.file.types
    owned = {evaluation.entity(fact) for fact in _found(evaluation, acted) if fact.kind is FactKind.OWNS}
    return {
        "subject": evaluation.subject.text,
        "below": [
            {
                "fact": fact.text,
                "ref": evaluation.entity(fact),
                "types": list(fact.types),
                "privileges": list(fact.privileges),
            }
            for fact in facts_of(evaluation.clauses)
            if fact.below
        ],
        "tagged": [
            {
                "fact": fact.text,
                "ref": evaluation.entity(fact),
                "privilege": fact.granted,
                "type": of_tag(fact.privileges[0])[1],
            }
            for fact in _found(evaluation, acted)
            if fact.of_tag and fact.kind is FactKind.ALLOW
        ],
        "owned": [{"ref": ref, "types": types[type_of(ref)].owned_by} for ref in sorted(owned)],
        "hidden": evaluation.policy.hidden,
    }


def revoked(
    question: Check,
    revision: int,
    evaluation: Evaluation,
    acted: Sequence[Mapping[str, Any]],
    links: Iterable[tuple[str, str, str, str | None]],
    row: Mapping[str, Any],
) -> Revocation:
    """The answer for an allowed check.

    `links` are the links that membership_edges.cypher returns, `row` is the row of revocation_facts.cypher.
    """
    candidates = _Candidates(evaluation, acted, links, row)
    removals = candidates.removals()
    found = smallest(candidates.facts, removals)
    return Revocation(
        question=question,
        revision=revision,
        allowed=True,
        statements=None if found.removals is None else tuple(each.statement for each in found.removals),
        proved_smallest=found.proved,
        candidates=len(removals),
        denies=tuple(candidates.denies()),
    )


class _Candidates:
    """The facts of one check, and the statements that can remove them and that the policy accepts."""

    def __init__(
        self,
        evaluation: Evaluation,
        acted: Sequence[Mapping[str, Any]],
        links: Iterable[tuple[str, str, str, str | None]],
        row: Mapping[str, Any],
    ) -> None:
        self._evaluation = evaluation
        self._rules = Rules(evaluation.policy, evaluation.root)
        self._exceptions = {*evaluation.policy.builtins, evaluation.root.text}
        self._by_types: dict[tuple[str, ...], bool] = {}
        memberships = sorted({HeldEdge(member, kind, container) for member, kind, container, _ in links})
        self._owners = {each["ref"]: each["owner"] for each in row["owners"]}
        self._reached = {evaluation.subject.text, *(edge.to for edge in memberships)}
        found = _found(evaluation, acted)
        needs = {**self._stored(found), **self._below(found, row["grants"]), **self._on_tags(row["tagged"])}
        edges = {each.edge for need in needs.values() for one in need for each in one if each.edge}
        self._by_edge = {
            edge: removals for edge in sorted({*memberships, *edges}) if (removals := [*self._removing(edge)])
        }
        later = {each.adds for removals in self._by_edge.values() for each in removals if each.adds}
        for fact in [fact for fact in needs if fact.kind is FactKind.OWNS]:
            [holdings] = needs[fact]
            entity = evaluation.entity(fact)
            needs[fact] = [[*holdings, *(Holding(edge.by, edge) for edge in sorted(later) if edge.to == entity)]]
        self.facts = RevocableFacts(evaluation, memberships, needs, frozenset(later), frozenset(self._by_edge))

    def removals(self) -> dict[HeldEdge, list[Removal]]:
        """The candidates by preference: edges of the subject itself, then others; in both parts grants first, then
        memberships, then owners."""
        return {edge: self._by_edge[edge] for edge in sorted(self.facts.relevant(), key=self._preference)}

    def denies(self) -> list[str]:
        """The DENY statements that each suffice alone. For each privilege and principal, only the statement on the
        lowest place is returned."""
        places = [*self._evaluation.by_at]
        lowest_first = sorted(self.facts.denials, key=lambda fact: places.index(fact.place))
        found: dict[tuple[str, str], str] = {}
        for edge in (self.facts.denial(fact, by) for fact in lowest_first for by in self._deniable()):
            statement, key = f"deny {edge.privilege} on {edge.to} to {edge.by}", (edge.privilege, edge.by)
            if key not in found and self._accepted(statement) and not self.facts.proofs(STORED, edge):
                found[key] = statement
        return [*found.values()]

    def _deniable(self) -> list[str]:
        """The subject if it can have a DENY: a DENY to its groups or roles would have no other effect on it. Otherwise
        its groups and roles."""
        subject, to = self._evaluation.subject, self._evaluation.policy.file.grants.to
        if subject.type in to:
            return [subject.text]
        return [ref for ref in self.facts.principals() if type_of(ref) in to][:MAX_DENIED]

    # ---- facts -------------------------------------------------------------------------------------------------------
    def _stored(self, found: Mapping[Fact, Sequence[str]]) -> dict[Fact, Needs]:
        """The facts about the places themselves."""
        needs: dict[Fact, Needs] = {}
        for fact in facts_of(self._evaluation.clauses):
            entity = self._evaluation.entity(fact) if fact.place else ""
            if fact.kind is FactKind.ALL or (fact.kind in STATED and fact in found):
                needs[fact] = []
            elif fact.kind is FactKind.HOLDS and entity in self._reached:
                needs[fact] = [[Holding(entity, None)]]
            elif fact.kind in OF_EDGES and fact in found:
                privilege = "".join(fact.privileges)
                needs[fact] = [[Holding(by, HeldEdge(by, fact.kind.value, entity, privilege)) for by in found[fact]]]
        return needs

    def _below(self, found: Mapping[Fact, Sequence[str]], grants: Iterable[Mapping[str, Any]]) -> dict[Fact, Needs]:
        """The facts about descendants: a grant on one of them, or on each existing one."""
        held: dict[Fact, dict[str, list[Holding]]] = {}
        for each in grants:
            fact = self._evaluation.fact(each["fact"])
            if fact.kind is FactKind.ALLOW_BELOW or each["exists"]:
                edge = HeldEdge(each["by"], "ALLOW", each["ref"], each["privilege"])
                held.setdefault(fact, {}).setdefault(each["ref"], []).append(Holding(each["by"], edge))
        needs: dict[Fact, Needs] = {}
        for fact in (each for each in found if each.below):
            by_place = held.get(fact, {}).values()
            every = fact.kind is FactKind.EVERY_BELOW
            needs[fact] = [*by_place] if every else [[each for holdings in by_place for each in holdings]]
        return needs

    def _on_tags(self, tagged: Iterable[Mapping[str, Any]]) -> dict[Fact, Needs]:
        """The facts about tags: a grant on one of the tags of a place."""
        held: dict[Fact, list[Holding]] = {}
        for each in tagged:
            fact = self._evaluation.fact(each["fact"])
            edge = HeldEdge(each["by"], "ALLOW", each["tag"], fact.granted)
            held.setdefault(fact, []).append(Holding(each["by"], edge))
        return {fact: [holdings] for fact, holdings in held.items()}

    # ---- statements --------------------------------------------------------------------------------------------------
    def _removing(self, edge: HeldEdge) -> Iterator[Removal]:
        """The accepted statements that remove an edge. A DENY has none, because removing it cannot make the answer
        no."""
        match edge.kind:
            case "ALLOW":
                found = [Removal(f"revoke allow {edge.privilege} on {edge.to} from {edge.by}", edge)]
            case "DENY":
                found = []
            case "OWNS":
                found = [*self._new_owners(edge)]
            case _:
                found = [Removal(f"remove {edge.by} from {edge.to}", edge)]
        yield from (removal for removal in found if self._removable(removal))

    def _new_owners(self, edge: HeldEdge) -> Iterator[Removal]:
        """A new owner that the subject does not belong to; if there is none, the subject's groups and roles, which it
        can leave afterwards."""
        outside = self._owners.get(edge.to)
        if outside is not None:
            yield Removal(f"owner {outside} of {edge.to}", edge)
            return
        types = self._evaluation.policy.file.types[type_of(edge.to)].owned_by
        for ref in sorted(self._reached - {edge.by, self._evaluation.subject.text}):
            if type_of(ref) in types:
                yield Removal(f"owner {ref} of {edge.to}", edge, HeldEdge(ref, "OWNS", edge.to))

    def _preference(self, edge: HeldEdge) -> tuple[bool, int, HeldEdge]:
        kind = {"ALLOW": 0, "OWNS": 2}.get(edge.kind, 1)
        return edge.by != self._evaluation.subject.text, kind, edge

    def _removable(self, removal: Removal) -> bool:
        """Whether the policy accepts a removal. A subject can have thousands of grants and memberships, so those whose
        ends have the same types are checked once: the policy makes exceptions only for the root and built-in subjects.
        """
        edge, exceptions = removal.edge, self._exceptions
        if edge.kind == "OWNS" or edge.by in exceptions or edge.to in exceptions:
            return self._accepted(removal.statement)
        like = (edge.kind, edge.privilege, type_of(edge.by), type_of(edge.to))
        if like not in self._by_types:
            self._by_types[like] = self._accepted(removal.statement)
        return self._by_types[like]

    def _accepted(self, statement: str) -> bool:
        """Whether the policy accepts the statement."""
        try:
            self._rules.resolve(parse_statement(statement), as_fact=False)
        except GrantpathError:
            return False
        return True


def _found(evaluation: Evaluation, acted: Iterable[Mapping[str, Any]]) -> dict[Fact, list[str]]:
    """The facts that are true for an acting principal, each with the principals that have it."""
    found: dict[Fact, set[str]] = {}
    for one in acted:
        for fact, by in evaluation.by_fact(one["found"]).items():
            found.setdefault(fact, set()).update(by)
    return {fact: sorted(by) for fact, by in found.items()}
