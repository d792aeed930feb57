// read_policy_graph.cypher: the copy of a tenant's policy in the graph, to compare it with the tenant's policy.
// $root  STRING  'metalake:ml'
// Returns one row: nodes LIST OF MAP (label, properties), edges LIST OF MAP (kind, source and target: the keys
// of their nodes, type, with)
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml'}
CALL () {
  MATCH (part:RulePart {root: $root})
  RETURN collect({label: [label IN labels(part) WHERE label <> 'RulePart'][0], properties: properties(part)}) AS nodes
}
CALL () {
  MATCH (source:RulePart {root: $root})-[edge]->(target)
  RETURN collect({kind: type(edge), source: coalesce(source.digest, source.name), target: coalesce(target.digest, target.name),
    type: edge.type, with: edge.with}) AS edges
}
RETURN nodes, edges
