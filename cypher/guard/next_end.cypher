// next_end.cypher: how long it is until the next fact of a tenant ends.
// $root  STRING   'metalake:ml'
// $now   INTEGER  null for the server's clock, or the seconds since 1970
// Returns at most one row: seconds FLOAT (zero or less: a fact has ended and must be removed; null: no fact ends)
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', now: null}
MATCH (mark:Revision {root: $root})
RETURN mark.ends - coalesce(toFloat($now), datetime.realtime().epochMillis / 1000.0) AS seconds
