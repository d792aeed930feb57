// load_note_removals.cypher: records a batch of what a load will remove at its end, before anything is removed.
// $root    STRING           'metalake:ml'
// $load    STRING           '5f0c', the load in progress; otherwise nothing is written
// $edges   LIST OF INTEGER  [1], ids in the database
// $nodes   LIST OF INTEGER  [2], ids in the database
// $unmade  LIST OF INTEGER  [3], ids in the database; they remain as names only
// Returns one row, or none if the load is not in progress: noted BOOLEAN
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', load: '5f0c', edges: [1], nodes: [2], unmade: [3]}
MATCH (mark:Revision {root: $root})
SET mark.locked = true // locks the node, so that the following clauses read its latest state
WITH mark WHERE mark.loading = $load
CREATE (doomed:DoomedBatch {root: $root, edges: $edges, nodes: $nodes, unmade: $unmade})
RETURN true AS noted
