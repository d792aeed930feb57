"""The spans of many lists of targets, found at once, are those of each list alone, by plain Python."""

import random
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from grantpath.engine.facts.compare.region_cover import SpanLists, _Slots

Spans = list[tuple[int, int]]


def lists_of(several: list[Spans]) -> SpanLists:
    low, high = np.array([span for spans in several for span in spans], np.int64).reshape(-1, 2).T
    return SpanLists(np.cumsum([0, *map(len, several)]), low, high)


def listed(found: SpanLists) -> list[Spans]:
    spans = [*zip(found.low.tolist(), found.high.tolist(), strict=True)]
    return [spans[low:high] for low, high in zip(found.begin[:-1].tolist(), found.begin[1:].tolist(), strict=True)]


def numbers_in(spans: Spans) -> set[int]:
    return {each for low, high in spans for each in range(low, high)}


def runs(numbers: set[int]) -> Spans:
    begins = sorted(each for each in numbers if each - 1 not in numbers)
    ends = sorted(each + 1 for each in numbers if each + 1 not in numbers)
    return [*zip(begins, ends, strict=True)]


def test_between_returns_the_gaps_of_each_list() -> None:
    rng = random.Random(4)
    for _ in range(200):
        several = [runs({rng.randrange(12) for _ in range(rng.randrange(12))}) for _ in range(rng.randrange(5))]
        found = listed(lists_of(several).between((0, 12)))
        assert found == [runs(set(range(12)) - numbers_in(spans)) for spans in several]


def _given(columns: Any, *_: Any) -> Any:
    return columns


def test_spans_of_chosen_targets_are_merged() -> None:
    """Targets stand for several spans each, with and without gaps between them."""
    rng = random.Random(5)
    for number in range(200):
        size, width = rng.randint(1, 8), rng.randint(1, 3)
        of = [*range(size), *(rng.randrange(size) for _ in range(rng.randrange(6)))]
        rng.shuffle(of)
        gap = number % 2
        slots = [(at * (width + gap), at * (width + gap) + width) for at in range(len(of))]
        columns = np.array(of), *np.array(slots, np.int64).T
        region: Any = SimpleNamespace(by_type={"t": [None] * size}, slots=partial(_given, columns))
        chosen = [{target for target in range(size) if rng.random() < rng.random()} for _ in range(rng.randrange(6))]
        chosen = [each for each in chosen if each] or [{0}]
        found = listed(_Slots(region, 0, "t").spans(lists_of([runs(each) for each in chosen])))
        wanted = [runs(numbers_in([slots[at] for at in range(len(of)) if of[at] in each])) for each in chosen]
        assert found == wanted
