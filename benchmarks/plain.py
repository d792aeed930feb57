"""Answers the questions of the benchmarks by plain loops over the files of an estate: the reference for all answers."""

from collections import defaultdict
from pathlib import Path

from questions import Question, column


class PlainEstate:
    """The rules for loading, altering, dropping and creating tables as loops. They are the same in gravitino and
    lakehouse."""

    def __init__(self, directory: Path) -> None:
        self._above: dict[str, list[str]] = defaultdict(list)
        for member, of in self._rows(directory, "members", "member", "of"):
            self._above[member].append(of)
        owned, owners = (column(directory, "owners", name).to_pylist() for name in ("object", "owner"))
        self._owner = dict(zip(owned, owners, strict=True))
        self._grants: set[tuple[str, ...]] = set(
            self._rows(directory, "grants", "effect", "privilege", "object", "subject")
        )
        placed = {*self._owner, *(ref for _, _, ref, _ in self._grants)}
        (self._root,) = {ref for ref in placed if ref.startswith("metalake:")} or {"metalake:none"}

    @staticmethod
    def _rows(directory: Path, table: str, *names: str) -> "zip[tuple[str, ...]]":
        return zip(*(column(directory, table, name).to_pylist() for name in names), strict=True)

    def check(self, question: Question) -> bool:
        """Whether this subject is allowed this operation on this object."""
        subject, operation, ref = question
        principals, path = self._principals(subject), self._path(ref)
        catalog, schema = path[:2], path[:3]

        def owns(places: list[str]) -> bool:
            return any(self._owner.get(place) in principals for place in places)

        def has(privilege: str, places: list[str]) -> bool:
            effects = {
                effect
                for effect in ("allow", "deny")
                for place in places
                for principal in principals
                if (effect, privilege, place, principal) in self._grants
            }
            return effects == {"allow"}

        inside = (has("USE_CATALOG", catalog) or owns(catalog)) and (has("USE_SCHEMA", schema) or owns(schema))
        asked = {
            "load_table": has("SELECT_TABLE", path) or has("MODIFY_TABLE", path),
            "alter_table": has("MODIFY_TABLE", path),
            "create_table": has("CREATE_TABLE", path),
            "drop_table": False,
        }
        return inside and (asked[operation] or owns(path))

    def _principals(self, subject: str) -> set[str]:
        found, waiting = {subject}, [subject]
        while waiting:
            new = set(self._above[waiting.pop()]) - found
            found |= new
            waiting += new
        return found

    def _path(self, ref: str) -> list[str]:
        """The places from the root down to the object, itself included."""
        names = ref.partition(":")[2].split(".")
        types = ("catalog", "schema", "table")
        return [self._root, *(f"{types[at]}:{'.'.join(names[: at + 1])}" for at in range(len(names)))]
