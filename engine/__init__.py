"""Policies, decisions and changes on the stored graph. Start at `Authorizer`.

The names that this package exports are in api.py. It is imported when the first of them is used, because the command
line must be able to report that an import fails (`engine/cli/start.py`).
"""

from typing import TYPE_CHECKING, Any

if __name__ != "grantpath.engine":
    raise ImportError("import grantpath.engine, not engine")

if TYPE_CHECKING:
    from grantpath.engine.api import *  # noqa: F403
else:

    def __dir__() -> list[str]:
        from importlib import import_module

        return [*import_module("grantpath.engine.api").__all__]

    def __getattr__(name: str) -> Any:
        from importlib import import_module
        from importlib.util import find_spec

        # `from grantpath.engine import authorizer` calls this first, and can run while api.py is being imported.
        if find_spec(f"grantpath.engine.{name}"):
            raise AttributeError(f"grantpath.engine.{name} is a module; import it")
        api = import_module("grantpath.engine.api")
        try:
            return getattr(api, name)
        except AttributeError:
            raise AttributeError(f"module 'grantpath.engine' has no attribute {name!r}") from None
