"""`grantpath report`: its figures agree with the oracle, and the page needs and allows no network."""

import json
import random
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from grantpath.engine.cli import main
from grantpath.graph.errors import GrantpathError, InvalidInput
from grantpath.spark_sync.bulk.condition_answers import condition_answers
from grantpath.spark_sync.reporting.report_figures import Figures
from grantpath.spark_sync.reporting.report_markup import bar, element, percent
from grantpath.spark_sync.reporting.report_page import report
from grantpath.spark_sync.reporting.report_plots import short
from grantpath.spark_sync.session.snapshot import Snapshot

from ..oracle import Oracle, oracle
from ..support.browser_desk import printed
from ..support.plain_access import write_access, write_snapshot
from ..support.random_world import ROOT_NAME, random_world

HOSTILE = ["user:`<script>alert(1)</script>`", "user:`a\u202egpj.exe`", 'user:`" onload="alert(2)`', "user:`&amp;`"]


@pytest.fixture(scope="module")
def made() -> Oracle:
    made = oracle("gravitino", ROOT_NAME)
    more = [f"add {ref}" for ref in HOSTILE]
    more += [f"member {ref} of group:wide" for ref in HOSTILE]
    more += ["add role:wide", "member group:wide of role:wide"]
    more += [f"allow {name} on metalake:main to role:wide" for name in ("USE_CATALOG", "USE_SCHEMA", "SELECT_TABLE")]
    for fact in [*random_world("gravitino", random.Random(3), 120), "add group:wide", *more]:
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
    assert bars.users[1] == figures.user_count - len(mine) + int((mine == 1).sum())


# ---- the page ----------------------------------------------------------------------------------------------------
def test_page_has_no_address_and_forbids_requests(page: str) -> None:
    assert not re.findall(r"https?:|//\w|url\(|@import|\bsrc=|<link|<img|<iframe|<form|\bon\w+=\"|\bstyle=", page)
    [rules] = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert rules.startswith("default-src &#x27;none&#x27;; style-src &#x27;sha256-") and "unsafe" not in rules
    assert (page.count("<script>"), page.count("<style>")) == (1, 1)


def test_hostile_names_stay_text(page: str) -> None:
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page and "<script>alert" not in page
    assert "\u202e" not in page and "a\\u202egpj.exe" in page
    assert "&quot; onload=&quot;alert(2)" in page and "&amp;amp;" in page


def test_tables_that_are_cut_say_how_many_rows_there_are(folder: Path, made: Oracle, tmp_path: Path) -> None:
    file = tmp_path / "cut.html"
    report(folder, file, top=3)
    text = file.read_text()
    assert f"3 of {len(people(made)):,} rows, the widest" in text
    assert max(part.count("<tr>") for part in text.split("<table>")) == 1 + 3
    assert file.stat().st_size < 60_000


def test_page_names_what_it_leaves_out(page: str) -> None:
    left_out = page.partition('id="left-out"')[2]
    assert "Operations that need a second object have no bulk answers: " in left_out
    assert "Changes after revision 5." in left_out


def test_page_shows_shares_and_counts_in_few_characters() -> None:
    assert [*map(percent, (0, 0.0001, 0.123, 0.99999, 1))] == ["0%", "<0.1%", "12.3%", ">99.9%", "100%"]
    assert [*map(short, (0, 9_999, 10_000, 65_536, 1_048_576))] == ["0", "9999", "10k", "65.5k", "1.05M"]
    widths = [re.findall(r'width="([^"]*)"', str(bar(share).content))[1] for share in (0.0, 0.001, 0.5)]
    assert widths == ["0", "0.8", "50.0"]
    assert element("p", "<&>", element("b", 1), title='"') == '<p title="&quot;">&lt;&amp;&gt;<b>1</b></p>'


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


def test_file_that_cannot_be_written_is_named(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(GrantpathError, match=r"report.html cannot be written \(.*\); name another file with --out"):
        report(folder, tmp_path / "absent" / "report.html")


def test_report_without_users_or_objects_is_a_page(tmp_path: Path) -> None:
    empty = write_access(write_snapshot(oracle("cdap", ROOT_NAME), tmp_path / "empty"))
    found = report(empty, tmp_path / "empty.html")
    assert (found.users, found.grants) == (0, 0)
    assert '<p class="none">None.</p>' in (tmp_path / "empty.html").read_text()
