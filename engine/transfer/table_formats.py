"""The formats of the tables that `load` reads and `dump` writes."""

from typing import Literal

Format = Literal["csv", "jsonl", "parquet"]
