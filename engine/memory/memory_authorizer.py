"""An Authorizer without a server: checks, lists, explanations and changes of a root in memory."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from threading import RLock
from typing import Any, NoReturn, TypeVar

from grantpath.engine.answers.source import Source
from grantpath.engine.authorizer.authorizer import Authorizer
from grantpath.engine.change.ending import end_due
from grantpath.engine.change.facts_format import of_format
from grantpath.engine.facts.set.fact_draft import Facts, advanced
from grantpath.engine.facts.set.fact_version import FactVersion
from grantpath.engine.memory.memory_graph import MADE, MemoryGraph, created, needs_server
from grantpath.engine.past.past_root import PastRoot
from grantpath.engine.policy import policy as policies
from grantpath.engine.policy.policy import Policy
from grantpath.engine.policy.schema import WITH_ENDS
from grantpath.engine.tenants.lifecycle import builtins
from grantpath.engine.tenants.one_revision import GuardedAsk
from grantpath.graph.errors import Inconsistent, InvalidInput
from grantpath.graph.guard.revision_guard import Ender
from grantpath.graph.guard.store import Store
from grantpath.graph.guard.transaction import Row, Writing
from grantpath.graph.language.inputs import require_number
from grantpath.graph.language.reference import Reference

ENTITIES = 50_000  # the most: a larger root takes long to change, because each change copies maps
Result = TypeVar("Result")


def authorizer(policy: str | Policy, facts: Iterable[str] = (), root: str = "test") -> "MemoryAuthorizer":
    """A new root in memory: an Authorizer that needs no server, for tests.

    `policy` is the name of a built-in policy, the path of a file, or a Policy. `facts` are statements; they are written
    without authorization, in order, and a user or group that they mention is added. `root` is the name of the root
    object. Checks, lists, explanations and changes are those of Authorizer. What needs a server (the log, the past,
    request ids, questions of the catalogue) raises InvalidInput. Raises Invalid for a wrong fact, InvalidPolicy.
    """
    model = policies.load(policy) if isinstance(policy, str) else policy
    made = MemoryAuthorizer(model, model.root(root))
    problems = [problem for problem in made.given(facts) if problem]
    if problems:
        raise InvalidInput(*problems)
    return made


class MemoryAuthorizer(Authorizer):
    """An Authorizer of a root that is only in memory. Threads can share it."""

    store: "MemoryStore"

    def __init__(self, policy: Policy, root: Reference) -> None:
        model = of_format(policy, WITH_ENDS)  # nothing is stored, so facts may end
        super().__init__(MemoryStore(model, root), root.text, model, root)

    def ask(self, query: str, *, at_least: int | None = None, **parameters: Any) -> Mapping[str, Any]:
        """The one row of a query of cypher/, from memory. Raises InvalidInput for one that needs the database."""
        return _row(self.store.graph, query, at_least, parameters)

    def at_one_revision(self, work: Callable[[GuardedAsk], Result]) -> Result:
        """Calls `work` with a function whose queries are all answered at one revision, and returns its result."""
        graph = self.store.graph

        def ask(query: str, *, at_least: int | None = None, **parameters: Any) -> Mapping[str, Any]:
            return _row(graph, query, at_least, parameters)

        return work(ask)

    def _sources(self, at_least: int | None, past: PastRoot | None, whole: bool = False) -> Sequence[Source]:
        graph = self.store.graph
        _require_reached(graph, at_least)
        return [PastRoot(self.tenant, graph.facts)]

    def follow(self) -> None:
        """Does nothing: the policy of a root in memory stays."""

    def adopt(self) -> bool:
        """Does nothing: the policy of a root in memory stays."""
        return False

    def _facts(self) -> Any:
        return _Facts(self.store)

    def _past(self, as_of: Any, at_least: int | None) -> NoReturn:
        raise needs_server("as_of")

    # ---- what needs a server -----------------------------------------------------------------------------------------
    @classmethod
    def open(cls, *given: Any, **named: Any) -> NoReturn:
        raise needs_server("open")

    @classmethod
    def drop_root(cls, *given: Any, **named: Any) -> NoReturn:
        """Raises InvalidInput: it would drop the root of this name of a server."""
        raise needs_server("drop_root")

    def past(self, *given: Any, **named: Any) -> NoReturn:
        raise needs_server("past")

    def since(self, *given: Any, **named: Any) -> NoReturn:
        raise needs_server("since")

    def log(self, *given: Any, **named: Any) -> NoReturn:
        raise needs_server("log")

    def verify_log(self, *given: Any, **named: Any) -> NoReturn:
        raise needs_server("verify_log")

    def question(self, *given: Any, **named: Any) -> NoReturn:
        raise needs_server("question")

    def revocation(self, *given: Any, **named: Any) -> NoReturn:
        raise needs_server("revocation")


def _row(graph: MemoryGraph, query: str, at_least: int | None, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
    _require_reached(graph, at_least)
    return graph.rows(query, **parameters)[0]


def _require_reached(graph: MemoryGraph, at_least: int | None) -> None:
    """Raises InvalidInput if `at_least` is not an integer; Inconsistent if it is a later revision, as Store does."""
    if at_least is not None:
        require_number("at_least", at_least)
        if at_least > graph.version.revision:
            raise Inconsistent(
                f"{graph.root} is at revision {graph.version.revision}, older than revision {at_least}, which the "
                "caller requires; ask again, or check that the revision is one of this root",
                code="revision_ahead",
            )


class MemoryStore(Store):
    """The state of a root in memory, with the methods of Store that an Authorizer needs."""

    def __init__(self, policy: Policy, root: Reference) -> None:
        self.uri = "memory"
        self._graph = MemoryGraph(policy, root, created(policy, root, builtins(policy)))
        self._lock = RLock()
        self._timeout = 10.0

    @property
    def graph(self) -> MemoryGraph:
        """The state, without facts that have ended."""
        if self._graph.due:
            self.end_due(self._graph.root.text)
        return self._graph

    def ends_by(self, ender: Ender) -> None:
        """Does nothing: facts that have ended are removed by the same function as in the database."""

    def watch_ends(self, root: str) -> None:
        """Does nothing: each question removes what has ended, which takes no time here."""

    @property
    def only_reads(self) -> bool:
        """False: what has ended is removed."""
        return False

    def read_all(self, text: str, parameters: Mapping[str, Any]) -> NoReturn:
        """Raises InvalidInput: a root in memory is neither dumped nor mirrored."""
        raise needs_server("a dump or a mirror")

    def transaction(self, work: Callable[[Any], Result]) -> NoReturn:
        """Raises InvalidInput, because there is no database."""
        raise needs_server("a transaction")

    @property
    def connection(self) -> NoReturn:
        """Raises InvalidInput: there is none."""
        raise needs_server("a mirror")

    def close(self) -> None:
        """Does nothing, because there is no connection."""

    def read(self, text: str, parameters: Mapping[str, Any]) -> list[Row]:
        """The rows of a query of cypher/."""
        return _run(self.graph, text, parameters)

    def read_values(
        self, text: str, parameters: Mapping[str, Any], meanwhile: Callable[[], None] | None = None
    ) -> list[Row]:
        """The rows of a query of cypher/."""
        return _run(self.graph, text, parameters)

    def execute(self, text: str, parameters: Mapping[str, Any] | None = None) -> list[Row]:
        """The rows of a query of cypher/."""
        return _run(self.graph, text, parameters or {})

    def write(
        self,
        root: str,
        work: Callable[[Writing], Result],
        commit: bool = True,
        prechecked: bool = False,
        waited: float = 0.0,
    ) -> Result:
        """Runs `work` on a copy of the state, which then becomes the state, unless `work` raises or `commit` is
        false."""
        with self._lock:
            while self._graph.due:
                self._write(partial(end_due, policy=self._graph.policy), commit=True)
            return self._write(work, commit)

    def _write(self, work: Callable[[Writing], Result], commit: bool) -> Result:
        now = self._graph
        writing = _MemoryWriting(MemoryGraph(now.policy, now.root, now.version, now.ends))
        result = work(writing)
        if commit and writing.changes:
            version = replace(writing.graph.version, revision=writing.revision)
            if sum(map(len, version.listed.values())) > ENTITIES:
                raise InvalidInput(f"a root in memory has at most {ENTITIES:,} entities; use a server for more")
            self._graph = MemoryGraph(now.policy, now.root, version, writing.graph.ends)
        return result

    def has_due(self, root: str) -> bool:
        """Whether facts have ended that were not removed yet."""
        return self._graph.due

    def end_due(self, root: str) -> bool:
        """Removes the facts that have ended. Returns whether there were any."""
        found = self.has_due(root)
        self.write(root, lambda _: None)
        return found

    def locked(self, root: str, what: str) -> AbstractContextManager[Any]:
        raise needs_server(what)

    def alone(self, root: str, what: str) -> AbstractContextManager[Any]:
        raise needs_server(what)


class _MemoryWriting(Writing):
    """A change of a root in memory."""

    def __init__(self, graph: MemoryGraph) -> None:
        self.graph = graph
        self.made = MADE
        self.policy = graph.policy.digest
        self.root = graph.root.text
        self.revision = graph.version.revision
        self.tail = None
        self.ends = None
        self.changes = 0
        self.noted = False

    def ask(self, text: str, parameters: Mapping[str, Any]) -> list[Row]:
        """The rows of a query of cypher/, which sees the writes of this change."""
        return _run(self.graph, text, parameters)

    def ask_last(self, text: str, parameters: Mapping[str, Any]) -> None:
        """Runs the last query."""
        self.ask(text, parameters)


class _Facts:
    """The facts of a root in memory, as `plan` needs them."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    def current(self, policy: Policy, *, whole: bool = True) -> FactVersion:
        """The present facts."""
        return self._store.graph.version

    def planned(self, version: FactVersion, entries: Sequence[Facts]) -> FactVersion:
        """The facts after the entries of a dry run."""
        return advanced(version, entries, version.revision + 1)


def _run(graph: MemoryGraph, text: str, parameters: Mapping[str, Any]) -> list[Row]:
    """The rows of a query, given by the text that is sent: its first line names it."""
    name = text.removeprefix("// ").partition(".cypher")[0]
    return graph.rows(name, **{key: value for key, value in parameters.items() if key != "root"})
