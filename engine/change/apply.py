"""Validates, authorizes and writes the changes of a batch in one transaction; each change sees those before it."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from grantpath.engine.change.authorize import Authorizing
from grantpath.engine.change.change_step import Actor, ChangeStep
from grantpath.engine.change.deltas import BULK
from grantpath.engine.change.fact_collector import FactCollector
from grantpath.engine.change.precheck import Precheck, PrecheckedWriting
from grantpath.engine.change.preconditions import Preconditions
from grantpath.engine.change.schedule import ReadWriteSet, ReadWriteSets, levels
from grantpath.engine.policy.policy import Policy
from grantpath.engine.policy.statement_rules import ResolvedStatement
from grantpath.engine.tenants import registry
from grantpath.graph.errors import GrantpathError
from grantpath.graph.guard.transaction import query_by_name
from grantpath.graph.language.reference import Reference, type_of

AT_ONCE = 500  # rows in one query
# In this order: removals first, and entities before the edges that need them.
WRITES = ("revoke", "leave", "untag", "drop", "add", "join", "own", "tag", "grant")


@dataclass
class _Rows:
    """The rows that a level writes, by query."""

    facts: FactCollector
    rows: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: defaultdict(list))
    drops_root: bool = False


class BatchApplier:
    """Changes, each by its actor or as a fact, in one transaction."""

    def __init__(
        self, writing: Precheck | PrecheckedWriting, policy: Policy, root: Reference, is_dry_run: bool = False
    ) -> None:
        """`writing` is a Precheck if nothing is to be written. `is_dry_run`: what is written is undone, and the deltas
        list all facts."""
        self._writing = writing
        self._policy = policy
        self._root = root
        self.is_dry_run = is_dry_run
        self._mentioned: set[str] = set()
        self.ask = query_by_name(writing.ask, writing.root)
        self._authorizing = Authorizing(policy, root, self.ask)

    def apply(self, steps: Sequence[ChangeStep], all_or_nothing: bool) -> None:
        """Applies the changes, and records in each step whether it changed anything, and its delta, or its error.

        With `all_or_nothing`, the steps after a wrong one can be skipped.
        """
        done = 0
        while done < len(steps):
            part, sets = self._next_part(steps[done:])
            end = len(part)
            for level in levels(sets):
                self._apply_level([part[index] for index in level if index < end])
                if all_or_nothing:  # later levels may still find an error in an earlier step
                    end = next((index for index, step in enumerate(part) if step.error), end)
            done += len(part)
            if all_or_nothing and any(step.error for step in steps[:done]):
                return

    def first_wrong(self, steps: Sequence[ChangeStep]) -> int | None:
        """Sets the error of the first wrong step, and returns its index. Returns None if no step is wrong, or if that
        cannot be known before other steps are written."""
        part, sets = self._next_part(steps)
        first = next(iter(levels(sets)), [])
        self._validate([part[index] for index in first])
        for index, (at, step) in enumerate(zip(first, part, strict=False)):
            if at != index:
                return None  # this step depends on the writes of another one
            if step.error:
                return index
        return None

    # ---- changes that run apart from others (apart.py) -----------------------------------------------------------
    def preconditions(self, change: ResolvedStatement) -> Preconditions:
        """What the graph says about a change."""
        return Preconditions.read(self._writing, self._policy, self._root, [change])

    def needs(self, step: ChangeStep) -> bool:
        """Whether a step is valid, authorized and not done yet. A wrong step gets its error."""
        valid, preconditions, _ = self._validate([step])
        return bool(valid) and step.error is None and not preconditions.changes_nothing(step.change)

    def authorize(self, steps: Sequence[ChangeStep]) -> None:
        """Checks the rights of the actors. A refused step gets its error."""
        self._authorizing.authorize(steps)

    def renamed(self, ref: str, to: str) -> None:
        """Notes that an entity has another reference from now on."""
        if ref in self._mentioned:
            self._mentioned ^= {ref, to}

    # ---- a batch -------------------------------------------------------------------------------------------------
    def _next_part(self, steps: Sequence[ChangeStep]) -> tuple[list[ChangeStep], list[ReadWriteSet]]:
        """The next steps with their sets, up to and including one that may change the effective principals of an
        actor."""
        actors = {step.actor.ref.text for step in steps if step.actor}
        asks = bool(actors) and len(steps) > 1
        held = set(self.ask("effective_principals", subjects=sorted(actors))[0]["held"]) if asks else set()
        read_write_sets = ReadWriteSets(self._policy, self._root, actors, held)
        sets: list[ReadWriteSet] = []
        for step in steps:
            sets.append(read_write_sets.of(step.change, step.actor, self._looks_below(step)))
            if sets[-1].changes_the_actor:
                break
        return list(steps[: len(sets)]), sets

    def _looks_below(self, step: ChangeStep) -> Mapping[str, Reference]:
        below = self._authorizing.right(step.change).inside if step.actor else None
        return {at: ref for at, ref in self._authorizing.where(step.change).items() if at in below} if below else {}

    # ---- one level -----------------------------------------------------------------------------------------------
    def _apply_level(self, steps: list[ChangeStep]) -> None:
        """Applies steps that do not depend on each other's writes."""
        valid, preconditions, roles = self._validate(steps)
        rows = _Rows(FactCollector(self._policy))
        for step in valid:
            if step.error is None and not preconditions.changes_nothing(step.change):
                step.changed = True
                self._write(step, preconditions, rows)
                if step.change.kind == "add" and step.actor:
                    self._grant_to_creator(step, step.actor, roles[step], rows)
        self._put_all(rows)
        rows.facts.give(step for step in valid if step.changed)

    def _validate(
        self, steps: list[ChangeStep]
    ) -> tuple[list[ChangeStep], Preconditions, dict[ChangeStep, str | None]]:
        """The valid steps that are still to be done, their preconditions, and the actor's active role for each step.
        A wrong step gets its error."""
        as_roles = {step.actor.as_role for step in steps if step.actor and step.actor.as_role}
        changes = [step.change for step in steps]
        preconditions = Preconditions.read(self._writing, self._policy, self._root, changes, as_roles)
        absent = {
            role: self._absent(role)
            for role in as_roles
            if role not in preconditions.existing or role in self._policy.hidden
        }
        roles: dict[ChangeStep, str | None] = {}
        wrong: set[ChangeStep] = set()
        while True:
            due = [step for step in steps if step not in wrong and self._is_due(step, preconditions)]
            for step in due:
                unknown = absent.get(step.actor.as_role) if step.actor and step.actor.as_role else None
                step.error = unknown.prefixed("") if unknown else None  # a copy: callers add their question to it
            valid = [step for step in due if not step.error]  # no step is authorized with an unknown active role
            new = [step for step in valid if step not in roles]
            roles |= self._authorizing.authorize(new)
            self._authorize_shorter_ends(new, preconditions)
            found = {step for step in due if step.error}
            if not any(step.change.joining for step in found):
                return valid, preconditions, roles
            wrong |= found
            preconditions.forget_joined()  # another one may have seemed to close a cycle with one of these

    def _authorize_shorter_ends(self, steps: Sequence[ChangeStep], preconditions: Preconditions) -> None:
        """Checks that the actors may also remove the facts that would end earlier than now. A refused step gets its
        error."""
        for step in steps:
            if step.actor and step.error is None and preconditions.ends_earlier(step.change):
                kind = "remove" if step.change.kind == "member" else "revoke"
                removal = replace(step, change=replace(step.change, kind=kind))
                self._authorizing.authorize([removal])
                if removal.error:
                    step.error = type(removal.error)(
                        f"{removal.error}; the fact would end earlier than it does now, which needs the right to remove"
                        " it"
                    )

    def _is_due(self, step: ChangeStep, preconditions: Preconditions) -> bool:
        """Whether the step is valid and still needs to be done. A wrong step gets its error."""
        ref = step.change.object.text
        if step.mentioned and ref in preconditions.existing:
            return False
        if step.change.kind == "add" and ref in self._mentioned:
            self._mentioned.discard(ref)
            return False
        try:
            preconditions.check(step.change)
        except GrantpathError as error:
            step.error = error
            return False
        if step.mentioned:
            self._mentioned.add(ref)
        elif step.change.kind == "drop":
            self._mentioned.discard(ref)
        return True

    def _absent(self, ref: str) -> GrantpathError:
        """The error for an entity that does not exist in this transaction."""
        return registry.absent(self._writing.ask, self._writing.root, self._root, ref)

    # ---- writing -------------------------------------------------------------------------------------------------
    def _write(self, step: ChangeStep, preconditions: Preconditions, rows: _Rows) -> None:
        change, facts = step.change, rows.facts
        object_, subject = change.object.text, change.subject.text if change.subject else ""
        match change.kind:
            case "add":
                entity = self._entity(change.object, exists=True)
                rows.rows["add"].append(entity)
                facts.writes(step, "add", object_)
                facts.add(
                    step,
                    ("ENTITY", "", "", object_, ""),
                    *(("MEMBER", "", object_, role, "") for role in entity["holds"]),
                )
            case "drop":
                rows.rows["drop"].append({"ref": object_})
                facts.writes(step, "drop", object_)
                rows.drops_root |= change.object == self._root
            case "member":
                rows.rows["join"].append({"subject": subject, "container": object_, "until": change.until})
                self._replace_end(step, ("MEMBER", "", subject, object_), preconditions, facts)
            case "remove":
                rows.rows["leave"].append({"subject": subject, "container": object_})
                facts.remove(step, ("MEMBER", "", subject, object_, preconditions.end(change) or ""))
            case "owner":
                self._own(step, subject, rows)
            case "tag" | "untag" as kind:
                rows.rows[kind].append({"object": object_, "tag": str(change.tag)})
                (facts.add if kind == "tag" else facts.remove)(step, ("TAGGED", "", object_, str(change.tag), ""))
            case kind:
                if kind == "grant" and object_ not in preconditions.existing:
                    rows.rows["add"] += self._name(change.object)
                grant = {"effect": change.effect, "privilege": change.privilege, "object": object_, "subject": subject}
                fact = (str(change.effect), str(change.privilege), subject, object_)
                if kind == "grant":
                    rows.rows[kind].append({**grant, "until": change.until})
                    self._replace_end(step, fact, preconditions, facts)
                else:
                    rows.rows[kind].append(grant)
                    facts.remove(step, (*fact, preconditions.end(change) or ""))

    @staticmethod
    def _replace_end(
        step: ChangeStep, fact: tuple[str, str, str, str], preconditions: Preconditions, facts: FactCollector
    ) -> None:
        """Records the fact that a change adds, and the same fact with its former end, which the change removes."""
        if preconditions.exists(step.change):
            facts.remove(step, (*fact, preconditions.end(step.change) or ""))
        facts.add(step, (*fact, step.change.until or ""))

    def _own(self, step: ChangeStep, owner: str, rows: _Rows) -> None:
        object_ = step.change.object.text
        rows.rows["own"].append({"owner": owner, "object": object_})
        rows.facts.writes(step, "own", object_)
        rows.facts.add(step, ("OWNS", "", owner, object_, ""))

    def _name(self, ref: Reference) -> list[dict[str, Any]]:
        """The rows of a name that gets grants before it is created, and of all names above it except the root. The
        query changes no existing entity."""
        chain = reversed(self._policy.chain(ref, self._root)[:-1])
        return [self._entity(each, exists=False) for _, each in chain]

    def _entity(self, ref: Reference, exists: bool) -> dict[str, Any]:
        securable = self._policy.is_securable(ref.type)
        builtins = self._policy.builtins.items()
        return {
            "ref": ref.text,
            "type": ref.type,
            "name": ref.name,
            "labels": self._policy.labels(ref.type),
            "parent": self._policy.parent(ref, self._root).text if securable else None,
            "exists": exists,
            "holds": [
                role for role, entry in builtins if exists and ref.type in entry.held_by_every and role != ref.text
            ],
        }

    def _grant_to_creator(self, step: ChangeStep, actor: Actor, role: str | None, rows: _Rows) -> None:
        """Makes the creator, or its active role, the owner of the new object, or grants the creator privileges on it.
        The policy decides which."""
        gives, object_ = self._policy.file.creating, step.change.object
        creator = role or actor.ref.text
        if gives == ["owner"]:
            if type_of(creator) in self._policy.file.types[object_.type].owned_by:
                self._own(step, creator, rows)
            return
        for privilege in gives if type_of(creator) in self._policy.file.grants.to else []:
            if object_.type in self._policy.names.privileges[privilege].on:
                grant = {"effect": "ALLOW", "privilege": privilege, "object": object_.text, "subject": creator}
                rows.rows["grant"].append({**grant, "until": None})
                rows.facts.add(step, ("ALLOW", privilege, creator, object_.text, ""))

    def _put_all(self, written: _Rows) -> None:
        for query in WRITES:
            waiting = iter(written.rows[query])
            while rows := list(islice(waiting, AT_ONCE)):
                match query:
                    case "drop":
                        self._drop([row["ref"] for row in rows], written)
                    case "revoke":
                        self._later(query, rows=rows, kept=self._policy.hidden)
                    case "leave" | "join" | "tag" | "untag" | "grant":
                        self._later(query, rows=rows)
                    case _:
                        written.facts.written(query, self.ask(query, rows=rows))

    def _drop(self, refs: list[str], written: _Rows) -> None:
        if written.drops_root:  # the first row then removes everything
            refs = [self._root.text, *(ref for ref in refs if ref != self._root.text)]
        found = self.ask("drop", refs=refs, all=written.drops_root, kept=self._policy.hidden, most=BULK)
        written.facts.written("drop", found)

    def _later(self, query: str, **parameters: Any) -> None:
        assert isinstance(self._writing, PrecheckedWriting)
        self._writing.write_later(query, **parameters)
