"""Compares the access before and after each of many changes, in several processes at the same time."""

import fcntl
import gc
import os
import signal
import sys
from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, Pipe, wait
from typing import NoReturn

from grantpath.engine.change.delta_records import RecordedDelta
from grantpath.engine.facts.compare.affected import Side
from grantpath.engine.facts.compare.comparison import ChangedAccess, changed_access
from grantpath.graph.language.statement import parse_statement

MOST_PROCESSES = 8
FEWEST = 16  # changes for each process; with fewer, starting the process takes longer than it saves
MOST_CHANGES = 16_384  # the pipe of the turns has room for so many numbers
NUMBER_BYTES = 4  # of a number in the pipe
BUFFER = 1 << 20  # bytes that a child can send while this process compares or writes a file


@dataclass(frozen=True)
class RevisionStep:
    """One revision: the facts before and after it, and its entry in the log."""

    before: Side
    after: Side
    delta: RecordedDelta

    @property
    def size(self) -> int:
        """The estimated memory, in bytes, of the facts after the change that are not shared with those before it."""
        version, texts = self.after.version, (*self.delta.removed, *self.delta.added)
        containers = {parse_statement(text).object for text in texts if text.startswith("member ")}
        users = (version.users_in.get(version.numbers.find(each, -1)) for each in containers)
        return version.size_beside(self.before.version) + sum(each.nbytes for each in users if each is not None)

    def compared(self) -> list[ChangedAccess]:
        """The access that users gain or lose."""
        return changed_access(self.before, self.after, [*self.delta.removed, *self.delta.added])


def compared(changes: Sequence[RevisionStep]) -> Generator[list[ChangedAccess], None, None]:
    """Yields for each change, in order, the access that users gain or lose.

    Many changes are compared by this process and forked children, which share its memory: one process for each
    processor, at most 8. If a child is killed or fails, this process compares the change that the child had taken. The
    caller must close the generator, which ends the children.
    """
    children = min(_processes(), len(changes) // FEWEST) - 1
    if children < 1 or len(changes) > MOST_CHANGES:
        yield from (change.compared() for change in changes)
        return
    pool = _Pool(changes)
    try:
        pool.start(children)
        yield from pool.results()
    finally:
        pool.close()


def _processes() -> int:
    """The number of processes that may compare at the same time."""
    if sys.platform != "linux":
        return 1  # forking is not safe elsewhere
    if signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN:
        return 1  # the system would give the number of an ended child to another process
    return min(len(os.sched_getaffinity(0)), MOST_PROCESSES)


class _Turns:
    """The numbers of all changes, in a pipe. Each number is given to one process."""

    def __init__(self, count: int) -> None:
        self._reader, writer = os.pipe()
        with open(writer, "wb") as file:
            file.write(b"".join(number.to_bytes(NUMBER_BYTES, sys.byteorder) for number in range(count)))

    def __iter__(self) -> Iterator[int]:
        while number := os.read(self._reader, NUMBER_BYTES):
            yield int.from_bytes(number, sys.byteorder)

    def close(self) -> None:
        os.close(self._reader)


class _Pool:
    """This process and its children, while they compare."""

    def __init__(self, changes: Sequence[RevisionStep]) -> None:
        self._changes = changes
        self._parent = os.getpid()
        self._found: dict[int, list[ChangedAccess]] = {}
        self._turns = _Turns(len(changes))
        self._children: list[int] = []
        self._readers: list[Connection] = []

    def start(self, children: int) -> None:
        """Forks up to this many children."""
        for _ in range(children):
            try:
                self._fork()
            except OSError:  # another process cannot be started
                return

    def _fork(self) -> None:
        reader, writer = Pipe(duplex=False)
        self._readers.append(reader)
        with writer:
            with suppress(OSError):  # the system may refuse a larger pipe
                fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, BUFFER)
            # the child does not get signals: their handlers are the parent's, which ends its children
            signals = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
            try:
                child = os.fork()
                if child == 0:
                    self._compare(writer)
                self._children.append(child)
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, signals)

    def _compare(self, results: Connection) -> NoReturn:
        """Compares in a child, until no turn is left or the parent has ended.

        After an error the child ends without a message, because a thread of the parent may have locked the output. The
        parent compares the change again, and raises the error itself.
        """
        try:
            gc.freeze()
            for reader in self._readers:
                reader.close()  # otherwise this process could not notice that the parent has ended
            for number in self._turns:
                results.send((number, self._changes[number].compared()))
        finally:
            os._exit(0)

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
                else:  # the child that had this turn was killed, or failed
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
        """Ends the children. Does nothing in a process that was forked by the caller of the generator."""
        if os.getpid() != self._parent:
            return
        for child in self._children:
            with suppress(ProcessLookupError, ChildProcessError):  # someone else has waited for it
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
        for reader in self._readers:
            reader.close()
        self._turns.close()
