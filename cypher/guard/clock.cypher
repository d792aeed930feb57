// clock.cypher: the time by the server's clock.
// $root  STRING   'metalake:ml'
// $now   INTEGER  null for the server's clock, or the seconds since 1970
// Returns one row: root STRING, now INTEGER (the seconds since 1970)
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', now: null}
RETURN $root AS root, coalesce($now, datetime.realtime().epochSeconds) AS now
