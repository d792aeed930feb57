// roots.cypher: the tenants of this database that have a name of their own (scenarios run in nameless ones).
// Returns rows: root STRING, policy STRING, revision INTEGER
// In Neo4j Browser run the whole file; it has no parameters:
// :params {}
MATCH (mark:Revision)
WHERE mark.root >= '' // always true; lets the index on root be used
MATCH (:Entity {root: mark.root, ref: mark.root})
RETURN mark.root AS root, mark.policy AS policy, mark.revision AS revision
ORDER BY root
