"""The policies' pages and examples: their tables agree with the YAML, and their examples pass."""

import random
import re
from pathlib import Path
from typing import Any, ClassVar

import pytest
import yaml
from pydantic import BaseModel

from grantpath.engine.policy import schema
from grantpath.engine.policy.policy import load
from grantpath.engine.policy.schema import BUILT_IN

from ..oracle.base import Change, Operation, Oracle, Question, on
from ..oracle.notation import Ref
from ..oracle.scenario import run_line, run_scenario
from ..support.in_memory import decide
from ..support.random_proposals import Proposals
from .policy_pages import PAGES, markdown, tables, tables_in

DOCS = PAGES.parent
GUIDE = (DOCS / "writing-a-policy.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"```yaml[^\n]*\n(.*?)```", re.DOTALL)
NAMES = ["gravitino", "lakehouse", "lakehouse_nested", "deltastream", "onehouse", "cdap", "cdap_design"]
VENDORS = ["unity_catalog", "polaris"]  # examples: their scenarios run in tests/agreement/test_scenarios.py
RULINGS = "Where this policy reads the document in one of several ways"
EXAMPLE = re.compile(r"```yaml\n(scenario: .*?)```", re.DOTALL)


def example_in(page: Path) -> dict[str, Any]:
    """The scenario in a page."""
    found = EXAMPLE.findall(page.read_text(encoding="utf-8"))
    assert len(found) == 1
    document = yaml.load(found[0], yaml.BaseLoader)
    assert isinstance(document, dict)
    return document


def test_every_system_has_its_page() -> None:
    assert {page.stem for page in PAGES.glob("*.md")} == {*NAMES, *VENDORS}


@pytest.mark.parametrize("name", [*NAMES, *VENDORS])
def test_tables_of_the_page_agree_with_the_yaml(name: str) -> None:
    made = {table: markdown(rows) for table, rows in tables(load(name)).items()}
    assert tables_in(PAGES / f"{name}.md") == made, "bring the page up to date: python -m tests.docs.policy_pages"


@pytest.mark.parametrize("name", NAMES)
def test_example_of_the_page_passes(name: str) -> None:
    document = example_in(PAGES / f"{name}.md")
    assert document["policy"] == name
    assert run_scenario(document) == []


@pytest.mark.parametrize("name", NAMES)
def test_page_begins_with_the_rulings(name: str) -> None:
    sections = (PAGES / f"{name}.md").read_text(encoding="utf-8").split("\n## ")[1:]
    decided = next(each for each in sections if each.startswith(RULINGS))
    assert sections.index(decided) <= (1 if name == "cdap" else 0)  # cdap first says what differs from another page
    rows = [line for line in decided.splitlines() if line.startswith("| ")]
    assert len(rows) > (4 if name.startswith("lakehouse") else 12)
    assert all(line.count(" | ") == 2 for line in rows)


@pytest.mark.parametrize("name", VENDORS)
def test_page_of_a_vendor_says_what_is_covered_and_what_is_not(name: str) -> None:
    text = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    assert f"(../examples/{name}.scenarios.yaml)" in text
    covered, left_out, decided = text.split("\n## ")[1:4]
    assert covered.startswith("What is covered\n")
    assert left_out.startswith("What is not covered\n")
    assert decided.startswith(f"{RULINGS}\n")
    rows = [line.split(" | ") for line in left_out.splitlines() if line.startswith("| ")]
    assert len(rows) > 5
    assert all(len(row) == 3 and len(row[2]) > 2 for row in rows), "each row says what to do instead"
    assert example_in(PAGES / f"{name}.md")["policy"] == name


# ---- the guide, and the example it makes


class Github(Oracle):
    """The guide's example as an oracle, to run its scenarios."""

    policy = "github"
    root_type = "enterprise"
    types: ClassVar[dict[str, str | None]] = {
        "enterprise": None,
        "org": "enterprise",
        "repository": "org",
        "user": "enterprise",
        "group": "enterprise",
    }
    memberships: ClassVar[set[tuple[str, str]]] = {("user", "group"), ("group", "group")}
    grantees = ("user", "group")
    ladder = ("READ", "TRIAGE", "WRITE", "MAINTAIN", "ADMIN")
    privileges: ClassVar[dict[str, tuple[str, ...]]] = dict.fromkeys(ladder, ("org", "repository"))
    takes: ClassVar[dict[str, str]] = {
        "clone": "READ",
        "push": "WRITE",
        "manage_settings": "MAINTAIN",
        "delete_repository": "ADMIN",
    }
    operations: ClassVar[dict[str, Operation[Any]]] = {name: on("repository", lambda _: False) for name in takes}

    def checkable_on(self, privilege: str) -> tuple[str, ...]:
        return self.privileges[privilege]

    def has(self, subject: Ref, privilege: str, place: Ref) -> bool:
        """Whether a sufficient privilege is granted on the place or above it, to the subject or one of its teams."""
        enough = self.ladder[self.ladder.index(privilege) :]
        return any(
            ("allow", rung, above, holder) in self.grants
            for rung in enough
            for above in self.upward(place)
            for holder in self.reach(subject)
        )

    def decide(self, question: Question) -> bool:
        return self.has(question.subject, self.takes.get(question.name, question.name), question.object)

    def authorized(self, change: Change, actor: Ref, as_role: Ref | None) -> bool:
        repository = change.object.type == "repository"
        if change.verb == "add":
            return repository and self.has(actor, "ADMIN", self.upward(change.object)[1])
        if change.verb == "drop":
            return repository and self.has(actor, "ADMIN", change.object)
        return change.verb in ("grant", "revoke") and self.has(actor, "ADMIN", change.object)


def differences(document: dict[str, Any]) -> list[Any]:
    """The lines of a scenario of the example whose answers differ."""
    world = Github(document["root"])
    rejected = [fact for fact in document["given"] if world.given(fact) != "done"]
    answers = ((line, run_line(world, line)) for line in document["then"])
    return rejected + [(line, answer) for line, answer in answers if answer[0] != answer[1]]


def test_guide_contains_the_shipped_policy() -> None:
    parts = [block for block in BLOCK.findall(GUIDE) if not block.startswith("scenario:")][:4]
    written, shipped = yaml.safe_load("".join(parts)), yaml.safe_load((BUILT_IN / "github.yaml").read_text())
    assert {**written, "source": shipped["source"]} == shipped


def test_scenarios_of_the_example_pass() -> None:
    (in_guide,) = [block for block in BLOCK.findall(GUIDE) if block.startswith("scenario:")]
    text = (DOCS / "examples" / "github.scenarios.yaml").read_text(encoding="utf-8")
    documents = list(yaml.load_all(f"{text}---\n{in_guide}", yaml.BaseLoader))
    assert len(documents) == 5
    for document in documents:
        assert differences(document) == [], document["scenario"]


def test_example_agrees_with_its_oracle_on_random_checks() -> None:
    policy, rng = load("github"), random.Random(1)
    world = Github("main")
    for number in range(4):
        for fact in (f"add org:o{number}", f"add user:u{number}", f"add group:g{number}"):
            assert world.given(fact) == "done"
    proposals = Proposals(world, rng)
    for _ in range(150):
        world.given(rng.choice([proposals.grant, proposals.member, proposals.add_any])() or "")
    asked = [(type_, name) for type_ in world.types for name, _ in world.names_on(type_)]
    checks = [check for _ in range(1500) if (check := proposals.check(*rng.choice(asked), {}))]
    assert len(checks) > 1000
    assert [check for check in checks if decide(policy, world, *check) != world.check(*check)] == []


def test_extended_policy_of_the_guide_works(tmp_path: Path) -> None:
    (ours,) = [block for block in BLOCK.findall(GUIDE) if block.startswith("policy: ours")]
    (tmp_path / "ours.yaml").write_text(ours)
    policy = load(str(tmp_path / "ours.yaml"))
    assert policy.question("view", "dashboard").clauses
    assert "get_credential" not in policy.names_on("catalog")


def test_the_guide_names_every_key() -> None:
    entries = [each for each in vars(schema).values() if isinstance(each, type) and issubclass(each, BaseModel)]
    keys = {field.alias or name for entry in entries for name, field in entry.model_fields.items()}
    assert len(keys) > 40
    assert {key for key in keys if f"`{key}`" not in GUIDE} == set()


@pytest.mark.parametrize("word", ["granted", "owner", "self", "holds", "exists", "custom", "some", "every", "can"])
def test_the_guide_names_every_word_of_the_conditions(word: str) -> None:
    assert f"`{word}(" in GUIDE or f"`{word}`" in GUIDE


def test_every_link_of_the_pages_has_a_target() -> None:
    pages = [DOCS / "writing-a-policy.md", *PAGES.glob("*.md")]
    for page in pages:
        for target in re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
