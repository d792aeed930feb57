"""Lists of answers as tables: columns for pyarrow and for notebooks."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel

from grantpath.engine.decide.notebook import table_html
from grantpath.graph.extras import need_extra
from grantpath.graph.frozen import Frozen

if TYPE_CHECKING:  # `to_arrow` imports pyarrow when it is called, because the import takes long and needs an extra
    import pyarrow as pa


@dataclass(frozen=True)
class TypedColumn:
    """The values of one column: texts, numbers, times in UTC, truth values (None: unknown), lists of texts, or texts by
    key."""

    kind: Literal["text", "number", "time", "flag", "texts", "by_key"]
    values: Sequence[Any]


class Tabular(Frozen):
    """An answer that is a list: one page or the whole list, at one revision."""

    revision: int  # the revision of the root that was read
    complete: bool  # whether no further page follows
    question: BaseModel

    @abstractmethod
    def columns(self) -> Mapping[str, TypedColumn]:
        """The columns of the list, by name."""

    def to_arrow(self) -> "pa.Table":
        """The list as a table of pyarrow.

        The metadata of its schema has the texts `question` (JSON), `revision` (a number) and `complete` (true or
        false). Raises ModuleNotFoundError if pyarrow is not installed.
        """
        need_extra("arrow", "to_arrow()")
        import pyarrow as pa

        types = {
            "text": pa.string(),
            "number": pa.int64(),
            "time": pa.timestamp("us", "UTC"),
            "flag": pa.bool_(),
            "texts": pa.list_(pa.string()),
            "by_key": pa.map_(pa.string(), pa.string()),
        }
        columns = self.columns()
        metadata = {
            "question": self.question.model_dump_json(),
            "revision": str(self.revision),
            "complete": "true" if self.complete else "false",
        }
        schema = pa.schema([(name, types[column.kind]) for name, column in columns.items()], metadata=metadata)
        arrays = [pa.array(column.values, types[column.kind]) for column in columns.values()]
        return pa.Table.from_arrays(arrays, schema=schema)

    def _repr_html_(self) -> str:
        columns = {name: [*map(_cell, column.values)] for name, column in self.columns().items()}
        return table_html(columns, self.revision, self.complete)


def _cell(value: Any) -> Any:
    """A value as the text of a cell: the items of a list are separated by commas, True and False are words."""
    if isinstance(value, list | tuple):
        return ", ".join(" ".join(part) if isinstance(part, tuple) else part for part in value)
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else value
