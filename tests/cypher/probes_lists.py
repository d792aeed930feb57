"""Probes of who and which: their answers in small worlds must agree with the oracle."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from grantpath.engine import Authorizer
from grantpath.graph.language.statement import Which, Who

from ..conftest import Tenants
from .probe import Probe, always
from .probes_questions import Twin, heeding


def probes(worlds: list[Twin]) -> Iterator[Probe]:
    """The expected answers; which_below.cypher must answer what which.cypher answers, too."""
    for world in worlds:
        yield from lists(world)
        for query in ("who", "which", "which_below"):
            name = f"pages of {query}, {world.graph.policy.name}"
            yield Probe(name, query, partial(_page_sizes, world, query), always([]))
        yield heeding(world.graph, "which_below", partial(_asked_below, world))


TURNS = """\
policy: turns
types:
  org: {}
  user: {in: org, kind: user}
  role: {in: org, kind: role}
  doc: {in: org}
members: {role: user}
grants: {to: role, deny: true}
ask: {subjects: user, one_role: true}
privileges:
  READ: {on: "org, doc"}
operations: {}
"""


def one_role_at_a_time(tenants: Tenants, folder: Path) -> Iterator[Probe]:
    """Two roles, each with a DENY inside of what it has: what both allow is listed once."""
    (folder / "turns.yaml").write_text(TURNS)
    facts = [*(f"add doc:{name}" for name in "abc"), "member user:u of role:q", "member user:u of role:r"]
    facts += ["allow READ on org:ml to role:q", "allow READ on org:ml to role:r"]
    facts += ["deny READ on doc:a to role:q", "deny READ on doc:b to role:r"]
    graph = tenants(str(folder / "turns.yaml"), ["add role:q", "add role:r", *facts])
    for query in ("which", "which_below"):
        yield Probe(
            f"one role at a time, {query}", query, partial(_docs, graph, query), always(["doc:a", "doc:b", "doc:c"])
        )


NESTED = """\
policy: nested
types:
  org: {}
  folder: {in: "org, folder"}
  doc: {in: "org, folder"}
  user: {in: org, kind: user}
grants: {to: user, inherit: false}
privileges:
  READ: {on: "folder, doc"}
  LIST: {on: "org, folder"}
operations:
  doc:
    view: READ or LIST(parent)
    complete: every(READ in doc below folder)
    glance: READ or everyone
  user: {greet: "self(object) or everyone"}
"""


def in_themselves(tenants: Tenants, folder: Path) -> Iterator[Probe]:
    """Folders in folders: what a grant on one of them means depends on how deep it is."""
    (folder / "nested.yaml").write_text(NESTED)
    facts = [
        "add folder:a",
        "add folder:a.b",
        "add folder:c",
        *(f"add doc:{name}" for name in ("t", "a.x", "a.b.x", "c.y")),
    ]
    facts += ["allow READ on doc:a.b.x to user:u", "allow LIST on folder:a to user:u"]
    graph = tenants(str(folder / "nested.yaml"), facts)
    every = ["doc:a.b.x", "doc:a.x", "doc:c.y", "doc:t"]
    for name, wanted in (("view", ["doc:a.b.x", "doc:a.x"]), ("complete", ["doc:a.b.x"]), ("glance", every)):
        look = partial(_whole, graph, name)
        yield Probe(f"types in themselves, {name}", "which_below lengths", look, always(wanted))
    yield Probe("objects that are not in the tree", "which_below", partial(_users, graph), always(["user:u"]))


def _whole(graph: Authorizer, name: str) -> list[str]:
    return list(graph.which("doc", "user:u", name))


def _users(graph: Authorizer) -> list[str]:
    with asking_below(graph):
        return list(graph.which("user", "user:u", "greet"))


def _docs(graph: Authorizer, query: str) -> list[str]:
    with asking_below(graph) if query == "which_below" else nullcontext():
        return list(graph.which("doc", "user:u", "READ"))


def lists(world: Twin) -> Iterator[Probe]:
    """Both lists that follow from each check: whole lists and second pages."""
    whos = dict.fromkeys(_key(Who(name=c.name, object=c.object, with_=c.with_)) for c in world.checks)
    for who in whos:
        asked = Who.model_validate_json(who)
        yield Probe(f"who {who}", "who", partial(_who, world, asked), partial(_all_who, world, asked))
    whiches = dict.fromkeys(
        _key(Which(type=c.object.partition(":")[0], subject=c.subject, name=c.name, with_=c.with_, as_role=c.as_role))
        for c in world.checks
    )
    for which in whiches:
        it = Which.model_validate_json(which)
        wanted = partial(_all_which, world, it)
        yield Probe(f"which {which}", "which", partial(_which, world, it), wanted)
        yield Probe(f"which_below {which}", "which_below", partial(_which_below, world, it), wanted)


def _key(question: Who | Which) -> str:
    return question.model_dump_json()


def _pages(found: set[str]) -> tuple[list[str], list[str]]:
    """The list, and the page of one after its first entry."""
    ordered = sorted(found, key=str.encode)
    return ordered, ordered[1:2] if ordered else []


def _who(world: Twin, asked: Who) -> tuple[list[str], list[str]]:
    whole = list(world.graph.who(asked.name, asked.object, with_=asked.with_))
    if not whole:
        return [], []
    return whole, list(world.graph.who(asked.name, asked.object, with_=asked.with_, after=whole[0], limit=1))


def _which(world: Twin, asked: Which) -> tuple[list[str], list[str]]:
    words, more = (asked.type, asked.subject, asked.name), {"with_": asked.with_, "as_role": asked.as_role}
    whole = list(world.graph.which(*words, **more))  # type: ignore[arg-type]
    if not whole:
        return [], []
    return whole, list(world.graph.which(*words, **more, after=whole[0], limit=1))  # type: ignore[arg-type]


def _which_below(world: Twin, asked: Which) -> tuple[list[str], list[str]]:
    with asking_below(world.graph):
        return _which(world, asked)


@contextmanager
def asking_below(graph: Authorizer) -> Iterator[None]:
    """While the block runs, which_below.cypher answers the questions of which.cypher, too."""
    ask = graph.ask

    def below(name: str, **words: Any) -> Any:
        if name == "which":
            name, more = (
                "which_below",
                {"builtin_types": words.pop("builtin"), "below": False, "every": [], "nested": [], "length": None},
            )
            words |= more
        return ask(name, **words)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(graph, "ask", below)
        yield


def _asked_below(world: Twin) -> None:
    check = world.checks[0]
    with asking_below(world.graph):
        list(world.graph.which(check.object.partition(":")[0], check.subject, check.name))


def _page_sizes(world: Twin, query: str) -> list[tuple[int, int]]:
    """Pages of the database that are longer than requested, which the authorizer would cut."""
    with asking_below(world.graph) if query == "which_below" else nullcontext():
        return _too_long(world, query)


def _too_long(world: Twin, query: str) -> list[tuple[int, int]]:
    graph, pages, ask = world.graph, list[tuple[int, int]](), world.graph.ask

    def listening(name: str, **words: Any) -> Any:
        row = ask(name, **words)
        pages.append((len(row["answer"]), words["limit"]))
        return row

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(graph, "ask", listening)
        for check in world.checks:
            if query == "who":
                list(graph.who(check.name, check.object, with_=check.with_, limit=1))
            else:
                list(graph.which(check.object.partition(":")[0], check.subject, check.name, with_=check.with_, limit=1))
    assert any(found == asked for found, asked in pages), "no page was full"
    return [page for page in pages if page[0] > page[1]]


def _all_who(world: Twin, asked: Who) -> tuple[list[str], list[str]]:
    return _pages(world.oracle.who(asked.name, asked.object, asked.with_))


def _all_which(world: Twin, asked: Which) -> tuple[list[str], list[str]]:
    return _pages(world.oracle.which(asked.type, asked.subject, asked.name, asked.with_, asked.as_role))
