"""The tables of the documented systems' sheets, with which the policies are compared."""

from pathlib import Path
from typing import Any

import yaml

# policy -> table (types, privileges, implied, operations) -> row -> names, separated by spaces
TABLES: dict[str, dict[str, Any]] = {
    file.stem: yaml.safe_load(file.read_text())
    for file in sorted((Path(__file__).parent / "documented_names").glob("*.yaml"))
}
