"""No query multiplies two lists: with m groups and n grants on one place, its work grows like m + n, not like m x n.

PROFILE counts the db hits and rows of every query that a question sends.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import neo4j
import pytest

from grantpath import cypher
from grantpath.engine import Authorizer
from grantpath.engine.answers.list_query import list_query
from grantpath.engine.answers.request import resolve
from grantpath.engine.tenants import policy_graph
from grantpath.engine.transfer import importer
from grantpath.graph.client.connection import Connection
from grantpath.graph.embedded import home
from grantpath.graph.language.statement import Which

from ..conftest import Tenants
from ..support import closing_lines
from ..support.many_paths import write
from ..support.own_server import own_server
from ..support.sizes import size
from .probes_lists import TURNS

pytestmark = pytest.mark.trust

SMALL, LARGE = 75, 300  # groups of one user, and grants of each privilege on one catalog
GROWTH = 6.0  # at most this many times the work for 4 times the groups and grants; a product needs 16 times
TABLES = 2_000
WIDE, MANY_TABLES = size(3_000, 1_000), size(100_000, 5_000)
PRIVILEGES = ("USE_CATALOG", "USE_SCHEMA", "SELECT_TABLE")
USER, TABLE = "user:bob", "table:c.s0.t0"


def build(auth: Authorizer, folder: Path, wide: int, tables: int) -> Authorizer:
    """One user in `wide` groups, each with each privilege on one catalog with this many tables."""
    groups = [f"group:g{number}" for number in range(wide)]
    names = [f"c.s{number % 10}.t{number}" for number in range(tables)]
    importer.load(
        auth,
        write(
            folder,
            subjects=[(ref,) for ref in [USER, "user:ann", *groups]],
            objects=[
                ("catalog:c",),
                *((f"schema:c.s{number}",) for number in range(10)),
                *((f"table:{name}",) for name in names),
            ],
            members=[(USER, group) for group in groups],
            owners=[("catalog:c", "user:ann")],
            grants=[("ALLOW", privilege, "catalog:c", group) for group in groups for privilege in PRIVILEGES],
        ),
    )
    return auth


def verbs(auth: Authorizer) -> dict[str, Callable[[], object]]:
    """The questions about a subject."""
    many = [
        (USER, name, f"table:c.s{number % 10}.t{number}")
        for number in range(10)
        for name in ("load_table", "drop_table")
    ]
    return {
        "check": lambda: auth.check(USER, "load_table", TABLE),
        "check_many": lambda: auth.check_many(many),
        "which": lambda: list(auth.which("table", USER, "load_table")),
        "who": lambda: list(auth.who("load_table", TABLE)),
        "explain": lambda: auth.explain(USER, "load_table", TABLE, all=True),
        "explain no": lambda: auth.explain(USER, "drop_table", TABLE),
        "revocation": lambda: auth.revocation(USER, "load_table", TABLE),
        "can": lambda: auth.can(USER, TABLE),
    }


class Work:
    """The work of each query that is sent, by PROFILE: db hits and rows of all operators."""

    def __init__(self, driver: neo4j.Driver) -> None:
        self._driver = driver

    def of(self, text: str, parameters: Mapping[str, Any], options: str = "") -> int:
        return _work(self._profile(f"{options} PROFILE {text}", parameters))

    def memory(self, text: str, parameters: Mapping[str, Any]) -> int:
        """The bytes that Neo4j counts for a query."""
        return int(self._profile("PROFILE " + text, parameters)["args"]["GlobalMemory"])

    def _profile(self, text: str, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        profile = self._driver.execute_query(text, {"now": None, **parameters}).summary.profile
        assert profile is not None
        return profile

    def sent(self, ask: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
        """By query: the work of all that a question sends."""
        sent: dict[str, int] = {}
        run = cypher.Query.run

        def noted(query: cypher.Query, send: Any, **parameters: Any) -> Any:
            sent[query.name] = sent.get(query.name, 0) + self.of(query.text, parameters)
            return run(query, send, **parameters)

        with monkeypatch.context() as patch:
            patch.setattr(cypher.Query, "run", noted)
            ask()
        return sent


def _work(profile: Mapping[str, Any]) -> int:
    own = int(profile["args"].get("DbHits", 0)) + int(profile["args"].get("Rows", 0))
    return own + sum(map(_work, profile.get("children", [])))


@pytest.fixture(scope="module")
def work(server: Connection) -> Iterator[Work]:
    login = (server.user, server.password)
    with neo4j.GraphDatabase.driver(server.uri, auth=login, notifications_min_severity="OFF") as driver:
        yield Work(driver)


@pytest.fixture(scope="module")
def pair(module_tenant: Tenants, tmp_path_factory: pytest.TempPathFactory) -> list[Authorizer]:
    """The same root with few and with more groups and grants."""
    folder = tmp_path_factory.mktemp("tables")
    return [build(module_tenant("lakehouse"), folder / str(wide), wide, TABLES) for wide in (SMALL, LARGE)]


@pytest.mark.parametrize("verb", ["check", "check_many", "which", "who", "explain", "explain no", "revocation", "can"])
def test_no_question_multiplies_groups_by_grants(
    verb: str, pair: list[Authorizer], work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    small, large = (work.sent(verbs(auth)[verb], monkeypatch) for auth in pair)
    assert small
    assert {name: (few, large[name]) for name, few in small.items() if large[name] > GROWTH * few} == {}


ON_TABLE = {"privilege": "SELECT_TABLE", "object": TABLE}
QUESTIONS: dict[str, dict[str, Any]] = {
    "access_by_a_single_edge": {**ON_TABLE, "subject": USER},
    "who_holds_a_privilege": ON_TABLE,
    "who_could_grant_themselves": {
        **ON_TABLE,
        "grant_with": "MANAGE_GRANTS",
        "join_with": "MANAGE_GROUPS",
        "tag_with": "MODIFY_TABLE",
    },
    "denies_without_an_allow": {},
    "memberships_given_twice": {},
    "subjects_with_two_privileges": {**ON_TABLE, "second": "USE_SCHEMA"},
    "what_a_user_belongs_to": {"subject": USER},
    "what_is_granted_to_a_subject": {"subject": USER},
    "what_one_user_has_and_another_lacks": {"subject": USER, "other": "user:ann"},
    "why_a_user_can": {"subject": USER, "operation": "USE_CATALOG", "object": "catalog:c"},
    "widest_roles": {"limit": 10},
    "check_by_name": {"subject": USER, "operation": "load_table", "object": TABLE},
    "remedy_by_name": {"subject": USER, "operation": "drop_table", "object": TABLE},
    "who_by_name": {"operation": "load_table", "object": TABLE},
    "which_by_name": {"subject": USER, "operation": "load_table", "type": "table"},
    "explain_by_name": {"subject": USER, "operation": "load_table", "object": TABLE},
    "what_a_leaving_user_leaves": {"subject": USER},
}


def question(auth: Authorizer, name: str) -> dict[str, Any]:
    """The parameters of a question; the last one of a question by name also names the root."""
    given = QUESTIONS[name]
    if not name.endswith("_by_name"):
        return {"root": auth.tenant, **given}
    last = list(given)[-1]
    return {**given, last: f"{given[last]} in {auth.tenant}"}


def ask_about(auth: Authorizer, folder: Path, wide: int) -> None:
    """Adds what the questions of the catalogue ask about, and writes the policy to the graph."""
    groups = [f"group:g{number}" for number in range(wide)]
    more = [("DENY", "CREATE_TABLE", "catalog:c", group) for group in groups]
    more += [("ALLOW", "MANAGE_GRANTS", str(auth.root), group) for group in groups]
    more += [("ALLOW", "MANAGE_GROUPS", str(auth.root), groups[0])]
    importer.load(auth, write(folder, grants=more))
    policy_graph.write(auth.store, auth.tenant, auth.policy)


@pytest.fixture(scope="module")
def asked(pair: list[Authorizer], tmp_path_factory: pytest.TempPathFactory) -> list[Authorizer]:
    """The same roots with what the questions of the catalogue ask about, and with the policy in the graph."""
    for auth, wide in zip(pair, (SMALL, LARGE), strict=True):
        ask_about(auth, tmp_path_factory.mktemp("more"), wide)
    return pair


@pytest.mark.parametrize("name", QUESTIONS)
def test_no_question_of_the_catalogue_multiplies_groups_by_grants(
    name: str, asked: list[Authorizer], work: Work
) -> None:
    # the plan of a text that people paste is made anew when the graph has changed; the server of the tests keeps plans
    small, large = (work.of(cypher.load(name).text, question(auth, name), "CYPHER replan=force") for auth in asked)
    assert large <= 5 * small
    assert large <= 60 * (LARGE * (2 + len(PRIVILEGES) + 2) + TABLES)  # also when groups and objects multiply


def test_a_batch_reads_what_its_checks_share_once(
    pair: list[Authorizer], work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, many = (work.sent(verbs(pair[1])[verb], monkeypatch)["check"] for verb in ("check", "check_many"))
    assert many < 4 * one  # 20 checks of one user


def test_which_does_not_multiply_roles_by_objects(module_tenant: Tenants, tmp_path: Path, work: Work) -> None:
    """Each role is allowed everything but one document, so all roles together decide about each document."""
    (tmp_path / "turns.yaml").write_text(TURNS)
    auth = module_tenant(str(tmp_path / "turns.yaml"))
    roles = [f"role:{number:04}" for number in range(LARGE)]
    docs = [f"doc:{number:04}" for number in range(TABLES)]
    importer.load(
        auth,
        write(
            tmp_path / "tables",
            subjects=[(USER,), *((role,) for role in roles)],
            objects=[(doc,) for doc in docs],
            members=[(USER, role) for role in roles],
            grants=[
                *(("ALLOW", "READ", str(auth.root), role) for role in roles),
                *(("DENY", "READ", doc, role) for doc, role in zip(docs, roles, strict=False)),
            ],
        ),
    )
    words = Which(type="doc", subject=USER, name="READ")
    name, parameters = list_query(auth.policy, auth.root, resolve(auth.policy, auth.root, words))
    assert name == "which"
    given = {"root": auth.tenant, **parameters, "after": "", "limit": TABLES}
    assert list(auth.which("doc", USER, "READ")) == docs
    assert work.of(cypher.load(name).text, given) <= 60 * (len(docs) + 3 * len(roles))


def test_what_a_leaving_user_leaves_reads_a_place_once(module_tenant: Tenants, tmp_path: Path, work: Work) -> None:
    """Each table has a grant to the user, and all tables are in a catalog with the grants of many groups."""
    auth = build(module_tenant("lakehouse"), tmp_path / "tables", LARGE, TABLES)
    tables = [f"table:c.s{number % 10}.t{number}" for number in range(TABLES)]
    importer.load(auth, write(tmp_path / "more", grants=[("ALLOW", "SELECT_TABLE", table, USER) for table in tables]))
    policy_graph.write(auth.store, auth.tenant, auth.policy)
    query, given = cypher.load("what_a_leaving_user_leaves"), {"root": auth.tenant, "subject": USER}
    assert work.of(query.text, given) <= 60 * (LARGE * (2 + len(PRIVILEGES)) + 2 * TABLES)


def test_rows_of_objects_do_not_have_the_groups(pair: list[Authorizer], work: Work) -> None:
    words = Which(type="table", subject=USER, name="load_table")
    name, parameters = list_query(pair[1].policy, pair[1].root, resolve(pair[1].policy, pair[1].root, words))
    given = {"root": pair[1].tenant, **parameters, "after": "", "limit": TABLES}
    assert work.memory(cypher.load(name).text, given) < 5e6  # each of 2,000 rows with 300 groups: 40 MB


# What the planner has counted when it plans: by type of an edge, how many start at each node of another root, and at
# how many nodes they end. A plan stays while a root grows, and the counts are those of all roots of a server.
COUNTED: dict[str, dict[str, tuple[int, int]]] = {
    "little": {},
    "grants on one place": {"ALLOW": (10, 1)},
    "everything": {
        "MEMBER_OF": (2, 100),
        "HAS_ROLE": (2, 100),
        "CHILD_OF": (1, 10),
        "ALLOW": (5, 500),
        "DENY": (1, 50),
    },
    "members": {"MEMBER_OF": (5, 100), "HAS_ROLE": (5, 100)},
    "grants": {"ALLOW": (10, 5_000)},
}
# the short form leaves out members alone and grants alone: "everything" has both
STATES = list(COUNTED)[: size(len(COUNTED), 3)]
OTHER_ROOT = """
UNWIND range(1, 5000) AS number
CREATE (node:Entity:Subject:Securable {root: 'metalake:other', ref: 'table:' + number, type: 'table'})
WITH collect(node) AS nodes
UNWIND $edges AS edge
UNWIND range(0, edge.each * size(nodes) - 1) AS at
WITH edge, nodes[at % size(nodes)] AS start, nodes[at * 7 % edge.ends] AS end
CREATE (start)-[:$(edge.type) {privilege: 'SELECT_TABLE'}]->(end)"""
REMOVE = "MATCH (node) CALL (node) { DETACH DELETE node } IN TRANSACTIONS OF 1000 ROWS"
MOST = 20  # db hits and rows of a query for each fact of a root; groups times grants would be 77 for each
PATHS = 2  # a question of the catalogue may take twice as many: it returns a path for each grant


@pytest.mark.slow
@pytest.mark.crash
def test_no_plan_depends_on_what_was_there_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(home, "SETTINGS", home.SETTINGS + "dbms.cypher.min_replan_interval=1h\n")  # plans are kept
    facts = LARGE * (2 + len(PRIVILEGES) + 2) + TABLES
    found: dict[tuple[str, str, str], float] = {}
    with own_server(tmp_path / "server") as mine:
        login = (mine.connection.user, mine.connection.password)
        with neo4j.GraphDatabase.driver(mine.connection.uri, auth=login, notifications_min_severity="OFF") as driver:
            for counted in STATES:
                kinds = COUNTED[counted]
                tiny = build(mine.tenant("metalake:tiny", "lakehouse", 60.0), tmp_path / counted / "tiny", 1, 10)
                ask_about(tiny, tmp_path / counted / "tiny more", 1)
                edges = [{"type": kind, "each": each, "ends": ends} for kind, (each, ends) in kinds.items()]
                driver.execute_query(OTHER_ROOT if edges else "RETURN $edges", edges=edges)
                # counts the indexes, too, and forgets the plans; a server counts them some seconds after a change, and
                # one that was counted as empty would be scanned by plans that are kept for an hour here
                driver.execute_query("CALL db.prepareForReplanning(60)")
                for ask in verbs(tiny).values():
                    Work(driver).sent(ask, monkeypatch)
                for name in QUESTIONS:
                    Work(driver).of(cypher.load(name).text, question(tiny, name))
                large = build(mine.tenant("metalake:ml", "lakehouse", 60.0), tmp_path / counted / "ml", LARGE, TABLES)
                ask_about(large, tmp_path / counted / "ml more", LARGE)
                for verb, ask in verbs(large).items():
                    for name, work in Work(driver).sent(ask, monkeypatch).items():
                        found[counted, verb, name] = work / facts
                for name in QUESTIONS:
                    work = Work(driver).of(cypher.load(name).text, question(large, name))
                    found[counted, "question", name] = work / facts / PATHS
                tiny.store.close()
                large.store.close()
                with driver.session() as session:
                    session.run(REMOVE).consume()
    assert {each: work for each, work in found.items() if work > MOST} == {}


@pytest.mark.slow
def test_many_groups_and_grants_are_answered(
    module_tenant: Tenants, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    auth = build(module_tenant("lakehouse"), tmp_path / "tables", WIDE, MANY_TABLES)
    checks = [(USER, "load_table", f"table:c.s{number % 10}.t{number}") for number in range(500)]
    ways: dict[str, Callable[[], object]] = {
        "check_many": lambda: all(auth.check_many(checks)),
        "which": lambda: len(list(auth.which("table", USER, "load_table"))) == MANY_TABLES,
        "who": lambda: list(auth.who("load_table", TABLE)) == ["user:ann", USER],
        "explain": lambda: auth.explain(USER, "load_table", TABLE).paths,
    }
    took = {name: min(_seconds(ask) for _ in range(3)) for name, ask in ways.items()}
    with ThreadPoolExecutor(len(ways)) as pool:  # at the same time they do not exceed the memory of the server
        assert all(pool.map(lambda ask: ask(), ways.values()))
    figures = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in took.items())
    closing_lines.lines(pytestconfig).append(
        f"one user in {WIDE:,} groups, as many grants on a catalog of {MANY_TABLES:,} tables: {figures}"
    )


def _seconds(ask: Callable[[], object]) -> float:
    start = time.perf_counter()
    assert ask()
    return time.perf_counter() - start
