// end_holder.cypher: ends every transaction of a holder that gives no sign of life, or that has waited too long.
// $holder  STRING  '5f0c'
// Returns a row for each transaction: message STRING
// In Neo4j Browser run this line first, then the whole file:
// :params {holder: '5f0c'}
SHOW TRANSACTIONS YIELD transactionId AS id, metaData
WHERE metaData.grantpath.holder = $holder
TERMINATE TRANSACTIONS id YIELD message
RETURN message
