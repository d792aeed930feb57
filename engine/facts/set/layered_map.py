"""A map in versions: a version shares everything with the one before it, except its latest changes."""

from collections.abc import Callable, Iterator, Mapping
from typing import Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")
MOST = 2_000  # changes that a version keeps beside its base; if there are more, it merges them into a new base


class LayeredMap(Generic[Key, Value]):
    """An immutable map. Threads may read a version while the next one is made."""

    __slots__ = ("_base", "_latest", "get")
    get: Callable[[Key], Value | None]  # the value of a key, or None

    def __init__(self, base: Mapping[Key, Value], latest: Mapping[Key, Value | None] | None = None) -> None:
        """`latest` are the changes of `base`: None removes a key. Neither mapping may be changed afterwards."""
        self._base = base
        self._latest = latest or {}
        self.get = self._layered if latest else base.get  # `base.get` itself is faster; a check looks up many keys

    def _layered(self, key: Key) -> Value | None:
        return self._latest[key] if key in self._latest else self._base.get(key)

    def items(self) -> Iterator[tuple[Key, Value]]:
        """All keys with their values, in no particular order."""
        yield from ((key, value) for key, value in self._base.items() if key not in self._latest)
        yield from ((key, value) for key, value in self._latest.items() if value is not None)

    def changed_since(self, former: "LayeredMap[Key, Value]") -> set[Key] | None:
        """The keys whose values can differ between this and another version; None if this is not known without
        comparing all keys."""
        if self is former:
            return set()
        if self._base is not former._base:
            return None
        mine, theirs = self._latest, former._latest
        return {
            key
            for key in {**mine, **theirs}
            if (mine[key] if key in mine else self._base.get(key))
            is not (theirs[key] if key in theirs else self._base.get(key))
        }

    def changed(self, changes: Mapping[Key, Value | None]) -> "LayeredMap[Key, Value]":
        """The next version. A value of None removes the key."""
        if not changes:
            return self
        latest = {**self._latest, **changes}
        if len(latest) <= MOST:
            return LayeredMap(self._base, latest)
        merged = {**self._base, **latest}
        return LayeredMap({key: value for key, value in merged.items() if value is not None})
