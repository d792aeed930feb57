"""Runs a scenario document through the oracle and reports the lines with different answers."""

from pathlib import Path
from typing import Any

import yaml

from .base import Oracle
from .build import oracle
from .errors import OracleError
from .notation import Malformed, read_with, split_outside_quotes


def read_scenarios(path: Path) -> list[dict[str, Any]]:
    """The documents of one file, with every scalar as a string."""
    return list(yaml.load_all(path.read_text(encoding="utf-8"), Loader=yaml.BaseLoader))


def run_scenario(document: dict[str, Any]) -> list[str]:
    """A message for each line that the oracle answers differently from the scenario."""
    world = oracle(document["policy"], document["root"])
    for fact in document.get("given", []):
        if world.given(fact) != "done":
            return [f"given is not accepted: {fact}"]
    problems = []
    for line in document["then"]:
        expected, got = run_line(world, line)
        if expected != got:
            problems.append(f"{line}: expected {expected}, got {got}")
    return problems


def run_line(world: Oracle, line: str | dict[str, Any]) -> tuple[object, object]:
    """The expectation of the line and the answer of the oracle, in the same form."""
    if isinstance(line, str):
        return check_line(world, line)
    if "do" in line:
        actor, role = read_actor(line["by"]) if "by" in line else (None, None)
        return expected_outcome(line), world.do(line["do"], by=actor, as_role=role)
    answer: tuple[object, object]
    try:
        if "check" in line:
            answer = check_line(world, line["check"])
        else:
            answer = set(line.get("answer", [])), ask_line(world, line["ask"])
    except (OracleError, Malformed):
        return ("error" if line.get("error") == "true" else line.get("answer", "yes or no")), "error"
    return ("error", answer[1]) if line.get("error") == "true" else answer


def expected_outcome(line: dict[str, Any]) -> str:
    """The outcome that a `do` line expects."""
    if line.get("invalid") == "true":
        return "invalid"
    return "refused" if line.get("refused") == "true" else "done"


def read_actor(text: str) -> tuple[str, str | None]:
    """`SUBJECT` or `SUBJECT as ROLE`."""
    match split_outside_quotes(text, " "):
        case [subject]:
            return subject, None
        case [subject, "as", role]:
            return subject, role
    raise Malformed(f"{text!r} is not an actor")


def check_line(world: Oracle, text: str) -> tuple[bool, bool]:
    """The expectation of `SUBJECT [as ROLE] can|cannot NAME on REF [with ...]`, and the oracle's answer."""
    words, with_ = read_question_words(text)
    match words:
        case [subject, ("can" | "cannot") as verb, name, "on", ref]:
            return verb == "can", world.check(subject, name, ref, with_)
        case [subject, "as", role, ("can" | "cannot") as verb, name, "on", ref]:
            return verb == "can", world.check(subject, name, ref, with_, role)
    raise Malformed(f"{text!r} is not a check")


def ask_line(world: Oracle, text: str) -> set[str]:
    """The oracle's answer to `who can ...` or `which TYPE can ...`."""
    words, with_ = read_question_words(text)
    match words:
        case ["who", "can", name, "on", ref]:
            return world.who(name, ref, with_)
        case ["which", type_, "can", subject, name]:
            return world.which(type_, subject, name, with_)
        case ["which", type_, "can", subject, "as", role, name]:
            return world.which(type_, subject, name, with_, role)
    raise Malformed(f"{text!r} is not a question")


def read_question_words(text: str) -> tuple[list[str], dict[str, str]]:
    """The words before `with`, and the second objects after it."""
    words = split_outside_quotes(text, " ")
    if "with" not in words:
        return words, {}
    at = words.index("with")
    return words[:at], read_with(words[at + 1 :])
