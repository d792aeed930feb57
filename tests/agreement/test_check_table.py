"""`check_table`: a table of checks gets the answers of the oracle, from the database, a copy, the past and memory."""

import random
from collections.abc import Callable
from functools import partialmethod
from types import MappingProxyType
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from grantpath.engine import Authorizer, GrantpathError, Inconsistent, InvalidInput
from grantpath.engine.answers import batches, request, source
from grantpath.engine.memory.memory_authorizer import authorizer

from ..conftest import Tenants
from ..support.random_world import Check, random_checks
from ..support.sizes import size
from ..support.twin import POLICIES, SEED, Twin
from ..support.with_replica import with_replica

pytestmark = pytest.mark.trust
COLUMNS = ("subject", "name", "object", "as_role")
FACTS = [
    *("add catalog:hr", "add schema:hr.s", "add table:hr.s.a", "add table:hr.s.b", "add role:r", "add user:bob"),
    *(
        "member user:bob of role:r",
        "allow USE_CATALOG on catalog:hr to role:r",
        "allow USE_SCHEMA on catalog:hr to role:r",
    ),
    "allow SELECT_TABLE on table:hr.s.a to role:r",
]
A, B = "table:hr.s.a", "table:hr.s.b"


def table(checks: list[Check]) -> pa.Table:
    columns = zip(*[(subject, name, on, role) for subject, name, on, _, role in checks], strict=True)
    return pa.table(dict(zip(COLUMNS, map(list, columns), strict=True)))


def ways(auth: Authorizer) -> dict[str, Callable[..., pa.Table]]:
    """The ways to ask: the database, a copy, and the past, which is now."""
    past = auth.past(auth.revision_now())
    return {
        "graph": auth.check_table,
        "copy": with_replica(auth).check_table,
        "past": lambda given, **named: auth.check_table(given, as_of=past, **named),
    }


@pytest.mark.parametrize("policy", POLICIES)
def test_answers_are_those_of_the_oracle(tenant: Tenants, policy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    twin = Twin(tenant, policy, f"{SEED}.columns", size(200, 100))
    checks = [check for check in random_checks(twin.world, twin.rng, size(2_000, 250)) if not check[3]]
    wanted = [twin.world.check(*check) for check in checks]
    assert 20 < sum(wanted) < len(wanted) - 20
    monkeypatch.setattr(source, "MOST", 100)  # so that the database is asked several times
    for way, ask in ways(twin.graph).items():
        found = ask(table(checks))
        assert found.column("allowed").to_pylist() == wanted, way
        assert found.drop_columns(["allowed", "error"]).equals(table(checks)), way
        assert found.column("error").null_count == len(checks)
        assert found.schema.metadata[b"revision"] == str(twin.graph.revision_now()).encode()
    copy = with_replica(twin.graph)
    by_hand = copy.check_many([(subject, name, on) for subject, name, on, _, role in checks if role is None])
    assert [bool(each) for each in by_hand] == [yes for yes, check in zip(wanted, checks, strict=True) if not check[4]]


@pytest.fixture(scope="module")
def auth(module_tenant: Tenants) -> Authorizer:
    return module_tenant("gravitino", FACTS)


def rows(*given: tuple[Any, ...]) -> dict[str, list[Any]]:
    return dict(zip(COLUMNS, map(list, zip(*given, strict=True)), strict=False))


def test_every_kind_of_table_is_accepted(auth: Authorizer) -> None:
    given = rows(("user:bob", "load_table", A), ("user:bob", "load_table", B), ("user:nobody", "SELECT_TABLE", A))
    made = pa.table(given)
    dictionaries = made.set_column(1, "name", made.column("name").dictionary_encode())
    large = made.cast(pa.schema([(name, pa.large_string()) for name in made.column_names]))
    noted = made.append_column("note", pa.array([1, 2, 3]))
    memory = authorizer("gravitino", FACTS, root="ml")
    for ask in (*ways(auth).values(), memory.check_table):
        for one in (given, made, dictionaries, large, noted, made.to_batches()[0]):
            found = ask(one)
            assert found.column("allowed").to_pylist() == [True, False, False]
            assert found.num_columns == (6 if one is noted else 5)
        assert ask(made.slice(0, 0)).num_rows == 0


def test_odd_tables_are_read(auth: Authorizer) -> None:
    given = rows(("user:bob", "load_table", A), ("user:bob", "load_table", B))
    found = auth.check_table(given)
    auth.change("add user:new")
    again = auth.check_table(found.drop_columns(["allowed", "error"]))  # which has the metadata of an answer
    assert again.schema.metadata == {b"revision": str(auth.revision_now()).encode(), b"ends_due": b"false"}
    auth.change("drop user:new")
    half = pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array([A, None]))  # its null is in the dictionary
    missing = auth.check_table(pa.table({**given, "object": half}))
    assert missing.column("allowed").to_pylist() == [True, None]
    assert missing.column("error")[1].as_py().startswith("object is null")
    for one in (MappingProxyType(given), pd.DataFrame({**given, "as_role": [float("nan")] * 2})):
        assert [*auth.check_table(one)["allowed"].to_numpy()] == [True, False]
    broken = pa.StringArray.from_buffers(1, pa.py_buffer(bytes([0, 0, 0, 0, 3, 0, 0, 0])), pa.py_buffer(b"a\xff\xfe"))
    for wrong in ({**given, "rank": [2**70, 1]}, {"subject": broken, "name": ["x"], "object": [A]}):
        with pytest.raises(InvalidInput):
            auth.check_table(wrong)


def test_what_can_be_read_once_is_not_lost_when_a_call_is_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call is repeated with the new policy if its root gets one meanwhile."""
    memory = authorizer("gravitino", FACTS, root="ml")
    Authorizer.follow(memory)  # a root in memory has nothing to follow, and its own method does nothing
    failed: list[str] = []
    for name in ("_verdicts", "_answers"):
        monkeypatch.setattr(Authorizer, name, partialmethod(once, failed, getattr(Authorizer, name)))
    monkeypatch.setattr(Authorizer, "_must_repeat", lambda *_: True)
    table = pa.table(rows(("user:bob", "load_table", A), ("user:bob", "load_table", B)))
    calls: list[Callable[[], list[bool]]] = [
        lambda: [ref == A for ref in memory.filter("user:bob", "load_table", iter([A, B]))],
        lambda: [bool(each) for each in memory.check_many(("user:bob", "load_table", ref) for ref in (A, B))],
        lambda: memory.check_table(table.to_reader()).column("allowed").to_pylist(),
    ]
    for call, wanted in zip(calls, ([True], [True, False], [True, False]), strict=True):
        failed.clear()
        assert (call(), len(failed)) == (wanted, 1)


def once(self: Authorizer, failed: list[str], method: Callable[..., Any], *given: Any) -> Any:
    """Calls the method; the first time it fails instead."""
    if not failed:
        failed.append("policy")
        raise Inconsistent("the root has another policy", code="policy_changed")
    return method(self, *given)


def test_a_data_frame_stays_one(auth: Authorizer) -> None:
    given = rows(("user:bob", "load_table", A), ("user:bob", "load_table", B), ("user:bob", "fly", A))
    pandas = pd.DataFrame(given, index=["x", "y", "z"])
    for kind in (pandas, pandas.astype("category"), pandas.astype("string")):
        found = auth.check_table(kind)
        assert isinstance(found, pd.DataFrame) and [*found.index] == ["x", "y", "z"]
        assert found["allowed"].tolist() == [True, False, pd.NA]
        assert found["error"].isna().tolist() == [True, True, False]
        assert (found.attrs, kind.attrs) == ({"revision": auth.revision_now(), "ends_due": False}, {})
        assert found[[*given]].equals(kind)
    for polars in (pl.DataFrame(given), pl.DataFrame(given).cast(pl.Categorical)):
        answer = auth.check_table(polars)
        assert isinstance(answer, pl.DataFrame)
        assert answer["allowed"].to_list() == [True, False, None]
        assert answer["error"].is_null().to_list() == [True, True, False]
        assert answer[[*given]].equals(polars)


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        (rows(("user:bob", "load_table")), InvalidInput, "the table has no column object; its checks are in"),
        (rows(("user:bob", "load_table", 3)), InvalidInput, "the column object has the type int64; it must have"),
        ("user:bob", InvalidInput, "is not a table"),
        ([1, 2], InvalidInput, "is not a table"),
        ({**rows(("user:bob", "load_table", A)), "allowed": [True]}, InvalidInput, "has a column allowed already"),
        ({**rows(("user:bob", "load_table", A)), "error": ["x"]}, InvalidInput, "has a column error already"),
    ],
)
def test_wrong_tables_are_refused(auth: Authorizer, given: Any, error: type[Exception], text: str) -> None:
    memory = authorizer("gravitino", FACTS, root="ml")
    for ask in (*ways(auth).values(), memory.check_table):
        with pytest.raises(error, match=text) as caught:
            ask(given)
        assert isinstance(caught.value, GrantpathError)
        assert caught.value.question is not None and caught.value.question["verb"] == "check_table"


def test_wrong_rows_have_an_error_and_no_answer(auth: Authorizer) -> None:
    wrong: dict[Any, str] = {
        ("user:bob", "fly", A, None): "the operation fly is unknown",
        ("bob", "load_table", A, None): "bob is not a reference",
        ("role:r", "load_table", A, None): "role:r: the subject must be a user",
        ("user:bob", "load_table", "table:hr.s.c", None): "table:hr.s.c d",
        ("user:bob", "load_table", "catalog:hr", None): "load_table",
        ("user:bob", "load_table", A, "role:r"): "as role:r: the policy gravitino has no active roles",
        (None, "load_table", A, None): "subject is null",
        ("user:bob", None, A, None): "name is null",
        ("user:bob", "load_table", None, None): "object is null",
    }
    right = ("user:bob", "load_table", A, None)
    memory = authorizer("gravitino", FACTS, root="ml")
    for ask in (*ways(auth).values(), memory.check_table):
        found = ask(rows(*(each for row in wrong for each in (right, row)), right))
        assert found.column("allowed").to_pylist() == [*[True, None] * len(wrong), True]
        errors = found.column("error").to_pylist()
        assert errors[::2] == [None] * (len(wrong) + 1)
        for text, told in zip(wrong.values(), errors[1::2], strict=True):
            assert told.startswith(text), (text, told)


def test_an_answer_is_of_one_revision(tenant: Tenants, monkeypatch: pytest.MonkeyPatch) -> None:
    """A change between two batches of the database: all of them are asked again."""
    auth = tenant("gravitino", FACTS)
    monkeypatch.setattr(source, "MOST", 2)
    asked, answers = [0], request.answers

    def changing(*given: Any) -> Any:
        asked[0] += 1
        if asked[0] == 2:
            auth.change("remove user:bob from role:r")
        return answers(*given)

    monkeypatch.setattr(request, "answers", changing)
    found = auth.check_table(rows(*[("user:bob", "load_table", A)] * 5))
    assert found.column("allowed").to_pylist() == [False] * 5
    assert found.schema.metadata[b"revision"] == str(auth.revision_now()).encode()
    assert asked[0] > 4


def test_filter_takes_more_than_a_batch(auth: Authorizer) -> None:
    refs = random.Random(SEED).choices([A, B, "schema:hr.s"], k=batches.MOST + 5)
    for asked in (auth, with_replica(auth)):
        assert asked.filter("user:bob", "SELECT_TABLE", refs) == [ref for ref in refs if ref == A]
