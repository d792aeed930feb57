"""Facts as queries of cypher/ return them, and their statements."""

from collections.abc import Mapping
from typing import Any

# kind, privilege, subject, object, end; "" if the fact has no such part. The subject of TAGGED is what has the tag, and
# the object is the tag, as the relationship is in the graph.
StoredFact = tuple[str, str, str, str, str]
PARTS = ("fact", "privilege", "subject", "object", "until")  # as the queries name them


def stored_fact(kind: str, privilege: str | None, subject: str | None, object_: str, until: str | None) -> StoredFact:
    """A fact from its parts, as they are in the graph."""
    return kind, privilege or "", subject or "", object_, until or ""


def fact_in(row: Mapping[str, Any]) -> StoredFact:
    """The fact in a row that has the columns PARTS."""
    return stored_fact(*(row[part] for part in PARTS))


def fact_text(fact: StoredFact) -> str:
    """The canonical statement of a fact."""
    kind, privilege, subject, object_, until = fact
    ends = f" until {until}" if until else ""
    match kind:
        case "ENTITY":
            return f"add {object_}"
        case "MEMBER":
            return f"member {subject} of {object_}{ends}"
        case "OWNS":
            return f"owner {subject} of {object_}"
        case "TAGGED":
            return f"tag {subject} with {object_}"
    return f"{kind.lower()} {privilege} on {object_} to {subject}{ends}"
