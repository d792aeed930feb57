// membership_edges.cypher: the memberships of a subject and of all groups and roles that it belongs to.
// Returns one row: links LIST OF LIST OF STRING (member, type of the relationship, container, its end or null),
// revision, begun, revision_after, begun_after, due BOOLEAN (a fact has ended and must be removed first), policy STRING
// (the digest of the tenant's policy), made STRING (the creation id; it differs if the tenant was recreated)
// $root     STRING  'metalake:ml'
// $now      INTEGER  null for the server's clock, or the seconds since 1970
// $subject  STRING  'user:bob'
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', now: null, subject: 'user:bob'}
MATCH (before:Revision {root: $root})
WITH before.revision AS revision, before.begun AS begun
CALL () {
  MATCH (subject:Entity {root: $root, ref: $subject})-[:MEMBER_OF|HAS_ROLE*0..]->(member)
  WITH DISTINCT member
  MATCH (member)-[link:MEMBER_OF|HAS_ROLE]->(container)
  RETURN collect([member.ref, type(link), container.ref, link.until]) AS links
}
MATCH (after:Revision {root: $root})
RETURN links, revision, begun, after.revision AS revision_after, after.begun AS begun_after,
  coalesce(after.ends <= coalesce($now, datetime.realtime().epochSeconds), false) AS due,
  after.digest AS policy, after.made AS made
