"""Rules that make a change invalid for every actor and follow from the policy alone; others need the graph."""

from dataclasses import dataclass
from functools import partial
from typing import Literal

from grantpath.engine.policy.policy import Policy
from grantpath.graph.errors import Invalid
from grantpath.graph.language.reference import Reference, renamed
from grantpath.graph.language.statement import Statement, parse_statement
from grantpath.graph.messages import indefinite

Edge = Literal["ALLOW", "DENY", "OWNS", "MEMBER", "TAGGED", "NONE"]


@dataclass(frozen=True, eq=False)
class ResolvedStatement:
    """A statement with its names resolved, and the kind of relationship that it changes. `text` has canonical
    references. `target` is the reference that `rename` or `move` gives to the object. The tag of `tag` and `untag` is a
    second object, under the name of its type."""

    kind: str
    object: Reference
    subject: Reference | None
    effect: str | None
    privilege: str | None
    second_objects: dict[str, Reference]
    text: str
    target: Reference | None = None
    until: str | None = None  # when the grant or the membership ends
    contains: bool = False  # the subject may have members of its own
    new_subject: bool = False  # the same actor added the subject earlier in the same batch

    @property
    def joining(self) -> str | None:
        """The subject that becomes a member, if it can have members itself: only then can a cycle arise."""
        return self.subject.text if self.kind == "member" and self.subject and self.contains else None

    @property
    def tag(self) -> Reference | None:
        """The tag that the object gets or loses."""
        return next(iter(self.second_objects.values())) if self.kind in ("tag", "untag") else None

    @property
    def edge(self) -> Edge:
        if self.kind in ("member", "remove"):
            return "MEMBER"
        if self.kind == "owner":
            return "OWNS"
        if self.tag:
            return "TAGGED"
        return "ALLOW" if self.effect == "ALLOW" else "DENY" if self.effect == "DENY" else "NONE"


def canonical_reference(policy: Policy, root: Reference, text: str) -> str:
    """The canonical form of a reference; a text that is not valid under the policy is returned unchanged."""
    try:
        return policy.reference(text, root).text
    except Invalid:
        return text


def canonical_statement(policy: Policy, root: Reference, text: str) -> str:
    """The statement with canonical references; a text that is not valid is returned unchanged, as far as it is not."""
    try:
        return parse_statement(text).spelled(partial(canonical_reference, policy, root)).text
    except Invalid:
        return text


class Rules:
    """The rules of one policy for changes under one root."""

    def __init__(self, policy: Policy, root: Reference) -> None:
        self.policy = policy
        self.root = root
        self._types = policy.file.types

    def resolve_guarded(self, statement: Statement) -> ResolvedStatement:
        """As `resolve`, for a change that must be authorized: all required second objects must be given."""
        change = self.resolve(statement, as_fact=False)
        entry = self.policy.names.change("add", change.object.type) if change.kind == "add" else None
        for key, second in entry.with_.items() if entry else ():
            if key not in change.second_objects and not second.optional:
                raise Invalid(
                    f"adding {indefinite(change.object.type)} needs {key}: add `with {key}={second.type}:NAME`"
                )
        if change.kind == "move":
            self._can_be_added(change)
        return change

    def resolve(self, statement: Statement, as_fact: bool) -> ResolvedStatement:
        """The statement with its names resolved. Raises Invalid (Unknown, InvalidReference).

        `as_fact`: the statement has no actor, so it can set the members of hidden subjects.
        """
        object_ = self.policy.reference(statement.object, self.root)
        subject = self.policy.reference(statement.subject, self.root) if statement.subject else None
        second_objects = {key: self.policy.reference(ref, self.root) for key, ref in statement.with_.items()}
        if statement.kind in ("tag", "untag"):
            assert statement.to is not None, "a tag is named"
            tag = self.policy.reference(statement.to, self.root)
            second_objects = {tag.type: tag}
        text = statement.spelled(lambda ref: self.policy.reference(ref, self.root).text).text
        privilege = self.policy.names.canonical(statement.privilege) if statement.privilege else None
        kind, effect = statement.kind, statement.effect
        if privilege and effect == "ALLOW" and self.policy.names.privileges[privilege].membership:
            self._grantable(privilege, object_)
            kind, effect, privilege = ("member" if kind == "grant" else "remove"), None, None
        contains = subject is not None and (
            subject.type in self.policy.file.members or subject.text in self.policy.builtins
        )
        target = self._target(statement, object_)
        resolved = ResolvedStatement(
            kind, object_, subject, effect, privilege, second_objects, text, target, statement.until, contains
        )
        self._check(resolved, as_fact)
        return resolved

    def _target(self, statement: Statement, object_: Reference) -> Reference | None:
        """The new reference of the object of `rename` or `move`."""
        match statement.kind, statement.to:
            case "rename", str(name):
                return renamed(object_, name)
            case "move", str(to):
                return self._moved(object_, self.policy.reference(to, self.root))
        return None

    def _moved(self, object_: Reference, to: Reference) -> Reference:
        """The reference of an object in another parent. Raises Invalid if the object cannot be there."""
        parents = self.policy.names.parents[object_.type]
        if to.type not in parents:
            where = f"is in {' or '.join(map(indefinite, parents))}" if parents else "is the root"
            raise Invalid(f"{object_} cannot be moved to {to}: {indefinite(object_.type)} {where}")
        if self.policy.is_within(to, object_, self.root):
            raise Invalid(f"{object_} cannot be moved to {to}, which is {object_} or below it; name another parent")
        above = () if to == self.root else to.segments
        text = Reference(object_.type, (*above, object_.name), object_.one_segment).text
        return self.policy.reference(text, self.root)

    def _can_be_added(self, change: ResolvedStatement) -> None:
        """Raises Invalid if adding needs a second object: an actor must have the right to add where it moves to."""
        entry = self.policy.names.change("add", change.object.type)
        needed = [key for key, second in entry.with_.items() if not second.optional] if entry else []
        if needed:
            raise Invalid(
                f"{change.object} cannot be moved by an actor: adding {indefinite(change.object.type)} needs "
                f"{' and '.join(needed)}, which a move does not name; add it anew"
            )

    def _check(self, change: ResolvedStatement, as_fact: bool) -> None:
        self._hidden(change, as_fact)
        if change.kind not in ("add", "tag", "untag") and change.second_objects:
            raise Invalid(f"{change.text!r}: only `add` takes second objects; omit `with`")
        match change.kind:
            case "add":
                self._add(change)
            case "drop":
                self._drop(change)
            case "member" | "remove":
                self._membership(change)
            case "owner":
                self._owner(change)
            case "hand over":
                self._hand_over(change)
            case "rename" | "move":
                self._rename(change)
            case "tag" | "untag":
                self._tag(change)
            case _:
                self._grant(change)

    def _hidden(self, change: ResolvedStatement, as_fact: bool) -> None:
        named = {change.object.text, *([change.subject.text] if change.subject else [])}
        for ref in sorted(named & set(self.policy.hidden)):
            if change.edge != "MEMBER" or change.object.text != ref:
                raise Invalid(f"{ref} is hidden: only its members can be set or removed; remove the statement")
            if not as_fact:
                raise Invalid(f"the members of {ref} are set by facts, which have no actor; omit the actor (`by`)")

    def _add(self, change: ResolvedStatement) -> None:
        if change.object == self.root or self.policy.names.is_protected(change.object.type):
            raise Invalid(
                f"{change.object}: {indefinite(change.object.type)} is protected and cannot be added; "
                "create a root with --create"
            )
        entry = self.policy.names.change("add", change.object.type)
        for key, second in change.second_objects.items():
            wanted = entry.with_.get(key) if entry else None
            if wanted is None:
                known = ", ".join(entry.with_) if entry and entry.with_ else "none"
                raise Invalid(
                    f"adding {indefinite(change.object.type)} takes no second object {key!r} "
                    f"(it takes {known}); omit it"
                )
            if second.type != wanted.type:
                raise Invalid(
                    f"{key}={second} is {indefinite(second.type)}, not {indefinite(wanted.type)}: "
                    f"write {key}={wanted.type}:NAME"
                )
            self.policy.require_same_place(key, wanted, change.object, second, self.root)

    def _drop(self, change: ResolvedStatement) -> None:
        if self.policy.names.is_protected(change.object.type):
            raise Invalid(f"{change.object}: {indefinite(change.object.type)} is protected and cannot be dropped")
        self._not_builtin(change.object, "dropped")

    def _membership(self, change: ResolvedStatement) -> None:
        container, subject = change.object, change.subject
        assert subject is not None
        builtin = self.policy.builtins.get(container.text)
        allowed = self.policy.file.members.get(container.type, [])
        if builtin and builtin.members:
            allowed = builtin.members
        if subject.type not in allowed:
            what = f"must be of type {' or '.join(allowed)}" if allowed else "are not allowed"
            raise Invalid(f"{subject} cannot be in {container}: members of {indefinite(container.type)} {what}")
        if change.kind == "remove" and self._comes_with_policy(subject, container):
            raise Invalid(f"{subject} holds {container} by the policy {self.policy.name}; it cannot be removed")
        if change.until and self._comes_with_policy(subject, container):
            raise Invalid(f"{subject} holds {container} by the policy {self.policy.name}; omit `until`")

    def _comes_with_policy(self, subject: Reference, container: Reference) -> bool:
        builtin = self.policy.builtins.get(subject.text)
        held = self.policy.builtins.get(container.text)
        return bool(builtin and container.text in builtin.holds) or bool(held and subject.type in held.held_by_every)

    def _owner(self, change: ResolvedStatement) -> None:
        assert change.subject is not None
        allowed = self._types[change.object.type].owned_by
        if change.subject.type not in allowed:
            what = f"owned by {' or '.join(map(indefinite, allowed))}" if allowed else "not owned"
            raise Invalid(f"{change.subject} cannot own {change.object}: {indefinite(change.object.type)} is {what}")
        self._not_builtin(change.object, "given an owner")
        if change.object == self.root and any(self.root.type in entry.owns for entry in self.policy.builtins.values()):
            raise Invalid(f"{self.root} has its owner by the policy {self.policy.name}; it cannot be transferred")

    def _hand_over(self, change: ResolvedStatement) -> None:
        """Whether both can own something. Each object is checked when it gets its new owner."""
        owners = sorted({owner for entry in self._types.values() for owner in entry.owned_by})
        for ref in (change.object, change.subject):
            if ref is not None and ref.type not in owners:
                what = f"objects are owned by {' or '.join(owners)}" if owners else "objects have no owners"
                raise Invalid(f"{change.text!r}: {ref} cannot own anything: in the policy {self.policy.name} {what}")
        if change.object == change.subject:
            raise Invalid(f"{change.text!r}: the former and the new owner are the same; name two subjects")

    def _rename(self, change: ResolvedStatement) -> None:
        what = "renamed" if change.kind == "rename" else "moved"
        if change.object == self.root:
            raise Invalid(
                f"{change.object} is the root and cannot be {what}; a dump can be restored under another name"
            )
        if self.policy.names.is_protected(change.object.type):
            raise Invalid(f"{change.object}: {indefinite(change.object.type)} is protected and cannot be {what}")
        self._not_builtin(change.object, what)

    def _tag(self, change: ResolvedStatement) -> None:
        tag, tags = change.tag, self.policy.file.tags
        assert tag is not None
        if tag.type not in tags:
            what = f"tags are of type {' or '.join(tags)}" if tags else f"the policy {self.policy.name} has no tags"
            raise Invalid(f"{tag} is not a tag: {what}")
        on = tags[tag.type].on
        if change.object.type not in on:
            raise Invalid(
                f"{change.object} cannot be tagged with {tag}: {indefinite(change.object.type)} is not one of "
                f"{', '.join(on)}"
            )

    def _grant(self, change: ResolvedStatement) -> None:
        assert change.subject is not None and change.privilege is not None
        rules = self.policy.file.grants
        if change.effect == "DENY" and not rules.deny:
            raise Invalid(f"the policy {self.policy.name} has no DENY; revoke the ALLOW instead")
        self._grantable(change.privilege, change.object)
        if change.subject.type not in rules.to:
            raise Invalid(
                f"{change.subject} cannot hold a grant: in the policy {self.policy.name} privileges are granted to "
                f"{' and '.join(rules.to)}; grant it to one of those that {change.subject} holds"
            )
        builtin = self.policy.builtins.get(change.subject.text)
        own = builtin is not None and change.privilege in map(self.policy.names.canonical, builtin.allow)
        if change.kind == "revoke" and own and change.object == self.root:
            raise Invalid(
                f"{change.subject} has {change.privilege} by the policy {self.policy.name}; it cannot be revoked"
            )
        if change.until and change.effect == "ALLOW" and own and change.object == self.root:
            raise Invalid(f"{change.subject} has {change.privilege} by the policy {self.policy.name}; omit `until`")

    def _grantable(self, privilege: str, object_: Reference) -> None:
        on = self.policy.names.privileges[privilege].on
        if object_.type not in on:
            raise Invalid(
                f"{privilege} cannot be granted on {object_}, {indefinite(object_.type)}; it is granted on "
                f"{', '.join(on) or 'nothing'}"
            )

    def _not_builtin(self, ref: Reference, what: str) -> None:
        if ref.text in self.policy.builtins:
            raise Invalid(f"{ref} is built into the policy {self.policy.name} and cannot be {what}")
