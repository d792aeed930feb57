// explain.cypher: the edges that speak for or against, each with the way from the subject to it and from it to the object.
// $root     STRING          'metalake:ml'
// $subject  STRING          'user:bob'
// $places   LIST OF MAP     the object, what is above it, second objects: at, ref
// $facts    LIST OF STRING  the facts that are asked for
// Returns one row: ways LIST OF MAP (fact, by, members, links, path, place), revision, begun, revision_after, begun_after,
// policy STRING (the digest of the policy that the tenant remembers)
// In Neo4j Browser run this line first, then the whole file (`grantpath params` prints it for a question of yours):
// :params {root: 'metalake:ml', subject: 'user:bob', places: [{at: 'table', ref: 'table:hr.public.staff'}, {at: 'metalake', ref: 'metalake:ml'}], facts: ['ALLOW SELECT_TABLE table', 'ALLOW SELECT_TABLE metalake', 'DENY SELECT_TABLE table', 'DENY SELECT_TABLE metalake']}
MATCH (before:Revision {root: $root})
WITH before.revision AS revision, before.begun AS begun
CALL () {
  MATCH (subject:Entity {root: $root, ref: $subject})
  MATCH (subject)-[:MEMBER_OF|HAS_ROLE*0..]->(holder)
  WITH subject, collect(DISTINCT holder) AS holders
  UNWIND $places AS place
  MATCH (object:Entity {root: $root, ref: place.ref})
  MATCH (holder)-[grant:ALLOW|DENY|OWNS]->(object) WHERE holder IN holders
  WITH subject, holder, grant, object, place,
       type(grant) + ' ' + coalesce(grant.privilege + ' ', '') + place.at AS fact
  WHERE fact IN $facts
  MATCH held = SHORTEST 1 (subject)-[:MEMBER_OF|HAS_ROLE]->*(holder)
  MATCH granted = (holder)-[grant]->(object)
  OPTIONAL MATCH inside = (asked:Entity {root: $root, ref: $places[0].ref})-[:CHILD_OF*0..]->(object)
  RETURN collect({fact: fact, by: holder.ref, place: object.ref, members: [node IN nodes(held) | node.ref],
                  links: [link IN relationships(held) | type(link)], path: [held, granted, inside]}) AS ways
}
MATCH (after:Revision {root: $root})
RETURN ways, revision, begun, after.revision AS revision_after, after.begun AS begun_after,
  after.digest AS policy
