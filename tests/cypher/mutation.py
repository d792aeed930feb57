"""Chooses mutants, runs them against probes, and reads the list of equivalent mutants."""

import random
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from pathlib import Path

import yaml

from grantpath import cypher

from .groups import WRITING
from .operators import Mutant
from .operators import mutants as generated
from .probe import NotPlanned, Probe, replaced

SEED = 13
EQUIVALENT = Path(__file__).with_name("equivalent_mutants.yaml")


class Verdict(StrEnum):
    """The outcome of a mutant."""

    DISCARDED = "discarded"  # the database cannot plan it
    EQUIVALENT = "equivalent"  # on the list, and no probe fails
    KILLED = "killed"
    SURVIVED = "survived"


@dataclass(frozen=True)
class Entry:
    """An item of equivalent_mutants.yaml: mutants that no probe can kill, and why.

    Without `becomes` and `number` it stands for every mutant of this operator and these texts in these files.
    """

    files: tuple[str, ...]
    operator: str
    texts: tuple[str, ...]
    reason: str
    becomes: str | None = None
    number: int | None = None

    def names(self, mutant: Mutant) -> bool:
        return (
            mutant.file in self.files
            and mutant.operator == self.operator
            and mutant.text in self.texts
            and self.becomes in (None, mutant.becomes)
            and self.number in (None, mutant.number)
        )


@cache
def entries() -> tuple[Entry, ...]:
    """The list of equivalent mutants; `file` may name several, and `text` may be a list."""
    found = []
    for given in yaml.safe_load(EQUIVALENT.read_text(encoding="utf-8")):
        files, texts = tuple(given.pop("file").split()), given.pop("text")
        found.append(Entry(files, texts=(texts,) if isinstance(texts, str) else tuple(texts), **given))
    return tuple(found)


@cache
def mutants(file: str) -> tuple[Mutant, ...]:
    """All mutants of a file."""
    return tuple(generated(file, cypher.load(file).text, more=file in WRITING))


def chosen(file: str, whole: bool) -> list[Mutant]:
    """All mutants of a file, or one of each operator that is not on the list, the same one for an unchanged file."""
    if whole:
        return list(mutants(file))
    by_operator: dict[str, list[Mutant]] = {}
    for mutant in mutants(file):
        if not is_equivalent(mutant):
            by_operator.setdefault(mutant.operator, []).append(mutant)
    return [random.Random(f"{SEED} {file} {name}").choice(found) for name, found in by_operator.items()]


def is_equivalent(mutant: Mutant) -> bool:
    return any(entry.names(mutant) for entry in entries())


@dataclass
class Score:
    """The number of mutants by outcome, and the mutants with a wrong outcome."""

    what: str = "query mutants"
    counts: Counter[Verdict] = field(default_factory=Counter)
    seconds: float = 0.0
    wrong: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        generated = sum(self.counts.values())
        parts = ", ".join(f"{self.counts[verdict]} {verdict}" for verdict in Verdict)
        rest = self.counts[Verdict.KILLED] + self.counts[Verdict.SURVIVED]
        share = f"{self.counts[Verdict.KILLED] / rest:.1%}" if rest else "none left"
        return f"{self.what}: {generated} generated, {parts}; score {share}, in {self.seconds:.0f} s"


def run(
    chosen: Iterable[Mutant],
    probes: Iterable[Probe],
    score: Score,
    clean: Callable[[], object] = lambda: None,
    *,
    again: bool = True,
) -> list[str]:
    """Runs each mutant against the probes of its file, up to the first that fails, and adds to the score.

    `clean` is called after each probe. Returns the mutants that survive, those that are on the list of equivalent ones
    and are not, and with `again` the probes that fail with the unchanged query, too.
    """
    wrong = []
    began = time.monotonic()
    order = list(probes)
    for mutant in chosen:
        watching = [probe for probe in order if mutant.file in probe.files]
        killer: Probe | None = None
        try:
            killer = _killer(mutant, watching, clean)
            verdict = Verdict.KILLED if killer else Verdict.SURVIVED
        except NotPlanned:
            verdict = Verdict.DISCARDED
        if killer:  # the probe that killed one mutant often kills the next
            order.remove(killer)
            order.insert(0, killer)
            if again and (failure := killer.fails()):
                wrong.append(f"{killer.what} fails with the unchanged query, too, after {mutant}: {failure}")
            clean()
        if is_equivalent(mutant):
            if verdict is Verdict.SURVIVED:
                verdict = Verdict.EQUIVALENT
            else:
                wrong.append(f"listed as equivalent, but {verdict} by {killer and killer.what}: {mutant}")
        elif verdict is Verdict.SURVIVED:
            wrong.append(f"survived: {mutant}")
        score.counts[verdict] += 1
    score.seconds += time.monotonic() - began
    score.wrong += wrong
    return wrong


def _killer(mutant: Mutant, watching: list[Probe], clean: Callable[[], object]) -> Probe | None:
    for probe in watching:
        probe.wanted  # noqa: B018  # found out before anything is broken
    clean()
    for probe in watching:
        with replaced(mutant.file, mutant.body):
            failure = probe.fails()
        clean()
        if failure:
            return probe
    return None


def failing(probes: Iterable[Probe], clean: Callable[[], object] = lambda: None) -> list[str]:
    """The probes that fail with unchanged queries, with the reasons."""
    found = []
    for probe in probes:
        if failure := probe.fails():
            found.append(f"{probe.what}: {failure}")
        clean()
    return found
