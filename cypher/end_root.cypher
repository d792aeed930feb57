// end_root.cypher: a tenant ends: without its revision nobody reads or changes it any more.
// $root  STRING  'metalake:ml'
// Returns one row: ended INTEGER
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:gone'}
OPTIONAL MATCH (mark:Revision {root: $root})
DELETE mark
RETURN count(mark) AS ended
