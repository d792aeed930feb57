// begin_tenant.cypher: a tenant begins: its revision with its policy, by which it can be read from now on. Each tenant has
// an id of its own: one that is created again starts at the same revisions.
// $root    STRING  'metalake:ml'
// $by      STRING  '5f0c', the caller that claimed the name; the claim ends here
// $policy  STRING  'gravitino'
// $digest  STRING  '9f2c', changes when the policy does
// $source  STRING  '{}', the whole policy as JSON
// Returns one row, or none where the claim was lost: made STRING
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:other', by: '5f0c', policy: 'gravitino', digest: '', source: '{}'}
MATCH (gate:Gate {root: $root})
SET gate.locked = true // locks the gate: what follows reads the newest state
WITH gate WHERE gate.by = $by
CREATE (revision:Revision {root: $root, revision: 0, begun: 0, policy: $policy, digest: $digest, source: $source, made: randomUUID()})
DELETE gate
RETURN revision.made AS made
