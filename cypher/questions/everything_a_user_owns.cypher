// everything_a_user_owns.cypher: what does a subject own, itself or through its groups and roles?
// Leaves out: what is below an owned object. In some policies the owner of an object has rights on that, too.
// $subject  STRING  'user:bob', or a group or role
// $root     STRING  'metalake:ml'
// Returns rows: object STRING, type STRING, owner STRING (the subject, or its group or role), membership PATH (from the
// subject to the owner), path PATH (the ownership), says STRING (why a row has no answer), due BOOLEAN (facts have
// ended, but are still stored; run `grantpath expire`)
// In Neo4j Browser run this line first, then the whole file:
// :params {subject: 'user:bob', root: 'metalake:ml'}
OPTIONAL MATCH (subject:Entity {root: $root, ref: $subject}) WHERE coalesce(subject.exists, true)
OPTIONAL CALL (subject) {
  // 1 the subject, its groups and roles
  MATCH (subject)-[:MEMBER_OF|HAS_ROLE*0..]->(owner)
  WITH DISTINCT subject, owner
  // 2 the shortest path to each that owns something
  WHERE EXISTS { (owner)-[:OWNS]->() }
  CALL (subject, owner) {
    MATCH membership = SHORTEST 1 (subject)-[:MEMBER_OF|HAS_ROLE]->*(owner)
    RETURN membership
  }
  // 3 what it owns
  MATCH path = (owner)-[:OWNS]->(object)
  RETURN owner, membership, path, object
}
RETURN object.ref AS object, object.type AS type, owner.ref AS owner, membership, path,
  CASE WHEN subject IS NULL THEN $subject + ' does not exist in ' + $root WHEN object IS NULL THEN $subject + ' owns nothing' END AS says,
  EXISTS { (mark:Revision {root: $root}) WHERE mark.ends <= datetime.realtime().epochSeconds } AS due
ORDER BY object, owner
