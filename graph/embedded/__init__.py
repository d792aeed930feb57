"""The Neo4j server that the project starts by itself.

Start at `server.py`: up, down and status. `connect.py` finds the server to ask.
"""
