"""Every method refuses a statement that cannot be parsed, and writes nothing."""

import pytest

from grantpath.engine import Authorizer, Invalid

from ...conftest import Tenants
from ...unit.test_statement import BAD_STATEMENTS


def test_bad_statements_never_reach_the_database(tenant: Tenants) -> None:
    """Each bad line is refused by name as a change, a fact and a check of a real tenant, and nothing is written."""
    auth: Authorizer = tenant("gravitino", ["add catalog:hr", "add user:bob"])
    before = auth.check("user:bob", "USE_CATALOG", "catalog:hr").revision
    lines = [line for line, _ in BAD_STATEMENTS]
    lines += ["add catalog:a\0b", "add catalog:`a\0b`", "add user:a\0", "add catalog:a`b`", "drop metalake:`ml`)"]
    for line in lines:
        with pytest.raises(Invalid):
            auth.change(line)
        with pytest.raises(Invalid):
            auth.check("user:bob", "USE_CATALOG", line)
        with pytest.raises(Invalid):
            auth.check(line, "USE_CATALOG", "catalog:hr")
    assert None not in auth.given(lines)
    print(f"{len(lines)} bad lines refused four times each")
    assert auth.check("user:bob", "USE_CATALOG", "catalog:hr").revision == before
