"""Messages about errors in a policy file: the value, the rule, and what to write instead."""

from pathlib import Path

import pytest

from grantpath.engine.policy.policy import load, warnings
from grantpath.graph.errors import Invalid, InvalidPolicy

from ..support.bad_policies import refused

GOOD = """policy: bi
types:
  site: {}
  workspace: {in: site}
  user: {in: site, kind: user}
  group: {in: site, kind: group}
members:
  group: user
grants: {to: "user, group", deny: true}
privileges:
  VIEWER: {on: workspace}
  EDITOR: {on: workspace}
operations:
  workspace:
    view: VIEWER or EDITOR
changes:
  add:
    workspace: everyone
"""
NO_NOT = "`not` is not supported; to exclude subjects, use DENY"
NO_VALUES = "attributes and values cannot be compared; a condition consists of privileges"
MISTAKES = {
    "not": ("VIEWER or EDITOR", "VIEWER and not EDITOR", 15, NO_NOT),
    "an exclamation mark": (
        "VIEWER or EDITOR",
        "VIEWER and !EDITOR",
        15,
        f"'!' at character 12 cannot be read: {NO_NOT}",
    ),
    "OR": ("VIEWER or EDITOR", "VIEWER OR EDITOR", 15, "'OR' is not expected after 'VIEWER'; write `or` between"),
    "bars": ("VIEWER or EDITOR", "VIEWER || EDITOR", 15, "'||' at character 8 cannot be read; write `or`"),
    "ampersands": ("VIEWER or EDITOR", "VIEWER && EDITOR", 15, "'&&' at character 8 cannot be read; write `and`"),
    "an attribute": (
        "VIEWER or EDITOR",
        "\"user.department == 'sales'\"",
        15,
        f"\"== 'sales'\" at character 17 cannot be read: {NO_VALUES}",
    ),
    "a number": ("VIEWER or EDITOR", "user.level > 5", 15, f"'> 5' at character 12 cannot be read: {NO_VALUES}"),
    "a comma": ("VIEWER or EDITOR", '"VIEWER, EDITOR"', 15, "',' is not expected after 'VIEWER'; write `and` or `or`"),
    "an open parenthesis": (
        "VIEWER or EDITOR",
        "(VIEWER or EDITOR",
        15,
        "or EDITOR', where the condition ends; add it",
    ),
    "empty parentheses": (
        "VIEWER or EDITOR",
        "everyone()",
        15,
        "a name is expected after 'everyone (', not ')'; write one, or remove the parentheses",
    ),
    "an at sign": ("VIEWER or EDITOR", "VIEWER@site", 15, "'@site' at character 7 cannot be read; write the place in"),
    "an empty condition": ("VIEWER or EDITOR", "", 15, "the condition is missing; write e.g. view: READ"),
    "yes": (
        "deny: true",
        "deny: yes",
        9,
        "'yes', which is a string in YAML 1.2, is not valid here; write",
    ),
    "another kind": ("kind: group", "kind: team", 6, "'team' is not valid here; write object, user,"),
    "a name in capitals": (
        "policy: bi",
        "policy: BI-Tool",
        1,
        "write the name in lower_snake_case: a letter from a to z",
    ),
    "a tab": (
        "  VIEWER: {on",
        "\tVIEWER: {on",
        11,
        "not YAML: tabs are not allowed in indentation; indent with spaces",
    ),
    "the singular": ("privileges:\n", "privilege:\n", 10, "privilege: unknown key; did you mean privileges?"),
    "another word": (
        "  add:\n",
        "  create:\n",
        17,
        "changes.create: unknown key; the keys are add, drop, member, remove,",
    ),
    "a condition on the request": (
        "VIEWER: {on: workspace}",
        'VIEWER: {on: workspace, condition: "request.time < 18"}',
        11,
        "privileges.VIEWER.condition: unknown key; conditions on the request are not supported, because a decision "
        "reads the graph only; check the time or the address in the caller; a condition about the graph is written as "
        "`if` or `in_effect`",
    ),
    "a condition of an operation": (
        "view: VIEWER or EDITOR",
        "view: {if: VIEWER or EDITOR, when: office_hours}",
        15,
        "operations.workspace.view.when: unknown key; conditions on the request are not supported",
    ),
    "a mask": (
        "VIEWER: {on: workspace}",
        "VIEWER: {on: workspace, mask: hash}",
        11,
        "privileges.VIEWER.mask: unknown key; masks and row filters are not supported, because a check answers yes or "
        "no; declare an operation such as read_unmasked, and let the query engine mask or filter for whom it is "
        "refused",
    ),
    "row filters": (
        "privileges:\n",
        "row_filters: {workspace: owner}\nprivileges:\n",
        10,
        "row_filters: unknown key; masks and row filters are not supported",
    ),
    "a pattern": (
        "deny: true}",
        'deny: true, pattern: "sales_*"}',
        9,
        "grants.pattern: unknown key; patterns are not supported, because a grant names one object; grant on the "
        "object above, whose grants apply to everything below it if `grants.inherit` is true",
    ),
    "a priority": (
        "EDITOR: {on: workspace}",
        "EDITOR: {on: workspace, priority: 10}",
        12,
        "privileges.EDITOR.priority: unknown key; priorities are not supported, because the order of grants has no "
        "effect; set `grants.deny: true`, so that a DENY overrides every ALLOW",
    ),
    "a list without quotes": (
        "VIEWER: {on: workspace}",
        "VIEWER: {on: site, workspace}",
        11,
        "if workspace belongs to the list before it, put the list in quotes",
    ),
    "a condition without quotes": (
        "view: VIEWER or EDITOR",
        "view: {if: can(view, site) and VIEWER}",
        15,
        "unknown key; if this is the rest of a condition with a comma, put the condition in quotes",
    ),
    "two privileges in a key": (
        "  VIEWER: {on: workspace}\n  EDITOR: {on: workspace}",
        "  VIEWER, EDITOR: {on: workspace}",
        11,
        "'VIEWER, EDITOR' names several privileges; write a line for each of VIEWER, EDITOR",
    ),
    "two types without a parent": (
        "workspace: {in: site}",
        "workspace: {}",
        2,
        "site and workspace have no `in`, and only the root may omit it; choose the root",
    ),
    "no type without a parent": (
        "site: {}",
        "site: {in: site}",
        2,
        "each type has an `in`, and the root must not have one",
    ),
    "a parent that is named twice": (
        "workspace: {in: site}",
        "workspace: {in: [site, site]}",
        4,
        "'site, site' names a type twice, or none; name each type once",
    ),
    "a reference with two meanings": (
        "workspace: {in: site}",
        'drive: {in: site}\n  workspace: {in: "site, workspace, drive"}',
        5,
        "a workspace with 2 segments can be workspace.workspace or drive.workspace, so a reference would have two "
        "meanings; let the types of a reference follow from its number of segments",
    ),
    "references that begin alike below two types": (
        "workspace: {in: site}",
        'drive: {in: site}\n  shelf: {in: site}\n  box: {in: shelf}\n  workspace: {in: "drive, box"}',
        7,
        "a workspace can be drive.workspace or shelf.box.workspace, so below the drive x and below the shelf x would "
        "be references that begin alike; let the workspace in one of them be another type",
    ),
    "a type in itself": (
        "workspace: {in: site}",
        "workspace: {in: workspace}",
        4,
        "workspace is only in workspace, so none can be the first; name also the type that the first one is in, "
        "e.g. in: site, workspace",
    ),
    "no operations": (
        "operations:\n  workspace:\n    view: VIEWER or EDITOR\n",
        "",
        1,
        "operations: the key is missing; add it, e.g. operations: {table: {query: READ}}; if only "
        "privileges are asked, write operations: {}",
    ),
    "no condition": (
        "view: VIEWER or EDITOR",
        "view: {returns: all}",
        15,
        "if: the key is missing; add it, e.g. if: READ",
    ),
    "a number as a condition": (
        "view: VIEWER or EDITOR",
        "view: 3",
        15,
        "operations.workspace.view: '3' is not a condition; write e.g. view: READ, or view: {if: READ, with: ...}",
    ),
    "a colon in a title": (
        "policy: bi\n",
        "policy: bi\ntitle: a: b\n",
        2,
        "not YAML: mapping values are not allowed in this context; put a text that contains `: ` in quotes",
    ),
    "a bracket that is open": (
        "workspace: {in: site}",
        "workspace: {in: site",
        5,
        "not YAML: did not find expected ',' or '}'; close the bracket",
    ),
    "a grantee in a rule without one": (
        "    workspace: everyone",
        "    workspace: VIEWER(grantee)",
        18,
        "changes.add.workspace: grantee is a place only in the rules of `changes` for member, remove, owner, "
        "grant and revoke; write one of workspace, site, object, parent, root",
    ),
    "a definition that is asked about a grantee": (
        "changes:\n",
        "define: {boss: VIEWER(workspace)}\nchanges:\n  grant: {workspace: boss(grantee)}\n",
        16,
        "define.boss: the place 'workspace' is not on the way from user to the root; write one of user, site, object, "
        "parent, root, grantee; or, because boss is asked about a user, define it by type: boss: {user: CONDITION, ",
    ),
    "a definition without a line for a grantee": (
        "changes:\n",
        "define: {boss: {workspace: VIEWER}}\nchanges:\n  grant: {workspace: boss(grantee)}\n",
        16,
        "define.boss: boss is not defined for user, about which changes.grant asks it; add a line, e.g. user: never",
    ),
    "a second object with a name that no question can give": (
        "view: VIEWER or EDITOR",
        "view: {if: VIEWER, with: {my-key: workspace}}",
        15,
        "operations.workspace.view.with.my-key: 'my-key' is not in lower_snake_case; rename it",
    ),
    "a condition without its place": (
        "VIEWER or EDITOR",
        "owner",
        15,
        "operations.workspace.view: 'owner' needs a place; write e.g. owner(workspace)",
    ),
    "granted in an operation": (
        "VIEWER or EDITOR",
        "granted",
        15,
        "operations.workspace.view: 'granted' is a word of `in_effect` only; write the PRIVILEGE here",
    ),
    "a ladder that is no list of ladders": (
        "operations:\n",
        "ladders: VIEWER, EDITOR\noperations:\n",
        13,
        "ladders: a list of ladders is expected; write `- VIEWER, EDITOR` below it",
    ),
    "a base that is a list": (
        "policy: bi\n",
        "policy: bi\nextends: [lakehouse]\n",
        2,
        "extends: name one policy or file, e.g. extends: lakehouse",
    ),
    "two types of new grantees in a line": (
        "changes:\n",
        "changes:\n  grant:\n    workspace: {if: everyone, if_new: {'user, group': everyone}}\n",
        18,
        "if_new.user, group: no batch grants to a new user, group here; write a line for each of these types",
    ),
    "but not": ("VIEWER or EDITOR", "VIEWER but not EDITOR", 15, f"`but` is not supported: {NO_NOT}"),
    "a privilege from a parent": (
        "VIEWER or EDITOR",
        "VIEWER from site",
        15,
        "`from` is not supported; name the place in parentheses: VIEWER(site)",
    ),
    "an operation from a parent": (
        "VIEWER or EDITOR",
        "VIEWER or view from parent",
        15,
        "`from` is not supported; name the place in parentheses: can(view, parent)",
    ),
    "a base that does not exist": (
        "policy: bi\n",
        "policy: bi\nextends: lakehous\n",
        2,
        "extends: the policy 'lakehous' is unknown (did you mean lakehouse?)",
    ),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_error_message_has_line_and_remedy(case: str, tmp_path: Path) -> None:
    old, new, line, message = MISTAKES[case]
    assert GOOD.count(old) == 1
    path, text = refused(GOOD.replace(old, new), tmp_path)
    assert text.startswith(f"{path}:{line}: ")
    assert message in text


def test_owner_of_a_type_without_owners_is_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "bi.yaml"
    path.write_text(GOOD.replace("deny: true", "deny: false"))
    assert warnings(str(path)) == []
    path.write_text(GOOD.replace("VIEWER or EDITOR", "VIEWER or owner(workspace)"))
    assert warnings(str(path)) == [
        f"{path}:15: operations.workspace.view: owner(workspace) never holds: workspace has no `owned_by`; "
        "add it to the type, or remove owner(workspace)"
    ]
    path.write_text(GOOD.replace("deny: true", "deny: false").replace("workspace: everyone", "workspace: owner(site)"))
    assert warnings(str(path)) == [
        f"{path}:18: changes.add.workspace: owner(site) never holds: site has no `owned_by`; "
        "add it to the type, or remove owner(site)"
    ]
    path.write_text(GOOD.replace("deny: true", "deny: false").replace("workspace: everyone", "workspace: VIEWER(site)"))
    assert warnings(str(path)) == [
        f"{path}:18: changes.add.workspace: VIEWER never holds: it is never in effect on site, only on workspace; "
        "name the place, e.g. VIEWER(workspace)"
    ]
    path.write_text(GOOD.replace("VIEWER or EDITOR", "VIEWER(site) or EDITOR"))
    assert refused(path.read_text(), tmp_path)[1].endswith(
        "VIEWER is never in effect on site, only on workspace; name the place, e.g. VIEWER(workspace)"
    )
    path.write_text(GOOD.replace("operations:\n", "operations:\n  site: {look: VIEWER}\n"))
    assert refused(path.read_text(), tmp_path)[1].endswith(
        "VIEWER is never in effect on site, only on workspace; remove it, or add site to its `on`"
    )
    path.write_text(GOOD.replace("VIEWER: {on: workspace}", "VIEWER: {on: 'site, workspace', effective: site}"))
    assert refused(path.read_text(), tmp_path)[1].endswith(
        "VIEWER is never in effect on workspace, only on site; name the place, e.g. VIEWER(site)"
    )
    text = GOOD.replace("VIEWER: {on: workspace}", "VIEWER: {on: 'site, workspace', effective: workspace}")
    path.write_text(text.replace("operations:\n", "operations:\n  site: {look: VIEWER}\n"))
    assert refused(path.read_text(), tmp_path)[1].endswith(
        "VIEWER is never in effect on site, only on workspace; remove it, or add site to its `effective`"
    )


def test_type_with_the_name_of_a_place_is_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "bi.yaml"
    for name in ("parent", "any"):  # also of the root
        path.write_text(GOOD.replace("site", name).replace("deny: true", "deny: false"))
        assert [each.partition(": types.")[2][: len(name)] for each in warnings(str(path))] == [name]
    path.write_text(GOOD.replace("site", "root").replace("deny: true", "deny: false"))
    assert warnings(str(path)) == []
    path.write_text(GOOD.replace("workspace", "object").replace("deny: true", "deny: false"))
    assert warnings(str(path)) == [
        f"{path}:4: types.object: in conditions, object is a place (the object asked about), not this type; "
        "choose another name for the type"
    ]


def test_name_of_a_built_in_policy_where_a_file_is_expected(tmp_path: Path) -> None:
    with pytest.raises(InvalidPolicy) as caught:
        load(str(tmp_path / "github"))
    assert str(caught.value) == (
        f"{tmp_path / 'github'}: no such policy file; check the path; the built-in policy of this name is shown by "
        "`grantpath policy show github`"
    )


def test_privilege_asked_where_it_is_never_in_effect_is_an_error_that_says_so(tmp_path: Path) -> None:
    path = tmp_path / "bi.yaml"
    path.write_text(GOOD)
    with pytest.raises(Invalid) as caught:
        load(str(path)).question("VIEWER", "site")
    assert str(caught.value) == (
        "VIEWER is never in effect on a site, only on workspace; ask about one of these, or add site to `on` or "
        "`effective` of VIEWER in the policy"
    )


def test_definition_that_only_a_new_grantee_needs_is_used(tmp_path: Path) -> None:
    path = tmp_path / "bi.yaml"
    text = (
        GOOD.replace("deny: true", "deny: false") + "  grant:\n    workspace: {if: VIEWER, if_new: {group: reader}}\n"
    )
    path.write_text(text + "define:\n  reader: VIEWER or EDITOR\n")
    assert warnings(str(path)) == []


def test_condition_that_ignores_grants_is_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "bi.yaml"
    text = GOOD.replace("deny: true", "deny: false") + "in_effect:\n  workspace: "
    for condition, ignores in (("exists(site)", True), ("granted", False), ("everyone and granted", False)):
        path.write_text(text.replace("in_effect:", "define: {seen: granted}\nin_effect:") + condition + "\n")
        told = [each for each in warnings(str(path)) if "never counts on workspace" in each]
        assert bool(told) is ignores, told


def test_type_about_which_nothing_can_be_asked_is_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "bi.yaml"
    text = GOOD.replace("deny: true", "deny: false").replace(
        "  group: {in", "  bot: {in: site, kind: service_principal}\n  group: {in"
    )
    path.write_text(text)
    assert warnings(str(path)) == [
        f"{path}:6: types.bot: `who` and bulk answers list a bot, but checks about one are refused; add bot to "
        "`subjects` under `ask`"
    ]
    path.write_text(f'{text}ask: {{subjects: "user, bot"}}\n')
    assert warnings(str(path)) == []


def test_unused_definition_and_second_object_are_warnings(tmp_path: Path) -> None:
    path = tmp_path / "bi.yaml"
    text = GOOD.replace("view: VIEWER or EDITOR", "view: {if: reader, with: {to: workspace, from: workspace}}")
    path.write_text(text + "define:\n  reader: VIEWER or seen\n  seen: EDITOR(with.from)\n  spare: EDITOR\n")
    assert warnings(str(path)) == [
        f"{path}:22: define.spare: no condition names this definition; remove it",
        f"{path}:15: operations.workspace.view.with.to: no condition names with.to, so any workspace is accepted; "
        "name it in `if`, or remove it",
    ]
