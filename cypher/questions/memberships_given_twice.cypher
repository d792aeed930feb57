// memberships_given_twice.cypher: which direct memberships are not needed, because the member also belongs to the group
// or role through another one?
// Leaves out: whether the direct membership should stay when the other one ends.
// $root  STRING  'metalake:ml'
// Returns rows: member STRING, group STRING (the group or role), through STRING (the other direct group or role), path
// PATH (the direct membership), other PATH, says STRING (why a row has no answer), due BOOLEAN (facts have ended, but
// are still stored; run `grantpath expire`)
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml'}
OPTIONAL MATCH (mark:Revision {root: $root})
OPTIONAL CALL (mark) {
  // 1 each group or role that has members, and what it belongs to
  MATCH (member:Entity {root: $root})-[:MEMBER_OF|HAS_ROLE]->(through) WHERE member.ref >= ''
  WITH through, collect(member) AS members
  CALL (through) { MATCH (through)-[:MEMBER_OF|HAS_ROLE*1..]->(group) RETURN DISTINCT group }
  WITH * WHERE group <> through
  // 2 its members that are direct members there, too
  UNWIND members AS member
  MATCH path = (member)-[:MEMBER_OF|HAS_ROLE]->(group)
  CALL (through, group) {
    MATCH other = SHORTEST 1 (through)-[:MEMBER_OF|HAS_ROLE]->+(group)
    RETURN other
  }
  RETURN member, group, through, path, other
}
RETURN member.ref AS member, group.ref AS group, through.ref AS through, path, other, CASE WHEN mark IS NULL THEN 'there is no root ' + $root
    WHEN member IS NULL THEN 'no membership is given twice' END AS says,
  coalesce(mark.ends <= datetime.realtime().epochSeconds, false) AS due
ORDER BY member, group, through
