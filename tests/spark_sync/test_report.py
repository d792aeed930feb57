"""`grantpath report`: its figures agree with the oracle, and the page needs and allows no network."""

import csv
import io
import json
import random
import re
from copy import deepcopy
from html import unescape
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from grantpath.engine.cli import main
from grantpath.graph.errors import GrantpathError, InvalidInput
from grantpath.graph.messages import printable
from grantpath.spark_sync.bulk.condition_answers import condition_answers
from grantpath.spark_sync.bulk.idle_grants import idle_grants
from grantpath.spark_sync.bulk.users_by_principal import UsersByPrincipal
from grantpath.spark_sync.reporting.group_access import GroupAccess
from grantpath.spark_sync.reporting.report_contents import Contents
from grantpath.spark_sync.reporting.report_figures import Figures
from grantpath.spark_sync.reporting.report_grants import Owners
from grantpath.spark_sync.reporting.report_page import report
from grantpath.spark_sync.reporting.report_tables import Column, Table
from grantpath.spark_sync.reporting.report_templates import breakable, environment, percent, short
from grantpath.spark_sync.reporting.scales import ticks
from grantpath.spark_sync.session.snapshot import Snapshot

from ..oracle import Oracle, oracle
from ..support.browser_desk import printed
from ..support.plain_access import write_access, write_snapshot
from ..support.random_world import ROOT_NAME, random_world

HOSTILE = ["user:`<script>alert(1)</script>`", "user:`a\u202egpj.exe`", 'user:`" onload="alert(2)`', "user:`&amp;`"]
# Names that are values of attributes, headings of columns, and text of sentences, too.
HOSTILE_OBJECTS = ['catalog:`"><script>alert(3)</script>`', "catalog:`'><b>\u202e`", "catalog:`a\x1b[31m{{ 7 * 7 }}`"]


def tables_in(catalog: str) -> list[str]:
    """A schema of a catalog, and its tables."""
    name = catalog.partition(":")[2]
    return [f"schema:{name}.s", f"table:{name}.s.`<i>`", f"table:{name}.s.t"]


@pytest.fixture(scope="module")
def made() -> Oracle:
    made = oracle("gravitino", ROOT_NAME)
    more = [f"add {ref}" for ref in HOSTILE]
    more += [f"member {ref} of group:wide" for ref in HOSTILE]
    more += ["add role:wide", "member group:wide of role:wide"]
    more += [fact for ref in HOSTILE_OBJECTS for fact in (f"add {ref}", f"owner {HOSTILE[0]} of {ref}")]
    more += [f"add {part}" for ref in HOSTILE_OBJECTS for part in tables_in(ref)]
    more += [f"allow {name} on metalake:main to role:wide" for name in ("USE_CATALOG", "USE_SCHEMA", "SELECT_TABLE")]
    for fact in [*random_world("gravitino", random.Random(3), 120, tags=False), "add group:wide", *more]:
        assert made.given(fact) == "done", fact
    return made


@pytest.fixture(scope="module")
def folder(made: Oracle, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_access(write_snapshot(made, tmp_path_factory.mktemp("report") / "snapshot"))


@pytest.fixture(scope="module")
def page(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("page") / "report.html"
    report(folder, file)
    return file.read_text()


# ---- figures -----------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def figures(folder: Path) -> Figures:
    source = Snapshot(folder)
    return Figures(source, condition_answers(source))


def people(made: Oracle) -> list[str]:
    return sorted(str(each) for each in made.existing if each.type in made.people)


@pytest.mark.parametrize("name", ["load_table", "SELECT_TABLE", "create_table"])
def test_figures_of_a_name_agree_with_the_oracle(made: Oracle, figures: Figures, name: str) -> None:
    [at] = [
        at
        for at, each in enumerate(figures.answers.conditions)
        if name in each.names and each.type == ("schema" if name == "create_table" else "table")
    ]
    type_ = figures.answers.conditions[at].type
    may = {who: made.which(type_, who, name) for who in people(made)}
    found = figures.by_condition(at)
    pairs = sum(map(len, may.values()))
    assert (found.exposure.pairs, found.exposure.objects) == (pairs, len(made.objects(type_)))
    assert found.exposure.possible == len(may) * len(made.objects(type_))
    assert found.exposure.open == len(set().union(*may.values()))
    assert (found.reaching, found.widest) == (sum(map(bool, may.values())), max(map(len, may.values())))
    by_object = [sum(ref in each for each in may.values()) for ref in made.objects(type_)]
    assert found.exposure.most == max(by_object)
    bars = figures.histogram(at)
    counted = [len(each) for each in may.values()]
    ranges = zip(bars.low, bars.high, strict=True)
    assert bars.users == [sum(low <= many <= high for many in counted) for low, high in ranges]
    catalogs = figures.containers(["catalog"])
    inside = figures.by_container(catalogs)
    if at in figures.focus:
        for number, catalog in enumerate(catalogs.tolist()):
            ref = made.resolve(figures.numbering.refs[catalog])
            mine = {str(each) for each in made.existing_inside(ref) if each.type == type_}
            mean = inside.means[figures.focus.index(at)][number]
            if mine:
                assert mean == pytest.approx(sum(len(each & mine) for each in may.values()) / len(mine))
            else:
                assert mean is None


def test_widest_users_and_most_exposed_objects_agree_with_the_oracle(made: Oracle, figures: Figures) -> None:
    conditions = [(each.type, each.names[0]) for each in figures.answers.conditions]
    sums = dict.fromkeys(people(made), 0)
    best: dict[str, int] = {}
    pairs: dict[str, int] = {}
    for type_, name in conditions:
        users: dict[str, int] = {}
        for who in sums:
            for ref in made.which(type_, who, name):
                sums[who] += 1
                users[ref] = users.get(ref, 0) + 1
        for ref, many in users.items():
            best[ref], pairs[ref] = max(best.get(ref, 0), many), pairs.get(ref, 0) + many
    refs = figures.numbering.refs
    widest, total, _ = figures.widest(7)
    assert total.tolist() == sorted(sums.values(), reverse=True)[:7]
    assert [sums[refs[at]] for at in widest] == total.tolist()
    exposed, users_, _, all_ = figures.most_exposed(9)
    expected = sorted(((best[each], pairs[each]) for each in best), reverse=True)[:9]
    assert list(zip(users_.tolist(), all_.tolist(), strict=True)) == expected
    assert [(best[refs[at]], pairs[refs[at]]) for at in exposed] == expected
    assert figures.exposed_objects == len(best)
    inside = figures.by_container(figures.containers(["catalog"]))
    for at, catalog in enumerate(inside.position.tolist()):
        top = made.resolve(refs[catalog])
        mine = {str(each) for each in {top, *made.existing_inside(top)}}
        assert inside.pairs[at] == sum(pairs.get(each, 0) for each in mine)
        assert inside.open[at] == sum(each in pairs for each in mine)
        assert inside.most[at] == max((best.get(each, 0) for each in mine), default=0)
        assert inside.objects[at] == len(mine)
    assert sum(each.pairs for each in figures.by_level().values()) == sum(pairs.values())


def test_users_without_a_row_of_reach_have_what_every_user_has(figures: Figures) -> None:
    at = figures.focus[0]
    answers = figures.answers
    rows = answers.reach_of(at)
    assert not answers.common.any() and len(answers.reach_subject[rows]) < figures.user_count
    answers.common[at] = 1
    try:
        bars = figures.histogram(at)
    finally:
        answers.common[at] = 0
    mine = answers.reach_objects[rows]
    assert bars.users[0] == int((mine == 0).sum())
    first = (mine >= 1) & (mine <= bars.high[1])
    assert bars.users[1] == figures.user_count - len(mine) + int(first.sum())


# ---- groups and owners -------------------------------------------------------------------------------------------
def contents_of(folder: Path) -> Contents:
    source = Snapshot(folder)
    answers = condition_answers(source)
    holders = UsersByPrincipal(source, answers.users)
    idle = idle_grants(source, answers, holders)
    groups = GroupAccess(source, answers, holders)
    return Contents(source, answers, Figures(source, answers), holders, idle, groups, 1_000)


@pytest.fixture(scope="module")
def contents(folder: Path) -> Contents:
    return contents_of(folder)


def alone(made: Oracle, group: str) -> tuple[Oracle, str]:
    """The same facts, and a user who belongs to one group only."""
    more, who = deepcopy(made), "user:`belongs to one group`"
    for fact in (f"add {who}", f"member {who} of {group}"):
        assert more.given(fact) == "done", fact
    return more, who


def test_groups_give_what_the_oracle_allows_a_user_who_belongs_to_nothing_else(
    made: Oracle, contents: Contents
) -> None:
    condition = contents.matrix_condition
    assert condition is not None
    name, type_ = (each := contents.answers.conditions[condition]).names[0], each.type
    table = contents.matrix()
    containers = [column.title.rpartition(" (")[0] for column in table.columns[2:]]
    shown = {str(row[0]): row[2:] for row in table.rows}
    assert len(shown) >= 3 and {*HOSTILE_OBJECTS} & {*containers}
    for at in contents.groups.groups.tolist():
        group = contents.ref(at)
        may = (more := alone(made, group))[0].which(type_, more[1], name)
        tops = [made.resolve(ref) for ref in containers]
        inside = [{str(each) for each in {top, *made.existing_inside(top)}} for top in tops]
        counts = [len(may & each) for each in inside]
        assert list(shown.get(group, [0] * len(counts))) == counts, group
        assert (group in shown) is any(counts)


@pytest.mark.parametrize("policy", ["cdap", "deltastream", "lakehouse", "onehouse"])
def test_groups_of_other_policies_give_what_the_oracle_allows(policy: str, tmp_path: Path) -> None:
    """Nested groups and roles, roles of groups, and one role at a time."""
    made = oracle(policy, ROOT_NAME)
    for fact in random_world(policy, random.Random(5), 400, tags=False):
        made.given(fact)
    contents = contents_of(write_access(write_snapshot(made, tmp_path / policy)))
    conditions = range(len(contents.answers.conditions))
    allowed = contents.groups.allowed(conditions)
    given = 0
    for at in contents.groups.groups.tolist():
        more, who = alone(made, contents.ref(at))
        for condition in conditions:
            each = contents.answers.conditions[condition]
            if each.type in (*made.people, "group", "role"):
                continue  # the user who was added is one more object, or a further member
            targets = contents.figures.listed[each.type]
            group, low, high = allowed[condition]
            mine = [targets[a:b] for g, a, b in zip(group, low, high, strict=True) if g == at]
            found = {contents.ref(int(position)) for part in mine for position in part}
            expected = {contents.ref(int(p)) for p in targets} & more.which(each.type, who, each.names[0])
            assert found == expected, (contents.ref(at), each.names[0], each.type)
            given += len(found)
    assert given > 10


def test_largest_group_alone_gives_the_access_to_an_object(made: Oracle, contents: Contents) -> None:
    rows = [row for row in contents.exposed().rows if row[1] == "table"]
    groups = sorted(contents.groups.groups.tolist(), key=lambda at: (-contents.holders.count[at], at))
    probes = {contents.ref(at): alone(made, contents.ref(at)) for at in groups}
    named = [row[5] for row in rows]
    assert any(named) and len(rows) > 5
    for row, group in zip(rows, named, strict=True):
        name = str(row[4]).partition(",")[0].partition(" ")[0]
        giving = [ref for ref, (more, who) in probes.items() if more.check(who, name, str(row[0]))]
        assert group == (giving[0] if giving else None), row


def test_objects_without_an_owner_agree_with_the_oracle(made: Oracle, contents: Contents) -> None:
    owners = Owners(contents)
    owned = {str(each) for each in made.owners}
    expected = {contents.ref(at) for at in owners.objects.tolist()} - owned
    table = owners.table()
    assert {str(row[0]) for row in table.rows if row[3] is None} == expected and len(expected) > 5
    assert (table.total, owners.missing) == (len(table.rows), sum(part.count for part in owners.parts().parts[1:]))
    assert {*owners.types} <= {type_ for type_ in made.types if type_ not in ("user", "group")}
    for row in table.rows:
        above = [str(each) for each in made.owners if made.resolve(str(row[0])) in made.existing_inside(each)]
        assert row[5] == max(above, key=len, default=None)
    nobody = [row[4] is None for row in table.rows]
    assert nobody == sorted(nobody, reverse=True)


def test_owner_without_users_counts_as_nobody(tmp_path: Path) -> None:
    made = oracle("lakehouse", ROOT_NAME)
    facts = ["add user:ann", "add role:empty", "add role:full", "member user:ann of role:full"]
    facts += [f"add catalog:{name}" for name in ("a", "b", "c")]
    facts += ["owner role:empty of catalog:a", "owner role:full of catalog:b"]
    assert all(made.given(fact) == "done" for fact in facts)
    table = Owners(contents_of(write_access(write_snapshot(made, tmp_path / "owned"), ["load_catalog"]))).table()
    found = {str(row[0]): row[3] for row in table.rows}
    assert (found["catalog:a"], found["catalog:c"], "catalog:b" in found) == ("role:empty", None, False)


# ---- the page ----------------------------------------------------------------------------------------------------
class Read(HTMLParser):
    """The elements, attributes and texts of a page, as a browser reads them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.headings: list[str] = []
        self.texts: list[str] = []
        self.rows: dict[str, list[list[str]]] = {}  # by id of the table
        self.plots: list[list[dict[str, str]]] = []  # by plot: its lines, bars and labels
        self._open: list[str] = []
        self._listing, self._plot = "", False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.tags.add(tag)
        self.attributes |= {*given}
        self._open.append(tag)
        if given.get("class", "").startswith("listing"):
            self._listing = given["id"]
            self.rows[self._listing] = []
        elif tag == "tr" and self._listing:
            self.rows[self._listing].append([])
        elif tag == "td" and self._listing:
            self.rows[self._listing][-1].append("")
        elif tag == "svg":
            self._plot = "aria-label" in given
            self.plots += [[]] if self._plot else []
        elif tag in ("line", "rect", "text") and self._plot:
            self.plots[-1].append(given | {"tag": tag, "data": ""})

    def handle_data(self, data: str) -> None:
        if self._open[-1:] == ["h2"]:
            self.headings.append(data)
        if self._listing and self.rows[self._listing] and self.rows[self._listing][-1]:
            self.rows[self._listing][-1][-1] += data
        if self._open[-1:] == ["text"]:
            self.plots[-1][-1]["data"] += data
        self.texts.append(data)

    def handle_endtag(self, tag: str) -> None:
        self._open.pop() if self._open else None
        if tag == "table":
            self._listing = ""


def test_page_has_no_address_and_forbids_requests(page: str) -> None:
    assert not re.findall(r"https?:|//\w|url\(|@import|\bsrc=|<link|<img|<iframe|<form|\bon\w+=\"|\bstyle=", page)
    [rules] = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert unescape(rules).startswith("default-src 'none'; style-src 'sha256-") and "unsafe" not in rules
    assert (page.count("<script>"), page.count("<style>")) == (1, 1)


def test_hostile_names_stay_text(page: str, made: Oracle) -> None:
    found = Read(page)
    assert not {*re.findall(r"<b>(?!\d)", page)} and "i" not in found.tags and "onload" not in found.attributes
    assert "\u202e" not in page and "\x1b" not in page and "{{ 7 * 7 }}" in page
    users = {row[0] for row in found.rows["widest-users"] if row}
    assert {printable(str(made.resolve(ref))) for ref in HOSTILE} <= users
    assert {printable(ref) for ref in HOSTILE_OBJECTS} <= {row[0] for row in found.rows["by-container"] if row}
    headings = unescape(re.sub("<wbr>", "", page.partition('id="group-access"')[2].partition("</thead>")[0]))
    assert all(printable(f"{ref} (1)") in headings for ref in HOSTILE_OBJECTS)


@pytest.mark.parametrize("text", [*HOSTILE, *HOSTILE_OBJECTS, "\t\u0000", "a" * 200, "x_" * 50, "אבג.דהו", "&lt;"])
def test_templates_escape_every_value_wherever_it_stands(text: str) -> None:
    made = environment()
    for source in (
        "<p>{{ text }}</p>",
        '<p title="{{ text }}"></p>',
        "<p>{{ text|breakable }}</p>",
        "{% macro m(x) %}{{ x }}{% endmacro %}<p>{{ m(text) }}</p>",
        "{% macro m() %}{{ caller() }}{% endmacro %}<p>{% call m() %}{{ text }}{% endcall %}</p>",
        "<p>{{ [text]|join(', ')|breakable }}</p>",
        "<p>{{ '' ~ text }}</p>",
    ):
        drawn = made.from_string(source).render(text=text)
        inside = re.fullmatch(r'<p title="([^"]*)"></p>|<p>(.*)</p>', drawn)
        assert inside, drawn
        shown = re.sub("<wbr>", "", inside[1] or inside[2] or "")
        assert "<" not in shown and shown.isprintable()
        assert unescape(shown) == printable(text)


def test_names_break_after_their_parts() -> None:
    pieces = str(breakable("some words table:hr.public_data.ann@corp/x-y " + "z" * 60)).split("<wbr>")
    assert pieces[:5] == ["some words table:hr.", "public_", "data.", "ann@", "corp/"]
    assert pieces[5:] == ["x-", "y " + "z" * 24, "z" * 24, "z" * 12]


def test_what_a_reviewer_acts_on_comes_first(page: str) -> None:
    headings = Read(page).headings
    assert headings[:6] == [
        "At a glance",
        "Most exposed objects",
        "Widest users",
        "Dead and shadowed grants",
        "Objects without an owner",
        "Groups and roles",
    ]
    assert headings[6:] == [
        "Totals",
        "Exposure by level",
        "Exposure by container",
        "Distribution of reach",
        "Names",
        "What this page leaves out",
    ]


def test_plots_show_their_numbers_on_linear_axes(page: str, figures: Figures) -> None:
    """Reads each bar off the picture, with nothing but the labels of the axes."""
    plots = Read(page).plots
    assert len(plots) == len(figures.focus) == 4
    for drawn, at in zip(plots, figures.focus, strict=True):
        expected = figures.histogram(at)
        lines = sorted((float(each["y1"]) for each in drawn if each["tag"] == "line"), reverse=True)
        left = [each for each in drawn if each["tag"] == "text" and each["text-anchor"] == "end"]
        assert [float(each["y"]) - 4 for each in left] == pytest.approx(lines, abs=0.02)
        values = [float(each["data"]) for each in left]
        assert values[0] == 0 and len({after - before for before, after in pairwise(values)}) == 1
        per_user = (lines[0] - lines[-1]) / values[-1]
        bars = [each for each in drawn if each["tag"] == "rect"]
        assert [float(each["y"]) + float(each["height"]) for each in bars] == pytest.approx(
            [lines[0]] * len(bars), abs=0.02
        )
        assert [float(each["height"]) / per_user for each in bars] == pytest.approx(expected.users, abs=0.05)
        # along the axis: the right edge of a bar has the highest number of objects that it counts
        marks = {
            each["data"]: float(each["x"])
            for each in drawn
            if each["tag"] == "text" and float(each["y"]) > lines[0] + 10
        }
        assert "none" in marks
        for bar, high in [*zip(bars, expected.high, strict=True)][1:]:
            middle = float(bar["x"]) + float(bar["width"]) / 2
            edge = middle + float(bar["width"]) / 0.88 / 2
            assert marks[str(high)] == pytest.approx(middle if expected.width == 1 else edge, abs=0.02)


def test_bars_of_tables_are_as_long_as_their_numbers(page: str) -> None:
    cells = re.findall(r'>([\d.]+%)<svg class="bar" aria-hidden="true"><rect width="([\d.]+)%"', page)
    shares = [(float(width), float(text.rstrip("%"))) for text, width in cells]
    assert len(shares) > 20
    assert all(width == pytest.approx(share, abs=0.06) for width, share in shares)


def test_names_without_access_are_one_line(tmp_path: Path) -> None:
    made = oracle("gravitino", ROOT_NAME)
    facts = ["add user:ann", "add role:r", "member user:ann of role:r", "add catalog:a", "add schema:a.s"]
    facts += ["add table:a.s.t", "allow USE_CATALOG on catalog:a to role:r"]
    assert all(made.given(fact) == "done" for fact in facts)
    snapshot = write_access(write_snapshot(made, tmp_path / "few"))
    answers = condition_answers(Snapshot(snapshot))
    used = {at for at in range(len(answers.conditions)) if answers.exposed_users[answers.exposure_of(at)].any()}
    unused = [each for at, each in enumerate(answers.conditions) if at not in used]
    names = sum(len(each.names) for each in unused)
    page = report(snapshot, tmp_path / "few.html").file.read_text()
    assert names > 100 and f"<summary>{names:,} names that no user can use on any object</summary>" in page
    rows = [row for row in Read(page).rows["by-name"] if row]
    assert len(rows) == len(used) and all(row[6] != "0" for row in rows)
    listed = re.sub("<wbr>", "", page.partition("</summary><p>")[2].partition("</p>")[0])
    assert listed.split(", ") == [f"{name} on {each.type}" for each in unused for name in each.names]


def test_tables_that_are_cut_say_how_many_rows_there_are(folder: Path, made: Oracle, tmp_path: Path) -> None:
    file = tmp_path / "cut.html"
    report(folder, file, top=3)
    text = file.read_text()
    assert f"3 of {len(people(made)):,} rows, the widest" in text
    assert max(len([row for row in rows if row]) for rows in Read(text).rows.values()) == 3
    assert file.stat().st_size < 70_000


def test_each_table_has_its_rows_as_csv(page: str, contents: Contents) -> None:
    links = re.findall(r'<a class="csv" href="data:text/csv;charset=utf-8,([^"]*)" download="([a-z-]+)\.csv"', page)
    found = {key: list(csv.reader(io.StringIO(unquote(text), newline=""))) for text, key in links}
    shown = Read(page).rows
    assert {*found} == {*shown, "grants", "owned-objects"} and len(links) == len(found) > 9
    for key, rows in shown.items():
        assert len(found[key]) == len(rows) > 1
        # the references themselves, where the page shows control characters as escapes
        assert [printable(row[0]) for row in found[key][1:]] == [row[0].strip() for row in rows if row], key
    table = contents.widest()
    assert found["widest-users"] == [
        [column.title for column in table.columns],
        *([str(cell) for cell in row] for row in table.rows[:100]),
    ]
    assert found["grants"][0] == ["ALLOW and DENY grants", "Count"]
    assert sum(int(row[1]) for row in found["grants"][1:]) == contents.idle.grants


def test_cells_that_a_spreadsheet_would_run_are_texts_in_csv() -> None:
    rows: list[list[str | float | None]] = [["=1+1", -1], ["@x", 0.5], ["user:=1", None]]
    table = Table("key", "label", [Column("Name"), Column("+")], rows, 3, "")
    assert table.csv == "Name,'+\n'=1+1,-1\n'@x,0.5\nuser:=1,\n"


def test_page_names_what_it_leaves_out(page: str) -> None:
    left_out = page.partition('id="left-out"')[2]
    assert "Operations that need a second object have no bulk answers: " in left_out
    assert "Changes after revision 5." in left_out


def test_page_shows_shares_and_counts_in_few_characters() -> None:
    assert [*map(percent, (0, 0.0001, 0.123, 0.99999, 1))] == ["0%", "<0.1%", "12.3%", ">99.9%", "100%"]
    assert [*map(short, (0, 9_999, 10_000, 65_536, 1_048_576))] == ["0", "9999", "10k", "65.5k", "1.05M"]
    borders = [9_999.5, 99_949, 999_499, 999_500, 999_600, 999_499_999, 999_500_000, 999_999_999]
    assert [*map(short, borders)] == ["10k", "99.9k", "999k", "1M", "1M", "999M", "1G", "1G"]
    assert max(len(short(10**power - less)) for power in range(15) for less in (0, 1)) <= 5


@pytest.mark.parametrize(
    ("most", "marks"),
    [(0, [0, 1]), (1, [0, 1]), (7, [0, 2, 4, 6, 8]), (227, [0, 50, 100, 150, 200, 250]), (10**6, [0, 200_000, 10**6])],
)
def test_axes_begin_at_zero_and_have_round_steps(most: int, marks: list[int]) -> None:
    found = ticks(most)
    assert [found[0], found[1], found[-1]] == [marks[0], marks[1], marks[-1]]
    assert {after - before for before, after in pairwise(found)} == {marks[1]}


# ---- the command -------------------------------------------------------------------------------------------------
def test_command_writes_a_private_file_beside_the_snapshot(folder: Path) -> None:
    answer = json.loads(printed("report", str(folder), "--json"))
    file = Path(f"{folder}.html")
    assert (answer["file"], answer["bytes"]) == (str(file), file.stat().st_size)
    assert (answer["revision"], answer["users"]) == (5, np.count_nonzero(condition_answers(Snapshot(folder)).users))
    assert file.stat().st_mode & 0o777 == 0o600
    with pytest.raises(InvalidInput, match=r"snapshot.html already exists; name a new file, or remove it"):
        report(folder, file)
    assert main.main(["report", str(folder)]) == 2


def test_snapshot_without_bulk_answers_is_refused_with_the_remedy(made: Oracle, tmp_path: Path) -> None:
    mirrored = write_snapshot(made, tmp_path / "mirrored")
    with pytest.raises(InvalidInput, match=rf"no bulk answers yet; run `grantpath access {mirrored}` first"):
        report(mirrored, tmp_path / "report.html")
    assert [*tmp_path.glob("*.html*"), *tmp_path.glob(".*")] == []


@pytest.mark.parametrize(("table", "column", "value"), [("reach", "subject", -2), ("exposure", "position", 9_999)])
def test_bulk_answers_with_invalid_positions_are_refused(
    made: Oracle, tmp_path: Path, table: str, column: str, value: int
) -> None:
    damaged = write_access(write_snapshot(made, tmp_path / "damaged"), ["load_table"])
    file = damaged / "access" / table / "part-00000.parquet"
    rows = pq.read_table(file)
    at = rows.column_names.index(column)
    pq.write_table(rows.set_column(at, column, pa.array([value] * len(rows))), file)
    with pytest.raises(InvalidInput, match=r"a row has an invalid position or count; run `grantpath access"):
        report(damaged, tmp_path / "report.html")


@pytest.mark.parametrize("name", ["absent/report.html", "file/report.html", f"{'x' * 300}report.html"])
def test_file_that_cannot_be_written_is_named(folder: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(GrantpathError, match=r"report.html cannot be written \(.*\); name another file with --out"):
        report(folder, tmp_path / name)


def test_report_without_users_or_objects_is_a_page(tmp_path: Path) -> None:
    empty = write_access(write_snapshot(oracle("cdap", ROOT_NAME), tmp_path / "empty"))
    found = report(empty, tmp_path / "empty.html")
    assert (found.users, found.grants) == (0, 0)
    assert '<p class="none">None.</p>' in (tmp_path / "empty.html").read_text()
