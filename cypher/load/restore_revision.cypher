// restore_revision.cypher: sets a restored tenant to the revision and the log chain of its dump.
// $root      STRING   'metalake:ml'
// $revision  INTEGER  7
// $chain     STRING   'metalake:ml 9f2c', the name of the log's chain
// Returns one row: revision INTEGER
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', revision: 7, chain: 'metalake:ml 9f2c'}
MATCH (mark:Revision {root: $root})
SET mark.begun = $revision, mark.chain = $chain
RETURN mark.begun AS revision
