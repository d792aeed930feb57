"""Arguments that are yes or no take nothing else: `dry_run="no"` would mean yes."""

from collections.abc import Callable

import pytest

from grantpath.engine import Authorizer, InvalidInput

from ...conftest import Tenants


def test_flags_must_be_true_or_false(tenant: Tenants) -> None:
    auth = tenant("gravitino")
    calls: list[tuple[str, Callable[[], object]]] = [
        ("dry_run='no'", lambda: auth.change("add user:ann", dry_run="no")),  # type: ignore[arg-type]
        ("dry_run=1", lambda: auth.change_all(["add user:ann"], dry_run=1)),  # type: ignore[call-overload]
        ("dry_run=0", lambda: auth.change_all(["add user:ann"], dry_run=0, each=True)),  # type: ignore[call-overload]
        ("each=0", lambda: auth.change_all(["add user:ann"], each=0)),  # type: ignore[call-overload]
        ("create='yes'", lambda: Authorizer.open("metalake:flags", create="yes")),  # type: ignore[arg-type]
    ]
    for said, call in calls:
        with pytest.raises(InvalidInput, match=f"{said} must be True or False"):
            call()
    assert auth.revision_now() == 0
