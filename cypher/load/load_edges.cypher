// load_edges.cypher: the existing memberships, ownerships and grants of these subjects, and the tags of these objects. For bulk import.
// $root   STRING           'metalake:ml'
// $nodes  LIST OF INTEGER  [1, 2], ids in the database
// Returns one row per entity that has any: node INTEGER, labels LIST OF STRING ('MEMBER', 'OWNS', 'TAGGED', 'ALLOW
// SELECT_TABLE', perhaps with ' until 2026-12-31T00:00:00Z'), ends LIST OF INTEGER (the ids of the entities that they
// point to), edges LIST OF INTEGER (their own ids)
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', nodes: [1, 2]}
MATCH (mark:Revision {root: $root})
WITH left(elementId(mark), 39) AS start // before the number of a node in its elementId()
UNWIND $nodes AS node
MATCH (entity:Entity)-[edge:MEMBER_OF|HAS_ROLE|OWNS|TAGGED|ALLOW|DENY]->(end) WHERE elementId(entity) = start + node
RETURN node, collect(CASE WHEN edge:MEMBER_OF OR edge:HAS_ROLE THEN 'MEMBER' ELSE type(edge) + coalesce(' ' + edge.privilege, '') END + coalesce(' until ' + edge.until, '')) AS labels,
  collect(toInteger(substring(elementId(end), 39))) AS ends, collect(toInteger(substring(elementId(edge), 39))) AS edges
