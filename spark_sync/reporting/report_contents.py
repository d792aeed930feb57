"""The content of a report: what its templates show, in the order of the page."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from grantpath.engine.policy.facts import FactKind, is_privilege
from grantpath.spark_sync.bulk.condition_answers import ConditionAnswers
from grantpath.spark_sync.bulk.idle_grants import IdleGrants
from grantpath.spark_sync.bulk.users_by_principal import UsersByPrincipal
from grantpath.spark_sync.reporting.group_access import GroupAccess
from grantpath.spark_sync.reporting.report_figures import Figures
from grantpath.spark_sync.reporting.report_tables import Column, Part, Plot, Table, Value
from grantpath.spark_sync.session.snapshot import Snapshot

SHOWN_NAMES = 4  # the most names that are shown for one condition, in sentences and tables about something else
MATRIX_COLUMNS = 12  # the most containers in the table of groups


@dataclass(frozen=True)
class Reached:
    """An object and the users that can use a name on it; or a user and its objects. `alike`: the number of other
    objects with as many users."""

    ref: str
    name: str
    count: int
    of: int
    alike: int = 0


@dataclass(frozen=True)
class Contents:
    """The content of a report. `top`: the most rows of a table."""

    source: Snapshot
    answers: ConditionAnswers
    figures: Figures
    holders: UsersByPrincipal
    idle: IdleGrants
    groups: GroupAccess
    top: int

    def ref(self, position: int) -> str:
        ref: str = self.source.numbering.refs[position]
        return ref

    def type_of(self, position: int) -> str:
        type_: str = self.source.numbering.types[self.source.numbering.type[position]]
        return type_

    def label(self, condition: int) -> str:
        """The first name of a condition, with its type."""
        each = self.answers.conditions[condition]
        return f"{each.names[0]} on {each.type}"

    def without_answers(self) -> list[str]:
        """The names that have bulk answers elsewhere, but not in this snapshot, each with its type."""
        policy = self.source.policy
        answered = {(name, each.type) for each in self.answers.conditions for name in each.names}
        asked = [(name, type_) for type_ in policy.names.types for name in policy.names_on(type_)]
        missing = self.answers.numbers.keys() - answered
        return [f"{name} on {type_}" for name, type_ in asked if (name, type_) in missing]

    def only_names(self) -> list[str]:
        """The names that have bulk answers, if others have none."""
        names = {name for each in self.answers.conditions for name in each.names}
        return sorted(names) if self.without_answers() else []

    # ---- at a glance -----------------------------------------------------------------------------------------
    def most_exposed_by_type(self) -> list[Reached]:
        """For the types of the focus: the object with the most users."""
        found: dict[str, Reached] = {}
        for at in self.figures.focus:
            condition = self.answers.conditions[at]
            one = self.figures.most_exposed_of(at)
            if one and condition.type not in found:
                at, users, alike = one
                found[condition.type] = Reached(self.ref(at), condition.names[0], users, self.figures.user_count, alike)
        return list(found.values())

    def widest_user(self) -> list[Reached]:
        """What the user with the most objects can use, by name of the focus."""
        who, _, focus = self.figures.widest(1)
        return [
            Reached(self.ref(int(who[0])), self.label(at), int(column[0]), self.answers.conditions[at].objects)
            for at, column in zip(self.figures.focus, focus, strict=True)
            if len(who) and column[0]
        ]

    def everybody(self) -> list[str]:
        """The names that a user without any grant can use, with the number of objects."""
        common = self.answers.common
        order = np.argsort(-common, kind="stable").tolist()
        return [f"{self.label(at)} ({int(common[at]):,})" for at in order if common[at]]

    # ---- users and objects -----------------------------------------------------------------------------------
    def exposed(self) -> Table:
        """The objects with the most users."""
        figures = self.figures
        position, users, condition, pairs = figures.most_exposed(self.top)
        allowed = self.groups.allowed(set(condition.tolist()))
        index = np.array(
            [
                np.searchsorted(figures.listed[self.answers.conditions[c].type], at)
                for at, c in zip(position.tolist(), condition.tolist(), strict=True)
            ],
            np.int64,
        )
        largest = self.groups.largest(index, condition, allowed)
        rows = [
            [
                self.ref(at),
                self.type_of(at),
                many,
                many / figures.user_count if figures.user_count else 0.0,
                some(self.answers.conditions[c].names),
                None if group is None else self.ref(group),
                all_,
            ]
            for at, many, c, group, all_ in zip(
                position.tolist(), users.tolist(), condition.tolist(), largest, pairs.tolist(), strict=True
            )
        ]
        columns = [
            Column("Object", "name"),
            Column("Level"),
            Column("Users", "number"),
            Column("Of all users", "share", 1),
            Column("Name", "name"),
            Column("Largest group or role", "name"),
            Column("All", "number"),
        ]
        total = figures.exposed_objects
        return Table("exposed-objects", "Most exposed objects", columns, rows, total, "the most exposed")

    def widest(self) -> Table:
        """The users with the widest access."""
        figures = self.figures
        chosen, total, focus = figures.widest(self.top)
        rows: list[list[Value]] = [
            [self.ref(who), int(self.holders.groups[who]), *(int(column[at]) for column in focus), int(total[at])]
            for at, who in enumerate(chosen.tolist())
        ]
        columns = [
            Column("User", "name"),
            Column("Groups and roles", "number"),
            *(Column(self.label(at), "number", self.answers.conditions[at].objects) for at in figures.focus),
            Column("All", "number"),
        ]
        return Table("widest-users", "Widest users", columns, rows, figures.user_count, "the widest")

    # ---- groups by container ---------------------------------------------------------------------------------
    @cached_property
    def container_types(self) -> list[str]:
        """The types of the containers directly below the root that exist."""
        policy = self.source.policy
        objects = [type_ for type_, entry in policy.file.types.items() if entry.kind == "object"]
        below = [type_ for type_ in objects if policy.root_type in policy.names.parents[type_]]
        types = [type_ for type_ in below if policy.names.below(type_)] or below
        return [type_ for type_ in types if len(self.figures.listed[type_])]

    @cached_property
    def matrix_condition(self) -> int | None:
        """The condition of the table of groups: of the focus, one about objects inside of containers, and one of an
        operation, if possible."""
        policy, conditions = self.source.policy, self.answers.conditions
        containers = {*self.container_types}

        def rank(at: int) -> tuple[bool, bool]:
            of = conditions[at]
            return of.type in containers, all(map(is_privilege, of.names))

        around = {type_: {type_, *policy.names.above(type_)} for type_ in policy.names.types}
        inside = [at for at in self.figures.focus if containers & around[conditions[at].type]]
        return min(inside, key=rank, default=None)

    def matrix(self) -> Table:
        """The objects that each group gives access to, by container."""
        label = "Groups and roles by container"
        condition = self.matrix_condition
        if condition is None:
            return Table("group-access", label, [], [], 0, "")
        numbering, targets = self.source.numbering, self.figures.listed[self.answers.conditions[condition].type]
        containers = self.figures.containers(self.container_types)
        objects = self.figures.per_container(containers, targets)
        kept = np.sort(np.lexsort((containers, -objects))[:MATRIX_COLUMNS])
        containers, objects = containers[kept][objects[kept] > 0], objects[kept][objects[kept] > 0]
        first = np.searchsorted(targets, containers)
        end = np.searchsorted(targets, numbering.last[containers], side="right")
        counts = self.groups.counts(self.groups.allowed([condition])[condition], first, end)
        users = self.holders.count[self.groups.groups]
        order = np.lexsort((self.groups.groups, -users))
        order = order[counts[order].any(axis=1)]
        rows: list[list[Value]] = [
            [self.ref(int(self.groups.groups[at])), int(users[at]), *counts[at].tolist()] for at in order.tolist()
        ]
        columns = [
            Column("Group or role", "name"),
            Column("Users", "number"),
            *(
                Column(f"{self.ref(at)} ({many:,})", "number", many)
                for at, many in zip(containers.tolist(), objects.tolist(), strict=True)
            ),
        ]
        return Table("group-access", label, columns, rows[: self.top], len(rows), "those with the most users")

    # ---- totals and exposure ---------------------------------------------------------------------------------
    def totals(self) -> list[Part]:
        """The numbers of entities and facts."""
        figures, source = self.figures, self.source
        entries = source.policy.file.types
        tiles = [
            Part(f"{type_.replace('_', ' ')}s", len(figures.listed[type_]))
            for type_, entry in entries.items()
            if entry.kind != "object"
        ]
        objects = sum(len(figures.listed[type_]) for type_, entry in entries.items() if entry.kind == "object")
        kinds = dict.fromkeys((FactKind.ALLOW, FactKind.DENY, FactKind.OWNS, FactKind.TAGGED), 0)
        facts = source.fact_table
        by_key = np.bincount(facts.key, minlength=len(facts.keys)).tolist()
        for key, count in zip(facts.keys, by_key, strict=True):
            kinds[key.kind] += 0 if key.of_tag else count
        return [
            *tiles,
            Part("objects", objects),
            Part("ALLOW grants", kinds[FactKind.ALLOW]),
            Part("DENY grants", kinds[FactKind.DENY]),
            Part("owners", kinds[FactKind.OWNS]),
            Part("memberships", source.meta.counts.get("members", 0)),
            Part("names", sum(len(each.names) for each in self.answers.conditions)),
        ]

    def levels(self) -> Table:
        """Exposure by type of object."""
        figures, numbering = self.figures, self.source.numbering
        found = figures.by_level()
        rows: list[list[Value]] = []
        for at, type_ in enumerate(numbering.types):
            missing = int(((numbering.type == at) & ~numbering.exists).sum())
            if not len(figures.listed[type_]) and not missing:
                continue
            row: list[Value] = [type_, len(figures.listed[type_]), missing]
            if type_ in found:
                condition = figures.most_used(type_)
                exposure = figures.by_condition(condition).exposure
                name = self.answers.conditions[condition].names[0] if exposure.pairs else None
                row += [found[type_].open, found[type_].most, name, exposure.share if name else None]
            else:
                row += [None, None, "no answers", None]
            rows.append(row)
        columns = [
            Column("Level"),
            Column("Existing", "number"),
            Column("Not existing", "number"),
            Column("Open to some", "number"),
            Column("Most users of one", "number"),
            Column("Most used name", "name"),
            Column("Share of this name", "share", 1),
        ]
        order = "in the policy's order"
        return Table("by-level", "Exposure by level", columns, rows[: self.top], len(rows), order)

    @property
    def container_noun(self) -> str:
        return self.container_types[0] if len(self.container_types) == 1 else "container"

    def containers(self) -> Table:
        """Exposure by the containers directly below the root."""
        figures = self.figures
        found = figures.by_container(figures.containers(self.container_types))
        most = [max((mean[at] or 0.0 for mean in found.means), default=0.0) for at in range(len(found.position))]
        order = sorted(range(len(most)), key=lambda at: -most[at])[: self.top]
        rows: list[list[Value]] = [
            [
                self.ref(int(found.position[at])),
                int(found.objects[at]),
                int(found.open[at]),
                int(found.most[at]),
                *(mean[at] for mean in found.means),
            ]
            for at in order
        ]
        columns = [
            Column("Container", "name"),
            Column("Objects", "number"),
            Column("Open to some", "number"),
            Column("Most users", "number", figures.user_count),
            *(Column(self.label(at), "mean", figures.user_count) for at in figures.focus),
        ]
        title = f"Exposure by {self.container_noun}"
        return Table("by-container", title, columns, rows, len(found.position), "the largest means")

    def plots(self) -> list[Plot]:
        """How many users can use the names of the focus on how many objects."""
        conditions = self.answers.conditions
        return [
            Plot(self.label(at), f"{conditions[at].type}s", conditions[at].objects, self.figures.histogram(at))
            for at in self.figures.focus
        ]

    # ---- names -----------------------------------------------------------------------------------------------
    def names(self) -> Table:
        """The figures of every condition with access."""
        conditions = self.answers.conditions
        counted = [self.figures.by_condition(at) for at in range(len(conditions))]
        used = [at for at in range(len(counted)) if counted[at].exposure.pairs]
        order = sorted(used, key=lambda at: -counted[at].exposure.pairs)
        rows: list[list[Value]] = [
            [
                ", ".join(conditions[at].names),
                conditions[at].type,
                counted[at].reaching,
                counted[at].widest,
                counted[at].exposure.open,
                counted[at].exposure.most,
                counted[at].exposure.pairs,
                counted[at].exposure.share,
            ]
            for at in order[: self.top]
        ]
        columns = [
            Column("Names", "name"),
            Column("On"),
            Column("Users", "number"),
            Column("Most objects", "number"),
            Column("Objects", "number"),
            Column("Most users", "number"),
            Column("Pairs", "number"),
            Column("Share", "share", 1),
        ]
        return Table("by-name", "Figures by name", columns, rows, len(order), "the names with the most pairs")

    def unused_names(self) -> list[str]:
        """The names that no user can use on any object, with their types."""
        return [
            f"{name} on {each.type}"
            for at, each in enumerate(self.answers.conditions)
            if not self.answers.exposed_users[self.answers.exposure_of(at)].any()
            for name in each.names
        ]


def some(names: Sequence[str]) -> str:
    """The first names of a condition."""
    more = f" and {len(names) - SHOWN_NAMES} more" if len(names) > SHOWN_NAMES else ""
    return ", ".join(names[:SHOWN_NAMES]) + more
