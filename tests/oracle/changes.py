"""Changes of the facts: their validity for every actor, and their effects."""

from dataclasses import dataclass
from typing import ClassVar

from .errors import InvalidChange
from .facts import Facts
from .notation import Malformed, Ref, read_reference, read_statement

NOBODY = Ref("", ())


@dataclass(frozen=True)
class Change:
    """A statement with its references resolved. For `member` and `remove` the object is the container. `target` is what
    the object of `rename` or `move` will be called, and the tag of `tag` and `untag`."""

    verb: str
    object: Ref
    subject: Ref
    effect: str
    privilege: str
    second: dict[str, Ref]
    target: Ref = NOBODY


class Changes(Facts):
    """Facts that can be changed, by an actor or without one."""

    people: ClassVar[tuple[str, ...]] = ("user",)  # types that act, and that `who` answers
    memberships: ClassVar[set[tuple[str, str]]]  # (type of the member, type of the container)
    grantees: ClassVar[tuple[str, ...]]
    owner_types: ClassVar[tuple[str, ...]] = ()
    ownable: ClassVar[tuple[str, ...]] = ()
    denies: ClassVar[bool] = False
    active_roles: ClassVar[bool] = False
    grants_before_creation: ClassVar[bool] = False
    droppable_root: ClassVar[bool] = False
    privileges: ClassVar[dict[str, tuple[str, ...]]]  # name -> types it can be granted on
    any_name: ClassVar[tuple[str, ...]] = ()  # second objects that need not exist
    adding_with: ClassVar[dict[str, dict[str, str]]] = {}  # type -> second objects an `add` of it may name

    def authorized(self, change: Change, actor: Ref, as_role: Ref | None) -> bool:
        """Whether the actor, who exists, may make this valid change."""
        raise NotImplementedError

    def may_rename(self, change: Change, actor: Ref, as_role: Ref | None) -> bool:
        """Whether the actor may make this valid `rename` or `move`."""
        return False

    def may_tag(self, change: Change, actor: Ref, as_role: Ref | None) -> bool:
        """Whether the actor may make this valid `tag` or `untag`."""
        return False

    def created(self, change: Change, actor: Ref, as_role: Ref | None) -> None:
        """Gives the actor of an `add` its rights; called before the new object exists."""

    def extra_rules(self, change: Change, given: bool, actor: Ref | None) -> None:
        """Rules beyond the common ones; raises InvalidChange."""

    def same_privilege(self, name: str) -> str:
        """The canonical name of a privilege with several names."""
        return name

    def given(self, statement: str) -> str:
        """A fact: 'done' or 'invalid'; users and groups it mentions are added."""
        return self._change(statement, given=True, by=None, as_role=None)

    def do(self, statement: str, by: str | None = None, as_role: str | None = None) -> str:
        """A change, of an actor or without: 'done', 'refused' or 'invalid'."""
        return self._change(statement, given=False, by=by, as_role=as_role)

    def _hand_over(self, change: Change, given: bool, by: str | None, as_role: str | None) -> str:
        """Everything that one subject owns gets another owner, or nothing does."""
        former, later = change.object, change.subject
        both_can_own = {former.type, later.type} <= {*self.owner_types}
        if not {former, later} <= self.existing or not both_can_own or former == later:
            return "invalid"
        before = dict(self.owners)
        for owned in sorted((each for each, owner in before.items() if owner == former), key=str):
            outcome = self._change(f"owner {later} of {owned}", given, by, as_role)
            if outcome != "done":
                self.owners = before
                return outcome
        return "done"

    def _change(self, text: str, given: bool, by: str | None, as_role: str | None) -> str:
        new: set[Ref] = set()
        try:
            if read_statement(text).verb == "hand over":
                return self._hand_over(self._read_change(text), given, by, as_role)
            change = self._read_change(text)
            actor = None if by is None else self.resolve(by)
            role = None if as_role is None else self.resolve(as_role)
            if as_role is not None and not self.active_roles:
                raise InvalidChange(f"{self.policy} has no active roles")
            if given and change.verb not in ("add", "drop", "rename", "move"):
                new = {r for r in (change.subject, change.object) if r.type in ("user", "group")}
                new -= self.existing
            self.existing |= new
            self._validate(change, given)
            self.extra_rules(change, given, actor)
            if role is not None and (role.type != "role" or role not in self.existing or self.hidden(role)):
                raise InvalidChange(f"as {role}: there is no such role")
        except (Malformed, InvalidChange):
            self.existing -= new
            return "invalid"
        self.only_mentioned |= new
        if actor is not None:
            if actor not in self.existing or actor.type not in self.people:
                return "refused"
            may = self.may_rename if change.verb in ("rename", "move") else self.authorized
            may = self.may_tag if change.verb in ("tag", "untag") else may
            if not may(change, actor, role):
                return "refused"
            if change.verb == "add":
                self.created(change, actor, role)
        if change.verb in ("rename", "move") and change.target != change.object and self._is_taken(change.target):
            return "invalid"
        self._apply(change)
        return "done"

    def _read_change(self, text: str) -> Change:
        statement = read_statement(text)
        subject = self.resolve(statement.subject) if statement.subject else NOBODY
        second = {key: self.resolve(ref) for key, ref in statement.with_.items()}
        privilege = self.same_privilege(statement.privilege)
        object_ = self.resolve(statement.object)
        target = self._target(statement.verb, object_, statement.to)
        return Change(statement.verb, object_, subject, statement.effect, privilege, second, target)

    def _target(self, verb: str, object_: Ref, to: str) -> Ref:
        """What the object will be called."""
        if verb == "rename":
            name = read_reference(f"{object_.type}:{to}").segments
            if len(name) > 1:
                raise Malformed(f"{to!r} is not one name")
            return self.resolve(str(Ref(object_.type, (*object_.segments[:-1], *name))))
        if verb == "move":
            place = self.resolve(to)
            above = () if place == self.root else place.segments
            target = self.resolve(str(Ref(object_.type, (*above, object_.segments[-1]))))
            if self.parent(target) != place or object_ in self.upward(place):
                raise Malformed(f"{object_} cannot be in {place}")
            return target
        return self.resolve(to) if to else NOBODY

    def _is_taken(self, name: Ref) -> bool:
        """Whether something that was not created, or a part of it, has grants or memberships."""
        named = {place for _, _, place, _ in self.grants} | {
            member for member, those in self.containers.items() if those
        }
        return any(name in self.upward(each) for each in named)

    def _validate(self, change: Change, given: bool) -> None:
        if change.verb == "add":
            self._validate_add(change, given)
            return
        absent_allowed = self.grants_before_creation and change.verb in ("grant", "revoke")
        if change.object not in self.existing and not absent_allowed:
            raise InvalidChange(f"{change.object} does not exist")
        if change.verb == "drop":
            if change.object == self.root and not self.droppable_root:
                raise InvalidChange("the root cannot be dropped")
            if change.object == self.owners.get(self.root):
                raise InvalidChange(f"{change.object} owns the root")
            return
        if change.verb in ("rename", "move"):
            self._validate_rename(change)
            return
        if change.verb in ("tag", "untag"):
            self._validate_tag(change)
            return
        if change.subject not in self.existing:
            raise InvalidChange(f"{change.subject} does not exist")
        if change.verb in ("member", "remove"):
            self._validate_membership(change)
        elif change.verb == "owner":
            if change.subject.type not in self.owner_types or change.object.type not in self.ownable:
                raise InvalidChange(f"{change.subject} cannot own {change.object}")
        else:
            self._validate_grant(change)

    def _validate_rename(self, change: Change) -> None:
        if change.object == self.root:
            raise InvalidChange("the root keeps its name")
        if change.target != change.object:
            above = self.parent(change.target)
            if change.target in self.existing or above not in self.existing:
                raise InvalidChange(f"{change.target} exists, or its parent does not")

    def _validate_add(self, change: Change, given: bool) -> None:
        above = self.parent(change.object)
        if above is None:
            raise InvalidChange("a tenant has one root")
        if change.object in self.existing and not (given and change.object in self.only_mentioned):
            raise InvalidChange(f"{change.object} exists")
        if above not in self.existing:
            raise InvalidChange(f"{above} does not exist")
        for key, ref in change.second.items():
            exists = ref in self.existing or key in self.any_name
            if self.adding_with.get(change.object.type, {}).get(key) != ref.type or not exists:
                raise InvalidChange(f"{key}={ref} cannot be named here")

    def _validate_membership(self, change: Change) -> None:
        if (change.subject.type, change.object.type) not in self.memberships:
            raise InvalidChange(f"{change.subject} cannot be a member of {change.object}")
        if change.verb == "member" and change.subject in self.reach(change.object):
            raise InvalidChange(f"{change.subject} in {change.object} would be a cycle")

    def _validate_tag(self, change: Change) -> None:
        if change.object.type not in self.taggable.get(change.target.type, ()):
            raise InvalidChange(f"{change.object} cannot be tagged with {change.target}")
        if change.target not in self.existing:
            raise InvalidChange(f"{change.target} does not exist")

    def _validate_grant(self, change: Change) -> None:
        if change.effect == "deny" and not self.denies:
            raise InvalidChange(f"{self.policy} has no deny")
        if change.privilege not in self.privileges:
            raise InvalidChange(f"{change.privilege} is not a privilege")
        if change.object.type not in self.privileges[change.privilege]:
            raise InvalidChange(f"{change.privilege} cannot be granted on a {change.object.type}")
        if change.subject.type not in self.grantees:
            raise InvalidChange(f"nothing is granted to a {change.subject.type}")

    def _apply(self, change: Change) -> None:
        if change.verb == "add":
            self.existing.add(change.object)
            self.only_mentioned.discard(change.object)
        elif change.verb == "drop":
            self._drop(change.object)
        elif change.verb in ("rename", "move"):
            self._rename(change.object, change.target)
        elif change.verb == "member":
            self.containers.setdefault(change.subject, set()).add(change.object)
        elif change.verb == "remove":
            self.containers.get(change.subject, set()).discard(change.object)
        elif change.verb == "owner":
            self.owners[change.object] = change.subject
        elif change.verb == "tag":
            self.tags.add((change.object, change.target))
        elif change.verb == "untag":
            self.tags.discard((change.object, change.target))
        else:
            grant = (change.effect, change.privilege, change.object, change.subject)
            if change.verb == "grant":
                self.grants.add(grant)
            else:
                self.grants.discard(grant)

    def _rename(self, top: Ref, target: Ref) -> None:
        def new(ref: Ref) -> Ref:
            inside = top in self.upward(ref)
            return Ref(ref.type, target.segments + ref.segments[len(top.segments) :]) if inside else ref

        self.existing = set(map(new, self.existing))
        self.only_mentioned = set(map(new, self.only_mentioned))
        self.containers = {new(member): set(map(new, those)) for member, those in self.containers.items()}
        self.owners = {new(owned): new(owner) for owned, owner in self.owners.items()}
        self.grants = {(effect, privilege, new(on_), new(to)) for effect, privilege, on_, to in self.grants}
        self.tags = {(new(tagged), new(tag)) for tagged, tag in self.tags}

    def _drop(self, top: Ref) -> None:
        gone = {top} | self.existing_inside(top)
        self.existing -= gone
        self.only_mentioned -= gone
        # a list of the server keeps the names of dropped members
        self.containers = {
            member: {each for each in those - gone if member not in gone or self.hidden(each)}
            for member, those in self.containers.items()
        }
        self.owners = {o: w for o, w in self.owners.items() if o not in gone and w not in gone}
        self.tags = {(tagged, tag) for tagged, tag in self.tags if tagged not in gone and tag not in gone}
        # a name below that was never created may also hold a grant
        self.grants = {
            (effect, privilege, on_, to)
            for effect, privilege, on_, to in self.grants
            if top not in self.upward(on_) and to not in gone
        }
