"""The Neo4j server that the package installs and starts itself.

Start at `server.py`: up, down and status. `connect.py` chooses the server to connect to.
"""
