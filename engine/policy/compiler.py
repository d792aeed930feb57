"""Expands the conditions of a policy into clauses: resolves places; inlines definitions, ladders and `can()`."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import product

from grantpath.engine.policy.clauses import (
    ALWAYS,
    NEVER,
    Atom,
    Clause,
    Clauses,
    Term,
    TooManyClauses,
    atom,
    both,
    either,
)
from grantpath.engine.policy.expression import (
    ONE_PLACE,
    All,
    AnyOf,
    AtPlace,
    BelowExpression,
    Can,
    ConditionError,
    Expression,
    Privilege,
    Word,
    example_about,
    parse,
    places_of,
)
from grantpath.engine.policy.extend import split
from grantpath.engine.policy.facts import Fact, FactKind, on_tag, place_type
from grantpath.engine.policy.index import ONE_LENGTH, Lengths, PolicyIndex, PolicyProblem, YamlPath
from grantpath.engine.policy.schema import ConditionEntry, PolicyFile
from grantpath.engine.policy.scope import Scope, TypedPlace, find_places
from grantpath.engine.policy.unread_keys import check_in_effect, check_read
from grantpath.engine.policy.validate import check_conditions, check_names
from grantpath.graph.language.near_names import nearest
from grantpath.graph.messages import indefinite

GRANTED = "granted"  # the condition of a privilege without `in_effect`
MAX_STEPS = 20_000  # nodes of one expanded condition: definitions that reference others twice grow exponentially


class Expander:
    """Compiles the privileges, operations and changes of one policy to clauses."""

    def __init__(self, file: PolicyFile, names: PolicyIndex) -> None:
        self.file = file
        self.names = names
        self.never_holds: list[tuple[YamlPath, str]] = []  # parts of conditions, and why
        self._trees: dict[str, Expression] = {}
        self._in_effect = {type_: (types, text) for types, text in file.in_effect.items() for type_ in split(types)}

    # ---- privileges, operations, changes ---------------------------------------------------------------------
    def privilege(self, name: str, type_: str, lengths: Lengths = ONE_LENGTH) -> Clauses:
        """The condition under which a privilege is in effect on an object of a type."""
        typed = self._object(type_, lengths)
        return self._privilege(self.names.canonical(name), Scope(("privileges", name), typed), typed)

    def operation(self, name: str, type_: str, with_: Iterable[str], lengths: Lengths = ONE_LENGTH) -> Clauses:
        """The condition under which an operation is allowed on an object of a type, with these second objects."""
        name = self.file.aliases.get(name, name)
        entry = self.names.operations[name, type_]
        scope = self._scope(("operations", name), entry, type_, with_, lengths)
        return self._asked_operation(entry, scope.enter(name, all_roles=entry.all_roles))

    def change(
        self,
        kind: str,
        type_: str,
        grantee: str | None,
        with_: Iterable[str],
        new_grantee: bool = False,
        lengths: Lengths = ONE_LENGTH,
    ) -> Clauses:
        """The condition that the actor of a change to an object of a type must meet. `new_grantee`: the actor added the
        grantee earlier in the same batch."""
        entry = self.names.change(kind, type_)
        if entry is None or not {*with_} <= entry.with_.keys():  # no actor uses a type of tags that the rule omits
            return NEVER
        if new_grantee and grantee in entry.if_new:
            entry = entry.model_copy(update={"if_": entry.if_new[grantee]})
        scope = replace(self._scope(("changes", kind), entry, type_, with_, lengths), in_change=True)
        if grantee is not None:
            scope.with_["grantee"] = TypedPlace(grantee, self._length(grantee, None), "grantee.")
        return self._entry(entry, scope)

    def check_everything(self) -> None:
        """Expands every condition of the policy. Raises PolicyProblem with the key of the first error."""
        check_names(self.names)
        check_read(self)
        check_conditions(self)
        check_in_effect(self)

    def includes(self, name: str, type_: str) -> bool:
        """Whether a privilege can include what it implies on a type."""
        return any(self._including(name, TypedPlace(type_, length)) is not None for length in self.names.lengths(type_))

    def reaches(self, name: str, above: str, type_: str) -> bool:
        """Whether a grant of a privilege on one type counts on another."""
        typed = [TypedPlace(type_, length) for length in self.names.lengths(type_)]
        return any(
            any(above == place_type(place) for place in self._reaching(name, each))
            or any(above == tag for _, tag in self._tags(name, each))
            for each in typed
        )

    def _scope(self, key: YamlPath, entry: ConditionEntry, type_: str, with_: Iterable[str], lengths: Lengths) -> Scope:
        seconds = dict(lengths.seconds)
        named = {
            key: TypedPlace(second, self._length(second, seconds.get(key)), f"with.{key}.")
            for key in with_
            for second in (entry.with_[key].type,)
        }
        return Scope(key, self._object(type_, lengths), named, frozenset(entry.with_.keys() - named.keys()))

    def _object(self, type_: str, lengths: Lengths) -> TypedPlace:
        return TypedPlace(type_, self._length(type_, lengths.object))

    def _length(self, type_: str, length: int | None) -> int:
        return self.names.lengths(type_)[0] if length is None else length

    def _asked_operation(self, entry: ConditionEntry, scope: Scope) -> Clauses:
        """The condition of an operation. With `grants.on_missing` the object must exist, unless the entry is `new`."""
        clauses = self._entry(entry, scope)
        if self.file.grants.on_missing and not entry.new:
            return both([clauses, atom([Fact(FactKind.EXISTS, self._at(scope.object))])])
        return clauses

    def _entry(self, entry: ConditionEntry, scope: Scope) -> Clauses:
        parts = [self._text(entry.if_, scope)]
        for key, second in sorted(entry.with_.items()):
            if second.if_ and key in scope.with_:
                self._check_second(second.if_, f"with.{key}", scope)
                parts.append(self._text(second.if_, scope))
        return both(parts)

    def _check_second(self, text: str, place: str, scope: Scope) -> None:
        """Raises PolicyProblem if the condition of a second object does not name it: it is then about the first one."""
        tree = self.parse(text, scope.key)
        if not self.names_place(text, place):
            raise PolicyProblem(
                scope.key,
                f"the condition {text!r} of {place} never names {place}, so it is about the first object; "
                f"write {example_about(tree, place)}",
            )

    def names_place(self, text: str, place: str) -> bool:
        """Whether a condition, or a definition that it names, names a place."""
        return any(place in places_of(each) for each in self._parts(self.parse(text, ())))

    def words(self, text: str) -> Iterator[str]:
        """The words of a condition, also those of the definitions that it names."""
        return (each.name for each in self._parts(self.parse(text, ())) if isinstance(each, Word | AtPlace))

    def _parts(self, tree: Expression, seen: frozenset[str] = frozenset()) -> Iterator[Expression]:
        """The parts of a condition that can name places, also those of the definitions that it names."""
        match tree:
            case All(parts) | AnyOf(parts):
                for part in parts:
                    yield from self._parts(part, seen)
            case Word(name) if name in self.file.define and name not in seen:
                definition = self.file.define[name]
                yield tree
                for text in [definition] if isinstance(definition, str) else definition.values():
                    yield from self._parts(self.parse(text, ("define", name)), seen | {name})
            case _:
                yield tree

    # ---- expressions -----------------------------------------------------------------------------------------
    def _text(self, text: str, scope: Scope) -> Clauses:
        return self._tree(self.parse(text, scope.key), scope)

    def parse(self, text: str, key: YamlPath) -> Expression:
        """The syntax tree of the condition at `key`. Raises PolicyProblem."""
        if text not in self._trees:
            try:
                self._trees[text] = parse(text)
            except ConditionError as error:
                raise PolicyProblem(key, f"the condition {text[:200]!r}: {error}") from None
        return self._trees[text]

    def _tree(self, tree: Expression, scope: Scope) -> Clauses:
        if next(scope.steps) > MAX_STEPS:
            raise TooManyClauses
        match tree:
            case Privilege(_, at) | AtPlace(_, at) | BelowExpression(place=at) | Can(place=str(at)) if scope.omits(at):
                return NEVER
            case All(parts):
                return both(self._tree(part, scope) for part in parts)
            case AnyOf(parts):
                return either(self._tree(part, scope) for part in parts)
            case Word(name):
                return self._word(name, scope)
            case Privilege(name, place):
                return self._asked_privilege(name, place, scope)
            case AtPlace(name, place):
                return self._at_place(name, place, scope)
            case BelowExpression():
                return self._below(tree, scope)
            case Can():
                return self._can(tree, scope)

    def _word(self, name: str, scope: Scope) -> Clauses:
        if name == "everyone":
            return ALWAYS
        if name == "never":
            return NEVER
        if name == "granted" and scope.granted is not None:
            return scope.granted
        definition = self.file.define.get(name)
        if name in ONE_PLACE:
            raise PolicyProblem(scope.key, f"{name!r} needs a place; write e.g. {name}({scope.object.type})")
        if name == "granted":
            raise PolicyProblem(scope.key, "'granted' is a word of `in_effect` only; write the PRIVILEGE here")
        if definition is None:
            known = [*self.file.define, "everyone", "never"]
            raise PolicyProblem(
                scope.key,
                f"{name!r} is unknown{nearest(name, known)}; add it to `define`, or write PRIVILEGES in upper case",
            )
        what = f"{name} on {self._at(scope.object)}"
        if isinstance(definition, dict):
            types = next((types for types in definition if scope.object.type in split(types)), None)
            if types is None:
                raise PolicyProblem(
                    ("define", name),
                    f"{name} is not defined for {scope.object.type}, about which {'.'.join(map(str, scope.key))} asks "
                    f"it; add a line, e.g. {scope.object.type}: never",
                )
            return self._text(definition[types], scope.enter(what, key=("define", name, types)))
        return self._text(definition, scope.enter(what, key=("define", name)))

    def _asked_privilege(self, name: str, place: str, scope: Scope) -> Clauses:
        if name not in self.names.privileges:
            raise PolicyProblem(
                scope.key,
                f"the privilege {name} is unknown{nearest(name, self.names.privileges)}; add it to `privileges`",
            )
        name = self.names.canonical(name)
        effective = {*self.names.effective(name)}
        places = self._places(place, scope)
        if not effective & self._types(place, places, scope):
            if scope.in_change:  # a grantee can be of several types
                if places and places[0].prefix != "grantee.":
                    text = f"it is {self._elsewhere(name, place, places[0].type, scope)}"
                    self.never_holds.append((tuple(scope.key), f"{name} never holds: {text}"))
                return NEVER
            elsewhere = self._elsewhere(name, place, places[0].type if places else place, scope)
            raise PolicyProblem(scope.key, f"{name} is {elsewhere}")
        if not places or places[0].type not in effective:
            return NEVER
        # of several places of one type, it must be in effect on each; but if it is not inherited, on the nearest
        if len(places) == 1 or not self._inherits(name):
            return self._privilege(name, scope, places[0])
        if self._flows_down(name, places[0].type):
            deny = self._grants(FactKind.DENY, self.names.deniers.get(name, ()), places[0])
            return self._undenied(self._privilege(name, scope, places[-1]), deny, name, name)
        return both(self._privilege(name, scope, typed) for typed in places)

    def _elsewhere(self, name: str, place: str, type_: str, scope: Scope) -> str:
        """That a privilege is never in effect on a type, and where a condition can read it instead."""
        effective, here = self.names.effective(name), scope.object.type
        above = [each for each in effective if each in self.names.above(here) or each == here]
        key = "on" if self.names.privileges[name].effective is None else "effective"
        remedy = f"remove it, or add {type_} to its `{key}`"
        if above and not place.startswith("with."):  # of a second object, another place would be another right
            remedy = f"name the place, e.g. {name}({above[0]})"
        return f"never in effect on {type_}, only on {', '.join(sorted(effective))}; {remedy}"

    def _flows_down(self, name: str, type_: str) -> bool:
        """Whether two checks decide for entities of a type that are one above the other: the privilege is in effect on
        the uppermost one, and no DENY is in effect on the lowest one."""
        sources = [(each, at) for each in self.names.sources[name] for at in self._places_including(each, type_)]
        deniers = [(each, type_) for each in self.names.deniers.get(name, ())]
        return all(self.condition(*each)[1] == GRANTED for each in sources) and all(
            self._inherits(each) and all(self.file.tags[tag].inherited for tag in self.names.tags_on(each, on))
            for each, on in (*sources, *deniers)
        )

    def _places_including(self, source: str, type_: str) -> Sequence[str]:
        """The types of the places on which a privilege must be in effect, each of them, to include what it implies on
        several entities of a type, one above the other. Empty if one place above all of these decides for them."""
        effective = self.names.effective(source)
        if type_ in effective:
            return (type_,)
        above = self.names.above(type_)
        between = above & {*self.names.below(type_)}
        return () if between.isdisjoint(effective) else [each for each in effective if each in above]

    def _privilege(self, name: str, scope: Scope, typed: TypedPlace) -> Clauses:
        """The privilege is in effect by its own condition, or a privilege that implies it is in effect on the place.

        A privilege that implies it and is in effect only above the place counts as a grant of it. Privileges with the
        same condition share one atom.
        """
        if typed.type not in self.names.effective(name):
            return NEVER
        own = (typed, self.condition(name, typed.type)[1])
        sources: dict[tuple[TypedPlace, str], list[tuple[str, TypedPlace]]] = {}
        for source in self.names.sources[name]:
            at = self._including(source, typed)
            if at is not None:
                condition = (at, self.condition(source, at.type)[1])
                same = own if at != typed and condition[1] == GRANTED else condition
                sources.setdefault(same, []).append((source, at))
        deny = self._grants(FactKind.DENY, self.names.deniers.get(name, ()), typed)
        inner = scope.enter(f"{name}({self._at(typed)})")
        granted = [self._granted(sources.pop(own), deny)]
        implied: list[Clauses] = []
        for (at, _), held in sources.items():
            source = held[0][0]
            entered = inner.enter(f"{source}({self._at(at)})")
            found = self._in_effect_at(source, entered, at, self._granted(held, deny))
            (implied if at == typed else granted).append(self._undenied(found, deny, source, name))
        found = self._in_effect_at(name, inner, typed, either(granted))
        return tuple(tuple(map(_grants_together, clause)) for clause in either([found, *implied])) if implied else found

    def condition(self, name: str, type_: str) -> tuple[YamlPath, str]:
        """The key and the text of the condition under which a privilege is in effect on a type."""
        entry = self.names.privileges[name]
        if entry.in_effect:
            return ("privileges", name, "in_effect"), " ".join(entry.in_effect.split())
        types, text = self._in_effect.get(type_, ("", GRANTED))
        return ("in_effect", types), " ".join(text.split())

    def _in_effect_at(self, name: str, scope: Scope, typed: TypedPlace, granted: Clauses) -> Clauses:
        """The condition of a privilege on a place, where `granted` stands for these clauses."""
        key, text = self.condition(name, typed.type)
        return self._text(text, replace(scope, key=key, object=typed, granted=granted))

    def _including(self, source: str, typed: TypedPlace) -> TypedPlace | None:
        """The place where a privilege must be in effect to include what it implies on `typed`: this place, or the
        nearest one above it on which the privilege can be in effect."""
        up = typed.upward(self.names) if self._inherits(source) else (typed,)
        return next((each for each in up if each.type in self.names.effective(source)), None)

    def _undenied(self, clauses: Clauses, deny: list[Fact], source: str, name: str) -> Clauses:
        """The clauses, which must also not hold if one of the DENYs exists."""
        if not deny:
            return clauses
        if () in clauses:
            raise PolicyProblem(
                ("privileges", source),
                f"{source} is in effect for everyone and implies {name}, which can be denied; give {source} another "
                f"condition, or remove {name} from what it implies",
            )
        return either((_with_denial(clause, deny),) for clause in clauses)

    def _granted(self, held: list[tuple[str, TypedPlace]], deny: list[Fact]) -> Clauses:
        """One of the privileges is granted on its place or, if grants are inherited, above it, and there is no DENY.

        A privilege with `membership` is granted to the members.
        """
        allow = [fact for name, at in held for fact in self._grants(FactKind.ALLOW, [name], at)]
        members = [each for each in held if self.names.privileges[each[0]].membership]
        joined = [Fact(FactKind.HOLDS, place) for name, at in members for place in self._reaching(name, at)]
        return either(atom(facts, deny) for facts in (allow, joined) if facts)

    def _grants(self, kind: FactKind, names: Iterable[str], typed: TypedPlace) -> list[Fact]:
        return [
            fact
            for name in names
            for fact in (
                *(Fact(kind, at, (name,)) for at in self._reaching(name, typed)),
                *(Fact(kind, at, (on_tag(name, tag),)) for at, tag in self._tags(name, typed)),
            )
        ]

    def _tags(self, name: str, typed: TypedPlace) -> list[tuple[str, str]]:
        """The places whose tags count on a place, each with a type of tags on which the privilege can be granted."""
        return [
            (self._at(each), tag)
            for each in typed.upward(self.names)
            for tag in self.names.tags_on(name, each.type)
            if each == typed or self.file.tags[tag].inherited
        ]

    def _reaching(self, name: str, typed: TypedPlace) -> list[str]:
        up = typed.upward(self.names) if self._inherits(name) else (typed,)
        return [self._at(each) for each in up if each.type in self.names.privileges[name].on]

    def _inherits(self, name: str) -> bool:
        stated = self.names.privileges[name].inherit
        return self.file.grants.inherit if stated is None else stated

    def _at_place(self, name: str, place: str, scope: Scope) -> Clauses:
        if name not in ONE_PLACE:
            if name not in self.file.define:
                raise PolicyProblem(
                    scope.key,
                    f"{name!r} is unknown{nearest(name, [*self.file.define, *ONE_PLACE])}; write can, owner, self, "
                    "holds, exists, custom, some, every, an entry of `define`, or a PRIVILEGE in upper case",
                )
            at = self._nearest(place, scope)
            return NEVER if at is None else self._word(name, replace(scope, object=at, granted=None))
        if name == "owner" and place == "any":
            return either(self._owner(each) for each in scope.object.upward(self.names))
        if name == "holds" and ":" in place:
            if place not in self.file.builtin:
                raise PolicyProblem(
                    scope.key, f"{place} is not in `builtin`{nearest(place, self.file.builtin)}; add it there"
                )
            return atom([Fact.holds(place)])
        places = self._places(place, scope)
        if not places:
            return NEVER
        typed = places[0]
        if name in ("holds", "self") and not self._fits(name, place, typed, scope):
            return NEVER
        is_group = self.names.types[typed.type].kind == "group"
        if name == "holds" and is_group and self.file.ask.one_role and not scope.all_roles:
            text = f"with `ask.one_role` a role acts alone, and none is in {indefinite(typed.type)}; remove it"
            self.never_holds.append((tuple(scope.key), f"holds({place}) never holds: {text}"))
        if name == "owner":
            if not self.names.types[typed.type].owned_by and place != "grantee":
                owned = typed.type
                text = f"{owned} has no `owned_by`; add it to the type, or remove owner({owned})"
                self.never_holds.append((tuple(scope.key), f"owner({owned}) never holds: {text}"))
            return either(map(self._owner, places))  # of several places of one type, the owner of any one
        if name == "custom":
            return atom([Fact(FactKind.EXISTS, self._at(typed))], [Fact(FactKind.BUILTIN, self._at(typed))])
        kind = {"self": FactKind.IS, "holds": FactKind.HOLDS, "exists": FactKind.EXISTS}[name]
        return atom([Fact(kind, self._at(typed))])

    def _fits(self, name: str, place: str, typed: TypedPlace, scope: Scope) -> bool:
        """Whether subjects can hold entities of the type of a place, or be one. Raises PolicyProblem if they cannot; a
        grantee, which can be of several types, is then none that is held, or the subject."""
        kind = self.names.types[typed.type].kind
        asked = kind in ("user", "service_principal") or typed.type in self.file.ask.subjects
        if asked if name == "self" else kind in ("group", "role"):
            return True
        if typed.prefix == "grantee.":
            return False
        if name == "self":
            rule = "which is not in `ask.subjects`"
            remedy = "name another place" if kind == "object" else f"write holds({place})"
        else:
            rule, remedy = "which is not a group or role", f"write self({place})" if asked else "name another place"
        raise PolicyProblem(
            scope.key, f"{name}({place}) never holds: {place} is {indefinite(typed.type)}, {rule}; {remedy}"
        )

    def _owner(self, typed: TypedPlace) -> Clauses:
        return atom([Fact(FactKind.OWNS, self._at(typed))]) if self.names.types[typed.type].owned_by else NEVER

    def _below(self, tree: BelowExpression, scope: Scope) -> Clauses:
        if self.file.grants.deny:
            raise PolicyProblem(
                scope.key,
                f"{tree.name}(...) reads grants on descendants and does not support DENY; set `grants.deny: false`",
            )
        typed = self._nearest(tree.place, scope)
        if typed is None:
            return NEVER
        types = [*tree.types] or [*filter(self.names.is_securable, self.names.below(typed.type))]
        for type_ in types:
            if type_ not in self.names.below(typed.type):
                raise PolicyProblem(scope.key, f"{type_!r} is not below {typed.type}; name a type that is")
            if tree.name == "every" and not self.names.is_securable(type_):
                why = f"{indefinite(type_)} is none, as it can have no owner, no grants on it and no objects inside"
                raise PolicyProblem(scope.key, f"every(...) is about objects, and {why}; name another type")
        for name in tree.privileges:
            self.names.require_privilege(name, scope.key)
        self._check_below(tree, types, scope)
        sources = {source for name in tree.privileges for source in self.names.sources[self.names.canonical(name)]}
        for source, type_ in product(sorted(sources), types):
            if tags := self.names.tags_on(source, type_):
                raise PolicyProblem(
                    scope.key,
                    f"{tree.name}(...) reads grants on descendants, not on their tags, and {source} can be granted on "
                    f"{indefinite(tags[0])}, with which {indefinite(type_)} can be tagged; remove {tags[0]} from its "
                    "`on`",
                )
        ordered = sorted(sources)  # a stored policy has its privileges in another order than its file
        at = self._at(typed)
        if tree.name == "every" and not types:  # nothing can be below, as nothing is in what does not exist
            return atom([Fact(FactKind.EXISTS, at)])
        if tree.name == "every":
            every = atom([Fact(FactKind.EVERY_BELOW, at, tuple(ordered), tuple(types))])
            # nothing is below a place that does not exist, and it is not known what will be there
            may_be_missing = self.file.grants.on_missing or typed.prefix.startswith("with.")
            return both([every, atom([Fact(FactKind.EXISTS, at)])]) if may_be_missing else every
        some = [
            Fact(FactKind.ALLOW_BELOW, at, (source,), (type_,))
            for source in ordered
            for type_ in types
            if type_ in self.names.privileges[source].on
        ]
        return atom(some) if some else NEVER

    def _check_below(self, tree: BelowExpression, types: list[str], scope: Scope) -> None:
        """Raises PolicyProblem for a privilege whose grants do not decide whether it includes one of the named ones."""
        for name in map(self.names.canonical, tree.privileges):
            for source in self.names.sources[name]:
                if self.names.privileges[source].membership:
                    raise PolicyProblem(
                        scope.key,
                        f"{tree.name}(...) reads grants, and {source} is stored as a membership; name other privileges",
                    )
                for type_ in {*types} & {*self.names.privileges[source].on} if source != name else ():
                    if type_ not in self.names.effective(source) or self.condition(source, type_)[1] != GRANTED:
                        raise PolicyProblem(
                            scope.key,
                            f"{tree.name}(...) reads grants, and a grant of {source} on {indefinite(type_)} includes "
                            f"{name} only where {source} is in effect; name types without `in_effect`",
                        )

    def _can(self, tree: Can, scope: Scope) -> Clauses:
        name = self.file.aliases.get(tree.operation, tree.operation)
        types = self.names.operation_types.get(name)
        if not types:
            raise PolicyProblem(
                scope.key,
                f"the operation {tree.operation!r} is unknown{nearest(name, self.names.operation_types)}; "
                "add it to `operations`",
            )
        places = self._places(tree.place, scope) if tree.place else (scope.object,)
        possible = self._types(tree.place or "object", places, scope)
        if not {*types} & possible.union(*map(self.names.above, possible)):
            raise PolicyProblem(
                scope.key,
                f"{name} is defined on {', '.join(types)}, and {places[0].type if places else tree.place} is neither "
                "one of these nor below one; name another place",
            )
        up = places[0].upward(self.names) if places else ()
        target = next((each for each in up if each.type in types), None)
        if target is None:
            return NEVER
        entry = self.names.operations[name, target.type]
        bound = self._bound(tree, name, entry, scope)
        if bound is None:
            return NEVER
        if entry.all_roles and not scope.all_roles:
            raise PolicyProblem(
                scope.key,
                f"{name} combines all held roles, and a condition with can({name}) decides on a single one; "
                "add `all_roles: true` to this operation, or write the condition out",
            )
        inner = scope.enter(
            f"can({name}, {self._at(target)})",
            object=target,
            with_=bound,
            absent=frozenset(entry.with_.keys() - bound.keys()),
            granted=None,
        )
        return self._asked_operation(entry, inner)

    def _bound(self, tree: Can, name: str, entry: ConditionEntry, scope: Scope) -> dict[str, TypedPlace] | None:
        """The second objects of `can(...)`, without those that refer to a second object that the question omits, or to
        a place that this object does not have; None if the operation needs one of these."""
        named = dict(tree.with_)
        bound = {
            key: typed
            for key, place in named.items()
            if not scope.omits(place) and (typed := self._nearest(place, scope))
        }
        for key, typed in bound.items():
            if key not in entry.with_:
                known = ", ".join(entry.with_) or "none"
                raise PolicyProblem(scope.key, f"{name} takes no second object {key!r} (it takes {known}); omit it")
            if typed.type != entry.with_[key].type:
                raise PolicyProblem(
                    scope.key, f"{name} takes {key}={entry.with_[key].type}, not {typed.type}; name another place"
                )
        for key, second in sorted(entry.with_.items()):
            if key in bound or second.optional:
                continue
            if key in named:
                return None  # the question omits it, or nothing is at its place
            raise PolicyProblem(scope.key, f"{name} needs a second object; write can({name}, place, {key}=with.{key})")
        return bound

    # ---- places ----------------------------------------------------------------------------------------------
    def _places(self, name: str, scope: Scope) -> tuple[TypedPlace, ...]:
        return find_places(name, scope, self.names)

    def _nearest(self, name: str, scope: Scope) -> TypedPlace | None:
        """The place with a name; of several of one type, the nearest to the object."""
        return next(iter(self._places(name, scope)), None)

    def _types(self, name: str, places: Sequence[TypedPlace], scope: Scope) -> set[str]:
        """The types that a place can have, whatever the number of segments of the object is."""
        if name == "parent":
            return {*self.names.parents[scope.object.type]}
        return {each.type for each in places} or {name}

    def _at(self, typed: TypedPlace) -> str:
        if typed.type == self.names.root:
            return typed.type
        return f"{typed.prefix}{self.names.place(typed.type, typed.length)}"


def _with_denial(clause: Clause, deny: list[Fact]) -> Clause:
    """The clause with the DENYs in each atom of one of its terms; if a term has them already, the clause."""
    if any(all({*deny} <= {*one.none} for one in term) for term in clause):
        return clause
    first, *rest = clause
    return (tuple(Atom(one.any, tuple(dict.fromkeys((*one.none, *deny)))) for one in first), *rest)


def _grants_together(term: Term) -> Term:
    """The term with one atom for all grants that the same DENYs override."""
    together: dict[tuple[bool, object], Atom] = {}
    for one in term:
        grants = all(fact.kind is FactKind.ALLOW for fact in one.any)
        key = (grants, one.none if grants else one)
        before = together.get(key)
        together[key] = Atom(tuple(dict.fromkeys((*before.any, *one.any))), one.none) if before else one
    return tuple(together.values())
