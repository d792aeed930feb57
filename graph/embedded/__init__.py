"""The Neo4j server that the project starts by itself."""
