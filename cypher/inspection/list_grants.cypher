// list_grants.cypher: the grants, sorted by object, subject, privilege and effect: one page.
// Returns one row: known LIST OF STRING (those of $needed that are in the graph), answer LIST OF MAP (effect,
// privilege, object, subject, until: its end or null), revision, begun, revision_after, begun_after, due BOOLEAN (a
// fact has ended and must be removed first), policy STRING (the digest of the tenant's policy), made STRING (the
// creation id; it differs if the tenant was recreated)
// $root       STRING          'metalake:ml'
// $now        INTEGER         null for the server's clock, or the seconds since 1970
// $needed     LIST OF STRING  ['table:hr.public.staff'], the references that the filters name
// $on         STRING          '', or the object
// $to         STRING          '', or the subject
// $privilege  STRING          '', or the privilege
// $effect     STRING          '', or 'ALLOW' or 'DENY'
// $hidden     LIST OF STRING  [], references that answers omit
// $after      LIST OF STRING  ['', '', '', ''], or object, subject, privilege and effect of the last grant of the
//                             previous page
// $limit      INTEGER         1000
// In Neo4j Browser run this first, without the slashes, then the whole file:
// :params {root: 'metalake:ml', now: null, needed: ['table:hr.public.staff'], on: 'table:hr.public.staff', to: '',
//   privilege: '', effect: '', hidden: [], after: ['', '', '', ''], limit: 1000}
MATCH (before:Revision {root: $root})
WITH before.revision AS revision, before.begun AS begun
CALL () {
  UNWIND $needed AS ref MATCH (entity:Entity {root: $root, ref: ref})
  RETURN collect(ref) AS known
}
CALL () {
  CALL () {
    // 1 where to look: at the object; otherwise at the subject; otherwise at all objects
    UNWIND [ref IN [$on] WHERE ref <> ''] AS ref
    MATCH (subject)-[grant:ALLOW|DENY]->(object:Entity {root: $root, ref: ref})
    RETURN subject, grant, object
  UNION ALL
    UNWIND [ref IN [$to] WHERE ref <> '' AND $on = ''] AS ref
    MATCH (subject:Entity {root: $root, ref: ref})-[grant:ALLOW|DENY]->(object)
    RETURN subject, grant, object
  UNION ALL
    // in the order of the index, and no further than the page: the filters of step 2 are here, too, because the limit
    // counts only what is listed
    UNWIND [root IN [$root] WHERE $on = '' AND $to = ''] AS root
    CALL (root) {
      MATCH (object:Entity {root: root}) WHERE object.ref >= $after[0]
      MATCH (subject)-[grant:ALLOW|DENY]->(object)
      WHERE $privilege IN ['', grant.privilege] AND $effect IN ['', type(grant)] AND NOT subject.ref IN $hidden
        AND NOT object.ref IN $hidden AND [object.ref, subject.ref, grant.privilege, type(grant)] > $after
      RETURN subject, grant, object
      ORDER BY object.root, object.ref, subject.ref, grant.privilege, type(grant) LIMIT toInteger($limit)
    }
    RETURN subject, grant, object
  }
  // 2 the filters
  WITH object.ref AS object, subject.ref AS subject, grant.privilege AS privilege, type(grant) AS effect, grant.until AS until
  WHERE $to IN ['', subject] AND $privilege IN ['', privilege] AND $effect IN ['', effect]
    AND NOT subject IN $hidden AND NOT object IN $hidden
  // 3 the page
  WITH object, subject, privilege, effect, until, [object, subject, privilege, effect] AS place
  WHERE place > $after
  WITH object, subject, privilege, effect, until ORDER BY object, subject, privilege, effect LIMIT toInteger($limit)
  RETURN collect({effect: effect, privilege: privilege, object: object, subject: subject, until: until}) AS answer
}
MATCH (after:Revision {root: $root})
RETURN known, answer, revision, begun, after.revision AS revision_after, after.begun AS begun_after,
  coalesce(after.ends <= coalesce($now, datetime.realtime().epochSeconds), false) AS due,
  after.digest AS policy, after.made AS made
