// list_tenants.cypher: the tenants of this database, including dropped ones with only a history, and those of scenarios,
// whose keys are the names of roots with a suffix.
// Returns rows: root STRING, policy STRING, revision INTEGER, dropped BOOLEAN
// In Neo4j Browser run the whole file; it has no parameters:
// :params {}
MATCH (mark:Revision)
WHERE mark.root >= '' // always true, so that the index on root is used
RETURN mark.root AS root, mark.policy AS policy, mark.revision AS revision,
  NOT EXISTS { MATCH (entity:Entity {root: mark.root}) WHERE entity.ref >= '' } AS dropped
ORDER BY root
