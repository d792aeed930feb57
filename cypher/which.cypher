// which.cypher: on which objects of a type is a subject allowed to do something? Complete, in byte order.
// Returns one row: known LIST OF STRING (those of $needed that exist), answer LIST OF STRING, revision, begun,
// revision_after, begun_after, policy STRING (the digest of the tenant's policy), made STRING (the creation id; it
// differs if the tenant was recreated)
// $root      STRING          'metalake:ml'
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
// $below     BOOLEAN         whether a clause asks for grants below a place
// $every     LIST OF MAP     facts about all descendants of a place: fact, name, types, privileges
// $clauses   LIST            any clause, all its terms, any atom of a term
// $facts     LIST OF STRING  every fact that the clauses ask for
// $after     STRING          '', or the last reference of the previous page
// $limit     INTEGER         10000
// In Neo4j Browser run this first, without the slashes, then the whole file (`grantpath params` prints your own):
// :params {root: 'metalake:ml', needed: [], subject: 'user:bob', one_role: false, as_role: null, type: 'table',
//   top: 'metalake:ml', places: [{name: 'metalake', ref: 'metalake:ml'}], given: [], builtin: [], below: false, every: [],
//   clauses: [[[{any: ['ALLOW SELECT_TABLE table', 'ALLOW SELECT_TABLE metalake'],
//     none: ['DENY SELECT_TABLE table', 'DENY SELECT_TABLE metalake']}]]],
//   facts: ['ALLOW SELECT_TABLE table', 'ALLOW SELECT_TABLE metalake',
//     'DENY SELECT_TABLE table', 'DENY SELECT_TABLE metalake'], after: '', limit: 10000}
MATCH (before:Revision {root: $root})
WITH before.revision AS revision, before.begun AS begun
CALL () {
  UNWIND $needed AS ref MATCH (entity:Entity {root: $root, ref: ref}) WHERE coalesce(entity.exists, true)
  RETURN collect(ref) AS known
}
CALL () {
  WITH {subject: $subject, one_role: $one_role, as_role: $as_role} AS check
  CALL (check) {
    // 1 who acts: the subject with its groups and roles, all together or with one role at a time
    MATCH (subject:Entity {root: $root, ref: check.subject})-[:MEMBER_OF|HAS_ROLE*0..]->(principal)
    WITH subject, collect(DISTINCT principal) AS effective WHERE coalesce(subject.exists, true)
    CALL (check, subject, effective) {
      WITH * WHERE NOT check.one_role AND (check.as_role IS NULL OR check.as_role IN [role IN effective | role.ref])
      RETURN check.as_role AS role, effective AS principals
    UNION ALL
      UNWIND [role IN effective WHERE check.one_role AND (role.ref = check.as_role
              OR (check.as_role IS NULL AND EXISTS { (subject)-[:HAS_ROLE]->(role) }))] AS role
      MATCH (role)-[:HAS_ROLE*0..]->(principal)
      WITH role, collect(DISTINCT principal) AS roles
      RETURN role.ref AS role, [subject] + roles AS principals
    }
    RETURN subject, principals
  }
  CALL (principals) {
    // 2 what is granted where: first the facts that all objects share
    UNWIND $places AS place MATCH (entity:Entity {root: $root, ref: place.ref})
    UNWIND principals AS principal MATCH (principal)-[grant:ALLOW|DENY|OWNS]->(entity)
    RETURN type(grant) + ' ' + coalesce(grant.privilege + ' ', '') + place.name AS fact
  UNION
    UNWIND $places AS place MATCH (entity:Entity {root: $root, ref: place.ref})
    UNWIND [CASE WHEN coalesce(entity.exists, true) THEN 'EXISTS ' END, CASE WHEN entity.builtin THEN 'BUILTIN ' END,
            CASE WHEN entity IN principals THEN 'HOLDS ' END] AS property
    RETURN property + place.name AS fact
  }
  WITH subject, principals, $given + collect(fact) AS shared
  CALL (subject, principals, shared) {
    CALL (subject, principals) {
      // then the facts of each other place, and the root object, which stands for the shared facts
      UNWIND principals AS principal MATCH (principal)-[grant:ALLOW|DENY|OWNS]->(place) WHERE place.ref <> $top
      WITH place, type(grant) + ' ' + coalesce(grant.privilege + ' ', '') + place.type AS fact WHERE fact IN $facts
      RETURN place, fact
    UNION
      UNWIND principals AS place UNWIND CASE place WHEN subject THEN ['HOLDS ', 'IS '] ELSE ['HOLDS '] END AS property
      WITH place, property + place.type AS fact WHERE fact IN $facts RETURN place, fact
    UNION
      UNWIND $builtin AS type MATCH (place:Entity {root: $root, type: type}) WHERE place.builtin
      RETURN place, 'BUILTIN ' + type AS fact
    UNION
      MATCH (place:Entity {root: $root, ref: $top}) RETURN place, null AS fact
    UNION
      // rarely needed: what is granted below a place, and a grant on everything that exists there
      UNWIND CASE WHEN $below THEN principals ELSE [] END AS principal
      MATCH (principal)-[grant:ALLOW]->(inner)-[:CHILD_OF*1..]->(place)
      WITH place, 'ALLOW ' + grant.privilege + ' ' + inner.type + ' below ' + place.type AS fact WHERE fact IN $facts
      RETURN place, fact
    UNION
      UNWIND $every AS every MATCH (place:Entity {root: $root, type: every.name}) WHERE NOT EXISTS {
        (place)<-[:CHILD_OF*1..]-(inner) WHERE inner.type IN every.types AND coalesce(inner.exists, true) AND NOT EXISTS {
          (inner)<-[grant:ALLOW]-(grantee) WHERE grantee IN principals AND grant.privilege IN every.privileges } }
      RETURN place, every.fact AS fact
    }
    WITH place, collect(fact) AS granted
    MATCH (place)-[:CHILD_OF*0..]->(above) // each place inherits the facts of those above it
    WITH above, collect(place) AS inside, head(collect(CASE WHEN place = above THEN granted END)) AS granted
    UNWIND inside AS place
    WITH place, count(*) AS depth, head(collect(CASE WHEN place = above THEN granted END)) AS granted,
         reduce(all = [], some IN collect(CASE WHEN place <> above THEN granted END) | all + some) AS inherited
    WITH place, depth, $clauses AS clauses, shared + inherited AS inherited, granted
    WITH place, depth, [facts IN CASE place.ref WHEN $top THEN [] ELSE [inherited] END + [inherited + granted] |
      any(clause IN clauses WHERE all(term IN clause WHERE any(atom IN term WHERE
        // 3 the rule: one DENY beats every ALLOW
        any(fact IN atom.any WHERE fact IN facts) AND none(fact IN atom.none WHERE fact IN facts))))] AS verdicts
    // a place whose verdict differs from the one above it decides for everything inside; the deepest such place wins
    WITH place, depth, verdicts[-1] AS allowed WHERE verdicts[0] <> verdicts[-1] OR (size(verdicts) = 1 AND verdicts[0])
    UNWIND CASE WHEN place.ref = $top THEN COLLECT { MATCH (object:Entity {root: $root, type: $type}) RETURN object }
      ELSE COLLECT { MATCH (place)<-[:CHILD_OF*0..]-(object:Entity {type: $type}) RETURN object } END AS object
    WITH object, max([depth, allowed])[1] AS allowed
    WITH object.ref AS ref WHERE allowed AND ref > $after AND coalesce(object.exists, true)
    RETURN ref
  }
  WITH DISTINCT ref ORDER BY ref LIMIT toInteger($limit) RETURN collect(ref) AS answer
}
MATCH (after:Revision {root: $root})
RETURN known, answer, revision, begun, after.revision AS revision_after, after.begun AS begun_after,
  after.digest AS policy, after.made AS made
