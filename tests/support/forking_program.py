"""A program that forks with an open Authorizer, and prints the answers of each side as JSON; see test_fork.py.

Each process asks a question of its own kind: the parent's right answer is no, a child's is yes. So an answer that went
to the wrong process is a wrong one.
"""

import json
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection as Pipe

from grantpath.engine import Authorizer, GrantpathError
from grantpath.engine.facts.copy.replica import Replica
from grantpath.engine.policy import policy
from grantpath.graph.client.connections import Connections
from grantpath.graph.embedded.connect import connection
from grantpath.graph.guard.store import Store

YES, NO = ("user:bob", "USE_CATALOG", "catalog:hr"), ("user:bob", "CREATE_SCHEMA", "catalog:hr")
WORKERS, TASKS_OF_A_WORKER = 4, 3
ASKED = 5  # questions of a child
HUNG = 60  # seconds; a child that takes longer is killed and counted; the control uses 10
FORK = multiprocessing.get_context("fork")
AFTER_FORK = Connections.after_fork
auth: Authorizer


def tried(ask: Callable[[], bool]) -> str:
    try:
        return "right" if ask() else "wrong"
    except GrantpathError as error:
        return type(error).__name__
    except Exception as error:
        return f"other: {type(error).__name__}: {error}"


def asked(question: tuple[str, str, str], right: bool, number: int) -> Counter[str]:
    return Counter(tried(lambda: auth.check(*question).allowed is right) for _ in range(number))


def child(number: int) -> Counter[str]:
    """The work of a child: questions and a change."""
    signal.alarm(HUNG if Connections.after_fork is AFTER_FORK else 10)
    outcomes = asked(YES, True, ASKED)
    if number % 4 == 0:
        outcomes += Counter([f"change {tried(lambda: bool(auth.change(f'add role:c{os.getpid()}n{number}').id))}"])
    signal.alarm(0)
    return outcomes


@contextmanager
def parent_asks(outcomes: Counter[str]) -> Iterator[None]:
    """Two threads of the parent ask continuously, so that a fork happens while locks are held and answers are read."""
    stop, found = threading.Event(), [Counter[str](), Counter[str]()]

    def ask(mine: Counter[str]) -> None:
        while not stop.is_set():
            mine.update(asked(NO, False, 1))
            time.sleep(0.002)

    threads = [threading.Thread(target=ask, args=(mine,), daemon=True) for mine in found]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join(HUNG)
        outcomes.update(Counter(f"parent {key}" for each in found for key in each.elements()))


def preload(forks: int, outcomes: Counter[str]) -> None:
    """Like gunicorn --preload: the parent opens and asks, then forks workers, which exit normally."""
    for number in range(0, forks, WORKERS):
        pipes = []
        with parent_asks(outcomes):
            for worker in range(WORKERS):
                read, write = os.pipe()
                pid = os.fork()
                if pid == 0:
                    os.write(write, json.dumps(child(number + worker)).encode())
                    if worker == 1:
                        auth.close()
                    if number % 8 or worker > 1:
                        os._exit(0)
                    sys.exit(0)  # includes the slow shutdown of the interpreter
                os.close(write)
                pipes.append((pid, read))
            for pid, read in pipes:
                with os.fdopen(read) as pipe:
                    outcomes.update(json.loads(pipe.read() or '{"hung": 1}'))
                outcomes["ended badly"] += os.waitpid(pid, 0)[1] != 0
        outcomes["forks"] += WORKERS
        outcomes.update(asked(NO, False, 2))


def processes(forks: int, outcomes: Counter[str]) -> None:
    """multiprocessing with the start method fork."""

    def run(pipe: Pipe, number: int) -> None:
        pipe.send(dict(child(number)))
        pipe.close()

    for number in range(0, forks, WORKERS):
        with parent_asks(outcomes):
            started = []
            for worker in range(WORKERS):
                read, write = FORK.Pipe(duplex=False)
                process = FORK.Process(target=run, args=(write, number + worker))
                process.start()
                write.close()
                started.append((process, read))
            for process, read in started:
                try:
                    outcomes.update(read.recv())
                except EOFError:
                    outcomes["hung"] += 1
                process.join()
                outcomes["ended badly"] += process.exitcode != 0
        outcomes["forks"] += WORKERS
        outcomes.update(asked(NO, False, 2))


def prefork(forks: int, outcomes: Counter[str]) -> None:
    """Like Celery: a pool of workers that a thread of the parent forks and replaces after some tasks."""
    with parent_asks(outcomes), FORK.Pool(WORKERS, maxtasksperchild=TASKS_OF_A_WORKER) as pool:
        for pid, found in pool.imap_unordered(task, range(forks * TASKS_OF_A_WORKER), chunksize=1):
            outcomes.update(found)
            workers.add(pid)
    outcomes["forks"] += len(workers)


workers: set[int] = set()


def task(number: int) -> tuple[int, Counter[str]]:
    return os.getpid(), child(number)


def main(mode: str, forks: str, root: str, control: str) -> None:
    global auth
    if control == "control":  # the control: both sides use the connections that were open at the fork
        Connections.after_fork = lambda self: None  # type: ignore[method-assign]
        Connections._current = lambda self: self._pools  # type: ignore[method-assign]
    outcomes: Counter[str] = Counter()
    model = policy.load("gravitino")
    store = Store(connection(), timeout=2.0 if control == "control" else 30.0)
    auth = Authorizer(store, root, model, model.root("ml"))
    if control == "replica":
        auth.replica = Replica(store, root, auth.root)
        assert auth.replica.read(model)
    outcomes.update(asked(NO, False, 3))
    modes: dict[str, Callable[[int, Counter[str]], None]] = {
        "preload": preload,
        "processes": processes,
        "prefork": prefork,
    }
    modes[mode](int(forks), outcomes)
    outcomes.update(asked(NO, False, 3))
    print(json.dumps(outcomes))


if __name__ == "__main__":
    main(*sys.argv[1:])
