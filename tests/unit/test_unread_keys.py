"""A key of a policy that would have no effect is refused, with what it needs."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from grantpath.engine.policy.policy import Policy, load
from grantpath.graph.errors import InvalidPolicy

GOOD: dict[str, Any] = {
    "policy": "good",
    "types": {
        "site": {},
        "folder": {"in": "site", "owned_by": "user"},
        "file": {"in": "folder"},
        "user": {"in": "site", "kind": "user"},
        "team": {"in": "site", "kind": "group"},
        "crew": {"in": "site", "kind": "role"},
    },
    "members": {"team": "user, team", "crew": "user, team"},
    "grants": {"to": "user, team, crew"},
    "builtin": {"crew:staff": {}},
    "privileges": {
        "READ": {"on": "folder, file"},
        "WRITE": {"on": "folder, file", "implies": "READ"},
        "JOIN": {"on": "team", "membership": True},
    },
    "operations": {"file": {"open": "READ"}, "folder": {"list": "READ"}},
    "changes": {"add": {"file": "WRITE(folder)", "folder": "everyone"}, "grant": {"file": "WRITE"}},
}
ROLES: dict[str, Any] = {  # only roles hold grants, one at a time
    "ask.one_role": True,
    "grants.to": "crew",
    "types.folder.owned_by": "crew",
    "members.crew": "user",
}
CASES: dict[str, tuple[dict[str, Any], str]] = {
    "keep_while_owning of a type that owns nothing": (
        {"types.team.keep_while_owning": True},
        "types.team.keep_while_owning: a team owns nothing; add it to the `owned_by` of a type",
    ),
    "keep_while_owning of a protected type": (
        {"types.user.keep_while_owning": True, "types.user.protected": True},
        "types.user.keep_while_owning: a user is protected and cannot be dropped anyway; remove this key",
    ),
    "no subjects": ({"ask.subjects": []}, "ask.subjects: no type is named, so nothing could be asked"),
    "no grantees": ({"grants.to": []}, "grants.to: no type is named, so no privilege could be granted"),
    "creating an owner of nothing": (
        {"creating": "owner", "types.folder.owned_by": "team"},
        "creating: no type that can be added is `owned_by` a creator; add user to one",
    ),
    "creating a grant to a user that holds none": (
        {"creating": "WRITE", "grants.to": "team"},
        "creating: a creator cannot hold a grant; add user to `grants.to`",
    ),
    "creating a membership": (
        {"creating": "JOIN"},
        "creating: JOIN is stored as a membership; name a privilege without `membership`",
    ),
    "creating a privilege on protected types": (
        {"creating": "RULE", "privileges.RULE": {"on": "site"}},
        "creating: RULE is not granted on a type that can be added; name another privilege",
    ),
    "a built-in subject that holds no grants": (
        {"builtin.crew:staff.allow": "RULE", "privileges.RULE": {"on": "site"}, "grants.to": "user, team"},
        "builtin.crew:staff.allow: a crew cannot hold a grant; add crew to `grants.to`",
    ),
    "a built-in subject in one that it cannot be in": (
        {"builtin.crew:chiefs": {"holds": "crew:staff"}},
        "builtin.crew:chiefs.holds: a crew cannot be a member of crew:staff; add crew to the `members` of crew",
    ),
    "held by a type that it does not admit": (
        {"builtin.crew:staff": {"members": "team", "held_by_every": "user"}},
        "builtin.crew:staff.held_by_every: a user is not in the `members` of crew:staff; add it there",
    ),
    "a ladder of one": ({"ladders": [["READ"]]}, "ladders.0: a ladder of one privilege implies nothing"),
    "new where questions need an object": (
        {"operations.file.open": {"if": "READ", "new": True}},
        "operations.file.open.new: a question about an object that does not exist is an error in this policy; "
        "set `grants.on_missing: true`, or remove `new`",
    ),
    "all_roles where roles are combined": (
        {"operations.file.open": {"if": "READ", "all_roles": True}},
        "operations.file.open.all_roles: all held roles are always combined; set `ask.one_role: true`",
    ),
    "all_roles inside an operation of one role": (
        {**ROLES, "operations.file.open": {"if": "READ", "all_roles": True}, "operations.file.view": "can(open)"},
        "operations.file.view: open combines all held roles, and a condition with can(open) decides on a single one",
    ),
    "second objects of a grant": (
        {"changes.grant.file": {"if": "WRITE", "with": {"to": "file"}}},
        "changes.grant.file.with: only `add` and `tag` take second objects; remove `with` from this rule of `grant`",
    ),
    "with of a grant with if_new": (
        {"changes.grant.file": {"if": "WRITE", "if_new": {"team": "READ"}, "with": {"to": "file"}}},
        "changes.grant.file.with: only `add` and `tag` take second objects; remove `with` from this rule of `grant`",
    ),
    **{
        f"{key} of a grant with if_new": (
            {**edits, "changes.grant.file": {"if": "WRITE", "if_new": {"crew": "READ"}, key: value}},
            f"changes.grant.file.{key}: only operations have `{key}`; remove it from this rule",
        )
        for key, value, edits in (("new", True, {}), ("all_roles", True, ROLES), ("returns", "files", {}))
    },
    "if_new of an operation": (
        {"operations.file.open": {"if": "READ", "if_new": {"team": "WRITE"}}},
        "operations.file.open.if_new: only rules in `changes.grant` have a grantee; remove it",
    ),
    "if_new of another change": (
        {"changes.add.file": {"if": "WRITE(folder)", "if_new": {"team": "WRITE"}}},
        "changes.add.file.if_new.team: no batch grants to a new team here; remove the line",
    ),
    "if_new for a type that holds no grants": (
        {"changes.grant.file": {"if": "WRITE", "if_new": {"crew": "READ"}}, "grants.to": "user, team"},
        "changes.grant.file.if_new.crew: no batch grants to a new crew here; remove the line",
    ),
    "new of a change": (
        {"changes.add.file": {"if": "WRITE(folder)", "new": True}},
        "changes.add.file.new: only operations have `new`; remove it from this rule",
    ),
    "all_roles of a change": (
        {**ROLES, "changes.add.file": {"if": "WRITE(folder)", "all_roles": True}},
        "changes.add.file.all_roles: only operations have `all_roles`; remove it from this rule",
    ),
    "returns of a change": (
        {"changes.add.file": {"if": "WRITE(folder)", "returns": "files"}},
        "changes.add.file.returns: only operations have `returns`; remove it from this rule",
    ),
    "adding a protected type": (
        {"types.file.protected": True},
        "changes.add.file: a file is protected, so no actor can add it; set `protected: false`, or remove the rule",
    ),
    "dropping the root": (
        {"changes.drop": {"site": "everyone"}},
        "changes.drop.site: a site is protected, so no actor can drop it",
    ),
    "renaming the root": (
        {"changes.rename": {"site": "everyone"}},
        "changes.rename.site: the root keeps its name and its place, so no actor can rename it; remove the rule",
    ),
    "moving what is always in the root": (
        {"changes.move": {"folder": "everyone"}},
        "changes.move.folder: a folder is always directly in the root, so none can be moved; remove the rule",
    ),
    "members of a type without members": (
        {"members.team": [], "privileges.JOIN": None, "changes.member": {"team": "everyone"}},
        "changes.member.team: a team can have no members; add types to its `members`, or remove the rule",
    ),
    "another owner of a root that a built-in subject owns": (
        {"types.site.owned_by": "crew", "builtin.crew:staff.owns": "site", "changes.owner": {"site": "everyone"}},
        "changes.owner.site: site has its owner by the policy, and it cannot be replaced; remove the rule",
    ),
    "granting what is a membership": (
        {"changes.grant.team": "everyone"},
        "changes.grant.team: each privilege on a team is a membership; write the rule under `member`",
    ),
    "revoking what is a membership": (
        {"changes.revoke": {"team": "everyone"}},
        "changes.revoke.team: each privilege on a team is a membership; write the rule under `remove`",
    ),
    **{
        f"{key} of an alias": (
            {"privileges.VIEW": {"alias_of": "READ", key: value}},
            f"privileges.VIEW.{key}: VIEW is another name of READ; remove this key, or write it there",
        )
        for key, value in {
            "on": "file",
            "effective": "file",
            "implies": "WRITE",
            "inherit": False,
            "in_effect": "granted",
            "membership": True,
        }.items()
    },
    "effective on nothing": (
        {"privileges.READ.effective": []},
        "privileges.READ.effective: no type is named, so READ is never in effect; name one",
    ),
    "inherit without grants": (
        {"privileges.OWN": {"effective": "folder", "in_effect": "owner(folder)", "inherit": False}},
        "privileges.OWN.inherit: OWN cannot be granted; add `on`, or remove this key",
    ),
    "membership without grants": (
        {"privileges.OWN": {"effective": "folder", "in_effect": "owner(folder)", "membership": True}},
        "privileges.OWN.membership: OWN cannot be granted; add `on`, or remove this key",
    ),
    "membership with DENY": (
        {"grants.deny": True},
        "privileges.JOIN.membership: a DENY cannot end a membership; set `grants.deny: false`, or remove this key",
    ),
    "a grant where it is never in effect": (
        {"privileges.PIN": {"on": "team, folder", "effective": "file"}},
        "privileges.PIN.on: a grant of PIN on a team is never in effect; remove team",
    ),
    "a grant that is not inherited": (
        {"privileges.PIN": {"on": "file, folder", "effective": "file", "inherit": False}},
        "privileges.PIN.on: a grant of PIN on a folder is never in effect; remove folder",
    ),
    "in effect where no grant reaches": (
        {"privileges.PIN": {"on": "file", "effective": "file, folder"}},
        "privileges.PIN.effective: PIN is never in effect on a folder: no grant reaches it; remove folder",
    ),
    "in effect without grant and condition": (
        {"privileges.PIN": {"effective": "file"}},
        "privileges.PIN.effective: PIN is never in effect on a file: no grant reaches it; remove file",
    ),
    "implies what is in effect elsewhere": (
        {"privileges.PIN": {"on": "team", "implies": "READ"}},
        "privileges.PIN.implies: PIN is never in effect where READ can be, so it cannot include it; remove READ",
    ),
    "a ladder to a type elsewhere": (
        {"privileges.PIN": {"on": "team"}, "ladders": [["READ", "PIN"]]},
        "ladders.0: PIN is never in effect where READ can be, so it cannot include it; remove one",
    ),
    "in_effect of a type without privileges": (
        {"in_effect": {"user": "granted"}},
        "in_effect.user: no privilege is in effect on a user by this condition; remove user",
    ),
    "in_effect that every privilege overrides": (
        {"privileges.JOIN.in_effect": "holds(team)", "in_effect": {"team": "granted"}},
        "in_effect.team: no privilege is in effect on a team by this condition; remove team",
    ),
    "a ladder with in_effect in a cycle": (
        {"privileges.WRITE.in_effect": "READ and granted"},
        "READ(folder) asks WRITE(folder) asks READ(folder), which is a cycle; break it",
    ),
    "in effect for everyone, and implying what can be denied": (
        {"privileges.JOIN": None, "grants.deny": "cascades", "privileges.WRITE.in_effect": "everyone"},
        "WRITE is in effect for everyone and implies READ, which can be denied; give WRITE another condition",
    ),
    "some of a privilege that a gated one implies": (
        {"privileges.WRITE.in_effect": "owner(folder) and granted", "operations.folder.list": "some(READ in file)"},
        "some(...) reads grants, and a grant of WRITE on a file includes READ only where WRITE is in effect",
    ),
    "some of a membership": (
        {"operations.site": {"list": "some(JOIN in team below root)"}},
        "some(...) reads grants, and JOIN is stored as a membership; name other privileges",
    ),
}


def changed(edits: dict[str, Any]) -> dict[str, Any]:
    """The good policy with other values at these paths; None removes one."""
    data = copy.deepcopy(GOOD)
    for path, value in edits.items():
        *above, last = path.split(".")
        at = data
        for name in above:
            at = at.setdefault(name, {})
        if value is None:
            del at[last]
        else:
            at[last] = value
    return data


def loaded(data: dict[str, Any], folder: Path) -> Policy:
    path = folder / "good.yaml"
    path.write_text(json.dumps(data))
    return load(str(path))


def test_good_policies_are_accepted(tmp_path: Path) -> None:
    assert loaded(GOOD, tmp_path).name == "good"
    assert loaded(changed(ROLES), tmp_path).active_roles


@pytest.mark.parametrize("case", CASES)
def test_key_without_effect_is_refused(case: str, tmp_path: Path) -> None:
    edits, message = CASES[case]
    with pytest.raises(InvalidPolicy) as caught:
        loaded(changed(edits), tmp_path)
    assert message in str(caught.value)
