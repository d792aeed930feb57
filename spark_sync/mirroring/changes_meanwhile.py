"""Brings ranges of a root that were read at different revisions to one revision, by the deltas of the log."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession

from grantpath.engine.change.delta_records import RecordedDelta, recorded
from grantpath.engine.change.deltas import BULK
from grantpath.engine.facts.set.fact_draft import Facts
from grantpath.engine.facts.set.fact_version import FactVersion, by_tags, fact_of, is_stored, members
from grantpath.engine.policy.policy import Policy
from grantpath.engine.tenants.one_revision import GuardedAsk
from grantpath.graph.language.ends import earliest
from grantpath.graph.language.reference import Reference, type_of
from grantpath.graph.language.statement import parse_statement
from grantpath.spark_sync.mirroring.graph_rows import TreeKeys
from grantpath.spark_sync.mirroring.parallel_reader import EDGES, ENTITIES, RawRows

Edge = tuple[str, str, str]  # (member, kind, group or role) or (principal, fact, object)


@dataclass
class ChangesMeanwhile:
    """The facts that changes after the revision `base` added (true at the end) or removed (false at the end).

    All other facts are the same at every revision from `base` on, and the last change of a fact decides whether it is
    true. So it does not matter at which of these revisions a range was read.
    """

    base: int
    entities: dict[str, bool] = field(default_factory=dict)  # by reference
    members: dict[Edge, bool] = field(default_factory=dict)
    facts: dict[Edge, bool] = field(default_factory=dict)
    before: dict[str | Edge, bool] = field(default_factory=dict)  # whether each of them was true at `base`, by the log
    ends: str | None = None  # the earliest end of a fact that was added
    by_facts: bool = False  # whether the log describes `base`, but only to those who know the facts: a rename or tags

    def __bool__(self) -> bool:
        return bool(self.entities or self.members or self.facts)

    def __len__(self) -> int:
        return len(self.entities) + len(self.members) + len(self.facts)

    def note(self, text: str, holds: bool, policy: Policy) -> None:
        """Notes that a change added or removed the fact of this statement."""
        words = parse_statement(text)
        subject, edge = words.subject or "", None
        if holds and words.until:
            self.ends = earliest(self.ends, words.until)
        match words.kind:
            case "add":
                self.entities[words.object] = holds
            case "member":
                role = policy.file.types[type_of(words.object)].kind == "role"
                edge = subject, "HAS_ROLE" if role else "MEMBER_OF", words.object
                self.members[edge] = holds
            case _:
                edge = fact_of(words)
                self.facts[edge] = holds
        self.before.setdefault(edge or words.object, not holds)

    def note_step(self, before: FactVersion, after: FactVersion, facts: Facts, policy: Policy) -> None:
        """Notes these facts, which lead from one version to the next, and what follows from them for what has a tag."""
        for name, holds in (("removed", False), ("added", True)):
            for text in facts[name]:
                self.note(text, holds, policy)
        if policy.names.by_tag:
            self._note_by_tags(before, after, [*facts["removed"], *facts["added"]])

    def _note_by_tags(self, before: FactVersion, after: FactVersion, texts: Iterable[str]) -> None:
        refs = after.numbers.refs
        for place in by_tags(after, texts) | by_tags(before, texts):
            was, now = (set(_by_tags_on(version, place)) for version in (before, after))
            for label, principal in was ^ now:
                edge = refs[principal], label, refs[place]
                self.facts[edge] = (label, principal) in now
                self.before.setdefault(edge, (label, principal) in was)


def _by_tags_on(version: FactVersion, place: int) -> Iterator[tuple[str, int]]:
    """The facts of a place that its tags have, each with a principal."""
    for label, by in (version.grants.get(place) or {}).items():
        if not is_stored(label):
            yield from ((label, each) for each in members(by))


def _is_about_tags(text: str, policy: Policy) -> bool:
    """Whether the fact of a statement can decide about what has a tag."""
    words = parse_statement(text)
    if words.kind == "tag":
        return type_of(words.to or "") in policy.names.by_tag.values()
    given = words.kind == "grant" and policy.names.privilege_by_tag(words.privilege or "", type_of(words.object))
    return bool(given)


def changes(ask: GuardedAsk, policy: Policy, root: Reference, after: int, until: int) -> ChangesMeanwhile:
    """The changes after the revision `after` up to `until`, as far back as the log describes them exactly.

    The result's `base` is `after` if the log describes all changes, and at most BULK facts. Otherwise it is the last
    revision that the log does not describe, that renames an entity with many facts or changes tags, or at which there
    were more than BULK facts. Ranges that were read before `base` must be read again. `root`: the root object. Raises
    the errors of `ask`.
    """
    found, expected = ChangesMeanwhile(after), after + 1
    for delta in recorded(ask, after, root):
        if delta.revision > until:
            break
        if delta.revision != expected:  # the entries before it were pruned
            found = ChangesMeanwhile(delta.revision - 1)
        expected = delta.revision + 1
        _note(found, delta, policy)
        tags = bool(policy.names.by_tag) and any(
            _is_about_tags(text, policy) for texts in (delta.added, delta.removed) for text in texts
        )
        by_facts = tags or bool(delta.renamed)
        if delta.bulk or delta.policy or by_facts or len(found) > BULK:
            found = ChangesMeanwhile(delta.revision, by_facts=by_facts)
    return found if expected > until else ChangesMeanwhile(until)


def _note(found: ChangesMeanwhile, delta: RecordedDelta, policy: Policy) -> None:
    if delta.policy is None:  # the facts of another policy may have types that this one lacks
        for text in delta.removed:
            found.note(text, False, policy)
        for text in delta.added:
            found.note(text, True, policy)


def applied(spark: SparkSession, found: ChangesMeanwhile, rows: RawRows, policy: Policy) -> RawRows:
    """The rows as they are after the changes."""
    if not found:
        return rows
    members, facts = _edges(spark, rows.members, found.members), _edges(spark, rows.facts, found.facts)
    return RawRows(_entities(spark, found, rows.entities, members.unionByName(facts), policy), members, facts)


def _edges(spark: SparkSession, rows: DataFrame, edges: Mapping[Edge, bool]) -> DataFrame:
    touched = spark.createDataFrame([(*edge, holds) for edge, holds in edges.items()], f"{EDGES}, holds boolean")
    kept = rows.join(touched, ["ref", "word", "other"], "left_anti")
    return kept.unionByName(touched.where("holds").drop("holds"))


def _entities(
    spark: SparkSession, found: ChangesMeanwhile, rows: DataFrame, edges: DataFrame, policy: Policy
) -> DataFrame:
    """The existing entities, and the names that do not exist but have grants or memberships.

    The log tells when an entity is added or dropped. A name that does not exist is stored while an edge needs it.
    """
    keys = TreeKeys.of(policy)

    def listed(refs: Iterable[str], exist: bool) -> DataFrame:
        given = [(ref, type_of(ref), keys.key(ref, type_of(ref)), exist, ref in policy.builtins) for ref in refs]
        return spark.createDataFrame(given, ENTITIES)

    touched = listed(found.entities, True)
    existing = rows.where("exists").join(touched, "ref", "left_anti")
    existing = existing.unionByName(listed((ref for ref, holds in found.entities.items() if holds), True))
    ends = {end for edge in (*found.members, *found.facts) for end in (edge[0], edge[2])}
    maybe = rows.where("not exists").unionByName(listed({*found.entities, *ends}, False)).dropDuplicates(["ref"])
    needed = edges.select("ref").union(edges.select("other"))
    return existing.unionByName(maybe.join(existing, "ref", "left_anti").join(needed, "ref", "left_semi"))
