"""`grantpath.testing`: an Authorizer in memory, for the tests of programs that use grantpath.

    from grantpath.testing import authorizer

    auth = authorizer("gravitino", ["add catalog:hr", "owner user:ann of catalog:hr"])
    assert auth.check("user:ann", "alter_catalog", "catalog:hr")

It needs no server, and the extra `replica`. pytest users can take the fixture `grantpath_authorizer`, which is this
function.
"""

from grantpath.engine.memory.memory_authorizer import MemoryAuthorizer, authorizer

__all__ = ["MemoryAuthorizer", "authorizer"]
