"""Hostile words are plain data, read back unchanged, or are refused by name; none reaches the database as query text.

GRANTPATH_TRUST=full tries all of them, otherwise a part; GRANTPATH_SEED chooses others.
"""

import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from grantpath.engine import Authorizer
from grantpath.engine.policy import policy
from grantpath.graph.errors import GrantpathError, Invalid, InvalidInput, Refused
from grantpath.graph.language.reference import MAX_REFERENCE_BYTES, MAX_SEGMENT_BYTES, parse
from grantpath.graph.language.statement import MAX_LINE, parse_statement

from ..conftest import Closing, Tenants
from ..oracle import oracle
from ..support.hostile_words import Words, tapped
from ..support.sizes import size
from ..support.twin import SEED

pytestmark = pytest.mark.trust

REFERENCES = size(40_000, 4_000)
STATEMENTS = size(30_000, 1_500)
PARAMETERS = size(20_000, 800)
BATCH = 250
SLOWEST = 15.0  # seconds of this process that one try may take
BIG = "x" * 10_000_000
HALF = "\ud800"
FEW = ["add role:r", "add catalog:c", "member user:bob of role:r", "allow USE_CATALOG on catalog:c to role:r"]
POLICY = policy.load("gravitino")
ROOT = POLICY.root("ml")


class Tries:
    """Counts accepted and refused words by kind, and limits the time of each."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.count: Counter[str] = Counter()
        self.slowest = 0.0

    def __call__(self, work: Callable[[], Any]) -> tuple[Any, GrantpathError | None]:
        """The result: a value, or an error of grantpath with a short message."""
        began = time.process_time()
        try:
            value, error = work(), None
        except GrantpathError as refused:
            value, error = None, refused
            assert isinstance(refused, Invalid | Refused), refused
            assert 10 < len(str(refused)) < 12_000
        self.slowest = max(self.slowest, time.process_time() - began)
        assert self.slowest < SLOWEST
        self.count["refused" if error else "accepted"] += 1
        return value, error

    def summary(self, least_accepted: int, least_refused: int) -> str:
        """The counts as a line; checks that there are enough of each kind."""
        accepted, refused = self.count["accepted"], self.count["refused"]
        assert accepted >= least_accepted and refused >= least_refused, self.count
        return (
            f"hostile {self.kind}: {accepted + refused:,} tried, {accepted:,} accepted as data, {refused:,} refused"
            + (f", the slowest took {self.slowest:.2f} s" if self.slowest else "")
            + f"; seed {SEED}"
        )


def state(graph: Authorizer) -> dict[str, list[str]]:
    """All facts of a tenant, sorted."""
    row = graph.ask("tenant_state")
    return {part: sorted(map(repr, (sorted(each.items()) for each in row[part]))) for part in ("entities", "edges")}


def test_hostile_references_are_data_or_refused(closing: Closing) -> None:
    words, tries = Words(f"references {SEED}"), Tries("references")
    spelled: dict[str, tuple[str, tuple[str, ...]]] = {}
    for _ in range(REFERENCES):
        text = words.reference()
        ref, _ = tries(lambda: POLICY.reference(text, ROOT))  # noqa: B023
        if ref is not None:
            assert parse(ref.text, POLICY.names.one_segment) == ref
            assert spelled.setdefault(ref.text, (ref.type, ref.segments)) == (ref.type, ref.segments)
            for segment in ref.segments:
                assert segment.replace("`", "``") in text or segment in text
                assert 0 < len(segment.encode()) <= MAX_SEGMENT_BYTES and "\0" not in segment
    assert len(set(spelled.values())) == len(spelled) >= REFERENCES // 10
    closing(
        f"{tries.summary(REFERENCES // 5, REFERENCES // 5)}; {len(spelled):,} different ones, none taken for another"
    )


def test_references_and_lines_have_limits() -> None:
    longest = "x" * MAX_SEGMENT_BYTES
    assert parse(f"catalog:{longest}").name == longest
    assert parse("table:" + ".".join(["x"] * ((MAX_REFERENCE_BYTES - 6) // 2))).type == "table"
    line = "add " + "x" * (MAX_LINE - 4)
    assert parse_statement(line).text == line
    too_much: list[Callable[[], Any]] = [
        lambda: parse(f"catalog:{longest}x"),
        lambda: parse("table:" + ".".join(["x"] * MAX_REFERENCE_BYTES)),
        lambda: parse_statement(line + "x"),
        lambda: parse_statement("`" * (MAX_LINE + 2)),
        lambda: POLICY.reference(f"{BIG}:a", ROOT),
        lambda: POLICY.reference(f"table:{BIG}", ROOT),
        lambda: POLICY.reference("." * 1_000_000, ROOT),
        lambda: POLICY.reference("table:" + "`" * 1_000_001, ROOT),
        lambda: POLICY.question(BIG, "table"),
        lambda: POLICY.question(BIG.upper(), "table"),
        lambda: POLICY.question("load_table", "table", frozenset([BIG])),
        lambda: POLICY.names.check_type(BIG),
        lambda: POLICY.root(BIG),
        lambda: policy.load(BIG),
        lambda: policy.load("/".join(["x"] * 5_000)),
    ]
    tries = Tries("sizes")
    for work in too_much:
        assert tries(work)[1] is not None
    assert tries.count["refused"] == len(too_much)


def test_hostile_statements_are_data_or_refused(tenant: Tenants, closing: Closing) -> None:
    """The accepted statements and the resulting graph agree with the oracle exactly."""
    words, tries = Words(f"statements {SEED}"), Tries("statements")
    beside, graph, world = tenant("gravitino", FEW), tenant("gravitino", FEW), oracle("gravitino", "ml")
    for fact in FEW:
        assert world.given(fact) == "done"
    untouched = state(beside)
    with tapped() as wire:
        for start in range(0, STATEMENTS, BATCH):
            batch = [words.statement() for _ in range(BATCH)]
            if start == 0:
                batch += [f"add user:{BIG}", f"member user:`{HALF}` of group:g", "add user:a\0b"]
            began = time.process_time()
            problems = graph.given(batch)
            assert time.process_time() - began < SLOWEST * 4
            for statement, problem in zip(batch, problems, strict=True):
                expected = "invalid" if too_odd(statement) else world.given(statement)
                assert (problem is None) == (expected == "done"), (statement, problem)
                assert problem is None or 10 < len(problem) < 50_000
                tries.count["refused" if problem else "accepted"] += 1
    there = {entity["ref"] for entity in graph.ask("tenant_state")["entities"]} - {*POLICY.builtins}
    named = {ref for ref in there if not ref.startswith(("user:", "group:"))}  # a fact that mentions these adds them
    assert named == {str(ref) for ref in world.existing if ref.type not in ("user", "group")} - {*POLICY.builtins}
    assert there >= {str(ref) for ref in world.existing} - {*POLICY.builtins}
    assert set(grants(graph)) == {
        (effect.upper(), privilege, str(object_), str(subject)) for effect, privilege, object_, subject in world.grants
    }
    assert state(beside) == untouched
    stored = {entry.statement for entry in graph.log(limit=STATEMENTS * 3)}
    assert stored and not any(too_odd(statement) for statement in stored)
    assert not wire.strange, wire.strange[:3]
    assert wire.sent > STATEMENTS // BATCH
    closing(
        f"{tries.summary(STATEMENTS // 20, STATEMENTS // 5)}; {len(named):,} roles and catalogs, exactly the oracle's"
    )


def grants(graph: Authorizer) -> list[tuple[str, str, str, str]]:
    """The grants of a tenant."""
    edges = [edge for edge in graph.ask("tenant_state")["edges"] if edge["privilege"]]
    return [(edge["kind"], edge["privilege"], edge["target"], edge["source"]) for edge in edges]


def too_odd(statement: str) -> bool:
    """Does it contain characters that no name may contain, or is it too long for a line?"""
    return "\0" in statement or len(statement) > MAX_LINE or any("\ud800" <= char <= "\udfff" for char in statement)


def test_arguments_of_wrong_types_are_refused(tenant: Tenants) -> None:
    """Python does not enforce types, so each wrong type raises an error of grantpath, not a TypeError."""
    auth: Any = tenant(given=FEW)
    on = ("USE_CATALOG", "catalog:c")
    works: tuple[Callable[[], object], ...] = (
        *(lambda wrong=wrong: auth.who(*on, limit=wrong) for wrong in ("a", 2.5, True, 2**63, -1)),
        *(lambda wrong=wrong: auth.who(*on, after=wrong) for wrong in ("", 5)),
        *(lambda wrong=wrong: auth.who(*on, with_=wrong) for wrong in ("x", 5, [1])),
        lambda: auth.which("catalog", "user:bob", on[0], with_="x"),
        lambda: auth.check("user:bob", *on, with_="x"),
        *(lambda wrong=wrong: auth.check_many(wrong) for wrong in (5, None, "user:bob", b"user:bob")),
        *(lambda wrong=wrong: auth.change_all(wrong) for wrong in (None, "add user:x", b"add user:x")),
        *(lambda wrong=wrong: auth.given(wrong) for wrong in (None, 5, "add user:x", b"add user:x")),
        *(lambda wrong=wrong: Authorizer.open(wrong, "gravitino") for wrong in (5, None)),
        *(lambda wrong=wrong: Authorizer.open("ml", wrong) for wrong in (5, b"gravitino")),
        lambda: Authorizer.open("ml", "gravitino", uri=5),  # type: ignore[arg-type]
    )
    for work in works:
        with pytest.raises(Invalid, match=r"limit=|after=|with_=|not a check|not a list|root=|policy=|uri="):
            work()
    calls: tuple[Callable[[Any], object], ...] = (auth.check_many, auth.change_all, auth.given)
    for call in calls:
        with pytest.raises(InvalidInput, match=r"^'add user:x' is not a list of \w+; wrap a single one in a list$"):
            call("add user:x")
    stored = auth.given([5, b"add user:x", None, "add user:x"])
    assert [str(problem).partition(";")[0] for problem in stored] == [
        *("5 is not a string", "b'add user:x' is not a string", "None is not a string", "None")
    ]
    assert list(auth.who(*on, limit=1)) == ["user:bob"]


def test_single_changes_are_stored_unchanged(tenant: Tenants) -> None:
    graph, words, kept = tenant("gravitino", FEW), Words(f"changes {SEED}"), 0
    for number in range(60):
        name = f"{number}{words.name()}".replace("\0", "0")
        if too_odd(name) or len(name.encode()) > MAX_SEGMENT_BYTES:
            continue
        before = state(graph)
        quoted = "`" + name.replace("`", "``") + "`"
        statement = f"add catalog:{quoted}"
        change = graph.change(statement, id=f"c{number}")
        after = state(graph)
        assert after["edges"] == before["edges"]
        new = set(after["entities"]) - set(before["entities"])
        assert len(new) == 1 and set(before["entities"]) < set(after["entities"])
        entry = graph.log(id=change.id)[0]
        assert parse(entry.object or "").name == name
        assert entry.statement == change.question.statement == f"add {parse(f'catalog:{quoted}').text}"
        assert list(graph.which("catalog", "user:bob", "USE_CATALOG")) == ["catalog:c"]
        kept += 1
    assert kept > 30


def test_hostile_parameters_are_data_or_refused(tenant: Tenants, closing: Closing) -> None:
    """Every question is answered no or refused, and the graph is unchanged."""
    words, tries = Words(f"parameters {SEED}"), Tries("parameters")
    graph = tenant("gravitino", FEW)
    before, revision = state(graph), graph.revision_now()
    with tapped() as wire:
        for number in range(PARAMETERS):
            word, ref, user = words.name(), words.reference(), words.reference(["user", "user", "role"])
            if number % 100 == 0:
                word, ref, user = (BIG, HALF, user) if number % 200 else (HALF, f"table:{BIG}", f"user:{BIG}")
            asks: list[Callable[[], Any]] = [
                lambda: graph.check(user, "USE_CATALOG", "catalog:c").allowed,  # noqa: B023
                lambda: graph.check("user:bob", word, ref).allowed,  # noqa: B023
                lambda: graph.check("user:bob", "load_table", ref, with_={word: ref}).allowed,  # noqa: B023
                lambda: graph.check("user:bob", "load_catalog", "catalog:c", as_role=ref).allowed,  # noqa: B023
                lambda: any(graph.check_many([("user:bob", "load_table", ref), (word, word, ref)])),  # noqa: B023
                lambda: list(graph.who(word, "catalog:c")),  # noqa: B023
                lambda: list(graph.who("create_role", "metalake:ml", after=word)),  # noqa: B023
                lambda: list(graph.which(word, "user:bob", "load_table")),  # noqa: B023
                lambda: list(graph.which("schema", user, "USE_SCHEMA", after=word)),  # noqa: B023
                lambda: graph.explain(user, "USE_CATALOG", "catalog:c").decision.allowed,  # noqa: B023
                lambda: graph.log(actor=ref, object=ref),  # noqa: B023
                lambda: graph.log(id=word, limit=5),  # noqa: B023
                lambda: graph.log(refused=True, id=word, subject=ref),  # noqa: B023
                lambda: graph.change("add catalog:c2", by=ref, id=word, dry_run=True) and False,  # noqa: B023
                lambda: graph.change("add user:x", id=word, dry_run=True) and False,  # noqa: B023
                lambda: graph.change("add user:x", as_role=ref, dry_run=True) and False,  # noqa: B023
                lambda: graph.change("add user:x", by="user:bob", as_role=ref, dry_run=True) and False,  # noqa: B023
            ]
            chosen = [asks[number % len(asks)] if number % 100 else words.rng.choice(asks)]
            for ask in asks if number in (0, 100) else chosen:  # the long words are always included
                answer, _ = tries(ask)
                assert not answer, "no subject exists, so none is allowed"
        for odd in (2**70, -(2**70), 5, None, b"user:bob", ["user:bob"], object(), float("inf")):
            wrong: list[Callable[[], Any]] = [
                lambda: graph.check(odd, "USE_CATALOG", "catalog:c"),  # type: ignore[arg-type]  # noqa: B023
                lambda: graph.check("user:bob", odd, "catalog:c"),  # type: ignore[arg-type]  # noqa: B023
                lambda: list(graph.who(odd, "catalog:c")),  # type: ignore[arg-type]  # noqa: B023
                lambda: list(graph.which(odd, "user:bob", "load_table")),  # type: ignore[arg-type]  # noqa: B023
                lambda: graph.change(odd),  # type: ignore[arg-type]  # noqa: B023
                lambda: parse(odd),  # type: ignore[arg-type]  # noqa: B023
            ]
            for work in wrong:
                assert tries(work)[1] is not None
        for number in (2**70, 2**63):
            assert tries(lambda: graph.log(limit=number))[1] and tries(lambda: graph.log(before=number))[1]  # noqa: B023
    assert (state(graph), graph.revision_now()) == (before, revision)
    assert not wire.strange, wire.strange[:3]
    assert wire.sent > PARAMETERS // 20
    closing(tries.summary(PARAMETERS // 20, PARAMETERS // 5))
