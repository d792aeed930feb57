// remove_tenant.cypher: removes a part of an ended tenant; run it until it removes nothing. A new tenant of the same name
// is not affected.
// $root   STRING   'metalake:ml'
// $by     STRING   '5f0c', the caller that claimed the name
// $rules  BOOLEAN  true, whether to remove the copy of the policy, too
// Returns one row, or none if the claim was lost: removed INTEGER (the number of nodes), edges INTEGER (their
// number; a run can remove edges and no node, if a node has more edges than are removed at once)
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:gone', by: '5f0c', rules: true}
MATCH (lock:Gate {root: $root})
SET lock.locked = true // locks the node, so that the following clauses read its latest state
WITH lock WHERE lock.by = $by AND NOT EXISTS { (:Revision {root: $root}) }
CALL () {
  CALL () {
    MATCH (entity:Entity {root: $root}) WHERE entity.ref >= '' RETURN entity AS node // so that the index is used, as below
  UNION ALL
    MATCH (change:Change {root: $root}) WHERE change.revision >= 0 RETURN change AS node
  UNION ALL
    MATCH (delta:Delta {root: $root}) WHERE delta.revision >= 0 RETURN delta AS node
  UNION ALL
    MATCH (refusal:Refusal {root: $root}) RETURN refusal AS node
  UNION ALL
    MATCH (request:Request {root: $root}) WHERE request.id >= '' RETURN request AS node
  UNION ALL
    MATCH (batch:LoadedBatch {root: $root}) RETURN batch AS node
  UNION ALL
    MATCH (doomed:DoomedBatch {root: $root}) RETURN doomed AS node
  UNION ALL
    MATCH (lane:LoadLane {root: $root}) RETURN lane AS node
  UNION ALL
    MATCH (part:RulePart {root: $root}) WHERE $rules RETURN part AS node
  UNION ALL
    MATCH (beat:Heartbeat {root: $root}) WHERE beat.holder <> $by RETURN beat AS node
  }
  WITH node LIMIT 2000
  OPTIONAL MATCH (node)-[edge]-()
  WITH node, edge LIMIT 50000 // so that the changes fit into one transaction, also those of a popular entity
  DELETE edge
  WITH collect(DISTINCT node) AS nodes, count(edge) AS edges
  CALL (nodes) {
    UNWIND nodes AS node
    WITH node WHERE NOT EXISTS { (node)--() }
    DELETE node
    RETURN count(*) AS removed
  }
  RETURN removed, edges
}
RETURN removed, edges
