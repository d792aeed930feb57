"""The extras of this package: parts that are installed on request. An error for a missing one names it."""

from importlib.util import find_spec

NEEDED = {
    "cli": ("typer", "rich", "numpy", "pyarrow"),
    "server": ("psutil", "filelock", "jgo", "platformdirs"),
    "arrow": ("pyarrow",),
    "replica": ("numpy", "pyarrow"),
    "spark": ("pyspark", "numpy", "pyarrow", "psutil"),
    "review": ("numpy", "pyarrow", "jinja2"),
    "delta": ("deltalake",),
    "iceberg": ("pyiceberg", "sqlalchemy"),
}


def is_installed(extra: str) -> bool:
    """Are all packages of the extra installed?"""
    return not _missing(extra)


def require_extra(extra: str, what: str, *more: str) -> None:
    """Raises ModuleNotFoundError if a package of the extra is missing; the text says how to install the extra.

    `more`: packages of the extra that only this part of it needs.
    """
    if missing := _missing(extra, *more):
        raise ModuleNotFoundError(
            f"{what} needs the extra `{extra}` ({', '.join(missing)} missing): pip install 'grantpath[{extra}]'",
            name=missing[0],
        )


def _missing(extra: str, *more: str) -> list[str]:
    return [package for package in (*NEEDED[extra], *more) if find_spec(package) is None]
