"""Lists of answers as tables: columns for pyarrow and for notebooks."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, Self, TypeVar

from pydantic import BaseModel, PrivateAttr

from grantpath.engine.answers.notebook import table_html
from grantpath.graph.extras import require_extra
from grantpath.graph.frozen import Frozen
from grantpath.graph.language.reference import ONE_SEGMENT, parse
from grantpath.graph.messages import cell_text

if TYPE_CHECKING:  # `to_arrow` imports pyarrow when it is called, because the import takes long and needs an extra
    import pyarrow as pa


@dataclass(frozen=True)
class TypedColumn:
    """The values of one column: texts, numbers, times in UTC, truth values (None: unknown), lists of texts, or texts by
    key."""

    kind: Literal["text", "number", "time", "flag", "texts", "by_key"]
    values: Sequence[Any]

    @property
    def cells(self) -> Sequence[Any]:
        """The values, with a map in place of the pairs that Arrow takes for one."""
        return [*map(dict, self.values)] if self.kind == "by_key" else self.values


Entry = TypeVar("Entry")


class Tabular(Frozen, Generic[Entry]):
    """An answer that is a list: one page or the whole list, at one revision. It can be used like the tuple `answer`: it
    iterates the entries, and has a length, indexes and `in`."""

    revision: int  # the revision of the root that was read
    complete: bool  # whether no further page follows
    question: BaseModel
    answer: tuple[Entry, ...]

    def __iter__(self) -> Iterator[Entry]:  # type: ignore[override]
        return iter(self.answer)

    def __len__(self) -> int:
        return len(self.answer)

    def __getitem__(self, at: int) -> Entry:
        return self.answer[at]

    def __contains__(self, entry: object) -> bool:
        return entry in self.answer

    @abstractmethod
    def columns(self) -> Mapping[str, TypedColumn]:
        """The columns of the list, by name."""

    def to_arrow(self) -> "pa.Table":
        """The list as a table of pyarrow.

        The metadata of its schema has the texts `question` (JSON), `revision` (a number) and `complete` (true or
        false), and `ends_due` (true or false) if the list has it. Raises ModuleNotFoundError if pyarrow is not
        installed.
        """
        require_extra("arrow", "to_arrow()")
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
        fields = [(name, types[column.kind]) for name, column in columns.items()]
        schema = pa.schema(fields, metadata=self._metadata())
        arrays = [pa.array(column.values, types[column.kind]) for column in columns.values()]
        return pa.Table.from_arrays(arrays, schema=schema)

    def _metadata(self) -> dict[str, str]:
        found = {"question": self.question.model_dump_json(), "revision": str(self.revision)}
        for flag in ("complete", "ends_due"):
            if flag in type(self).model_fields:
                found[flag] = "true" if getattr(self, flag) else "false"
        return found

    def _repr_html_(self) -> str:
        columns = {name: [*map(cell_text, column.cells)] for name, column in self.columns().items()}
        return table_html(columns, self.revision, self.complete)


class ReferenceTable(Tabular[Entry]):
    """An answer whose entries are references, or are about one each. `in` takes an entry or a reference.

    References are compared, not texts: a page that the authorizer returned knows the policy's types with one segment,
    and one that was read from JSON knows those of `reference`. Raises InvalidReference for a text that is not a
    reference.
    """

    _one_segment: frozenset[str] = PrivateAttr(ONE_SEGMENT)

    @abstractmethod
    def references(self) -> Iterable[str]:
        """The canonical references of the entries."""

    def knowing(self, one_segment: frozenset[str]) -> Self:
        """The same answer, which knows these types with one segment."""
        self._one_segment = one_segment
        return self

    def __contains__(self, entry: object) -> bool:
        if isinstance(entry, str):
            return parse(entry, self._one_segment).text in self.references()
        return super().__contains__(entry)

    def __eq__(self, other: object) -> bool:
        """Answers are equal if their fields are."""
        return isinstance(other, ReferenceTable) and type(other) is type(self) and other.__dict__ == self.__dict__

    __hash__ = Frozen.__hash__  # a class that defines equality would lose it
