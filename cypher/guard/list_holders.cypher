// list_holders.cypher: the transactions that hold or wait for the writer locks of these tenants. The status of a waiting
// transaction names those that it waits for.
// $roots  LIST OF STRING  ['metalake:ml']
// Returns one row per transaction: id STRING, about MAP (root, holder, what, host, pid), status STRING, age FLOAT
// (in seconds)
// In Neo4j Browser run this line first, then the whole file:
// :params {roots: ['metalake:ml']}
SHOW TRANSACTIONS YIELD transactionId, metaData, status, elapsedTime
WHERE metaData.grantpath.root IN $roots
RETURN transactionId AS id, metaData.grantpath AS about, status,
  elapsedTime.milliseconds / 1000.0 AS age
