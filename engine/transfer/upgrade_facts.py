"""The facts of a root, checked against a new policy, and what an upgrade to it changes."""

from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING

from grantpath.engine.change.deltas import Delta, Scope, Watch, scope
from grantpath.engine.policy.policy import Policy
from grantpath.engine.policy.statement_rules import Rules
from grantpath.engine.tenants.lifecycle import builtins
from grantpath.engine.transfer.exporter import streaming, tables_of
from grantpath.engine.transfer.tables import said
from grantpath.graph.errors import GrantpathError, Invalid
from grantpath.graph.guard.store import Store
from grantpath.graph.guard.transaction import AskByName, query_by_name
from grantpath.graph.language.reference import Reference, type_of
from grantpath.graph.language.statement import Statement, parse_statement
from grantpath.graph.messages import indefinite
from grantpath.graph.progress import ReportCount

if TYPE_CHECKING:
    from neo4j import ManagedTransaction

AT_ONCE = 1_000
STEP = 10_000  # facts between two reports of progress


class _Rehearsed(Exception):
    """Rolls back the transaction of a rehearsal."""

    def __init__(self, delta: Delta) -> None:
        super().__init__()
        self.delta = delta


class UpgradeFacts:
    """The facts of a root under the old policy, to be checked against the new one."""

    def __init__(self, store: Store, tenant: str, old: Policy, new: Policy, root: Reference) -> None:
        self._old = old
        self._new = new
        self._root = root
        self._rules = Rules(new, root)
        ask = streaming(store, tenant)
        self._tables = tables_of(ask, old, root)
        names: list[str] = []
        self._misplaced: dict[bool, list[str]] = {True: [], False: []}  # those to be put into the tree, or taken out
        for row in ask("dump_entities"):
            if not row["created"]:
                names.append(row["ref"])
            if row["type"] in new.names.subject_types and new.is_securable(row["type"]) != row["securable"]:
                self._misplaced[not row["securable"]].append(row["ref"])
        self._names, self._idle = self._split_names(sorted(names))
        self.renamed: set[tuple[str, str]] = set()
        self.count = sum(map(len, self._tables.values()))

    @property
    def misplaced(self) -> int:
        """The number of subjects that `put` puts into the tree of objects, or takes out of it."""
        return sum(map(len, self._misplaced.values()))

    # ---- problems ----------------------------------------------------------------------------------------------
    def problems(self, progress: ReportCount) -> Iterator[str]:
        """The facts that violate the new policy, each with the reason."""
        done = 0
        there = {row[0] for name in ("subjects", "objects") for row in self._tables[name]}
        for name, rows in self._tables.items():
            for row in rows:
                text = said(name, row)
                if done % STEP == 0:
                    progress("checking facts", done, self.count)
                done += 1
                try:
                    self._check(parse_statement(text), there)
                except GrantpathError as error:
                    yield f"{text}: {error}"
        yield from self._missing_members(there)
        for name in self._names:
            try:
                self._check_place(self._new.reference(name, self._root), "revoke its grants first")
            except GrantpathError as error:
                yield f"{name}, a name with grants on it: {error}"
        yield from self._builtin_problems()
        yield from self._cycles()

    def _missing_members(self, there: set[str]) -> Iterator[str]:
        """Members of a role that was hidden and is not any more must exist, as those of every other role."""
        shown = {*self._old.hidden} - {*self._new.hidden}
        for row in self._tables["members"] if shown else ():
            if row[1] in shown and row[0] not in there and row[0] not in self._new.builtins:
                why = f"{row[0]} does not exist, and {row[1]} is not hidden in {self._new.name}; add {row[0]} first"
                yield f"{said('members', row)}: {why}"

    def _split_names(self, names: list[str]) -> tuple[list[str], list[str]]:
        """The missing names that are needed (with grants, above such names, or in hidden subjects), and the rest."""
        needed: set[str] = set()
        for _, _, object_, *_ in self._tables["grants"]:
            chain = self._old.chain(self._old.reference(object_, self._root), self._root)
            needed.update(ref.text for _, ref in chain)
        needed.update(member for member, of, *_ in self._tables["members"] if of in self._old.hidden)
        return [name for name in names if name in needed], [name for name in names if name not in needed]

    def _check(self, fact: Statement, there: set[str]) -> None:
        change = self._rules.resolve(fact, as_fact=True)
        if change.kind != fact.kind:
            raise Invalid(f"{fact.privilege} is a membership in {self._new.name}; revoke it, and add the membership")
        ref = change.object
        if change.kind == "add":
            self._check_type(ref)
        elif change.kind == "grant":
            if ref.text not in {*there, self._root.text, *self._new.builtins} and not self._new.grants_on_missing:
                raise Invalid(
                    f"{ref} does not exist, and {self._new.name} forbids grants on missing objects; revoke it"
                )
            if fact.privilege and change.privilege and fact.privilege != change.privilege:
                self.renamed.add((fact.privilege, change.privilege))

    def _check_type(self, ref: Reference) -> None:
        new = self._new
        if ref.text in new.builtins:
            raise Invalid(f"{ref} is built into {new.name}; drop the existing one first")
        self._check_place(ref, "drop it first")

    def _check_place(self, ref: Reference, remedy: str) -> None:
        old, new = self._old, self._new
        if not self._is_alike(ref.type):
            raise Invalid(f"{indefinite(ref.type)} is of another kind in {new.name}; {remedy}")
        if new.is_securable(ref.type):
            above = new.parent(ref, self._root).text
            if above != old.parent(ref, self._root).text:
                raise Invalid(f"{indefinite(ref.type)} must be in {above} in {new.name}; {remedy}")

    def _is_alike(self, type_: str) -> bool:
        """Whether both policies give entities of a type the same labels. `put` changes the one of the tree itself."""
        return {*self._old.labels(type_)} - {"Securable"} == {*self._new.labels(type_)} - {"Securable"}

    def _builtin_problems(self) -> Iterator[str]:
        """Built-in subjects that the new policy lacks must have no facts of their own, and nothing inside; and the
        kinds of the others must not change."""
        gone = self._old.builtins.keys() - self._new.builtins.keys()
        for name, rows in self._tables.items():
            for row in rows if gone else ():
                text = said(name, row)
                for ref in sorted(gone & self._places(parse_statement(text))):
                    yield f"{text}: {self._new.name} has no {ref}; remove this fact first"
        for ref in [self._root.text, *sorted(self._old.builtins.keys() & self._new.builtins.keys())]:
            type_ = type_of(ref)
            if not self._is_alike(type_):
                yield f"{ref}: {indefinite(type_)} is of another kind in {self._new.name}; use another root"

    def _places(self, fact: Statement) -> set[str]:
        """The entities that a fact is about, and those above them."""
        refs = [self._old.reference(text, self._root) for text in (fact.object, fact.subject, fact.to) if text]
        return {each.text for ref in refs for _, each in self._old.chain(ref, self._root)}

    def _cycles(self) -> Iterator[str]:
        above: dict[str, set[str]] = {}
        for member, of, *_ in self._tables["members"]:
            above.setdefault(member, set()).add(of)
        for builtin in builtins(self._new):
            above.setdefault(builtin["ref"], set()).update(builtin["holds"])
        try:
            TopologicalSorter(above).prepare()
        except CycleError as error:
            cycle = " in ".join(error.args[1][::-1])
            yield (
                f"the built-in memberships of {self._new.name} close a cycle with memberships of the root: {cycle}; "
                "remove one of the latter first"
            )

    # ---- changes -------------------------------------------------------------------------------------------------
    def put(self, ask: AskByName) -> Delta:
        """Replaces the built-in subjects of the old policy by those of the new one, and renames privileges. Removes
        missing names that are not needed, since they were not checked against the new policy. Returns the delta."""
        watch = Watch(ask, self._new, list(self._scopes()))
        self._put(ask)
        return next(iter(watch.deltas()), Delta())

    def _put(self, ask: AskByName) -> None:
        for at in range(0, len(self._idle), AT_ONCE):
            ask("drop", refs=self._idle[at : at + AT_ONCE], all=False, kept=self._old.hidden, most=0)
        new = builtins(self._new)
        by_ref = {each["ref"]: each for each in new}
        for each in builtins(self._old):
            kept = by_ref.get(each["ref"])
            if kept is None:
                ask("drop", refs=[each["ref"]], all=False, kept=self._old.hidden, most=0)
                continue
            lost = [name for name in each["allow"] if name not in kept["allow"]]
            grant = {"effect": "ALLOW", "object": self._root.text, "subject": each["ref"]}
            ask("revoke", rows=[{**grant, "privilege": name} for name in lost], kept=self._old.hidden, log=[])
            left = [held for held in each["holds"] if held not in kept["holds"]]
            ask("leave", rows=[{"subject": each["ref"], "container": held} for held in left], log=[])
            if each["owns"] and not kept["owns"]:
                ask("disown", owner=each["ref"], object=self._root.text)
        ask("policy_subjects", top=self._root.text, builtins=new)
        for securable, refs in self._misplaced.items():
            for at in range(0, len(refs), AT_ONCE):
                ask("place_subjects", top=self._root.text, refs=refs[at : at + AT_ONCE], securable=securable)
        self._hold_from_the_start(ask)
        if self.renamed:
            ask("rename_privilege", names=[{"old": one, "new": other} for one, other in sorted(self.renamed)])

    def rehearse(self, store: Store, tenant: str) -> Delta:
        """The facts that `put` adds and removes, computed in a transaction that is rolled back."""

        def work(tx: "ManagedTransaction") -> None:
            ask = query_by_name(lambda text, given: [dict(row) for row in tx.run(text, dict(given))], tenant)
            raise _Rehearsed(self.put(ask))

        try:
            store.transaction(work)
        except _Rehearsed as rehearsed:
            return rehearsed.delta
        raise AssertionError("the transaction is rolled back")

    def _scopes(self) -> Iterator[Scope]:
        """The parts of the graph that `put` writes to."""
        for ref in sorted(self._old.builtins.keys() | self._new.builtins.keys()):
            yield scope(0, "inside" if ref not in self._new.builtins else "entity", ref)
        names = {old for old, _ in self.renamed}
        for _, privilege, object_, subject, *_ in self._tables["grants"]:
            if privilege in names:
                yield scope(0, "edge", object_, subject)

    def _hold_from_the_start(self, ask: AskByName) -> None:
        """Removes and adds the roles that every subject of a type holds."""
        before, after = _held_by_every(self._old), _held_by_every(self._new)
        for verb, roles in (("leave", before - after), ("join", after - before)):
            for role, type_ in sorted(roles):
                every = [ref for (ref,) in self._tables["subjects"] if type_of(ref) == type_]
                for at in range(0, len(every), AT_ONCE):
                    rows = [{"subject": ref, "container": role} for ref in every[at : at + AT_ONCE]]
                    ask(verb, rows=rows, log=[])


def _held_by_every(policy: Policy) -> set[tuple[str, str]]:
    """The roles that every subject of a type holds, each with the type."""
    return {(role, type_) for role, entry in policy.builtins.items() for type_ in entry.held_by_every}
