"""The sections of a report: texts, plots and tables."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from grantpath.engine.policy.facts import FactKind
from grantpath.spark_sync.bulk.condition_answers import ConditionAnswers
from grantpath.spark_sync.bulk.idle_grants import IdleGrants
from grantpath.spark_sync.bulk.users_by_principal import UsersByPrincipal
from grantpath.spark_sync.reporting.report_figures import Figures
from grantpath.spark_sync.reporting.report_markup import (
    Cell,
    Markup,
    ReportTable,
    bar,
    decimal,
    element,
    joined,
    name,
    number,
)
from grantpath.spark_sync.reporting.report_plots import histogram
from grantpath.spark_sync.session.snapshot import Snapshot

SHOWN_NAMES = 4  # the most names that are shown for one condition


@dataclass(frozen=True)
class Contents:
    """The content of a report. `top`: the most rows of a table."""

    source: Snapshot
    answers: ConditionAnswers
    figures: Figures
    holders: UsersByPrincipal
    idle: IdleGrants
    top: int

    def ref(self, position: int) -> Cell:
        return Cell(name(self.source.numbering.refs[position]))

    def type_of(self, position: int) -> Cell:
        return Cell(self.source.numbering.types[self.source.numbering.type[position]])

    def label(self, condition: int) -> str:
        """The first name of a condition, with its type."""
        each = self.answers.conditions[condition]
        return f"{each.names[0]} on {each.type}"

    def focus_labels(self) -> list[str]:
        return [self.label(at) for at in self.figures.focus]


@dataclass(frozen=True)
class Section:
    """A section of the page."""

    key: str
    title: str
    parts: Sequence[Markup]

    def markup(self) -> Markup:
        return element("section", element("h2", self.title), *self.parts, id=self.key, class_="section")


def text(*parts: object) -> Markup:
    """A paragraph."""
    return element("p", *parts)


def totals(contents: Contents) -> Section:
    """The numbers of entities and facts."""
    figures, source = contents.figures, contents.source
    entries = source.policy.file.types
    tiles = [
        (f"{type_.replace('_', ' ')}s", len(figures.listed[type_]))
        for type_, entry in entries.items()
        if entry.kind != "object"
    ]
    objects = sum(len(figures.listed[type_]) for type_, entry in entries.items() if entry.kind == "object")
    kinds = _fact_counts(source)
    tiles += [
        ("objects", objects),
        ("ALLOW grants", kinds[FactKind.ALLOW]),
        ("DENY grants", kinds[FactKind.DENY]),
        ("owners", kinds[FactKind.OWNS]),
        ("memberships", source.meta.counts.get("members", 0)),
        ("names", sum(len(each.names) for each in contents.answers.conditions)),
    ]
    drawn = [element("div", element("dt", label), element("dd", f"{count:,}")) for label, count in tiles]
    return Section("totals", "Totals", [element("dl", *drawn)])


def _fact_counts(source: Snapshot) -> dict[FactKind, int]:
    facts = source.fact_table
    by_key = np.bincount(facts.key, minlength=len(facts.keys)).tolist()
    counts = dict.fromkeys((FactKind.ALLOW, FactKind.DENY, FactKind.OWNS), 0)
    for key, count in zip(facts.keys, by_key, strict=True):
        counts[key.kind] += count
    return counts


def levels(contents: Contents) -> Section:
    """Exposure by type of object."""
    figures = contents.figures
    numbering = contents.source.numbering
    found = figures.by_level()
    rows = []
    for at, type_ in enumerate(numbering.types):
        missing = int(((numbering.type == at) & ~numbering.exists).sum())
        exposure = found.get(type_)
        if not len(figures.listed[type_]) and not missing:
            continue
        shown = [Cell(type_), number(len(figures.listed[type_])), number(missing)]
        if exposure is None:
            shown += [Cell("", -1), Cell("", -1), Cell("no answers", -1)]
        else:
            shown += [number(exposure.open), number(exposure.most), bar(exposure.share)]
        rows.append(shown)
    about = text(
        "How open the objects of each level are. Open to some: at least one user can use at least one name on them. "
        "Share: the allowed part of all (user, object) pairs, summed over the names with different conditions. "
        "Not existing: references that have grants or memberships, but do not exist."
    )
    columns = ["Level", "Existing", "Not existing", "Open to some", "Most users of one", "Share"]
    listing = ReportTable(
        "by-level", "Exposure by level", columns, rows[: contents.top], len(rows), "in the policy's order"
    )
    return Section("levels", "Exposure by level", [about, listing.markup()])


def containers(contents: Contents) -> Section:
    """Exposure by the containers directly below the root."""
    figures, policy = contents.figures, contents.source.policy
    objects = [type_ for type_, entry in policy.file.types.items() if entry.kind == "object"]
    below = [type_ for type_ in objects if policy.names.chain(type_)[1:] == (policy.root_type,)]
    types = [type_ for type_ in below if policy.names.below(type_)] or below
    types = [type_ for type_ in types if len(figures.listed[type_])]
    found = figures.by_container(figures.containers(types))
    share = found.pairs / np.maximum(found.possible, 1)
    order = np.lexsort((found.position, -share))[: contents.top]
    rows = [
        [
            contents.ref(int(found.position[at])),
            number(int(found.objects[at])),
            number(int(found.open[at])),
            number(int(found.most[at])),
            *(decimal(mean[at]) for mean in found.means),
            bar(float(share[at])),
        ]
        for at in order.tolist()
    ]
    about = text(
        f"Each {' or '.join(types) or 'container'} directly below the root, with everything in it. The columns with "
        "names show the mean number of users of an object of that type."
    )
    columns = ["Container", "Objects", "Open to some", "Most users", *contents.focus_labels(), "Share"]
    title = f"Exposure by {types[0] if len(types) == 1 else 'container'}"
    listing = ReportTable("by-container", title, columns, rows, len(found.position), "the largest shares")
    return Section("containers", title, [about, listing.markup()])


def reach(contents: Contents) -> Section:
    """How many users can use a name on how many objects."""
    figures = contents.figures
    plots = [
        histogram(figures.histogram(at), contents.label(at), f"{contents.answers.conditions[at].type}s")
        for at in figures.focus
    ]
    about = text(
        "How many users can use a name on how many objects. The bars begin at 0 objects. "
        "The plots show the names with the most allowed pairs of each type; the table of names has more."
    )
    return Section("reach", "Distribution of reach", [about, element("div", *plots, class_="plots")])


def names(contents: Contents) -> Section:
    """The figures of every condition."""
    figures, answers = contents.figures, contents.answers
    counted = [figures.by_condition(at) for at in range(len(answers.conditions))]
    order = sorted(range(len(counted)), key=lambda at: -counted[at].exposure.pairs)
    rows = [
        [
            Cell(name(", ".join(answers.conditions[at].names))),
            Cell(answers.conditions[at].type),
            number(counted[at].reaching),
            number(counted[at].widest),
            number(counted[at].exposure.open),
            number(counted[at].exposure.most),
            number(counted[at].exposure.pairs),
            bar(counted[at].exposure.share),
        ]
        for at in order[: contents.top]
    ]
    about = text("Names with the same condition on the same type have the same answers, and share a row.")
    columns = ["Names", "On", "Users", "Most objects", "Objects", "Most users", "Pairs", "Share"]
    listing = ReportTable("by-name", "Figures by name", columns, rows, len(order), "the names with the most pairs")
    return Section("names", "Names", [about, listing.markup()])


def _names(names: Sequence[str]) -> Markup:
    more = f" and {len(names) - SHOWN_NAMES} more" if len(names) > SHOWN_NAMES else ""
    return joined(name(", ".join(names[:SHOWN_NAMES])), more)


def widest(contents: Contents) -> Section:
    """The subjects with the widest access."""
    figures = contents.figures
    chosen, total, focus = figures.widest(contents.top)
    groups = contents.holders.groups
    rows = [
        [
            contents.ref(who),
            number(int(groups[who])),
            *(number(int(column[at])) for column in focus),
            number(int(total[at])),
        ]
        for at, who in enumerate(chosen.tolist())
    ]
    about = [
        text(
            "The users that can use names on the most objects. Groups and roles: direct and through others. All: the "
            "objects, summed over the names with different conditions."
        ),
        *_everybody(contents),
    ]
    columns = ["User", "Groups and roles", *contents.focus_labels(), "All"]
    listing = ReportTable("widest-users", "Widest users", columns, rows, figures.user_count, "the widest")
    return Section("widest", "Widest users", [*about, listing.markup()])


def _everybody(contents: Contents) -> list[Markup]:
    """A sentence about the access that every user has."""
    answers = contents.answers
    common = [
        f"{contents.label(at)} ({int(answers.common[at]):,})"
        for at in np.argsort(-answers.common, kind="stable").tolist()
        if answers.common[at]
    ]
    if not common:
        return []
    more = f" and {len(common) - SHOWN_NAMES:,} more" if len(common) > SHOWN_NAMES else ""
    return [text(f"A user without any grant can already use: {', '.join(common[:SHOWN_NAMES])}{more}.")]


def exposed(contents: Contents) -> Section:
    """The objects with the most users."""
    figures = contents.figures
    rows = [
        [
            contents.ref(at),
            contents.type_of(at),
            number(users),
            bar(users / figures.user_count if figures.user_count else 0.0),
            Cell(_names(contents.answers.conditions[condition].names)),
            number(pairs),
        ]
        for at, users, condition, pairs in zip(
            *(each.tolist() for each in figures.most_exposed(contents.top)), strict=True
        )
    ]
    about = text(
        "The objects on which the most users can use a name, with that name. All: the users, summed over the names "
        "with different conditions."
    )
    columns = ["Object", "Level", "Users", "Of all users", "Name", "All"]
    listing = ReportTable(
        "exposed-objects", "Most exposed objects", columns, rows, figures.exposed_objects, "the most exposed"
    )
    return Section("exposed", "Most exposed objects", [about, listing.markup()])
