// list_tenants.cypher: the tenants of this database, those that nothing is left of but the history, and those that scenarios
// run in, whose key is a root's name with a suffix.
// Returns rows: root STRING, policy STRING, revision INTEGER, dropped BOOLEAN
// In Neo4j Browser run the whole file; it has no parameters:
// :params {}
MATCH (mark:Revision)
WHERE mark.root >= '' // always true; lets the index on root be used
RETURN mark.root AS root, mark.policy AS policy, mark.revision AS revision,
  NOT EXISTS { MATCH (entity:Entity {root: mark.root}) WHERE entity.ref >= '' } AS dropped
ORDER BY root
