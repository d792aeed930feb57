// lock_and_read.cypher: takes the writer lock of a tenant, as lock.cypher does, and reads under it the marks and the end of
// the log. Because it also writes, its search for the marks locks the tenant's name: no other transaction can create or
// remove the tenant until this one ends.
// $root  STRING   'metalake:ml'
// $now   INTEGER  null for the server's clock, or the seconds since 1970
// Returns one row, whose revision is null if the tenant does not exist: revision INTEGER, begun INTEGER, made STRING,
// loading STRING, what STRING, policy STRING (its digest), due BOOLEAN (a fact has ended and must be removed first),
// chain STRING, head STRING, unchained INTEGER, at ZONED DATETIME, newest ZONED DATETIME (the last five are those of
// log_tail.cypher)
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', now: null}
MERGE (writer:Writer {root: $root})
SET writer.turn = coalesce(writer.turn, 0) + 1 // locks the node: what follows is read after the last holder's commit
WITH writer
OPTIONAL MATCH (mark:Revision {root: $root})
WITH mark, coalesce(mark.chain, mark.root + ' ' + coalesce(mark.made, '')) AS chain, head(COLLECT {
    MATCH (change:Change {root: $root})
    WHERE change.revision >= 0 AND change.hash IS NOT NULL // so that the index on (root, revision) is read from its end
    RETURN change {.hash, .at} AS entry ORDER BY change.root DESC, change.revision DESC LIMIT 1
  }) AS newest
RETURN mark.revision AS revision, mark.begun AS begun, coalesce(mark.made, '') AS made, mark.loading AS loading,
  mark.loading_what AS what, mark.digest AS policy,
  coalesce(mark.ends <= coalesce($now, datetime.realtime().epochSeconds), false) AS due, chain, newest.hash AS head,
  CASE WHEN newest IS NULL THEN COUNT { (:Change {root: $root}) } END AS unchained,
  datetime.truncate('microsecond', datetime.realtime()) AS at, newest.at AS newest
