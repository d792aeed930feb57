"""What a server says of the product's queries when it plans them in a version of Cypher."""

from collections.abc import Collection, Mapping

import neo4j

from grantpath import cypher

DEPRECATION = "DEPRECATION"
WARNINGS = ("PERFORMANCE", DEPRECATION, "UNRECOGNIZED")  # of a plan, of a later version, of names never stored
DEPRECATED = "MATCH (entity:Entity {root: $root}) RETURN id(entity) AS number"  # in each version of Cypher
ONLY_CYPHER_5 = "5.26."  # each newer release reads Cypher 25, too


def every_text() -> dict[str, str]:
    """The text of each query, by its name; the statements of `schema.cypher` have a number."""
    texts = {name: cypher.load(name).text for name in cypher.names() if name != "schema"}
    return texts | {f"schema {number}": text for number, text in enumerate(cypher.statements("schema"), 1)}


def languages(driver: neo4j.Driver) -> list[str]:
    """The versions of Cypher that the server reads."""
    old = str(driver.get_server_info().agent).startswith(f"Neo4j/{ONLY_CYPHER_5}")
    return ["5"] if old else ["5", "25"]


def notices(
    driver: neo4j.Driver, language: str, texts: Mapping[str, str], kinds: Collection[str]
) -> dict[str, set[str]]:
    """The server's notices of these kinds about each text, planned in this version of Cypher, by name."""
    found: dict[str, set[str]] = {}
    with driver.session(database="neo4j") as session:
        for name, text in texts.items():
            planned = session.run(neo4j.Query(f"CYPHER {language} EXPLAIN {text}")).consume()
            for each in planned.gql_status_objects:
                if each.raw_classification in kinds:
                    found.setdefault(name, set()).add(each.status_description)
    return found
