"""Tenants: isolated graphs, each with its own root object and policy.

Start at `open_tenant.py`: an OpenTenant runs guarded queries. `opening.py` finds or creates a tenant, `registry.py`
lists tenants.
"""
