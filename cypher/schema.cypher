// schema.cypher: the constraints and indexes of the graph, one statement each. Running it again changes nothing.
// The entities of a type are a range of entity_ref, because references begin with their type. Earlier versions had an index for it.
CREATE CONSTRAINT entity_ref IF NOT EXISTS FOR (entity:Entity) REQUIRE (entity.root, entity.ref) IS UNIQUE;
DROP INDEX entity_type IF EXISTS;
CREATE CONSTRAINT revision_root IF NOT EXISTS FOR (revision:Revision) REQUIRE revision.root IS UNIQUE;
CREATE CONSTRAINT writer_root IF NOT EXISTS FOR (writer:Writer) REQUIRE writer.root IS UNIQUE;
CREATE CONSTRAINT gate_root IF NOT EXISTS FOR (lock:Gate) REQUIRE lock.root IS UNIQUE;
CREATE CONSTRAINT heartbeat_holder IF NOT EXISTS FOR (beat:Heartbeat) REQUIRE (beat.root, beat.holder) IS UNIQUE;
CREATE CONSTRAINT change_id IF NOT EXISTS FOR (change:Change) REQUIRE (change.root, change.id) IS UNIQUE;
CREATE INDEX change_revision IF NOT EXISTS FOR (change:Change) ON (change.root, change.revision);
CREATE INDEX delta_revision IF NOT EXISTS FOR (delta:Delta) ON (delta.root, delta.revision);
CREATE INDEX refusal_revision IF NOT EXISTS FOR (refusal:Refusal) ON (refusal.root, refusal.revision);
CREATE INDEX refusal_actor IF NOT EXISTS FOR (refusal:Refusal) ON (refusal.root, refusal.actor);
CREATE CONSTRAINT dropped_root IF NOT EXISTS FOR (note:DroppedRoot) REQUIRE (note.root, note.made) IS UNIQUE;
CREATE CONSTRAINT request_id IF NOT EXISTS FOR (request:Request) REQUIRE (request.root, request.id) IS UNIQUE;
CREATE CONSTRAINT rule_policy_root IF NOT EXISTS FOR (policy:RulePolicy) REQUIRE policy.root IS UNIQUE;
CREATE INDEX allow_until IF NOT EXISTS FOR ()-[edge:ALLOW]-() ON (edge.root, edge.until);
CREATE INDEX deny_until IF NOT EXISTS FOR ()-[edge:DENY]-() ON (edge.root, edge.until);
CREATE INDEX member_until IF NOT EXISTS FOR ()-[edge:MEMBER_OF]-() ON (edge.root, edge.until);
CREATE INDEX role_until IF NOT EXISTS FOR ()-[edge:HAS_ROLE]-() ON (edge.root, edge.until);
CREATE INDEX rule_part IF NOT EXISTS FOR (part:RulePart) ON (part.root);
CREATE INDEX rule_name IF NOT EXISTS FOR (part:RulePart) ON (part.root, part.name);
// registers every label, relationship type and property that a query names, so that no query warns on a new database
CREATE (labels:Entity:Subject:Securable:Role:Revision:Writer:Change:Delta:Refusal:Request:LoadedBatch:DoomedBatch:LoadLane:RulePolicy
    :RuleType:RulePrivilege:RuleOperation:RuleClause:RuleTerm:RuleAtom:RuleFact:RulePart),
  (keys {root: 0, ref: 0, type: 0, name: 0, exists: 0, builtin: 0, privilege: 0, policy: 0, digest: 0, source: 0,
    made: 0, revision: 0, begun: 0, turn: 0, locked: 0, id: 0, at: 0, actor: 0, as_role: 0, statement: 0, object: 0,
    subject: 0, said: 0, reason: 0, request: 0, number: 0, ids: 0, revisions: 0, nodes: 0, edges: 0,
    unmade: 0, names: 0, by: 0, loading: 0, loading_what: 0, loading_done: 0, chain: 0, hash: 0, previous: 0,
    unchained: 0, pruned: 0, pruned_hash: 0, pruned_revision: 0, more: 0, holder: 0, head: 0,
    title: 0, root_type: 0, on_missing: 0, elsewhere: 0, active_roles: 0, granted_to: 0, hidden: 0, kind: 0, depth: 0,
    asks: 0, listed: 0, asked_on: 0, alias_of: 0, membership: 0, condition: 0, takes: 0, needs: 0, ways: 0, one_role: 0,
    parts: 0, part: 0, facts: 0, facts_hash: 0, added: 0, removed: 0, touched: 0, bulk: 0, policy_before: 0,
    policy_after: 0, seal: 0, varies: 0, fact: 0, effect: 0, below: 0, place: 0, with: 0, until: 0, ends: 0, written_at: 0, renamed: 0}),
  (labels)-[:CHILD_OF]->(keys), (labels)-[:MEMBER_OF]->(keys), (labels)-[:HAS_ROLE]->(keys),
  (labels)-[:OWNS]->(keys), (labels)-[:TAGGED]->(keys), (labels)-[:ALLOW]->(keys), (labels)-[:DENY]->(keys),
  (labels)-[:IN]->(keys), (labels)-[:ON]->(keys), (labels)-[:ANY]->(keys), (labels)-[:EACH]->(keys),
  (labels)-[:SOME]->(keys), (labels)-[:HAS]->(keys), (labels)-[:UNLESS]->(keys)
DETACH DELETE labels, keys;
