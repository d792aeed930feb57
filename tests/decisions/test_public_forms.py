"""Texts for end users: the public forms of errors and decisions contain only names that the caller used."""

import ast
from collections.abc import Callable
from pathlib import Path

import pytest

from grantpath.engine import (
    Authorizer,
    GrantpathError,
    Inconsistent,
    Invalid,
    InvalidInput,
    InvalidPolicy,
    InvalidReference,
    Refused,
    ServerError,
    Unavailable,
    Unknown,
)
from grantpath.engine import __file__ as engine
from grantpath.engine.policy import policy
from grantpath.engine.tenants import opening
from grantpath.engine.transfer import importer
from grantpath.graph.connection import Connection
from grantpath.graph.errors import PUBLIC
from grantpath.graph.statement import parse_check, parse_question, parse_statement
from grantpath.graph.store import Store

from ..conftest import Tenants
from ..support.sizes import say

PRODUCT = [Path(str(engine)).parent.parent / room for room in ("graph", "engine", "spark_sync")]
SECRET = "secret"
FACTS = [
    *("add catalog:c", "add schema:c.s", "add table:c.s.t", "add table:c.s.secret_t", "add catalog:secret_c"),
    *("add user:bob", "add user:ann", "add user:secret_user", "add group:secret_group", "add role:secret_role"),
    *("member user:bob of group:secret_group", "member group:secret_group of role:secret_role"),
    *("allow USE_CATALOG on catalog:c to role:secret_role", "deny SELECT_TABLE on schema:c.s to group:secret_group"),
    *("allow SELECT_TABLE on table:c.s.t to role:secret_role", "owner user:secret_user of catalog:c"),
]
TABLE = "table:c.s.t"


@pytest.fixture(scope="module")
def auth(module_tenant: Tenants) -> Authorizer:
    """Bob is denied by a secret group; each secret name has a similar name."""
    made = module_tenant("lakehouse", FACTS)
    made.change("add user:zed", id="secret id")
    return made


def raised(call: Callable[[], object]) -> GrantpathError:
    with pytest.raises(GrantpathError) as error:
        call()
    return error.value


def calls(auth: Authorizer, tmp_path: Path) -> list[Callable[[], object]]:
    """Calls that raise in different ways; none of their arguments contains a secret."""
    (tmp_path / "members.csv").write_text("member,of\nuser:bob,role:secret_rol\n")
    by = "user:bob"
    long = "x" * 3_000
    return [
        *(lambda name=name: auth.check(by, name, TABLE) for name in ("SELECT_TABEL", "lode_table", "x" * 300)),
        *(lambda ref=ref: auth.check(by, "SELECT_TABLE", ref) for ref in ("table:c.s.secrt_t", f"table:{long}", "t")),
        lambda: auth.check_many([(by, "SELECT_TABLE", TABLE), (by, "SELECT_TABLE", "table:c.s.scret_t")]),
        lambda: auth.check_many([(by,)]),  # type: ignore[list-item]
        lambda: auth.check("group:secre_group", "SELECT_TABLE", "table:c.s.x"),
        lambda: auth.check(by, "USE_CATALOG", "catalog:secre_c"),
        lambda: auth.check(by, "SELECT_TABLE", TABLE, with_={"k": "tag:x"}),
        lambda: auth.check(by, "SELECT_TABLE", TABLE, as_role="role:x"),
        lambda: auth.check(by, "SELECT_TABLE", TABLE, at_least=10**6),
        lambda: auth.who("SELECT_TABLE", "table:c.s.secret_"),
        lambda: auth.which("tabel", by, "SELECT_TABLE"),
        lambda: auth.explain(by, "SELECT_TABLE", "schema:c.secret"),
        *(lambda text=text: auth.change(text, by=by) for text in (f"drop {TABLE}", "add table:c.s.u", "drop user:ann")),
        *(lambda text=text: auth.change(text, by=by) for text in ("add user:ann", "drop group:x", f"add user:{long}")),
        lambda: auth.change(f"allow SELECT_TABLE on {TABLE} to role:secret_rol", by=by),
        lambda: auth.change("owner user:ann of catalog:c", by=by),
        lambda: auth.change("member group:g of group:g"),
        lambda: auth.change("drop catalog:c", by="group:x"),
        lambda: auth.change("drop user:nosuch", by="user:ann"),
        lambda: auth.change("add user:new", id="secret id"[:6] + " id"),
        lambda: auth.change_all(["add user:n1", "add user:ann"]),
        lambda: auth.change_all(["add user:n1", f"drop {TABLE}"], by=by),
        lambda: auth.change("say hello"),
        lambda: auth.log(limit=-1),
        lambda: auth.verify_log("x"),
        lambda: importer.load(auth, tmp_path),
        lambda: opening.open_root(auth.store, "metalake:secre", None),
        lambda: policy.load("lakehose"),
        lambda: parse_statement("`" + long),
        lambda: parse_check(long),
        lambda: parse_question(long),
    ]


def test_public_text_contains_only_the_callers_names(
    auth: Authorizer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    errors = [raised(call) for call in calls(auth, tmp_path)]
    said = ("user:bob", "user:ann", "c.s.t", "x" * 20)  # even the caller's names need not be repeated
    for error in errors:
        assert PUBLIC[error.code] in error.public
        assert SECRET not in error.public and not any(word in error.public for word in said)
    full = [str(error) for error in errors]
    assert sum("secret_" in text for text in full) >= 5  # so that the test can fail
    assert all(len(line) < 1_000 for text in full for line in text.splitlines())
    say(capsys, f"{len(errors)} errors, {len({error.code for error in errors})} codes; {SECRET!r} in no public text")


def test_public_refusal_does_not_reveal_existence(auth: Authorizer) -> None:
    """A refused drop of a missing object and a refused addition of an existing one have the same public text."""
    texts = [f"drop {TABLE}", "drop table:c.s.nosuch", "add user:ann", "add table:c.s.new"]
    errors = [raised(lambda text=text: auth.change(text, by="user:bob")) for text in texts]  # type: ignore[misc]
    assert [error.code for error in errors] == ["refused", "unknown", "invalid", "refused"]
    assert {error.public for error in errors} == {"this is not allowed or not possible"}
    batch = raised(lambda: auth.change_all(["add table:c.s.new"], by="user:bob"))
    assert batch.public == "number 0: this is not allowed or not possible"


def test_a_decision_has_a_public_form(auth: Authorizer) -> None:
    no = auth.check("user:bob", "SELECT_TABLE", TABLE)
    assert not no and SECRET in str(no.missing)
    assert no.public == f"not allowed: user:bob SELECT_TABLE on {TABLE}"
    yes = auth.check("user:bob", "USE_CATALOG", "catalog:c")
    assert yes and SECRET in str(yes.because)
    assert yes.public == "allowed: user:bob USE_CATALOG on catalog:c"
    assert [each.public for each in auth.check_many([("user:bob", "SELECT_TABLE", TABLE)])] == [no.public]
    explained = auth.explain("user:bob", "SELECT_TABLE", TABLE)
    assert SECRET in str(explained.paths) and explained.public == no.public
    long = auth.check("user:" + "x" * 200, "SELECT_TABLE", TABLE)
    assert long.public == f"not allowed: user:{'x' * 72}... SELECT_TABLE on {TABLE}"


def test_a_failure_of_the_server_has_a_code(server: Connection) -> None:
    error = raised(lambda: Store(Connection("bolt://127.0.0.1:9", "neo4j", "x"), 1).read("RETURN 1", {}))
    assert (error.code, error.public) == ("unavailable", PUBLIC["unavailable"])
    unknown = Unavailable("x", unknown=True)
    assert (unknown.code, unknown.unknown) == ("outcome_unknown", True)


# ---- codes -----------------------------------------------------------------------------------------------------------
def codes_raised() -> set[str]:
    """Each code=... in the product's source, and the code of each class."""
    found = set[str]()
    for room in PRODUCT:
        for file in room.rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text())):
                if isinstance(node, ast.keyword) and node.arg == "code":
                    values = [each for each in ast.walk(node.value) if isinstance(each, ast.Constant)]
                    found.update(each.value for each in values if isinstance(each.value, str))
    classes = (GrantpathError, Invalid, InvalidInput, InvalidPolicy, InvalidReference, Unknown)
    return found | {each.code for each in (*classes, Refused, Unavailable, Inconsistent, ServerError)}


def test_every_code_is_raised_and_has_a_public_text() -> None:
    assert codes_raised() == PUBLIC.keys()
    assert all(code.isidentifier() and code.islower() for code in PUBLIC)


def test_every_code_is_documented() -> None:
    page = Path(__file__).parents[2] / "docs" / "trust.md"
    rows = [line.split("|")[1:3] for line in page.read_text().splitlines() if line.startswith("| `")]
    documented = {code.strip(" `"): text.strip() for code, text in rows}
    assert {code: documented.get(code) for code in PUBLIC} == PUBLIC
