// dump_head.cypher: the properties of a root for its dump: the policy, and the name of the log's chain.
// $root  STRING  'metalake:ml'
// Returns one row: policy STRING, digest STRING, source STRING, made STRING (the root's creation id), chain STRING,
// ends INTEGER (not later than the earliest end of its facts, in seconds since 1970, or null)
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml'}
MATCH (mark:Revision {root: $root})
RETURN mark.policy AS policy, mark.digest AS digest, mark.source AS source, mark.made AS made,
  coalesce(mark.chain, mark.root + ' ' + coalesce(mark.made, '')) AS chain, mark.ends AS ends
