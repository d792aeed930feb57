"""A console for output that does not go to a terminal."""

from typing import Any

from rich.console import Console


class TrimmedConsole(Console):
    """A console whose lines have no trailing blanks, which a table would leave behind its last column."""

    def print(self, *objects: Any, **options: Any) -> None:
        with self.capture() as printed:
            super().print(*objects, **options)
        self.file.write("".join(f"{line.rstrip()}\n" for line in printed.get().split("\n")[:-1]))
