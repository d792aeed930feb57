// memberships_in_a_cycle.cypher: which memberships form a cycle? grantpath refuses them, so a cycle was written by
// hand.
// Leaves out: other cycles through the same membership.
// $root  STRING  'metalake:ml'
// Returns rows: member STRING, group STRING, path PATH (from the group back to the member), says STRING (why a row has
// no answer), due BOOLEAN (facts have ended, but are still stored; run `grantpath expire`)
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml'}
OPTIONAL MATCH (mark:Revision {root: $root})
OPTIONAL CALL (mark) {
  // 1 each membership
  MATCH (member:Entity {root: $root})-[:MEMBER_OF|HAS_ROLE]->(group) WHERE member.ref >= ''
  // 2 the way back
  CALL (member, group) {
    MATCH path = SHORTEST 1 (group)-[:MEMBER_OF|HAS_ROLE]->*(member)
    RETURN path
  }
  RETURN member, group, path
}
RETURN member.ref AS member, group.ref AS group, path, CASE WHEN mark IS NULL THEN 'there is no root ' + $root
    WHEN member IS NULL THEN 'there is no cycle' END AS says,
  coalesce(mark.ends <= datetime.realtime().epochSeconds, false) AS due
ORDER BY member, group
