"""The queries that people read: short, in numbered steps, in standard terms, with the rule as one visible line."""

import re

import pytest

from grantpath import cypher
from grantpath.engine.policy.index import OWN_LABELS, ROLE

from .test_query_files import header

DECIDING = ["check", "who", "which"]
READ = [*DECIDING]
LONGEST = 100  # lines of a body, comments included
DEEPEST = 5  # braces around a line
# words of this project's own, and the words for them: principal, place, property, privilege
OWN_WORDS = r"\b(hats?|holders?|held|spots?|marks?|edges?|at|named|whoever|somebody|anybody|everyone)\b"
STEPS = {name: ["1", "2", "3"] for name in DECIDING}
CLAUSES = "any(clause IN clauses WHERE all(term IN clause WHERE any(atom IN term WHERE"
STATED = "// 3 the rule: one DENY beats every ALLOW"
RULE = "any(fact IN atom.any WHERE fact IN facts) AND none(fact IN atom.none WHERE fact IN facts)"


def body(name: str) -> list[str]:
    """The lines behind the header."""
    return cypher.load(name).text.splitlines()[len(header(name).splitlines()) :]


LABEL = re.compile(r"\(\w*:([A-Z]\w*[a-z]\w*)")


def test_no_type_of_a_policy_can_have_a_label_that_the_queries_use() -> None:
    """A type `gate` would get the label of a lock, of which each root has one. `Role` is that of a kind of types."""
    used = {label for name in cypher.names() for label in LABEL.findall(cypher.load(name).text)}
    assert used - {ROLE} <= OWN_LABELS
    assert {"Entity", "Gate", "Heartbeat", "RulePart"} <= used


def comments(name: str) -> list[str]:
    return [line.strip() for line in body(name) if line.lstrip().startswith("//")]


@pytest.mark.parametrize("name", READ)
def test_a_query_fits_on_a_page(name: str) -> None:
    assert len(body(name)) <= LONGEST
    depth, deepest = 0, 0
    for line in body(name):
        code = line.partition("//")[0]
        deepest = max(deepest, depth - code.lstrip().startswith("}"))
        depth += code.count("{") - code.count("}")
    assert depth == 0
    assert deepest <= DEEPEST


@pytest.mark.parametrize("name", READ)
def test_header_has_question_result_parameters_and_example(name: str) -> None:
    text = header(name)
    assert re.match(rf"{name}\.cypher: [^.?]+\?", text)
    order = [text.index(part) for part in ("?", "\nReturns ", "\n$root", "\nIn Neo4j Browser", "\n:params {root:")]
    assert order == sorted(order)
    assert text.endswith("}")
    assert all(len(line) <= 120 for line in text.splitlines())


@pytest.mark.parametrize("name", READ)
def test_numbered_comments_name_the_steps(name: str) -> None:
    assert [match[1] for each in comments(name) if (match := re.match(r"// (\d) ", each))] == STEPS[name]


@pytest.mark.parametrize("name", READ)
def test_names_are_the_terms_of_the_field(name: str) -> None:
    code = re.sub(r"//.*|'[^']*'", "", "\n".join(body(name)))
    assert set(re.findall(OWN_WORDS, code)) == set()


def test_one_deny_beats_every_allow_is_the_same_line_in_each_deciding_query() -> None:
    for name in DECIDING:
        lines = [line.strip() for line in body(name)]
        at = lines.index(STATED)
        assert lines[at - 1].endswith(CLAUSES)
        assert lines[at + 1].startswith(RULE)
        assert "\n".join(lines).count("atom.none") == 1


def test_who_acts_is_found_by_the_same_lines_in_check_and_which() -> None:
    steps = []
    for name in ("check", "which"):
        lines = [line.strip() for line in body(name)]
        first = next(at for at, line in enumerate(lines) if line.startswith("// 1 who acts"))
        last = next(at for at, line in enumerate(lines) if line.endswith(" END AS principals"))
        steps.append(lines[first : last + 1])
    assert steps[0] == steps[1]
    assert len(steps[0]) == 9


def test_a_grant_and_a_grant_on_all_below_have_the_same_text_everywhere() -> None:
    for text in (
        "type(grant) + ' ' + coalesce(grant.privilege + ' ', '')",
        "(place)<-[:CHILD_OF*1..]-(inner) WHERE inner.type IN every.types AND coalesce(inner.exists, true) AND NOT",
        "(inner)<-[grant:ALLOW]-(grantee) WHERE grantee IN principals AND grant.privilege IN every.privileges } }",
    ):
        for name in ("check", "who", "which_below"):
            assert text in cypher.load(name).text


WITH_LENGTHS = (  # what which_below.cypher has for types in themselves, and which.cypher in its place
    (
        "WHERE place.type IN $nested OR property + place.type IN $facts OR place.ref IN "
        "[shared IN $places | shared.ref]\n      RETURN place, property",
        "WHERE property + place.type IN $facts OR place.ref IN [shared IN $places | shared.ref] RETURN place, property",
    ),
    (
        "    WITH place, property, place.type + CASE WHEN place.type IN $nested THEN '@' + toString(COUNT { "
        "(place)-[:CHILD_OF*1..]->() })\n      ELSE '' END AS own\n    UNWIND [own] +",
        "    UNWIND [place.type] +",
    ),
    ("WITH CASE name WHEN own THEN", "WITH CASE name WHEN place.type THEN"),
    (
        "coalesce(object.exists, true)\n      AND ($length IS NULL OR COUNT { (object)-[:CHILD_OF*1..]->() } = $length)"
        "\n  WITH object.ref",
        "coalesce(object.exists, true)\n  WITH object.ref",
    ),
)


def test_which_below_is_which_with_facts_from_below_and_lengths() -> None:
    own = body("which_below")
    first = next(at for at, line in enumerate(own) if "// rarely needed" in line) - 1
    last = next(at for at, line in enumerate(own) if "left(every.fact" in line)
    assert own[first].strip() == "UNION ALL"
    # the parameter has another name: the parameters of which_below must be an error in which, not a shorter list
    same = "\n".join(own[:first] + own[last + 1 :]).replace("$builtin_types", "$builtin")
    for more, plain in WITH_LENGTHS:
        assert more in same
        same = same.replace(more, plain)
    assert same == "\n".join(body("which"))
    assert not cypher.load("which").parameters <= cypher.load("which_below").parameters
