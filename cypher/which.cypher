// which.cypher: on which objects of a type is a subject allowed to do something? Complete, in byte order.
// If a clause asks what is granted below a place, use which_below.cypher: this query does not read such grants.
// Returns one row: known LIST OF STRING (those of $needed that exist), answer LIST OF STRING, revision, begun,
// revision_after, begun_after, due BOOLEAN (a fact has ended and must be removed first), policy STRING (the digest of
// the tenant's policy), made STRING (the creation id; it differs if the tenant was recreated)
// $root      STRING          'metalake:ml'
// $now       INTEGER         null for the server's clock, or the seconds since 1970
// $needed    LIST OF STRING  [], what must exist: second objects, the active role
// $subject   STRING          'user:bob'
// $one_role  BOOLEAN         false: all that the subject belongs to is combined; true: a single role must suffice
// $as_role   STRING          null, or the active role
// $type      STRING          'table'
// $top       STRING          'metalake:ml', the reference of the root object
// $places    LIST OF MAP     the places that all objects share: the root object, second objects and their ancestors,
//                            roles that a clause names: name, ref
// $given     LIST OF STRING  ['EXISTS table'], the facts that are true of every object
// $builtin   LIST OF STRING  [], the types for which a clause asks whether an entity is built in
// $clauses   LIST            a clause is a list of terms, a term a list of atoms. One clause must hold: all its
//                            terms, each by one of its atoms
// $facts     LIST OF STRING  every fact that the clauses ask for
// $after     STRING          '', or the last reference of the previous page
// $limit     INTEGER         10000
// In Neo4j Browser run this first, without the slashes, then the whole file (`grantpath params` prints your own):
// :params {root: 'metalake:ml', now: null, needed: [], subject: 'user:bob', one_role: false, as_role: null, type: 'table',
//   top: 'metalake:ml', places: [{name: 'metalake', ref: 'metalake:ml'}], given: [], builtin: [],
//   clauses: [[[{any: ['ALLOW SELECT_TABLE table', 'ALLOW SELECT_TABLE metalake'],
//     none: ['DENY SELECT_TABLE table', 'DENY SELECT_TABLE metalake']}]]],
//   facts: ['ALLOW SELECT_TABLE table', 'ALLOW SELECT_TABLE metalake',
//     'DENY SELECT_TABLE table', 'DENY SELECT_TABLE metalake'], after: '', limit: 10000}
MATCH (before:Revision {root: $root})
WITH before.revision AS revision, before.begun AS begun
WITH *, COLLECT { UNWIND $needed AS ref MATCH (entity:Entity {root: $root, ref: ref})
  WHERE coalesce(entity.exists, true) RETURN ref } AS known
CALL () {
  MATCH (top:Entity {root: $root, ref: $top})
  WITH top, $clauses AS clauses, {subject: $subject, one_role: $one_role, as_role: $as_role} AS check
  CALL (check) {
    // 1 who acts: the subject with its groups and roles, all together or with one role at a time
    MATCH (subject:Entity {root: $root, ref: check.subject})-[:MEMBER_OF|HAS_ROLE*0..]->(principal)
    WITH subject, collect(DISTINCT principal) AS effective WHERE coalesce(subject.exists, true)
    UNWIND CASE
      WHEN check.one_role THEN [role IN effective WHERE role.ref = check.as_role
        OR (check.as_role IS NULL AND EXISTS { (subject)-[:HAS_ROLE]->(role) })]
      WHEN check.as_role IS NULL OR check.as_role IN [role IN effective | role.ref] THEN [null] ELSE [] END AS role
    CALL (role) { MATCH (role)-[:HAS_ROLE*0..]->(each) RETURN collect(DISTINCT each) AS roles }
    WITH subject, role, CASE WHEN role IS NULL THEN effective ELSE roles END AS principals
    RETURN subject, principals
  }
  CALL (subject, principals, top, clauses) {
    CALL (subject, principals) {
      // 2 what is granted where, and which properties matter: first of the root object and of other named places
      UNWIND $places AS shared MATCH (place:Entity {root: $root, ref: shared.ref})
      UNWIND ['', CASE WHEN coalesce(place.exists, true) THEN 'EXISTS ' END, CASE WHEN place.builtin THEN 'BUILTIN ' END,
        CASE WHEN place IN principals THEN 'HOLDS ' END, CASE place WHEN subject THEN 'IS ' END] AS property
      RETURN place, property
    UNION ALL
      UNWIND principals AS principal MATCH (principal)-[grant:ALLOW|DENY|OWNS]->(place)
      WITH place, type(grant) + ' ' + coalesce(grant.privilege + ' ', '') AS property
      WHERE property + place.type IN $facts OR place.ref IN [shared IN $places | shared.ref] RETURN place, property
    UNION ALL
      UNWIND CASE WHEN any(fact IN $facts WHERE fact CONTAINS '#') THEN principals ELSE [] END AS principal
      MATCH (principal)-[grant:ALLOW|DENY]->(tag)<-[:TAGGED]-(place)
      WITH place, type(grant) + ' ' + grant.privilege + '#' + tag.type + ' ' AS property
      WHERE property + place.type IN $facts OR place.ref IN [shared IN $places | shared.ref] RETURN place, property
    UNION ALL
      UNWIND [{place: subject, property: 'IS '}] + [principal IN principals | {place: principal, property: 'HOLDS '}] AS each
      WITH each.place AS place, each.property AS property WHERE property + place.type IN $facts RETURN place, property
    UNION ALL
      UNWIND $builtin AS type MATCH (place:Entity {root: $root}) WHERE place.ref STARTS WITH type + ':' AND place.builtin
      RETURN place, 'BUILTIN ' AS property
    }
    WITH DISTINCT place, property // one row for all who are granted the same on a place
    // a fact is named by the type of its place; facts of shared places hold for every object, so they move to the top
    UNWIND [place.type] + [shared IN $places WHERE shared.ref = place.ref | shared.name] AS name
    WITH CASE name WHEN place.type THEN place ELSE top END AS place, property + name AS fact
    WHERE fact IN $facts OR place = top WITH place, collect(fact) AS granted
    // each place inherits the facts of those above it; some subjects have no path to the root object
    MATCH (place)-[:CHILD_OF*0..]->(up) UNWIND CASE WHEN up:Securable THEN [up] ELSE [up, top] END AS above
    WITH above, collect(place) AS inside, head(collect(CASE place WHEN above THEN granted END)) AS granted
    UNWIND inside AS place WITH place, head(collect(CASE place WHEN above THEN granted END)) AS granted,
      reduce(all = $given, some IN collect(CASE WHEN place <> above THEN granted END) | all + some) AS inherited
    WITH place, [facts IN [inherited, inherited + granted] |
      any(clause IN clauses WHERE all(term IN clause WHERE any(atom IN term WHERE
        // 3 the rule: one DENY beats every ALLOW
        any(fact IN atom.any WHERE fact IN facts) AND none(fact IN atom.none WHERE fact IN facts))))] AS verdicts
    // where a role gains access to all that is inside it is 1, where it loses it -1; so the sum over the places from the
    // root object down to an object is 1 if the role has access to the object, and 0 if not
    RETURN place, toInteger(verdicts[1]) - CASE place WHEN top THEN 0 ELSE toInteger(verdicts[0]) END AS change
  }
  // all roles together; from here on no row has the principals, and none has a list, because Neo4j counts what a row refers
  // to in the memory of each row that it sorts
  WITH top, place, sum(change) AS change WHERE change <> 0
  UNWIND CASE place WHEN top THEN COLLECT { MATCH (object:Entity {root: $root}) WHERE object.ref > $after AND $type + ':' < object.ref < $type + ';' RETURN object }
    ELSE COLLECT { MATCH (place)<-[:CHILD_OF*0..]-(object:Entity {type: $type}) WHERE object.ref > $after RETURN object } END AS object
  WITH object, sum(change) AS roles WHERE roles > 0 AND coalesce(object.exists, true)
  WITH object.ref AS ref ORDER BY ref LIMIT toInteger($limit) RETURN collect(ref) AS answer
}
MATCH (after:Revision {root: $root})
RETURN known, answer, revision, begun, after.revision AS revision_after, after.begun AS begun_after,
  coalesce(after.ends <= coalesce($now, datetime.realtime().epochSeconds), false) AS due,
  after.digest AS policy, after.made AS made
