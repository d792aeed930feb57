// who.cypher: which users are allowed to do something on one object? Complete, in byte order.
// Returns one row: known LIST OF STRING (those of $needed that exist), answer LIST OF STRING, revision, begun,
// revision_after, begun_after, due BOOLEAN (a fact has ended and must be removed first), policy STRING (the digest of
// the tenant's policy), made STRING (the creation id; it differs if the tenant was recreated)
// $root           STRING          'metalake:ml'
// $now            INTEGER         null for the server's clock, or the seconds since 1970
// $needed         LIST OF STRING  ['table:hr.public.staff'], what must exist: the object, second objects
// $places         LIST OF MAP     the object, its ancestors, second objects, roles that a clause names: name, ref
// $below          LIST OF MAP     places below which grants count: name, ref
// $every          LIST OF MAP     facts about all descendants of a place: fact, ref, types, privileges
// $clauses        LIST            a clause is a list of terms, a term a list of atoms. One clause must hold: all its
//                                 terms, each by one of its atoms
// $facts          LIST OF STRING  every fact that the clauses ask for
// $users          LIST OF STRING  ['user'], the types that are listed
// $acting         LIST OF STRING  ['user'], the types whose facts are combined: users, or roles one at a time
// $one_role       BOOLEAN         false: all that a user belongs to is combined; true: a single role must suffice
// $without_facts  BOOLEAN         whether a subject without facts of its own can be allowed
// $after          STRING          '', or the last reference of the previous page
// $limit          INTEGER         10000
// In Neo4j Browser run this first, without the slashes, then the whole file (`grantpath params` prints your own):
// :params {root: 'metalake:ml', now: null, needed: ['table:hr.public.staff'],
//   places: [{name: 'table', ref: 'table:hr.public.staff'}, {name: 'metalake', ref: 'metalake:ml'}],
//   below: [], every: [],
//   clauses: [[[{any: ['ALLOW SELECT_TABLE table', 'ALLOW SELECT_TABLE metalake'],
//     none: ['DENY SELECT_TABLE table', 'DENY SELECT_TABLE metalake']}]]],
//   facts: ['ALLOW SELECT_TABLE table', 'ALLOW SELECT_TABLE metalake',
//     'DENY SELECT_TABLE table', 'DENY SELECT_TABLE metalake'],
//   users: ['user'], acting: ['user'], one_role: false, without_facts: false, after: '', limit: 10000}
MATCH (before:Revision {root: $root})
WITH before.revision AS revision, before.begun AS begun
CALL () {
  UNWIND $needed AS ref MATCH (entity:Entity {root: $root, ref: ref}) WHERE coalesce(entity.exists, true)
  RETURN collect(ref) AS known
}
CALL () {
  CALL () {
    // 1 what is granted where: first the facts that all subjects share, the properties of the places
    UNWIND $places AS place MATCH (entity:Entity {root: $root, ref: place.ref})
    UNWIND [CASE WHEN coalesce(entity.exists, true) THEN 'EXISTS ' END,
            CASE WHEN entity.builtin THEN 'BUILTIN ' END] AS property
    WITH property + place.name AS fact WHERE fact IN $facts RETURN collect(fact) AS shared
  }
  CALL () {
    // then what each principal is granted, owns, or is
    UNWIND $places AS place MATCH (principal)-[grant:ALLOW|DENY|OWNS]->(:Entity {root: $root, ref: place.ref})
    WITH principal, type(grant) + ' ' + coalesce(grant.privilege + ' ', '') + place.name AS fact WHERE fact IN $facts
    RETURN principal, fact
  UNION
    UNWIND CASE WHEN any(fact IN $facts WHERE fact CONTAINS '#') THEN $places ELSE [] END AS place
    MATCH (:Entity {root: $root, ref: place.ref})-[:TAGGED]->(tag)<-[grant:ALLOW|DENY]-(principal)
    WITH principal, type(grant) + ' ' + grant.privilege + '#' + tag.type + ' ' + place.name AS fact WHERE fact IN $facts
    RETURN principal, fact
  UNION
    UNWIND [place IN $places WHERE 'HOLDS ' + place.name IN $facts] AS place
    MATCH (principal:Entity {root: $root, ref: place.ref}) RETURN principal, 'HOLDS ' + place.name AS fact
  UNION
    // rarely needed: principals without facts; what is granted below a place; a grant on everything that exists there
    UNWIND CASE WHEN $without_facts THEN $acting ELSE [] END AS type
    MATCH (principal:Entity {root: $root}) WHERE principal.ref STARTS WITH type + ':' RETURN principal, null AS fact
  UNION
    UNWIND $below AS place
    MATCH (principal)-[grant:ALLOW]->(inner)-[:CHILD_OF*1..]->(:Entity {root: $root, ref: place.ref})
    WITH principal, 'ALLOW ' + grant.privilege + ' ' + inner.type + ' below ' + place.name AS fact WHERE fact IN $facts
    RETURN principal, fact
  UNION
    UNWIND $every AS every UNWIND $acting AS type
    MATCH (principal:Entity {root: $root})-[:MEMBER_OF|HAS_ROLE*0..]->(effective) WHERE principal.ref STARTS WITH type + ':'
    WITH every, principal, collect(DISTINCT effective) AS principals
    MATCH (place:Entity {root: $root, ref: every.ref}) WHERE NOT EXISTS {
      (place)<-[:CHILD_OF*1..]-(inner) WHERE inner.type IN every.types AND coalesce(inner.exists, true) AND NOT EXISTS {
        (inner)<-[grant:ALLOW]-(grantee) WHERE grantee IN principals AND grant.privilege IN every.privileges } }
    RETURN principal, every.fact AS fact
  }
  WITH shared, principal, collect(fact) AS facts
  CALL (principal) {
    // 2 who acts: the users that belong to the principal; with one role at a time, the roles that belong to it
    MATCH (actor)-[:MEMBER_OF|HAS_ROLE*0..]->(principal) WHERE actor.type IN $acting AND coalesce(actor.exists, true)
    RETURN DISTINCT actor
  }
  UNWIND CASE facts WHEN [] THEN [null] ELSE facts END AS fact
  WITH shared, actor, collect(DISTINCT fact) AS facts
  UNWIND CASE WHEN NOT $one_role THEN [actor]
    ELSE [(user)-[:HAS_ROLE]->(actor) WHERE user.type IN $users AND coalesce(user.exists, true) | user] END AS user
  WITH user.ref AS ref, shared + facts AS facts
  WITH ref, facts + [place IN $places WHERE place.ref = ref | 'IS ' + place.name] AS facts, $clauses AS clauses
  WHERE ref > $after AND any(clause IN clauses WHERE all(term IN clause WHERE any(atom IN term WHERE
      // 3 the rule: one DENY beats every ALLOW
      any(fact IN atom.any WHERE fact IN facts) AND none(fact IN atom.none WHERE fact IN facts))))
  WITH DISTINCT ref ORDER BY ref LIMIT toInteger($limit) RETURN collect(ref) AS answer
}
MATCH (after:Revision {root: $root})
RETURN known, answer, revision, begun, after.revision AS revision_after, after.begun AS begun_after,
  coalesce(after.ends <= coalesce($now, datetime.realtime().epochSeconds), false) AS due,
  after.digest AS policy, after.made AS made
