"""Untrusted Parquet files: small files that would need much memory, wrong columns, long texts."""

import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq
import pytest

from grantpath.graph.errors import InvalidInput
from grantpath.graph.files import bounded_parquet
from grantpath.graph.files.bounded_parquet import Kind, codes, read_bounded, row_count, stream_bounded

KINDS: dict[str, Kind] = {"ref": "text", "n": "int"}


def read_stream(files: Sequence[Path], kinds: Mapping[str, Kind]) -> pa.Table:
    """The whole stream as one table."""
    stream = stream_bounded(files, kinds)
    found = pa.Table.from_batches([batch for table in stream.tables for batch in table.to_batches()], stream.schema)
    assert len(found) == stream.rows
    return found


Reader = Callable[[Sequence[Path], Mapping[str, Kind]], pa.Table]
READERS = pytest.mark.parametrize("reader", [read_bounded, read_stream])


def write(file: Path, ref: Any, n: Any = None, **options: Any) -> Path:
    columns = {"ref": ref} if n is None else {"ref": ref, "n": n}
    pq.write_table(pa.table(columns), file, **options)
    return file


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
@pytest.mark.parametrize("stored", [True, False])
def test_repeated_texts_are_read_once(kind: pa.DataType, stored: bool, tmp_path: Path) -> None:
    one = write(tmp_path / "a.parquet", pa.array(["x", "y", "x"]).cast(kind), [1, 2, 3], store_schema=stored)
    two = write(tmp_path / "b.parquet", pa.array(["z", "x"]).cast(kind), [4, 5], store_schema=stored)
    table = read_bounded([one, two], KINDS)
    number, texts = codes(table["ref"])
    assert texts.take(number).to_pylist() == ["x", "y", "x", "z", "x"]
    assert sorted(texts.to_pylist()) == ["x", "y", "z"]
    few = read_bounded([one, two], KINDS, ["n"], pads.field("ref") == "x")
    assert few.to_pydict() == {"n": [1, 3, 5]}


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
@pytest.mark.parametrize("stored", [True, False])
def test_stream_has_plain_texts_in_the_order_of_the_files(
    kind: pa.DataType, stored: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounded_parquet, "STREAM_ROWS", 2)
    numbers = pa.array([1, 2, 3], pa.int32())
    one = write(tmp_path / "a.parquet", pa.array(["x", "y", "x"]).cast(kind), numbers, store_schema=stored)
    two = write(tmp_path / "b.parquet", pa.array(["z", "x"]).cast(kind), numbers[:2], store_schema=stored)
    stream = stream_bounded([two, one], KINDS)
    assert (stream.rows, stream.schema) == (5, pa.schema([("ref", pa.string()), ("n", pa.int32())]))
    tables = list(stream.tables)
    assert [table.to_pydict() for table in tables] == [
        {"ref": ["z", "x"], "n": [1, 2]},
        {"ref": ["x", "y"], "n": [1, 2]},
        {"ref": ["x"], "n": [3]},
    ]
    assert {table.schema for table in tables} == {stream.schema}


def test_stream_of_long_texts_has_few_rows_at_a_time(tmp_path: Path) -> None:
    file = write(tmp_path / "a.parquet", ["x" * 4_000] * 40_000, list(range(40_000)))
    sizes = [table.nbytes for table in stream_bounded([file], KINDS).tables]
    assert len(sizes) == 3 and max(sizes) < 1.01 * bounded_parquet.STREAM_BYTES


def test_column_without_values_is_read(tmp_path: Path) -> None:
    file = write(tmp_path / "a.parquet", pa.nulls(3), [1, 2, 3])
    number, texts = codes(read_bounded([file], KINDS)["ref"])
    assert number.to_pylist() == [None] * 3 and len(texts) == 0
    empty = write(tmp_path / "b.parquet", pa.array([], pa.string()), pa.array([], pa.int64()))
    assert [len(each) for each in codes(read_bounded([empty], KINDS)["ref"])] == [0, 0]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"ref": ["a"]}, "'n' is missing"),
        ({"ref": ["a"], "n": [1], "m": [1]}, "'m' is unknown; the columns are ref, n"),
        ({"ref": [["a"]], "n": [1]}, "'ref' has the type list<.*; write it as strings"),
        ({"ref": [b"a"], "n": [1]}, "'ref' has the type binary; write it as strings"),
        ({"ref": ["a"], "n": ["1"]}, "'n' has the type string; write it as integers"),
        ({"ref": ["a" * 5_000], "n": [1]}, r"a value of 5,000 bytes; at most 4,000"),
    ],
)
@READERS
def test_other_columns_and_long_texts_are_refused(
    reader: Reader, columns: dict[str, Any], message: str, tmp_path: Path
) -> None:
    file = tmp_path / "odd.parquet"
    pq.write_table(pa.table(columns), file)
    with pytest.raises(InvalidInput, match=rf"odd\.parquet: .*{message}"):
        reader([file], KINDS)


STRINGS = [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.large_string())]
ENCODINGS = ["PLAIN", "RLE_DICTIONARY", "DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"]


@pytest.mark.parametrize("encoding", ENCODINGS)
@READERS
def test_encodings_types_and_codecs_of_other_writers_are_read(reader: Reader, encoding: str, tmp_path: Path) -> None:
    """Version 2 of Parquet, as Spark and warehouses write it, in each string type of Arrow."""
    texts = ["a", "ab", "", "é", "ab"] * 200
    dictionary = encoding == "RLE_DICTIONARY"
    options = {} if dictionary else {"column_encoding": {"ref": encoding, "n": "DELTA_BINARY_PACKED"}}
    files = [
        write(
            tmp_path / f"{at}.parquet",
            pa.array(texts).cast(kind),
            pa.array(range(1_000), pa.int32()),
            use_dictionary=dictionary,
            compression=("snappy", "gzip", "zstd", "lz4")[at],
            data_page_version="2.0",
            row_group_size=300,
            **options,
        )
        for at, kind in enumerate(STRINGS[:3] if encoding.startswith("DELTA") else STRINGS)
    ]
    table = reader(files, KINDS)
    number, found = codes(table["ref"])
    assert found.take(number).to_pylist() == texts * len(files)
    assert table["n"].to_pylist() == [*range(1_000)] * len(files)
    assert read_bounded(files[:2], KINDS, ["n"], pads.field("ref") == "é")["n"].to_pylist()[:2] == [3, 8]


@READERS
def test_text_that_is_not_utf8_is_named_by_its_row(reader: Reader, tmp_path: Path) -> None:
    raw = pa.array([b"a", b"b", b"\xff\xfe", b"c"])
    texts = pa.Array.from_buffers(pa.string(), 4, raw.buffers())
    for encoding in ENCODINGS:
        options = (
            {} if encoding == "RLE_DICTIONARY" else {"use_dictionary": False, "column_encoding": {"ref": encoding}}
        )
        file = write(tmp_path / "odd.parquet", texts, **options)
        with pytest.raises(InvalidInput, match=r"odd\.parquet: row 3: the column 'ref' is not UTF-8"):
            reader([file], {"ref": "text"})


@READERS
def test_named_pipe_in_place_of_a_file_is_refused_at_once(reader: Reader, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.parquet")
    for read in (reader, lambda files, _: row_count(files)):
        with pytest.raises(InvalidInput, match=r"pipe\.parquet must be a regular file"):
            read([tmp_path / "pipe.parquet"], KINDS)


@READERS
def test_file_that_is_not_parquet_is_refused(reader: Reader, tmp_path: Path) -> None:
    file = tmp_path / "odd.parquet"
    for content in (b"", b"PAR1", b"PAR1" * 20, os.urandom(500)):
        file.write_bytes(content)
        with pytest.raises(InvalidInput, match=r"odd\.parquet cannot be read as Parquet"):
            reader([file], KINDS)


# ---- damaged files ---------------------------------------------------------------------------------------------------
REREAD = """
import sys
from pathlib import Path
from grantpath.graph.files.bounded_parquet import read_bounded, row_count, stream_bounded
from grantpath.graph.errors import InvalidInput
files, kinds = [Path(file) for file in sys.argv[1:]], {"ref": "text", "n": "int"}
for read in (lambda: read_bounded(files, kinds), lambda: [*stream_bounded(files, kinds).tables]):
    try:
        read()
    except InvalidInput as error:
        print(error)
"""


def test_entry_of_the_footer_that_contradicts_the_schema_does_not_end_the_process(tmp_path: Path) -> None:
    """The schema says that `ref` is required. The statistics of a column that is optional contradict this."""
    whole = write(tmp_path / "whole.parquet", ["a", "b"], [1, 2])
    optional, required = b"\x25\x02\x18\x03ref", b"\x25\x00\x18\x03ref"
    assert whole.read_bytes().count(optional) == 1
    odd = tmp_path / "odd.parquet"
    odd.write_bytes(whole.read_bytes().replace(optional, required))
    run = subprocess.run([sys.executable, "-c", REREAD, str(whole), str(odd)], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    found = run.stdout.splitlines()
    assert len(found) == 2 and all(line.startswith(f"{odd} cannot be read as Parquet: ") for line in found), found
    assert all(line.endswith("; write the file again") for line in found)


def damaged_footers(file: Path) -> dict[str, bytes]:
    """The file with one number of its footer changed, by the name of the number. The footer of this file contains the
    number 77 as its rows, and as the rows and values of its only row group."""
    whole = file.read_bytes()
    begin = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    rows = b"\x16" + bytes([154, 1])  # a field of 64 bits, with twice 77
    places = [at for at in range(begin, len(whole)) if whole[at : at + 3] == rows]
    first, last = places[0], places[-1]
    return {
        "rows of the file": whole[: first + 1] + bytes([156, 1]) + whole[first + 3 :],
        "rows of the row group": whole[: last + 1] + bytes([156, 1]) + whole[last + 3 :],
        "both": b"".join(
            (whole[: first + 1], bytes([156, 1]), whole[first + 3 : last + 1], bytes([156, 1]), whole[last + 3 :])
        ),
        "negative": whole[: last + 1] + bytes([153, 1]) + whole[last + 3 :],
        "length": whole[:-8] + (2**31).to_bytes(4, "little") + whole[-4:],
    }


@READERS
def test_numbers_of_the_footer_are_checked(reader: Reader, tmp_path: Path) -> None:
    file = write(tmp_path / "odd.parquet", ["a"] * 77, list(range(77)))
    for name, content in damaged_footers(file).items():
        file.write_bytes(content)
        with pytest.raises(InvalidInput, match=r"odd\.parquet .*; write the file again"):
            reader([file], KINDS)
            pytest.fail(name)


COMPRESSED = ["none", "snappy", "zstd", "gzip", "lz4", "brotli"]


def kinds_of_files() -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Columns, and the options with which they are written."""
    rows = 200
    texts = pa.array([f"user:{'é' * (at % 4)}{at % 37}" for at in range(rows)])
    flat = {"ref": texts, "n": pa.array(range(rows), pa.int32())}
    for version, encoding, (at, codec) in product(("1.0", "2.0"), ENCODINGS, enumerate(COMPRESSED)):
        chosen = {"use_dictionary": False, "column_encoding": {"ref": encoding, "n": "DELTA_BINARY_PACKED"}}
        yield (
            flat,
            {
                "data_page_version": version,
                "compression": codec,
                "row_group_size": (60, rows)[at % 2],
                "write_page_index": at == 2,
                "write_page_checksum": at == 3,
                "store_schema": at != 4,
                **({} if encoding == "RLE_DICTIONARY" else chosen),
            },
        )
    for version in ("1.0", "2.0"):
        yield {name: column[:0] for name, column in flat.items()}, {"data_page_version": version}
    yield {"ref": pa.nulls(5), "n": pa.array([1, None, 2, 3, None])}, {}
    yield {"ref": pa.array([["a"], [], None, ["b"]]), "n": pa.array([{"x": 1, "y": [1]}] * 4)}, {}
    yield {"ref": pa.array([[("k", 1)]] * 4, pa.map_(pa.string(), pa.int32())), "n": pa.array([0.5] * 4)}, {}
    yield {"ref": texts.cast(pa.large_string()).dictionary_encode(), "n": flat["n"]}, {}


def damaged(whole: bytes, chosen: random.Random) -> bytes:
    """The file with a few bytes replaced, removed or inserted, more often in its footer."""
    found, footer = whole, int.from_bytes(whole[-8:-4], "little") + 8
    for _ in range(chosen.choice([1, 1, 2, 4])):
        at = chosen.randrange(max(0, len(found) - footer) if chosen.random() < 0.6 else 0, len(found))
        end = at + chosen.choice([0, 1, 2, 8])
        flipped = bytes([found[at] ^ (1 << chosen.randrange(8))])
        telling = bytes([chosen.choice([0, 1, 0x0C, 0x15, 0x19, 0x1C, 0x7F, 0x80, 0xFF])])
        changes = (chosen.randbytes(end - at), b"", chosen.randbytes(chosen.choice([1, 2, 8])))
        found = chosen.choice(
            [*(found[:at] + change + found[end:] for change in changes)]
            + [found[:at] + change + found[at + 1 :] for change in (flipped, telling)]
        )
    return found


def test_damaged_files_of_every_kind_are_read_or_refused(tmp_path: Path) -> None:
    chosen = random.Random(7)
    files = [
        write(tmp_path / f"{at}.parquet", **columns, **options)
        for at, (columns, options) in enumerate(kinds_of_files())
    ]
    refused = 0
    file = tmp_path / "odd.parquet"
    many = int(os.environ.get("CORRUPTED", "600"))
    for at in range(many):
        file.write_bytes(damaged(files[at % len(files)].read_bytes(), chosen))
        for read in (read_bounded, read_stream, lambda files, _: row_count(files)):
            try:
                read([file], KINDS)
            except InvalidInput as error:
                assert str(error).startswith(str(file)), error
                refused += 1
    assert refused > many
    print(f"{many} damaged files: {refused} of {3 * many} calls refused them")


@READERS
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_a_bit_that_changed_in_a_page_with_a_checksum_is_noticed(reader: Reader, version: str, tmp_path: Path) -> None:
    columns: dict[str, Any] = {"ref": [f"user:{at}" for at in range(40)], "n": list(range(40))}
    options = {"write_page_checksum": True, "data_page_version": version, "compression": "none"}
    file = write(tmp_path / "odd.parquet", **columns, **options)
    whole, refused = file.read_bytes(), 0
    pages = range(4, len(whole) - 8 - int.from_bytes(whole[-8:-4], "little"))
    for at in pages:
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        try:
            assert reader([file], KINDS).to_pydict() == columns
        except InvalidInput:
            refused += 1
    assert refused > len(pages) / 2


# ---- small files that need much memory -------------------------------------------------------------------------------
def long_text(file: Path) -> None:
    """One text of 50 MB in 2,000 rows: 100 GB as plain texts."""
    text = pa.array(["x" * 50_000_000])
    column = pa.DictionaryArray.from_arrays(pa.array([0] * 2_000, pa.int32()), text)
    write(file, column, [1] * 2_000, compression="zstd", write_statistics=False)


def many_rows(file: Path) -> None:
    """30 million rows of one text and one number: 360 MB of numbers."""
    number = pa.array(np.zeros(1_000_000, np.int32))
    rows = pa.table({"ref": pa.DictionaryArray.from_arrays(number, pa.array(["a"])), "n": number})
    with pq.ParquetWriter(file, rows.schema, compression="zstd") as writer:
        for _ in range(30):
            writer.write_table(rows)


def many_texts(file: Path) -> None:
    """400 row groups, each with a different text of 1 MB."""
    with pq.ParquetWriter(file, pa.schema({"ref": pa.string(), "n": pa.int64()}), compression="zstd") as writer:
        for at in range(400):
            writer.write_table(pa.table({"ref": [chr(65 + at % 26) * 1_000_000], "n": [at]}))


def delta_texts(file: Path) -> None:
    """A text of 9 MB in 500 rows, each stored as its difference to the one before it: 4.5 GB."""
    text = pa.array(["x" * 9_000_000])
    schema = pa.schema({"ref": pa.string(), "n": pa.int64()})
    options: dict[str, Any] = {"use_dictionary": False, "column_encoding": {"ref": "DELTA_BYTE_ARRAY", "n": "PLAIN"}}
    with pq.ParquetWriter(file, schema, compression="zstd", write_statistics=False, **options) as writer:
        for _ in range(5):
            writer.write_table(pa.table({"ref": pa.concat_arrays([text] * 100), "n": [1] * 100}))


PEAK = """
import resource, sys
from pathlib import Path
from grantpath.graph.files.bounded_parquet import read_bounded, stream_bounded
from grantpath.graph.errors import InvalidInput
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    given = [Path(sys.argv[1])], {"ref": "text", "n": "int"}
    if sys.argv[2] == "read_bounded":
        read_bounded(*given)
    else:
        print(sum(len(table) for table in stream_bounded(*given).tables), "rows", file=sys.stderr)
except InvalidInput as error:
    print(error, file=sys.stderr)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (long_text, "a value of 50,000,000 bytes"),
        (many_rows, "would take"),
        (many_texts, "would take"),
        (delta_texts, "a value of 9,000,000 bytes"),
    ],
)
@READERS
def test_small_file_needs_little_memory(reader: Reader, make: Any, message: str, tmp_path: Path) -> None:
    file = tmp_path / "bomb.parquet"
    make(file)
    assert file.stat().st_size < 1_000_000
    words = [sys.executable, "-c", PEAK, str(file), reader.__name__]
    run = subprocess.run(words, capture_output=True, text=True, check=True)
    assert "bomb.parquet: " in run.stderr and message in run.stderr
    assert int(run.stdout) < 300, f"{run.stdout} MB for a file of {file.stat().st_size:,} bytes"
    print(f"{make.__name__}: a file of {file.stat().st_size:,} bytes took {run.stdout.strip()} MB")
