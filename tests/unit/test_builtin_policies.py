"""The built-in policies: complete against their sheets' tables, and deciding as the oracle does on random tenants."""

import random
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from grantpath.engine.policy.clauses import ALWAYS, NEVER
from grantpath.engine.policy.policy import Policy, load
from grantpath.engine.policy.schema import BUILT_IN, json_schema
from grantpath.engine.policy.yaml_reader import parse_documents, read_documents
from grantpath.graph.errors import Invalid, InvalidPolicy, Unknown

from ..docs.policy_pages import SCHEMA, schema_text
from ..oracle import POLICIES, oracle
from ..support.documented_names import IMPLIED, OPERATIONS, PRIVILEGES, TYPES
from ..support.in_memory import authorized, decide
from ..support.random_world import ROOT_NAME, random_checks, random_statements, random_world

BUILT_IN_NAMES = sorted(path.stem for path in BUILT_IN.glob("*.yaml"))
SEEDS = range(4)


def sheet_of(policy: str) -> str:
    """lakehouse has gravitino's types, privileges and operations."""
    return "gravitino" if policy == "lakehouse" else policy


@pytest.fixture(params=[*OPERATIONS, "lakehouse"], scope="module")
def policy(request: pytest.FixtureRequest) -> Policy:
    return load(request.param)


def test_there_are_the_five_documented_ones_the_default_and_an_example() -> None:
    assert set(BUILT_IN_NAMES) == {*OPERATIONS, "lakehouse", "github"}
    for name in BUILT_IN_NAMES:
        assert load(name).name == name


# ---- complete against the sheets' tables


def test_types_stand_where_the_sheet_says(policy: Policy) -> None:
    expected = {
        child: parent for parent, children in TYPES[sheet_of(policy.name)].items() for child in children.split()
    }
    assert {name: entry.in_ for name, entry in policy.file.types.items() if entry.in_} == expected


def test_operations_are_those_of_the_sheet_with_their_second_objects(policy: Policy) -> None:
    expected = {
        (words.split("+")[0], type_): set(words.split("+")[1:])
        for types, rows in OPERATIONS[sheet_of(policy.name)].items()
        for words in rows.split()
        for type_ in types.split()
    }
    there = {
        name: {f"{key}{'?' if second.optional else ''}" for key, second in entry.with_.items()}
        for name, entry in policy.names.operations.items()
    }
    assert there == expected


@pytest.mark.parametrize(
    ("name", "count"), [("gravitino", 97), ("deltastream", 81), ("onehouse", 114), ("cdap", 59), ("cdap_design", 75)]
)
def test_the_number_of_operations_is_the_sheets(name: str, count: int) -> None:
    assert len(load(name).names.operation_types) == count


def test_privileges_are_granted_and_in_effect_where_the_sheet_says(policy: Policy) -> None:
    expected = {}
    for places, names in PRIVILEGES[sheet_of(policy.name)].items():
        on, _, effective = places.partition(">")
        for name in names.split():
            expected[name] = set(on.split()), set((effective or on).split())
    there = {name: policy.names.privilege(name) for name in policy.names.privileges}
    assert {
        name: (set(entry.on), set(entry.on if entry.effective is None else entry.effective))
        for name, entry in there.items()
    } == expected


def test_a_privilege_comes_with_another_where_the_sheet_says(policy: Policy) -> None:
    expected = {name: set(lower.split()) for name, lower in IMPLIED[sheet_of(policy.name)].items()}
    there: dict[str, set[str]] = {}
    for name, sources in policy.names.sources.items():
        for source in sources[1:]:
            there.setdefault(source, set()).add(name)
    assert there == expected


def test_every_change_of_every_type_has_its_rule(policy: Policy) -> None:
    """What has no rule may be done by nobody; the sheets leave out only what is impossible anyway."""
    root, names = policy.root_type, policy.names
    assert {types for types in names.types if names.change("add", types) is None} == {root}
    dropless = {types for types in names.types if names.change("drop", types) is None}
    assert dropless == ({root} if names.is_protected(root) else set())
    for kind in ("member", "remove"):
        assert {types for types in names.types if names.change(kind, types)} == set(policy.file.members)
    for kind in ("grant", "revoke"):
        assert {types for types in names.types if names.change(kind, types)} == names.granted_types
    owned = {types for types, entry in policy.file.types.items() if entry.owned_by}
    kept = {types for entry in policy.builtins.values() for types in entry.owns}
    assert {types for types in names.types if names.change("owner", types)} == owned - kept


def test_deltastream_comes_with_its_five_roles() -> None:
    builtins = load("deltastream").builtins
    assert {reference: (set(entry.holds), set(entry.allow), entry.owns) for reference, entry in builtins.items()} == {
        "role:ORGADMIN": ({"role:SYSADMIN", "role:SECURITYADMIN"}, set(), ["organization"]),
        "role:SYSADMIN": (
            set(),
            {
                "CREATE_DATABASE",
                "CREATE_STORE",
                "CREATE_SCHEMA_REGISTRY",
                "CREATE_DESCRIPTOR_SOURCE",
                "CREATE_FUNCTION_SOURCE",
                "CREATE_FUNCTION",
                "CREATE_QUERY",
            },
            [],
        ),
        "role:SECURITYADMIN": ({"role:USERADMIN"}, {"MANAGE_GRANTS"}, []),
        "role:USERADMIN": (set(), {"MANAGE_MEMBERS"}, []),
        "role:PUBLIC": (set(), set(), []),
    }
    assert [reference for reference, entry in builtins.items() if entry.held_by_every == "role"] == ["role:PUBLIC"]
    assert load("deltastream").file.types["role"].keep_while_owning


def test_gravitino_hides_its_service_admins() -> None:
    for name in ("gravitino", "lakehouse"):
        assert load(name).hidden == ["role:service_admin"]
        assert load(name).builtins["role:service_admin"].members == ["user"]


# ---- deciding as the oracle does


@pytest.mark.parametrize("seed", SEEDS)
def test_random_checks_are_decided_as_by_the_oracle(policy: Policy, seed: int) -> None:
    rng = random.Random(seed)
    world = oracle(policy.name, ROOT_NAME)
    for fact in random_world(policy.name, rng, 150):
        assert world.given(fact) == "done"
    different, allowed = [], 0
    for check in random_checks(world, rng, 600):
        expected = world.check(*check)
        allowed += expected
        if decide(policy, world, *check) != expected:
            different.append((check, expected))
    assert different == []
    assert 60 < allowed < 540


@pytest.mark.parametrize("seed", SEEDS)
def test_random_changes_are_authorized_as_by_the_oracle(policy: Policy, seed: int) -> None:
    rng = random.Random(seed)
    world = oracle(policy.name, ROOT_NAME)
    for fact in random_world(policy.name, rng, 150):
        assert world.given(fact) == "done"
    different, outcomes = [], []
    for statement, by, as_role in random_statements(policy.name, world, rng, 150):
        before = world.clone()
        outcome = world.do(statement, by, as_role)
        if outcome == "invalid" or by is None or before.resolve(by) not in before.existing:
            continue
        outcomes.append(outcome)
        if authorized(policy, before, statement, by, as_role) != (outcome == "done"):
            different.append((statement, by, as_role, outcome))
    assert different == []
    assert min(outcomes.count("done"), outcomes.count("refused")) > 10


@pytest.mark.parametrize("name", POLICIES)
def test_the_oracle_asks_the_same_names_on_each_type(name: str) -> None:
    policy, world = load(name), oracle(name, ROOT_NAME)
    for type_ in policy.file.types:
        for asked, keys in world.names_on(type_):
            question = policy.question(asked, type_, frozenset(keys))
            assert {key: question.with_[key].type for key in keys} == keys
        operations = {policy.file.aliases.get(asked, asked) for asked, _ in world.names_on(type_) if asked.islower()}
        assert operations == {asked for asked in policy.names_on(type_) if asked.islower()}


# ---- the terms of the format


def test_a_privilege_that_is_never_in_effect_on_a_type_is_an_error_or_a_no_as_the_policy_says() -> None:
    with pytest.raises(Invalid, match="SELECT_TABLE cannot be granted on a fileset"):
        load("gravitino").question("SELECT_TABLE", "fileset")
    assert load("onehouse").question("SELECT", "lake").clauses == NEVER
    assert load("deltastream").question("SELECT", "user").clauses == NEVER
    assert load("cdap_design").question("list_namespace", "namespace").clauses == ALWAYS


def test_an_optional_second_object_adds_its_own_condition() -> None:
    cdap = load("cdap")
    alone = cdap.change("add", "namespace", None, frozenset())
    assert alone == cdap.question("create_namespace", "namespace").clauses
    both = cdap.change("add", "namespace", None, frozenset({"principal"}))
    assert both == cdap.question("create_namespace", "namespace", frozenset({"principal"})).clauses
    assert len(both[0]) == len(alone[0]) + 1


def test_second_objects_are_named_exactly() -> None:
    onehouse = load("onehouse")
    with pytest.raises(Invalid, match="needs a second object: add `with cluster=cluster:NAME`"):
        onehouse.question("create_compaction", "table")
    with pytest.raises(Invalid, match="takes no second object 'tag'"):
        onehouse.question("describe_table", "table", frozenset({"tag"}))


def test_unknown_names_are_answered_with_the_nearest() -> None:
    with pytest.raises(Unknown, match="did you mean load_table"):
        load("gravitino").question("load_tabel", "table")
    with pytest.raises(Unknown, match="did you mean SELECT_TABLE"):
        load("gravitino").question("SELECT_TABEL", "table")


def test_the_example_is_short() -> None:
    assert len((BUILT_IN / "github.yaml").read_text().splitlines()) < 60


def test_the_default_says_only_what_differs() -> None:
    lakehouse, gravitino = load("lakehouse"), load("gravitino")
    assert lakehouse.file.operations == gravitino.file.operations
    assert lakehouse.file.changes == gravitino.file.changes
    assert lakehouse.file.grants.to == ["user", "group", "role"]
    assert lakehouse.file.grants.deny
    assert lakehouse.digest != gravitino.digest


@pytest.mark.parametrize("name", BUILT_IN_NAMES)
def test_the_schema_for_editors_accepts_every_policy(name: str) -> None:
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
def test_the_schema_for_editors_sees_what_is_wrong(old: str, new: str) -> None:
    schema = json_schema()
    Draft202012Validator.check_schema(schema)
    is_valid = Draft202012Validator(schema).is_valid
    assert is_valid(parse_documents(GOOD, "good")[0].data)
    assert not is_valid(parse_documents(GOOD.replace(old, new), "bad")[0].data)


def test_the_schema_for_editors_that_ships_is_the_present_one() -> None:
    assert SCHEMA.read_text() == schema_text(), "bring it up to date: python -m tests.docs.policy_pages"


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
    "parents in a circle": (
        "folder: {in: root}",
        "folder: {in: file}",
        5,
        "types.file.in",
        "let one stand in the root",
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
        "'team' is not a value of this key; write object, user, service_principal, group or role",
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
    "circle of implications": (
        'READ: {on: "folder, file"}',
        'READ: {on: "folder, file", implies: ADMIN}',
        12,
        "privileges.READ",
        "implies itself in a circle; break the circle",
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
        "there is a gap: a name is missing",
    ),
    "ladder with a gap": ('WRITE: {on: "folder, file"}', "WRITE: {on: file}", 16, "ladders.0", "the ladder has a gap"),
    "ladder with a rung twice": ("- READ, WRITE, ADMIN", "- READ, WRITE, READ", 16, "ladders.0", "stands twice"),
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
        "there are file, folder, root",
    ),
    "condition that is no expression": ("open: reader", "open: reader and", 21, "operations.file.open", "is expected"),
    "conditions in a circle": ("reader: READ or WRITE", "reader: can(open)", 18, "define.reader", "break the circle"),
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
    "operation twice": ("list: READ", "list, list: READ", 24, "operations.folder.list, list", "stands twice"),
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
        "stands twice",
    ),
    "rule for members of what has none": (
        "  grant:\n",
        "  member:\n    file: ADMIN\n  grant:\n",
        29,
        "changes.member.file",
        "has no members",
    ),
    "unknown key": ("grants: {to:", "grants: {two: 2, to:", 10, "grants.two", "no such key"),
    "missing key": ('grants: {to: "user, group"}', "grants: {}", 10, "grants.to", "the key is missing; add it"),
    "member of what has none": ("group: user", "user: group", 9, "members.user", "has no members"),
    "grants to an object": ('{to: "user, group"}', "{to: file}", 10, "grants.to", "is no subject"),
    "number for a name": ("group: user\ngrants", "group: 5\ngrants", 9, "members.group", "write them as `a, b`"),
    "number for a condition": ("list: READ", "list: 5", 24, "operations.folder.list", "write out its keys"),
    "text for yes or no": (
        '{to: "user, group"}',
        '{to: user, deny: "yes"}',
        10,
        "grants.deny",
        "write true, false or cascades",
    ),
    "an alias where the name is due": (
        'READ: {on: "folder, file"}\n  WRITE: {on: "folder, file"}',
        'LOOK: {on: "folder, file"}\n  READ: {alias_of: LOOK}\n  WRITE: {on: "folder, file"}',
        17,
        "ladders.0",
        "READ is another name of LOOK, for grants and questions; write LOOK here",
    ),
    "one role, and grants to users": (
        'grants: {to: "user, group"}',
        "grants: {to: user}\nask: {one_role: true}",
        11,
        "ask.one_role",
        "there is no type of the kind role",
    ),
    "one role, and grants to a group": (
        "{in: root, kind: group}\nmembers:\n  group: user\n",
        "{in: root, kind: group}\n  role: {in: root, kind: role}\nask: {one_role: true}\nmembers:\n  role: user\n",
        12,
        "grants.to",
        "with `ask.one_role` only roles have grants and own, not a user; name a role type here",
    ),
    "a role that is a group": (
        "file: {in: folder}",
        "file: {in: folder}\n  role: {in: root, kind: group}",
        6,
        "types.role",
        "choose another name",
    ),
    "a type with a name of the graph's own": (
        "file: {in: folder}",
        "file: {in: folder}\n  change: {in: root}",
        6,
        "types.change",
        "choose another name",
    ),
    "creating something unknown": ("define:", "creating: EVERYTHING\ndefine:", 17, "creating", "neither `owner` nor"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_policy_is_refused_with_file_line_key_and_remedy(case: str, tmp_path: Path) -> None:
    old, new, line, key, remedy = BAD[case]
    assert GOOD.count(old) == 1
    path = tmp_path / "mine.yaml"
    path.write_text(GOOD.replace(old, new))
    with pytest.raises(InvalidPolicy) as caught:
        load(str(path))
    text = str(caught.value)
    assert text.startswith(f"{path}:{line}: {key}: ")
    assert remedy in text


def test_the_good_policy_that_the_bad_ones_are_made_of(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(GOOD)
    policy = load(str(tmp_path / "mine.yaml"))
    assert policy.names_on("file") == ["READ", "WRITE", "ADMIN", "open", "move"]


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("policy: mine\npolicy: yours\n", 2, "the key 'policy' stands twice; keep one"),
        ("policy: &here mine\ntitle: *here\n", 1, "anchors and aliases are not accepted; write it out"),
        ("policy: [mine\n", 2, "not YAML"),
        ("", None, "holds one YAML mapping"),
        ("policy: mine\n---\npolicy: yours\n", None, "holds one YAML mapping"),
        ("policy: mine\nextends: nothing\n", None, "the policy 'nothing' is unknown"),
    ],
)
def test_a_file_that_is_no_policy_is_refused(text: str, line: int | None, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(InvalidPolicy) as caught:
        load(str(path))
    assert reason in str(caught.value)
    assert line is None or str(caught.value).startswith(f"{path}:{line}: ")


# ---- extending


def test_an_own_policy_adds_replaces_and_removes_entries(tmp_path: Path) -> None:
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
    with pytest.raises(Unknown):
        policy.question("push", "repository")
    assert load("github").question("push", "repository").clauses != NEVER


def test_what_a_policy_takes_away_may_not_be_missed(tmp_path: Path) -> None:
    path = tmp_path / "ours.yaml"
    path.write_text("policy: ours\nextends: github\nprivileges:\n  MAINTAIN: null\n")
    with pytest.raises(InvalidPolicy, match="the privilege 'MAINTAIN' is unknown"):
        load(str(path))


def test_one_entry_of_a_group_of_entries_is_replaced_by_its_own_name(tmp_path: Path) -> None:
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


@pytest.mark.parametrize(
    ("text", "where", "reason"),
    [
        ("operations:\n  repository:\n    pull: null\n", "5: operations.repository.pull", "no such entry to take away"),
        ("operations:\n  org, repository:\n    fork: REED\n", "5: operations.repository.fork", "did you mean READ"),
        ("changes:\n  grant:\n    org, repository: REED\n", "5: changes.grant.org", "did you mean READ"),
        ("privileges:\n  READ:\n    implies: WRITE\n", "4: privileges.READ", "implies itself in a circle"),
    ],
)
def test_an_extending_policy_is_checked_as_a_whole(text: str, where: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "ours.yaml"
    path.write_text(f"policy: ours\nextends: github\n{text}")
    with pytest.raises(InvalidPolicy) as caught:
        load(str(path))
    assert str(caught.value).startswith(f"{path}:{where}: ")
    assert reason in str(caught.value)


def test_policies_that_extend_each_other_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("policy: a\nextends: b.yaml\n")
    (tmp_path / "b.yaml").write_text("policy: b\nextends: a.yaml\n")
    with pytest.raises(InvalidPolicy, match="break the circle"):
        load(str(tmp_path / "a.yaml"))
