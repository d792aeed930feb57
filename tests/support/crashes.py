"""What must be in the graph after a crash, derived only from the log."""

from collections.abc import Iterable

from grantpath.engine import Authorizer

TIMEOUT = 10.0  # the default of an authorizer: the next one answers within this time
FACTS = ["add catalog:hr"]


def replayed(root: str, statements: Iterable[str]) -> tuple[set[str], set[tuple[str, ...]]]:
    """The entities and edges that these statements produce; supports only the kinds in this file."""
    entities, links = {root}, set[tuple[str, ...]]()
    for statement in statements:
        match statement.split():
            case ["add", name]:
                entities.add(name)
            case ["drop", name]:
                entities.remove(name)
                links = {link for link in links if name not in link}
            case ["member", user, "of", role]:
                links.add(("HAS_ROLE", user, role))
            case ["remove", user, "from", role]:
                links.remove(("HAS_ROLE", user, role))
            case [("allow" | "deny") as effect, privilege, "on", object_, "to", role]:
                links.add((effect.upper(), role, object_, privilege))
            case ["revoke", effect, privilege, "on", object_, "from", role]:
                links.remove((effect.upper(), role, object_, privilege))
            case _:
                raise AssertionError(statement)
    return entities, links


def in_the_graph(auth: Authorizer) -> tuple[set[str], set[tuple[str, ...]]]:
    state = auth.ask("tenant_state")
    links = {
        (each["kind"], each["source"], each["target"], *([each["privilege"]] if each["privilege"] else []))
        for each in state["edges"]
    }
    return {each["ref"] for each in state["entities"] if not each["builtin"]}, links


def whole(auth: Authorizer) -> list[str]:
    """Compares the graph with its history, and the marks with each other; returns the ids of the changes."""
    log = auth.log(limit=10_000)
    at = [each.revision for each in log]
    assert at == sorted(set(at)) and at[-1] <= auth.revision_now()  # an interrupted change leaves its revision unused
    assert in_the_graph(auth) == replayed(auth.root.text, (each.statement for each in log))
    assert marks(auth) == (auth.revision_now(),) * 2
    return [each.id for each in log]


def marks(auth: Authorizer) -> tuple[int, int]:
    """The marks as they are, without a repair."""
    [row] = auth.store.read(MARKS, {"root": auth.tenant})
    return row["revision"], row["begun"]


MARKS = "MATCH (mark:Revision {root: $root}) RETURN mark.revision AS revision, mark.begun AS begun"
