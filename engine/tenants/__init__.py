"""Tenants: isolated graphs, each with its own root object and policy.

Start at `open_tenant.py`: an OpenTenant asks guarded queries. `opening.py` finds or creates one, `registry.py` lists
them.
"""
