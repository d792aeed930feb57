// who.cypher: which users may do what is asked on one object? Complete, in byte order; DENY wins over ALLOW.
// $root      STRING          'metalake:ml'
// $needed    LIST OF STRING  ['table:hr.public.staff'], what must exist: the object, second objects
// $places    LIST OF MAP     the object, what is above it, second objects: at, ref
// $clauses   LIST            any clause, all its terms, any atom of a term
// $facts     LIST OF STRING  every fact that the clauses look at
// $users     LIST OF STRING  ['user'], the types that are listed
// $acting    LIST OF STRING  ['user'], the types whose facts count together: the users, or one role at a time
// $one_role  BOOLEAN         false: all that a user holds counts together; true: one of his roles must do alone
// $named     LIST OF STRING  roles that a clause names
// $below     LIST OF MAP     places whose descendants a clause looks at: at, ref
// $every     LIST OF MAP     fact, ref, types, privileges: each existing descendant must be granted
// $everyone  BOOLEAN         whether somebody without any fact might be allowed
// $after     STRING          '', or the last reference of the page before
// $limit     INTEGER         10000
// Returns one row: known LIST OF STRING (those of $needed that exist), answer LIST OF STRING, revision, begun,
// revision_after, begun_after, policy STRING (the digest of the policy that the tenant remembers), made STRING (another
// where it is made again)
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', needed: ['table:hr.public.staff'], places: [{at: 'table', ref: 'table:hr.public.staff'}, {at: 'metalake', ref: 'metalake:ml'}], clauses: [[[{any: ['ALLOW SELECT_TABLE table', 'ALLOW SELECT_TABLE metalake'], none: ['DENY SELECT_TABLE table', 'DENY SELECT_TABLE metalake']}]]], facts: ['ALLOW SELECT_TABLE table', 'ALLOW SELECT_TABLE metalake', 'DENY SELECT_TABLE table', 'DENY SELECT_TABLE metalake'], users: ['user'], acting: ['user'], one_role: false, named: [], below: [], every: [], everyone: false, after: '', limit: 10000}
MATCH (before:Revision {root: $root})
WITH before.revision AS revision, before.begun AS begun
CALL () {
  UNWIND $needed AS ref
  MATCH (entity:Entity {root: $root, ref: ref}) WHERE coalesce(entity.exists, true)
  RETURN collect(ref) AS known
}
CALL () {
  CALL () {
    UNWIND $places AS place
    MATCH (object:Entity {root: $root, ref: place.ref})
    UNWIND [CASE WHEN coalesce(object.exists, true) THEN 'EXISTS ' END, CASE WHEN object.builtin THEN 'BUILTIN ' END] AS word
    WITH word + place.at AS fact WHERE fact IN $facts
    RETURN collect(fact) AS given
  }
  CALL () {
    // the facts, each with who has it
    UNWIND $places AS place
    MATCH (holder)-[grant:ALLOW|DENY|OWNS]->(:Entity {root: $root, ref: place.ref})
    WITH holder, type(grant) + ' ' + coalesce(grant.privilege + ' ', '') + place.at AS fact WHERE fact IN $facts
    RETURN holder, fact
  UNION
    UNWIND $places + [name IN $named | {at: '=' + name, ref: name}] AS place
    WITH place, 'HOLDS ' + place.at AS fact WHERE fact IN $facts
    MATCH (holder:Entity {root: $root, ref: place.ref})
    RETURN holder, fact
  UNION
    UNWIND $below AS place
    MATCH (holder)-[grant:ALLOW]->(inner)-[:CHILD_OF*1..]->(:Entity {root: $root, ref: place.ref})
    WITH holder, 'ALLOW ' + grant.privilege + ' ' + inner.type + ' below ' + place.at AS fact WHERE fact IN $facts
    RETURN holder, fact
  UNION
    UNWIND CASE WHEN $everyone THEN $acting ELSE [] END AS type
    MATCH (holder:Entity {root: $root, type: type})
    RETURN holder, null AS fact
  UNION
    UNWIND $every AS every
    UNWIND $acting AS type
    MATCH (holder:Entity {root: $root, type: type})
    MATCH (place:Entity {root: $root, ref: every.ref})
    MATCH (holder)-[:MEMBER_OF|HAS_ROLE*0..]->(source)
    WITH every, place, holder, collect(DISTINCT source) AS sources
    WHERE NOT EXISTS {
      MATCH (place)<-[:CHILD_OF*1..]-(inner)
      WHERE inner.type IN every.types AND coalesce(inner.exists, true) AND NOT EXISTS {
        MATCH (inner)<-[grant:ALLOW]-(source) WHERE source IN sources AND grant.privilege IN every.privileges }
    }
    RETURN holder, every.fact AS fact
  }
  WITH given, holder, collect(fact) AS facts
  // handed down to whoever acts, then to the users
  CALL (holder) {
    MATCH (hat)-[:MEMBER_OF|HAS_ROLE*0..]->(holder) WHERE hat.type IN $acting AND coalesce(hat.exists, true)
    RETURN DISTINCT hat
  }
  UNWIND CASE facts WHEN [] THEN [null] ELSE facts END AS fact
  WITH given, hat, collect(DISTINCT fact) AS facts
  CALL (hat) {
    WITH hat WHERE NOT $one_role
    RETURN hat AS user
  UNION
    WITH hat WHERE $one_role
    MATCH (user)-[:HAS_ROLE]->(hat) WHERE user.type IN $users AND coalesce(user.exists, true)
    RETURN user
  }
  WITH user, given + facts + [place IN $places WHERE place.ref = user.ref | 'IS ' + place.at] AS facts
  WITH user.ref AS ref, facts WHERE ref > $after AND
        any(clause IN $clauses WHERE all(term IN clause WHERE any(atom IN term WHERE
          any(fact IN atom.any WHERE fact IN facts) AND none(fact IN atom.none WHERE fact IN facts))))
  WITH DISTINCT ref ORDER BY ref LIMIT toInteger($limit)
  RETURN collect(ref) AS answer
}
MATCH (after:Revision {root: $root})
RETURN known, answer, revision, begun, after.revision AS revision_after, after.begun AS begun_after,
  after.digest AS policy, after.made AS made
