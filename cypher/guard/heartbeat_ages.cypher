// heartbeat_ages.cypher: the ages of the heartbeats of lock holders, by the server's clock.
// $roots  LIST OF STRING  ['metalake:ml']
// Returns one row per holder: holder STRING, age FLOAT (in seconds)
// In Neo4j Browser run this line first, then the whole file:
// :params {roots: ['metalake:ml']}
MATCH (beat:Heartbeat) WHERE beat.root IN $roots
RETURN beat.holder AS holder, (datetime().epochMillis - beat.at.epochMillis) / 1000.0 AS age
