"""Generates random statements about a tenant: mostly valid ones, and some that are broken on purpose."""

import random

from ..oracle import Oracle
from ..oracle.notation import Ref, printed_segment
from .random_names import random_name

SUBJECTS = ("user", "group", "role", "service_principal")
NOWHERE = "not-there"


class Proposals:
    """Generates statements about the current entities of the world; None if no statement is possible."""

    def __init__(self, world: Oracle, rng: random.Random) -> None:
        self.world = world
        self.rng = rng

    def existing(self, *types: str) -> list[Ref]:
        """All entities of these types, in an order that does not depend on hashing."""
        return sorted(r for r in self.world.existing if r.type in types and not self.world.hidden(r))

    def one(self, *types: str) -> Ref | None:
        """A random entity; all types are equally likely."""
        by_type = [found for type_ in types if (found := self.existing(type_))]
        return self.rng.choice(self.rng.choice(by_type)) if by_type else None

    def new(self, type_: str) -> Ref | None:
        """A reference with a random name under an existing parent."""
        parent_type = self.world.types[type_]
        if parent_type is None or (parent := self.one(parent_type)) is None:
            return None
        path = () if parent == self.world.root else parent.segments
        return Ref(type_, (*path, random_name(self.rng)))

    def absent(self, type_: str) -> Ref:
        """A reference with only random segments: usually neither it nor its parent exists."""
        return Ref(type_, tuple(random_name(self.rng) for _ in range(self.world.depth(type_))))

    def check(
        self, type_: str, name: str, keys: dict[str, str]
    ) -> tuple[str, str, str, dict[str, str], str | None] | None:
        """Subject, name, object, second objects and active role of a valid check, if such objects exist."""
        target = self.one(type_)
        if self.world.grants_before_creation and type_ != self.world.root_type and self.rng.random() < 0.2:
            named = sorted({place for _, _, place, _ in self.world.grants if place.type == type_})
            target = self.rng.choice(named) if named else self.absent(type_)
        subject = Ref("user", (NOWHERE,)) if self.rng.random() < 0.02 else self.one(*self.world.people)
        second = {key: self.one(wanted) for key, wanted in keys.items()}
        likely = self._holdings(type_)
        if target is not None and self.rng.random() < 0.3:
            likely = [(target, to) for place in self.world.upward(target) for _, to in self._holdings_on(place)]
        if likely and self.rng.random() < 0.7:
            target, holder = self.rng.choice(likely)
            reached = [each for each in self.existing(*self.world.people) if holder in self.world.reach(each)]
            subject = self.rng.choice(reached) if reached else subject
            for key, wanted in keys.items():
                same = [place for place, to in self._holdings(wanted) if to == holder and self.rng.random() < 0.9]
                second[key] = self.rng.choice(same) if same else second[key]
        if self.world.active_roles and self.rng.random() < 0.2:
            subject = self.one("role")
        for key in self.world.any_name:
            if key in keys and self.rng.random() < 0.4:
                second[key] = self._named(keys[key])
        must_exist = [ref for key, ref in second.items() if key not in self.world.any_name]
        gone = any(ref is not None and ref not in self.world.existing for ref in must_exist)
        row = self.world.operations.get(self.world.aliases.get(name, name))
        if row is not None and row.same and target is not None:
            place = self.world.above(target, row.same)
            second = {key: self._in_place(ref, place) for key, ref in second.items()}
        if target is None or subject is None or None in second.values() or gone:
            return None
        with_ = {key: str(ref) for key, ref in second.items()}
        return str(subject), name, str(target), with_, self.active_role(subject)

    def _named(self, type_: str) -> Ref:
        """A name that is in a grant, added or not, or is nowhere."""
        named = sorted({place for _, _, place, _ in self.world.grants if place.type == type_})
        return self.rng.choice(named) if named and self.rng.random() < 0.8 else self.absent(type_)

    def _in_place(self, ref: Ref | None, place: Ref) -> Ref | None:
        """The entity, or another one of its type that is in the place; None if there is none."""
        if ref is None or place in self.world.upward(ref):
            return ref
        inside = [each for each in self.existing(ref.type) if place in self.world.upward(each)]
        return self.rng.choice(inside) if inside else None

    def _holdings(self, type_: str) -> list[tuple[Ref, Ref]]:
        """The objects of that type on which a subject holds a grant or ownership, each with that subject."""
        granted = {(place, to) for _, _, place, to in self.world.grants}
        granted |= {(tagged, to) for tagged, tag in self.world.tags for place, to in granted if place == tag}
        return sorted(each for each in granted | set(self.world.owners.items()) if each[0].type == type_)

    def _holdings_on(self, place: Ref) -> list[tuple[Ref, Ref]]:
        return [each for each in self._holdings(place.type) if each[0] == place]

    def active_role(self, subject: Ref) -> str | None:
        """An active role, mostly one that is held, or None; always None if the policy has no active roles."""
        if not self.world.active_roles or self.rng.random() < 0.6:
            return None
        held = sorted(each for each in self.world.reach(subject) if each.type == "role")
        role = self.rng.choice(held) if held and self.rng.random() < 0.7 else self.one("role")
        return None if role is None else str(role)

    # Usually valid

    def change(self) -> str | None:
        """Any of the statements below."""
        make = self.rng.choices(
            [
                self.grant,
                self.revoke,
                self.member,
                self.remove,
                self.owner,
                self.add_any,
                self.drop,
                self.rename,
                self.move,
                self.tag,
            ],
            weights=[25, 12, 12, 8, 10, 25, 8, 6, 4, 8 if self.world.taggable else 0],
        )[0]
        return make()

    def add_any(self) -> str | None:
        """Add an object or a subject, with optional second objects."""
        types = [each for each in self.world.types if each != self.world.root_type]
        type_ = self.rng.choice(types)
        if self.world.grants_before_creation and self.rng.random() < 0.5:
            return self._add_what_has_grants(type_)
        return self.add(type_, with_second=True)

    def add(self, type_: str, with_second: bool = False) -> str | None:
        """Add an entity of that type."""
        ref = self.new(type_)
        return None if ref is None else self._adding(ref, with_second)

    def _adding(self, ref: Ref, with_second: bool) -> str:
        if not with_second or self.rng.random() < 0.2:
            return f"add {ref}"
        pairs = []
        for key, wanted in self.world.adding_with.get(ref.type, {}).items():
            optional = self.world.policy != "onehouse"
            second = self.one(wanted)
            if key in self.world.any_name and self.rng.random() < 0.4:
                second = self._named(wanted)
            if self.world.policy == "onehouse" and self.rng.random() < 0.9:
                second = self._in_place(second, self.world.upward(ref)[1])
            if second is not None and not (optional and self.rng.random() < 0.5):
                pairs.append(f"{key}={second}")
        return f"add {ref} with {', '.join(pairs)}" if pairs else f"add {ref}"

    def _add_what_has_grants(self, type_: str) -> str | None:
        """If names can have grants on them: create a name that holds one."""
        waiting = sorted({o for _, _, o, _ in self.world.grants if o.type == type_ and o not in self.world.existing})
        return self._adding(self.rng.choice(waiting), with_second=True) if waiting else None

    def drop(self) -> str | None:
        """Drop an entity, sometimes one with contents, never the whole tenant."""
        types = [each for each in self.world.types if each != self.world.root_type]
        ref = self.one(*types)
        if ref is None or (self.world.existing_inside(ref) and self.rng.random() < 0.7):
            return None
        return f"drop {ref}"

    def rename(self) -> str | None:
        """Give an entity a new name, sometimes its own one, and seldom one that is taken."""
        ref = self.one(*(each for each in self.world.types if each != self.world.root_type))
        if ref is None:
            return None
        name = self.rng.choice([random_name(self.rng), ref.segments[-1]])
        other = self.one(ref.type)
        if other is not None and self.rng.random() < 0.2:
            name = other.segments[-1]
        return f"rename {ref} to {'`with`' if name == 'with' else printed_segment(ref.type, name)}"

    def move(self) -> str | None:
        """Move an object into another parent of the same type, if there is one, or into its own."""
        deep = [each for each, parent in self.world.types.items() if parent not in (None, self.world.root_type)]
        ref = self.one(*deep)
        to = None if ref is None else self.one(self.world.types[ref.type] or "")
        return None if to is None else f"move {ref} to {to}"

    def tag(self) -> str | None:
        """Tag an object, or remove a tag, usually one that it has; seldom something that cannot be tagged."""
        if not self.world.taggable:
            return None
        kind = self.rng.choice(sorted(self.world.taggable))
        types = self.world.taggable[kind] if self.rng.random() < 0.9 else tuple(self.world.types)
        ref, tag = self.one(*types), self.one(kind)
        if self.world.tags and self.rng.random() < 0.4:
            tagged, has = self.rng.choice(sorted(self.world.tags))
            return f"untag {tagged} from {has}"
        if ref is None or tag is None:
            return None
        return self.rng.choice([f"tag {ref} with {tag}"] * 4 + [f"untag {ref} from {tag}"])

    def member(self) -> str | None:
        """Add a membership of a kind that the policy has; it may close a cycle."""
        pair = self._membership()
        return None if pair is None else f"member {pair[0]} of {pair[1]}"

    def remove(self) -> str | None:
        """Remove a membership, usually an existing one."""
        there = sorted((m, c) for m, those in self.world.containers.items() for c in those)
        pair = self.rng.choice(there) if there and self.rng.random() < 0.8 else self._membership()
        return None if pair is None else f"remove {pair[0]} from {pair[1]}"

    def _membership(self) -> tuple[Ref, Ref] | None:
        member_type, container_type = self.rng.choice(sorted(self.world.memberships))
        member, container = self.one(member_type), self.one(container_type)
        return None if member is None or container is None else (member, container)

    def owner(self) -> str | None:
        """Set an owner, if the policy has owners."""
        owner, owned = self.one(*self.world.owner_types), self.one(*self.world.ownable)
        return None if owner is None or owned is None else f"owner {owner} of {owned}"

    def grant(self) -> str | None:
        """Allow or deny a privilege on something it can be granted on."""
        privilege = self.rng.choice(sorted(self.world.privileges))
        type_ = self.rng.choice(self.world.privileges[privilege])
        place = self.one(type_)
        if self.world.grants_before_creation and type_ != self.world.root_type and self.rng.random() < 0.4:
            place = self.rng.choice([self.absent(type_), self.new(type_)])
        to = self.one(*self.world.grantees)
        if place is None or to is None:
            return None
        effect = "deny" if self.world.denies and self.rng.random() < 0.25 else "allow"
        return f"{effect} {privilege} on {place} to {to}"

    def revoke(self) -> str | None:
        """Revoke a grant, usually an existing one."""
        if not self.world.grants or self.rng.random() < 0.2:
            grant = self.grant()
            return None if grant is None else f"revoke {grant}".replace(" to ", " from ", 1)
        effect, privilege, place, to = self.rng.choice(sorted(self.world.grants))
        return f"revoke {effect} {privilege} on {place} from {to}"

    # Usually invalid

    def broken(self) -> str | None:
        """A statement that is malformed, names a missing entity, or breaks a rule of the policy."""
        return self.rng.choice(
            [
                self._unreadable,
                self._exists_already,
                self._not_there,
                self._any_grant,
                self._any_membership,
                self._any_owner,
                self._without_parent,
                self._surplus_second,
                self._any_rename,
            ]
        )()

    def _unreadable(self) -> str:
        root = self.world.root
        return self.rng.choice(
            [
                "",
                "add",
                f"add {root.type}:",
                "add user:`open",
                "add user:a b",
                "add spaceship:x",
                f"destroy {root}",
                f"allow READ {root} to user:a",
                f"grant READ on {root} to user:a",
                f"member {root}",
                f"drop {root} with k={root}",
                f"add {root}",
                f"add {root.type}:other",
                "add user:" + "x" * 256,
            ]
        )

    def _exists_already(self) -> str | None:
        ref = self.one(*self.world.types)
        return None if ref is None else f"add {ref}"

    def _not_there(self) -> str | None:
        to = self.one(*self.world.grantees)
        gone = f"{self.rng.choice([s for s in SUBJECTS if s in self.world.types])}:{NOWHERE}"
        return self.rng.choice(
            [
                f"drop {gone}",
                f"member {gone} of {to}",
                f"remove {gone} from {to}",
                f"owner {gone} of {self.world.root}",
                f"allow {self.rng.choice(sorted(self.world.privileges))} on {self.world.root} to {gone}",
            ]
        )

    def _any_grant(self) -> str | None:
        """Any privilege, known or unknown, on any entity, to any subject, with either effect."""
        place, to = self.one(*self.world.types), self.one(*(s for s in SUBJECTS if s in self.world.types))
        privilege = self.rng.choice([*sorted(self.world.privileges), "FLY", "load_table", "all"])
        effect = self.rng.choice(["allow", "deny"])
        return f"{effect} {privilege} on {place} to {to}"

    def _any_membership(self) -> str:
        member, container = self.one(*self.world.types), self.one(*self.world.types)
        return self.rng.choice([f"member {member} of {container}", f"remove {member} from {container}"])

    def _any_owner(self) -> str:
        return f"owner {self.one(*self.world.types)} of {self.one(*self.world.types)}"

    def _without_parent(self) -> str:
        deep = [each for each in self.world.types if self.world.depth(each) > 1]
        return f"add {self.absent(self.rng.choice(deep))}"

    def _any_rename(self) -> str:
        ref, to = self.one(*self.world.types), self.one(*self.world.types)
        root, name = self.world.root, self.rng.choice(["a.b", "", "`open", "x" * 256])
        return self.rng.choice([f"move {ref} to {to}", f"rename {ref} to {name}", f"rename {root} to {NOWHERE}"])

    def _surplus_second(self) -> str | None:
        ref = self.new(self.rng.choice([each for each in self.world.types if each != self.world.root_type]))
        return None if ref is None else f"add {ref} with surplus={self.world.root}"
