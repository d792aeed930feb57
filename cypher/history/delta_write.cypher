// delta_write.cypher: writes the facts of a change in parts, if there are too many for its entry in the log.
// $root  STRING       'metalake:ml'
// $rows  LIST OF MAP  revision, part (from 0), added, removed (canonical statements), touched (references)
// Returns one row: written INTEGER
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', rows: [{revision: 7, part: 0, added: ['add user:cas'], removed: [], touched: []}]}
UNWIND $rows AS row
CREATE (delta:Delta {root: $root})
SET delta += row
RETURN count(*) AS written
