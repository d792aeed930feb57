"""Decisions and explanations, with their reasons as text. remedy.py computes what is missing."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self, cast

from pydantic import GetJsonSchemaHandler, SerializerFunctionWrapHandler, model_serializer
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from grantpath.engine.answers.evaluation import Evaluation, FoundFacts, own_denial, winning
from grantpath.engine.answers.graph_path import GraphPath
from grantpath.engine.answers.notebook import verdict_html
from grantpath.engine.answers.path_drawing import draw
from grantpath.engine.answers.remedy import nearest
from grantpath.engine.policy.facts import Fact, FactKind
from grantpath.engine.policy.policy import Policy
from grantpath.graph.frozen import Frozen
from grantpath.graph.language.reference import Reference
from grantpath.graph.language.statement import Check
from grantpath.graph.messages import indefinite, short


class Names(Protocol):
    """What a decision needs of a tenant: its policy, and which names exist."""

    @property
    def policy(self) -> Policy: ...
    @property
    def root(self) -> Reference: ...
    def near(self, ref: str) -> str: ...
    def require_existing(self, needed: Iterable[str], known: Collection[str]) -> None: ...


Evaluate = Callable[[Policy, Reference, Check], Evaluation]


@dataclass(eq=False, slots=True)
class Evidence:
    """The basis of a decision: the question, and each acting principal (its role, the facts found for it, and its
    verdict).

    The question is resolved again when the reasons are read: a batch has thousands of decisions, and Python's garbage
    collector would visit all that they keep. Nothing here needs the database.
    """

    _policy: Policy
    _root: Reference
    _check: Check
    _evaluate: Evaluate
    acted: Sequence[Mapping[str, Any]]
    _evaluation: Evaluation | None = None

    @property
    def evaluation(self) -> Evaluation:
        """The evaluation of the question; made when it is read, because it costs more than the decision."""
        if self._evaluation is None:
            self._evaluation = self._evaluate(self._policy, self._root, self._check)
        return self._evaluation


class Decision(Frozen):
    """The answer to one check, the `question`; its truth value is `allowed`.

    `because` lists the reasons if it is allowed, `missing` what the nearest remedy would change if it is not.
    `revision` is the revision of the graph that was read. All of these are for operators: they can reveal roles,
    groups, DENYs and existing names that are similar to a missing one. `public` is for end users.

    `ends_due` is true if facts have ended, are still stored at this revision, and were left out. It is only so for a
    database user who may not remove them.
    """

    allowed: bool
    revision: int
    question: Check
    because: list[str]
    missing: list[str]
    ends_due: bool = False

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Computes the reasons when they are read: they cost more than the decision."""
            if name in _REASONS and "_evidence" in self.__dict__:
                self.__dict__[name] = value = _REASONS[name](self.allowed, self.evidence)
                return value
            return super().__getattr__(name)

    def __getstate__(self) -> dict[Any, Any]:
        """The decision as data, with its reasons and without what it was made from."""
        for name in _REASONS:
            getattr(self, name)  # computes it
        state = super().__getstate__()
        return {**state, "__dict__": {name: self.__dict__[name] for name in type(self).model_fields}}

    def __copy__(self) -> Self:
        return self.__deepcopy__()

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        made = type(self).__new__(type(self))
        made.__setstate__(deepcopy(self.__getstate__(), memo))
        return made

    def __bool__(self) -> bool:
        return self.allowed

    def __eq__(self, other: object) -> bool:
        """Decisions are equal if question, answer and revision are; the reasons follow from these."""
        return isinstance(other, Decision) and type(other) is type(self) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash((self.allowed, self.revision))

    def _key(self) -> tuple[object, ...]:
        return self.allowed, self.revision, self.question

    def __repr_args__(self) -> Iterator[tuple[str, Any]]:
        yield from (("allowed", self.allowed), ("revision", self.revision))

    @property
    def evidence(self) -> Evidence:
        """What the decision was made from; a decision that was read from JSON, or copied, has none."""
        assert "_evidence" in self.__dict__, "a decision that was read from JSON, or copied, has no evidence"
        return cast(Evidence, self.__dict__["_evidence"])

    def _repr_html_(self) -> str:
        reasons = [("because", self.because), ("missing", self.missing)]
        return verdict_html(self._verdict, words_of(self.question), reasons, self.revision)

    @property
    def public(self) -> str:
        """The decision and the question in the caller's own words. It reveals no other names."""
        return f"{self._verdict}: {words_of(self.question)}"

    @property
    def _verdict(self) -> str:
        return "allowed" if self.allowed else "not allowed"

    @model_serializer(mode="wrap")
    def _with_reasons(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        for name in _REASONS:
            getattr(self, name)  # computes it
        return cast(dict[str, Any], serialize(self))

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """The schema of the fields: the serializer adds nothing to them."""
        return handler(cast(CoreSchema, {key: value for key, value in core_schema.items() if key != "serialization"}))


class Explanation(Decision):
    """A decision with its paths from subject to object, edge by edge.

    If it is allowed, these are paths that allow it; if not, those of each DENY that the nearest remedy revokes.
    If very many roles or groups have the same grant, 50 of them are listed. `typed_paths` are the paths as nodes and
    edges; `paths` are the same paths as text, in the same order. If the decision does not depend on an edge,
    `typed_paths` is empty, and `paths` has a sentence with the reason.

    `remedy` lists the statements that together would make a refused check allowed; it is empty if none would.
    `complete` is false if other grants or memberships decide the same: then revoking what the paths show does not
    change the decision. `explain(..., all=True)` has the paths of every deciding fact: for at most 10 acting roles, 50
    roles or groups for each fact, and 10 paths to each of these. If paths are missing, `complete` is false.
    """

    paths: list[str]
    typed_paths: tuple[GraphPath, ...]
    remedy: list[str]
    complete: bool = True

    def _key(self) -> tuple[object, ...]:
        return *super()._key(), self.paths, self.typed_paths, self.remedy, self.complete

    def _repr_html_(self) -> str:
        rest = "paths" if self.complete else "paths (not all)"
        lists = [("because", self.because), ("missing", self.missing), (rest, self.paths), ("remedy", self.remedy)]
        return verdict_html(self._verdict, words_of(self.question), lists, self.revision)

    def draw(self, form: Literal["tree", "mermaid", "dot"] = "tree") -> str:
        """The paths as a tree of text, or as a diagram for Mermaid or Graphviz. Grants and ownerships are marked: by an
        asterisk, or by color and width. Empty if the decision does not depend on an edge. Raises InvalidInput for
        another form."""
        return draw(self.typed_paths, form)

    @property
    def decision(self) -> Decision:
        """The decision alone."""
        return Decision(
            allowed=self.allowed,
            revision=self.revision,
            question=self.question,
            because=self.because,
            missing=self.missing,
            ends_due=self.ends_due,
        )


def words_of(check: Check) -> str:
    """A check in the caller's words, each cut to 80 characters."""
    role = f" as {short(check.as_role)}" if check.as_role else ""
    second_objects = ", ".join(f"{short(key)}={short(ref)}" for key, ref in check.with_.items())
    return f"{short(check.subject)}{role} {short(check.name)} on {short(check.object)}" + (
        f" with {second_objects}" if second_objects else ""
    )


def winner(acted: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The acting principal that is allowed, with its role, facts and verdict; the first by role if several are."""
    return min((one for one in acted if one["allowed"]), key=lambda one: one["role"] or "", default=None)


def _because(allowed: bool, evidence: Evidence) -> list[str]:
    """The reasons of a yes."""
    if not allowed:
        return []
    evaluation, won = evidence.evaluation, winner(evidence.acted)
    assert won is not None, "reasons are asked for an allowed decision only"
    subject, found = evaluation.subject.text, evaluation.by_fact(won["found"])
    facts = winning(evaluation.clauses, found)
    acting = [f"{subject} acts as {won['role']}"] if evaluation.one_role and won["role"] else []
    if not facts:
        return [*acting, f"{subject} exists, and every user is allowed"]
    return acting + [
        _reason(evaluation, fact, next(iter(found[fact]), subject)) + denied_itself(evaluation, fact, found)
        for fact in facts
    ]


def _missing(allowed: bool, evidence: Evidence) -> list[str]:
    """What the nearest remedy of a no would change."""
    return [] if allowed else nearest(evidence.evaluation, evidence.acted, None).texts


def denied_itself(evaluation: Evaluation, fact: Fact, found: FoundFacts) -> str:
    """A note on an ALLOW whose own privilege is denied: it then grants only the privileges that this one implies."""
    denial = own_denial(fact, evaluation.clauses, found)
    if denial is None:
        return ""
    place = f"{denial.of_tag}{evaluation.entity(denial)}"
    return f" ({denial.granted} itself is denied to {found[denial][0]} on {place}; only what it implies is granted)"


def _reason(evaluation: Evaluation, fact: Fact, by: str) -> str:
    subject, entity = evaluation.subject.text, evaluation.entity(fact)
    match fact.kind:
        case FactKind.ALLOW | FactKind.DENY:
            return f"{by} has {fact.kind.value} {fact.granted} on {fact.of_tag}{entity}"
        case FactKind.OWNS:
            return f"{by} owns {entity}"
        case FactKind.IS:
            return f"{subject} is {entity} itself"
        case FactKind.HOLDS:
            return f"{subject} is in or holds {entity}"
        case FactKind.ALLOW_BELOW:
            return f"{by} has ALLOW {fact.privileges[0]} on {indefinite(fact.types[0])} below {entity}"
        case FactKind.EVERY_BELOW:
            names, types = " or ".join(fact.privileges), ", ".join(fact.types)
            return f"{subject} has {names} on every existing {types} below {entity}"
        case _:
            return f"{entity} exists"


_REASONS: Mapping[str, Callable[[bool, Evidence], list[str]]] = {"because": _because, "missing": _missing}
