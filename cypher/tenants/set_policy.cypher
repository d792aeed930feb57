// set_policy.cypher: replaces the policy of a tenant.
// $root    STRING  'metalake:ml'
// $policy  STRING  'gravitino'
// $digest  STRING  '9f2c', changes when the policy does
// $source  STRING  '{}', the whole policy as JSON
// Returns one row: policy STRING
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', policy: 'gravitino', digest: '', source: '{}'}
MATCH (mark:Revision {root: $root})
SET mark.policy = $policy, mark.digest = $digest, mark.source = $source
RETURN mark.policy AS policy
