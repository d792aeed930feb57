// what_a_grant_here_would_open.cypher: which operations on an object are not allowed to a subject now, but would be with
// one more ALLOW?
// Leaves out: what it would allow on objects below (see which_operations_a_grant_opens); operations with second
// objects, one role at a time, and facts about what is below the object. It does not verify the copy of the policy.
// $subject    STRING  'user:bob'
// $privilege  STRING  'SELECT_TABLE'
// $object     STRING  'table:hr.public.staff'
// $root       STRING  'metalake:ml'
// Returns rows: operation STRING, condition STRING (the text in the policy), says STRING (why a row has no answer), due
// BOOLEAN (facts have ended, but are still stored; run `grantpath expire`)
// In Neo4j Browser run this line first, then the whole file:
// :params {subject: 'user:bob', privilege: 'SELECT_TABLE', object: 'table:hr.public.staff', root: 'metalake:ml'}
// 1 the subject with its groups and roles, and the object with what is above it
OPTIONAL MATCH (subject:Entity {root: $root, ref: $subject}) WHERE coalesce(subject.exists, true)
OPTIONAL MATCH (object:Entity {root: $root, ref: $object})
OPTIONAL MATCH (policy:RulePolicy {root: $root})
CALL (subject) { MATCH (subject)-[:MEMBER_OF|HAS_ROLE*0..]->(principal) RETURN collect(DISTINCT principal) AS principals }
CALL (object) { MATCH (object)-[:CHILD_OF*0..]->(place) RETURN collect(place) AS above }
OPTIONAL MATCH (top:Entity {root: $root}) WHERE top.ref STARTS WITH policy.root_type + ':' // also above a user or group, which is not in the tree
WITH *, above + [place IN [top] WHERE NOT place IN above] AS places
// 2 the facts that are true, and those with the new grant
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
WITH *, [facts, facts + ('ALLOW ' + $privilege + ' ' + object.type)] AS states
OPTIONAL MATCH (privilege:RulePrivilege:RulePart {root: $root, name: $privilege})
OPTIONAL CALL (subject, object, states) {
  // 3 the operations that have a clause whose terms all hold, before and after
  MATCH (rule:RuleOperation:RulePart {root: $root, type: object.type}) WHERE subject IS NOT NULL AND NOT rule.one_role AND rule.alias_of IS NULL
  WITH rule, [facts IN states | EXISTS {
    MATCH (rule)-[any:ANY]->(clause) WHERE any.with = '' AND NOT EXISTS { MATCH (clause)-[:EACH]->(term) WHERE NOT EXISTS { MATCH (term)-[:SOME]->(atom)
      WHERE EXISTS { (atom)-[:HAS]->(fact) WHERE fact.fact IN facts } AND NOT EXISTS { (atom)-[:UNLESS]->(fact) WHERE fact.fact IN facts } } } }] AS allowed
  WHERE allowed = [false, true]
  RETURN rule
}
RETURN rule.name AS operation, rule.condition AS condition, CASE WHEN subject IS NULL THEN $subject + ' does not exist in ' + $root WHEN object IS NULL THEN $object + ' does not exist in ' + $root
    WHEN policy IS NULL THEN 'the policy of ' + $root + ' is not in the graph; run `grantpath policy write ' + $root + '`'
    WHEN privilege IS NULL OR NOT EXISTS { (privilege)-[:ON]->(kind) WHERE kind.name = object.type } THEN $privilege + ' is not granted on a ' + object.type
    WHEN rule IS NULL THEN 'it would allow no further operation on ' + $object END AS says,
  EXISTS { (mark:Revision {root: $root}) WHERE mark.ends <= datetime.realtime().epochSeconds } AS due
ORDER BY operation
