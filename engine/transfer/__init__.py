"""Tenants in and out: bulk import, dump, restore, policy upgrade."""

from grantpath.graph.extras import need_extra

need_extra("cli", "dump, load and policy upgrade")
