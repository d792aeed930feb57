// most_granted_objects.cypher: on which objects are the most grants?
// Leaves out: grants above the object, which are inherited in most policies.
// $limit  INTEGER  10, the maximum number of objects
// $root   STRING   'metalake:ml'
// Returns rows: object STRING, grants INTEGER, denies INTEGER (how many of them are DENYs), subjects INTEGER (different
// grantees), says STRING (why a row has no answer), due BOOLEAN (facts have ended, but are still stored; run `grantpath
// expire`)
// In Neo4j Browser run this line first, then the whole file:
// :params {limit: 10, root: 'metalake:ml'}
OPTIONAL MATCH (mark:Revision {root: $root})
OPTIONAL CALL (mark) {
  // 1 the grants on each object
  MATCH (object:Entity:Securable {root: $root})<-[grant:ALLOW|DENY]-(subject) WHERE object.ref >= ''
  WITH object, count(grant) AS grants, count(CASE type(grant) WHEN 'DENY' THEN 1 END) AS denies, count(DISTINCT subject) AS subjects
  // 2 the objects with the most
  RETURN object, grants, denies, subjects ORDER BY grants DESC, object.ref LIMIT toInteger($limit)
}
RETURN object.ref AS object, grants, denies, subjects, CASE WHEN mark IS NULL THEN 'there is no root ' + $root
    WHEN object IS NULL THEN 'nothing is granted in ' + $root END AS says,
  coalesce(mark.ends <= datetime.realtime().epochSeconds, false) AS due
ORDER BY grants DESC, object
