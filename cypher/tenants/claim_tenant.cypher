// claim_tenant.cypher: claims the name of a tenant that does not exist, to create it or to remove its remains.
// Later claims end earlier ones: a caller that lost its claim writes and removes nothing.
// $root  STRING  'metalake:ml'
// $by    STRING  '5f0c', the id of the caller
// Returns one row, or none if the tenant exists: by STRING
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:gone', by: '5f0c'}
MERGE (lock:Gate {root: $root})
SET lock.locked = true // locks the node, so that the following clauses read its latest state
WITH lock
OPTIONAL MATCH (mark:Revision {root: $root})
FOREACH (_ IN CASE WHEN mark IS NULL THEN [1] ELSE [] END | SET lock.by = $by)
FOREACH (_ IN CASE WHEN mark IS NULL THEN [] ELSE [1] END | DELETE lock)
WITH mark WHERE mark IS NULL
RETURN $by AS by
