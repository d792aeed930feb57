// heartbeat_ages.cypher: how long ago holders of locks gave their last signs of life, by the server's clock.
// $roots  LIST OF STRING  ['metalake:ml']
// Returns a row for each holder: holder STRING, age FLOAT (in seconds)
// In Neo4j Browser run this line first, then the whole file:
// :params {roots: ['metalake:ml']}
MATCH (beat:Heartbeat) WHERE beat.root IN $roots
RETURN beat.holder AS holder, (datetime().epochMillis - beat.at.epochMillis) / 1000.0 AS age
