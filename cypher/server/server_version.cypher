// server_version.cypher: the version and the edition of the server, and the size of its graph by the counts that it keeps.
// Returns one row: version STRING, edition STRING, nodes INTEGER, relationships INTEGER
CALL dbms.components() YIELD name, versions, edition
WHERE name = 'Neo4j Kernel'
CALL () {
  MATCH (node)
  RETURN count(node) AS nodes
}
CALL () {
  MATCH ()-[relationship]->()
  RETURN count(relationship) AS relationships
}
RETURN versions[0] AS version, edition, nodes, relationships
