"""The built-in policies: complete by the tables of their sheets, and in agreement with the oracle on random tenants."""

import random
from pathlib import Path

import pytest

from grantpath.engine.policy.clauses import ALWAYS, NEVER
from grantpath.engine.policy.policy import Policy, from_source, load
from grantpath.engine.policy.schema import BUILT_IN
from grantpath.graph.errors import Invalid, UnknownName

from ..oracle import POLICIES, oracle
from ..support.documented import TABLES
from ..support.in_memory import authorized, decide
from ..support.random_world import ROOT_NAME, random_checks, random_statements, random_world

BUILT_IN_NAMES = sorted(path.stem for path in BUILT_IN.glob("*.yaml"))
EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
LADDERS = [EXAMPLES / "ladders.yaml", EXAMPLES / "ladders_deny_true.yaml"]
SEEDS = range(4)
DATA = {"SELECT_TABLE", "MODIFY_TABLE", "CONSUME_TOPIC", "PRODUCE_TOPIC"}
DATA |= {"READ_FILESET", "WRITE_FILESET", "USE_MODEL"}


def sheet_of(policy: str) -> str:
    """lakehouse has gravitino's types, privileges and operations."""
    return "gravitino" if policy == "lakehouse" else policy


@pytest.fixture(params=[*TABLES, "lakehouse"], scope="module")
def policy(request: pytest.FixtureRequest) -> Policy:
    return load(request.param)


def test_builtin_policies_are_five_documented_ones_a_default_and_examples() -> None:
    assert set(BUILT_IN_NAMES) == {*TABLES, "lakehouse", "lakehouse_nested", "github", "unity_catalog", "polaris"}
    for name in BUILT_IN_NAMES:
        assert load(name).name == name


# The first characters of the digests. Roots store the policy that they were created with: with another digest, they
# must be upgraded, and all their snapshots and copies are read again.
DIGESTS = {
    "cdap": "7b183a217218",
    "cdap_design": "288a2625b249",
    "deltastream": "d7b3c1f3beca",
    "gravitino": "360cd854f836",
    "lakehouse": "4662fe61cf4a",
    "lakehouse_nested": "1d355b010748",
    "onehouse": "803ddd45cd0d",
    "polaris": "822412b586c2",
    "unity_catalog": "a77465ea726d",
    "github": "77bed26131b3",
}


def test_digest_of_a_builtin_policy_does_not_change_unnoticed() -> None:
    found = {name: load(name).digest[:12] for name in BUILT_IN_NAMES}
    assert found == DIGESTS, "say in CHANGELOG.md that roots of this policy need `grantpath policy upgrade`"


@pytest.mark.parametrize("name", [*BUILT_IN_NAMES, *map(str, LADDERS)])
def test_stored_policy_has_the_same_clauses_in_the_same_order(name: str) -> None:
    """The order decides which of several reasons is named."""
    file = load(name)
    stored, compared = from_source(file.source), 0
    for type_ in file.file.types:
        for asked in file.names_on(type_):
            keys = (
                frozenset() if asked in file.names.privileges else frozenset(file.names.operation(asked, type_).with_)
            )
            compared += 1
            assert file.question(asked, type_, keys).clauses == stored.question(asked, type_, keys).clauses
    assert compared > 3


# ---- complete by the tables of the sheets


def test_types_have_the_parents_in_the_sheet(policy: Policy) -> None:
    expected = {
        child: parent
        for parent, children in TABLES[sheet_of(policy.name)]["types"].items()
        for child in children.split()
    }
    assert {name: entry.in_ for name, entry in policy.file.types.items() if entry.in_} == expected


def test_operations_and_second_objects_are_those_of_the_sheet(policy: Policy) -> None:
    expected = {
        (words.split("+")[0], type_): set(words.split("+")[1:])
        for types, rows in TABLES[sheet_of(policy.name)]["operations"].items()
        for words in rows.split()
        for type_ in types.split()
    }
    there = {
        name: {f"{key}{'?' if second.optional else ''}" for key, second in entry.with_.items()}
        for name, entry in policy.names.operations.items()
    }
    assert there == expected


@pytest.mark.parametrize(
    ("name", "count"), [("gravitino", 104), ("deltastream", 81), ("onehouse", 114), ("cdap", 59), ("cdap_design", 75)]
)
def test_number_of_operations_is_that_of_the_sheet(name: str, count: int) -> None:
    assert len(load(name).names.operation_types) == count


def test_privileges_are_grantable_and_in_effect_on_the_types_in_the_sheet(policy: Policy) -> None:
    expected = {}
    for places, names in TABLES[sheet_of(policy.name)]["privileges"].items():
        on, _, effective = places.partition(">")
        for name in names.split():
            expected[name] = set(on.split()), set((effective or on).split())
    if policy.name == "lakehouse":  # data privileges can also be granted on a tag
        expected = {name: (on | {"tag"} if name in DATA else on, places) for name, (on, places) in expected.items()}
    there = {name: policy.names.privilege(name) for name in policy.names.privileges}
    assert {
        name: (set(entry.on), set(entry.on if entry.effective is None else entry.effective))
        for name, entry in there.items()
    } == expected


def test_privileges_include_those_in_the_sheet(policy: Policy) -> None:
    expected = {name: set(lower.split()) for name, lower in TABLES[sheet_of(policy.name)]["implied"].items()}
    there: dict[str, set[str]] = {}
    for name, sources in policy.names.sources.items():
        for source in sources[1:]:
            there.setdefault(source, set()).add(name)
    assert there == expected


def test_every_change_of_every_type_has_a_rule(policy: Policy) -> None:
    """A change without a rule is never allowed; the sheets omit only impossible changes."""
    root, names = policy.root_type, policy.names
    founded = policy.name in ("gravitino", "lakehouse")  # a service admin can create another root
    assert {types for types in names.types if names.change("add", types) is None} == (set() if founded else {root})
    dropless = {types for types in names.types if names.change("drop", types) is None}
    assert dropless == ({root} if names.is_protected(root) else set())
    for kind in ("member", "remove"):
        assert {types for types in names.types if names.change(kind, types)} == set(policy.file.members)
    for kind in ("grant", "revoke"):
        assert {types for types in names.types if names.change(kind, types)} == names.granted_types
    owned = {types for types, entry in policy.file.types.items() if entry.owned_by}
    kept = {types for entry in policy.builtins.values() for types in entry.owns}
    assert {types for types in names.types if names.change("owner", types)} == owned - kept


def test_deltastream_has_five_builtin_roles() -> None:
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
    assert [reference for reference, entry in builtins.items() if entry.held_by_every == ["role"]] == ["role:PUBLIC"]
    assert load("deltastream").file.types["role"].keep_while_owning


def test_gravitino_hides_its_service_admins() -> None:
    for name in ("gravitino", "lakehouse"):
        assert load(name).hidden == ["role:service_admin"]
        assert load(name).builtins["role:service_admin"].members == ["user"]


# ---- agreement with the oracle


@pytest.mark.parametrize("seed", SEEDS)
def test_random_checks_agree_with_the_oracle(policy: Policy, seed: int) -> None:
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
def test_random_changes_are_authorized_like_in_the_oracle(policy: Policy, seed: int) -> None:
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
def test_oracle_checks_the_same_names_on_each_type(name: str) -> None:
    policy, world = load(name), oracle(name, ROOT_NAME)
    for type_ in policy.file.types:
        for asked, keys in world.names_on(type_):
            question = policy.question(asked, type_, frozenset(keys))
            assert {key: question.with_[key].type for key in keys} == keys
        operations = {policy.file.aliases.get(asked, asked) for asked, _ in world.names_on(type_) if asked.islower()}
        assert operations == {asked for asked in policy.names_on(type_) if asked.islower()}


# ---- the terms of the format


def test_policy_decides_whether_a_privilege_without_effect_is_an_error_or_a_no() -> None:
    with pytest.raises(Invalid, match="SELECT_TABLE is never in effect on a fileset, only on metalake"):
        load("gravitino").question("SELECT_TABLE", "fileset")
    assert load("onehouse").question("SELECT", "lake").clauses == NEVER
    assert load("deltastream").question("SELECT", "user").clauses == NEVER
    assert load("cdap_design").question("list_namespace", "namespace").clauses == ALWAYS


def test_optional_second_object_adds_its_own_condition() -> None:
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


def test_unknown_name_suggests_the_nearest_one() -> None:
    with pytest.raises(UnknownName, match="did you mean load_table"):
        load("gravitino").question("load_tabel", "table")
    with pytest.raises(UnknownName, match="did you mean SELECT_TABLE"):
        load("gravitino").question("SELECT_TABEL", "table")


def test_example_policy_is_short() -> None:
    assert len((BUILT_IN / "github.yaml").read_text().splitlines()) < 60


def test_default_policy_contains_only_differences() -> None:
    lakehouse, gravitino = load("lakehouse"), load("gravitino")
    assert lakehouse.file.operations == gravitino.file.operations
    assert lakehouse.file.changes.model_copy(update={"tag": gravitino.file.changes.tag}) == gravitino.file.changes
    assert lakehouse.file.grants.to == ["user", "group", "role"]
    assert lakehouse.file.grants.deny
    assert lakehouse.digest != gravitino.digest
