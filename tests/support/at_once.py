"""Changes that wait for a root at the same time, in a known order."""

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event

from grantpath.engine import Authorizer, Change
from grantpath.engine.change.group_commit import Groups

Outcome = Change | BaseException
LONG = 60.0  # seconds after which a test fails


@contextmanager
def not_free(auth: Authorizer) -> Iterator[None]:
    """Keeps the root in the hands of another writer until the block ends."""
    begun, free = Event(), Event()

    def hold(_: object) -> None:
        begun.set()
        free.wait(LONG)

    with ThreadPoolExecutor(1) as pool:
        writer = pool.submit(auth.store.write, auth.tenant, hold, False)
        try:
            assert begun.wait(LONG)
            yield
        finally:
            free.set()
            writer.result(LONG)


def at_once(auth: Authorizer, changes: Sequence[Callable[[Authorizer], Change]]) -> list[Outcome]:
    """The outcomes of changes that as many threads make. All wait, in their order, before the root is free."""
    auth._service._groups = groups = Groups(patience=LONG)
    running: list[Future[Change]] = []
    with ThreadPoolExecutor(len(changes)) as pool:
        with not_free(auth):
            for change in changes:
                running.append(pool.submit(change, auth))
                end = time.monotonic() + LONG
                while groups.size < sum(not each.done() for each in running):
                    assert time.monotonic() < end, "a change neither waits nor ends"
                    time.sleep(0.002)
        return [each.exception(LONG) or each.result() for each in running]
