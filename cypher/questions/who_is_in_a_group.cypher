// who_is_in_a_group.cypher: who is in a group, or holds a role? Every member, direct or through others, with its
// shortest path.
// Leaves out: other paths to the same member; and what the members may do.
// $group  STRING  'group:readers', or a role: 'role:analyst'
// $root   STRING  'metalake:ml'
// Returns rows: member STRING, type STRING, direct BOOLEAN, path PATH, says STRING (why a row has no answer), due
// BOOLEAN (facts have ended, but are still stored; run `grantpath expire`)
// In Neo4j Browser run this line first, then the whole file:
// :params {group: 'group:readers', root: 'metalake:ml'}
OPTIONAL MATCH (group:Entity {root: $root, ref: $group})
OPTIONAL CALL (group) {
  // 1 every member, direct or through others
  MATCH (member)-[:MEMBER_OF|HAS_ROLE*1..]->(group)
  WITH DISTINCT group, member
  // 2 its shortest path
  CALL (group, member) {
    MATCH path = SHORTEST 1 (member)-[:MEMBER_OF|HAS_ROLE]->+(group)
    RETURN path
  }
  RETURN member, path
}
RETURN member.ref AS member, member.type AS type, length(path) = 1 AS direct, path,
  CASE WHEN group IS NULL THEN $group + ' does not exist in ' + $root WHEN member IS NULL THEN $group + ' has no members' END AS says,
  EXISTS { (mark:Revision {root: $root}) WHERE mark.ends <= datetime.realtime().epochSeconds } AS due
ORDER BY member
