"""The start of the command `grantpath`: imports the rest, so that a failed import does not look like "not allowed".

Python exits with 1 if an import fails, but exit code 1 means "not allowed" or "refused". So neither this module nor
`engine/__init__.py` imports anything that could be missing or broken.
"""

import contextlib
import os
import sys

FAILED, INTERRUPTED = 2, 130
COMPLETION = "_GRANTPATH_COMPLETE"
HELP = {"--help", "-h", "--version", "--show-completion", "--install-completion"}


def main() -> int:
    """Runs the command line. Returns its exit code, or 2 if it cannot be imported."""
    try:
        if COMPLETION in os.environ:
            from grantpath.engine.cli.completion.completion import main as complete

            return complete(sys.argv[1:])
        from grantpath.engine.cli.main import main as run

        if HELP.isdisjoint(sys.argv):  # help imports only the commands' own modules, which is fast
            import grantpath.engine.api  # noqa: F401
    except KeyboardInterrupt:
        return INTERRUPTED
    except ModuleNotFoundError as error:
        return _missing(error)
    except BaseException as error:
        return _broken(error)
    return run()


def _missing(error: ModuleNotFoundError) -> int:
    if (error.name or "").partition(".")[0] in ("", "grantpath"):
        return _broken(error)
    return _report(
        f"the command needs the extra `cli` (the package {error.name} is missing): pip install 'grantpath[cli]'"
    )


def _broken(error: BaseException) -> int:
    what = " ".join(f"{type(error).__name__}: {error}".split())
    return _report(f"grantpath cannot start ({what}); install it again")


def _report(text: str) -> int:
    with contextlib.suppress(OSError, ValueError, AttributeError):  # standard error may be closed
        sys.stderr.write(f"error: {text}\n")
        sys.stderr.flush()
    return FAILED


if __name__ == "__main__":
    sys.exit(main())
