"""Connections to Neo4j: addresses, logins, TLS, drivers, pools, telemetry.

Start at `driver.py`; `connections.py` has the pools.
"""
