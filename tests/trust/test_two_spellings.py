"""Two spellings of one entity have the same answers, wherever a reference can be passed.

The parameters are found by signature: a new one must be named in one of the tables below, and is then tried.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest
import typer.main
from pydantic import BaseModel

from grantpath.engine import AsyncAuthorizer, Authorizer, Change, Check, GrantpathError, Listing
from grantpath.engine.cli.context import SHARED
from grantpath.engine.cli.main import app
from grantpath.engine.past.past_root import PastRoot
from grantpath.engine.tenants import registry
from grantpath.graph.guard.store import Store

from ..conftest import Tenants
from ..support.command_line import Run, run
from ..support.with_replica import with_replica

__all__ = ["run"]

USER, ROLE = "user:ann.lee@corp.example", "role:r.s"
TABLE, SCHEMA = "table:hr.s.`t.x`", "schema:hr.s"
SPELLED = {
    USER: "user:`ann.lee@corp.example`",
    ROLE: "role:`r.s`",
    TABLE: "table:`hr`.s.`t.x`",
    SCHEMA: "schema:`hr`.`s`",
    "user:bob": "user:`bob`",
    "catalog:hr": "catalog:`hr`",
    "table:hr.s.u": "table:hr.s.`u`",
    "organization:acme": "organization:`acme`",
    "kim": "`kim`",  # a new name
    "tag:pii": "tag:`pii`",
}
GRANT = f"allow SELECT_TABLE on {TABLE} to {ROLE}"
FACTS = [
    *("add catalog:hr", f"add {SCHEMA}", f"add {TABLE}", "add table:hr.s.u", f"add {ROLE}", "add tag:pii"),
    *(f"member {USER} of {ROLE}", f"member user:bob of {ROLE}", f"owner {USER} of {TABLE}"),
    *(f"allow USE_CATALOG on catalog:hr to {ROLE}", f"allow USE_SCHEMA on catalog:hr to {ROLE}"),
    *(GRANT, f"allow SELECT_TABLE on table:hr.s.u to {ROLE}", "owner user:bob of tag:pii"),
]
ACTIVE = ["add role:r.s", f"member {USER} of {ROLE}", f"allow CREATE_DATABASE on organization:acme to {ROLE}"]

# What an authorizer has for other code of the package.
INTERNAL = {"ask", "at_one_revision", "follow", "near", "require_existing", "operator", "store_type"}
# The parameters that are no references. `log` takes revisions as `after` and `before`.
OTHER_PARAMETERS = {
    "each",
    *(
        "all",
        "as_of",
        "at",
        "at_least",
        "at_revision",
        "auth",
        "before",
        "ca",
        "create",
        "dry_run",
        "effect",
        "effects",
    ),
    *("follow_policy", "head", "id", "like", "limit", "name", "policy", "privilege", "progress", "refused", "replica"),
    *("replica_memory", "root_id", "since", "snapshots", "stall_limit", "timeout", "type", "until", "uri"),
    *("within", "without_owner", "names"),  # `reference` takes raw names
}
# By parameter, or by method and parameter: what is passed.
SAMPLES: dict[str, Any] = {
    "subject": USER,
    "object": TABLE,
    "ref": USER,
    "container": ROLE,
    "member": USER,
    "actor": USER,
    "by": USER,
    "under": SCHEMA,
    "owned_by": USER,
    "on": TABLE,
    "to": ROLE,
    "with_": {"tag": "tag:pii"},
    "as_role": ROLE,
    "statement": GRANT,
    "statements": [GRANT],
    "checks": [(USER, "SELECT_TABLE", TABLE)],
    "objects": [TABLE],
    "table": {"subject": [USER], "name": ["SELECT_TABLE"], "object": [TABLE]},
    "former": USER,
    "from_": ROLE,
    "owner": USER,
    "set_owner.ref": TABLE,
    "rename.to": "kim",
    "move.ref": TABLE,
    "move.to": SCHEMA,
    "tag.ref": TABLE,
    "tag.with_": "tag:pii",
    "untag.ref": TABLE,
    "untag.from_": "tag:pii",
    "added": [f"allow SELECT_TABLE on {SCHEMA} to {ROLE}"],
    "removed": [GRANT],
    "who.after": "user:bob",
    "which.after": "table:hr.s.u",
    "list.after": "table:hr.s.u",
    "grants.after": GRANT,
    "members.after": USER,
    "memberships.after": ROLE,
    "root": "metalake:ml",
}
# What else a call needs, by parameter, or by method and parameter.
NEEDED: dict[str, Any] = {"name": "SELECT_TABLE", "type": "table", "who.type": "user", "dry_run": True}


def spelled(value: Any) -> Any:
    """The value with every reference in another spelling."""
    if isinstance(value, str):
        return " ".join(SPELLED.get(word, word) for word in value.split(" "))
    if isinstance(value, Mapping):
        return {key: spelled(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(spelled(each) for each in value)
    return value


def methods(of: type) -> Iterator[tuple[str, Callable[..., Any]]]:
    for name, method in inspect.getmembers(of, callable):
        if not name.startswith("_") and name not in INTERNAL:
            yield name, method


def sample(method: str, parameter: inspect.Parameter) -> Any:
    """What is passed for a parameter that is a reference; None for others. Fails for one that no table names."""
    name = parameter.name
    if name in ("after", "before") and "int" in str(parameter.annotation):
        return None
    found = SAMPLES.get(f"{method}.{name}", SAMPLES.get(name))
    known = found is not None or name in OTHER_PARAMETERS or (method == "effects_of" and name == "at")
    assert known, f"{method}({name}): does it accept a reference? name it in SAMPLES or in OTHER_PARAMETERS"
    return found


def plain(value: Any) -> Any:
    """An answer or an error as plain data."""
    if isinstance(value, GrantpathError):
        return type(value).__name__, str(value), value.question
    if isinstance(value, Listing):
        value = value.read()
    if isinstance(value, BaseModel):
        return value.model_dump(exclude={"id"} if isinstance(value, Change) else None)  # the id of a dry run is random
    if isinstance(value, pa.Table):
        return value.to_pydict()
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return value


def told(call: Callable[[], Any]) -> Any:
    try:
        return plain(call())
    except GrantpathError as error:
        return plain(error)


def compare(auth: Authorizer, samples: Mapping[str, Any], needed: Mapping[str, Any]) -> tuple[int, int]:
    """Passes each parameter of each method in two spellings. Returns the numbers of comparisons and of errors."""
    compared, errors = 0, 0
    for method, function in methods(type(auth)):
        if method in ("open", "drop_root"):
            continue
        parameters = [*inspect.signature(function).parameters.values()][1:]
        if method == "question":  # its `**parameters` are those of a query: test_catalogue_answers.py passes them
            parameters = [each for each in parameters if each.kind is not inspect.Parameter.VAR_KEYWORD]
        verb = any(each.name == "options" for each in parameters)  # they are those of `change`
        parameters = [each for each in parameters if each.name != "options"]
        given = {each.name: sample(method, each) for each in parameters}
        optional = {each.name for each in parameters if each.default is not inspect.Parameter.empty}
        references = {name: value for name, value in given.items() if value is not None}
        for name in references:
            arguments = {key: needed.get(f"{method}.{key}", value) for key, value in needed.items() if key in given}
            if verb:
                arguments |= {"dry_run": True, **({"privilege": "SELECT_TABLE"} if "privilege" in given else {})}
            if method == "effects_of":
                arguments["at"] = auth.revision_now()
            arguments |= {key: value for key, value in references.items() if key == name or key not in optional}
            if name == "with_" and not verb:
                arguments |= {"name": "associate_object_tags", "object": "table:hr.s.u"}
                arguments = {key: value for key, value in arguments.items() if key in given}
            canonical = told(lambda: getattr(auth, method)(**arguments))  # noqa: B023
            other = told(lambda: getattr(auth, method)(**{**arguments, name: spelled(arguments[name])}))  # noqa: B023
            assert spelled(arguments[name]) != arguments[name], (method, name)
            kept = method in ("filter", "check_table") and other == spelled(canonical)  # as they were given
            assert other == canonical or kept, (method, name)
            compared += 1
            errors += isinstance(canonical, tuple)
    return compared, errors


@pytest.fixture(scope="module")
def auth(module_tenant: Tenants) -> Authorizer:
    return module_tenant("gravitino", FACTS)


def test_every_parameter_of_the_api_accepts_each_spelling(auth: Authorizer) -> None:
    compared, errors = compare(auth, SAMPLES, NEEDED)
    print(f"parameters in two spellings: {compared} compared, {errors} with the same error")
    assert compared > 60 and errors < 18
    assert compare(with_replica(auth), SAMPLES, NEEDED)[0] == compared


def test_an_active_role_is_accepted_in_each_spelling(tenant: Tenants) -> None:
    auth = tenant("deltastream", ACTIVE, root="acme")
    asked = (USER, "CREATE_DATABASE", "organization:acme")
    first = auth.check(*asked, as_role=ROLE)
    second = auth.check(*map(spelled, asked), as_role=spelled(ROLE))
    assert first and first == second and first.because == second.because
    assert first.question == Check(subject=USER, name=asked[1], object=asked[2], as_role=ROLE)


def test_async_methods_are_those_of_the_api() -> None:
    sync = dict(methods(Authorizer))
    for name, method in methods(AsyncAuthorizer):
        if name in ("open", "drop_root"):
            continue
        there = [each.name for each in inspect.signature(method).parameters.values()]
        assert there == [each.name for each in inspect.signature(sync[name]).parameters.values()], name


def test_methods_of_a_past_root_accept_each_spelling(auth: Authorizer) -> None:
    past = auth.past(auth.revision_now())
    resolved = {"answers", "deciding", "listing", "verdicts"}  # these take questions that are resolved
    public = {name for name, _ in methods(PastRoot)} - resolved
    assert public == {"answer"}
    for question in (
        f"who can SELECT_TABLE on {TABLE}",
        f"which table can {USER} SELECT_TABLE",
        f"{USER} can SELECT_TABLE on {TABLE}",
        f"{USER} can associate_object_tags on {TABLE} with tag=tag:pii",
    ):
        assert told(lambda: past.answer(spelled(question))) == told(lambda: past.answer(question))  # noqa: B023
    for call in (
        lambda spell: auth.check(spell(USER), "SELECT_TABLE", spell(TABLE), as_of=past),
        lambda spell: auth.who("SELECT_TABLE", spell(TABLE), after=spell(USER), as_of=past),
        lambda spell: auth.which("table", spell(USER), "SELECT_TABLE", after=spell(TABLE), as_of=past),
        lambda spell: auth.show(spell(TABLE), as_of=past),
        lambda spell: auth.explain(spell(USER), "SELECT_TABLE", spell(TABLE), as_of=past),
    ):
        assert told(lambda: call(spelled)) == told(lambda: call(lambda text: text))  # noqa: B023


# ---- the command line ------------------------------------------------------------------------------------------------
# By metavar, or by command and parameter: what is passed.
WORDS: dict[str, str] = {
    "SUBJECT": USER,
    "REF": TABLE,
    "ROLE": ROLE,
    "KEY=REF": "tag=tag:pii",
    "GRANT": GRANT,
    "[STATEMENT]": GRANT,
    "members ref": ROLE,
    "show ref": USER,
    "who after": USER,
    "which after": "table:hr.s.u",
    "list under": SCHEMA,
    "list after": "table:hr.s.u",
    "list owned_by": USER,
    "members after": USER,
    "memberships after": ROLE,
    "grants to": ROLE,
    "question values": f"group={ROLE}",
}
OTHER_WORDS = {
    *(None, "A", "B", "DIR", "FILE", "FILE...", "HASH", "ID", "LINE", "MIB", "N", "NAME", "NAME,NAME", "OUT"),
    *("OTHER", "TABLE,TABLE"),
    *("PRIVILEGE", "REVISION", "REVISION|TIME", "SNAPSHOT", "TIME", "TIME|REVISION", "TYPE", "[ROOT]"),
    "SQL",  # it is for DuckDB, which compares texts
    "QUESTION",  # of `ask`, which needs a snapshot: `PastRoot.answer` parses and resolves the same text
    "TEXT",  # a part of a name, in `list --like`
}
REQUIRED = {"NAME": "SELECT_TABLE", "TYPE": "table", "question name": "who_is_in_a_group"}
# Commands that act on whole roots: `by` is recorded only. Their own tests pass it.
WHOLE = {"load", "roots drop", "policy upgrade", "plan", "apply"}


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    if below := getattr(command, "commands", None):
        for name, each in below.items():
            yield from commands(each, (*path, name))
    else:
        yield " ".join(path), command


def word_of(command: str, param: Any) -> str | None:
    found = WORDS.get(f"{command} {param.name}", WORDS.get(param.metavar or ""))
    assert found or param.metavar in OTHER_WORDS, f"{command} {param.name}: does {param.metavar} accept a reference?"
    return found


@pytest.fixture(scope="module")
def root(store: Store) -> Iterator[str]:
    """A root that the command line can open."""
    name = f"metalake:spellings-{uuid4().hex[:8]}"
    with Authorizer.open(name, "gravitino", create=True) as auth:
        assert not any(auth.given(FACTS))
    yield name
    registry.remove(store, name)


def test_every_option_of_the_command_line_accepts_each_spelling(root: str, run: Run) -> None:
    compared = 0
    for command, entry in commands(typer.main.get_command(app)):
        params = [each for each in entry.params if each.name not in SHARED]
        words = {each.name: word_of(command, each) for each in params}
        for wanted in params:
            if words[wanted.name] is None or command in WHOLE:
                continue

            def line(spell: Callable[[str], Any]) -> list[str]:
                """The command line, with the argument in question as `spell` writes it."""
                found = [*command.split(), "--root", root]  # noqa: B023
                for each in params:  # noqa: B023
                    word = words[each.name]  # noqa: B023
                    asked = each is wanted  # noqa: B023
                    if each.param_type_name == "argument":
                        text = word or REQUIRED.get(f"{command} {each.name}") or REQUIRED[each.metavar]  # noqa: B023
                        found.append(spell(text) if asked else text)
                    elif asked and word:
                        found += [each.opts[0], spell(word)]
                return [*found, "--dry-run"] if command == "change" else found  # noqa: B023

            def other(text: str) -> str:
                key, equals, ref = text.partition("=")
                return f"{key}={spelled(ref).replace('tag:pii', 'tag:`pii`')}" if equals else str(spelled(text))

            for form in ([], ["--json"]):
                first, second = run(*line(str), *form), run(*line(other), *form)
                assert line(other) != line(str)
                assert (second.code, second.out, second.err) == (first.code, first.out, first.err), (
                    command,
                    wanted.name,
                )
                compared += 1
    type_, _, name = root.partition(":")
    for spelling in (name, f"`{name}`", f"{type_}:`{name}`"):
        assert run("list", "table", "--root", spelling).out == run("list", "table", "--root", root).out != ""
    print(f"arguments of commands in two spellings: {compared} compared")
    assert compared > 70
