// revocation_facts.cypher: the facts that a smallest revocation needs in addition to those of the check: grants below places,
// and possible new owners.
// Returns one row: grants LIST OF MAP (fact, ref, exists, privilege, by: what is granted below the places), tagged LIST
// OF MAP (fact, by, tag: what is granted on tags), owners LIST OF MAP (ref, owner: for each of $owned one possible new
// owner, which the subject neither is nor belongs to: the owner of the nearest object above, otherwise the first in
// byte order of the first type that has one; an object without a possible owner is omitted), revision, begun,
// revision_after, begun_after, due BOOLEAN (a fact has ended and must be removed first), policy STRING (the digest of
// the tenant's policy), made STRING (the creation id; it differs if the tenant was recreated)
// $root     STRING          'metalake:ml'
// $now      INTEGER         null for the server's clock, or the seconds since 1970
// $subject  STRING          'user:bob'
// $below    LIST OF MAP     facts about descendants: fact, ref, types, privileges
// $tagged   LIST OF MAP     facts about the tags of places: fact, ref, privilege, type (of the tag)
// $owned    LIST OF MAP     the objects whose owner might change: ref, types (those of possible owners)
// $hidden   LIST OF STRING  [], references that cannot be owners
// In Neo4j Browser run this first, without the slashes, then the whole file:
// :params {root: 'metalake:ml', now: null, subject: 'user:ann', tagged: [], owned: [{ref: 'catalog:hr', types: ['user', 'group']}], hidden: [],
//   below: [{fact: 'ALLOW SELECT_TABLE table below catalog', ref: 'catalog:hr', types: ['table'],
//     privileges: ['SELECT_TABLE']}]}
MATCH (before:Revision {root: $root})
WITH before.revision AS revision, before.begun AS begun
CALL () {
  // 1 the subject with its groups and roles
  MATCH (subject:Entity {root: $root, ref: $subject})
  MATCH (subject)-[:MEMBER_OF|HAS_ROLE*0..]->(principal)
  RETURN collect(DISTINCT principal) AS principals
}
CALL (principals) {
  // 2 what is granted to them below the places
  UNWIND $below AS place
  MATCH (:Entity {root: $root, ref: place.ref})<-[:CHILD_OF*1..]-(inner) WHERE inner.type IN place.types
  MATCH (inner)<-[grant:ALLOW]-(principal) WHERE grant.privilege IN place.privileges AND principal IN principals
  RETURN collect({fact: place.fact, ref: inner.ref, exists: coalesce(inner.exists, true), privilege: grant.privilege,
    by: principal.ref}) AS grants
}
CALL (principals) {
  // 3 what is granted to them on the tags of places
  UNWIND $tagged AS asked
  MATCH (:Entity {root: $root, ref: asked.ref})-[:TAGGED]->(tag)<-[grant:ALLOW]-(principal)
  WHERE tag.type = asked.type AND grant.privilege = asked.privilege AND principal IN principals
  RETURN collect({fact: asked.fact, by: principal.ref, tag: tag.ref}) AS tagged
}
CALL (principals) {
  // 4 who could own an object instead
  UNWIND $owned AS owned
  MATCH (object:Entity {root: $root, ref: owned.ref})
  CALL (principals, owned, object) {
    MATCH tree = (object)-[:CHILD_OF*1..]->(above)
    MATCH (above)<-[:OWNS]-(owner)
    WHERE owner.type IN owned.types AND NOT owner IN principals AND NOT owner.ref IN $hidden
    RETURN owner.ref AS owner, length(tree) AS distance
  UNION ALL
    UNWIND range(0, size(owned.types) - 1) AS at
    CALL (principals, owned, at) {
      MATCH (other:Entity {root: $root})
      WHERE other.ref STARTS WITH owned.types[at] + ':' AND coalesce(other.exists, true) AND NOT other IN principals AND NOT other.ref IN $hidden
      RETURN other.ref AS owner ORDER BY other.root, other.ref LIMIT 1
    }
    RETURN owner, 1000 + at AS distance
  }
  WITH owned, owner, distance ORDER BY distance, owner
  WITH owned, collect(owner)[0] AS owner
  RETURN collect({ref: owned.ref, owner: owner}) AS owners
}
MATCH (after:Revision {root: $root})
RETURN grants, tagged, owners, revision, begun, after.revision AS revision_after, after.begun AS begun_after,
  coalesce(after.ends <= coalesce($now, datetime.realtime().epochSeconds), false) AS due,
  after.digest AS policy, after.made AS made
