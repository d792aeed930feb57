// log_entries.cypher: entries of a log with all their properties, oldest first, in pages. For verifying its chain.
// $root   STRING   'metalake:ml'
// $now    INTEGER  null for the server's clock, or the seconds since 1970
// $after  INTEGER  0, only later revisions
// $node   INTEGER  -1, or the number in the database of the last entry that was read: other entries can also have the revision $after
// $limit  INTEGER  5000, the maximum number of entries
// Returns one row: entries LIST OF MAP (node INTEGER, its number: the end of elementId(); entry MAP, its properties),
// chain STRING (the name of the log's chain: log_tail.cypher), made STRING (the root's creation id), revision, begun,
// revision_after, begun_after, due BOOLEAN (a fact has ended and must be removed first)
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', now: null, after: 0, node: -1, limit: 20}
MATCH (before:Revision {root: $root})
WITH before.revision AS revision, before.begun AS begun, before.made AS made,
  coalesce(before.chain, before.root + ' ' + coalesce(before.made, '')) AS chain
CALL () {
  MATCH (change:Change {root: $root}) WHERE change.revision >= $after
  WITH change, toInteger(substring(elementId(change), 39)) AS node // an elementId() ends in a number
  WHERE change.revision > $after OR node > $node
  WITH change, node ORDER BY change.root, change.revision, node LIMIT toInteger($limit)
  RETURN collect({node: node, entry: properties(change)}) AS entries
}
MATCH (after:Revision {root: $root})
RETURN entries, chain, made, revision, begun, after.revision AS revision_after, after.begun AS begun_after,
  coalesce(after.ends <= coalesce($now, datetime.realtime().epochSeconds), false) AS due
