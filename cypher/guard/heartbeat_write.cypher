// heartbeat_write.cypher: writes heartbeats of lock holders, by the server's clock; removes heartbeats of the same
// tenants that are an hour old.
// $beats  LIST OF MAP  [{root: 'metalake:ml', holder: '5f0c'}]
// Returns nothing
// In Neo4j Browser run this line first, then the whole file:
// :params {beats: [{root: 'metalake:ml', holder: '5f0c'}]}
UNWIND $beats AS each
MERGE (beat:Heartbeat {root: each.root, holder: each.holder})
SET beat.at = datetime()
WITH DISTINCT each.root AS root
MATCH (old:Heartbeat {root: root}) WHERE old.at < datetime() - duration({hours: 1})
DELETE old
