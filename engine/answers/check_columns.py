"""Many checks at once, without a decision object for each: the rows of a table, or one question about many objects."""

import json
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import TYPE_CHECKING, Any, NamedTuple

from grantpath.engine.answers.request import ResolvedQuestion
from grantpath.graph.errors import GrantpathError, Invalid, InvalidInput
from grantpath.graph.extras import require_extra
from grantpath.graph.language.statement import Check
from grantpath.graph.messages import short

if TYPE_CHECKING:  # imported when a table is read, because the import takes long and needs an extra
    import pyarrow as pa

Row = tuple[str, str, str, str | None]
"""One check: the subject, the name, the object, the active role."""
COLUMNS = ("subject", "name", "object")
ROLE, ANSWER = "as_role", ("allowed", "error")


class Absent(NamedTuple):
    """In place of a verdict: a reference that the check needs does not exist. `known`: those that exist."""

    needed: Sequence[str]
    known: Collection[str]


Verdict = bool | Absent | Invalid
"""An answer, or the error of a check that is not valid."""


@dataclass(frozen=True)
class CheckColumns:
    """Checks that all have the same second objects. `alike`: they differ only in their objects."""

    rows: Sequence[Row]
    with_: dict[str, str] = field(default_factory=dict)
    alike: bool = False

    def check(self, row: Row) -> Check:
        """The check of a row."""
        subject, name, object_, as_role = row
        return Check(subject=subject, name=name, object=object_, with_=self.with_, as_role=as_role)


def absent(needed: Sequence[str], known: Collection[str], hidden: Collection[str]) -> Absent | None:
    """In place of a verdict, if one of the references that a check needs is not `known`, or is hidden."""
    return Absent(needed, known) if any(ref not in known or ref in hidden for ref in needed) else None


def verdict(question: ResolvedQuestion, answer: Mapping[str, Any], hidden: Collection[str]) -> Verdict:
    """The verdict that an answer of check.cypher means."""
    missing = absent(question.needed, answer["known"], hidden)
    return any(each["allowed"] for each in answer["acting"]) if missing is None else missing


# ---- tables ---------------------------------------------------------------------------------------------------------
def table_of(given: object) -> "pa.Table":
    """A table of checks as one of pyarrow. Raises InvalidInput if it is none, or has other columns than it needs."""
    require_extra("arrow", "check_table()")
    import pyarrow as pa

    try:
        table = given if isinstance(given, pa.Table) else pa.table(dict(given) if isinstance(given, Mapping) else given)
    except (TypeError, ValueError, OverflowError, pa.ArrowException) as error:
        raise InvalidInput(
            f"{short(repr(given))} is not a table ({short(str(error))}); pass a table of pyarrow, a DataFrame, or a "
            "mapping of the columns subject, name and object"
        ) from None
    for name in (*COLUMNS, ROLE):
        if (found := table.column_names.count(name)) != 1 and not (name == ROLE and found == 0):
            has = f"has {found} columns" if found else "has no column"
            raise InvalidInput(f"the table {has} {name}; its checks are in the columns subject, name and object")
    for name in ANSWER:
        if name in table.column_names:
            raise InvalidInput(f"the table has a column {name} already; rename it, because the answer adds this column")
    return table


def rows_of(table: "pa.Table") -> list[Row | InvalidInput]:
    """The checks of a table; in the place of a row without a subject, name or object, an error that says so. Raises
    InvalidInput for a column that does not have strings."""
    roles = _texts(table, ROLE) if ROLE in table.column_names else repeat(None, table.num_rows)
    texts = [_texts(table, name) for name in COLUMNS]
    rows: list[Any] = [*zip(*texts, roles, strict=True)]
    if any(None in column for column in texts):
        rows = [_without(row) if None in row[:3] else row for row in rows]
    return rows


def _without(row: Sequence[str | None]) -> InvalidInput:
    return InvalidInput(f"{COLUMNS[row.index(None)]} is null; name one, or remove the row")


def _texts(table: "pa.Table", name: str) -> list[str | None]:
    import pyarrow as pa

    column = table.column(name)
    type_ = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    kinds = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    texts = any(is_kind(type_) for is_kind in kinds)
    if not texts and column.null_count < len(column):  # a column without a value can have any type
        raise InvalidInput(f"the column {name} has the type {type_}; it must have strings")
    try:
        return column.to_pylist()  # type: ignore[no-any-return]
    except UnicodeDecodeError:
        raise InvalidInput(f"the column {name} has bytes that are not UTF-8; write them as strings") from None


def answered(given: Any, table: "pa.Table", found: Sequence[bool | GrantpathError], marks: Mapping[str, Any]) -> Any:
    """The table with its answers, of the kind that was given; a mapping becomes a table of pyarrow. `marks` is the row
    with their revision."""
    allowed = [None if isinstance(each, GrantpathError) else each for each in found]
    errors = [str(each) if isinstance(each, GrantpathError) else None for each in found]
    says = {"revision": marks["revision"], "ends_due": bool(marks.get("left_out"))}
    pd, pl = sys.modules.get("pandas"), sys.modules.get("polars")
    if pd is not None and isinstance(given, pd.DataFrame):
        frame = given.assign(allowed=pd.array(allowed, "boolean"), error=pd.array(errors, "string"))
        frame.attrs = {**given.attrs, **says}
        return frame
    if pl is not None and isinstance(given, pl.DataFrame):
        return given.with_columns(pl.Series("allowed", allowed, pl.Boolean), pl.Series("error", errors, pl.String))
    import pyarrow as pa

    answer = table.append_column("allowed", pa.array(allowed, pa.bool_()))
    answer = answer.append_column("error", pa.array(errors, pa.string()))
    texts = {key.encode(): json.dumps(each) for key, each in says.items()}
    return answer.replace_schema_metadata({**(table.schema.metadata or {}), **texts})
