// privilege.cypher: may a subject use one privilege on an object, by which grants, and by which paths? Only
// for privileges that require neither ownership nor another privilege, if all roles count together and tags are inherited. A grant that has
// ended counts as long as it is stored. check.cypher decides every question.
// $root        STRING          'metalake:ml'
// $subject     STRING          'user:bob'
// $object      STRING          'table:hr.public.staff'
// $privileges  LIST OF STRING  ['SELECT_TABLE'], the privilege, and those that imply it
// $places      LIST OF STRING  ['table', 'schema', 'catalog', 'metalake'], the types on which a grant of it counts, with those of tags
// Returns one row: allowed BOOLEAN, paths LIST (of three paths: from the subject to the grantee, the grant, and from the
// object up to the place of the grant)
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', subject: 'user:bob', object: 'table:hr.public.staff', privileges: ['SELECT_TABLE'], places: ['table', 'schema', 'catalog', 'metalake']}
// 1 the object, the places above it, and their tags
MATCH tree = (:Entity {root: $root, ref: $object})-[:CHILD_OF*0..]->()-[:TAGGED*0..1]->(place) WHERE place.type IN $places
// 2 who acts: the subject, and the groups and roles it belongs to
MATCH (subject:Entity {root: $root, ref: $subject})-[:MEMBER_OF|HAS_ROLE*0..]->(principal)
WITH DISTINCT tree, place, subject, principal WHERE coalesce(subject.exists, true)
// 3 what is granted there, and how the subject belongs to the grantee
MATCH granted = (principal)-[grant:ALLOW|DENY]->(place) WHERE grant.privilege IN $privileges
MATCH membership = SHORTEST 1 (subject)-[:MEMBER_OF|HAS_ROLE]->*(principal)
// 4 the rule: one DENY beats every ALLOW
WITH collect(type(grant)) AS effects, collect([membership, granted, tree]) AS paths
RETURN 'ALLOW' IN effects AND NOT 'DENY' IN effects AS allowed, paths
