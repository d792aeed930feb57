// remedy.cypher: which facts are needed to find the statements that would make a refused check allowed?
// $root      STRING          'metalake:ml'
// $now       INTEGER         null for the server's clock, or the seconds since 1970
// $subject   STRING          'user:bob'
// $types     LIST OF STRING  the types that may hold grants
// $names     LIST OF STRING  references, to find out which of them exist
// $joining   LIST OF MAP     member, container: memberships that might be added
// $roles     LIST OF STRING  the roles that the subject might act through
// $places    LIST OF MAP     the object, its ancestors, second objects: at, ref
// $below     LIST OF MAP     facts about descendants: fact, ref, types, privileges
// $together  BOOLEAN         true: all roles of the subject count together; false: a single role must suffice
// Returns one row: held LIST OF STRING (the principals of $types that the subject belongs to, the direct ones first),
// existing LIST OF STRING (those of $names), cycles LIST OF MAP (member, container: those of $joining that would close
// a cycle), found LIST OF MAP (fact, by LIST OF STRING: what is granted to $roles), reached LIST OF MAP (role, refs: each
// of $roles, with itself and the roles above it), inside LIST OF MAP (fact, refs: the descendants that lack it), denied LIST OF MAP (fact, by,
// tags: the tags on which it is denied to this principal), revision, begun, revision_after, begun_after, due BOOLEAN (a
// fact has ended and must be removed first), policy STRING (the digest of the tenant's policy), made STRING (the
// creation id; it differs if the tenant was recreated)
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', now: null, subject: 'user:bob', types: ['role'], names: ['table:hr.public.staff', 'user:bob', 'role:for-bob'], joining: [{member: 'user:bob', container: 'role:analyst'}], roles: [], places: [{at: 'table', ref: 'table:hr.public.staff'}], below: [], together: true}
MATCH (before:Revision {root: $root})
WITH before.revision AS revision, before.begun AS begun
CALL () {
  // 1 who acts: the subject with its groups and roles
  MATCH (subject:Entity {root: $root, ref: $subject}) WHERE coalesce(subject.exists, true)
  MATCH (subject)-[:MEMBER_OF|HAS_ROLE*0..]->(principal)
  RETURN collect(DISTINCT principal) AS principals
}
CALL (principals) {
  // 2 which of them could be granted something
  UNWIND principals AS principal
  WITH principal WHERE principal.type IN $types AND principal.ref <> $subject
  WITH principal.ref AS ref, EXISTS { (:Entity {root: $root, ref: $subject})-[:MEMBER_OF|HAS_ROLE]->(principal) } AS direct
  ORDER BY direct DESC, ref
  RETURN collect(ref) AS held
}
CALL () {
  // 3 which names exist
  UNWIND $names AS ref
  MATCH (entity:Entity {root: $root, ref: ref}) WHERE coalesce(entity.exists, true)
  RETURN collect(ref) AS existing
}
CALL () {
  // 4 which memberships would close a cycle: the container already belongs to the member
  UNWIND $joining AS joining
  MATCH (:Entity {root: $root, ref: joining.container})-[:MEMBER_OF|HAS_ROLE*0..]->(member {ref: joining.member})
  RETURN collect(DISTINCT joining) AS cycles
}
CALL () {
  // 5 what is granted where to the roles that the subject might act through
  UNWIND $roles AS ref
  MATCH (:Entity {root: $root, ref: ref})-[:MEMBER_OF|HAS_ROLE*0..]->(principal)
  WITH ref, collect(DISTINCT principal) AS above
  WITH collect({role: ref, refs: [each IN above | each.ref]}) AS reached, reduce(all = [], each IN collect(above) | all + each) AS later
  CALL (later) {
    UNWIND $places AS place
    MATCH (principal)-[grant:ALLOW|DENY|OWNS]->(:Entity {root: $root, ref: place.ref}) WHERE principal IN later
    WITH type(grant) + ' ' + coalesce(grant.privilege + ' ', '') + place.at AS fact, collect(principal.ref) AS by
    RETURN collect({fact: fact, by: by}) AS found
  }
  CALL (later) {
    UNWIND $places AS place
    MATCH (:Entity {root: $root, ref: place.ref})-[:TAGGED]->(tag)<-[grant:ALLOW|DENY]-(principal) WHERE principal IN later
    WITH type(grant) + ' ' + grant.privilege + '#' + tag.type + ' ' + place.at AS fact, collect(DISTINCT principal.ref) AS by
    RETURN collect({fact: fact, by: by}) AS by_tag
  }
  RETURN found + by_tag AS found, reached
}
CALL () {
  // what is denied on the tags of the places, and to whom
  UNWIND $places AS place
  MATCH (:Entity {root: $root, ref: place.ref})-[:TAGGED]->(tag)<-[grant:DENY]-(principal)
  WITH 'DENY ' + grant.privilege + '#' + tag.type + ' ' + place.at AS fact, principal.ref AS by, collect(tag.ref) AS tags
  RETURN collect({fact: fact, by: by, tags: tags}) AS denied
}
CALL (principals) {
  // 6 which descendants lack a grant that a clause requires on one or on all of them
  UNWIND $below AS place
  CALL (place, principals) {
    MATCH (:Entity {root: $root, ref: place.ref})<-[:CHILD_OF*1..]-(inner)
    WHERE inner.type IN place.types AND coalesce(inner.exists, true) AND NOT ($together AND EXISTS {
      MATCH (inner)<-[grant:ALLOW]-(grantee) WHERE grantee IN principals AND grant.privilege IN place.privileges })
    WITH inner.ref AS ref ORDER BY ref
    RETURN collect(ref) AS refs
  }
  RETURN collect({fact: place.fact, refs: refs}) AS inside
}
MATCH (after:Revision {root: $root})
RETURN held, existing, cycles, found, reached, inside, denied, revision, begun, after.revision AS revision_after,
  after.begun AS begun_after,
  coalesce(after.ends <= coalesce($now, datetime.realtime().epochSeconds), false) AS due, after.digest AS policy, after.made AS made
