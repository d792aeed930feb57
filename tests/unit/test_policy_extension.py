"""Policies that extend another one."""

import re
from pathlib import Path

import pytest

from grantpath.engine.policy.clauses import ALWAYS, NEVER
from grantpath.engine.policy.policy import load
from grantpath.graph.errors import Invalid, InvalidPolicy, UnknownName

# ---- extending


def test_extending_policy_adds_replaces_and_removes_entries(tmp_path: Path) -> None:
    path = tmp_path / "ours.yaml"
    path.write_text(
        "policy: ours\nextends: github\n"
        "types:\n  issue: {in: repository}\n"
        "privileges:\n  TRIAGE: {on: 'org, repository, issue'}\n  READ: {on: 'org, repository, issue'}\n"
        "ladders:\n  - READ, TRIAGE, WRITE\n  - WRITE, MAINTAIN, ADMIN\n"
        "operations:\n  issue: {close: TRIAGE}\n  repository: {push: null, clone: everyone}\n"
    )
    policy = load(str(path))
    assert "issue" in policy.file.types
    assert policy.question("clone", "repository").clauses == ALWAYS
    assert len(policy.question("close", "issue").clauses) == 1
    with pytest.raises(UnknownName):
        policy.question("push", "repository")
    assert load("github").question("push", "repository").clauses != NEVER


def test_removing_an_entry_that_is_still_used_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ours.yaml"
    path.write_text("policy: ours\nextends: github\nprivileges:\n  MAINTAIN: null\n")
    with pytest.raises(InvalidPolicy, match="the privilege 'MAINTAIN' is unknown"):
        load(str(path))


def test_single_entry_of_a_group_is_replaced_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "ours.yaml"
    path.write_text(
        "policy: ours\nextends: lakehouse\n"
        "operations:\n"
        "  catalog: {drop_catalog: owner(metalake), get_credential: null}\n"
        "  table, topic: {get_owner: never}\n"
        "changes:\n  grant: {tag: never}\n"
    )
    ours, base = load(str(path)), load("lakehouse")
    assert len(ours.question("drop_catalog", "catalog").clauses[0][0]) == 1
    for name, type_ in [("alter_catalog", "catalog"), ("get_credential", "table"), ("get_owner", "catalog")]:
        assert ours.question(name, type_).clauses == base.question(name, type_).clauses
    assert ours.question("get_owner", "topic").clauses == NEVER
    with pytest.raises(Invalid):
        ours.question("get_credential", "catalog")
    assert ours.change("grant", "tag", "role", frozenset()) == NEVER
    assert ours.change("grant", "table", "role", frozenset()) != NEVER


def test_single_type_of_a_definition_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "ours.yaml"
    path.write_text(
        "policy: ours\nextends: unity_catalog\ndefine:\n  reach: {table: never, view: null}\n"
        "operations:\n  view: null\n"
    )
    ours, base = load(str(path)), load("unity_catalog")
    assert isinstance(ours.file.define["reach"], dict) and isinstance(base.file.define["reach"], dict)
    assert ours.file.define["reach"]["table"] == "never"


def test_errors_in_the_base_name_its_file_and_line(tmp_path: Path) -> None:
    base, path = tmp_path / "base.yaml", tmp_path / "ours.yaml"
    text = "policy: base\ntypes:\n  org: {}\n  a: {in: org}\n  b: {in: org}\n  user: {in: org, kind: user}\n"
    text += "grants: {to: user}\n"
    text += "privileges:\n  READ: {on: 'a, b'}\n  WRITE: {on: a}\noperations:\n  a, b:\n    open: READ\n"
    for own, wrong, place in (
        ("privileges: {WRITE: null}", text.replace("WRITE: {on: a}", "WRITE: {on: a, foo: 1}"), None),
        ("title: ours", text.replace("{on: a}", "{on: a, foo: 1}"), f"{base}:10: privileges.WRITE.foo"),
        ("privileges: {READ: null}", text, f"{base}:13: operations."),
        ("operations: {b: {shut: SHUT}}", text, f"{path}:3: operations."),
    ):
        base.write_text(wrong)
        path.write_text(f"policy: ours\nextends: ./base.yaml\n{own}\n")
        if place is None:
            load(str(path))
        else:
            with pytest.raises(InvalidPolicy, match=f"^{re.escape(place)}"):
                load(str(path))


def test_errors_name_the_file_of_the_entry_that_they_are_about(tmp_path: Path) -> None:
    types = "types: {org: {}, a: {in: org}, user: {in: org, kind: user}}\ngrants: {to: user}\noperations: {}\n"
    replaced = ("privileges:\n  READ:\n    on: a\n    implies:\n    - WRITE\n", "privileges: {READ: {implies: [NO]}}\n")
    inherited = ("privileges:\n  READ: {on: a, foo: 1}\n", "privileges: {READ: {inherit: true}}\n")
    for files, place in (
        ([replaced[0], replaced[1]], "1.yaml:3: privileges.READ"),
        ([replaced[0], "title: middle\n", replaced[1]], "2.yaml:3: privileges.READ"),
        ([replaced[0], replaced[1], inherited[1]], "1.yaml:3: privileges.READ"),
        ([inherited[0], inherited[1]], "0.yaml:6: privileges.READ.foo"),
        ([inherited[0], "title: middle\n", inherited[1]], "0.yaml:6: privileges.READ.foo"),
        ([*inherited, inherited[1]], "0.yaml:6: privileges.READ.foo"),
    ):
        for at, text in enumerate(files):
            extends = f"extends: ./{at - 1}.yaml\n" if at else types
            (tmp_path / f"{at}.yaml").write_text(f"policy: p{at}\n{extends}{text}")
        with pytest.raises(InvalidPolicy) as caught:
            load(str(tmp_path / f"{len(files) - 1}.yaml"))
        assert str(caught.value).startswith(f"{tmp_path}/{place}"), (files, str(caught.value))


def test_whole_section_of_the_base_can_be_removed(tmp_path: Path) -> None:
    path = tmp_path / "ours.yaml"
    path.write_text("policy: ours\nextends: github\nladders: null\ncreating: null\n")
    assert load(str(path)).file.ladders == []


@pytest.mark.parametrize(
    ("text", "where", "reason"),
    [
        ("operations:\n  repository:\n    pull: null\n", "5: operations.repository.pull", "no such entry to remove"),
        ("operations:\n  org, repository:\n    fork: REED\n", "5: operations.repository.fork", "did you mean READ"),
        ("changes:\n  grant:\n    org, repository: REED\n", "5: changes.grant.org", "did you mean READ"),
        (
            "privileges:\n  READ:\n    implies: WRITE\n",
            "4: privileges.READ",
            "READ implies WRITE, which implies TRIAGE, which",
        ),
    ],
)
def test_extending_policy_is_validated_as_a_whole(text: str, where: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "ours.yaml"
    path.write_text(f"policy: ours\nextends: github\n{text}")
    with pytest.raises(InvalidPolicy) as caught:
        load(str(path))
    assert str(caught.value).startswith(f"{path}:{where}: ")
    assert reason in str(caught.value)


def test_policies_that_extend_each_other_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("policy: a\nextends: b.yaml\n")
    (tmp_path / "b.yaml").write_text("policy: b\nextends: a.yaml\n")
    with pytest.raises(InvalidPolicy, match="break the cycle"):
        load(str(tmp_path / "a.yaml"))
