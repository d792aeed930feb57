"""Reads YAML files as plain data and records the line of each key, so that an error can name file, line and key.

The files follow the YAML 1.2 core schema (`on`, `yes` and `no` are strings), without anchors, aliases, tags and
duplicate keys.
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
MAX_VALUES = 200_000  # keys, values and documents of a file; reading that many takes some seconds
MAX_DIGITS = 300

REMEDIES = {  # by words of libyaml's messages, which do not say what to write instead
    "mapping values are not allowed": "put a text that contains `: ` in quotes, and indent the keys of a mapping alike",
    "cannot start any token": "put a text that begins with this character in quotes",
    "expected ',' or": "close the bracket, or put the text in quotes",
    "unexpected end of stream": "close the quotes or the bracket",
    "unexpected ':'": "write a value after the colon, or put the text in quotes",
    "could not find expected ':'": "write `key: value`, and indent a text of several lines",
    "expected <block end>": "indent the lines of a list or a mapping alike",
    "expected key": "indent the keys of a mapping alike",
}

_INT = re.compile(r"[-+]?[0-9]+\Z")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z")
_WORDS: dict[str, object] = {"true": True, "false": False, "null": None, "~": None, "": None}

Key = tuple[str | int, ...]


@dataclass
class Document:
    """One YAML document: its `data`, and the line of each key (`lines`: path of keys to line number, from 1). `base`:
    the document whose data were merged into these. `own`: the keys of the entries that are not of the base."""

    data: object
    file: str
    lines: dict[Key, int] = field(default_factory=dict)
    base: "Document | None" = None
    own: set[Key] = field(default_factory=set)

    def line(self, key: Key) -> int:
        """The line of `key`, or of the nearest key above it."""
        while key and key not in self.lines:
            key = key[:-1]
        return self.lines.get(key, 1)

    def place(self, key: Key) -> str:
        """FILE:LINE of `key`, in the document that it is from, or of the nearest key above it."""
        for length in range(len(key), 0, -1):
            part, document = key[:length], self
            while document.base is not None and not document._has(part):
                document = document.base
            if line := document.lines.get(part):
                return f"{document.file}:{line}"
        return f"{self.file}:1"

    def _has(self, key: Key) -> bool:
        """Whether an entry is in this document, and not only in its base."""
        return key in self.lines or any(key[:length] in self.own for length in range(1, len(key)))


def read_documents(path: Path) -> list[Document]:
    """The YAML documents of a file. Raises InvalidInput with file, line and problem."""
    return parse_documents(read_text(path), str(path))


def read_text(path: Path) -> str:
    """The text of a regular file of at most MAX_BYTES. Raises InvalidInput with the file's name."""
    try:
        if not path.is_dir() and path.exists() and not path.is_file():
            raise InvalidInput(f"{path}: not a regular file; name one that is not a device or a pipe")
        if path.stat().st_size > MAX_BYTES:
            raise InvalidInput(f"{path}: larger than {MAX_BYTES:,} bytes; split it")
        return path.read_bytes().decode()  # as it is: a name can contain a carriage return
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path}: not UTF-8 text (byte {error.start}); save it as UTF-8") from None
    except OSError as error:
        raise InvalidInput(
            f"{short(str(path))}: cannot be read ({error.strerror}); check the path and its permissions"
        ) from None
    except ValueError:
        raise InvalidInput(f"{short(str(path))}: not a valid file name; check the path") from None


def parse_documents(text: str, file: str) -> list[Document]:
    """The YAML documents in `text`; errors call it `file`. Raises InvalidInput."""
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
            problem = "tabs are not allowed in indentation; indent with spaces"
        raise InvalidInput(f"{where}: not YAML: {problem}{_remedy(problem)}") from None
    except yaml.YAMLError as error:
        raise InvalidInput(f"{file}: not YAML: {error}") from None
    except UnicodeEncodeError:
        raise InvalidInput(f"{file}: it contains an unpaired surrogate; write whole characters") from None
    except RecursionError:
        raise InvalidInput(f"{file}: nested deeper than {MAX_DEPTH} levels; flatten it") from None


def _remedy(problem: str) -> str:
    return next((f"; {remedy}" for words, remedy in REMEDIES.items() if words in problem), "")


def _refuse_what_grows(text: str, file: str, loader: type) -> None:
    """Raises InvalidInput for anchors, aliases and tags, and for files with too many values or levels.

    Aliases let small files expand without bound, and tags create Python objects.
    """
    depth = values = 0
    for event in yaml.parse(text, Loader=loader):
        line = event.start_mark.line + 1 if event.start_mark else 1
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise InvalidInput(f"{file}:{line}: anchors and aliases are not allowed; write the value out")
        if getattr(event, "tag", None):
            raise InvalidInput(f"{file}:{line}: tags are not allowed; remove the tag")
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
            raise InvalidInput(f"{document.file}:{line}: a key must be a string, not a list or a mapping")
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
            f"{document.file}:{line}: the number {short(text)} is too large; if it is text, put it in quotes"
        )
    return int(text) if _INT.match(text) else number
