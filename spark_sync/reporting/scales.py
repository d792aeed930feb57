"""Linear axes: round steps and their labels."""

import math

MOST_TICKS = 5


def step(most: float, parts: int) -> int:
    """The smallest of 1, 2, 5, 10, 20, 50, ... of which `parts` reach `most`."""
    size: int = 10 ** max(0, math.floor(math.log10(max(most, 1) / parts)))
    return next(each * size for each in (1, 2, 5, 10) if each * size * parts >= most)


def ticks(most: float) -> list[int]:
    """The labels of a linear axis from 0 to at least `most`."""
    size = step(most, MOST_TICKS)
    return [size * at for at in range(max(1, math.ceil(most / size)) + 1)]
