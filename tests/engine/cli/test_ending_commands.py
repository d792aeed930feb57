"""What the commands print about facts that end: ending, expire, and the lists that show ends."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from grantpath import cypher
from grantpath.graph.guard.store import Store
from grantpath.graph.language.ends import seconds_of

from ...support import named_roots
from ...support.command_line import Ran, Run, run

__all__ = ["run"]
GRANT, MEMBER = "allow USE_CATALOG on catalog:hr to role:analyst", "member user:ann of role:analyst"
EARLY, LATE = "2100-01-01T00:00:00Z", "2100-01-02T00:00:00Z"


@pytest.fixture(scope="module")
def root(store: Store) -> Iterator[str]:
    with named_roots.company(store, "ending") as name:
        yield name


@pytest.fixture(autouse=True)
def facts(run: Run, root: str) -> None:
    """A membership and a grant that end."""
    assert run("change", f"{GRANT} until {LATE}", "--root", root).code == 0
    assert run("change", f"{MEMBER} until {EARLY}", "--root", root).code == 0


def test_ending_lists_what_ends_and_says_if_the_list_is_cut(run: Run, root: str) -> None:
    whole = run("ending", "--root", root)
    assert whole.out.splitlines() == [
        f"{'until':<20}  statement",
        f"{EARLY}  {MEMBER} until {EARLY}",
        f"{LATE}  {GRANT} until {LATE}",
    ]
    assert whole.err == ""
    cut = run("ending", "--limit", "1", "--root", root)
    assert cut.out.splitlines() == whole.out.splitlines()[:2]
    assert cut.err == "only the first 1; --within TIME lists fewer, and --limit up to 10,000\n"
    nothing = run("ending", "--within", "30d", "--root", root)
    assert (nothing.out, nothing.err) == ("", "nothing ends within 30d\n")
    rows = run("ending", "--format", "csv", "--root", root).out.splitlines()
    assert rows[0].startswith("until,") and rows[1].startswith(f"{EARLY},")


@pytest.mark.parametrize(
    ("within", "says"),
    [
        ("30", "is not a time; write a number and s, m, h, d or w, such as 30d"),
        ("9999999999d", "is too long; write at most 9 digits, or omit it to list all"),
    ],
)
def test_wrong_duration_is_an_error(run: Run, root: str, within: str, says: str) -> None:
    assert run("ending", "--within", within, "--root", root) == Ran(2, "", f"error: --within {within} {says}\n")


def test_lists_show_ends(run: Run, root: str) -> None:
    assert run("members", "role:analyst", "--root", root).out.splitlines() == [
        "member    through  until",
        f"user:ann           {EARLY}",
        "user:bob",
    ]
    assert run("memberships", "user:bob", "--root", root).out.splitlines() == [
        "belongs to    through",
        "role:analyst",
    ]
    shown = run("show", "role:analyst", "--root", root).out
    assert f"members    user:ann until {EARLY}\n" in shown
    assert f"{GRANT} until {LATE}\n" in shown
    assert f"belongs to role:analyst until {EARLY}\n" in run("show", "user:ann", "--root", root).out


def test_expire_says_that_nothing_is_left(run: Run, root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cypher, "now", seconds_of(EARLY))
    done = run("expire", "--root", root)
    assert done.out.startswith("done, no fact is left that has ended; revision ")
    assert "user:ann" not in run("members", "role:analyst", "--root", root).out


def test_expire_serves_all_roots(run: Run, root: str, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    with named_roots.company(store, "ending-too") as other:
        assert run("change", f"{MEMBER} until {EARLY}", "--root", other).code == 0
        monkeypatch.setattr(cypher, "now", seconds_of(EARLY))
        done = run("expire", "--all")
        assert done.out.startswith("done, no fact is left that has ended, in ") and done.out.endswith(" roots\n")
        assert {root, other} <= {*run("expire", "--all", "--json").json["roots"]}
        for each in (root, other):
            assert run("log", "--limit", "1", "--root", each).out.endswith(f"ended: {MEMBER} until {EARLY}\n")
    refused = run("expire", "--all", "--root", root)
    assert refused.code == 2 and "--root has no effect on expire --all; omit it" in refused.err


def test_load_reports_rows_whose_end_is_past(run: Run, root: str, tmp_path: Path) -> None:
    (tmp_path / "members.csv").write_text("member,of,until\nuser:ann,role:analyst,2001-01-01T00:00:00Z\n")
    past = "member user:ann of role:analyst until 2001-01-01T00:00:00Z"
    assert run("load", str(tmp_path), "--root", root, "--json").json["past"] == [past]
    assert f"1 row not loaded, whose end is past: {past}" in run("load", str(tmp_path), "--root", root).out
