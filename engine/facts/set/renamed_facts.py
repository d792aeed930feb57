"""Lists the facts that a rename or a move changes. If they are many, the log has only the two references."""

from collections.abc import Iterator

from grantpath.engine.facts.set.descendants import range_from
from grantpath.engine.facts.set.fact_version import NOTHING, TAGGED, FactVersion, has_any, is_stored, members
from grantpath.engine.policy.facts import effect_and_privilege
from grantpath.engine.policy.renamed import Renamed
from grantpath.graph.language.stored_fact import StoredFact, fact_text


def renamed_facts(version: FactVersion, ref: str, to: str) -> dict[str, list[str]]:
    """The facts of an entity and of everything below it, as statements without ends.

    `removed` has them with the present references, `added` with those that follow from the new reference `to`.
    """
    renamed = Renamed.of(version.numbers.names, ref, to)
    facts = dict.fromkeys(fact for each in _with_inner(version, renamed) for fact in facts_of(version, each))
    moved = ((kind, name, renamed.new(by), renamed.new(on), end) for kind, name, by, on, end in facts)
    return {"removed": [*map(fact_text, facts)], "added": [*map(fact_text, moved)]}


def facts_of(version: FactVersion, entity: int) -> Iterator[StoredFact]:
    """The entity as a fact, if it exists, and the facts that begin or end at it, without their ends."""
    refs, ref = version.numbers.refs, version.numbers.refs[entity]
    if version.existing.get(entity):
        yield "ENTITY", "", "", ref, ""
    for container in version.containers.get(entity) or ():
        yield "MEMBER", "", ref, refs[container], ""
    users = version.users_in.get(entity)
    for member in (*(() if users is None else users.tolist()), *(version.others_in.get(entity) or ())):
        yield "MEMBER", "", refs[member], ref, ""
    for label, by in (version.grants.get(entity) or {}).items():
        for principal in members(by) if is_stored(label) else ():
            yield _fact(label, refs[principal], ref)
    for place in version.places_of.get(entity) or ():
        for label, by in (version.grants.get(place) or {}).items():
            if is_stored(label) and has_any(by, {entity}):
                yield _fact(label, ref, refs[place])


def _fact(label: str, principal: str, place: str) -> StoredFact:
    """The fact of a label; the relationship of a tag begins at what has the tag."""
    effect, name = effect_and_privilege(label)
    return (effect, name, place, principal, "") if label == TAGGED else (effect, name, principal, place, "")


def _with_inner(version: FactVersion, renamed: Renamed) -> Iterator[int]:
    """The entity, and what is below it, also names that only have grants."""
    yield version.numbers.of(renamed.ref)
    for type_ in renamed.types:
        for listed in (version.listed, version.granted_names):
            refs = listed.get(type_, NOTHING)
            begin, end = range_from(refs, f"{type_}:{renamed.former}.")
            yield from map(version.numbers.of, refs[begin:end])
