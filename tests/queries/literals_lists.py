"""Literal mutants of the two lists, who and which, where they differ."""

from .literals import Mutant

WHO = [
    Mutant(
        "grants turned",
        "who",
        "(holder)-[grant:ALLOW|DENY|OWNS]->(:Entity",
        "(holder)<-[grant:ALLOW|DENY|OWNS]-(:Entity",
    ),
    Mutant(
        "another tenant's grants",
        "who",
        "[grant:ALLOW|DENY|OWNS]->(:Entity {root: $root, ref",
        "[grant:ALLOW|DENY|OWNS]->(:Entity {ref",
    ),
    Mutant(
        "another tenant's place",
        "who",
        "(object:Entity {root: $root, ref: place.ref})",
        "(object:Entity {ref: place.ref})",
    ),
    Mutant(
        "another tenant's roles",
        "who",
        "(holder:Entity {root: $root, ref: place.ref})",
        "(holder:Entity {ref: place.ref})",
    ),
    Mutant(
        "another tenant's users",
        "who",
        "ELSE [] END AS type\n    MATCH (holder:Entity {root: $root, type: type})",
        "ELSE [] END AS type\n    MATCH (holder:Entity {type: type})",
    ),
    Mutant(
        "another tenant's below",
        "who",
        "CHILD_OF*1..]->(:Entity {root: $root, ref: place.ref})",
        "CHILD_OF*1..]->(:Entity {ref: place.ref})",
    ),
    Mutant(
        "another tenant's users, of every",
        "who",
        "UNWIND $acting AS type\n    MATCH (holder:Entity {root: $root, type: type})",
        "UNWIND $acting AS type\n    MATCH (holder:Entity {type: type})",
    ),
    Mutant("another tenant's every", "who", "{root: $root, ref: every.ref}", "{ref: every.ref}"),
    Mutant("nothing exists", "who", "CASE WHEN coalesce(object.exists, true) THEN 'EXISTS ' END", "null"),
    Mutant("all exists", "who", "CASE WHEN coalesce(object.exists, true) THEN 'EXISTS ' END", "'EXISTS '"),
    Mutant("nothing came with the policy", "who", "CASE WHEN object.builtin THEN 'BUILTIN ' END", "null"),
    Mutant("all came with the policy", "who", "CASE WHEN object.builtin THEN 'BUILTIN ' END", "'BUILTIN '"),
    Mutant(
        "no holding",
        "who",
        "UNWIND $places + [name IN $named | {at: '=' + name, ref: name}] AS place",
        "UNWIND [] AS place",
    ),
    Mutant("no named roles", "who", "$places + [name IN $named | {at: '=' + name, ref: name}]", "$places"),
    Mutant("nothing below", "who", "UNWIND $below AS place", "UNWIND [] AS place"),
    Mutant("not everyone", "who", "WHEN $everyone THEN", "WHEN size($users) = 0 THEN"),
    Mutant("no every", "who", "UNWIND $every AS every", "UNWIND [] AS every"),
    Mutant("every, whoever has it", "who", "WHERE source IN sources AND grant.priv", "WHERE grant.priv"),
    Mutant(
        "every by oneself alone",
        "who",
        "(holder)-[:MEMBER_OF|HAS_ROLE*0..]->(source)",
        "(holder)-[:MEMBER_OF|HAS_ROLE*0..0]->(source)",
    ),
    Mutant(
        "hats turned", "who", "(hat)-[:MEMBER_OF|HAS_ROLE*0..]->(holder)", "(hat)<-[:MEMBER_OF|HAS_ROLE*0..]-(holder)"
    ),
    Mutant("all who hold are listed", "who", "WHERE hat.type IN $acting AND", "WHERE"),
    Mutant("roles are listed, or none", "who", "WITH hat WHERE NOT $one_role", "WITH hat"),
    Mutant(
        "users of one role are forgotten",
        "who",
        "WITH hat WHERE $one_role\n",
        "WITH hat WHERE $one_role AND hat.ref = ''\n",
    ),
    Mutant("roles hold roles, too", "who", "WHERE user.type IN $users AND", "WHERE"),
    Mutant("users of a role turned", "who", "(user)-[:HAS_ROLE]->(hat)", "(user)<-[:HAS_ROLE]-(hat)"),
    Mutant("names are listed", "who", " AND coalesce(hat.exists, true)", ""),
    Mutant("no facts, no user", "who", "CASE facts WHEN [] THEN [null] ELSE facts END", "facts"),
    Mutant("what is given is forgotten", "who", "given + facts + [place", "facts + [place"),
    Mutant("nobody is it", "who", "WHERE place.ref = user.ref |", "WHERE place.ref = '' |"),
    Mutant("everybody is it", "who", "WHERE place.ref = user.ref |", "|"),
    Mutant("the page before comes again", "who", "ref > $after AND", "ref >= $after AND"),
    Mutant("no limit", "who", "LIMIT toInteger($limit)", "LIMIT toInteger($limit) + 1"),
    Mutant("out of order", "who", "ORDER BY ref LIMIT", "ORDER BY ref DESC LIMIT"),
]
WHICH = [
    Mutant(
        "grants on the root are forgotten", "which", "UNWIND $places", "UNWIND [each IN $places WHERE each.ref <> $top]"
    ),
    Mutant("second objects are forgotten", "which", "UNWIND $places", "UNWIND [each IN $places WHERE each.ref = $top]"),
    Mutant("another tenant's subject", "which", "{root: $root, ref: check.subject}", "{ref: check.subject}"),
    Mutant("a name asks", "which", " WHERE coalesce(subject.exists, true)", ""),
    Mutant(
        "another tenant's objects",
        "which",
        "(object:Entity {root: $root, type: $type})",
        "(object:Entity {type: $type})",
    ),
    Mutant("another tenant's every", "which", "{root: $root, type: every.name}", "{type: every.name}"),
    Mutant("all roles at once", "which", "WITH * WHERE NOT check.one_role AND", "WITH * WHERE"),
    Mutant(
        "any active role will do",
        "which",
        " AND (check.as_role IS NULL OR check.as_role IN [role IN effective | role.ref])",
        "",
    ),
    Mutant("one role though all count", "which", "WHERE check.one_role AND (", "WHERE ("),
    Mutant("the active role is forgotten", "which", "(role.ref = check.as_role\n", "(check.as_role IS NOT NULL\n"),
    Mutant("no role without an active one", "which", "OR (check.as_role IS NULL AND", "OR (false AND"),
    Mutant("no named roles", "which", "UNWIND $places", "UNWIND [each IN $places WHERE left(each.name, 1) <> '=']"),
    Mutant("nothing above exists", "which", "$given + collect(fact)", "collect(fact)"),
    Mutant("nobody holds a second object", "which", "CASE WHEN entity IN principals THEN 'HOLDS ' END", "null"),
    Mutant("everybody holds a second object", "which", "CASE WHEN entity IN principals THEN 'HOLDS ' END", "'HOLDS '"),
    Mutant("nobody is it", "which", "['HOLDS ', 'IS ']", "['HOLDS ']"),
    Mutant("nobody holds it", "which", "['HOLDS ', 'IS '] ELSE ['HOLDS ']", "['IS '] ELSE []"),
    Mutant("nothing came with the policy", "which", "WHERE place.builtin\n", "WHERE place.builtin AND $type = ''\n"),
    Mutant("all came with the policy", "which", "WHERE place.builtin\n", "\n"),
    Mutant("nothing below", "which", "CASE WHEN $below THEN principals ELSE [] END", "[]"),
    Mutant("no every", "which", "UNWIND $every AS every", "UNWIND [] AS every"),
    Mutant("nothing is inherited", "which", "(place)-[:CHILD_OF*0..]->(above)", "(place)-[:CHILD_OF*0..0]->(above)"),
    Mutant(
        "inherited from one above", "which", "(place)-[:CHILD_OF*0..]->(above)", "(place)-[:CHILD_OF*0..1]->(above)"
    ),
    Mutant("nothing is handed down", "which", "(place)<-[:CHILD_OF*0..]-(object", "(place)<-[:CHILD_OF*0..0]-(object"),
    Mutant(
        "handed to what is in it alone", "which", "(place)<-[:CHILD_OF*0..]-(object", "(place)<-[:CHILD_OF*1..]-(object"
    ),
    Mutant("handed up", "which", "(place)<-[:CHILD_OF*0..]-(object", "(place)-[:CHILD_OF*0..]->(object"),
    Mutant("what is above is forgotten", "which", "shared + inherited AS inherited", "shared AS inherited"),
    Mutant("own facts are forgotten", "which", "[inherited + granted] |", "[inherited] |"),
    Mutant("what all share is forgotten", "which", " OR (size(verdicts) = 1 AND verdicts[0])", ""),
    Mutant(
        "what all share is forgotten in places",
        "which",
        "shared + inherited AS inherited",
        "inherited",
    ),
    Mutant("the highest wins", "which", "max([depth", "min([depth"),
    Mutant("a no is forgotten", "which", "WHERE verdicts[0] <> verdicts[-1] OR", "WHERE verdicts[-1] OR"),
    Mutant(
        "a yes is forgotten",
        "which",
        "WHERE verdicts[0] <> verdicts[-1] OR",
        "WHERE verdicts[0] AND NOT verdicts[-1] OR",
    ),
    Mutant("any type", "which", "(object:Entity {type: $type})", "(object:Entity)"),
    Mutant("names are listed", "which", " AND coalesce(object.exists, true)\n    RETURN ref", "\n    RETURN ref"),
    Mutant("what is denied is listed", "which", "WHERE allowed AND ref > $after", "WHERE ref > $after"),
    Mutant("the page before comes again", "which", "AND ref > $after", "AND ref >= $after"),
    Mutant("no limit", "which", "LIMIT toInteger($limit)", "LIMIT toInteger($limit) + 1"),
    Mutant("out of order", "which", "ORDER BY ref LIMIT", "ORDER BY ref DESC LIMIT"),
]
LISTS = [*WHO, *WHICH]
