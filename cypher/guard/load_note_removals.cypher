// load_note_removals.cypher: notes a batch of what a load removes at its end, before any of it is gone.
// $root    STRING           'metalake:ml'
// $load    STRING           '5f0c', the load that is under way; nothing is written where it is not
// $edges   LIST OF INTEGER  [1], ids in the database
// $nodes   LIST OF INTEGER  [2], ids in the database
// $unmade  LIST OF INTEGER  [3], ids in the database; they stay as names only
// Returns one row, or none where the load is not under way: noted BOOLEAN
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', load: '5f0c', edges: [1], nodes: [2], unmade: [3]}
MATCH (mark:Revision {root: $root})
SET mark.locked = true // takes the node's lock even where nothing changes, before what follows reads it
WITH mark WHERE mark.loading = $load
CREATE (doomed:DoomedBatch {root: $root, edges: $edges, nodes: $nodes, unmade: $unmade})
RETURN true AS noted
