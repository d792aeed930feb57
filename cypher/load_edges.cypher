// load_edges.cypher: what these subjects are in, hold, and are granted already. For bulk import.
// $nodes  LIST OF INTEGER  [1, 2], ids in the database
// Returns one row a subject that has any: node INTEGER, labels LIST OF STRING ('MEMBER', 'ALLOW SELECT_TABLE'), ends LIST
// OF INTEGER (the id of what each is to)
// In Neo4j Browser run this line first, then the whole file:
// :params {nodes: [1, 2]}
UNWIND $nodes AS node
MATCH (subject:Subject)-[edge:MEMBER_OF|HAS_ROLE|ALLOW|DENY]->(end) WHERE id(subject) = node
RETURN node, collect(coalesce(type(edge) + ' ' + edge.privilege, 'MEMBER')) AS labels, collect(id(end)) AS ends
