// who_by_name.cypher: which users may do something with one object? It uses the copy of the policy in the graph, so two names
// suffice. DENY overrides ALLOW. The list agrees with `grantpath who`: in byte order, complete. Each candidate user is
// evaluated by itself; use who.cypher for very many users.
// $operation  STRING  'load_table', or a privilege: 'SELECT_TABLE'
// $object     STRING  'table:hr.public.staff'; with second objects 'table:hr.public.staff with tag=tag:pii, key=REF'; if
//                     several roots have it 'table:hr.public.staff in metalake:ml'
// Returns one row: answer LIST OF STRING (null if the question cannot be answered), reason STRING, near LIST OF STRING
// (similar names), root STRING, revision INTEGER
// Write references as in the property `ref`. The query refuses to answer if the copy of the policy was edited by hand.
// In Neo4j Browser run these lines first, then the whole file:
// :param operation => 'load_table'
// :param object => 'table:hr.public.staff'
// The same in one line:
// :params {operation: 'load_table', object: 'table:hr.public.staff'}
// 1 the first word of each parameter, and the rest after it; a quoted name can contain spaces
WITH [text IN [$operation, $object] | reduce(words = [], part IN split(text, ' ') |
  CASE WHEN size(split(words[-1], '`')) % 2 = 0 THEN words[..-1] + (words[-1] + ' ' + part) ELSE words + part END)] AS parsed
WITH null AS subject, parsed[0][0] AS operation, parsed[1][0] AS object, split(parsed[1][0], ':')[0] AS type,
  parsed[0][1..] + parsed[1][1..] AS more
WITH *, [at IN range(1, size(more) - 1) WHERE more[at - 1] = 'as' | more[at]][0] AS as_role,
  [at IN range(1, size(more) - 1) WHERE more[at - 1] = 'in' | more[at]][0] AS wanted,
  [word IN more WHERE word =~ '[a-z_]+=.+' |
    {key: split(word, '=')[0], ref: rtrim(substring(word, size(split(word, '=')[0]) + 1), ',')}] AS seconds
// 2 the root: the named one, or the only one that has the object
CALL (subject, object, wanted) {
  MATCH (mark:Revision) WHERE mark.root >= '' AND mark.root = coalesce(wanted, mark.root)
  WITH mark, 2 * COUNT { (:Entity {root: mark.root, ref: object}) } + COUNT { (:Entity {root: mark.root, ref: subject}) } AS fit
  WITH fit, collect(mark) AS marks ORDER BY fit DESC LIMIT 1
  RETURN collect(marks)[0] AS marks
}
WITH *, CASE size(marks) WHEN 1 THEN marks[0] END AS mark
WITH *, mark.root AS root, mark.revision AS revision, mark.begun AS begun
// 3 its policy, if it is unchanged, and the rule of the operation
OPTIONAL MATCH (policy:RulePolicy {root: root})
OPTIONAL MATCH (kind:RuleType:RulePart {root: root, name: type})
OPTIONAL MATCH (rule:RulePart {root: root, name: operation}) WHERE rule:RulePrivilege OR rule:RuleOperation AND rule.type = type
WITH *, reduce(keys = '', key IN COLLECT { UNWIND seconds AS second WITH second.key AS key ORDER BY key RETURN key } |
  keys + CASE keys WHEN '' THEN '' ELSE ',' END + key) AS keys
CALL (root, policy, rule) {
  OPTIONAL MATCH (rule)-[:ANY|EACH|SOME*0..3]->(node)
  WITH root, policy, rule, collect(DISTINCT node) AS nodes
  RETURN policy.nodes <> COUNT { (:RulePart {root: root}) } OR policy.edges <> COUNT { (:RulePart {root: root})-[]->() }
    OR rule.seal <> [rule.name, coalesce(rule.type, ''), coalesce(rule.condition, ''), toString(rule.one_role)]
    OR any(node IN nodes WHERE node.parts <> COLLECT {
      MATCH (node)-[edge:ANY|EACH|SOME|HAS|UNLESS]->(part)
      WITH type(edge) + ' ' + coalesce(edge.type + ' ' + edge.with + ' ', '') + CASE WHEN part:RuleFact THEN part.effect
        + coalesce(' ' + part.privilege, '') + coalesce(' ' + part.below + ' below', '') + ' ' + part.place ELSE part.digest END AS line
      ORDER BY line RETURN line }) AS edited
}
CALL (rule, type, keys) {
  MATCH (rule)-[any:ANY {type: type, with: keys}]->(clause)
  RETURN collect(COLLECT { MATCH (clause)-[:EACH]->(term) RETURN COLLECT { MATCH (term)-[:SOME]->(atom) RETURN {
    any: COLLECT { MATCH (atom)-[:HAS]->(fact) RETURN fact.fact }, none: COLLECT { MATCH (atom)-[:UNLESS]->(fact) RETURN fact.fact }
  } } }) AS clauses
}
CALL (rule, type, keys) {
  OPTIONAL MATCH (rule)-[:ANY {type: type, with: keys}]->()-[:EACH]->()-[:SOME]->()-[:HAS|UNLESS]->(fact)
  RETURN collect(DISTINCT fact) AS asked
}
// 4 the existing names, and the places: the object, its ancestors, and the same of second objects
CALL (root, policy, subject, object, as_role, seconds) {
  UNWIND [subject, object, as_role] + [second IN seconds | second.ref] AS ref
  MATCH (entity:Entity {root: root, ref: ref}) WHERE coalesce(entity.exists, true) AND NOT ref IN policy.hidden
  RETURN collect(ref) AS known
}
CALL (root, policy, object, seconds) {
  MATCH (top:Entity {root: root}) WHERE top.ref STARTS WITH policy.root_type + ':'
  UNWIND [{ref: object}] + seconds AS named
  WITH *, split(substring(named.ref, size(split(named.ref, ':')[0]) + 1), '.') AS parts, COLLECT {
    MATCH (:RuleType:RulePart {root: root, name: split(named.ref, ':')[0]})-[:IN*1..]->(above) RETURN above.name } AS above
  // a name that was never created is not in the tree: its ancestors follow from its segments
  UNWIND [named.ref, top.ref] + reduce(refs = [], end IN range(1, size(parts) - 1) | refs + [type IN above |
    type + ':' + reduce(name = parts[0], part IN parts[1..end] | name + '.' + part)]) AS ref
  MATCH (:Entity {root: root, ref: ref})-[:CHILD_OF*0..]->(place)
  RETURN collect(DISTINCT {at: CASE place WHEN top THEN '' ELSE coalesce('with.' + named.key + '.', '') END + place.type, node: place}) AS places
}
// 5 candidates: users that have a relevant fact, directly or through groups and roles; every user, if a clause can hold without such a fact
WITH *, [fact IN asked WHERE fact.effect IN ['ALLOW', 'OWNS', 'HOLDS', 'IS'] | fact.fact] AS own
WITH *, any(one IN clauses WHERE all(term IN one WHERE any(atom IN term WHERE any(fact IN atom.any WHERE NOT fact IN own)))) AS anybody
CALL (root, policy, asked, places, anybody) {
  CALL (root, anybody) {
    WITH * WHERE anybody
    MATCH (kind:RuleType:RulePart {root: root}) WHERE kind.listed
    MATCH (one:Entity {root: root}) WHERE one.ref STARTS WITH kind.name + ':'
    RETURN one
  UNION
    WITH * WHERE NOT anybody
    RETURN null AS one
  }
  CALL (root, one, asked, places, anybody) {
    WITH * WHERE anybody
    RETURN one AS user
  UNION
    WITH * WHERE NOT anybody
    CALL (root, asked, places) {
      UNWIND places AS place
      WITH place.node AS object
      MATCH (holder)-[:ALLOW|OWNS]->(object)
      RETURN holder
    UNION
      UNWIND CASE WHEN any(fact IN asked WHERE fact.privilege CONTAINS '#') THEN places ELSE [] END AS place
      WITH place.node AS object
      MATCH (object)-[:TAGGED]->()<-[:ALLOW]-(holder)
      RETURN holder
    UNION
      UNWIND places AS place
      RETURN place.node AS holder
    UNION
      UNWIND [fact IN asked WHERE fact.place STARTS WITH '=' | substring(fact.place, 1)] AS ref
      MATCH (holder:Entity {root: root, ref: ref})
      RETURN holder
    UNION
      UNWIND [fact IN asked WHERE fact.effect = 'ALLOW' AND fact.below IS NOT NULL] AS fact
      UNWIND [place IN places WHERE place.at = fact.place | place.node] AS object
      MATCH (holder)-[:ALLOW {privilege: fact.privilege}]->(inner {type: fact.below})-[:CHILD_OF*1..]->(object)
      RETURN holder
    }
    MATCH (user)-[:MEMBER_OF|HAS_ROLE*0..]->(holder)
    RETURN user
  }
  WITH DISTINCT root, user
  MATCH (acts:RuleType:RulePart {root: root, name: user.type}) WHERE acts.listed AND coalesce(user.exists, true) AND NOT user.ref IN policy.hidden
  RETURN collect({actor: user, acts: acts}) AS users
}
CALL (rule, users, as_role, asked, places, clauses) {
  UNWIND users AS user
  WITH *, user.actor AS actor, user.acts AS acts
  // 6 who acts: the user with its groups and roles, or with one role at a time
  CALL (rule, actor, acts, as_role) {
    MATCH (actor)-[:MEMBER_OF|HAS_ROLE*0..]->(held)
    WITH rule, actor, acts, as_role, collect(DISTINCT held) AS held, rule.one_role AND (as_role IS NOT NULL OR acts.kind <> 'role') AS one_role
    CALL (actor, held, as_role, one_role) {
      WITH * WHERE NOT one_role AND (as_role IS NULL OR any(role IN held WHERE role.ref = as_role))
      RETURN null AS role, held AS principals
    UNION ALL
      WITH * WHERE one_role
      UNWIND [role IN held WHERE role.ref = as_role OR as_role IS NULL AND EXISTS { (actor)-[:HAS_ROLE]->(role) }] AS role
      MATCH (role)-[:HAS_ROLE*0..]->(principal)
      RETURN role.ref AS role, collect(DISTINCT principal) AS principals
    }
    RETURN collect({role: role, principals: principals}) AS actors
  }
  // 7 the facts of the rule that are true for each of them
  CALL (actor, actors, asked, places, clauses) {
    UNWIND actors AS acting
    CALL (actor, acting, asked, places) {
      CALL (actor, acting, asked, places) {
        UNWIND places AS place
        UNWIND acting.principals AS principal
        WITH place, place.node AS object, principal
        MATCH (principal)-[grant:ALLOW|DENY|OWNS]->(object)
        RETURN type(grant) + ' ' + coalesce(grant.privilege + ' ', '') + place.at AS fact,
          principal.ref + CASE type(grant) WHEN 'OWNS' THEN ' owns ' ELSE ' has ' + type(grant) + ' ' + grant.privilege + ' on ' END + object.ref AS line,
          principal AS by, object AS on
      UNION
        UNWIND CASE WHEN any(fact IN asked WHERE fact.privilege CONTAINS '#') THEN places ELSE [] END AS place
        WITH place, place.node AS object
        MATCH (object)-[:TAGGED]->(tag)<-[grant:ALLOW|DENY]-(principal) WHERE principal IN acting.principals
        RETURN type(grant) + ' ' + grant.privilege + '#' + tag.type + ' ' + place.at AS fact,
          principal.ref + ' has ' + type(grant) + ' ' + grant.privilege + ' on ' + tag.ref + ', a tag of ' + object.ref AS line,
          principal AS by, tag AS on
      UNION
        UNWIND [fact IN asked WHERE fact.effect IN ['IS', 'HOLDS', 'EXISTS', 'BUILTIN']] AS fact
        UNWIND CASE WHEN fact.place STARTS WITH '=' THEN acting.principals ELSE [place IN places WHERE place.at = fact.place | place.node] END AS object
        WITH fact, object WHERE CASE fact.effect
          WHEN 'IS' THEN object = actor
          WHEN 'HOLDS' THEN object IN acting.principals AND (NOT fact.place STARTS WITH '=' OR fact.place = '=' + object.ref)
          WHEN 'EXISTS' THEN coalesce(object.exists, true) ELSE coalesce(object.builtin, false) END
        RETURN fact.fact AS fact, CASE fact.effect WHEN 'IS' THEN actor.ref + ' is ' + object.ref + ' itself'
          WHEN 'HOLDS' THEN actor.ref + ' is in or holds ' + object.ref ELSE object.ref + ' exists' END AS line, null AS by, object AS on
      UNION
        UNWIND [fact IN asked WHERE fact.effect = 'ALLOW' AND fact.below IS NOT NULL] AS fact
        UNWIND [place IN places WHERE place.at = fact.place | place.node] AS object
        UNWIND acting.principals AS principal
        MATCH (principal)-[:ALLOW {privilege: fact.privilege}]->(inner {type: fact.below})-[:CHILD_OF*1..]->(object)
        RETURN fact.fact AS fact, principal.ref + ' has ALLOW ' + fact.privilege + ' on ' + inner.ref + ' below ' + object.ref AS line,
          principal AS by, inner AS on
      UNION
        UNWIND [fact IN asked WHERE fact.effect = 'EVERY'] AS fact
        UNWIND [place IN places WHERE place.at = fact.place | place.node] AS object
        WITH fact, object WHERE NOT EXISTS {
          MATCH (object)<-[:CHILD_OF*1..]-(inner)
          WHERE inner.type IN split(fact.below, ',') AND coalesce(inner.exists, true) AND NOT EXISTS {
            MATCH (inner)<-[grant:ALLOW]-(one) WHERE one IN acting.principals AND grant.privilege IN split(fact.privilege, ',') } }
        RETURN fact.fact AS fact, actor.ref + ' has ' + fact.privilege + ' on every existing ' + fact.below + ' below ' + object.ref AS line,
          null AS by, object AS on
      }
      RETURN collect({fact: fact, line: line, by: by, on: on}) AS found, collect(fact) AS facts
    }
    // 8 the rule: one DENY beats every ALLOW; `open` are the terms of a clause that do not hold
    WITH acting, found, [clause IN clauses | {clause: clause, open: [term IN clause WHERE none(atom IN term WHERE
      any(fact IN atom.any WHERE fact IN facts) AND none(fact IN atom.none WHERE fact IN facts))]}] AS judged
    WITH acting, found, reduce(best = head(judged), each IN judged | CASE WHEN size(each.open) < size(best.open) THEN each ELSE best END) AS nearest
    ORDER BY coalesce(size(nearest.open), 1000), acting.role
    RETURN collect({role: acting.role, found: found, nearest: nearest})[0] AS verdict
  }
  WITH actor.ref AS ref WHERE verdict.nearest.open = []
  WITH ref ORDER BY ref
  RETURN collect(ref) AS answer
}
// 9 the first reason to refuse an answer
WITH *, [ref IN [object] + [second IN seconds WHERE NOT coalesce(second.key IN rule.new, false) | second.ref] WHERE NOT ref IN known AND NOT (ref = object AND policy.on_missing
    AND kind.kind = 'object' AND type <> policy.root_type)] + [ref IN [as_role] WHERE ref IS NOT NULL AND NOT ref IN known] AS absent,
  [second IN seconds | second.key + '=' + split(second.ref, ':')[0]] AS given,
  1 + reduce(dots = 0, at IN range(0, size(split(object, '`')) - 1, 2) | dots + size(split(split(object, '`')[at], '.')) - 1) AS depth
OPTIONAL MATCH (after:Revision {root: root})
WITH *, head([each IN [
  [size(more) <> 2 * size([word IN more WHERE word IN ['as', 'in']]) + size([word IN more WHERE word = 'with']) + size(seconds),
    'not understood: ' + reduce(line = '', word IN more | line + ' ' + word), null],
  [coalesce(size(marks), 0) <> 1, CASE WHEN marks IS NULL THEN 'this root does not exist' ELSE 'which root? write `in ROOT` after the object'
    + reduce(line = ', one of', each IN marks[..20] | line + ' ' + each.root) END, null],
  [policy IS NULL, 'the policy of ' + root + ' is not in the graph; run `grantpath policy write ' + root + '`', null],
  [policy.digest <> mark.digest OR coalesce(edited, false), 'the policy in the graph is not that of ' + root
    + ': it was edited by hand, or is older; `grantpath policy verify ' + root + '` says where', null],
  [begun <> revision OR after.revision <> revision OR after.begun <> revision, root + ' is being changed; ask again', null],
  [after.ends <= datetime.realtime().epochSeconds, 'facts of ' + root + ' have ended and are not removed yet; run `grantpath expire --root ' + root + '`', null],
  [kind IS NULL, 'the type ' + type + ' is unknown', type],
  [rule IS NULL, operation + ' is unknown on a ' + type, operation],
  [coalesce(rule.varies, kind.varies, false), operation + ' depends on the number of segments of a name; ask `grantpath who`', null],
  [any(key IN rule.needs WHERE NOT key IN [second IN seconds | second.key]) OR any(each IN given WHERE NOT each IN rule.takes),
    operation + ' needs' + reduce(line = '', key IN rule.needs | line + ' ' + key) + ' and takes'
    + reduce(line = '', each IN rule.takes | line + ' with ' + each + ':NAME'), null],
  [NOT keys IN rule.ways, operation + ' cannot be asked with ' + keys, null],
  [rule:RulePrivilege AND NOT type IN rule.asked_on AND policy.elsewhere = 'error', operation + ' is not asked on a ' + type, null],
  [as_role IS NOT NULL, 'a list of users takes no `as ' + as_role + '`', null],
  [policy.on_missing AND NOT object IN known AND kind.kind = 'object' AND depth <> kind.depth, object + ' has not ' + kind.depth + ' segments', null],
  [absent <> [], absent[0] + ' does not exist', absent[0]],
  [any(each IN rule.inside WHERE [place IN places WHERE place.at = 'with.' + each | place.node]
    <> [place IN places WHERE place.at = split(each, '.')[1] | place.node]),
    'a second object must be in the same' + reduce(line = '', each IN rule.inside | line + ' ' + split(each, '.')[1]) + ' as ' + object, null]
] WHERE each[0] | each]) AS problem
// 10 similar names, in upper or lower case: one contains the other, or they differ by one added, removed or changed letter, or by two swapped ones
CALL (root, type, problem) {
  WITH * WHERE problem[2] IS NOT NULL
  CALL (root, type, problem) {
    MATCH (entity:Entity {root: root}) WHERE entity.ref STARTS WITH split(problem[2], ':')[0] + ':' AND coalesce(entity.exists, true)
    RETURN entity.ref AS name LIMIT 10000
  UNION
    MATCH (rule:RulePart {root: root}) WHERE NOT problem[2] CONTAINS ':' AND (rule:RulePrivilege AND type IN rule.asked_on
      OR rule:RuleOperation AND rule.type = type OR rule:RuleType AND problem[2] = type)
    RETURN rule.name AS name
  }
  WITH name, toLower(split(name, ':')[-1]) AS one, toLower(split(problem[2], ':')[-1]) AS other
  WHERE one CONTAINS other OR other CONTAINS one OR any(at IN range(0, size(one)) WHERE left(one, at) = left(other, at) AND
    (substring(one, at + 1) = substring(other, at) OR substring(one, at) = substring(other, at + 1)
      OR substring(one, at + 2) = substring(other, at + 2) AND substring(one, at, 2) = reverse(substring(other, at, 2))
      OR substring(one, at + 1) = substring(other, at + 1)))
  WITH name ORDER BY abs(size(one) - size(other)), name LIMIT 5
  RETURN collect(name) AS near
}
RETURN CASE WHEN problem IS NULL THEN answer END AS answer, coalesce(problem[1], toString(size(answer)) + ' users') AS reason,
  coalesce(near, []) AS near, root, revision
