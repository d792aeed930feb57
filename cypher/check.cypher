// check.cypher: may each subject do what is asked? A batch of checks on one state of the graph; DENY wins over ALLOW.
// $root        STRING          'metalake:ml'
// $checks      LIST OF MAP     index (its place in this list), subject, needed (what must exist), places (the object, what
//                              is above it, second objects: at, ref, edges and marks that count there), condition (its
//                              index in $conditions), one_role, as_role, named (roles to hold), below, every
//                              (descendants)
// $conditions  LIST            conditions of clauses of terms of atoms: any clause, all its terms, any atom of a term
// Returns one row: answers LIST OF MAP (index, known, hats: role, allowed, found), revision, begun, revision_after,
// begun_after, policy STRING (the digest of the policy that the tenant remembers), made STRING (another where it is made
// again)
// In Neo4j Browser run this line first, then the whole file (`grantpath params` prints it for a question of yours):
// :params {root: 'metalake:ml', checks: [{index: 0, subject: 'user:bob', needed: ['table:hr.public.staff'], places: [{at: 'table', ref: 'table:hr.public.staff', edges: ['SELECT_TABLE'], marks: []}, {at: 'metalake', ref: 'metalake:ml', edges: ['SELECT_TABLE'], marks: []}], condition: 0, one_role: false, as_role: null, named: [], below: [], every: []}], conditions: [[[[{any: ['ALLOW SELECT_TABLE table', 'ALLOW SELECT_TABLE metalake'], none: ['DENY SELECT_TABLE table', 'DENY SELECT_TABLE metalake']}]]]]}
MATCH (before:Revision {root: $root})
WITH before.revision AS revision, before.begun AS begun
CALL () {
  UNWIND $checks AS check
  CALL (check) {
    UNWIND check.needed AS ref
    MATCH (entity:Entity {root: $root, ref: ref}) WHERE coalesce(entity.exists, true)
    RETURN collect(ref) AS known
  }
  CALL (check) {
    MATCH (subject:Entity {root: $root, ref: check.subject}) WHERE coalesce(subject.exists, true)
    CALL (subject) {
      MATCH (subject)-[:MEMBER_OF|HAS_ROLE*0..]->(holder)
      RETURN collect(DISTINCT holder) AS held
    }
    // who acts: the subject with all it holds, or with one role at a time
    CALL (check, subject, held) {
      WITH * WHERE NOT check.one_role AND (check.as_role IS NULL OR any(role IN held WHERE role.ref = check.as_role))
      RETURN check.as_role AS role, held AS holders
    UNION ALL
      WITH * WHERE check.one_role
      UNWIND [role IN held WHERE role.ref = check.as_role
              OR check.as_role IS NULL AND EXISTS { (subject)-[:HAS_ROLE]->(role) }] AS hat
      MATCH (hat)-[:HAS_ROLE*0..]->(holder)
      WITH subject, hat, collect(DISTINCT holder) AS own
      RETURN hat.ref AS role, [subject] + own AS holders
    }
    CALL (check, subject, holders) {
      CALL (check, subject, holders) {
        UNWIND check.places AS place
        MATCH (object:Entity {root: $root, ref: place.ref})
        WITH *, size(holders) * 4 < COUNT { (object)<-[:ALLOW|DENY|OWNS]-() } AS crowded
        // the edges: from the end that has fewer
        CALL (subject, holders, place, object, crowded) {
          WITH * WHERE NOT crowded
          MATCH (holder)-[grant:ALLOW|DENY|OWNS]->(object)
          WHERE coalesce(grant.privilege, 'OWNS') IN place.edges AND holder IN holders
          RETURN type(grant) + ' ' + coalesce(grant.privilege + ' ', '') + place.at AS fact, holder.ref AS by
        UNION ALL
          WITH * WHERE crowded
          UNWIND holders AS holder
          MATCH (holder)-[grant:ALLOW|DENY|OWNS]->(object) WHERE coalesce(grant.privilege, 'OWNS') IN place.edges
          RETURN type(grant) + ' ' + coalesce(grant.privilege + ' ', '') + place.at AS fact, holder.ref AS by
        UNION ALL
          UNWIND place.marks AS mark
          WITH subject, holders, place, object, mark WHERE CASE mark
            WHEN 'EXISTS' THEN coalesce(object.exists, true) WHEN 'BUILTIN' THEN coalesce(object.builtin, false)
            WHEN 'IS' THEN object = subject ELSE object IN holders END
          RETURN mark + ' ' + place.at AS fact, null AS by
        }
        RETURN fact, by
      UNION ALL
        UNWIND check.named AS name
        UNWIND holders AS holder
        WITH name, holder WHERE holder.ref = name
        RETURN 'HOLDS =' + name AS fact, null AS by
      UNION ALL
        UNWIND check.below AS place
        UNWIND holders AS holder
        MATCH (holder)-[grant:ALLOW]->(inner)-[:CHILD_OF*1..]->(:Entity {root: $root, ref: place.ref})
        RETURN DISTINCT 'ALLOW ' + grant.privilege + ' ' + inner.type + ' below ' + place.at AS fact, holder.ref AS by
      UNION ALL
        UNWIND check.every AS every
        MATCH (place:Entity {root: $root, ref: every.ref})
        WHERE NOT EXISTS {
          MATCH (place)<-[:CHILD_OF*1..]-(inner)
          WHERE inner.type IN every.types AND coalesce(inner.exists, true) AND NOT EXISTS {
            MATCH (inner)<-[grant:ALLOW]-(holder) WHERE holder IN holders AND grant.privilege IN every.privileges }
        }
        RETURN every.fact AS fact, null AS by
      }
      RETURN collect({fact: fact, by: by}) AS found, collect(fact) AS facts
    }
    WITH role, found, facts, $conditions[toInteger(check.condition)] AS clauses
    RETURN collect({role: role, found: found, allowed:
      any(clause IN clauses WHERE all(term IN clause WHERE any(atom IN term WHERE
        any(fact IN atom.any WHERE fact IN facts) AND none(fact IN atom.none WHERE fact IN facts))))}) AS hats
  }
  RETURN collect({index: check.index, known: known, hats: hats}) AS answers
}
MATCH (after:Revision {root: $root})
RETURN answers, revision, begun, after.revision AS revision_after, after.begun AS begun_after,
  after.digest AS policy, after.made AS made
