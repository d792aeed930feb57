"""The content of a report about grants without effect, objects without an owner, and the limits of the report."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from grantpath.engine.facts.kernel.intervals import Bools, Ints
from grantpath.engine.policy.facts import FactKind
from grantpath.spark_sync.bulk.bulk_questions import listed_objects
from grantpath.spark_sync.bulk.idle_grants import Idle
from grantpath.spark_sync.reporting.report_contents import Contents
from grantpath.spark_sync.reporting.report_tables import Column, Part, Parts, Table, Value

SHOWN_NAMES = 12
REASONS = {
    Idle.NO_USER: "no user has it",
    Idle.NO_OBJECT: "no existing object",
    Idle.NOTHING_OPEN: "no user can use its operations there",
    Idle.SHADOWED: "denied to each of its users",
}


# ---- dead and shadowed grants ------------------------------------------------------------------------------------
def grant_parts(contents: Contents) -> Parts:
    """All ALLOW and DENY grants, by what the report says about them."""
    found = contents.idle
    normal = Part("with effect, as far as this page judges", found.grants - len(found.row))
    idle = [Part(text, int((found.reason == reason).sum())) for reason, text in REASONS.items()]
    return Parts("grants", "ALLOW and DENY grants", [normal, *idle])


def dead(contents: Contents) -> Table:
    """The grants without effect that are not shadowed."""
    return _grants(contents, contents.idle.reason != Idle.SHADOWED, "dead-grants", "Dead grants", "Why")


def shadowed(contents: Contents) -> Table:
    """The grants that a DENY cancels."""
    chosen = contents.idle.reason == Idle.SHADOWED
    return _grants(contents, chosen, "shadowed-grants", "Shadowed grants", "Nearest DENY on")


def _grants(contents: Contents, chosen: Bools, key: str, label: str, last: str) -> Table:
    found, facts = contents.idle, contents.source.fact_table
    at = np.flatnonzero(chosen)
    rows: list[list[Value]] = []
    for each in at[: contents.top].tolist():
        row = int(found.row[each])
        fact = facts.keys[int(facts.key[row])]
        reason, denied_at = Idle(int(found.reason[each])), int(found.denied_at[each])
        rows.append(
            [
                f"{fact.kind.value} {fact.privileges[0]}",
                contents.ref(int(facts.place[row])),
                contents.ref(int(facts.principal[row])),
                int(found.users[each]),
                contents.ref(denied_at) if reason is Idle.SHADOWED else REASONS[reason],
            ]
        )
    columns = [
        Column("Grant", "name"),
        Column("Object", "name"),
        Column("Grantee", "name"),
        Column("Users", "number"),
        Column(last, "name"),
    ]
    return Table(key, label, columns, rows, len(at), "in order of the reason and the object")


# ---- owners ------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Owners:
    """The objects without an owner of their own, and those whose owner neither is an existing user nor has one."""

    contents: Contents

    @cached_property
    def types(self) -> list[str]:
        """The types whose objects can have an owner, and exist."""
        entries = self.contents.source.policy.file.types
        return [type_ for type_, each in entries.items() if each.owned_by and len(self.contents.figures.listed[type_])]

    @cached_property
    def objects(self) -> Ints:
        """The positions of the objects that can have an owner."""
        listed = [listed_objects(self.contents.source, type_) for type_ in self.types]
        return np.sort(np.concatenate([np.empty(0, np.int64), *listed]))

    @cached_property
    def _owner(self) -> Ints:
        """By position: the position of the owner; -1 for none. Of several owners, one with users counts."""
        facts = self.contents.source.fact_table
        owning = [at for at, key in enumerate(facts.keys) if key.kind is FactKind.OWNS]
        rows = np.flatnonzero(np.isin(facts.key, owning))
        rows = rows[np.argsort(self._has_users(facts.principal[rows]), kind="stable")]
        owner = np.full(len(self.contents.source.numbering), -1, np.int64)
        owner[facts.place[rows]] = facts.principal[rows]
        return owner

    def _has_users(self, principals: Ints) -> Bools:
        found: Bools = self.contents.holders.count[principals] > 0
        return found

    @cached_property
    def _missing(self) -> Ints:
        owner = self._owner[self.objects]
        return self.objects[(owner < 0) | ~self._has_users(owner)]

    @property
    def missing(self) -> int:
        """The number of objects that the table lists."""
        return len(self._missing)

    def _above(self, objects: Ints) -> Ints:
        """For each object: the nearest object above it with an owner that has users; -1 for none."""
        parent = self.contents.source.numbering.parent
        owned = (self._owner >= 0) & self._has_users(self._owner)
        at = parent[objects]
        while (wrong := (at >= 0) & ~owned[at]).any():
            at[wrong] = parent[at[wrong]]
        return at

    def parts(self) -> Parts:
        """The objects that can have an owner."""
        none = int((self._owner[self.objects] < 0).sum())
        rest = self.missing - none
        return Parts(
            "owned-objects",
            "Objects that can have an owner",
            [
                Part("owned by an existing user, or by a group or role with users", len(self.objects) - self.missing),
                Part("owned by a name that does not exist, or by a group or role without users", rest),
                Part("without an owner", none),
            ],
        )

    def table(self) -> Table:
        """The objects without an owner. Those without one above come first, then those with the most users."""
        contents, missing = self.contents, self._missing
        users, above = contents.figures.most_users(missing), self._above(missing)
        order = np.lexsort((missing, -users, above >= 0))[: contents.top]
        rows: list[list[Value]] = [
            [
                contents.ref(at),
                contents.type_of(at),
                many,
                contents.ref(int(self._owner[at])) if self._owner[at] >= 0 else None,
                contents.ref(int(self._owner[place])) if place >= 0 else None,
                contents.ref(place) if place >= 0 else None,
            ]
            for at, many, place in zip(
                missing[order].tolist(), users[order].tolist(), above[order].tolist(), strict=True
            )
        ]
        columns = [
            Column("Object", "name"),
            Column("Level"),
            Column("Most users", "number"),
            Column("Owner without users", "name"),
            Column("Owner above", "name"),
            Column("Above it", "name"),
        ]
        order_ = "those without an owner above first, then those with the most users"
        return Table("ownerless-objects", "Objects without an owner", columns, rows, len(missing), order_)


# ---- limits ------------------------------------------------------------------------------------------------------
def left_out(contents: Contents) -> list[str]:
    """What the report does not show."""
    policy = contents.source.policy
    asked = [(name, type_) for type_ in policy.names.types for name in policy.names_on(type_)]
    second = [f"{name} on {type_}" for name, type_ in asked if (name, type_) not in contents.answers.numbers]
    missing, ends = contents.without_answers(), contents.source.meta.ends
    items = []
    if second:
        items.append(
            f"Operations that need a second object have no bulk answers: {_some(second)}. `grantpath ask` and "
            "`grantpath check` answer them."
        )
    if missing:
        items.append(f"Names that were not given to grantpath access: {_some(missing)}.")
    items += [
        "Objects that do not exist, and built-in entities that answers omit.",
        "The access of groups and roles themselves, except in the table of groups: only users and service principals "
        "are counted. `grantpath can` lists what one of them can use.",
        "The rights to make changes, such as to grant a privilege, except those that the policy has as operations.",
        "Ownership, in the table of dead and shadowed grants: an ownership is not a grant.",
        f"Changes after revision {contents.source.meta.revision:,}.",
    ]
    if ends:
        items.append(
            f"When grants and memberships end, the first of them not before {ends}: they are shown like the others. "
            "`grantpath ending` lists them."
        )
    if policy.active_roles:
        items.append(
            "Questions with a chosen active role: a user can use a name here if one of its own roles, when active, "
            "allows it."
        )
    return items


def _some(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN_NAMES:,} more" if len(names) > SHOWN_NAMES else ""
    return ", ".join(names[:SHOWN_NAMES]) + more
