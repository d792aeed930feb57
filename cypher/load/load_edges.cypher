// load_edges.cypher: the existing memberships, ownerships and grants of these subjects. For bulk import.
// $nodes  LIST OF INTEGER  [1, 2], ids in the database
// Returns one row per subject that has any: node INTEGER, labels LIST OF STRING ('MEMBER', 'OWNS', 'ALLOW SELECT_TABLE'), ends
// LIST OF INTEGER (the ids of the entities that they point to), edges LIST OF INTEGER (their own ids)
// In Neo4j Browser run this line first, then the whole file:
// :params {nodes: [1, 2]}
UNWIND $nodes AS node
MATCH (subject:Subject)-[edge:MEMBER_OF|HAS_ROLE|OWNS|ALLOW|DENY]->(end) WHERE id(subject) = node
RETURN node, collect(CASE WHEN edge:MEMBER_OF OR edge:HAS_ROLE THEN 'MEMBER' ELSE type(edge) + coalesce(' ' + edge.privilege, '') END) AS labels,
  collect(id(end)) AS ends, collect(id(edge)) AS edges
