"""Live names for completion, from a running server. A failure means no names, not an error."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from grantpath.engine.cli.context import CommandContext
    from grantpath.engine.policy.policy import Policy
    from grantpath.graph.guard.store import Store

MOST = 100  # references
TIMEOUT = 0.8


class LiveNames:
    """The names for a command with these options."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = options

    def profiles(self) -> list[str]:
        """The profiles of the configuration file."""
        from grantpath.engine.cli.config_file import DEFAULT, read_config
        from grantpath.engine.cli.settings import config_path

        return [DEFAULT, *sorted(read_config(config_path()).profile)]

    def policies(self) -> list[str]:
        """The built-in policies."""
        from grantpath.engine.policy.schema import BUILT_IN

        return sorted(path.stem for path in BUILT_IN.glob("*.yaml"))

    def roots(self) -> list[str]:
        """The roots that exist."""
        with self._store() as (store, _):
            return _roots(store)

    def types(self) -> list[str]:
        """The types of the root's policy."""
        return self._of_policy(lambda policy: policy.names.types)

    def privileges(self) -> list[str]:
        """The privileges of the root's policy."""
        return self._of_policy(lambda policy: policy.names.privileges)

    def names(self) -> list[str]:
        """The privileges and the operations of the root's policy."""
        return self._of_policy(lambda policy: {*policy.names.privileges, *policy.names.operation_types})

    def second_objects(self, current: str) -> list[str]:
        """The values KEY=REF. Only REF is completed, because the keys depend on the operation."""
        key, equals, ref = current.partition("=")
        return [f"{key}={each}" for each in self.references(ref)] if equals else []

    def references(self, current: str, kind: str = "") -> list[str]:
        """The first existing references that begin with `current`. If it has no colon: the types, each with a colon.

        `kind` is subject or role, or empty.
        """
        if ":" not in current:
            return [f"{type_}:" for type_ in self._of_policy(lambda policy: _types(policy, kind))]
        from grantpath.engine.tenants import registry

        with self._store() as (store, session):
            root = _selected(_roots(store), session.root)
            return registry.with_prefix(store, root, current, MOST) if root else []

    def _of_policy(self, part: Callable[["Policy"], object]) -> list[str]:
        from grantpath.engine.tenants import opening

        with self._store() as (store, session):
            root = _selected(_roots(store), session.root)
            if root is None:
                return []
            _, policy, _ = opening.open_root(store, root, None)
            return sorted(str(name) for name in part(policy))  # type: ignore[attr-defined]

    @contextmanager
    def _store(self) -> Iterator[tuple["Store", "CommandContext"]]:
        """The store of the server that a command with these options would use, if it runs. Raises Unavailable."""
        from grantpath.engine.cli.context import CommandContext
        from grantpath.graph.embedded.connect import running
        from grantpath.graph.guard.store import Store

        shared = {name: self._options.get(name) for name in ("root", "uri", "profile")}
        with CommandContext().but(**shared).running() as session:
            store = Store(running(session.uri), TIMEOUT)
            try:
                yield store, session
            finally:
                store.close()


def _roots(store: "Store") -> list[str]:
    from grantpath.engine.tenants import registry

    return registry.present(registry.names(store))


def _selected(roots: list[str], named: str | None) -> str | None:
    """The root of a command: the named one, by its key or its name alone, or the only one."""
    from grantpath.engine.tenants import registry

    fitting = registry.named_like(roots, named) if named else roots
    return fitting[0] if len(fitting) == 1 else None


def _types(policy: "Policy", kind: str) -> list[str]:
    if kind == "role":
        return policy.role_types
    return policy.names.subject_types if kind else list(policy.names.types)
