"""Policy files: the mistakes that the loader and the editor schema refuse, and their messages."""

from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from grantpath.engine.policy.policy import load
from grantpath.engine.policy.schema import BUILT_IN, json_schema
from grantpath.engine.policy.yaml_reader import parse_documents, read_documents
from grantpath.graph.errors import InvalidPolicy

from ..docs.policy_pages import SCHEMA, schema_text
from ..support.bad_policies import BAD, GOOD, refused
from .test_builtin_policies import BUILT_IN_NAMES


@pytest.mark.parametrize("name", BUILT_IN_NAMES)
def test_editor_schema_accepts_every_policy(name: str) -> None:
    schema = json_schema()
    data = read_documents(BUILT_IN / f"{name}.yaml")[0].data
    assert Draft202012Validator(schema).is_valid(data)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("grants: {to:", "grants: {two: 2, to:"),
        ('grants: {to: "user, group"}\n', ""),
        ("kind: group", "kind: team"),
        ("list: READ", "list: 5"),
        ("list: READ", "list: {with: {to: folder}}"),
        ("list: READ", "list: {if: READ, with: {to: 5}}"),
        ("policy: mine", "policy: My Policy"),
    ],
)
def test_editor_schema_rejects_mistakes(old: str, new: str) -> None:
    schema = json_schema()
    Draft202012Validator.check_schema(schema)
    is_valid = Draft202012Validator(schema).is_valid
    assert is_valid(parse_documents(GOOD, "good")[0].data)
    assert not is_valid(parse_documents(GOOD.replace(old, new), "bad")[0].data)


def test_shipped_editor_schema_is_current() -> None:
    assert SCHEMA.read_text() == schema_text(), "bring it up to date: python -m tests.docs.policy_pages"


@pytest.mark.parametrize("case", BAD)
def test_bad_policy_is_refused_with_file_line_key_and_remedy(case: str, tmp_path: Path) -> None:
    old, new, line, key, remedy = BAD[case]
    assert GOOD.count(old) == 1
    path, text = refused(GOOD.replace(old, new), tmp_path)
    assert text.startswith(f"{path}:{line}: {key}: ")
    assert remedy in text


def test_policy_from_which_the_bad_ones_are_made_is_accepted(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(GOOD)
    policy = load(str(tmp_path / "mine.yaml"))
    assert policy.names_on("file") == ["READ", "WRITE", "ADMIN", "open", "move"]


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("policy: mine\npolicy: yours\n", 2, "duplicate key 'policy'; keep one"),
        ("policy: &here mine\ntitle: *here\n", 1, "anchors and aliases are not allowed; write the value out"),
        ("policy: [mine\n", 2, "not YAML"),
        ("", None, "holds one YAML mapping"),
        ("policy: mine\n---\npolicy: yours\n", None, "holds one YAML mapping"),
        ("policy: mine\nextends: nothing\n", None, "the policy 'nothing' is unknown"),
    ],
)
def test_file_that_is_not_a_policy_is_refused(text: str, line: int | None, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(InvalidPolicy) as caught:
        load(str(path))
    assert reason in str(caught.value)
    assert line is None or str(caught.value).startswith(f"{path}:{line}: ")
