// explain.cypher: which grants, ownerships and memberships decide a check? Each comes with the path from the subject
// to it and from the object to it; at most 50 principals for each fact.
// $root     STRING          'metalake:ml'
// $now      INTEGER         null for the server's clock, or the seconds since 1970
// $subject  STRING          'user:bob'
// $role     STRING          null, or the acting role if roles act one at a time
// $places   LIST OF MAP     the object, its ancestors, second objects and theirs: at, ref, of (the object or second
//                           object to whose path it belongs)
// $facts    LIST OF STRING  the facts that are asked for
// $below    LIST OF MAP     those of $facts that are about descendants: at, ref, types, privileges
// Returns one row: paths LIST OF MAP (fact, by, members, links, ends (of links: null if one does not end), edge, until
// (its end or null), place, up, down, path), revision, begun, revision_after, begun_after, due BOOLEAN (a fact has
// ended and must be removed first), policy STRING (the digest of the tenant's policy), made STRING (the creation id; it
// differs if the tenant was recreated)
// In Neo4j Browser run this first, without the slashes, then the whole file (`grantpath params` prints your own):
// :params {root: 'metalake:ml', now: null, subject: 'user:bob', role: null, places: [{at: 'table', ref: 'table:hr.public.staff', of: 'table:hr.public.staff'}, {at: 'metalake', ref: 'metalake:ml', of: 'table:hr.public.staff'}], facts: ['ALLOW SELECT_TABLE table', 'ALLOW SELECT_TABLE metalake', 'DENY SELECT_TABLE table', 'DENY SELECT_TABLE metalake'], below: []}
MATCH (before:Revision {root: $root})
WITH before.revision AS revision, before.begun AS begun
CALL () {
  // 1 who acts: the subject, or one of its roles; each search in a subquery, so that it visits an entity once
  MATCH (subject:Entity {root: $root, ref: $subject}) WHERE coalesce(subject.exists, true)
  MATCH (actor:Entity {root: $root, ref: coalesce($role, $subject)})
  CALL (subject, actor) {
    MATCH acting = SHORTEST 1 (subject)-[:MEMBER_OF|HAS_ROLE]->*(actor)
    RETURN acting
  }
  WITH *, COLLECT { MATCH (actor)-[:MEMBER_OF|HAS_ROLE*0..]->(principal) RETURN DISTINCT principal } AS principals
  CALL (principals) {
    // 2 what is granted where: grants on the places, and their owners
    UNWIND $places AS place
    MATCH (object:Entity {root: $root, ref: place.ref})
    OPTIONAL MATCH (inner:Entity {root: $root, ref: place.of})
    // the path up to the place, once for each place: the planner could search it down from the place, for each grant
    WITH *, head([tree = (inner)-[:CHILD_OF*0..]->(above) WHERE above = object | tree]) AS tree
    MATCH granted = (principal)-[grant:ALLOW|DENY|OWNS]->(object)
    WHERE principal IN principals AND type(grant) + ' ' + coalesce(grant.privilege + ' ', '') + place.at IN $facts
    RETURN type(grant) + ' ' + coalesce(grant.privilege + ' ', '') + place.at AS fact, principal, grant, granted, tree,
      false AS below
  UNION ALL
    // grants on the tags of the places
    UNWIND CASE WHEN any(fact IN $facts WHERE fact CONTAINS '#') THEN $places ELSE [] END AS place
    MATCH (object:Entity {root: $root, ref: place.ref})-[:TAGGED]->(tag)
    OPTIONAL MATCH (inner:Entity {root: $root, ref: place.of})
    WITH *, head([tree = (inner)-[:CHILD_OF*0..]->(above)-[:TAGGED]->(end) WHERE above = object AND end = tag | tree]) AS tree
    MATCH granted = (principal)-[grant:ALLOW|DENY]->(tag) WHERE principal IN principals
    WITH *, type(grant) + ' ' + grant.privilege + '#' + tag.type + ' ' + place.at AS fact WHERE fact IN $facts
    RETURN fact, principal, grant, granted, tree, false AS below
  UNION ALL
    // grants below a place
    UNWIND $below AS place
    MATCH (object:Entity {root: $root, ref: place.ref})
    MATCH tree = (object)<-[:CHILD_OF*1..]-(inner) WHERE inner.type IN place.types
    MATCH granted = (principal)-[grant:ALLOW]->(inner)
    WHERE grant.privilege IN place.privileges AND principal IN principals
    RETURN 'ALLOW ' + grant.privilege + ' ' + inner.type + ' below ' + place.at AS fact, principal, grant, granted, tree,
      true AS below
  UNION ALL
    // memberships that a clause asks for
    UNWIND $facts AS fact
    WITH principals, fact WHERE fact STARTS WITH 'HOLDS '
    UNWIND CASE WHEN fact STARTS WITH 'HOLDS =' THEN [substring(fact, 7)]
                ELSE [place IN $places WHERE 'HOLDS ' + place.at = fact | place.ref] END AS ref
    MATCH (principal:Entity {root: $root, ref: ref}) WHERE principal IN principals
    RETURN fact, principal, null AS grant, null AS granted, null AS tree, false AS below
  }
  // 3 at most 50 principals for each fact: the path to each one is a search of its own
  WITH subject, actor, acting, fact, principal, grant, granted, tree, below ORDER BY principal.ref
  WITH subject, actor, acting, fact, collect([principal, grant, granted, tree, below])[..50] AS edges
  UNWIND edges AS edge
  WITH *, edge[0] AS principal, edge[1] AS grant, edge[2] AS granted, edge[3] AS tree, edge[4] AS below
  // 4 the path from the subject to its role, and on to the principal
  MATCH held = SHORTEST 1 (actor)-[:MEMBER_OF|HAS_ROLE]->*(principal)
  WITH *, nodes(acting) + tail(nodes(held)) AS members, relationships(acting) + relationships(held) AS links
  RETURN collect({fact: fact, by: principal.ref, place: endNode(grant).ref,
                  edge: type(grant) + coalesce(' ' + grant.privilege, ''), until: grant.until,
                  members: [node IN members | node.ref], links: [link IN links | type(link)], ends: [link IN links | link.until],
                  up: CASE WHEN below THEN [node IN reverse(nodes(tree)) | node.ref] ELSE [] END,
                  down: CASE WHEN below OR tree IS NULL THEN [] ELSE [node IN nodes(tree) | node.ref] END,
                  path: [each IN [acting, held, granted, tree] WHERE each IS NOT NULL]}) AS paths
}
MATCH (after:Revision {root: $root})
RETURN paths, revision, begun, after.revision AS revision_after, after.begun AS begun_after,
  coalesce(after.ends <= coalesce($now, datetime.realtime().epochSeconds), false) AS due,
  after.digest AS policy, after.made AS made
