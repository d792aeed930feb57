"""Moves whole tenants: bulk import, dump, restore, policy upgrade.

Start at `importer.py` for imports, and at `exporter.py` for dumps.
"""

from grantpath.graph.extras import require_extra

require_extra("cli", "dump, load and policy upgrade")
