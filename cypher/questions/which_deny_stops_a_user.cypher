// which_deny_stops_a_user.cypher: which DENYs stop a subject that would be allowed without them? If the DENYs in
// all rows of one way are revoked, the subject is allowed.
// Leaves out: second objects, one role at a time, and facts about what is below the object; if the policy needs these
// for the operation and no way is found, `says` names the query to ask. Unlike check_by_name, it does not verify the
// copy of the policy.
// $subject    STRING  'user:bob'
// $operation  STRING  'load_table', or a privilege: 'SELECT_TABLE'
// $object     STRING  'table:hr.public.staff'
// $root       STRING  'metalake:ml'
// Returns rows: way INTEGER (one suffices), privilege STRING (that is denied), by STRING (the grantee), object STRING
// (where it is denied), paths LIST OF PATH (the membership, the DENY), says STRING (why a row has no answer), due
// BOOLEAN (facts have ended, but are still stored; run `grantpath expire`)
// In Neo4j Browser run this line first, then the whole file:
// :params {subject: 'user:bob', operation: 'load_table', object: 'table:hr.public.staff', root: 'metalake:ml'}
// 1 the rule, the subject with its groups and roles, and the object with what is above it
OPTIONAL MATCH (subject:Entity {root: $root, ref: $subject}) WHERE coalesce(subject.exists, true)
OPTIONAL MATCH (object:Entity {root: $root, ref: $object})
OPTIONAL MATCH (policy:RulePolicy {root: $root})
OPTIONAL MATCH (rule:RulePart {root: $root, name: $operation}) WHERE rule:RulePrivilege OR rule:RuleOperation AND rule.type = object.type
CALL (subject) { MATCH (subject)-[:MEMBER_OF|HAS_ROLE*0..]->(principal) RETURN collect(DISTINCT principal) AS principals }
CALL (object) { MATCH (object)-[:CHILD_OF*0..]->(place) RETURN collect(place) AS above }
OPTIONAL MATCH (top:Entity {root: $root}) WHERE top.ref STARTS WITH policy.root_type + ':' // also above a user or group, which is not in the tree
WITH *, above + [place IN [top] WHERE NOT place IN above] AS places
// 2 the facts that are true
CALL (principals, places) {
  CALL (principals, places) {
    UNWIND places AS place
    MATCH (principal)-[grant:ALLOW|DENY|OWNS]->(place) WHERE principal IN principals
    RETURN type(grant) + ' ' + coalesce(grant.privilege + ' ', '') + place.type AS fact, grant, principal, place
  UNION ALL
    UNWIND places AS tagged
    MATCH (tagged)-[:TAGGED]->(place)<-[grant:ALLOW|DENY]-(principal) WHERE principal IN principals
    RETURN type(grant) + ' ' + grant.privilege + '#' + place.type + ' ' + tagged.type AS fact, grant, principal, place
  }
  RETURN collect({fact: fact, grant: grant, by: principal, on: place}) AS found
}
WITH *, [each IN found | each.fact] + [place IN places WHERE place = subject | 'IS ' + place.type] + [place IN places WHERE place IN principals | 'HOLDS ' + place.type]
  + [one IN principals | 'HOLDS =' + one.ref] + [place IN places WHERE coalesce(place.exists, true) | 'EXISTS ' + place.type]
  + [place IN places WHERE place.builtin | 'BUILTIN ' + place.type] AS facts
// 3 the ways that would hold without the DENYs; none if one holds with them
OPTIONAL CALL (rule, subject, object, facts, found) {
  MATCH (rule)-[:ANY {type: object.type, with: ''}]->(clause) WHERE subject IS NOT NULL AND NOT rule.one_role
    AND NOT EXISTS { MATCH (clause)-[:EACH]->(term) WHERE NOT EXISTS { (term)-[:SOME]->()-[:HAS]->(fact) WHERE fact.fact IN facts } }
  WITH subject, facts, found, clause, COLLECT { MATCH (clause)-[:EACH]->(term) WHERE NOT EXISTS { MATCH (term)-[:SOME]->(atom)
    WHERE EXISTS { (atom)-[:HAS]->(fact) WHERE fact.fact IN facts } AND NOT EXISTS { (atom)-[:UNLESS]->(fact) WHERE fact.fact IN facts } } RETURN term } AS stopped
  ORDER BY clause.digest
  WITH subject, facts, found, collect(stopped) AS ways
  // 4 the DENYs of the terms that do not hold
  UNWIND CASE WHEN [] IN ways THEN [null] ELSE range(1, size(ways)) END AS way
  UNWIND CASE WHEN way IS NULL THEN [null] ELSE COLLECT { UNWIND ways[way - 1] AS term MATCH (term)-[:SOME]->(atom)-[:UNLESS]->(one)
    WHERE one.fact IN facts AND EXISTS { (atom)-[:HAS]->(fact) WHERE fact.fact IN facts } RETURN DISTINCT one.fact } END AS fact
  UNWIND CASE WHEN fact IS NULL THEN [null] ELSE [each IN found WHERE each.fact = fact] END AS each
  WITH subject, way, each, each.grant AS grant, each.by AS by
  OPTIONAL CALL (subject, by) { MATCH held = SHORTEST 1 (subject)-[:MEMBER_OF|HAS_ROLE]->*(by) RETURN held }
  OPTIONAL MATCH denied = (by)-[grant]->()
  RETURN true AS found_way, way, grant, each, [path IN [held, denied] WHERE path IS NOT NULL] AS paths
}
RETURN way, grant.privilege AS privilege, each.by.ref AS by, each.on.ref AS object, paths, CASE WHEN subject IS NULL THEN $subject + ' does not exist in ' + $root WHEN object IS NULL THEN $object + ' does not exist in ' + $root
    WHEN policy IS NULL THEN 'the policy of ' + $root + ' is not in the graph; run `grantpath policy write ' + $root + '`'
    WHEN rule IS NULL THEN $operation + ' is unknown on a ' + object.type
    WHEN way IS NULL AND found_way THEN 'allowed; no DENY stops it'
    WHEN way IS NULL THEN CASE WHEN rule.one_role OR rule.needs <> [] OR EXISTS { (rule)-[:ANY]->()-[:EACH]->()-[:SOME]->()-[:HAS|UNLESS]->(fact)
      WHERE fact.below IS NOT NULL } THEN 'not answered here; ask check_by_name' ELSE 'not allowed, and no DENY is the reason' END END AS says,
  EXISTS { (mark:Revision {root: $root}) WHERE mark.ends <= datetime.realtime().epochSeconds } AS due
ORDER BY way, privilege, by, object
