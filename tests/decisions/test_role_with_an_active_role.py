"""A role that is asked about with another active role: a known wrong answer."""

import pytest

from ..conftest import Tenants


@pytest.mark.xfail(reason="all that the role holds counts, not only the active role", strict=True)
def test_role_with_an_active_role_has_only_what_that_role_has(tenant: Tenants) -> None:
    """Policy deltastream, rule 3: the check counts the active role and what it inherits, and nothing else."""
    facts = ["add role:analyst", "add role:lead", "add database:d", "member role:lead of role:analyst"]
    auth = tenant("deltastream", [*facts, "allow MANAGE_GRANTS on organization:ml to role:analyst"])
    assert not auth.check("role:lead", "grant_privileges", "database:d", as_role="role:PUBLIC")
