// begin_tenant.cypher: makes a new tenant readable: writes its revision and its policy. Each tenant has
// its own creation id, because a recreated tenant starts at the same revisions.
// $root    STRING  'metalake:ml'
// $by      STRING  '5f0c', the caller that claimed the name; this ends the claim
// $policy  STRING  'gravitino'
// $digest  STRING  '9f2c', changes when the policy does
// $source  STRING  '{}', the whole policy as JSON
// Returns one row, or none if the claim was lost: made STRING
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:other', by: '5f0c', policy: 'gravitino', digest: '', source: '{}'}
MATCH (lock:Gate {root: $root})
SET lock.locked = true // locks the node, so that the following clauses read its latest state
WITH lock WHERE lock.by = $by
CREATE (revision:Revision {root: $root, revision: 0, begun: 0, policy: $policy, digest: $digest, source: $source, made: randomUUID()})
DELETE lock
RETURN revision.made AS made
