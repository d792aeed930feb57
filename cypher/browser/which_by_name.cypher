// which_by_name.cypher: on which objects of a type may a subject do something? It uses the copy of the policy in the graph, so three
// names suffice. DENY overrides ALLOW. The list agrees with `grantpath which`: in byte order, complete.
// $subject    STRING  'user:bob'; with an active role 'user:bob as role:analyst'
// $operation  STRING  'load_table', or a privilege: 'SELECT_TABLE'
// $type       STRING  'table'; with second objects 'table with tag=tag:pii, key=REF'; if several roots have the subject
//                     'table in metalake:ml'
// Returns one row: answer LIST OF STRING (null if the question cannot be answered), reason STRING, near LIST OF STRING
// (similar names), root STRING, revision INTEGER
// Write references as in the property `ref`. The query refuses to answer if the copy of the policy was edited by hand.
// In Neo4j Browser run these lines first, then the whole file:
// :param subject => 'user:bob'
// :param operation => 'load_table'
// :param type => 'table'
// The same in one line:
// :params {subject: 'user:bob', operation: 'load_table', type: 'table'}
// 1 the first word of each parameter, and the rest after it; a quoted name can contain spaces
WITH [text IN [$subject, $operation, $type] | reduce(words = [], part IN split(text, ' ') |
  CASE WHEN size(split(words[-1], '`')) % 2 = 0 THEN words[..-1] + (words[-1] + ' ' + part) ELSE words + part END)] AS parsed
WITH parsed[0][0] AS subject, parsed[1][0] AS operation, null AS object, parsed[2][0] AS type,
  parsed[0][1..] + parsed[1][1..] + parsed[2][1..] AS more
WITH *, [at IN range(1, size(more) - 1) WHERE more[at - 1] = 'as' | more[at]][0] AS as_role,
  [at IN range(1, size(more) - 1) WHERE more[at - 1] = 'in' | more[at]][0] AS wanted,
  [word IN more WHERE word =~ '[a-z_]+=.+' |
    {key: split(word, '=')[0], ref: rtrim(substring(word, size(split(word, '=')[0]) + 1), ',')}] AS seconds
// 2 the root: the named one, or the only one that has the subject
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
// 4 the existing names
CALL (root, policy, subject, object, as_role, seconds) {
  UNWIND [subject, object, as_role] + [second IN seconds | second.ref] AS ref
  MATCH (entity:Entity {root: root, ref: ref}) WHERE coalesce(entity.exists, true) AND NOT ref IN policy.hidden
  RETURN collect(ref) AS known
}
OPTIONAL MATCH (actor:Entity {root: root, ref: subject}) WHERE coalesce(actor.exists, true)
OPTIONAL MATCH (acts:RuleType:RulePart {root: root, name: split(subject, ':')[0]})
CALL (root, policy, rule, type, seconds, actor, acts, as_role, clauses, asked) {
  // 5 the places that all objects share: the root object, second objects and their ancestors, roles that a clause names
  MATCH (top:Entity {root: root}) WHERE top.ref STARTS WITH policy.root_type + ':'
  CALL (root, seconds, asked, top) {
    RETURN top.type AS name, top AS node
  UNION
    UNWIND seconds AS named
    WITH *, split(substring(named.ref, size(split(named.ref, ':')[0]) + 1), '.') AS parts, COLLECT {
      MATCH (:RuleType:RulePart {root: root, name: split(named.ref, ':')[0]})-[:IN*1..]->(above) RETURN above.name } AS above
    // a name that was never created is not in the tree: its ancestors follow from its segments
    UNWIND [named.ref] + reduce(refs = [], end IN range(1, size(parts) - 1) | refs + [type IN above |
      type + ':' + reduce(name = parts[0], part IN parts[1..end] | name + '.' + part)]) AS ref
    MATCH (:Entity {root: root, ref: ref})-[:CHILD_OF*0..]->(node)
    WITH * WHERE node <> top
    RETURN 'with.' + named.key + '.' + node.type AS name, node
  UNION
    UNWIND [fact IN asked WHERE fact.place STARTS WITH '='] AS fact
    MATCH (node:Entity {root: root, ref: substring(fact.place, 1)})
    RETURN fact.place AS name, node
  }
  WITH top, collect({name: name, node: node}) AS shared
  // an object that exists is in objects that exist
  WITH *, COLLECT { MATCH (:RuleType:RulePart {root: root, name: type})-[:IN*0..]->(above) RETURN 'EXISTS ' + above.name } AS given,
    [fact IN asked | fact.fact] AS relevant
  CALL (root, rule, actor, acts, as_role, clauses, asked, top, shared, given, relevant) {
    // 6 who acts: the subject with its groups and roles, or with one role at a time
    CALL (rule, actor, acts, as_role) {
      MATCH (actor)-[:MEMBER_OF|HAS_ROLE*0..]->(held)
      WITH rule, actor, acts, as_role, collect(DISTINCT held) AS held, rule.one_role AND (as_role IS NOT NULL OR acts.kind <> 'role') AS one_role
      CALL (actor, held, as_role, one_role) {
        WITH * WHERE NOT one_role AND (as_role IS NULL OR any(role IN held WHERE role.ref = as_role))
        RETURN held AS principals
      UNION ALL
        WITH * WHERE one_role
        UNWIND [role IN held WHERE role.ref = as_role OR as_role IS NULL AND EXISTS { (actor)-[:HAS_ROLE]->(role) }] AS role
        CALL (role) { MATCH (role)-[:HAS_ROLE*0..]->(principal) RETURN collect(DISTINCT principal) AS principals }
        RETURN principals
      }
      RETURN principals
    }
    CALL (root, actor, principals, top, shared, given, asked, relevant, clauses) {
      CALL (root, actor, principals, shared, asked, relevant) {
        // 7 what is granted where, and which properties matter: first of the shared places
        UNWIND shared AS each WITH each.node AS place
        UNWIND ['', CASE WHEN coalesce(place.exists, true) THEN 'EXISTS ' END, CASE WHEN place.builtin THEN 'BUILTIN ' END,
          CASE WHEN place IN principals THEN 'HOLDS ' END, CASE place WHEN actor THEN 'IS ' END] AS property RETURN place, property
      UNION ALL
        UNWIND principals AS principal MATCH (principal)-[grant:ALLOW|DENY|OWNS]->(place)
        WITH place, type(grant) + ' ' + coalesce(grant.privilege + ' ', '') AS property
        WHERE property + place.type IN relevant OR place IN [each IN shared | each.node] RETURN place, property
      UNION ALL
        UNWIND CASE WHEN any(fact IN asked WHERE fact.privilege CONTAINS '#') THEN principals ELSE [] END AS principal
        MATCH (principal)-[grant:ALLOW|DENY]->(tag)<-[:TAGGED]-(place)
        WITH place, type(grant) + ' ' + grant.privilege + '#' + tag.type + ' ' AS property
        WHERE property + place.type IN relevant OR place IN [each IN shared | each.node] RETURN place, property
      UNION ALL
        UNWIND principals AS place UNWIND CASE place WHEN actor THEN ['HOLDS ', 'IS '] ELSE ['HOLDS '] END AS property
        WITH place, property WHERE property + place.type IN relevant RETURN place, property
      UNION ALL
        UNWIND [fact IN asked WHERE fact.effect = 'BUILTIN'] AS fact
        MATCH (place:Entity {root: root}) WHERE place.ref STARTS WITH fact.place + ':' AND place.builtin
        RETURN place, 'BUILTIN ' AS property
      UNION ALL
        // rarely needed: what is granted below a place, and a grant on everything that exists there
        UNWIND CASE WHEN any(fact IN asked WHERE fact.effect = 'ALLOW' AND fact.below IS NOT NULL) THEN principals ELSE [] END AS principal
        MATCH (principal)-[grant:ALLOW]->(inner)-[:CHILD_OF*1..]->(place)
        RETURN place, 'ALLOW ' + grant.privilege + ' ' + inner.type + ' below ' AS property
      UNION ALL
        UNWIND [fact IN asked WHERE fact.effect = 'EVERY'] AS fact
        MATCH (place:Entity {root: root}) WHERE place.ref STARTS WITH split(fact.place, '.')[-1] + ':' AND NOT EXISTS {
          MATCH (place)<-[:CHILD_OF*1..]-(inner)
          WHERE inner.type IN split(fact.below, ',') AND coalesce(inner.exists, true) AND NOT EXISTS {
            MATCH (inner)<-[grant:ALLOW]-(one) WHERE one IN principals AND grant.privilege IN split(fact.privilege, ',') } }
        RETURN place, left(fact.fact, size(fact.fact) - size(fact.place)) AS property
      }
      WITH DISTINCT place, property
      // a fact is named by the type of its place; facts of shared places hold for every object, so they move to the root object
      UNWIND [place.type] + [each IN shared WHERE each.node = place | each.name] AS name
      WITH CASE name WHEN place.type THEN place ELSE top END AS place, property + name AS fact WHERE fact IN relevant OR place = top
      WITH place, collect(fact) AS granted
      // each place inherits the facts of those above it; some subjects have no path to the root object
      MATCH (place)-[:CHILD_OF*0..]->(up) UNWIND CASE WHEN up:Securable THEN [up] ELSE [up, top] END AS above
      WITH above, collect(place) AS inside, head(collect(CASE place WHEN above THEN granted END)) AS granted
      UNWIND inside AS place WITH place, head(collect(CASE place WHEN above THEN granted END)) AS granted,
        collect(CASE WHEN place <> above THEN granted END) AS outer
      WITH place, granted, reduce(all = given, some IN outer | all + some) AS inherited
      // 8 the rule: one DENY beats every ALLOW. It is 1 where all that is inside is gained, and -1 where it is lost
      WITH place, [facts IN [inherited, inherited + granted] | any(clause IN clauses WHERE all(term IN clause WHERE any(atom IN term
        WHERE any(fact IN atom.any WHERE fact IN facts) AND none(fact IN atom.none WHERE fact IN facts))))] AS verdicts
      RETURN place, toInteger(verdicts[1]) - CASE place WHEN top THEN 0 ELSE toInteger(verdicts[0]) END AS change
    }
    WITH place, sum(change) AS change WHERE change <> 0
    RETURN collect([place, change]) AS changes
  }
  // the objects inside, on which more roles gain access than lose it
  CALL (root, type, top, changes) {
    UNWIND changes AS each WITH each[0] AS place, each[1] AS change
    UNWIND CASE place WHEN top THEN COLLECT { MATCH (one:Entity {root: root}) WHERE one.ref STARTS WITH type + ':' RETURN one }
      ELSE COLLECT { MATCH (place)<-[:CHILD_OF*0..]-(one {type: type}) RETURN one } END AS one
    WITH one, sum(change) AS roles WHERE roles > 0 AND coalesce(one.exists, true)
    RETURN one
  }
  WITH one.ref AS ref WHERE NOT one.ref IN policy.hidden AND all(each IN rule.inside WHERE
    [place IN shared WHERE place.name = 'with.' + each | place.node] = COLLECT { MATCH (one)-[:CHILD_OF*0..]->(above {type: split(each, '.')[1]}) RETURN above })
  WITH ref ORDER BY ref
  RETURN collect(ref) AS answer
}
// 9 the first reason to refuse an answer
WITH *, [ref IN [second IN seconds WHERE NOT coalesce(second.key IN rule.new, false) | second.ref] WHERE NOT ref IN known] + [ref IN [as_role] WHERE ref IS NOT NULL AND NOT ref IN known] AS absent,
  [second IN seconds | second.key + '=' + split(second.ref, ':')[0]] AS given
OPTIONAL MATCH (after:Revision {root: root})
WITH *, head([each IN [
  [size(more) <> 2 * size([word IN more WHERE word IN ['as', 'in']]) + size([word IN more WHERE word = 'with']) + size(seconds),
    'not understood: ' + reduce(line = '', word IN more | line + ' ' + word), null],
  [coalesce(size(marks), 0) <> 1, CASE WHEN marks IS NULL THEN 'this root does not exist' ELSE 'which root? write `in ROOT` after the type'
    + reduce(line = ', one of', each IN marks[..20] | line + ' ' + each.root) END, null],
  [policy IS NULL, 'the policy of ' + root + ' is not in the graph; run `grantpath policy write ' + root + '`', null],
  [policy.digest <> mark.digest OR coalesce(edited, false), 'the policy in the graph is not that of ' + root
    + ': it was edited by hand, or is older; `grantpath policy verify ' + root + '` says where', null],
  [begun <> revision OR after.revision <> revision OR after.begun <> revision, root + ' is being changed; ask again', null],
  [after.ends <= datetime.realtime().epochSeconds, 'facts of ' + root + ' have ended and are not removed yet; run `grantpath expire --root ' + root + '`', null],
  [kind IS NULL, 'the type ' + type + ' is unknown', type],
  [rule IS NULL, operation + ' is unknown on a ' + type, operation],
  [coalesce(rule.varies, kind.varies, false), operation + ' depends on the number of segments of a name; ask `grantpath which`', null],
  [any(key IN rule.needs WHERE NOT key IN [second IN seconds | second.key]) OR any(each IN given WHERE NOT each IN rule.takes),
    operation + ' needs' + reduce(line = '', key IN rule.needs | line + ' ' + key) + ' and takes'
    + reduce(line = '', each IN rule.takes | line + ' with ' + each + ':NAME'), null],
  [NOT keys IN rule.ways, operation + ' cannot be asked with ' + keys, null],
  [rule:RulePrivilege AND NOT type IN rule.asked_on AND policy.elsewhere = 'error', operation + ' is not asked on a ' + type, null],
  [NOT coalesce(acts.asks, false), 'checks are not about ' + subject, subject],
  [as_role IS NOT NULL AND NOT policy.active_roles, policy.name + ' has no active roles; omit `as ' + as_role + '`', null],
  [absent <> [], absent[0] + ' does not exist', absent[0]],
  [NOT subject IN known, subject + ' does not exist, so the list is empty', subject]
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
RETURN CASE WHEN problem IS NULL THEN answer WHEN problem[1] ENDS WITH 'the list is empty' THEN [] END AS answer,
  coalesce(problem[1], toString(size(answer)) + ' objects') AS reason, coalesce(near, []) AS near, root, revision
