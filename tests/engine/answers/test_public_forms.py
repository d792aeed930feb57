"""Texts for end users: the public forms of errors and decisions contain only names that the caller used."""

import ast
from collections.abc import Callable
from pathlib import Path

import pytest

from grantpath.engine import Authorizer, GrantpathError, Inconsistent, InvalidInput, Unavailable, Unknown, UnknownName
from grantpath.engine import __file__ as engine
from grantpath.engine.policy import policy
from grantpath.engine.tenants import opening
from grantpath.engine.transfer import importer
from grantpath.graph import errors
from grantpath.graph.client.connection import Connection
from grantpath.graph.errors import CODES, Conflict, PageExpired
from grantpath.graph.guard.store import Store
from grantpath.graph.language.statement import parse_check, parse_question, parse_statement

from ...conftest import Tenants
from ...support.sizes import say

PRODUCT = [Path(str(engine)).parent.parent / room for room in ("graph", "engine", "spark_sync")]
SECRET = "secret"
CLASSES = [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, GrantpathError)]
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
        assert CODES[error.code].public in error.public
        assert SECRET not in error.public and not any(word in error.public for word in said)
    full = [str(error) for error in errors]
    assert sum("secret_" in text for text in full) >= 5  # so that the test can fail
    assert all(len(line) < 1_000 for text in full for line in text.splitlines())
    say(capsys, f"{len(errors)} errors, {len({error.code for error in errors})} codes; {SECRET!r} in no public text")


def test_public_refusal_does_not_reveal_existence(auth: Authorizer) -> None:
    """A refused drop of a missing object and a refused addition of an existing one have the same public text."""
    texts = [f"drop {TABLE}", "drop table:c.s.nosuch", "add user:ann", "add table:c.s.new"]
    errors = [raised(lambda text=text: auth.change(text, by="user:bob")) for text in texts]  # type: ignore[misc]
    assert [error.code for error in errors] == ["refused", "unknown", "conflict", "refused"]
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
    assert (error.code, error.public) == ("unavailable", CODES["unavailable"].public)
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
    return found | {each.code for each in CLASSES}


def test_every_code_is_raised_and_has_a_meaning() -> None:
    assert codes_raised() == CODES.keys()
    assert all(code.isidentifier() and code.islower() for code in CODES)


def test_tree_in_the_docstring_has_every_class() -> None:
    assert errors.__doc__ is not None
    drawn = dict[str, str]()  # each class with its base
    above = ["GrantpathError"]
    for line in errors.__doc__.splitlines():
        if "── " in line:
            depth = line.index("──") // 4 + 1
            above[depth:] = [line.split("── ")[1].split()[0]]
            drawn[above[depth]] = above[depth - 1]
    assert drawn == {
        each.__name__: each.__base__.__name__ for each in CLASSES if each.__base__ and each is not GrantpathError
    }


def test_every_code_is_documented() -> None:
    page = Path(__file__).parents[3] / "docs" / "trust.md"
    rows = [line.split("|")[1:-1] for line in page.read_text().splitlines() if line.startswith("| `")]
    told = {cells[0].strip(" `"): [cell.strip() for cell in cells[1:]] for cells in rows if len(cells) == 5}
    said = {code: [public, str(status), "yes" if again else "no"] for code, (public, status, again) in CODES.items()}
    assert {code: told[code][1:] for code in CODES} == said
    named = {code: cells[0].replace("`", "").split(", ") for code, cells in told.items() if code in CODES}
    assert {each.__name__ for each in CLASSES} == {name for names in named.values() for name in names}
    assert all(each.__name__ in named[each.code] for each in CLASSES)


# ---- what a service does with an error -----------------------------------------------------------------------------
@pytest.mark.parametrize(
    "ask",
    [
        lambda auth: auth.check("user:bob", "lode_table", TABLE),
        lambda auth: auth.check("user:bob", "SELECT_TABEL", TABLE),
        lambda auth: auth.check("user:bob", "load_table", "tabel:c.s.t"),
        lambda auth: auth.check("user:bob", "load_catalog", TABLE),
        lambda auth: auth.check("user:bob", "associate_tags", TABLE),
        lambda auth: auth.check("user:bob", "SELECT_TABLE", TABLE, with_={"tag": "tag:x"}),
        lambda auth: auth.which("tabel", "user:bob", "SELECT_TABLE"),
        lambda auth: auth.list("tabel"),
        lambda auth: auth.grants(privilege="SELECT_TABEL"),
        lambda auth: auth.policy.check_names(["SELECT_TABLE", "load_table", "table", "veiw"]),
        lambda auth: policy.load("lakehose"),
    ],
)
def test_name_that_only_a_programmer_writes_is_a_fault_of_the_program(
    auth: Authorizer, ask: Callable[[Authorizer], object]
) -> None:
    error = raised(lambda: ask(auth))
    assert type(error) is UnknownName and not isinstance(error, Unknown)
    assert (error.status, error.retryable) == (500, False)


def test_names_of_a_service_are_checked_together(auth: Authorizer) -> None:
    auth.policy.check_names([*auth.policy.names.operation_types, *auth.policy.names.types, "SELECT_TABLE"])
    with pytest.raises(UnknownName, match=r"lode_table \(did you mean load_table .*\), tabel \("):
        auth.policy.check_names(name for name in ("lode_table", "load_table", "tabel"))
    with pytest.raises(InvalidInput):
        auth.policy.check_names("load_table")


def test_error_tells_whether_the_same_call_can_succeed_later(tenant: Tenants) -> None:
    auth = tenant("lakehouse", FACTS)
    page = auth.who("SELECT_TABLE", TABLE, limit=1)
    ahead = raised(lambda: auth.check("user:bob", "SELECT_TABLE", TABLE, at_least=page.revision + 1))
    assert (type(ahead), ahead.status, ahead.retryable) == (Inconsistent, 503, True)
    auth.change("add user:later")
    expired = raised(lambda: auth.who("SELECT_TABLE", TABLE, after="user:a", at=page.revision))
    assert (type(expired), expired.status, expired.retryable) == (PageExpired, 410, False)
    for call in (
        lambda: auth.change("add user:later"),
        lambda: auth.change("add user:new", id="x") and auth.change("add user:newer", id="x"),
        lambda: auth.change_all(["add user:newest"], at_revision=page.revision),
    ):
        conflict = raised(call)
        assert (type(conflict), conflict.status, conflict.retryable) == (Conflict, 409, False)


def test_reading_the_text_of_an_error_asks_nothing(auth: Authorizer, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = raised(lambda: auth.check("user:bob", "SELECT_TABLE", "table:c.s.secre_t"))
    outside = raised(lambda: auth.change("drop role:secret_rol"))
    decision = auth.check("user:bobb", "SELECT_TABLE", TABLE)
    monkeypatch.setattr(Store, "read", lambda *_: pytest.fail("the text of an error asks the database"))
    monkeypatch.setattr(Store, "read_guarded", lambda *_, **__: pytest.fail("the text asks the database"))
    for error in (missing, outside):
        assert "(did you mean " in str(error) and str(error) in str(error.as_dict()) and repr(error)
    assert decision.missing[0].startswith("user:bobb does not exist: add user:bobb")


@pytest.mark.parametrize("kind", CLASSES)
def test_prefix_keeps_everything_else(kind: type[GrantpathError]) -> None:
    made = kind("text")
    made.index, made.question, made.code = 3, {"verb": "check"}, "actor_refused"
    named = made.prefixed("check 3: ")
    assert (type(named), str(named)) == (kind, "check 3: text")
    assert named.__dict__ == made.__dict__ | ({"_text": "check 3: text"} if kind is Unknown else {})
    lost = Unavailable("lost", unknown=True).prefixed("statement 1: ")
    assert isinstance(lost, Unavailable) and lost.unknown and lost.code == "outcome_unknown"
