// which.cypher: on which objects of a type may one subject do what is asked? Complete, in byte order; DENY wins.
// $root      STRING          'metalake:ml'
// $needed    LIST OF STRING  [], what must exist: second objects, the active role
// $top       STRING          'metalake:ml', the reference of the root object
// $subject   STRING          'user:bob'
// $type      STRING          'table'
// $clauses   LIST            any clause, all its terms, any atom of a term
// $facts     LIST OF STRING  every fact that the clauses look at
// $above     LIST OF STRING  ['table', 'schema', 'catalog', 'metalake'], the type and those above it
// $seconds   LIST OF MAP     second objects and what is above them: at, ref
// $one_role  BOOLEAN         false: all that the subject holds counts together; true: one of its roles must do alone
// $as_role   STRING          null, or the active role
// $named     LIST OF STRING  roles that a clause names
// $below     BOOLEAN         whether a clause looks at grants on descendants
// $every     LIST OF MAP     fact, at, types, privileges: each existing descendant must be granted
// $after     STRING          '', or the last reference of the page before
// $limit     INTEGER         10000
// Returns one row: known LIST OF STRING (those of $needed that exist), answer LIST OF STRING, revision, begun,
// revision_after, begun_after, policy STRING (the digest of the policy that the tenant remembers), made STRING (another
// where it is made again)
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', needed: [], top: 'metalake:ml', subject: 'user:bob', type: 'table', clauses: [[[{any: ['ALLOW SELECT_TABLE table', 'ALLOW SELECT_TABLE metalake'], none: ['DENY SELECT_TABLE table', 'DENY SELECT_TABLE metalake']}]]], facts: ['ALLOW SELECT_TABLE table', 'ALLOW SELECT_TABLE metalake', 'DENY SELECT_TABLE table', 'DENY SELECT_TABLE metalake'], above: ['table', 'schema', 'catalog', 'metalake'], seconds: [], one_role: false, as_role: null, named: [], below: false, every: [], after: '', limit: 10000}
MATCH (before:Revision {root: $root})
WITH before.revision AS revision, before.begun AS begun
CALL () {
  UNWIND $needed AS ref
  MATCH (entity:Entity {root: $root, ref: ref}) WHERE coalesce(entity.exists, true)
  RETURN collect(ref) AS known
}
CALL () {
  MATCH (subject:Entity {root: $root, ref: $subject}) WHERE coalesce(subject.exists, true)
  MATCH (subject)-[:MEMBER_OF|HAS_ROLE*0..]->(holder)
  WITH subject, collect(DISTINCT holder) AS held
  CALL (subject, held) {
    WITH * WHERE NOT $one_role AND ($as_role IS NULL OR any(role IN held WHERE role.ref = $as_role))
    RETURN held AS holders
  UNION ALL
    WITH * WHERE $one_role
    UNWIND [role IN held WHERE role.ref = $as_role
            OR $as_role IS NULL AND EXISTS { (subject)-[:HAS_ROLE]->(role) }] AS hat
    MATCH (hat)-[:HAS_ROLE*0..]->(holder)
    WITH subject, hat, collect(DISTINCT holder) AS own
    RETURN [subject] + own AS holders
  }
  WITH subject, holders
  // the facts on the way up that all objects share: on the root, of second objects, of named roles
  CALL (holders) {
    UNWIND $seconds + [{at: $above[-1], ref: $top}] AS place
    MATCH (object:Entity {root: $root, ref: place.ref})
    UNWIND holders AS holder
    MATCH (holder)-[grant:ALLOW|DENY|OWNS]->(object)
    RETURN type(grant) + ' ' + coalesce(grant.privilege + ' ', '') + place.at AS fact
  UNION
    UNWIND holders AS holder
    UNWIND $named AS name
    WITH holder, name WHERE holder.ref = name
    RETURN 'HOLDS =' + name AS fact
  UNION
    UNWIND $above AS type
    RETURN 'EXISTS ' + type AS fact
  UNION
    UNWIND $seconds AS place
    MATCH (object:Entity {root: $root, ref: place.ref})
    UNWIND [CASE WHEN coalesce(object.exists, true) THEN 'EXISTS ' END, CASE WHEN object.builtin THEN 'BUILTIN ' END,
            CASE WHEN object IN holders THEN 'HOLDS ' END] AS word
    WITH place, word WHERE word IS NOT NULL
    RETURN word + place.at AS fact
  }
  WITH subject, holders, collect(fact) AS shared
  CALL (subject, holders, shared) {
    CALL (subject, holders, shared) {
      // the others, each with the place it is about
      CALL (subject, holders) {
        UNWIND holders AS holder
        MATCH (holder)-[grant:ALLOW|DENY|OWNS]->(place) WHERE place.ref <> $top
        WITH place, type(grant) + ' ' + coalesce(grant.privilege + ' ', '') + place.type AS fact WHERE fact IN $facts
        RETURN place, fact
      UNION
        UNWIND holders AS place
        UNWIND ['HOLDS '] + CASE WHEN place = subject THEN ['IS '] ELSE [] END AS word
        WITH place, word + place.type AS fact WHERE fact IN $facts
        RETURN place, fact
      UNION
        UNWIND [type IN $above WHERE 'BUILTIN ' + type IN $facts] AS type
        MATCH (place:Entity {root: $root, type: type}) WHERE place.builtin
        RETURN place, 'BUILTIN ' + type AS fact
      UNION
        UNWIND CASE WHEN $below THEN holders ELSE [] END AS holder
        MATCH (holder)-[grant:ALLOW]->(inner)-[:CHILD_OF*1..]->(place)
        WITH place, 'ALLOW ' + grant.privilege + ' ' + inner.type + ' below ' + place.type AS fact WHERE fact IN $facts
        RETURN place, fact
      UNION
        UNWIND $every AS every
        MATCH (place:Entity {root: $root, type: every.at})
        WHERE NOT EXISTS {
          MATCH (place)<-[:CHILD_OF*1..]-(inner)
          WHERE inner.type IN every.types AND coalesce(inner.exists, true) AND NOT EXISTS {
            MATCH (inner)<-[grant:ALLOW]-(holder) WHERE holder IN holders AND grant.privilege IN every.privileges }
        }
        RETURN place, every.fact AS fact
      }
      WITH place, collect(fact) AS own
      // what each place inherits
      MATCH (place)-[:CHILD_OF*0..]->(above)
      WITH above, collect(place) AS inside, collect(CASE WHEN place = above THEN own END) AS own
      UNWIND inside AS place
      WITH place, count(*) AS depth, collect(CASE WHEN place = above THEN own[0] END)[0] AS own,
           reduce(all = [], some IN collect(CASE WHEN place <> above THEN own[0] END) | all + some) AS inherited
      WITH place, depth, [facts IN [shared + inherited, shared + inherited + own] |
        any(clause IN $clauses WHERE all(term IN clause WHERE any(atom IN term WHERE
          any(fact IN atom.any WHERE fact IN facts) AND none(fact IN atom.none WHERE fact IN facts))))] AS verdicts
      // where the answer differs from the one above, it holds for what is inside; the deepest wins
      WITH place, depth, verdicts[1] AS allowed WHERE verdicts[0] <> verdicts[1]
      MATCH (place)<-[:CHILD_OF*0..]-(object:Entity {type: $type})
      RETURN object, depth, allowed
    UNION ALL
      WITH shared AS facts
      WHERE any(clause IN $clauses WHERE all(term IN clause WHERE any(atom IN term WHERE
              any(fact IN atom.any WHERE fact IN facts) AND none(fact IN atom.none WHERE fact IN facts))))
      MATCH (object:Entity {root: $root, type: $type})
      RETURN object, 0 AS depth, true AS allowed
    }
    WITH object, max(2 * depth + CASE WHEN allowed THEN 1 ELSE 0 END) % 2 = 1 AS allowed
    WITH object.ref AS ref WHERE allowed AND ref > $after AND coalesce(object.exists, true)
    RETURN ref
  }
  WITH DISTINCT ref ORDER BY ref LIMIT toInteger($limit)
  RETURN collect(ref) AS answer
}
MATCH (after:Revision {root: $root})
RETURN known, answer, revision, begun, after.revision AS revision_after, after.begun AS begun_after,
  after.digest AS policy, after.made AS made
