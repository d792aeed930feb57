// mirror_grants.cypher: the grants, ownerships and tags in a range of references, for snapshots and copies in memory.
// $root    STRING          'metalake:ml'
// $low     STRING          '', the first reference of the range
// $high    STRING          '~', the first reference after it; all references are between '' and '~'
// $tags    LIST OF STRING  ['tag'], the types of tags
// $by_tag  LIST OF STRING  ['SELECT_TABLE#tag'], the privileges whose grants on a tag are also returned for all that has the tag,
//                          each with the type of the tag
// Returns one row per kind of fact: fact STRING ('ALLOW SELECT_TABLE', 'OWNS', 'TAGGED', 'ALLOW SELECT_TABLE#tag'), refs LIST OF STRING
//         (the subject of each fact, in the range; of TAGGED the tag), objects LIST OF STRING (its object)
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', low: '', high: '~', tags: [], by_tag: []}
CALL () {
  MATCH (subject:Entity {root: $root})
  WHERE $low <= subject.ref < $high
  MATCH (subject)-[grant:ALLOW|DENY|OWNS]->(object)
  RETURN subject, type(grant) + coalesce(' ' + grant.privilege, '') AS fact, object
UNION ALL
  UNWIND $tags AS type
  MATCH (subject:Entity {root: $root})
  WHERE $low <= subject.ref < $high AND type + ':' < subject.ref < type + ';'
  MATCH (subject)<-[:TAGGED]-(object)
  RETURN subject, 'TAGGED' AS fact, object
UNION ALL
  UNWIND CASE $by_tag WHEN [] THEN [] ELSE $tags END AS type
  MATCH (tag:Entity {root: $root})<-[grant:ALLOW|DENY]-(subject)
  WHERE tag.ref STARTS WITH type + ':' AND $low <= subject.ref < $high AND grant.privilege + '#' + type IN $by_tag
  MATCH (tag)<-[:TAGGED]-(object)
  RETURN DISTINCT subject, type(grant) + ' ' + grant.privilege + '#' + tag.type AS fact, object
}
RETURN fact, collect(subject.ref) AS refs, collect(object.ref) AS objects
