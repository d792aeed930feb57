"""Extends one policy file by another, whose entries add to those of the base, replace them, or (null) remove them."""

from collections.abc import Mapping
from typing import Any

from grantpath.engine.policy.yaml_reader import Document, Key
from grantpath.graph.errors import InvalidPolicy

# Sections whose keys can be lists of names (`table, topic`), and the number of levels at which they can.
_GROUPED: dict[Key, int] = {("operations",): 2, ("in_effect",): 1}
_KINDS = ("add", "drop", "member", "remove", "owner", "rename", "move", "grant", "revoke")
_GROUPED.update({("changes", kind): 1 for kind in _KINDS})


def split(key: str) -> list[str]:
    """`a, b` as two names."""
    return [part.strip() for part in key.split(",")]


def merge(base: Document, document: Document) -> None:
    """Puts the base's data, overridden by the document's, into the document. Raises InvalidPolicy if an entry to remove
    does not exist."""
    assert isinstance(base.data, dict) and isinstance(document.data, dict)
    document.base, document.data = base, _merge(base.data, document.data, (), base, document)


def _merge(
    base: Mapping[str, Any], own: Mapping[str, Any], key: Key, parent: Document, document: Document
) -> dict[str, Any]:
    levels = 1 if len(key) == 2 and key[0] == "define" else _GROUPED.get(key, 0)
    if levels:
        # one name per key on both sides, so that each entry finds the one it overrides
        base, own = _ungrouped(base, levels, key, parent), _ungrouped(own, levels, key, document)
    merged = dict(base)
    for name, value in own.items():
        if value is None and (key or name in merged):
            if name not in merged:
                where = f"{document.place((*key, name))}: {'.'.join(map(str, (*key, name)))}"
                raise InvalidPolicy(f"{where}: no such entry to remove; check the name, or remove this line")
            del merged[name]
        elif isinstance(value, dict) and isinstance(merged.get(name), dict) and len(key) < 2:
            merged[name] = _merge(merged[name], value, (*key, name), parent, document)
        else:
            merged[name] = value
            document.own.add((*key, name))
    return merged


def _ungrouped(section: Mapping[str, Any], levels: int, key: Key, document: Document) -> dict[str, Any]:
    """Splits keys such as `a, b`. A key that collides with another is not split, and is reported as a duplicate."""
    single: dict[str, Any] = {}
    for names, value in section.items():
        if levels > 1 and isinstance(value, dict):
            value = _ungrouped(value, levels - 1, (*key, names), document)
        if any(_collide(single.get(name), value) for name in split(names) if name in single):
            single[names] = value
            continue
        for name in split(names):
            single[name] = {**single[name], **value} if name in single else value
            _same_lines(document, (*key, names), (*key, name))
    return single


def _collide(there: Any, value: Any) -> bool:
    return not isinstance(there, dict) or not isinstance(value, dict) or bool(there.keys() & value.keys())


def _same_lines(document: Document, written: Key, single: Key) -> None:
    lines = {key: line for key, line in document.lines.items() if key[: len(written)] == written}
    for key, line in lines.items():
        document.lines.setdefault((*single, *key[len(written) :]), line)
