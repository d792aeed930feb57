// dump_log.cypher: the history of a tenant with all its properties, the refused attempts, and the ids of requests. For a dump.
// $root  STRING  'metalake:ml'
// Returns one row per entry: file STRING ('history', 'deltas', 'refusals' or 'requests'), kept MAP (its properties)
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml'}
CALL () {
  MATCH (change:Change {root: $root}) WHERE change.revision >= 0
  RETURN 'history' AS file, change AS entry ORDER BY change.root, change.revision
UNION ALL
  MATCH (delta:Delta {root: $root}) WHERE delta.revision >= 0
  RETURN 'deltas' AS file, delta AS entry ORDER BY delta.root, delta.revision, delta.part
UNION ALL
  MATCH (refusal:Refusal {root: $root}) WHERE refusal.revision >= 0
  RETURN 'refusals' AS file, refusal AS entry ORDER BY refusal.root, refusal.revision, refusal.at, refusal.id
UNION ALL
  MATCH (request:Request {root: $root}) WHERE request.id >= ''
  RETURN 'requests' AS file, request AS entry ORDER BY request.root, request.id
}
RETURN file, properties(entry) AS kept
