"""Reads YAML files as plain data that remembers its lines, so that an error can name file, line and key.

YAML 1.2 core rules (`on`, `yes` and `no` are text), no anchors or aliases, no tags, no key twice.
"""

import re
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path

import yaml

from grantpath.graph.errors import InvalidInput
from grantpath.graph.messages import short

MAX_BYTES = 10_000_000
MAX_DEPTH = 40
MAX_VALUES = 200_000  # keys, values and documents of a file: some seconds of reading
MAX_DIGITS = 300

_INT = re.compile(r"[-+]?[0-9]+\Z")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z")
_WORDS: dict[str, object] = {"true": True, "false": False, "null": None, "~": None, "": None}

Key = tuple[str | int, ...]


@dataclass
class Document:
    """One YAML document: its `data` and where each key stands (`lines`: path of keys to line, from 1)."""

    data: object
    file: str
    lines: dict[Key, int] = field(default_factory=dict)

    def line(self, key: Key) -> int:
        """The line of `key`, or of the nearest key above it."""
        while key and key not in self.lines:
            key = key[:-1]
        return self.lines.get(key, 1)


def read_documents(path: Path) -> list[Document]:
    """The YAML documents of a file. Raises InvalidInput naming file, line and what is wrong."""
    return parse_documents(read_text(path), str(path))


def read_text(path: Path) -> str:
    """The text of a plain file of at most MAX_BYTES. Raises InvalidInput naming the file."""
    try:
        if not path.is_dir() and path.exists() and not path.is_file():
            raise InvalidInput(f"{path}: no plain file (a device, or a pipe); name a file")
        if path.stat().st_size > MAX_BYTES:
            raise InvalidInput(f"{path}: larger than {MAX_BYTES:,} bytes; split it")
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path}: not UTF-8 text (byte {error.start}); save it as UTF-8") from None
    except OSError as error:
        raise InvalidInput(
            f"{short(str(path))}: cannot be read ({error.strerror}); check the path and its rights"
        ) from None
    except ValueError:
        raise InvalidInput(f"{short(str(path))}: no file has such a name; check the path") from None


def parse_documents(text: str, file: str) -> list[Document]:
    """The YAML documents in `text`; `file` is how errors call it. Raises InvalidInput."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        text.encode()
        _refuse_what_grows(text, file, loader)
        return [_document(node, file) for node in yaml.compose_all(text, Loader=loader) if node is not None]
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{file}:{mark.line + 1}" if mark else file
        problem = str(error.problem or error.context)
        if mark and any("\t" in line[: mark.column + 1] for line in text.split("\n")[mark.line : mark.line + 1]):
            problem = "a tab where only spaces may be; indent with spaces"
        raise InvalidInput(f"{where}: not YAML: {problem}") from None
    except yaml.YAMLError as error:
        raise InvalidInput(f"{file}: not YAML: {error}") from None
    except UnicodeEncodeError:
        raise InvalidInput(f"{file}: it contains an unpaired surrogate; write whole characters") from None
    except RecursionError:
        raise InvalidInput(f"{file}: nested deeper than {MAX_DEPTH} levels; flatten it") from None


def _refuse_what_grows(text: str, file: str, loader: type) -> None:
    """Aliases make small files expand without bound, tags make objects; nothing here needs either. Raises
    InvalidInput for them, and for more values or levels than a file may have."""
    depth = values = 0
    for event in yaml.parse(text, Loader=loader):
        line = event.start_mark.line + 1 if event.start_mark else 1
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise InvalidInput(f"{file}:{line}: anchors and aliases are not accepted; write it out")
        if getattr(event, "tag", None):
            raise InvalidInput(f"{file}:{line}: tags are not accepted; remove it")
        values += isinstance(event, yaml.NodeEvent | yaml.DocumentStartEvent)
        if values > MAX_VALUES:
            raise InvalidInput(f"{file}:{line}: more than {MAX_VALUES:,} keys and values; split it")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise InvalidInput(f"{file}:{line}: nested deeper than {MAX_DEPTH} levels; flatten it")


def _document(node: yaml.Node, file: str) -> Document:
    document = Document(None, file)
    document.data = _value(node, (), document)
    return document


def _value(node: yaml.Node, key: Key, document: Document) -> object:
    document.lines.setdefault(key, node.start_mark.line + 1)
    if isinstance(node, yaml.MappingNode):
        return _mapping(node, key, document)
    if isinstance(node, yaml.SequenceNode):
        return [_value(child, (*key, at), document) for at, child in enumerate(node.value)]
    return _scalar(node, document)


def _mapping(node: yaml.MappingNode, key: Key, document: Document) -> dict[str, object]:
    data: dict[str, object] = {}
    for key_node, value_node in node.value:
        line = key_node.start_mark.line + 1
        if not isinstance(key_node, yaml.ScalarNode):
            raise InvalidInput(f"{document.file}:{line}: a key must be text")
        name = str(key_node.value)
        if name in data:
            raise InvalidInput(f"{document.file}:{line}: duplicate key {name!r}; keep one")
        document.lines[(*key, name)] = line
        data[name] = _value(value_node, (*key, name), document)
    return data


def _scalar(node: yaml.Node, document: Document) -> object:
    text = str(node.value)
    if not isinstance(node, yaml.ScalarNode) or node.style:
        return text
    if text.lower() in _WORDS and text in (text.lower(), text.capitalize(), text.upper()):
        return _WORDS[text.lower()]
    if not _FLOAT.match(text):
        return text
    number = float(text)
    if len(text) > MAX_DIGITS or not isfinite(number):
        line = node.start_mark.line + 1
        raise InvalidInput(
            f"{document.file}:{line}: {short(text)} is too large a number; put it in quotes if it is text"
        )
    return int(text) if _INT.match(text) else number
