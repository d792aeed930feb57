// what_an_operation_needs.cypher: what does an operation, or a privilege, need? It uses the copy of the policy in the graph: each row
// is one condition, and all conditions with the same `way` must hold; one way suffices. `any_of` are facts of which one
// suffices, `unless` the DENYs that override it; a fact ends with its place.
// Leaves out: which of the facts a subject has. Ask check_by_name for a decision.
// $operation  STRING  'load_table', or a privilege: 'SELECT_TABLE'
// $type       STRING  'table', the type of the object; '' for every type
// $root       STRING  'metalake:ml'
// Returns rows: operation STRING, type STRING, second STRING (the given second objects, by key), way INTEGER (null if
// it is never allowed), condition INTEGER (null if nothing is needed), any_of LIST OF STRING, unless LIST OF STRING, says STRING
// (the text in the policy)
// A row whose operation is null has the error in `says`.
// In Neo4j Browser run this line first, then the whole file:
// :params {operation: 'load_table', type: 'table', root: 'metalake:ml'}
// 1 the rule
OPTIONAL MATCH (policy:RulePolicy {root: $root})
OPTIONAL MATCH (rule:RulePart {root: $root, name: $operation})
WHERE rule:RulePrivilege OR rule:RuleOperation AND rule.type IN [$type, CASE $type WHEN '' THEN rule.type END]
// 2 its ways: each is a list of conditions
OPTIONAL MATCH (rule)-[any:ANY]->(clause) WHERE any.type IN [$type, CASE $type WHEN '' THEN any.type END]
WITH policy, rule, any, clause ORDER BY any.type, any.with, clause.digest
WITH policy, rule, any.type AS type, any.with AS second, collect(clause) AS clauses
CALL (clauses) {
  UNWIND range(1, size(clauses)) AS way
  WITH way, clauses[way - 1] AS clause
  OPTIONAL MATCH (clause)-[:EACH]->(term)
  WITH way, term ORDER BY way, term.digest
  WITH way, collect(term) AS terms
  UNWIND CASE terms WHEN [] THEN [null] ELSE range(1, size(terms)) END AS condition
  WITH way, condition, terms[condition - 1] AS term
  RETURN way, condition, COLLECT { MATCH (term)-[:SOME]->()-[:HAS]->(fact) RETURN DISTINCT fact.fact AS line ORDER BY line } AS any_of,
    COLLECT { MATCH (term)-[:SOME]->()-[:UNLESS]->(fact) RETURN DISTINCT fact.fact AS line ORDER BY line } AS unless
UNION
  WITH clauses WHERE clauses = []
  RETURN null AS way, null AS condition, [] AS any_of, [] AS unless
}
RETURN rule.name AS operation, CASE WHEN rule IS NOT NULL THEN coalesce(type, rule.type, $type) END AS type, second, way, condition, any_of, unless,
  CASE WHEN policy IS NULL THEN 'the policy of ' + $root + ' is not in the graph; run `grantpath policy write ' + $root + '`'
    WHEN rule IS NULL THEN $operation + ' is unknown on a ' + $type ELSE rule.condition END AS says
ORDER BY type, second, way, condition
