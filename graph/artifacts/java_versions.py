"""The versions of Java on which each program runs."""

from collections.abc import Sequence
from typing import Literal

Purpose = Literal["neo4j-5", "neo4j-2026", "spark-3.5", "spark-4.0"]

# Supported versions. Spark 3.5 is limited to 17: it starts on Java 21, but then fails in Arrow.
FITTING: dict[Purpose, Sequence[int]] = {
    "neo4j-5": (17, 21),
    "neo4j-2026": range(21, 100),
    "spark-3.5": (8, 11, 17),
    "spark-4.0": (17, 21),
}
