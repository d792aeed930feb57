"""An answer of "no" or "nothing" about a name that does not exist says so, with names that are similar."""

from collections.abc import Iterator

import pytest

from grantpath.graph.guard.store import Store

from ...support import named_roots
from ...support.command_line import Run, run

__all__ = ["run"]
STAFF = "table:hr.public.staff"


@pytest.fixture(scope="module")
def root(store: Store) -> Iterator[str]:
    with named_roots.company(store, "absent") as name:
        yield name


@pytest.mark.parametrize(
    ("words", "code", "named"),
    [
        (["check", "user:bop", "load_table", STAFF], 1, "user:bop"),
        (["which", "table", "user:bop", "load_table"], 0, "user:bop"),
        (["since", "user:bop", "load_table", STAFF], 1, "user:bop"),
        (["revocation", "user:bop", "load_table", STAFF], 0, "user:bop"),
        (["log", "--subject", "user:bop"], 0, "user:bop"),
        (["question", "what_a_leaving_user_leaves", "subject=user:bop"], 0, "user:bop"),
        (["question", "who_is_in_a_group", "group=role:analist"], 0, "role:analist"),
        (["question", "what_is_granted_on_an_object", "object=table:hr.public.staf"], 0, "table:hr.public.staf"),
    ],
)
def test_absent_name_is_named_with_similar_ones(run: Run, root: str, words: list[str], code: int, named: str) -> None:
    ran = run(*words, "--root", root)
    assert ran.code == code, ran.err
    similar = {"user:bop": "user:bob", "role:analist": "role:analyst"}.get(named, STAFF)
    assert f"{named} does not exist in {root} (did you mean {similar}?)" in ran.err


@pytest.mark.parametrize(
    ("words", "similar"),
    [
        (["objects_without_an_owner", "type=tabel"], "did you mean table"),
        (["who_holds_a_privilege", "privilege=SELECTTABLE", f"object={STAFF}"], "did you mean SELECT_TABLE"),
        (["what_an_operation_needs", "operation=load_tabel", "type="], "did you mean load_table"),
    ],
)
def test_questions_refuse_unknown_names_of_the_policy(run: Run, root: str, words: list[str], similar: str) -> None:
    ran = run("question", *words, "--root", root)
    assert (ran.code, ran.out) == (2, "")
    assert similar in ran.err


def test_existing_names_and_other_forms_have_no_note(run: Run, root: str) -> None:
    for words in (
        ["which", "catalog", "user:bob", "drop_catalog"],
        ["check", "user:bob", "drop_catalog", "catalog:hr"],
        ["question", "everything_a_user_owns", "subject=user:bob"],
    ):
        ran = run(*words, "--root", root)
        assert (ran.code, "does not exist in" in ran.err) == (1 if words[0] == "check" else 0, False), ran.err
    for words in (["which", "table", "user:bop", "load_table"], ["since", "user:bop", "load_table", STAFF]):
        assert "did you mean" not in run(*words, "--root", root, "--quiet").err
        told = run(*words, "--root", root, "--json")
        assert told.err == "" and told.json
    empty = ["question", "who_could_grant_themselves", "privilege=SELECT_TABLE", f"object={STAFF}"]
    assert run(*empty, "grant_with=MANAGE_GRANTS", "join_with=", "tag_with=", "--root", root).code == 0
