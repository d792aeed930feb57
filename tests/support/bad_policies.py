"""A valid policy, and edits of it that the loader must refuse, each with the expected message."""

from pathlib import Path

import pytest

from grantpath.engine.policy.policy import load
from grantpath.graph.errors import InvalidPolicy


def refused(text: str, folder: Path) -> tuple[str, str]:
    """Loads a policy that must be refused, from a file. Returns the path of the file and the message."""
    path = folder / "policy.yaml"
    path.write_text(text)
    with pytest.raises(InvalidPolicy) as caught:
        load(str(path))
    return str(path), str(caught.value)


# ---- bad policies

GOOD = """\
policy: mine
types:
  root: {}
  folder: {in: root}
  file: {in: folder}
  user: {in: root, kind: user}
  group: {in: root, kind: group}
members:
  group: user
grants: {to: "user, group"}
privileges:
  READ: {on: "folder, file"}
  WRITE: {on: "folder, file"}
  ADMIN: {on: "folder, file"}
ladders:
  - READ, WRITE, ADMIN
define:
  reader: READ or WRITE
operations:
  file:
    open: reader
    move: {if: "ADMIN and WRITE(with.to)", with: {to: folder}}
  folder:
    list: READ
changes:
  add:
    file: WRITE(parent)
  grant:
    file, folder: ADMIN
"""

BAD = {
    "unknown parent type": ("in: folder}", "in: foldr}", 5, "types.file.in", "did you mean folder"),
    "parents in a cycle": (
        "folder: {in: root}",
        "folder: {in: file}",
        4,
        "types.folder.in",
        "put one of them into the root",
    ),
    "two roots": (
        "folder: {in: root}",
        "folder: {}",
        2,
        "types",
        "root and folder have no `in`, and only the root may omit it",
    ),
    "user below an object": (
        "{in: root, kind: user}",
        "{in: folder, kind: user}",
        6,
        "types.user.in",
        "write `in: root`",
    ),
    "unknown kind": (
        "kind: group",
        "kind: team",
        7,
        "types.group.kind",
        "'team' is not valid here; write object, user, service_principal, group or role",
    ),
    "privilege on an unknown type": (
        'READ: {on: "folder, file"}',
        "READ: {on: fille}",
        12,
        "privileges.READ.on",
        "did you mean file",
    ),
    "privilege on nothing": ('READ: {on: "folder, file"}', "READ: {}", 12, "privileges.READ", "add `on`"),
    "privilege in lower case": ("  ADMIN: {on", "  admin: {on", 14, "privileges.admin", "UPPER_CASE"),
    "privilege implies an unknown one": (
        'ADMIN: {on: "folder, file"}',
        "ADMIN: {on: file, implies: DELETE}",
        14,
        "privileges.ADMIN.implies",
        "add it to `privileges`",
    ),
    "cycle of implications": (
        'READ: {on: "folder, file"}',
        'READ: {on: "folder, file", implies: ADMIN}',
        12,
        "privileges.READ",
        "READ implies ADMIN, which implies WRITE, which implies READ; remove one",
    ),
    "ladder with an unknown rung": (
        "- READ, WRITE, ADMIN",
        "- READ, WRIT, ADMIN",
        16,
        "ladders.0",
        "did you mean WRITE",
    ),
    "ladder with an empty rung": (
        "- READ, WRITE, ADMIN",
        "- READ, , ADMIN",
        16,
        "ladders.0.1",
        "a name is missing; write it",
    ),
    "ladder with a gap": ('WRITE: {on: "folder, file"}', "WRITE: {on: file}", 16, "ladders.0", "the ladder has a gap"),
    "ladder with a rung twice": ("- READ, WRITE, ADMIN", "- READ, WRITE, READ", 16, "ladders.0", "is listed twice"),
    "condition names an unknown privilege": (
        "list: READ",
        "list: REED",
        24,
        "operations.folder.list",
        "did you mean READ",
    ),
    "condition names an unknown definition": (
        "open: reader",
        "open: raeder",
        21,
        "operations.file.open",
        "mean reader",
    ),
    "condition names an unknown operation": (
        "open: reader",
        "open: can(look)",
        21,
        "operations.file.open",
        "the operation 'look' is unknown",
    ),
    "condition names an unknown place": (
        "list: READ",
        "list: READ(drawer)",
        24,
        "operations.folder.list",
        "the place 'drawer' is not on the way",
    ),
    "condition names an unknown second object": (
        "WRITE(with.to)",
        "WRITE(with.into)",
        22,
        "operations.file.move",
        "write one of file, folder, root",
    ),
    "condition that is not an expression": (
        "open: reader",
        "open: reader and",
        21,
        "operations.file.open",
        "is expected",
    ),
    "definition that no condition can name": (
        "reader: READ or WRITE",
        "reader: READ or WRITE\n  everyone: WRITE",
        19,
        "define.everyone",
        "is a word of conditions",
    ),
    "conditions in a cycle": ("reader: READ or WRITE", "reader: can(open)", 18, "define.reader", "a cycle; break it"),
    "definition that is never asked": (
        "reader: READ or WRITE",
        "reader: READ or WRITE\n  other: READ or",
        19,
        "define.other",
        "is expected",
    ),
    "second object of an unknown type": (
        "with: {to: folder}",
        "with: {to: foldr}",
        22,
        "operations.file.move.with.to",
        "mean folder",
    ),
    "operation twice": ("list: READ", "list, list: READ", 24, "operations.folder.list, list", "is defined twice"),
    "operation on an unknown type": (
        "  folder:\n    list",
        "  foldr:\n    list",
        23,
        "operations.foldr",
        "mean folder",
    ),
    "rule for an unknown type": (
        "file, folder: ADMIN",
        "file, foldr: ADMIN",
        29,
        "changes.grant.file, foldr",
        "mean folder",
    ),
    "two rules for a type": (
        "file, folder: ADMIN",
        "file, folder: ADMIN\n    file: READ",
        30,
        "changes.grant.file",
        "is listed twice",
    ),
    "rule for members of what has none": (
        "  grant:\n",
        "  member:\n    file: ADMIN\n  grant:\n",
        29,
        "changes.member.file",
        "has no members",
    ),
    "unknown key": ("grants: {to:", "grants: {two: 2, to:", 10, "grants.two", "unknown key"),
    "missing key": ('grants: {to: "user, group"}', "grants: {}", 10, "grants.to", "the key is missing; add it"),
    "member of what has none": ("group: user", "user: group", 9, "members.user", "has no members"),
    "grants to an object": ('{to: "user, group"}', "{to: file}", 10, "grants.to", "is not a subject type"),
    "number for a name": ("group: user\ngrants", "group: 5\ngrants", 9, "members.group", "write it as `a, b`"),
    "number for a condition": (
        "list: READ",
        "list: 5",
        24,
        "operations.folder.list",
        "'5' is not a condition; write e.g.",
    ),
    "text for yes or no": (
        '{to: "user, group"}',
        '{to: user, deny: "yes"}',
        10,
        "grants.deny",
        "write true, false or cascades",
    ),
    "an alias instead of the privilege's own name": (
        'READ: {on: "folder, file"}\n  WRITE: {on: "folder, file"}',
        'LOOK: {on: "folder, file"}\n  READ: {alias_of: LOOK}\n  WRITE: {on: "folder, file"}',
        17,
        "ladders.0",
        "READ is an alias, which only grants and questions can use; write LOOK here",
    ),
    "one role, and grants to users": (
        'grants: {to: "user, group"}',
        "grants: {to: user}\nask: {one_role: true}",
        11,
        "ask.one_role",
        "no type has the kind role",
    ),
    "one role, and grants to a group": (
        "{in: root, kind: group}\nmembers:\n  group: user\n",
        "{in: root, kind: group}\n  role: {in: root, kind: role}\nask: {one_role: true}\nmembers:\n  role: user\n",
        12,
        "grants.to",
        "with `ask.one_role` only roles can hold grants and own objects, not a user; name a role type here",
    ),
    "a role that is a group": (
        "file: {in: folder}",
        "file: {in: folder}\n  role: {in: root, kind: group}",
        6,
        "types.role",
        "choose another name",
    ),
    "a type with a reserved label": (
        "file: {in: folder}",
        "file: {in: folder}\n  change: {in: root}",
        6,
        "types.change",
        "choose another name",
    ),
    "a definition at a place that does not exist": (
        "open: reader",
        "open: reader(folders)",
        21,
        "operations.file.open",
        "did you mean folder",
    ),
    "an unknown definition at a place": (
        "open: reader",
        "open: readers(folder)",
        21,
        "operations.file.open",
        "did you mean reader",
    ),
    "a second object inside a type that is not above it": (
        "with: {to: folder}",
        "with: {to: {type: folder, inside: file}}",
        22,
        "operations.file.move.with.to",
        "not above both file and folder",
    ),
    "creating an owner beside a privilege": (
        "define:",
        'creating: "owner, READ"\ndefine:',
        17,
        "creating",
        "write `owner` alone",
    ),
    "creating a membership": (
        "ladders:",
        "  SEE: {on: group, membership: true}\ncreating: SEE\nladders:",
        16,
        "creating",
        "stored as a membership",
    ),
    "a condition for new grantees that cannot be granted anything": (
        "file, folder: ADMIN",
        "file, folder: {if: ADMIN, if_new: {file: ADMIN}}",
        29,
        "changes.grant.file, folder.if_new.file",
        "no batch grants to a new file",
    ),
    "a condition for new grantees of an operation": (
        "open: reader",
        "open: {if: reader, if_new: {user: ADMIN}}",
        21,
        "operations.file.open.if_new",
        "only rules in `changes.grant`",
    ),
    "creating something unknown": ("define:", "creating: EVERYTHING\ndefine:", 17, "creating", "neither `owner` nor"),
}
