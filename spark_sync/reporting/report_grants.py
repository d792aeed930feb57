"""The sections of a report about grants without effect, and about its limits."""

import numpy as np

from grantpath.engine.facts.kernel.intervals import Bools
from grantpath.spark_sync.bulk.idle_grants import Idle
from grantpath.spark_sync.reporting.report_markup import Cell, Markup, ReportTable, element, number
from grantpath.spark_sync.reporting.report_plots import parts
from grantpath.spark_sync.reporting.report_sections import Contents, Section, text

SHOWN_NAMES = 12
REASONS = {
    Idle.NO_USER: "no user has it",
    Idle.NO_OBJECT: "no existing object",
    Idle.NOTHING_OPEN: "no user can use its operations there",
    Idle.SHADOWED: "denied to each of its users",
}


def idle(contents: Contents) -> Section:
    """The grants without effect."""
    found = contents.idle
    counts = {reason: int((found.reason == reason).sum()) for reason in REASONS}
    normal = "with effect, as far as this page judges"
    plot = parts(
        "ALLOW and DENY grants",
        [(normal, found.grants - len(found.row)), *((text, counts[reason]) for reason, text in REASONS.items())],
    )
    shadowed = found.reason == Idle.SHADOWED
    dead = (
        "Grants that give access to no existing user. No user has it: no existing user is the grantee, or belongs to "
        "it. No existing object: no condition of the policy counts the grant for an object that exists. No user can "
        "use its operations there: no user is allowed any operation that counts the ALLOW, on any object for "
        "which it counts (operations with a second object are not considered); usually another grant is missing."
    )
    if found.not_judged:
        dead += (
            f" The last rule was not applied to {found.not_judged:,} ALLOW grants, because some of their operations "
            "have no bulk answers here; run grantpath access without --names, then write the report again."
        )
    cancelled = (
        "ALLOW grants that a DENY on the same object or above it cancels for each user that has the grant. Other "
        "grants may still give these users access elsewhere."
    )
    return Section(
        "idle",
        "Dead and shadowed grants",
        [
            plot,
            element("h3", "Dead grants"),
            text(dead),
            _grants(contents, ~shadowed, "dead-grants", "Dead grants", denied=False),
            element("h3", "Shadowed grants"),
            text(cancelled),
            _grants(contents, shadowed, "shadowed-grants", "Shadowed grants", denied=True),
        ],
    )


def _grants(contents: Contents, chosen: Bools, key: str, label: str, denied: bool) -> Markup:
    """A table of grants. If `denied`, it has the place of the nearest DENY instead of the reason."""
    found, facts = contents.idle, contents.source.fact_table
    at = np.flatnonzero(chosen)
    rows = []
    for each in at[: contents.top].tolist():
        row = int(found.row[each])
        fact = facts.keys[int(facts.key[row])]
        why = contents.ref(int(found.denied_at[each])) if denied else Cell(REASONS[Idle(int(found.reason[each]))])
        rows.append(
            [
                Cell(f"{fact.kind.value} {fact.privileges[0]}"),
                contents.ref(int(facts.place[row])),
                contents.ref(int(facts.principal[row])),
                number(int(found.users[each])),
                why,
            ]
        )
    columns = ["Grant", "Object", "Grantee", "Users", "Nearest DENY on" if denied else "Why"]
    return ReportTable(key, label, columns, rows, len(at), "in order of the reason and the object").markup()


def left_out(contents: Contents) -> Section:
    """What the report does not show."""
    policy = contents.source.policy
    answered = {(name, each.type) for each in contents.answers.conditions for name in each.names}
    asked = [(name, type_) for type_ in policy.names.types for name in policy.names_on(type_)]
    second = [f"{name} on {type_}" for name, type_ in asked if (name, type_) not in contents.answers.numbers]
    missing = [
        f"{name} on {type_}" for name, type_ in asked if (name, type_) in contents.answers.numbers.keys() - answered
    ]
    items: list[object] = []
    if second:
        items.append(
            f"Operations that need a second object have no bulk answers: {_some(second)}. Use grantpath ask or check."
        )
    if missing:
        items.append(f"Names that were not given to grantpath access: {_some(missing)}.")
    items += [
        "Objects that do not exist, and built-in entities that answers omit.",
        "The access of groups and roles themselves: only users and service principals are counted. Use grantpath can.",
        "The right to change grants, memberships and owners: the figures are about privileges and operations.",
        "Ownership, in the table of dead and shadowed grants: an ownership is not a grant.",
        f"Changes after revision {contents.source.meta.revision:,}.",
    ]
    if policy.active_roles:
        items.append(
            "Questions with a chosen active role: a user can use a name here if one of its own roles, when active, "
            "allows it."
        )
    return Section("left-out", "What this page leaves out", [element("ul", *(element("li", each) for each in items))])


def _some(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN_NAMES:,} more" if len(names) > SHOWN_NAMES else ""
    return ", ".join(names[:SHOWN_NAMES]) + more
