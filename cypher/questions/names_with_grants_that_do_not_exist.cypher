// names_with_grants_that_do_not_exist.cypher: which names have grants, but were not created yet? Some policies allow
// grants on them.
// Leaves out: names that have only memberships, e.g. dropped users that hold a hidden built-in role.
// $root  STRING  'metalake:ml'
// Returns rows: object STRING, subject STRING, effect STRING (ALLOW or DENY), privilege STRING, path PATH, says STRING
// (why a row has no answer), due BOOLEAN (facts have ended, but are still stored; run `grantpath expire`)
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml'}
OPTIONAL MATCH (mark:Revision {root: $root})
OPTIONAL CALL (mark) {
  // 1 the names that were not created
  MATCH (object:Entity {root: $root, exists: false}) WHERE object.ref >= ''
  // 2 the grants on them
  MATCH path = (subject)-[grant:ALLOW|DENY]->(object)
  RETURN object, subject, grant, path
}
RETURN object.ref AS object, subject.ref AS subject, type(grant) AS effect, grant.privilege AS privilege, path, CASE WHEN mark IS NULL THEN 'there is no root ' + $root
    WHEN grant IS NULL THEN 'every name with grants exists' END AS says,
  coalesce(mark.ends <= datetime.realtime().epochSeconds, false) AS due
ORDER BY object, subject, privilege, effect
