"""Reads the facts, the questions and the changes of a generated estate."""

import random
from collections.abc import Iterator
from pathlib import Path

from questions import column, sample_questions

from peers.interface import TABLES, Facts, Grant, Question

# The privilege that decides about each operation of the sampled questions.
PRIVILEGE = dict(zip(("load_table", "alter_table", "drop_table"), (*TABLES, TABLES[1]), strict=True))


def read_facts(directory: Path, root: str) -> Facts:
    """The facts of the estate in this folder."""

    def rows(table: str, *names: str) -> Iterator[tuple[str, ...]]:
        return zip(*(column(directory, table, name).to_pylist() for name in names), strict=True)

    above = {}
    for (ref,) in rows("objects", "ref"):
        kind, name = ref.split(":", 1)
        inside = {"schema": "catalog", "table": "schema"}.get(kind)
        above[ref] = f"{inside}:{name.rpartition('.')[0]}" if inside else root
    return Facts(
        directory,
        root,
        [ref for (ref,) in rows("subjects", "ref")],
        above,
        [(member, of) for member, of in rows("members", "member", "of")],
        [Grant(*row) for row in rows("grants", *Grant._fields)],
    )


def read_questions(directory: Path, number: int, seed: int) -> list[Question]:
    """`number` questions about tables, with popular and random users and tables, so that both answers are frequent."""
    drawn = sample_questions(directory, number + number // 3 + 20, seed)
    asked = [Question(user, PRIVILEGE[name], object_) for user, name, object_ in drawn if name in PRIVILEGE]
    return asked[:number]


def draw_changes(facts: Facts, number: int, seed: int) -> list[tuple[Grant, bool, Question]]:
    """At least `number` changes, each a grant that is added or removed, and a question about a user and a table.

    Changes come in groups of four: an allow on a table or its schema to a group or role of the user, a deny on the same
    object to the user, the revocation of the deny, the revocation of the allow.
    """
    rng = random.Random(seed)
    taken = {each[1:] for each in facts.grants}
    users = [each for each in facts.members if each[0].startswith("user:")]
    tables = facts.tables()
    changes: list[tuple[Grant, bool, Question]] = []
    while len(changes) < number:
        user, of = rng.choice(users)
        question = Question(user, rng.choice(TABLES), rng.choice(tables))
        place = rng.choice((question.object, facts.above[question.object]))
        allow = Grant("allow", question.privilege, place, of)
        deny = Grant("deny", question.privilege, place, user)
        if allow[1:] not in taken and deny[1:] not in taken:
            changes += [
                (grant, added, question)
                for grant, added in zip((allow, deny, deny, allow), (True, True, False, False), strict=True)
            ]
    return changes
