"""The content of a report about what changed since an older snapshot. The comparison is that of `grantpath diff`."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from grantpath.engine.facts.kernel.intervals import Ints, ranges
from grantpath.graph.errors import InvalidInput
from grantpath.graph.language.reference import type_of
from grantpath.graph.language.stored_fact import StoredFact
from grantpath.spark_sync.bulk.bulk_questions import users
from grantpath.spark_sync.bulk.difference import Comparison, Pairs
from grantpath.spark_sync.bulk.users_by_principal import UsersByPrincipal
from grantpath.spark_sync.reporting.report_contents import Contents, some
from grantpath.spark_sync.reporting.report_tables import Column, Part, Table, Value
from grantpath.spark_sync.session.snapshot import Snapshot

DATA = 2**40  # more than the pairs of any entity
EXAMPLES = 3  # the most objects, or users, that a row about several ones names


def comparison(since: Snapshot, source: Snapshot) -> Comparison:
    """The comparison with an older snapshot. Raises InvalidInput if it is of another tenant or policy, or newer."""
    found = Comparison(since, source)
    if created_again(found):  # the revisions began again, too
        newer = datetime.fromisoformat(since.meta.created) > datetime.fromisoformat(source.meta.created)
    else:
        newer = since.meta.revision > source.meta.revision
    if newer:
        raise InvalidInput(
            f"{since.named_folder} (revision {since.meta.revision}, {utc(since)}) is newer than {source.named_folder}"
            f" (revision {source.meta.revision}, {utc(source)}); exchange the two: --since takes the older snapshot"
        )
    return found


def created_again(found: Comparison) -> bool:
    """Whether the root was dropped and created again between the two snapshots."""
    old, new = found.old.meta.made, found.new.meta.made
    return old is not None and new is not None and old != new


def utc(source: Snapshot) -> str:
    """The time at which a snapshot was written."""
    return source.meta.created.replace("T", " ").replace("+00:00", " UTC")


# ---- access ------------------------------------------------------------------------------------------------------
class Widest:
    """By common number of an entity: the most pairs under one condition, that condition, and the sum over all.

    A condition on the root or on subjects is chosen only if there is no other, because it tells less about data.
    """

    def __init__(self, size: int) -> None:
        self.condition, self.total, self._rank = (np.zeros(size, np.int64) for _ in range(3))

    def add(self, condition: int, at: Ints, many: Ints, about_data: bool) -> None:
        """Counts the pairs of these entities under one more condition."""
        rank = np.where(many > 0, many + DATA * about_data, 0)
        more = rank > self._rank[at]
        self._rank[at[more]], self.condition[at[more]] = rank[more], condition
        self.total[at] += many

    def most(self, entity: int) -> int:
        """The most pairs of an entity under one condition."""
        return int(self._rank[entity] % DATA)

    @property
    def entities(self) -> int:
        """The number of entities with pairs."""
        return int(np.count_nonzero(self.total))

    def first(self, limit: int) -> list[int]:
        """The entities with the most pairs under one condition. Among equals, the sum decides."""
        some = np.flatnonzero(self.total)
        found: list[int] = some[np.lexsort((some, -self.total[some], -self._rank[some]))][:limit].tolist()
        return found


class ChangedPairs:
    """The pairs of user and object that users gained, or lost, under all conditions."""

    def __init__(self, size: int) -> None:
        self.users, self.objects = Widest(size), Widest(size)
        self._pairs: list[tuple[Ints, Pairs]] = []  # by condition, with its objects

    def add(self, objects: Ints, pairs: Pairs, about_data: bool) -> None:
        """Adds the pairs of the next condition."""
        condition = len(self._pairs)
        who, index = np.unique(pairs.user, return_inverse=True)
        many = np.bincount(index, pairs.end - pairs.first, len(who)).astype(np.int64)
        self.users.add(condition, who, many, about_data)
        edges = len(objects) + 1
        steps = np.bincount(pairs.first, minlength=edges) - np.bincount(pairs.end, minlength=edges)
        self.objects.add(condition, objects, np.cumsum(steps)[:-1], about_data)
        self._pairs.append((objects, pairs))

    def objects_of(self, user: int) -> list[int]:
        """The first objects of a user, under the condition with the most."""
        objects, (who, first, end) = self._pairs[int(self.users.condition[user])]
        mine = slice(*np.searchsorted(who, [user, user + 1]).tolist()[:2])
        found: list[int] = objects[ranges(first[mine], end[mine] - first[mine])][:EXAMPLES].tolist()
        return found

    def users_of(self, object_: int) -> list[int]:
        """The first users of an object, under the condition with the most."""
        objects, (who, first, end) = self._pairs[int(self.objects.condition[object_])]
        index = int(np.searchsorted(objects, object_))
        found: list[int] = who[(first <= index) & (index < end)][:EXAMPLES].tolist()
        return found


# ---- the content -------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Changes:
    """What changed since an older snapshot. Each table begins with the widest changes."""

    contents: Contents
    comparison: Comparison

    @property
    def before(self) -> Snapshot:
        """The older snapshot."""
        return self.comparison.old

    @property
    def time(self) -> str:
        """The time of the older snapshot."""
        return utc(self.before)

    @property
    def created_again(self) -> bool:
        """Whether the root was dropped and created again meanwhile."""
        return created_again(self.comparison)

    @property
    def nothing(self) -> bool:
        """Whether both snapshots have the same entities, facts and version of the policy."""
        found = self.comparison
        changed = found.added or found.dropped or found.facts_added or found.facts_removed
        return found.of_one_policy and not changed

    @property
    def has_tags(self) -> bool:
        """Whether the policy of one of the snapshots has tags."""
        return any(each.policy.file.tags for each in (self.before, self.comparison.new))

    @cached_property
    def _access(self) -> tuple[ChangedPairs, ChangedPairs]:
        size = len(self.comparison.common)
        gained, lost = ChangedPairs(size), ChangedPairs(size)
        answers = self.contents.answers
        questions = [answers.questions[each.number] for each in answers.conditions]
        for question, changed in zip(questions, self.comparison.access(questions), strict=True):
            about_data = question.type not in self.contents.figures.less
            gained.add(changed.objects, changed.gained, about_data)
            lost.add(changed.objects, changed.lost, about_data)
        return gained, lost

    @property
    def gained(self) -> ChangedPairs:
        """The access that users gained. Both snapshots must have one version of the policy."""
        return self._access[0]

    @property
    def lost(self) -> ChangedPairs:
        """The access that users lost. Both snapshots must have one version of the policy."""
        return self._access[1]

    def users(self, gained: bool) -> Table:
        """The users that gained or lost access."""
        pairs, verb = (self.gained, "gained") if gained else (self.lost, "lost")
        label = f"Users that {verb} access"
        return self._widest(
            f"users-{verb}", label, "User", "objects", gained, pairs.users, pairs.objects_of, self._names
        )

    def objects(self, gained: bool) -> Table:
        """The objects on which users gained or lost access."""
        pairs, verb = (self.gained, "gained") if gained else (self.lost, "lost")
        label = f"Objects on which users {verb} access"

        def names(condition: int) -> str:
            return some(self.contents.answers.conditions[condition].names)

        return self._widest(f"objects-{verb}", label, "Object", "users", gained, pairs.objects, pairs.users_of, names)

    def _widest(
        self,
        name: str,
        label: str,
        head: str,
        others: str,
        gained: bool,
        widest: Widest,
        examples: Callable[[int], list[int]],
        names: Callable[[int], str],
    ) -> Table:
        """The users with their objects, or the objects with their users (`others`). `names`: those of a condition."""
        rows: list[list[Value]] = [
            [
                self._ref(at),
                self._there(at, gained),
                widest.most(at),
                names(int(widest.condition[at])),
                self._examples(examples(at), widest.most(at)),
                int(widest.total[at]),
            ]
            for at in widest.first(self.contents.top)
        ]
        columns = [
            Column(head, "name"),
            Column("New" if gained else "Dropped"),
            Column(others.capitalize(), "number"),
            Column("Name", "name"),
            Column(f"Which {others}", "name"),
            Column("All", "number"),
        ]
        return Table(name, label, columns, rows, widest.entities, f"the most {others} first")

    def _ref(self, at: int) -> str:
        ref: str = self.comparison.common.refs[at]
        return ref

    def _there(self, at: int, gained: bool) -> str | None:
        """Whether an entity is new, or dropped."""
        moved = self.comparison.added if gained else self.comparison.dropped
        return "yes" if self._ref(at) in moved else None

    def _names(self, condition: int) -> str:
        each = self.contents.answers.conditions[condition]
        return f"{some(each.names)} on {each.type}"

    def _examples(self, at: Sequence[int], total: int) -> str:
        more = f" and {total - len(at):,} more" if total > len(at) else ""
        return ", ".join(map(self._ref, at)) + more

    # ---- facts -----------------------------------------------------------------------------------------------
    def totals(self) -> list[Part]:
        """The numbers of new and removed facts and entities."""
        kinds = {"grants": ("ALLOW", "DENY"), "members": ("MEMBER",), "owners": ("OWNS",)}
        if self.has_tags:
            kinds["tags"] = ("TAGGED",)
        facts = {word: self.facts(*those) for word, those in kinds.items()}
        return [
            *(Part(f"new {word}", len(new)) for word, (new, _) in facts.items()),
            Part("new entities", len(self.comparison.added)),
            *(Part(f"removed {word}", len(removed)) for word, (_, removed) in facts.items()),
            Part("dropped entities", len(self.comparison.dropped)),
        ]

    def facts(self, *kinds: str) -> tuple[list[StoredFact], list[StoredFact]]:
        """The new and the removed facts of these kinds."""
        found = self.comparison.facts_added, self.comparison.facts_removed
        new, removed = ([fact for fact in facts if fact[0] in kinds] for facts in found)
        return new, removed

    @cached_property
    def _holders_before(self) -> UsersByPrincipal:
        return UsersByPrincipal(self.before, users(self.before))

    def _changed(self, *kinds: str) -> list[tuple[str, StoredFact, int]]:
        """New and removed facts, with the number of users of the subject while the fact is there; the most first."""
        new, removed = self.facts(*kinds)
        found = [
            *self._counted("new", new, self.comparison.new, self.contents.holders),
            *self._counted("removed", removed, self.before, self._holders_before),
        ]
        return sorted(found, key=lambda row: (-row[2], row[0], row[1][3], row[1]))

    @staticmethod
    def _counted(
        change: str, facts: list[StoredFact], source: Snapshot, holders: UsersByPrincipal
    ) -> list[tuple[str, StoredFact, int]]:
        subjects = pa.array([fact[2] for fact in facts], pa.string())
        counts = holders.count[pc.index_in(subjects, pa.array(source.numbering.refs)).to_numpy()].tolist()
        return [(change, fact, many) for fact, many in zip(facts, counts, strict=True)]

    def grants(self) -> Table:
        """The new and removed grants."""
        found = self._changed("ALLOW", "DENY")
        rows: list[list[Value]] = [
            [f"{kind} {privilege}", change, place, subject, many]
            for change, (kind, privilege, subject, place, _), many in found[: self.contents.top]
        ]
        columns = [
            Column("Grant", "name"),
            Column("Change"),
            Column("Object", "name"),
            Column("Grantee", "name"),
            Column("Users", "number"),
        ]
        label = "New and removed grants"
        return Table("changed-grants", label, columns, rows, len(found), "the most users first")

    def members(self) -> Table:
        """The new and removed members of groups and roles."""
        found = self._changed("MEMBER")
        rows: list[list[Value]] = [
            [member, change, group, many] for change, (_, _, member, group, _), many in found[: self.contents.top]
        ]
        columns = [
            Column("Member", "name"),
            Column("Change"),
            Column("Group or role", "name"),
            Column("Users", "number"),
        ]
        label = "New and removed members"
        return Table("changed-members", label, columns, rows, len(found), "the most users first")

    def owners(self) -> Table:
        """The objects whose owner changed."""
        before, after = ({}, {})  # type: tuple[dict[str, list[str]], dict[str, list[str]]]
        new, removed = self.facts("OWNS")
        for facts, owners in ((removed, before), (new, after)):
            for _, _, owner, object_, _ in sorted(facts):
                owners.setdefault(object_, []).append(owner)
        changed = sorted({*before, *after})
        rows: list[list[Value]] = [
            [each, ", ".join(before.get(each, [])) or None, ", ".join(after.get(each, [])) or None]
            for each in changed[: self.contents.top]
        ]
        columns = [Column("Object", "name"), Column("Owner before", "name"), Column("Owner now", "name")]
        return Table("changed-owners", "Changed owners", columns, rows, len(changed), "in order of the object")

    def tags(self) -> Table:
        """The new and removed tags of objects."""
        new, removed = (sorted(facts) for facts in self.facts("TAGGED"))
        found = [*(("new", fact) for fact in new), *(("removed", fact) for fact in removed)]
        rows: list[list[Value]] = [[on, change, tag] for change, (_, _, on, tag, _) in found[: self.contents.top]]
        columns = [Column("Object", "name"), Column("Change"), Column("Tag", "name")]
        return Table("changed-tags", "New and removed tags", columns, rows, len(found), "the new ones first")

    def entities(self) -> Table:
        """The new and dropped users, groups, roles and objects."""
        found = [*_entities("new", self.comparison.added), *_entities("dropped", self.comparison.dropped)]
        rows: list[list[Value]] = [[ref, change, type_of(ref)] for change, ref in found[: self.contents.top]]
        columns = [Column("Entity", "name"), Column("Change"), Column("Level")]
        label = "New and dropped entities"
        return Table("changed-entities", label, columns, rows, len(found), "the new ones first")


def _entities(change: str, refs: Collection[str]) -> list[tuple[str, str]]:
    return [(change, ref) for ref in sorted(refs)]
