// which_operations_a_grant_opens.cypher: which operations would a grant allow? It lists every operation, on objects of
// any type, for which this grant can count; `alone` says whether it suffices by itself. It uses the copy of the policy in
// the graph.
// Leaves out: what the grantee already has, and DENYs, which override the grant where both apply (see what_a_grant_here_would_open).
// $privilege  STRING  'SELECT_TABLE'
// $type       STRING  'schema', the type of the object that it is granted on
// $root       STRING  'metalake:ml'
// Returns rows: operation STRING, type STRING (of its objects), second STRING (the given second objects),
// alone BOOLEAN, besides LIST OF STRING (if not alone: what the shortest way also needs, one fact of each line),
// undone_by LIST OF STRING (the DENYs that override it)
// No row: the grant allows nothing; or the policy is not in the graph (`grantpath policy verify`).
// In Neo4j Browser run this line first, then the whole file:
// :params {privilege: 'SELECT_TABLE', type: 'schema', root: 'metalake:ml'}
// 1 the facts that the grant makes true: on its own place, or as a grant below a place
MATCH (fact:RulePart {root: $root})
WHERE fact:RuleFact AND fact.effect = 'ALLOW' AND fact.privilege = $privilege
  AND $type IN [fact.below, CASE WHEN fact.below IS NULL THEN split(fact.place, '.')[-1] END]
// 2 the atoms, terms and clauses that these facts meet
MATCH (atom)-[:HAS]->(fact)
MATCH (term)-[:SOME]->(atom)
MATCH (clause)-[:EACH]->(term)
WITH clause, collect(DISTINCT term) AS met, collect(DISTINCT atom) AS atoms
WITH clause, atoms, COLLECT { MATCH (clause)-[:EACH]->(term) WHERE NOT term IN met RETURN term ORDER BY term.digest } AS open
// 3 the operations with these clauses; of several ways, the one that needs the fewest further facts
MATCH (rule)-[any:ANY]->(clause) WHERE rule:RuleOperation AND rule.alias_of IS NULL
WITH rule, any.with AS second, atoms, open ORDER BY size(open), clause.digest
WITH rule, second, collect({atoms: atoms, open: open})[0] AS way
RETURN rule.name AS operation, rule.type AS type, second, way.open = [] AS alone,
  [term IN way.open | reduce(line = '', one IN COLLECT { MATCH (term)-[:SOME]->()-[:HAS]->(fact) RETURN DISTINCT fact.fact AS line ORDER BY line } |
    line + CASE line WHEN '' THEN '' ELSE ' or ' END + one)] AS besides,
  COLLECT { UNWIND way.atoms AS atom MATCH (atom)-[:UNLESS]->(fact) RETURN DISTINCT fact.fact AS line ORDER BY line } AS undone_by
ORDER BY alone DESC, type, operation, second
