// check.cypher: is each subject allowed to do what it asks for? A batch of checks on one state of the graph.
// Returns one row: answers LIST OF MAP (index; known: those of `needed` that exist; acting, with one entry for all
// principals together, or one for each role: role, allowed, found: fact, by), revision, begun, revision_after,
// begun_after, policy STRING (the digest of the tenant's policy), made STRING (the creation id; it differs if the tenant
// was recreated)
// $root        STRING       'metalake:ml'
// $checks      LIST OF MAP  index (in this list), subject, needed (references that must exist), places (the object, its
//                           ancestors, second objects: name, ref, the privileges and properties that matter there),
//                           condition (its index in $conditions), one_role (must a single role suffice?),
//                           as_role (null, or the active role), below (places below which grants count: name, ref),
//                           every (facts about all descendants of a place: fact, ref, types, privileges)
// $conditions  LIST         a condition is a list of clauses, a clause a list of terms, a term a list of atoms. One clause
//                           of a condition must hold: all its terms, each by one of its atoms
// In Neo4j Browser run this first, without the slashes, then the whole file (`grantpath params` prints your own):
// :params {root: 'metalake:ml',
//   checks: [{index: 0, subject: 'user:bob', needed: ['table:hr.public.staff'], places: [
//       {name: 'table', ref: 'table:hr.public.staff', privileges: ['SELECT_TABLE'], properties: []},
//       {name: 'metalake', ref: 'metalake:ml', privileges: ['SELECT_TABLE'], properties: []}],
//     condition: 0, one_role: false, as_role: null, below: [], every: []}],
//   conditions: [[[[{any: ['ALLOW SELECT_TABLE table', 'ALLOW SELECT_TABLE metalake'],
//     none: ['DENY SELECT_TABLE table', 'DENY SELECT_TABLE metalake']}]]]]}
MATCH (before:Revision {root: $root})
WITH before.revision AS revision, before.begun AS begun
CALL () {
  UNWIND $checks AS check
  WITH check, $conditions[toInteger(check.condition)] AS clauses
  CALL (check) {
    UNWIND check.needed AS ref MATCH (entity:Entity {root: $root, ref: ref}) WHERE coalesce(entity.exists, true)
    RETURN collect(ref) AS known
  }
  CALL (check, clauses) {
    // 1 who acts: the subject with its groups and roles, all together or with one role at a time
    MATCH (subject:Entity {root: $root, ref: check.subject})-[:MEMBER_OF|HAS_ROLE*0..]->(principal)
    WITH subject, collect(DISTINCT principal) AS effective WHERE coalesce(subject.exists, true)
    UNWIND CASE
      WHEN check.one_role THEN [role IN effective WHERE role.ref = check.as_role
        OR (check.as_role IS NULL AND EXISTS { (subject)-[:HAS_ROLE]->(role) })]
      WHEN check.as_role IS NULL OR check.as_role IN [role IN effective | role.ref] THEN [null] ELSE [] END AS role
    CALL (role) { MATCH (role)-[:HAS_ROLE*0..]->(each) RETURN collect(DISTINCT each) AS roles }
    WITH subject, role, CASE WHEN role IS NULL THEN effective ELSE [subject] + roles END AS principals
    OPTIONAL CALL (check, subject, principals) {
      // 2 what is granted to them and owned by them on each place, read from the end that has fewer edges
      UNWIND check.places AS place MATCH (entity:Entity {root: $root, ref: place.ref})
      UNWIND CASE WHEN size(principals) * 4 < COUNT { (entity)<-[:ALLOW|DENY|OWNS]-() }
        THEN COLLECT { UNWIND principals AS principal MATCH (principal)-[grant:ALLOW|DENY|OWNS]->(entity) RETURN grant }
        ELSE [(principal)-[grant:ALLOW|DENY|OWNS]->(entity) WHERE principal IN principals | grant] END AS grant
      WITH place, grant WHERE coalesce(grant.privilege, 'OWNS') IN place.privileges
      RETURN type(grant) + ' ' + coalesce(grant.privilege + ' ', '') + place.name AS fact, startNode(grant).ref AS by
    UNION ALL
      // the properties of each place that matter; IS and HOLDS: the subject is the place, or belongs to it
      UNWIND check.places AS place UNWIND place.properties AS property
      MATCH (entity:Entity {root: $root, ref: place.ref})
      WHERE CASE property WHEN 'EXISTS' THEN coalesce(entity.exists, true) WHEN 'BUILTIN' THEN entity.builtin
        WHEN 'IS' THEN entity = subject ELSE entity IN principals END
      RETURN property + ' ' + place.name AS fact, null AS by
    UNION ALL
      // rarely needed: what is granted to them below a place, and a grant on everything that exists there
      UNWIND check.below AS place UNWIND principals AS principal
      MATCH (principal)-[grant:ALLOW]->(inner)-[:CHILD_OF*1..]->(:Entity {root: $root, ref: place.ref})
      RETURN DISTINCT 'ALLOW ' + grant.privilege + ' ' + inner.type + ' below ' + place.name AS fact, principal.ref AS by
    UNION ALL
      UNWIND check.every AS every MATCH (place:Entity {root: $root, ref: every.ref}) WHERE NOT EXISTS {
        (place)<-[:CHILD_OF*1..]-(inner) WHERE inner.type IN every.types AND coalesce(inner.exists, true) AND NOT EXISTS {
          (inner)<-[grant:ALLOW]-(grantee) WHERE grantee IN principals AND grant.privilege IN every.privileges } }
      RETURN every.fact AS fact, null AS by
    }
    WITH role, collect(fact) AS facts, collect(CASE WHEN fact IS NOT NULL THEN {fact: fact, by: by} END) AS found
    RETURN collect({role: coalesce(role.ref, check.as_role), found: found, allowed:
      any(clause IN clauses WHERE all(term IN clause WHERE any(atom IN term WHERE
        // 3 the rule: one DENY beats every ALLOW
        any(fact IN atom.any WHERE fact IN facts) AND none(fact IN atom.none WHERE fact IN facts))))}) AS acting
  }
  RETURN collect({index: check.index, known: known, acting: acting}) AS answers
}
MATCH (after:Revision {root: $root})
RETURN answers, revision, begun, after.revision AS revision_after, after.begun AS begun_after,
  after.digest AS policy, after.made AS made
