"""Tenants in and out: bulk import, dump, restore, policy upgrade."""
