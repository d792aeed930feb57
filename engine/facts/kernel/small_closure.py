"""Computes the closure of few memberships in this process, because for a small graph starting Spark takes longer."""

import numpy as np

from grantpath.engine.facts.kernel.intervals import Ints

MAX_STEPS = 2_000_000  # followed memberships plus created pairs; about two seconds of work
NAME = "plain Python, because the graph is small"


def close_small(subjects: Ints, source: Ints, target: Ints) -> tuple[Ints, Ints] | None:
    """Two sorted columns: every subject with each of its effective principals. None if it takes more than MAX_STEPS."""
    if len(subjects) + len(source) > MAX_STEPS:
        return None
    groups: dict[int, list[int]] = {}
    for member, container in zip(source.tolist(), target.tolist(), strict=True):
        groups.setdefault(member, []).append(container)
    steps = 0
    reached: dict[int, set[int]] = {}
    for container in {*target.tolist()}:
        reached[container], taken = _reach(container, groups, MAX_STEPS - steps)
        steps += taken
        if steps >= MAX_STEPS:
            return None
    pairs: list[tuple[int, list[int]]] = []
    for subject in sorted(subjects.tolist()):
        principals = reached.get(subject) or {subject}.union(*(reached[group] for group in groups.get(subject, ())))
        steps += len(principals)
        if steps > MAX_STEPS:
            return None
        pairs.append((subject, sorted(principals)))
    counts = [len(principals) for _, principals in pairs]
    subject = np.repeat(np.array([each for each, _ in pairs], np.int64), counts)
    return subject, np.fromiter((principal for _, principals in pairs for principal in principals), np.int64)


def _reach(start: int, groups: dict[int, list[int]], most: int) -> tuple[set[int], int]:
    """The subject and all its containers, and the number of steps taken. Stops after `most` memberships."""
    found, waiting, steps = {start}, [start], 0
    while waiting and steps < most:
        for container in groups.get(waiting.pop(), ()):
            steps += 1
            if container not in found:
                found.add(container)
                waiting.append(container)
    return found, steps + len(found)
