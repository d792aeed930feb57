"""All access that a snapshot's facts give, as pairs."""

from pathlib import Path

import numpy as np

from grantpath.spark_sync.bulk.bulk_questions import conditions, prepare, users
from grantpath.spark_sync.bulk.verification import allowed
from grantpath.spark_sync.session.snapshot import Snapshot

Pair = tuple[str, str, str, str]  # user, name, type, object


def access_of(folder: Path) -> set[Pair]:
    """All access of all users by all names, by Spark's kernel."""
    source = Snapshot(folder)
    refs, closure = source.numbering.refs, source.closure()
    listed, questions = conditions(source.policy, None)
    found: set[Pair] = set()
    for name in listed:
        prepared = prepare(source, [questions[name.condition]])
        targets = prepared.asked[0].targets
        people = np.flatnonzero(users(source))
        for user, intervals in allowed(source, prepared, questions[name.condition], people, closure).items():
            places = [refs[at] for low, high in intervals for at in targets[low:high].tolist()]
            found.update((refs[user], name.name, name.type, place) for place in places)
    return found
