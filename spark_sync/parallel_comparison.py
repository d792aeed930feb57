"""Compares the access before and after each of many changes, in several processes at the same time."""

import fcntl
import gc
import multiprocessing
import os
import signal
import sys
import warnings
from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from grantpath.engine.change.delta_records import RecordedDelta
from grantpath.engine.facts.affected import Side
from grantpath.engine.facts.comparison import ChangedAccess, changed_access

MOST_PROCESSES = 8
FEWEST = 16  # changes for each process; with fewer, starting the process takes longer than it saves
NUMBER = 4  # bytes
BUFFER = 1 << 20  # bytes that a child can send while this process compares or writes a file
Result = tuple[int, list[ChangedAccess]]  # the number of a change, and what it changed


@dataclass(frozen=True)
class RevisionStep:
    """One revision: the facts before and after it, and its entry in the log."""

    before: Side
    after: Side
    delta: RecordedDelta

    def compared(self) -> list[ChangedAccess]:
        """The access that users gain or lose."""
        return changed_access(self.before, self.after, [*self.delta.removed, *self.delta.added])


def compared(changes: Sequence[RevisionStep]) -> Generator[list[ChangedAccess], None, None]:
    """Yields for each change, in order, the access that users gain or lose.

    Many changes are compared by this process and forked children, which share its memory: one process for each
    processor, at most 8. If a child is killed, this process compares what the child had begun. The children end with
    the generator, so close it.
    """
    helpers = min(_processes(), len(changes) // FEWEST) - 1
    if helpers < 1:
        yield from (change.compared() for change in changes)
        return
    pool = _Pool(changes, helpers)
    try:
        yield from pool.results()
    finally:
        pool.close()


def _processes() -> int:
    """The number of processes that may compare at the same time."""
    if sys.platform != "linux" or multiprocessing.current_process().daemon:
        return 1  # elsewhere forking is not safe, and a daemon may have no children
    return min(len(os.sched_getaffinity(0)), MOST_PROCESSES)


class _Turns:
    """The numbers of all changes, in a pipe, which can hold 16,384 of them. Each number is given to one process."""

    def __init__(self, count: int) -> None:
        self._reader, writer = os.pipe()
        with open(writer, "wb") as file:
            file.write(b"".join(number.to_bytes(NUMBER, sys.byteorder) for number in range(count)))

    def __iter__(self) -> Iterator[int]:
        while number := os.read(self._reader, NUMBER):
            yield int.from_bytes(number, sys.byteorder)

    def close(self) -> None:
        os.close(self._reader)


class _Pool:
    """This process and its children, while they compare."""

    def __init__(self, changes: Sequence[RevisionStep], helpers: int) -> None:
        self._changes = changes
        self._found: dict[int, list[ChangedAccess]] = {}
        self._turns = _Turns(len(changes))
        self._children: list[BaseProcess] = []
        self._readers: list[Connection] = []
        for _ in range(helpers):
            with suppress(OSError):  # the system has no memory for another process
                self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("fork")
        reader, writer = context.Pipe(duplex=False)
        self._readers.append(reader)
        with writer, warnings.catch_warnings():
            with suppress(OSError):  # the system can forbid it
                fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, BUFFER)
            # Python warns if the process has threads. The child uses nothing that a thread can have locked.
            warnings.simplefilter("ignore", DeprecationWarning)
            work = self._changes, self._turns, writer, [*self._readers]
            child = context.Process(target=_compare, args=work, daemon=True)
            child.start()
        self._children.append(child)

    def results(self) -> Iterator[list[ChangedAccess]]:
        """The results in the order of the changes."""
        own = iter(self._turns)
        for number, change in enumerate(self._changes):
            while number not in self._found:
                self._receive(0.0)
                if number in self._found:
                    break
                turn = next(own, None)
                if turn is not None:
                    self._found[turn] = self._changes[turn].compared()
                elif self._readers:
                    self._receive(None)
                else:  # the child that had this turn was killed
                    self._found[number] = change.compared()
            yield self._found.pop(number)

    def _receive(self, seconds: float | None) -> None:
        """Receives what the children have sent. Waits for up to `seconds`; None: until one of them sends or ends."""
        ready = wait(self._readers, seconds)
        for reader in [each for each in self._readers if each in ready]:
            try:
                number, found = reader.recv()
                self._found[number] = found
            except (EOFError, OSError):  # it has ended, or was killed while it sent
                self._readers.remove(reader)
                reader.close()

    def close(self) -> None:
        """Ends the children."""
        for child in self._children:
            child.kill()
            child.join()
        for reader in self._readers:
            reader.close()
        self._turns.close()


def _compare(
    changes: Sequence[RevisionStep], turns: _Turns, results: Connection, readers: Sequence[Connection]
) -> None:
    """Compares in a child, until no turn is left or the parent has ended. `readers`: the parent's ends of the pipes for
    results."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends its children
    for reader in readers:
        reader.close()  # otherwise this process could not notice that the parent has ended
    gc.freeze()
    with suppress(BrokenPipeError):
        for number in turns:
            results.send((number, changes[number].compared()))
