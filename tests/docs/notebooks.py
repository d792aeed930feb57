"""Executes the notebooks of docs/notebooks. Run it as a module to store their output in them.

A notebook opens the server that NEO4J_URI and the other variables name, or starts one.
"""

import re
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parents[2] / "docs" / "notebooks").glob("*.ipynb"))
SECONDS = 300  # for one cell
# What differs from run to run: ids, hashes and times.
VOLATILE = re.compile(
    r"[0-9a-f]{64}|[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    r"|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[.\d]*|datetime\.datetime\([^)]*\)"
)


def executed(path: Path, folder: Path) -> nbformat.NotebookNode:
    """The notebook with its output, executed in a folder. Raises CellExecutionError."""
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(
        notebook,
        timeout=SECONDS,
        kernel_name="python3",
        record_timing=False,
        resources={"metadata": {"path": str(folder)}},
    ).execute()
    for cell in notebook.cells:
        if cell.cell_type == "code":
            # Warnings of libraries name folders of the machine.
            cell.outputs = [each for each in cell.outputs if each.get("name") != "stderr"]
    return notebook


def outputs(notebook: nbformat.NotebookNode) -> list[list[str]]:
    """The texts that each cell printed or returned, without what differs from run to run."""
    return [
        [VOLATILE.sub("...", text) for output in cell.outputs for text in _texts(output)]
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def _texts(output: nbformat.NotebookNode) -> list[str]:
    return [output.text] if output.output_type == "stream" else [str(text) for _, text in sorted(output.data.items())]


if __name__ == "__main__":
    for book in NOTEBOOKS:
        with TemporaryDirectory() as place:
            nbformat.write(executed(book, Path(place)), book)
        print(book)
