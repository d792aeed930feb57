// what_an_operation_needs.cypher: what does an operation, or a privilege, need? By the policy that is written in the graph: each row
// is one condition, and all conditions with the same `way` must hold; one way is enough. `any_of` are the facts of which one is
// enough, `unless` the DENYs that undo it; a fact ends with the place that it is about.
// $operation  STRING  'load_table', or a privilege: 'SELECT_TABLE'
// $type       STRING  'table', the type that it is asked on; '' for each
// $root       STRING  'metalake:ml'
// Returns rows: operation STRING, type STRING, second STRING (the second objects that are named, by key), way INTEGER (null where
// nothing can meet it), condition INTEGER (null where nothing is needed), any_of LIST OF STRING, unless LIST OF STRING, says STRING
// (the policy's own words)
// A row whose operation is null says in `says` what is wrong.
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
