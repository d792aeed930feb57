// audit_write.cypher: writes accepted changes to the log: statements, loads, upgrades, prunings.
// $root  STRING       'metalake:ml'
// $rows  LIST OF MAP  revision, id (the change's own), at, actor (null for a fact), as_role (the actor's active role, or null),
//                     written_at (of an end, whose `at` is the end itself), statement, object, subject (the references that the statement names, or null), previous and hash (of
//                     the chain: engine/change/log_chain.py), unchained (of the first entry of a chain), pruned, pruned_revision
//                     and pruned_hash (of an entry that says what was pruned), facts, added, removed, touched, parts, facts_hash, renamed
//                     and bulk (what it added and removed: engine/change/delta_records.py), policy_before and policy_after
// Returns one row: recorded INTEGER
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', rows: [{revision: 7, id: '5f0c', at: datetime('2026-01-31T12:00Z'), actor: 'user:ann', as_role: null, statement: 'add user:cas', object: 'user:cas', subject: null, previous: '9f2c', hash: '03ab'}]}
UNWIND $rows AS row
CREATE (change:Change {root: $root})
SET change += row
RETURN count(*) AS recorded
