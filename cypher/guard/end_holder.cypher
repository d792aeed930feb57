// end_holder.cypher: terminates the transactions of a lock holder whose heartbeat stopped, or of a caller that waited too long for the lock.
// $holder  STRING  '5f0c'
// Returns one row per transaction: message STRING
// In Neo4j Browser run this line first, then the whole file:
// :params {holder: '5f0c'}
SHOW TRANSACTIONS YIELD transactionId AS id, metaData
WHERE metaData.grantpath.holder = $holder
TERMINATE TRANSACTIONS id YIELD message
RETURN message
