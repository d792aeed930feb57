// place_subjects.cypher: puts existing subjects into the tree of objects, or takes them out of it, when a new policy says so.
// $root       STRING          'metalake:ml'
// $top        STRING          'metalake:ml', the root object
// $refs       LIST OF STRING  ['user:ann'], users, groups or roles; never the root object
// $securable  BOOLEAN         true to put them into the tree, false to take them out
// Returns one row: placed INTEGER (the number of subjects)
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', top: 'metalake:ml', refs: ['user:ann'], securable: true}
MATCH (top:Entity {root: $root, ref: $top})
UNWIND $refs AS ref
MATCH (subject:Entity {root: $root, ref: ref})
FOREACH (in IN CASE WHEN $securable THEN [subject] ELSE [] END | SET in:Securable MERGE (in)-[:CHILD_OF]->(top))
FOREACH (out IN CASE WHEN $securable THEN [] ELSE [subject] END | REMOVE out:Securable)
WITH subject, COLLECT { MATCH (subject)-[edge:CHILD_OF]->() WHERE NOT $securable RETURN edge } AS edges
FOREACH (edge IN edges | DELETE edge)
RETURN count(subject) AS placed
