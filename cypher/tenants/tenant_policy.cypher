// tenant_policy.cypher: the policy of a tenant.
// $root  STRING  'metalake:ml'
// Returns at most one row: policy STRING, digest STRING, source STRING, writing STRING (the load or upgrade in
// progress, or null)
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml'}
MATCH (revision:Revision {root: $root})
RETURN revision.policy AS policy, revision.digest AS digest, revision.source AS source,
  revision.loading_what AS writing
