// remedy.cypher: what stands around a question that was answered no, for finding the nearest remedy.
// $root      STRING          'metalake:ml'
// $subject   STRING          'user:bob'
// $types     LIST OF STRING  the types that may hold grants
// $names     LIST OF STRING  references of which it matters whether they are there
// $joining   LIST OF MAP     member, container: who might become a member of what
// $roles     LIST OF STRING  the roles that the subject may act through later
// $places    LIST OF MAP     the object, what is above it, second objects: at, ref
// $below     LIST OF MAP     facts about descendants: fact, ref, types, privileges
// $together  BOOLEAN         all held roles count together, not one at a time
// Returns one row: held LIST OF STRING (what holds grants and the subject is in or holds), there LIST OF STRING,
// circles LIST OF MAP (member, container), found LIST OF MAP (fact, by), reached LIST OF STRING, inside LIST OF MAP
// (fact, refs: those below that lack it), revision, begun, revision_after, begun_after, policy STRING (the digest of
// the policy that the tenant remembers), made STRING (another where it is made again)
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', subject: 'user:bob', types: ['role'], names: ['table:hr.public.staff', 'user:bob', 'role:for-bob'], joining: [{member: 'user:bob', container: 'role:analyst'}], roles: [], places: [{at: 'table', ref: 'table:hr.public.staff'}], below: [], together: true}
MATCH (before:Revision {root: $root})
WITH before.revision AS revision, before.begun AS begun
CALL () {
  MATCH (subject:Entity {root: $root, ref: $subject}) WHERE coalesce(subject.exists, true)
  MATCH (subject)-[:MEMBER_OF|HAS_ROLE*0..]->(holder)
  RETURN collect(DISTINCT holder) AS holders
}
CALL (holders) {
  UNWIND holders AS holder
  WITH holder WHERE holder.type IN $types AND holder.ref <> $subject
  WITH holder.ref AS ref, EXISTS { (:Entity {root: $root, ref: $subject})-[:MEMBER_OF|HAS_ROLE]->(holder) } AS direct
  ORDER BY direct DESC, ref
  RETURN collect(ref) AS held
}
CALL () {
  UNWIND $names AS ref
  MATCH (entity:Entity {root: $root, ref: ref}) WHERE coalesce(entity.exists, true)
  RETURN collect(ref) AS there
}
CALL () {
  UNWIND $joining AS joining
  MATCH (:Entity {root: $root, ref: joining.container})-[:MEMBER_OF|HAS_ROLE*0..]->(member {ref: joining.member})
  RETURN collect(DISTINCT joining) AS circles
}
CALL () {
  UNWIND $roles AS ref
  MATCH (:Entity {root: $root, ref: ref})-[:MEMBER_OF|HAS_ROLE*0..]->(holder)
  WITH collect(DISTINCT holder) AS later
  CALL (later) {
    UNWIND $places AS place
    MATCH (holder)-[grant:ALLOW|DENY|OWNS]->(:Entity {root: $root, ref: place.ref}) WHERE holder IN later
    RETURN collect({fact: type(grant) + ' ' + coalesce(grant.privilege + ' ', '') + place.at, by: holder.ref}) AS found
  }
  RETURN found, [holder IN later | holder.ref] AS reached
}
CALL (holders) {
  UNWIND $below AS place
  CALL (place, holders) {
    MATCH (:Entity {root: $root, ref: place.ref})<-[:CHILD_OF*1..]-(inner)
    WHERE inner.type IN place.types AND coalesce(inner.exists, true) AND NOT ($together AND EXISTS {
      MATCH (inner)<-[grant:ALLOW]-(holder) WHERE holder IN holders AND grant.privilege IN place.privileges })
    WITH inner.ref AS ref ORDER BY ref
    RETURN collect(ref) AS refs
  }
  RETURN collect({fact: place.fact, refs: refs}) AS inside
}
MATCH (after:Revision {root: $root})
RETURN held, there, circles, found, reached, inside, revision, begun, after.revision AS revision_after,
  after.begun AS begun_after, after.digest AS policy, after.made AS made
