// log_tail.cypher: the end of the log: its chain and the hash of its newest entry. For a writer that holds the lock;
// lock_and_read.cypher reads the same.
// $root  STRING  'metalake:ml'
// Returns one row: chain STRING (the name of the log's chain: the root's key and its creation id; a restored root keeps
// it), head STRING (the hash of the newest entry, or null), unchained INTEGER (the number of entries without a hash;
// null if there is a head), at ZONED DATETIME (now, by the server's clock), newest ZONED DATETIME (the time of the
// newest entry, or null)
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml'}
MATCH (mark:Revision {root: $root})
WITH mark, coalesce(mark.chain, mark.root + ' ' + coalesce(mark.made, '')) AS chain, head(COLLECT {
    MATCH (change:Change {root: $root})
    WHERE change.revision >= 0 AND change.hash IS NOT NULL // so that the index on (root, revision) is read from its end
    RETURN change {.hash, .at} AS entry ORDER BY change.root DESC, change.revision DESC LIMIT 1
  }) AS newest
RETURN chain, newest.hash AS head, CASE WHEN newest IS NULL THEN COUNT { (:Change {root: $root}) } END AS unchained,
  datetime.truncate('microsecond', datetime.realtime()) AS at, newest.at AS newest
