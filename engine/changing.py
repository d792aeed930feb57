"""The one door for changes: what is invalid, then what is refused, then what is done, in one transaction."""

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from grantpath import cypher
from grantpath.engine import asking
from grantpath.engine.clauses import as_parameters
from grantpath.engine.decision import Subject, decide
from grantpath.engine.policy import Policy
from grantpath.engine.rules import Resolved, Rules
from grantpath.graph.errors import GrantpathError, Invalid, Refused, Unknown
from grantpath.graph.reference import Reference
from grantpath.graph.statement import parse_statement
from grantpath.graph.store import Store, Writing


@dataclass(frozen=True)
class Change:
    """An accepted change: its id in the log (None: it changed nothing) and the revision from which it holds."""

    id: str | None
    revision: int


@dataclass(frozen=True)
class Actor:
    """Who asks for a change, and with which active role."""

    ref: Reference
    as_role: str | None


class Changer:
    """Makes changes to one root."""

    def __init__(self, store: Store, tenant: str, policy: Policy, root: Reference) -> None:
        self._store = store
        self._tenant = tenant
        self._policy = policy
        self._root = root
        self._rules = Rules(policy, root)

    def change(self, statement: str, by: str | None, as_role: str | None) -> Change:
        """Makes one change. Raises Invalid, Refused, Unavailable."""
        change = self._rules.resolve(parse_statement(statement), loading=False)
        actor = self._actor(by, as_role)
        return self._store.write(self._tenant, lambda writing: self._make(writing, change, actor, statement))

    def given(self, statements: Iterable[str]) -> list[str | None]:
        """Writes facts in order, nobody asked, users and groups added by their mention: by statement, what is wrong
        with it, or None. What is wrong is left out, the others are written."""
        lines = list(statements)

        def work(writing: Writing) -> list[str | None]:
            mentioned: set[str] = set()
            return [self._give(writing, line, mentioned) for line in lines]

        return self._store.write(self._tenant, work)

    def _give(self, writing: Writing, line: str, mentioned: set[str]) -> str | None:
        try:
            change = self._rules.resolve(parse_statement(line), loading=True)
            if change.kind == "add" and change.object.text in mentioned:
                mentioned.discard(change.object.text)
                return None
            if change.kind not in ("add", "drop"):
                mentioned.update(self._mention(writing, change))
            self._make(writing, change, None, line)
        except GrantpathError as error:
            return str(error)
        return None

    def _mention(self, writing: Writing, change: Resolved) -> list[str]:
        refs = [ref for ref in (change.object, change.subject) if ref and ref.type in self._policy.addable_by_mention]
        there = {each["ref"] for each in self._standing(writing, change)["there"]}
        missing = [ref for ref in refs if ref.text not in there]
        for ref in missing:
            self._make(writing, self._rules.resolve(parse_statement(f"add {ref}"), loading=True), None, f"add {ref}")
        return [ref.text for ref in missing]

    # ---- one change --------------------------------------------------------------------------------------------
    def _make(self, writing: Writing, change: Resolved, actor: Actor | None, text: str) -> Change:
        standing = self._standing(writing, change)
        self._must_stand(change, standing, actor is not None)
        role = self._authorize(writing, change, actor) if actor else None
        if self._changes_nothing(change, standing):
            return Change(None, writing.revision)
        revision = writing.next_revision()
        self._write(writing, change, standing)
        if change.kind == "add" and actor:
            self._reward(writing, change, actor, role)
        id_ = uuid.uuid4().hex
        actor_text = str(actor.ref) if actor else None
        self._put(writing, "record", revision=revision, id=id_, actor=actor_text, statement=text)
        return Change(id_, revision)

    def _standing(self, writing: Writing, change: Resolved) -> Mapping[str, Any]:
        refs = [change.object.text, *(ref.text for ref in change.seconds.values())]
        refs += [change.subject.text] if change.subject else []
        refs += [self._policy.parent(change.object, self._root).text] if change.object != self._root else []
        return self._put(
            writing,
            "standing",
            refs=refs,
            object=change.object.text,
            subject=change.subject.text if change.subject else None,
            edge=change.edge,
            privilege=change.privilege,
        )[0]

    def _must_stand(self, change: Resolved, standing: Mapping[str, Any], guarded: bool) -> None:
        """Raises Invalid where the graph is not as the change needs it."""
        there = {each["ref"] for each in standing["there"]}
        for ref in [*change.seconds.values(), *([change.subject] if change.subject else [])]:
            self._there(ref, there)
        if change.kind == "add":
            if change.object.text in there:
                raise Invalid(f"{change.object} is there already; drop it first, or choose another name")
            self._there(self._policy.parent(change.object, self._root), there)
            entry = self._policy.change_entry("add", change.object.type)
            for key, second in entry.with_.items() if entry and guarded else ():
                if key not in change.seconds and not second.optional:
                    raise Invalid(f"adding a {change.object.type} needs {key}: add `with {key}={second.type}:NAME`")
        elif change.kind not in ("grant", "revoke") or not self._policy.grants_on_missing:
            self._there(change.object, there)
        if change.kind == "member" and standing["cycle"]:
            raise Invalid(f"{change.text!r} would close a circle: {change.object} is in {change.subject} already")
        keep = self._policy.file.types[change.object.type].keep_while_owning
        if change.kind == "drop" and keep and standing["owning"]:
            raise Invalid(f"{change.object} owns {standing['owning']}; hand that on first")

    @staticmethod
    def _there(ref: Reference, there: set[str]) -> None:
        if ref.text not in there:
            raise Unknown(f"{ref} is not there; add it first, or check the name")

    def _changes_nothing(self, change: Resolved, standing: Mapping[str, Any]) -> bool:
        match change.kind:
            case "member" | "grant":
                return bool(standing["edge"])
            case "remove" | "revoke":
                return not standing["edge"]
            case "owner":
                return change.subject is not None and standing["owner"] == change.subject.text
        return False

    # ---- authorization -----------------------------------------------------------------------------------------
    def _actor(self, by: str | None, as_role: str | None) -> Actor | None:
        if by is None:
            if as_role is not None:
                raise Invalid(f"as {as_role}: an active role needs an actor; name who acts with `by`")
            return None
        ref = self._policy.reference(by, self._root)
        if as_role is not None and not self._policy.active_roles:
            raise Invalid(f"as {as_role}: the policy {self._policy.name} has no active roles; leave it away")
        role = self._policy.reference(as_role, self._root).text if as_role else None
        return Actor(ref, role)

    def _authorize(self, writing: Writing, change: Resolved, actor: Actor) -> str | None:
        """The role that the actor acts with, if the policy has active roles. Raises Refused."""
        if actor.ref.type not in self._policy.user_types:
            raise Refused(f"{change.text!r} by {actor.ref} is refused: a {actor.ref.type} does not act; name a user")
        grantee = change.subject.type if change.subject else None
        clauses = self._policy.change(change.kind, change.object.type, grantee, frozenset(change.seconds))
        seconds = {**change.seconds, **({"grantee": change.subject} if change.subject else {})}
        where = asking.places(self._policy, self._root, change.object, seconds)
        one_role = self._policy.active_roles
        check = asking.check_parameters(actor.ref.text, where, clauses, 0, one_role, actor.as_role, [])
        row = self._put(writing, "check", checks=[check], conditions=[as_parameters(clauses)])[0]
        hats = row["answers"][0]["hats"]
        subject = Subject(actor.ref.text, actor.ref.type in self._policy.file.grants.to)
        decision = decide(hats, clauses, where.by_at, subject, writing.revision, one_role)
        if not decision:
            raise Refused(f"{change.text!r} by {actor.ref} is refused: {'; '.join(decision.missing)}")
        roles: list[str | None] = [hat["role"] for hat in hats if hat["allowed"]]
        return min(roles, key=lambda role: (role or "").encode())

    # ---- writing -------------------------------------------------------------------------------------------------
    def _write(self, writing: Writing, change: Resolved, standing: Mapping[str, Any]) -> None:
        object_, subject = change.object.text, change.subject.text if change.subject else ""
        match change.kind:
            case "add":
                self._add(writing, change.object, exists=True)
            case "drop":
                self._put(writing, "drop", ref=object_, all=change.object == self._root)
            case "member":
                self._put(writing, "join", subject=subject, container=object_)
            case "remove":
                self._put(writing, "leave", subject=subject, container=object_)
            case "owner":
                self._put(writing, "own", owner=subject, object=object_)
            case "grant":
                if object_ not in {each["ref"] for each in standing["there"]}:
                    self._name(writing, change.object)
                self._put_grant(writing, "grant", change, subject)
            case "revoke":
                self._put_grant(writing, "revoke", change, subject)

    def _put_grant(self, writing: Writing, query: str, change: Resolved, subject: str) -> None:
        self._put(
            writing,
            query,
            effect=change.effect,
            privilege=change.privilege,
            object=change.object.text,
            subject=subject,
        )

    def _name(self, writing: Writing, ref: Reference) -> None:
        """A name that holds grants before it is created, with the names above it."""
        for _, each in reversed(list(self._policy.chain(ref, self._root))[:-1]):
            self._add(writing, each, exists=False)

    def _add(self, writing: Writing, ref: Reference, exists: bool) -> None:
        securable = self._policy.is_securable(ref.type)
        builtins = self._policy.builtins.items()
        self._put(
            writing,
            "add",
            ref=ref.text,
            type=ref.type,
            name=ref.name,
            labels=self._policy.labels(ref.type),
            parent=self._policy.parent(ref, self._root).text if securable else None,
            exists=exists,
            holds=[role for role, entry in builtins if entry.held_by_every == ref.type and role != ref.text],
        )

    def _reward(self, writing: Writing, change: Resolved, actor: Actor, role: str | None) -> None:
        """What the creator gets: ownership (his, or his active role's), or a privilege."""
        gives = self._policy.file.creating
        creator = role or actor.ref.text
        owned_by = self._policy.file.types[change.object.type].owned_by
        if gives == "owner":
            if creator.partition(":")[0] in owned_by:
                self._put(writing, "own", owner=creator, object=change.object.text)
        elif gives and change.object.type in self._policy.names.privileges[gives].on:
            self._put(
                writing, "grant", effect="ALLOW", privilege=gives, object=change.object.text, subject=actor.ref.text
            )

    def _put(self, writing: Writing, query: str, **parameters: Any) -> list[Mapping[str, Any]]:
        loaded = cypher.load(query)
        parameters["root"] = self._tenant
        loaded.check(parameters)
        return writing.ask(loaded.text, parameters)
