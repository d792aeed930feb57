"""`from grantpath import Authorizer`: the public names of grantpath.engine, and the version.

This folder is the package `grantpath` itself; the folders of its subpackages are at the top of the repository. The
names are loaded when the first of them is used, so that `import grantpath` alone loads nothing.
"""

from typing import TYPE_CHECKING, Any

if __name__ != "grantpath":
    raise ImportError("import grantpath, not engine.front")

if TYPE_CHECKING:
    from grantpath.engine.api import *  # noqa: F403

    __version__: str
else:

    def __dir__() -> list[str]:
        from grantpath.engine import api

        return [*api.__all__, "__version__"]

    def __getattr__(name: str) -> Any:
        if name == "__version__":
            from importlib.metadata import version

            return version("grantpath")
        from importlib.util import find_spec

        if find_spec(f"grantpath.{name}"):
            raise AttributeError(f"grantpath.{name} is a package; import it")
        from grantpath.engine import api

        if name not in api.__all__:
            raise AttributeError(f"module 'grantpath' has no attribute {name!r}")
        return getattr(api, name)
