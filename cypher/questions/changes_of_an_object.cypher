// changes_of_an_object.cypher: what was changed about an object or subject? It also finds what does not exist any more.
// Leaves out: changes of other objects that had an effect on it, e.g. of a parent or a group; what was changed while it
// had another name; loads; and entries that were pruned from the log. `grantpath log --object` finds all its names.
// $object  STRING   'table:hr.public.staff', or a subject: 'user:bob'
// $limit   INTEGER  10, the maximum number of changes
// $root    STRING   'metalake:ml'
// Returns rows: revision INTEGER, at ZONED DATETIME, actor STRING (null for a fact), statement STRING, says STRING (why
// a row has no answer), due BOOLEAN (facts have ended, but are still stored; run `grantpath expire`)
// In Neo4j Browser run this line first, then the whole file:
// :params {object: 'table:hr.public.staff', limit: 10, root: 'metalake:ml'}
OPTIONAL MATCH (mark:Revision {root: $root})
OPTIONAL MATCH (policy:RulePolicy {root: $root})
OPTIONAL CALL (mark, policy) {
  // 1 the entries of the log that name it, the latest first; the root object may have had another name then
  MATCH (change:Change {root: $root}) WHERE change.revision >= 0 AND ($object IN [change.object, change.subject]
    OR $object STARTS WITH policy.root_type + ':' AND change.object STARTS WITH policy.root_type + ':')
  RETURN change ORDER BY change.root DESC, change.revision DESC LIMIT toInteger($limit)
}
RETURN change.revision AS revision, change.at AS at, change.actor AS actor, change.statement AS statement, CASE WHEN mark IS NULL THEN 'there is no root ' + $root
    WHEN change IS NULL THEN CASE WHEN EXISTS { (:Entity {root: $root, ref: $object}) } THEN 'the log has no change of ' + $object
      ELSE $object + ' does not exist in ' + $root + ', and the log has no change of it' END END AS says,
  coalesce(mark.ends <= datetime.realtime().epochSeconds, false) AS due
ORDER BY revision DESC
