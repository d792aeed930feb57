"""Verbs and batches on an event loop."""

import asyncio

import pytest

from grantpath.engine import AsyncAuthorizer, Refused

from .conftest import NewRoot

FACTS = ["add catalog:hr", "add role:a", "add user:kim", "add user:admin", "owner user:admin of metalake:ml"]


def test_a_batch_is_made_when_its_block_ends(new_root: NewRoot) -> None:
    auth = new_root(FACTS)

    async def run() -> None:
        async with AsyncAuthorizer.open(auth.tenant) as on_loop:
            async with on_loop.batch(by="user:admin") as batch:
                batch.add("user:new")
                batch.join("user:new", "role:a")
                assert await on_loop.revision_now() == auth.revision_now()
            assert [each.id is not None for each in batch.changes] == [True, True]
            assert (await on_loop.leave("user:new", "role:a")).id is not None
            assert await on_loop.filter("user:new", "USE_CATALOG", ["catalog:hr"]) == []
            with pytest.raises(KeyError):
                async with on_loop.batch() as broken:
                    broken.drop("user:new")
                    raise KeyError
            with pytest.raises(Refused):
                async with on_loop.batch(by="user:kim") as refused:
                    refused.add("role:mine")

    asyncio.run(run())
    assert not list(auth.show("user:new").memberships)
