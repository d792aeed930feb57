"""Tenants in and out: bulk import, dump, restore, policy upgrade.

Start at `importer.py` for what comes in, and at `exporter.py` for what goes out.
"""

from grantpath.graph.extras import need_extra

need_extra("cli", "dump, load and policy upgrade")
