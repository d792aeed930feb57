// check.cypher: is each subject allowed to do what it asks for? A batch of checks on one state of the graph.
// Returns one row: answers LIST OF MAP (index; known: those of `needed` that exist; acting, with one entry for all
// principals together, or one for each role: role, allowed, found: fact, by: the principals that have it; if they are
// those of this fact of another check, as_in, the index of that check, in place of by), revision, begun,
// revision_after, begun_after, due BOOLEAN (a fact has ended and must be removed first), policy STRING (the digest of
// the tenant's policy), made STRING (the creation id; it differs if the tenant was recreated)
// $root        STRING       'metalake:ml'
// $now         INTEGER      null for the server's clock, or the seconds since 1970
// $checks      LIST OF MAP  index (in this list), subject, needed (references that must exist), places (the object, its
//                           ancestors, second objects: name, ref, the privileges and properties that matter there),
//                           condition (its index in $conditions), one_role (must a single role suffice?),
//                           as_role (null, or the active role), below (places below which grants count: name, ref),
//                           every (facts about all descendants of a place: fact, ref, types, privileges)
// $conditions  LIST         a condition is a list of clauses, a clause a list of terms, a term a list of atoms. One clause
//                           of a condition must hold: all its terms, each by one of its atoms
// In Neo4j Browser run this first, without the slashes, then the whole file (`grantpath params` prints your own):
// :params {root: 'metalake:ml', now: null,
//   checks: [{index: 0, subject: 'user:bob', needed: ['table:hr.public.staff'], places: [
//       {name: 'table', ref: 'table:hr.public.staff', privileges: ['SELECT_TABLE'], properties: []},
//       {name: 'metalake', ref: 'metalake:ml', privileges: ['SELECT_TABLE'], properties: []}],
//     condition: 0, one_role: false, as_role: null, below: [], every: []}],
//   conditions: [[[[{any: ['ALLOW SELECT_TABLE table', 'ALLOW SELECT_TABLE metalake'],
//     none: ['DENY SELECT_TABLE table', 'DENY SELECT_TABLE metalake']}]]]]}
MATCH (before:Revision {root: $root})
WITH before.revision AS revision, before.begun AS begun
CALL () {
  // the checks of one subject together: what they share is read once, however many they are
  UNWIND $checks AS check
  WITH {subject: check.subject, one_role: check.one_role, as_role: check.as_role} AS check, collect(check) AS checks
  CALL (check, checks) {
    UNWIND checks AS each RETURN each.index AS index, null AS acting
  UNION ALL
    // 1 who acts: the subject with its groups and roles, all together or with one role at a time
    MATCH (subject:Entity {root: $root, ref: check.subject})-[:MEMBER_OF|HAS_ROLE*0..]->(principal)
    WITH subject, collect(DISTINCT principal) AS effective WHERE coalesce(subject.exists, true)
    UNWIND CASE
      WHEN check.one_role THEN [role IN effective WHERE role.ref = check.as_role
        OR (check.as_role IS NULL AND EXISTS { (subject)-[:HAS_ROLE]->(role) })]
      WHEN check.as_role IS NULL OR check.as_role IN [role IN effective | role.ref] THEN [null] ELSE [] END AS role
    CALL (role) { MATCH (role)-[:HAS_ROLE*0..]->(each) RETURN collect(DISTINCT each) AS roles }
    WITH subject, role, CASE WHEN role IS NULL THEN effective ELSE roles END AS principals
    CALL (checks, subject, principals) {
      // 2 the places of all these checks, each once, with the checks that ask for it
      UNWIND checks AS each UNWIND each.places AS place
      WITH place, collect(each.index) AS indexes
      WITH place.ref AS ref, collect({place: place, indexes: indexes}) AS asked
      MATCH (entity:Entity {root: $root, ref: ref})
      CALL (subject, principals, asked, entity) {
        // what is granted to them and owned by them there, read from the end that has fewer edges, and who has it
        WITH reduce(all = [], each IN asked | all + each.place.privileges) AS wanted
        UNWIND CASE WHEN size(principals) * 4 < COUNT { (entity)<-[:ALLOW|DENY|OWNS]-() }
          THEN COLLECT { UNWIND principals AS principal MATCH (principal)-[grant:ALLOW|DENY|OWNS]->(entity) RETURN grant }
          ELSE [(principal)-[grant:ALLOW|DENY|OWNS]->(entity) WHERE principal IN principals | grant] END AS grant
        WITH grant WHERE coalesce(grant.privilege, 'OWNS') IN wanted
        WITH type(grant) + ' ' + coalesce(grant.privilege + ' ', '') AS granted, coalesce(grant.privilege, 'OWNS') AS privilege,
          collect(startNode(grant).ref) AS by
        UNWIND [each IN asked WHERE privilege IN each.place.privileges] AS each
        RETURN granted + each.place.name AS fact, collect(by)[0] AS by, collect(each.indexes) AS askers
      UNION ALL
        // what is granted to them on the tags of the place
        UNWIND asked AS each
        WITH each, [privilege IN each.place.privileges WHERE privilege CONTAINS '#'] AS wanted WHERE wanted <> []
        MATCH (entity)-[:TAGGED]->(tag)<-[grant:ALLOW|DENY]-(principal)
        WHERE grant.privilege + '#' + tag.type IN wanted AND principal IN principals
        WITH each, type(grant) + ' ' + grant.privilege + '#' + tag.type + ' ' AS granted, collect(DISTINCT principal.ref) AS by
        RETURN granted + each.place.name AS fact, by, [each.indexes] AS askers
      UNION ALL
        // the properties of the place that matter; IS and HOLDS: the subject is the place, or belongs to it
        UNWIND asked AS each UNWIND each.place.properties AS property
        WITH each, property WHERE CASE property WHEN 'EXISTS' THEN coalesce(entity.exists, true) WHEN 'BUILTIN' THEN entity.builtin
          WHEN 'IS' THEN entity = subject ELSE entity IN principals END
        RETURN property + ' ' + each.place.name AS fact, [] AS by, [each.indexes] AS askers
      }
      RETURN fact, by, askers
    UNION ALL
      // rarely needed: what is granted to them below a place, and a grant on everything that exists there
      CALL (checks, principals) {
        UNWIND checks AS each UNWIND each.below AS below
        WITH below, collect(each.index) AS indexes
        MATCH (place:Entity {root: $root, ref: below.ref})
        RETURN place, {name: below.name, indexes: indexes} AS asked, null AS granted
      UNION ALL
        UNWIND CASE WHEN any(each IN checks WHERE each.below <> []) THEN principals ELSE [] END AS principal
        MATCH (principal)-[grant:ALLOW]->(inner)-[:CHILD_OF*1..]->(place)
        WITH place, grant.privilege AS privilege, inner.type AS type, collect(DISTINCT principal) AS by
        RETURN place, null AS asked, {fact: 'ALLOW ' + privilege + ' ' + type + ' below ', by: by} AS granted
      }
      WITH place, collect(asked) AS asked, collect(granted) AS granted
      UNWIND asked AS each UNWIND granted AS grant
      RETURN grant.fact + each.name AS fact, [principal IN grant.by | principal.ref] AS by, [each.indexes] AS askers
    UNION ALL
      UNWIND checks AS each UNWIND each.every AS every
      WITH every, collect(each.index) AS indexes
      MATCH (place:Entity {root: $root, ref: every.ref}) WHERE NOT EXISTS {
        (place)<-[:CHILD_OF*1..]-(inner) WHERE inner.type IN every.types AND coalesce(inner.exists, true) AND NOT EXISTS {
          (inner)<-[grant:ALLOW]-(grantee) WHERE grantee IN principals AND grant.privilege IN every.privileges } }
      RETURN every.fact AS fact, [] AS by, [indexes] AS askers
    UNION ALL
      RETURN null AS fact, null AS by, [[each IN checks | each.index]] AS askers
    }
    UNWIND askers AS indexes UNWIND indexes AS index
    WITH role, index, collect(fact) AS facts, collect(CASE WHEN fact IS NOT NULL
      THEN CASE index WHEN askers[0][0] THEN {fact: fact, by: by} ELSE {fact: fact, as_in: askers[0][0]} END END) AS found,
      $conditions[toInteger($checks[toInteger(index)].condition)] AS clauses
    RETURN index, {role: coalesce(role.ref, check.as_role), found: found, allowed:
      any(clause IN clauses WHERE all(term IN clause WHERE any(atom IN term WHERE
        // 3 the rule: one DENY beats every ALLOW
        any(fact IN atom.any WHERE fact IN facts) AND none(fact IN atom.none WHERE fact IN facts))))} AS acting
  }
  WITH index, collect(acting) AS acting
  CALL (index) {
    UNWIND $checks[toInteger(index)].needed AS ref MATCH (entity:Entity {root: $root, ref: ref}) WHERE coalesce(entity.exists, true)
    RETURN collect(ref) AS known
  }
  RETURN collect({index: index, known: known, acting: acting}) AS answers
}
MATCH (after:Revision {root: $root})
RETURN answers, revision, begun, after.revision AS revision_after, after.begun AS begun_after,
  coalesce(after.ends <= coalesce($now, datetime.realtime().epochSeconds), false) AS due,
  after.digest AS policy, after.made AS made
