"""`question`: a question of the catalogue, asked of a root at one revision. A review, not a decision.

The queries are those of `cypher/questions`, which people also paste in Neo4j Browser.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from grantpath import cypher
from grantpath.cypher.catalogue import CatalogueQuestion, Kind, Parameter, catalogue
from grantpath.engine.answers.graph_path import GraphPath, PathEdge, PathNode
from grantpath.engine.inspection.models import AskCatalogue, CatalogueAnswer, Cell
from grantpath.engine.inspection.root_view import MOST
from grantpath.engine.tenants import registry
from grantpath.engine.tenants.one_revision import GuardedAsk
from grantpath.engine.tenants.open_tenant import OpenTenant
from grantpath.graph.errors import InvalidInput, UnknownName
from grantpath.graph.language.inputs import require_page_limit
from grantpath.graph.language.near_names import nearest
from grantpath.graph.messages import short

LIMIT = "limit"
REASON = "says"


def answer(tenant: OpenTenant, name: str, given: Mapping[str, object], limit: int | None) -> CatalogueAnswer:
    """The answer to the question `name` with the parameters `given`, at most `limit` rows of it.

    Raises UnknownName, Unknown, InvalidReference, InvalidInput, Inconsistent, Unavailable.
    """
    asked = require_question(name)
    if limit is not None:
        require_page_limit(limit, MOST, "omit it for all rows")
    require_known(asked, given)
    if absent := [each for key, each in asked.parameters.items() if key != LIMIT and key not in given]:
        raise _missing(asked, absent)
    parameters = {key: _value(tenant, asked, each, given) for key, each in asked.parameters.items() if key != LIMIT}
    sent: dict[str, object] = dict(parameters)
    if usual := asked.parameters.get(LIMIT):
        limit = limit or int(usual.example)
        sent[LIMIT] = limit + 1  # one more tells whether there are more

    def read(ask: GuardedAsk) -> tuple[list[Mapping[str, Any]], int]:
        ask("revision")
        rows = cypher.load(name).run(tenant.store.read_values, root=tenant.tenant, **sent)
        return list(rows), int(ask("revision")["revision"])

    rows, revision = tenant.at_one_revision(read)
    first = next(iter(asked.columns))
    answered, reasons = list[Mapping[str, Any]](), list[str]()
    for row in rows:
        if row[REASON] is not None if asked.explained else row[first] is None:
            reasons.append(str(row[REASON]))
        else:
            answered.append(row)
    if not answered:
        named = [str(parameters[each.name]) for each in asked.parameters.values() if each.is_reference]
        missing = [registry.absence(tenant.store, tenant.tenant, tenant.policy, ref) for ref in named]
        reasons = [*filter(None, missing)] or reasons
    return CatalogueAnswer(
        question=AskCatalogue(name=name, parameters=parameters, limit=limit),
        answer=tuple({key: _cell(row[key], kind) for key, kind in asked.columns.items()} for row in answered[:limit]),
        reason=reasons[0] if reasons else None,
        complete=limit is None or len(answered) <= limit,
        revision=revision,
    )


def require_question(name: str) -> CatalogueQuestion:
    """The question of the catalogue with this name. Raises UnknownName with similar names."""
    known = catalogue()
    if not isinstance(name, str) or name not in known:
        similar = nearest(name, known) if isinstance(name, str) else ""
        raise UnknownName(
            f"the catalogue has no question {short(repr(name))}{similar}; `grantpath question` lists its questions"
        )
    return known[name]


def require_known(asked: CatalogueQuestion, given: Iterable[str]) -> None:
    """Raises InvalidInput for the name of a parameter that the question does not have."""
    takes = [key for key in asked.parameters if key != LIMIT]
    for key in given:
        if key not in takes:
            known = f"it takes {', '.join(takes)}" if takes else "it takes none"
            raise InvalidInput(f"{asked.name} has no parameter {short(repr(key))}{nearest(key, takes)}; {known}")


def _value(tenant: OpenTenant, asked: CatalogueQuestion, wanted: Parameter, given: Mapping[str, object]) -> str:
    value = given.get(wanted.name)
    if not isinstance(value, str):
        rule = f"must be a string, not {short(repr(value))}"
        raise InvalidInput(f"{asked.name}: {wanted.name} {rule}; give it, e.g. {_example(wanted)}")
    policy = tenant.policy
    if wanted.is_reference:
        return policy.reference(value, tenant.root).text
    if not value:
        return value  # none, or every one
    if wanted.is_privilege:
        return policy.names.canonical(value)
    if wanted.name == "type":
        policy.names.check_type(value)
    elif wanted.name == "operation":
        policy.types_with(value)
    return value


def _missing(asked: CatalogueQuestion, absent: list[Parameter]) -> InvalidInput:
    """The error for all parameters that were not given, with an example of each."""
    verb, them = ("is", "it") if len(absent) == 1 else ("are", "them")
    named = ", ".join(each.name for each in absent)
    return InvalidInput(f"{asked.name}: {named} {verb} missing; give {them}, e.g. {' '.join(map(_example, absent))}")


def _example(wanted: Parameter) -> str:
    return f"{wanted.name}={wanted.example}{f' ({wanted.note})' if wanted.note else ''}"


def _cell(value: Any, kind: Kind) -> Cell:
    if value is None:
        return None
    match kind:
        case "PATH":
            return _path(value)
        case "LIST OF PATH":
            return tuple(map(_path, value))
        case "LIST OF STRING":
            return tuple(map(str, value))
        case "ZONED DATETIME":
            return datetime.fromisoformat(value.iso_format())
        case "INTEGER" | "BOOLEAN":
            return int(value) if kind == "INTEGER" else bool(value)
        case "STRING":
            return str(value)


def _path(path: Any) -> GraphPath:
    nodes = [PathNode(ref=each["ref"], type=each["type"], name=each["name"]) for each in path.nodes]
    edges = [
        PathEdge.model_validate(
            {
                "start": each.start_node["ref"],
                "relationship": each.type,
                "end": each.end_node["ref"],
                "privilege": each.get("privilege"),
                "until": each.get("until"),
            }
        )
        for each in path.relationships
    ]
    return GraphPath(nodes=tuple(nodes), edges=tuple(edges))
