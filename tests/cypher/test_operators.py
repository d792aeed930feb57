"""The mutants of each mutation operator, which does not touch strings, comments and assignments."""

import pytest

from grantpath import cypher

from . import mutation
from .operators import MORE, OPERATORS, mutants
from .tokens import shown, statement

NAMES = [name for name in cypher.names() if name != "schema"]
MADE = {
    "drop a condition": (
        "MATCH (n) WHERE n.a = 1 AND (n.b OR any(x IN n.c WHERE x)) RETURN n",
        ["true AND (n.b OR", "n.a = 1 AND true RETURN", "(false OR any", "(n.b OR false)", "WHERE true))"],
    ),
    "swap AND and OR": ("MATCH (n) WHERE n.a AND n.b OR n.c", ["n.a OR n.b OR n.c", "n.a AND n.b AND n.c"]),
    "reverse an arrow": (
        "MATCH (a)-[:X]->(b)<-[:Y]-(c)-[:Z]-(d), p = (a)-[:W]->*(d)",
        ["(a)<-[:X]-(b)", "(b)-[:Y]->(c)", "(a)<-[:W]-*(d)"],
    ),
    "change a length": (
        "MATCH (a)-[:X*0..]->(b)-[:Y*1..]->(c)-[:Z]->*(d)",
        ["[:X*1..]", "[:X*0..1]", "[:Y*1..1]", "[:Z]->+(d)", "[:Z]->{0,1}(d)"],
    ),
    "drop a type": ("MATCH (a)-[e:X|Y|Z*0..]->(b)", ["[e:Y|Z*0..]", "[e:X|Z*0..]", "[e:X|Y*0..]"]),
    "drop the root": ("MATCH (a:A {root: $root}), (b:B {root: $root, ref: 1})", ["(a:A {})", "(b:B { ref: 1})"]),
    "swap a comparison": (
        "MATCH p = (a) WHERE a.x = 1 AND a.y <> 2 AND a.z < 3 SET a.x = 5, a.y = a.z >= 4",
        ["a.x <> 1", "a.y = 2", "a.z <= 3", "a.z > 4"],
    ),
    "swap any, all, none": (
        "WHERE any(x IN a.all WHERE x) AND none(y IN b WHERE y) AND all(z IN c WHERE z)",
        ["all(x IN", "any(y IN", "any(z IN"],
    ),
    "drop a branch": (
        "CALL () { RETURN 1 AS x UNION RETURN 2 AS x UNION ALL RETURN 3 AS x } RETURN x",
        ["{ RETURN 2 AS x UNION ALL RETURN 3 AS x }", "RETURN 1 AS x UNION ALL RETURN 3", "UNION RETURN 2 AS x }"],
    ),
    "drop DISTINCT": ("RETURN count(DISTINCT a)", ["count( a)"]),
    "negate": (
        "WHERE NOT a.x AND a.y IS NULL AND a.z IS NOT NULL AND EXISTS { (a)-->(b) }",
        ["WHERE a.x", "a.y IS NOT NULL AND a.z", "a.z IS NULL", "NOT EXISTS {"],
    ),
    "turn a default": (
        "RETURN coalesce(a.x, true), coalesce(a.y, ''), coalesce(a.z, f(b, c))",
        ["(a.x, false)", "(a.y, '?')", "(a.z, null)"],
    ),
    "change order or limit": (
        "WITH a ORDER BY a.x DESC, a.y LIMIT toInteger($limit) RETURN a[..5]",
        ["a.x, a.y LIMIT", "a.y DESC LIMIT", "toInteger($limit) + 1 RETURN", "[..5 + 1]"],
    ),
    "drop a write": (
        "MATCH (m) MERGE (a:A {x: 1}) ON CREATE SET a.y = f(1, 2), a.z = 2 SET a:B "
        "FOREACH (b IN c | DELETE b) WITH a DETACH DELETE a RETURN 1",
        [
            *(
                "CREATE (a:A {x: 1}) ON",
                "(m) ON CREATE",
                "CREATE SET a.z = 2",
                "f(1, 2) SET a:B",
                "a.z = 2 FOREACH",
                "SET a:B WITH a",
            ),
            *("c | )", "WITH a RETURN 1"),
        ],
    ),
    "swap a type": ("MATCH (a)-[:ALLOW]->(b)-[e:MEMBER_OF|HAS_ROLE]->(c)", ["[:DENY]"]),
    "drop a property": (
        "MATCH (a:A {root: $root, x: 1})-[:B {y: 2}]->(c) CREATE (d {z: 3}) RETURN EXISTS { (:E {z: 4}) }",
        ["(a:A {root: $root})", "[:B {}]", "(:E {})"],
    ),
    "drop a label": (
        "MATCH (a:A) MERGE (b:B {x: 1}) CREATE (:C:$(c.labels) {y: 2})",
        ["(b {x", "(:$(c.labels) {", "(:C {"],
    ),
    "always the default": ("RETURN coalesce(a.x, b.y, true)", ["(null, b.y, true)", "(a.x, null, true)"]),
    "drop a term": ("RETURN a.x + b.y AS z, 'c ' + d AS e", ["RETURN b.y AS", "a.x AS z", "z, d AS e", "z, 'c ' AS e"]),
    "forget an inner value": (
        "WITH DISTINCT a.x AS x, y CALL () { RETURN 1 AS one } RETURN x AS z, [x, y]",
        ["DISTINCT null AS x", "null AS one", "[null, y]", "[x, null]"],
    ),
    "empty a list": ("UNWIND $rows AS row UNWIND [1] + row.more AS more", ["UNWIND [] AS row", "UNWIND [] AS more"]),
    "forget a value": (
        "MATCH (a {x: 1}) CREATE (:B {root: $root, y: 2}) RETURN collect({z: a.z}) AS z, a",
        ["null AS z, a", "y: null", "{z: null}"],
    ),
    "swap a property": ("RETURN a.begun AS revision, a.type", ["a.revision AS revision", "a.name"]),
}


@pytest.mark.parametrize("operator", [*OPERATORS, *MORE])
def test_operator_makes_these_mutants(operator: str) -> None:
    text, wanted = MADE[operator]
    made = [
        " ".join(mutant.body.split())
        for mutant in mutants("made_up", text + "\n", more=True)
        if mutant.operator == operator
    ]
    assert len(made) == len(wanted), made
    for body, piece in zip(made, wanted, strict=True):
        assert piece in body
        assert piece not in text


def test_strings_and_comments_are_not_mutated() -> None:
    text = "// WHERE a = 1 AND b\nRETURN 'x AND y = z' // NOT DISTINCT (\n"
    assert mutants("made_up", text) == []


def test_unbalanced_brackets_are_an_error() -> None:
    with pytest.raises(ValueError, match="closes nothing"):
        statement("RETURN (a]")
    with pytest.raises(ValueError, match="not closed"):
        statement("RETURN (a")


def test_a_long_match_is_shown_by_its_ends() -> None:
    assert shown("MATCH (a) // a comment\n  RETURN  a") == "MATCH (a) RETURN a"
    assert len(shown("RETURN " + "a" * 500)) < 200


WITHOUT_MUTANTS = {"server_settings"}  # it only names settings, so no operator applies to it


@pytest.mark.parametrize("name", NAMES)
def test_mutants_have_unique_texts_and_names(name: str) -> None:
    made = mutation.mutants(name)
    assert bool(made) == (name not in WITHOUT_MUTANTS)
    assert len({str(mutant) for mutant in made}) == len(made)
    assert all(mutant.body != cypher.load(name).text for mutant in made)


def test_every_equivalent_mutant_exists() -> None:
    for entry in mutation.entries():
        named = [each for file in entry.files for each in mutation.mutants(file) if entry.names(each)]
        assert {each.file for each in named} == {*entry.files}, entry
        assert {each.text for each in named} == {*entry.texts}, entry
        assert len(entry.reason.split()) > 3, entry
