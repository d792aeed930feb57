// roots.cypher: the tenants of this database that have a name of their own (scenarios run in nameless ones), and those
// that nothing is left of but the history.
// Returns rows: root STRING, policy STRING, revision INTEGER, dropped BOOLEAN
// In Neo4j Browser run the whole file; it has no parameters:
// :params {}
MATCH (mark:Revision)
WHERE mark.root >= '' // always true; lets the index on root be used
WITH mark, NOT EXISTS { MATCH (entity:Entity {root: mark.root}) WHERE entity.ref >= '' } AS dropped
WHERE dropped OR EXISTS { MATCH (:Entity {root: mark.root, ref: mark.root}) }
RETURN mark.root AS root, mark.policy AS policy, mark.revision AS revision, dropped
ORDER BY root
