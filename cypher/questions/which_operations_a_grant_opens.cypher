// which_operations_a_grant_opens.cypher: which operations would a grant open? By the policy that is written in the graph: every
// operation, on objects of the grant's type and below it, that a grant of this privilege can be a part of; `alone` says whether it is
// enough by itself. Left out: what the grantee has already, and DENYs: a DENY beats the grant wherever both reach.
// $privilege  STRING  'SELECT_TABLE'
// $type       STRING  'schema', the type of the object that it is granted on
// $root       STRING  'metalake:ml'
// Returns rows: operation STRING, type STRING (of the objects that it is asked on), second STRING (the second objects that are named),
// alone BOOLEAN, besides LIST OF STRING (where it is not enough: of the shortest way, what is needed too, one fact of each line),
// undone_by LIST OF STRING (the DENYs that undo it)
// No row: the grant opens nothing; or the policy is not in the graph (`grantpath policy verify`).
// In Neo4j Browser run this line first, then the whole file:
// :params {privilege: 'SELECT_TABLE', type: 'schema', root: 'metalake:ml'}
// 1 the facts that the grant makes true: on its own place, or as a grant that stands below a place
MATCH (fact:RulePart {root: $root})
WHERE fact:RuleFact AND fact.effect = 'ALLOW' AND fact.privilege = $privilege
  AND $type IN [fact.below, CASE WHEN fact.below IS NULL THEN split(fact.place, '.')[-1] END]
// 2 the atoms, terms and clauses that it meets
MATCH (atom)-[:HAS]->(fact)
MATCH (term)-[:SOME]->(atom)
MATCH (clause)-[:EACH]->(term)
WITH clause, collect(DISTINCT term) AS met, collect(DISTINCT atom) AS atoms
WITH clause, atoms, COLLECT { MATCH (clause)-[:EACH]->(term) WHERE NOT term IN met RETURN term ORDER BY term.digest } AS open
// 3 what is asked by these clauses; of several ways the one that needs least besides
MATCH (rule)-[any:ANY]->(clause) WHERE rule:RuleOperation AND rule.alias_of IS NULL
WITH rule, any.with AS second, atoms, open ORDER BY size(open), clause.digest
WITH rule, second, collect({atoms: atoms, open: open})[0] AS way
RETURN rule.name AS operation, rule.type AS type, second, way.open = [] AS alone,
  [term IN way.open | reduce(line = '', one IN COLLECT { MATCH (term)-[:SOME]->()-[:HAS]->(fact) RETURN DISTINCT fact.fact AS line ORDER BY line } |
    line + CASE line WHEN '' THEN '' ELSE ' or ' END + one)] AS besides,
  COLLECT { UNWIND way.atoms AS atom MATCH (atom)-[:UNLESS]->(fact) RETURN DISTINCT fact.fact AS line ORDER BY line } AS undone_by
ORDER BY alone DESC, type, operation, second
