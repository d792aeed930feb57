"""docs/questions.md lists every query of cypher/questions/ with the words of its header."""

import re
from pathlib import Path

from grantpath import cypher
from grantpath.cypher.catalogue import GROUPS

PAGE = Path(__file__).parents[2] / "docs" / "questions.md"
FOLDER = Path(str(cypher.__file__)).parent / "questions"


def row(file: Path) -> str:
    """The row of the table: the name, the question, and what the query leaves out."""
    lines = file.read_text(encoding="utf-8").splitlines()
    text = " ".join(line[3:] for line in lines if line.startswith("// "))
    said = re.match(rf"{file.stem}\.cypher: (\w[^?]*\?).* Leaves out: (.*?) \$\w+ ", text)
    assert said, f"{file.name}: the header needs a question, and what the query leaves out"
    question, omitted = (text[0].upper() + text[1:] for text in said.groups())
    return f"| [`{file.stem}`](../cypher/questions/{file.name}) | {question} | {omitted} |"


def test_the_page_lists_every_question_with_the_words_of_its_header() -> None:
    wanted = sorted(row(file) for file in FOLDER.glob("*.cypher"))
    assert len(wanted) >= 32
    assert (
        sorted(line for line in PAGE.read_text(encoding="utf-8").splitlines() if "(../cypher/questions/" in line)
        == wanted
    )


def test_the_page_has_the_groups_of_the_catalogue_in_their_order() -> None:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    groups: dict[str, tuple[str, ...]] = {}
    for line in lines:
        if line.startswith("## "):
            group = line.removeprefix("## ")
        if found := re.match(r"\| \[`(\w+)`\]\(\.\./cypher/questions/", line):
            groups[group] = (*groups.get(group, ()), found[1])
    assert groups == GROUPS
    assert list(groups) == list(GROUPS)
