"""The policy language, evaluated on facts by docs/writing-a-policy.md, for any policy whose lists are written out."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

Grant = tuple[str, str, str, str]  # allow or deny, privilege, object, grantee
TOKEN = re.compile(r"[A-Za-z_][\w.]*(?::\w+)?|[(),=]")


@dataclass
class World:
    """Facts: who is in what, who owns what, who is granted what; and all that exists."""

    existing: set[str]
    containers: dict[str, set[str]] = field(default_factory=dict)
    owners: dict[str, str] = field(default_factory=dict)
    grants: set[Grant] = field(default_factory=set)
    tags: set[tuple[str, str]] = field(default_factory=set)  # what has a tag, and the tag

    def reach(self, start: str) -> set[str]:
        """The subject, and everything that it is in, through any number of steps."""
        found, waiting = {start}, [start]
        while waiting:
            fresh = self.containers.get(waiting.pop(), set()) - found
            found |= fresh
            waiting += fresh
        return found


def type_of(ref: str) -> str:
    """The type of a reference."""
    return ref.partition(":")[0]


@dataclass(frozen=True)
class Case:
    """What a condition is asked about."""

    subject: str
    principals: frozenset[str]
    object: str
    second: Mapping[str, str]
    in_change: bool = False
    granted: Callable[[], bool] | None = None


class Language:
    """One policy and the facts of one root."""

    def __init__(self, policy: Mapping[str, Any], world: World, root: str) -> None:
        self.policy, self.world, self.root = policy, world, root
        self.types, self.privileges = policy["types"], policy["privileges"]
        self.deny = policy["grants"].get("deny", False)
        self.one_role = policy.get("ask", {}).get("one_role", False)
        self.missing = policy["grants"].get("on_missing", False)

    # ---- places --------------------------------------------------------------------------------------------------
    def upward(self, ref: str) -> list[str]:
        """The object and everything above it."""
        found = self._way(ref)
        assert found is not None, ref
        return found

    def _way(self, ref: str) -> list[str] | None:
        """The way to the root; None if the type cannot have so many segments."""
        parents = self.types[type_of(ref)].get("in")
        if parents is None:
            return [ref]
        above = (
            ""
            if self.types[type_of(ref)].get("kind", "object") != "object"
            else ref.partition(":")[2].rpartition(".")[0]
        )
        for parent in parents.split(", "):
            if self.types[parent].get("in") is None:
                if not above:
                    return [ref, self.root]
            elif above and (way := self._way(f"{parent}:{above}")):
                return [ref, *way]
        return None

    def places(self, name: str, case: Case) -> list[str]:
        """The entities that a place names, from the object upward. A type in itself can have several above an object,
        or none."""
        up = self.upward(case.object)
        if name == "parent":
            return up[1:2]
        named = {"object": case.object, "root": self.root, **{f"with.{key}": ref for key, ref in case.second.items()}}
        if "grantee" in case.second:
            named["grantee"] = case.second["grantee"]
        return [named[name]] if name in named else [ref for ref in up if type_of(ref) == name]

    def inherits(self, name: str) -> bool:
        """Is a grant of the privilege a grant on everything below its object?"""
        return bool(self.privileges[self.own_name(name)].get("inherit", self.policy["grants"].get("inherit", True)))

    # ---- privileges ----------------------------------------------------------------------------------------------
    def own_name(self, name: str) -> str:
        """The privilege that an alias stands for."""
        return str(self.privileges[name].get("alias_of", name))

    def effective(self, name: str) -> list[str]:
        """The types on which a privilege can be in effect."""
        entry = self.privileges[name]
        return list(entry.get("effective", entry.get("on", [])))

    def below(self, name: str) -> set[str]:
        """Everything that a privilege implies, directly or indirectly."""
        found: set[str] = set()
        waiting = [name]
        while waiting:
            each = waiting.pop()
            lower = {
                low
                for ladder in self.policy.get("ladders", [])
                if each in ladder
                for low in ladder[: ladder.index(each)]
            }
            fresh = {*self.privileges[each].get("implies", []), *lower} - found
            found |= fresh
            waiting += fresh
        return found

    def above(self, name: str) -> list[str]:
        """Everything that implies a privilege."""
        return [other for other in self.privileges if name in self.below(other)]

    def reaching(self, name: str, ref: str) -> list[str]:
        """The places where a grant of the privilege counts for the object."""
        inherit = self.privileges[name].get("inherit", self.policy["grants"].get("inherit", True))
        places = [*(self.upward(ref) if inherit else [ref]), *self.tags_of(ref)]
        return [place for place in places if type_of(place) in self.privileges[name].get("on", [])]

    def tags_of(self, ref: str) -> set[str]:
        """The tags of the object, and those of what is above it that are inherited."""
        above = self.upward(ref)
        return {
            tag
            for tagged, tag in self.world.tags
            if tagged == ref or (tagged in above and self.policy["tags"][type_of(tag)].get("inherited", True))
        }

    def allowed(self, name: str, ref: str, case: Case) -> bool:
        """Is this very privilege granted?"""
        places = self.reaching(name, ref)
        if self.privileges[name].get("membership"):
            return any(place in case.principals for place in places)
        return any(("allow", name, place, by) in self.world.grants for place in places for by in case.principals)

    def denied(self, name: str, ref: str, case: Case) -> bool:
        """Is it denied?"""
        names = {name} if self.deny else set()
        if self.deny == "cascades":
            names |= self.below(name)
        return any(
            ("deny", each, place, by) in self.world.grants
            for each in names
            for place in self.reaching(each, ref)
            for by in case.principals
        )

    def condition_of(self, name: str, type_: str) -> str:
        """The condition under which it is in effect."""
        by_type = {each: text for types, text in self.policy.get("in_effect", {}).items() for each in types.split(", ")}
        return str(self.privileges[name].get("in_effect", by_type.get(type_, "granted")))

    def is_in_effect_by_itself(self, name: str, ref: str, case: Case, granted: Callable[[], bool]) -> bool:
        """Does its own condition hold, where `granted` has this value?"""
        return self.holds(self.condition_of(name, type_of(ref)), replace(case, object=ref, granted=granted))

    def granted(self, name: str, ref: str, case: Case) -> bool:
        """Granted, or included by a privilege that is in effect only above; and not denied."""
        if self.denied(name, ref, case):
            return False
        if self.allowed(name, ref, case):
            return True
        for other in self.above(name):
            if type_of(ref) not in self.effective(other):
                inherit = self.privileges[other].get("inherit", self.policy["grants"].get("inherit", True))
                places = (
                    [each for each in self.upward(ref) if type_of(each) in self.effective(other)] if inherit else []
                )
                for place in places[:1]:
                    if self.is_in_effect_by_itself(other, place, case, partial(self.allowed, other, place, case)):
                        return True
        return False

    def in_effect(self, name: str, ref: str, case: Case) -> bool:
        """Is the privilege in effect on the object?"""
        name = self.own_name(name)
        if type_of(ref) not in self.effective(name):
            return False
        if self.is_in_effect_by_itself(name, ref, case, lambda: self.granted(name, ref, case)):
            return True
        return not self.denied(name, ref, case) and any(
            self.is_in_effect_by_itself(other, ref, case, partial(self.allowed, other, ref, case))
            for other in self.above(name)
            if type_of(ref) in self.effective(other)
        )

    # ---- conditions ----------------------------------------------------------------------------------------------
    def holds(self, text: str, case: Case) -> bool:
        """Evaluates a condition."""
        tokens = TOKEN.findall(text)
        value, rest = self._either(tokens, case)
        assert not rest, (text, rest)
        return value

    def _either(self, tokens: list[str], case: Case) -> tuple[bool, list[str]]:
        value, tokens = self._both(tokens, case)
        while tokens[:1] == ["or"]:
            other, tokens = self._both(tokens[1:], case)
            value = value or other
        return value, tokens

    def _both(self, tokens: list[str], case: Case) -> tuple[bool, list[str]]:
        value, tokens = self._one(tokens, case)
        while tokens[:1] == ["and"]:
            other, tokens = self._one(tokens[1:], case)
            value = value and other
        return value, tokens

    def _one(self, tokens: list[str], case: Case) -> tuple[bool, list[str]]:
        word, *tokens = tokens
        if word == "(":
            value, tokens = self._either(tokens, case)
            return value, tokens[1:]
        if tokens[:1] != ["("]:
            return self._word(word, case), tokens
        end = tokens.index(")")
        return self._call(word, tokens[1:end], case), tokens[end + 1 :]

    def _word(self, word: str, case: Case) -> bool:
        if word == "granted":
            assert case.granted is not None
            return case.granted()
        if word in ("everyone", "never"):
            return word == "everyone"
        if word.isupper():
            return self.in_effect(word, case.object, case)
        meaning = self.policy["define"][word]
        if isinstance(meaning, dict):
            [meaning] = [text for types, text in meaning.items() if type_of(case.object) in types.split(", ")]
        return self.holds(meaning, case)

    def _call(self, word: str, inside: list[str], case: Case) -> bool:
        if word in ("some", "every"):
            return self._below(word, " ".join(inside), case)
        if word == "can":
            return self._can(inside, case)
        if word == "owner" and inside == ["any"]:
            return any(self.world.owners.get(ref) in case.principals for ref in self.upward(case.object))
        if word == "holds" and ":" in inside[0]:
            return inside[0] in case.principals
        if inside[0].startswith("with.") and inside[0][5:] not in case.second:
            return False  # an optional second object that the question omits
        refs = self.places(inside[0], case)
        if not refs:
            return False
        ref = refs[0]
        if word in self.policy.get("define", {}):
            return self._word(word, replace(case, object=ref, granted=None))
        kind = self.types[type_of(ref)].get("kind", "object")
        if word.isupper():
            return all(self.in_effect(word, each, case) for each in (refs if self.inherits(word) else refs[:1]))
        match word:
            case "owner":
                return any(self.world.owners.get(each) in case.principals for each in refs)
            case "self":
                return ref == case.subject
            case "holds":
                return kind in ("group", "role") and ref in case.principals
            case "exists":
                return ref in self.world.existing
            case "custom":
                return ref in self.world.existing and ref not in self.policy.get("builtin", {})
        raise AssertionError(word)

    def _below(self, word: str, text: str, case: Case) -> bool:
        names, _, rest = text.partition(" in ")
        types, _, place = rest.partition(" below ")
        if place.startswith("with.") and place[5:] not in case.second:
            return False  # an optional second object that the question omits
        tops = self.places(place or "object", case)
        if not tops:
            return False
        top = tops[0]
        wanted = {self.own_name(name) for name in names.split(" , ")}
        wanted |= {other for name in wanted for other in self.above(name)}
        held = {
            on
            for effect, name, on, by in self.world.grants
            if effect == "allow" and name in wanted and by in case.principals
        }
        chosen = types.split(" , ")
        if word == "some":
            return any(type_of(on) in chosen and top in self.upward(on)[1:] for on in held)
        inside = [ref for ref in self.world.existing if type_of(ref) in chosen and top in self.upward(ref)[1:]]
        return top in self.world.existing and all(ref in held for ref in inside)

    def _can(self, inside: list[str], case: Case) -> bool:
        name, *words = " ".join(inside).split(" , ")
        places = [word for word in words if "=" not in word]
        bound = dict(word.split(" = ") for word in words if "=" in word)
        start = self.places(places[0], case) if places else [case.object]
        up = self.upward(start[0]) if start else []
        on = next((ref for ref in up if self.operation(name, type_of(ref))), None)
        if on is None:
            return False
        second = {
            key: self.places(place, case)[0]
            for key, place in bound.items()
            if not place.startswith("with.") or place[5:] in case.second
        }
        return self.operates(name, replace(case, object=on, second=second, granted=None))

    # ---- operations and changes ----------------------------------------------------------------------------------
    def operation(self, name: str, type_: str) -> dict[str, Any] | None:
        """The entry of an operation on a type."""
        name = self.policy.get("aliases", {}).get(name, name)
        entry = self.policy["operations"].get(type_, {}).get(name)
        return {"if": entry} if isinstance(entry, str) else entry

    def can_take(self, name: str, ref: str, second: str) -> bool:
        """Whether a second object exists, or need not, and is where `inside` requires it; otherwise it is an error."""
        for each in (self.operation(name, type_of(ref)) or {}).get("with", {}).values():
            if second not in self.world.existing and not (isinstance(each, dict) and each.get("new")):
                return False
            type_ = each.get("inside") if isinstance(each, dict) else None
            above = [[place for place in self.upward(one) if type_of(place) == type_] for one in (ref, second)]
            if type_ and above[0] != above[1]:
                return False
        return True

    def _rule(self, entry: Mapping[str, Any], case: Case) -> bool:
        texts = [entry["if"]]
        for key, second in entry.get("with", {}).items():
            if isinstance(second, dict) and "if" in second and key in case.second:
                texts.append(second["if"])
        return all(self.holds(text, case) for text in texts)

    def operates(self, name: str, case: Case) -> bool:
        """Does the condition of an operation hold?"""
        entry = self.operation(name, type_of(case.object))
        assert entry is not None
        if self.missing and not entry.get("new") and case.object not in self.world.existing:
            return False
        return self._rule(entry, case)

    def acting(self, subject: str, as_role: str | None, together: bool) -> Iterator[frozenset[str]]:
        """The principals to try: all together, or those of one role at a time."""
        held = self.world.reach(subject)
        if as_role is not None and as_role not in held:
            return
        if together:
            yield frozenset(held)
        elif as_role is not None:
            yield frozenset(self.world.reach(as_role))
        elif type_of(subject) == "crew":
            yield frozenset(held)
        else:
            for role in self.world.containers.get(subject, ()):
                if self.types[type_of(role)].get("kind") == "role":
                    yield frozenset(self.world.reach(role))

    def check(self, subject: str, name: str, ref: str, second: Mapping[str, str]) -> bool:
        """The answer to a check."""
        if subject not in self.world.existing:
            return False
        if name.isupper():
            return any(
                self.in_effect(name, ref, Case(subject, principals, ref, {}))
                for principals in self.acting(subject, None, not self.one_role)
            )
        entry = self.operation(name, type_of(ref)) or {}
        together = not self.one_role or bool(entry.get("all_roles"))
        return any(
            self.operates(name, Case(subject, principals, ref, second))
            for principals in self.acting(subject, None, together)
        )

    def may_change(self, actor: str, kind: str, ref: str, second: Mapping[str, str], new_grantee: bool = False) -> bool:
        """Does the actor meet the rule for a change? `second` has the second objects and the grantee, which the actor
        added before in the same batch if it is new."""
        for types, entry in self.policy.get("changes", {}).get(kind, {}).items():
            if type_of(ref) in types.split(", "):
                rule: dict[str, Any] = {"if": entry} if isinstance(entry, str) else entry
                if new_grantee and type_of(second["grantee"]) in rule.get("if_new", {}):
                    rule = {"if": rule["if_new"][type_of(second["grantee"])]}
                return any(
                    self._rule(rule, Case(actor, principals, ref, second, in_change=True))
                    for principals in self.acting(actor, None, not self.one_role)
                )
        return False


def questions(policy: Mapping[str, Any], refs: Iterable[str]) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Every name with every object on which it can be asked, and the second objects that it can take."""
    for ref in refs:
        for name, entry in policy["privileges"].items():
            own = policy["privileges"][entry.get("alias_of", name)]
            if type_of(ref) in {*own.get("on", []), *own.get("effective", [])}:
                yield name, ref, ()
        for name, entry in policy["operations"].get(type_of(ref), {}).items():
            with_ = {} if isinstance(entry, str) else entry.get("with", {})
            optional = {key for key, second in with_.items() if isinstance(second, dict) and second.get("optional")}
            names = [name, *(alias for alias, stands in policy.get("aliases", {}).items() if stands == name)]
            for each in names:
                yield each, ref, tuple(with_)
                if optional:
                    yield each, ref, tuple(key for key in with_ if key not in optional)
