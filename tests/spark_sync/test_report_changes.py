"""`grantpath report --since`: what changed since an older snapshot agrees with the oracle, and wrong snapshots are
refused."""

import json
import random
import re
from collections.abc import Callable, Mapping
from hashlib import sha256
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from grantpath.graph.errors import InvalidInput
from grantpath.spark_sync.bulk.difference import diff
from grantpath.spark_sync.reporting.report_changes import Changes, comparison
from grantpath.spark_sync.reporting.report_page import report
from grantpath.spark_sync.reporting.report_tables import Table, Value
from grantpath.spark_sync.session.snapshot import Snapshot

from ..oracle import Oracle, oracle
from ..support.browser_desk import printed
from ..support.plain_access import write_access, write_snapshot
from ..support.random_world import ROOT_NAME, random_world
from .test_report import contents_of

NAMES = ["load_table", "SELECT_TABLE", "USE_CATALOG", "drop_catalog", "remove_user", "get_role", "create_catalog"]
READS = ("USE_CATALOG", "USE_SCHEMA", "SELECT_TABLE")
BEFORE = [
    *(f"add user:{who}" for who in ("ann", "bob", "lee", "kim", "leaver")),
    "add role:closed",
    *(f"member user:{who} of role:closed" for who in ("ann", "bob", "lee", "leaver")),
    *(f"allow {name} on metalake:main to role:closed" for name in READS),
    *(f"add tag:{tag}" for tag in ("pii", "old", "kept")),
    "add catalog:tagged",
    *(f"tag catalog:tagged with tag:{tag}" for tag in ("old", "kept")),
]
AFTER = [
    "drop role:closed",
    "drop user:leaver",
    "add user:newcomer",
    "add group:fresh",
    *(f"member user:{who} of group:fresh" for who in ("newcomer", "ann", "kim")),
    "add role:fresh",
    "member group:fresh of role:fresh",
    *(f"allow {name} on metalake:main to role:fresh" for name in ("MODIFY_TABLE", "USE_CATALOG", "USE_SCHEMA")),
    "add catalog:`new one`",
    "owner user:newcomer of catalog:`new one`",
    "add schema:`new one`.s",
    "add table:`new one`.s.t",
    "owner user:lee of metalake:main",
    "untag catalog:tagged from tag:old",
    *(f"tag {on} with tag:pii" for on in ("table:`new one`.s.t", "catalog:tagged")),
]


@pytest.fixture(scope="module")
def states() -> tuple[Oracle, Oracle]:
    """The facts before and after."""
    before = oracle("gravitino", ROOT_NAME)
    for fact in random_world("gravitino", random.Random(7), 120, tags=False):
        before.given(fact)
    for fact in BEFORE:
        assert before.given(fact) == "done", fact
    after = before.clone()
    for fact in [*AFTER, f"drop {after.objects('table')[0]}"]:
        assert after.given(fact) == "done", fact
    return before, after


@pytest.fixture(scope="module")
def folders(states: tuple[Oracle, Oracle], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A snapshot without bulk answers at revision 5, and one with them at revision 9."""
    folder = tmp_path_factory.mktemp("since")
    before, after = states
    return write_snapshot(before, folder / "old"), write_access(write_snapshot(after, folder / "new", 9), NAMES)


@pytest.fixture(scope="module")
def changes(folders: tuple[Path, Path]) -> Changes:
    contents = contents_of(folders[1])
    return Changes(contents, comparison(Snapshot(folders[0]), contents.source))


@pytest.mark.parametrize("gained", [True, False])
def test_gained_and_lost_access_agrees_with_the_oracle(
    states: tuple[Oracle, Oracle], changes: Changes, gained: bool
) -> None:
    was, now = states if gained else (states[1], states[0])  # what was lost is gained on the way back
    people = {str(each) for made in states for each in made.existing if each.type in made.people}
    by_user: dict[str, dict[str, set[str]]] = {}  # by user and name: the objects
    by_object: dict[str, dict[str, set[str]]] = {}
    for each in changes.contents.answers.conditions:
        label = f"{each.names[0]} on {each.type}"
        for who in people:
            for ref in now.which(each.type, who, each.names[0]) - was.which(each.type, who, each.names[0]):
                by_user.setdefault(who, {}).setdefault(label, set()).add(ref)
                by_object.setdefault(ref, {}).setdefault(label, set()).add(who)
    new = {str(each) for each in now.existing - was.existing}
    for table, expected in ((changes.users(gained), by_user), (changes.objects(gained), by_object)):
        assert {str(row[0]) for row in table.rows} == {*expected} and table.total == len(expected) > 3
        for entity, is_new, many, names, which, total in table.rows:
            mine = expected[str(entity)]
            assert total == sum(map(len, mine.values())) and is_new == ("yes" if str(entity) in new else None)
            assert many == most_about_data(mine, changes.contents.figures.less), entity
            first = str(names).partition(",")[0].partition(" ")[0]
            named = next(those for label, those in mine.items() if label.startswith(f"{first} ") and len(those) == many)
            first_three, _, more = str(which).partition(" and ")
            assert {*first_three.split(", ")} <= named and len(first_three.split(", ")) == min(len(named), 3)
            assert more == (f"{len(named) - 3} more" if len(named) > 3 else "")


def most_about_data(by_name: Mapping[str, set[str]], less: set[str]) -> int:
    """The most objects, or users, of a name; names on other types than data count only if there are no others."""
    counts = [(label.rpartition(" ")[2] not in less, len(those)) for label, those in by_name.items()]
    return max(counts)[1]


def test_widest_gain_comes_first(changes: Changes) -> None:
    for table in (changes.users(True), changes.objects(True), changes.users(False), changes.objects(False)):
        data = [row for row in table.rows if not type_of(table, row) & changes.contents.figures.less]
        assert data == table.rows[: len(data)]
        assert [row[2] for row in data] == sorted((row[2] for row in data), reverse=True, key=lambda n: int(str(n)))


def type_of(table: Table, row: Any) -> set[str]:
    """The type of the objects of a row."""
    text = str(row[3]).rpartition(" ")[2] if table.key.startswith("users") else str(row[0]).partition(":")[0]
    return {text}


def test_facts_are_those_of_diff_with_the_users_of_their_subjects(
    states: tuple[Oracle, Oracle], folders: tuple[Path, Path], changes: Changes
) -> None:
    found = diff(*folders)
    shown = [(str(row[1]), statement(row)) for row in changes.grants().rows]
    shown += [(str(row[1]), f"member {row[0]} of {row[2]}") for row in changes.members().rows]
    shown += [(str(row[1]), f"tag {row[0]} with {row[2]}") for row in changes.tags().rows]
    for word, facts in (("new", found.facts_added), ("removed", found.facts_removed)):
        expected = sorted(fact for fact in facts if not fact.startswith("owner "))
        assert sorted(text for change, text in shown if change == word) == expected and len(expected) > 1
    owners = [f"owner {row[2]} of {row[0]}" for row in changes.owners().rows if row[2]]
    assert sorted(owners) == [fact for fact in found.facts_added if fact.startswith("owner ")]
    entities = {(str(row[1]), str(row[0])) for row in changes.entities().rows}
    assert entities == {*(("new", ref) for ref in found.added), *(("dropped", ref) for ref in found.dropped)}
    counted = {part.label: part.count for part in changes.totals()}
    assert (counted["new tags"], counted["removed tags"]) == (2, 1)
    assert counted["new grants"] == 3 and counted["new entities"] == len(found.added)
    for table, subject in ((changes.grants(), 3), (changes.members(), 0)):
        numbers = [int(str(row[-1])) for row in table.rows]
        assert numbers == sorted(numbers, reverse=True)
        for row in table.rows:
            made = states[1] if row[1] == "new" else states[0]
            assert row[-1] == users_of(made, str(row[subject])), row


def statement(row: Any) -> str:
    effect, privilege = str(row[0]).split(" ")
    return f"{effect.lower()} {privilege} on {row[2]} to {row[3]}"


def users_of(made: Oracle, subject: str) -> int:
    """The number of users that are the subject, or belong to it."""
    count = 0
    for who in made.existing:
        if who.type in made.people:
            reached, left = {who}, [who]
            while left:
                more = {*made.containers.get(left.pop(), ())} - reached
                reached |= more
                left += more
            count += made.resolve(subject) in reached
    return count


# ---- the page ----------------------------------------------------------------------------------------------------
def section(page: str) -> str:
    """The text of the section about changes."""
    inside = page.partition('<section class="section" id="since">')[2].partition("</section>")[0]
    return re.sub(r"\s+", " ", unescape(re.sub("<[^>]*>", "", inside)))


def test_page_begins_with_what_changed(folders: tuple[Path, Path], changes: Changes, tmp_path: Path) -> None:
    answer = json.loads(
        printed("report", str(folders[1]), "--since", str(folders[0]), "--out", f"{tmp_path}/a.html", "--json")
    )
    gained, lost = changes.gained.users.entities, changes.lost.users.entities
    assert (answer["since"], answer["gained"], answer["lost"]) == (5, gained, lost)
    page = (tmp_path / "a.html").read_text()
    assert re.findall(r'<section class="section" id="([a-z]+)"', page)[:3] == ["glance", "since", "exposed"]
    assert f"<b>{gained} gained</b> and <b>{lost} lost</b> access" in page
    text = section(page)
    assert text.startswith(" Changes since revision 5 From revision 5, mirrored 20") and "to revision 9" in text
    lines = printed("report", str(folders[1]), "--since", str(folders[0]), "--out", f"{tmp_path}/b.html")
    assert f"users since revision 5: {gained} gained access, {lost} lost access" in lines
    cut = report(folders[1], tmp_path / "cut.html", 2, folders[0]).file.read_text()
    assert f"2 of {gained} rows, the most objects first" in cut


def test_page_without_an_older_snapshot_has_no_such_section(folders: tuple[Path, Path], tmp_path: Path) -> None:
    found = report(folders[1], tmp_path / "alone.html")
    assert (found.since, found.gained, found.lost) == (None, None, None)
    assert 'id="since"' not in found.file.read_text() and "#since" not in found.file.read_text()


def test_same_revision_is_said_with_the_remedy(folders: tuple[Path, Path], tmp_path: Path) -> None:
    text = section(report(folders[1], tmp_path / "same.html", since=folders[1]).file.read_text())
    assert "Both are the same revision: to see changes, give --since a snapshot of an earlier one." in text
    assert "Nothing differs: no user, group, role, object, grant, member, owner or tag." in text


@pytest.fixture
def with_meta(folders: tuple[Path, Path], tmp_path: Path) -> Callable[..., Path]:
    """The older snapshot, with other metadata."""

    def edited(**changed: Value) -> Path:
        other = tmp_path / "other"
        other.mkdir()
        for each in folders[0].iterdir():
            (other / each.name).symlink_to(each)
        (other / "meta.json").unlink()
        meta = json.loads((folders[0] / "meta.json").read_text())
        (other / "meta.json").write_text(json.dumps(meta | changed))
        return other

    return edited


def test_other_version_of_the_policy_compares_facts_only(
    folders: tuple[Path, Path], with_meta: Callable[..., Path], tmp_path: Path
) -> None:
    source = json.loads((folders[0] / "policy.json").read_text())
    del source["operations"]["catalog"]["create_schema"]
    other = with_meta(policy_digest=sha256(json.dumps(source).encode()).hexdigest())
    (other / "policy.json").unlink()  # a link
    (other / "policy.json").write_text(json.dumps(source))
    found = report(folders[1], tmp_path / "policy.html", since=other)
    assert (found.since, found.gained, found.lost) == (5, None, None)
    text = section(found.file.read_text())
    assert "of different versions of the policy gravitino, so only facts are compared" in text
    assert "New and removed grants" in text and "gained access" not in text


@pytest.mark.parametrize(
    ("meta", "message"),
    [
        (
            {"root": "metalake:other"},
            r"other is of metalake:other \(gravitino\), \S*new of metalake:main .*; compare two snapshots of one root "
            r"with one policy: name an older one of metalake:main \(gravitino\) first$",
        ),
        ({"policy": "cdap"}, r"other is of metalake:main \(cdap\), \S*new of metalake:main \(gravitino\); compare two"),
        (
            {"revision": 10},
            r"other \(revision 10, 20.* UTC\) is newer than \S*new \(revision 9, 20.* UTC\); exchange the two: --since "
            "takes the older snapshot",
        ),
    ],
)
def test_wrong_older_snapshot_is_refused_and_nothing_is_written(
    folders: tuple[Path, Path], with_meta: Callable[..., Path], tmp_path: Path, meta: dict[str, Value], message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        report(folders[1], tmp_path / "wrong.html", since=with_meta(**meta))
    assert not [*tmp_path.glob("*.html*")]


def test_root_that_was_created_again_is_compared_by_time(
    folders: tuple[Path, Path], with_meta: Callable[..., Path], tmp_path: Path
) -> None:
    newer = folders[1] / "meta.json"
    kept = newer.read_text()
    newer.write_text(json.dumps(json.loads(kept) | {"made": "second"}))
    try:
        older = with_meta(made="first", revision=20, created="2020-01-01T00:00:00+00:00")
        page = report(folders[1], tmp_path / "again.html", since=older).file.read_text()
        (older / "meta.json").write_text((older / "meta.json").read_text().replace("2020-01", "2999-01"))
        with pytest.raises(InvalidInput, match="is newer than"):
            report(folders[1], tmp_path / "later.html", since=older)
    finally:
        newer.write_text(kept)
    assert "The root was dropped and created again between them, so the revisions count two different histories." in (
        section(page)
    )
