"""A console for output that does not go to a terminal."""

from typing import Any

from rich.console import Console


class TrimmedConsole(Console):
    """A console that removes trailing blanks, which tables have after their last column."""

    def print(self, *objects: Any, **options: Any) -> None:
        with self.capture() as printed:
            super().print(*objects, **options)
        self.file.write("".join(f"{line.rstrip()}\n" for line in printed.get().split("\n")[:-1]))
