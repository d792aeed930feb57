"""Draws the questions that the benchmarks ask about a generated estate: popular and random, yes and no."""

import random
from bisect import bisect_left
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

Question = tuple[str, str, str]

# Mostly reads, as in the questions of a query engine.
OPERATIONS = {"load_table": 70, "alter_table": 15, "create_table": 10, "drop_table": 5}


class Estate:
    """A generated estate, from which users and tables are drawn."""

    def __init__(self, directory: Path) -> None:
        subjects = column(directory, "subjects", "ref")
        kind = pc.starts_with(subjects, "user:")
        self.subjects = subjects
        self.users: npt.NDArray[np.int64] = np.flatnonzero(kind.to_numpy(zero_copy_only=False))
        objects = column(directory, "objects", "ref")
        self.tables: list[str] = sorted(objects.filter(pc.starts_with(objects, "table:")).to_pylist())
        self.granted_objects = column(directory, "grants", "object")
        self.granted_subjects = pc.index_in(column(directory, "grants", "subject"), subjects).to_numpy()
        self.owned = column(directory, "owners", "object")
        self.owners = pc.index_in(column(directory, "owners", "owner"), subjects).to_numpy()
        member = pc.index_in(column(directory, "members", "member"), subjects).to_numpy()
        of = pc.index_in(column(directory, "members", "of"), subjects).to_numpy()
        order = np.argsort(of, kind="stable")
        self._members, self._starts = member[order], np.searchsorted(of[order], np.arange(len(subjects) + 1))
        self.joining_users = member[np.isin(member, self.users)]  # one entry a membership

    def user(self, rng: random.Random, among: npt.NDArray[np.int64]) -> str:
        return str(self.subjects[int(among[rng.randrange(len(among))])])

    def user_under(self, rng: random.Random, subject: int) -> str:
        """A user that belongs to the subject, found by a random walk; any user if the walk ends without one."""
        while not str(self.subjects[subject]).startswith("user:"):
            start, end = self._starts[subject], self._starts[subject + 1]
            if start == end:
                return self.user(rng, self.users)
            subject = int(self._members[rng.randrange(start, end)])
        return str(self.subjects[subject])

    def table_under(self, rng: random.Random, reference: str) -> str:
        """The table itself, or any table inside the catalog or the schema; for the root any table."""
        kind, name = reference.split(":", 1)
        if kind == "table":
            return reference
        inside = "" if kind == "metalake" else f"{name}."
        start = bisect_left(self.tables, f"table:{inside}")
        end = bisect_left(self.tables, f"table:{inside}\U0010ffff")
        return self.tables[rng.randrange(start, end)]


def column(directory: Path, table: str, name: str) -> pa.Array:
    return pq.read_table(directory / f"{table}.parquet", columns=[name])[name].combine_chunks()


def sample_questions(directory: Path, n: int, seed: int) -> list[Question]:
    """`n` questions (subject, operation, object) about a generated estate. The same seed gives the same questions.

    There are four kinds, equally often: a random user and table; a user with many memberships and a table with many
    grants; a user and a table that a grant connects; a user and a table that an ownership connects. So both answers are
    frequent.
    """
    estate, rng = Estate(directory), random.Random(seed)
    operations, weights = list(OPERATIONS), list(OPERATIONS.values())
    questions = []
    for number in range(n):
        grant = rng.randrange(len(estate.granted_objects))
        table = estate.table_under(rng, str(estate.granted_objects[grant]))
        if number % 4 == 0:
            user = estate.user(rng, estate.users)
            table = estate.tables[rng.randrange(len(estate.tables))]
        elif number % 4 == 1:
            user = estate.user(rng, estate.joining_users)
        elif number % 4 == 2:
            user = estate.user_under(rng, int(estate.granted_subjects[grant]))
        else:
            owned = rng.randrange(len(estate.owned))
            table = estate.table_under(rng, str(estate.owned[owned]))
            user = estate.user_under(rng, int(estate.owners[owned]))
        (operation,) = rng.choices(operations, weights)
        if operation == "create_table":  # a question about the schema
            table = "schema:" + table.removeprefix("table:").rpartition(".")[0]
        questions.append((user, operation, table))
    rng.shuffle(questions)
    return questions
