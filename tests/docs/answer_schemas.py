"""Generates the JSON schemas of the answers in docs/reference/schemas. Run it as a module to update them."""

import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from grantpath import engine
from grantpath.engine import api
from grantpath.graph.errors import CODES

FOLDER = Path(__file__).parents[2] / "docs" / "reference" / "schemas"
PARTS = {  # exported types that are parts of answers
    "Ability",
    "AccessEffect",
    "AccessShare",
    "EdgeCounts",
    "Ending",
    "Grant",
    "GraphPath",
    "Membership",
    "PathEdge",
    "PathNode",
}
QUESTIONS = {"Check", "Who", "Which"}
MODELS: list[type[BaseModel]] = [
    kind
    for kind in (getattr(engine, name) for name in api.__all__)
    if isinstance(kind, type) and issubclass(kind, BaseModel) and kind.__name__ not in PARTS | QUESTIONS
]
ERROR: dict[str, Any] = {
    "title": "GrantpathError",
    "description": "The JSON form of an error.",
    "type": "object",
    "properties": {
        "error": {"description": "The text for operators.", "type": "string"},
        "code": {"description": "A stable word for the error.", "enum": [*CODES]},
        "public": {"description": "The text for end users.", "type": "string"},
        "retryable": {"description": "Whether the same call, unchanged, may succeed later.", "type": "boolean"},
        "index": {
            "description": "The position in the batch that the error is about, counted from 0.",
            "anyOf": [{"type": "integer"}, {"type": "null"}],
        },
        "question": {
            "description": "The method that failed (`verb`) and its arguments; for a batch, only the item that failed.",
            "anyOf": [{"type": "object", "required": ["verb"]}, {"type": "null"}],
        },
    },
    "required": ["error", "code", "public", "retryable", "index", "question"],
    "additionalProperties": False,
}


def schemas() -> dict[str, dict[str, Any]]:
    """The JSON schemas of the answers and of errors, by the name of the class."""
    found = {model.__name__: model.model_json_schema(mode="serialization") for model in MODELS}
    return {**found, "GrantpathError": ERROR}


def write_schemas(folder: Path) -> None:
    """Writes each schema into a file of the folder, e.g. Decision.json."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, schema in schemas().items():
        (folder / f"{name}.json").write_text(json.dumps(schema, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write_schemas(FOLDER)
