// write_policy_graph.cypher: writes a copy of a tenant's policy as nodes for people and queries. It replaces an earlier
// copy, and does not change entities and their edges.
// $root    STRING  'metalake:ml'
// $digest  STRING  '9f2c', of the policy; nothing is written if the tenant has another one
// $graph   MAP     policy (the node that counts the others), types, privileges, operations, clauses, terms, atoms, facts
//                  (lists of the properties of nodes), edges_in, edges_on, edges_each, edges_some, edges_has, edges_unless
//                  (lists of from and to, by index in these lists), edges_any (with kind, from, to, type, with)
// Returns one row, or none if the tenant has another policy: nodes INTEGER, edges INTEGER
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:other', digest: '', graph: {policy: {}, types: [], privileges: [], operations: [], clauses: [], terms: [], atoms: [], facts: [], edges_in: [], edges_on: [], edges_any: [], edges_each: [], edges_some: [], edges_has: [], edges_unless: []}}
MATCH (mark:Revision {root: $root})
SET mark.locked = true // locks the mark, so that the following clauses read the latest policy
WITH mark WHERE mark.digest = $digest
// 1 removes the earlier copy
CALL () { MATCH (old:RulePart {root: $root}) DETACH DELETE old }
// 2 the nodes; all have the label RulePart
CREATE (policy:RulePolicy:RulePart) SET policy = $graph.policy, policy.root = $root
WITH policy
CALL () { UNWIND $graph.types AS row
  CREATE (made:RuleType:RulePart) SET made = row, made.root = $root RETURN collect(made) AS types }
CALL () { UNWIND $graph.privileges AS row
  CREATE (made:RulePrivilege:RulePart) SET made = row, made.root = $root RETURN collect(made) AS privileges }
CALL () { UNWIND $graph.operations AS row
  CREATE (made:RuleOperation:RulePart) SET made = row, made.root = $root RETURN collect(made) AS operations }
CALL () { UNWIND $graph.clauses AS row
  CREATE (made:RuleClause:RulePart) SET made = row, made.root = $root RETURN collect(made) AS clauses }
CALL () { UNWIND $graph.terms AS row
  CREATE (made:RuleTerm:RulePart) SET made = row, made.root = $root RETURN collect(made) AS terms }
CALL () { UNWIND $graph.atoms AS row
  CREATE (made:RuleAtom:RulePart) SET made = row, made.root = $root RETURN collect(made) AS atoms }
CALL () { UNWIND $graph.facts AS row
  CREATE (made:RuleFact:RulePart) SET made = row, made.root = $root RETURN collect(made) AS facts }
// 3 the edges
CALL (types) { UNWIND $graph.edges_in AS edge WITH types[edge[0]] AS start, types[edge[1]] AS end
  CREATE (start)-[:IN]->(end) }
CALL (privileges, types) { UNWIND $graph.edges_on AS edge WITH privileges[edge[0]] AS start, types[edge[1]] AS end
  CREATE (start)-[:ON]->(end) }
CALL (privileges, operations, clauses) { UNWIND $graph.edges_any AS edge
  WITH edge, CASE edge[0] WHEN 'privileges' THEN privileges[edge[1]] ELSE operations[edge[1]] END AS start, clauses[edge[2]] AS end
  CREATE (start)-[:ANY {type: edge[3], with: edge[4]}]->(end) }
CALL (clauses, terms) { UNWIND $graph.edges_each AS edge WITH clauses[edge[0]] AS start, terms[edge[1]] AS end
  CREATE (start)-[:EACH]->(end) }
CALL (terms, atoms) { UNWIND $graph.edges_some AS edge WITH terms[edge[0]] AS start, atoms[edge[1]] AS end
  CREATE (start)-[:SOME]->(end) }
CALL (atoms, facts) { UNWIND $graph.edges_has AS edge WITH atoms[edge[0]] AS start, facts[edge[1]] AS end
  CREATE (start)-[:HAS]->(end) }
CALL (atoms, facts) { UNWIND $graph.edges_unless AS edge WITH atoms[edge[0]] AS start, facts[edge[1]] AS end
  CREATE (start)-[:UNLESS]->(end) }
RETURN policy.nodes AS nodes, policy.edges AS edges
