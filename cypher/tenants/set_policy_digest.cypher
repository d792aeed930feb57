// set_policy_digest.cypher: replaces the short digest of a tenant's policy by the full one.
// $root    STRING  'metalake:ml'
// $short   STRING  '9f2c', the digest that an older version of grantpath wrote
// $digest  STRING  '9f2c03ab', the full one, computed from the stored source
// Returns at most one row: digest STRING
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', short: '', digest: ''}
MATCH (mark:Revision {root: $root}) WHERE mark.digest = $short
SET mark.digest = $digest
RETURN mark.digest AS digest
