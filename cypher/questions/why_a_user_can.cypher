// why_a_user_can.cypher: by which facts is a subject allowed to do something with an object? Every way that holds, with
// every fact that decides in it, and its paths.
// Leaves out: second objects, one role at a time, and facts about what is below the object; if the policy needs these
// for the operation and no way is found, `says` names the query to ask. Unlike check_by_name, it does not verify the
// copy of the policy.
// $subject    STRING  'user:bob'
// $operation  STRING  'load_table', or a privilege: 'SELECT_TABLE'
// $object     STRING  'table:hr.public.staff'
// $root       STRING  'metalake:ml'
// Returns rows: way INTEGER (one suffices), fact STRING (with the type of its place), by STRING (the principal), object
// STRING (the place), paths LIST OF PATH (the membership, the grant), says STRING (why a row has no answer), due
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
// 3 the ways of which every term holds: it has a fact that is true, and no DENY
OPTIONAL CALL (rule, subject, object, facts, found) {
  MATCH (rule)-[:ANY {type: object.type, with: ''}]->(clause) WHERE subject IS NOT NULL AND NOT rule.one_role
  WITH *, COLLECT { MATCH (clause)-[:EACH]->()-[:SOME]->(atom) WHERE EXISTS { (atom)-[:HAS]->(fact) WHERE fact.fact IN facts }
    AND NOT EXISTS { (atom)-[:UNLESS]->(fact) WHERE fact.fact IN facts } RETURN DISTINCT atom } AS atoms
  WHERE NOT EXISTS { MATCH (clause)-[:EACH]->(term) WHERE NOT EXISTS { (term)-[:SOME]->(atom) WHERE atom IN atoms } }
  WITH subject, facts, found, atoms ORDER BY clause.digest
  WITH subject, facts, found, collect(atoms) AS ways
  // 4 their facts, and the grants that make these true
  UNWIND range(1, size(ways)) AS way
  UNWIND CASE ways[way - 1] WHEN [] THEN ['everyone'] ELSE COLLECT { UNWIND ways[way - 1] AS atom MATCH (atom)-[:HAS]->(one)
    WHERE one.fact IN facts RETURN DISTINCT one.fact } END AS fact
  UNWIND CASE WHEN any(each IN found WHERE each.fact = fact) THEN [each IN found WHERE each.fact = fact] ELSE [null] END AS each
  WITH subject, way, fact, each, each.grant AS grant, each.by AS by
  OPTIONAL CALL (subject, by) {
    MATCH held = (subject)-[:MEMBER_OF|HAS_ROLE]->(by) RETURN held
  UNION ALL
    WITH subject, by WHERE NOT EXISTS { (subject)-[:MEMBER_OF|HAS_ROLE]->(by) }
    MATCH held = SHORTEST 1 (subject)-[:MEMBER_OF|HAS_ROLE]->*(by) RETURN held
  }
  OPTIONAL MATCH granted = (by)-[grant]->()
  RETURN way, fact, each, [path IN [held, granted] WHERE path IS NOT NULL] AS paths
}
RETURN way, fact, each.by.ref AS by, each.on.ref AS object, paths, CASE WHEN subject IS NULL THEN $subject + ' does not exist in ' + $root WHEN object IS NULL THEN $object + ' does not exist in ' + $root
    WHEN policy IS NULL THEN 'the policy of ' + $root + ' is not in the graph; run `grantpath policy write ' + $root + '`'
    WHEN rule IS NULL THEN $operation + ' is unknown on a ' + object.type
    WHEN way IS NULL THEN CASE WHEN rule.one_role OR rule.needs <> [] OR EXISTS { (rule)-[:ANY]->()-[:EACH]->()-[:SOME]->()-[:HAS|UNLESS]->(fact)
      WHERE fact.below IS NOT NULL } THEN 'not answered here; ask explain_by_name or `grantpath explain`' ELSE 'not allowed; which_deny_stops_a_user, and remedy_by_name or `grantpath explain`, say more' END END AS says,
  EXISTS { (mark:Revision {root: $root}) WHERE mark.ends <= datetime.realtime().epochSeconds } AS due
ORDER BY way, fact, by, object
