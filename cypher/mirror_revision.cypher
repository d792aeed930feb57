// mirror_revision.cypher: at which revision is a tenant, and is a change under way (begun differs from revision)?
// $root        STRING          'metalake:ml'
// Returns one row: revision INTEGER, begun INTEGER
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml'}
MATCH (mark:Revision {root: $root})
RETURN mark.revision AS revision, mark.begun AS begun
