"""Limits of one call: a batch or a page of the log that is too large is refused before it is sent."""

from collections.abc import Callable, Iterator
from itertools import repeat

import pytest

from grantpath.engine import Authorizer, Invalid
from grantpath.engine.answers.batches import MOST
from grantpath.engine.cli.main import main

from ...conftest import Tenants
from ...support.sizes import say, size

pytestmark = pytest.mark.trust

CHECK = ("user:bob", "USE_CATALOG", "catalog:hr")
FACTS = ["add catalog:hr", "add user:bob"]


def calls(auth: Authorizer) -> list[Callable[[], object]]:
    return [
        lambda: auth.check_many(repeat(CHECK)),
        lambda: auth.check_many([CHECK] * (MOST + 1)),
        lambda: auth.change_all(repeat("add user:x")),
        lambda: auth.given(["add user:x"] * (MOST + 1)),
    ]


@pytest.mark.parametrize("number", range(4))
def test_batch_beyond_the_bound_is_refused(tenant: Tenants, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    auth = tenant(given=FACTS)
    for sent in ("read_guarded", "write"):
        monkeypatch.setattr(auth.store, sent, lambda *_: pytest.fail("it was sent to the server"))
    with pytest.raises(Invalid, match=r"^more than 10,000 \w+ in one call; split them into calls of at most 10,000$"):
        calls(auth)[number]()


def test_log_beyond_the_bound_is_refused(tenant: Tenants, capsys: pytest.CaptureFixture[str]) -> None:
    auth = tenant(given=FACTS)
    assert len(auth.log(limit=10_000)) == 2
    for refused in (True, False):
        with pytest.raises(Invalid, match=r"limit=10001 must be from 1 to 10,000; .* with `before`"):
            auth.log(limit=10_001, refused=refused)
    assert main(["log", "--limit", "10001"]) == 2
    assert "less than or equal to 10000" in capsys.readouterr().err


def test_batches_up_to_the_bound_are_answered(tenant: Tenants, capsys: pytest.CaptureFixture[str]) -> None:
    auth, many = tenant(given=FACTS), size(full=MOST, short=500)

    def checks() -> Iterator[tuple[str, str, str]]:
        yield from repeat(CHECK, many)

    assert [bool(each) for each in auth.check_many(checks())] == [False] * many
    changes = auth.change_all(f"add role:r{number}" for number in range(many))
    assert len({change.revision for change in changes}) == many
    say(capsys, f"{many:,} checks and {many:,} changes in one call each")
