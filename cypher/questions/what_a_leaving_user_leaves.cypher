// what_a_leaving_user_leaves.cypher: what depends on a user that leaves: what it owns, what is granted to it, where it
// is a member, and what it alone can reach? Alone: it holds the privilege on the object by an ALLOW there or above,
// without a DENY, and no other user does.
// Leaves out: privileges that imply others; owners, who may also reach what is listed as alone; and other conditions.
// $subject  STRING  'user:bob', a user
// $root     STRING  'metalake:ml'
// Returns rows: kind STRING (owns, granted, member or alone), what STRING (the object, group or role), privilege STRING
// (with its effect), path PATH, says STRING (why a row has no answer), due BOOLEAN (facts have ended, but are still
// stored; run `grantpath expire`)
// In Neo4j Browser run this line first, then the whole file:
// :params {subject: 'user:bob', root: 'metalake:ml'}
// 1 the types of users, by the policy in the graph
OPTIONAL MATCH (kind:RuleType:RulePart {root: $root, listed: true})
WITH collect(kind.name) AS user_types
OPTIONAL MATCH (subject:Entity {root: $root, ref: $subject}) WHERE coalesce(subject.exists, true)
OPTIONAL CALL (subject, user_types) {
  // 2 what it owns, what is granted to it, and where it is a member
  MATCH path = (subject)-[edge:OWNS|ALLOW|DENY|MEMBER_OF|HAS_ROLE]->(what)
  RETURN CASE type(edge) WHEN 'OWNS' THEN 'owns' WHEN 'ALLOW' THEN 'granted' WHEN 'DENY' THEN 'granted' ELSE 'member' END AS kind, what,
    type(edge) + ' ' + edge.privilege AS privilege, path
UNION
  // 3 the privileges that it holds, itself or through others
  CALL (subject) { MATCH (subject)-[:MEMBER_OF|HAS_ROLE*0..]->(principal) RETURN collect(DISTINCT principal) AS principals }
  UNWIND principals AS principal
  MATCH (principal)-[grant:ALLOW]->(what)
  WITH DISTINCT what, grant.privilege AS name
  // 4 for each place there or above, once: the other users to which an ALLOW applies, and all to which a DENY does
  MATCH (what)-[:CHILD_OF*0..]->(place)
  WITH name, place, collect(what) AS inside
  CALL (subject, user_types, name, place) {
    MATCH (place)<-[one:ALLOW|DENY {privilege: name}]-(grantee)
    CALL (grantee, user_types) {
      MATCH (user)-[:MEMBER_OF|HAS_ROLE*0..]->(grantee) WHERE user.type IN user_types
      RETURN DISTINCT user
    }
    WITH user, collect(type(one)) AS effects
    RETURN collect(CASE WHEN user <> subject AND NOT 'DENY' IN effects THEN user END) AS others,
      collect(CASE WHEN 'DENY' IN effects THEN user END) AS denied
  }
  // 5 it is alone if every other user is denied: of more users than there are denied ones, one is not
  WITH name, collect({inside: inside, others: others, denied: denied}) AS places
  WITH *, reduce(enough = 1, place IN places | enough + size(place.denied)) AS enough
  UNWIND places AS place UNWIND place.inside AS what
  WITH what, name, reduce(all = [], each IN collect(place.others[..enough]) | all + each) AS others,
    reduce(all = [], each IN collect(place.denied) | all + each) AS denied
  WITH * WHERE subject.type IN user_types AND NOT subject IN denied AND all(other IN others WHERE other IN denied)
  RETURN 'alone' AS kind, what, 'ALLOW ' + name AS privilege, null AS path
}
RETURN kind, what.ref AS what, privilege, path,
  CASE WHEN user_types = [] THEN 'there is no root ' + $root + ' with its policy in the graph; run `grantpath policy write ' + $root + '`'
    WHEN subject IS NULL THEN $subject + ' does not exist in ' + $root
    WHEN kind IS NULL THEN 'nothing depends on ' + $subject END AS says,
  EXISTS { (mark:Revision {root: $root}) WHERE mark.ends <= datetime.realtime().epochSeconds } AS due
ORDER BY kind, what, privilege
