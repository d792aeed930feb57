"""Literal mutants of the common parts of the queries that decide, and of check and explain."""

from .literals import Mutant, each

ALIKE = [
    *each("check who which", "drop the `none` half", "none(fact IN atom.none WHERE fact IN facts)", "true"),
    *each("check who which", "turn the `none` half", "none(fact IN atom.none", "any(fact IN atom.none"),
    *each("check who which", "forget the `any` half", "any(fact IN atom.any WHERE fact IN facts)", "true"),
    *each("check who which", "an atom wants all its facts", "any(fact IN atom.any", "all(fact IN atom.any"),
    *each("check who which", "a term wants all its atoms", "any(atom IN term", "all(atom IN term"),
    *each("check who which", "a clause wants any of its terms", "all(term IN clause", "any(term IN clause"),
    Mutant("answers are not bound to checks", "check", "{index: check.index, ", "{index: 0, "),
    Mutant(
        "a name is allowed",
        "check",
        "ref: check.subject}) WHERE coalesce(subject.exists, true)",
        "ref: check.subject})",
    ),
    *each("check", "all clauses must hold", "any(clause IN clauses", "all(clause IN clauses"),
    *each("which", "all clauses must hold", "any(clause IN clauses", "all(clause IN clauses"),
    *each("check who which explain", "no DENY is read", "-[grant:ALLOW|DENY|OWNS]->", "-[grant:ALLOW|OWNS]->"),
    *each("check who which explain", "no owner is read", "-[grant:ALLOW|DENY|OWNS]->", "-[grant:ALLOW|DENY]->"),
    *each("check who which explain", "no ALLOW is read", "-[grant:ALLOW|DENY|OWNS]->", "-[grant:DENY|OWNS]->"),
    *each("check who which explain", "no groups", "[:MEMBER_OF|HAS_ROLE*0..]", "[:HAS_ROLE*0..]"),
    *each("check who which explain", "no roles", "[:MEMBER_OF|HAS_ROLE*0..]", "[:MEMBER_OF*0..]"),
    *each("check who which explain", "one hop of membership", "MEMBER_OF|HAS_ROLE*0..]", "MEMBER_OF|HAS_ROLE*0..1]"),
    *each("check who which explain", "drop the first hop", "MEMBER_OF|HAS_ROLE*0..]", "MEMBER_OF|HAS_ROLE*1..]"),
    *each(
        "check which",
        "memberships turned",
        "ref: check.subject})-[:MEMBER_OF|HAS_ROLE*0..]->(principal)",
        "ref: check.subject})<-[:MEMBER_OF|HAS_ROLE*0..]-(principal)",
    ),
    *each("check who which explain", "half a change is not noticed", ".begun", ".revision"),
    *each("check who", "grants below turned", "(holder)-[grant:ALLOW]->(inner)-[", "(holder)<-[grant:ALLOW]-(inner)-["),
    *each("check who which", "below is one hop", "(inner)-[:CHILD_OF*1..]->", "(inner)-[:CHILD_OF*1..1]->"),
    *each("check who which", "below turned", "(inner)-[:CHILD_OF*1..]->", "(inner)<-[:CHILD_OF*1..]-"),
    *each("check who which", "every is always so", "AND NOT EXISTS {", "AND false AND NOT EXISTS {"),
    *each("check who which", "every of any type", "inner.type IN every.types AND", ""),
    *each("check who which", "every with what does not exist", "AND coalesce(inner.exists, true) AND NOT", "AND NOT"),
    *each("check who which", "every, whatever was granted", " AND grant.privilege IN every.privileges", ""),
    *each(
        "check who which", "every is one hop", "(place)<-[:CHILD_OF*1..]-(inner)", "(place)<-[:CHILD_OF*1..1]-(inner)"
    ),
    *each("check which", "every, whoever has it", "WHERE grantee IN principals AND grant.priv", "WHERE grant.priv"),
    *each(
        "check which",
        "a role without its roles",
        "(role)-[:HAS_ROLE*0..]->(principal)",
        "(role)-[:HAS_ROLE*0..0]->(principal)",
    ),
    *each(
        "check which",
        "roles of a role turned",
        "(role)-[:HAS_ROLE*0..]->(principal)",
        "(role)<-[:HAS_ROLE*0..]-(principal)",
    ),
    *each(
        "check",
        "roles held by roles act alone",
        "AND EXISTS { (subject)-[:HAS_ROLE]->(role) }]",
        "AND role.type = 'role']",
    ),
]
CHECK = [
    Mutant("grants of anybody", "check", " AND holder IN holders\n", "\n"),
    Mutant(
        "any place of many grants",
        "check",
        "MATCH (holder)-[grant:ALLOW|DENY|OWNS]->(object) WHERE",
        "MATCH ()-[grant:ALLOW|DENY|OWNS]->(object) WHERE",
    ),
    Mutant(
        "forget the branch of few grants",
        "check",
        "WITH * WHERE NOT crowded",
        "WITH * WHERE NOT crowded AND size(holders) = 0",
    ),
    Mutant(
        "forget the branch of many grants",
        "check",
        "WITH * WHERE crowded",
        "WITH * WHERE crowded AND size(holders) = 0",
    ),
    Mutant("no marks", "check", "UNWIND place.marks AS mark", "UNWIND [] AS mark"),
    Mutant("all exists", "check", "'EXISTS' THEN coalesce(object.exists, true)", "'EXISTS' THEN true"),
    Mutant(
        "nothing exists",
        "check",
        "'EXISTS' THEN coalesce(object.exists, true)",
        "'EXISTS' THEN coalesce(object.exists, false)",
    ),
    Mutant("nothing came with the policy", "check", "coalesce(object.builtin, false)", "false"),
    Mutant("all came with the policy", "check", "coalesce(object.builtin, false)", "true"),
    Mutant("everybody is it", "check", "THEN object = subject", "THEN true"),
    Mutant("nobody is it", "check", "THEN object = subject", "THEN false"),
    Mutant("everybody holds it", "check", "ELSE object IN holders END", "ELSE true END"),
    Mutant("nobody holds it", "check", "ELSE object IN holders END", "ELSE false END"),
    Mutant(
        "what only has a name is known",
        "check",
        " WHERE coalesce(entity.exists, true)\n    RETURN collect(ref) AS known",
        "\n    RETURN collect(ref) AS known",
    ),
    Mutant(
        "another tenant's are known", "check", "(entity:Entity {root: $root, ref: ref})", "(entity:Entity {ref: ref})"
    ),
    Mutant("another tenant's subject", "check", "{root: $root, ref: check.subject}", "{ref: check.subject}"),
    Mutant(
        "another tenant's object",
        "check",
        "(object:Entity {root: $root, ref: place.ref})",
        "(object:Entity {ref: place.ref})",
    ),
    Mutant("another tenant's every", "check", "{root: $root, ref: every.ref}", "{ref: every.ref}"),
    Mutant("all roles at once", "check", "WITH * WHERE NOT check.one_role AND", "WITH * WHERE"),
    Mutant(
        "any active role will do",
        "check",
        "AND (check.as_role IS NULL OR any(role IN held WHERE role.ref = check.as_role))",
        "",
    ),
    Mutant("one role though all count", "check", "WITH * WHERE check.one_role\n", "WITH *\n"),
    Mutant(
        "the active role is forgotten", "check", "WHERE role.ref = check.as_role\n", "WHERE check.as_role IS NOT NULL\n"
    ),
    Mutant("no role without an active one", "check", "OR check.as_role IS NULL AND", "OR false AND"),
    Mutant("no named roles", "check", "UNWIND check.named AS name", "UNWIND [] AS name"),
    Mutant("nothing below", "check", "UNWIND check.below AS place", "UNWIND [] AS place"),
    Mutant(
        "grants below of anybody",
        "check",
        "UNWIND holders AS holder\n        MATCH (holder)-[grant:ALLOW]->(inner)",
        "UNWIND holders AS one\n        MATCH (holder)-[grant:ALLOW]->(inner)",
    ),
    Mutant("no every", "check", "UNWIND check.every AS every", "UNWIND [] AS every"),
    Mutant("the first condition for all", "check", "$conditions[toInteger(check.condition)]", "$conditions[0]"),
]
EXPLAIN = [
    Mutant("facts that were not asked for", "explain", "place.at IN $facts\n", "place.at IS NOT NULL\n"),
    Mutant("every way", "explain", "SHORTEST 1 (", "ALL SHORTEST ("),
    Mutant("the way inside is one hop", "explain", "[:CHILD_OF*0..]->(object)", "[:CHILD_OF*0..0]->(object)"),
    Mutant(
        "memberships turned",
        "explain",
        "(actor)-[:MEMBER_OF|HAS_ROLE*0..]->(principal)",
        "(actor)<-[:MEMBER_OF|HAS_ROLE*0..]-(principal)",
    ),
    Mutant("roles that did not act", "explain", "coalesce($role, $subject)", "$subject"),
    Mutant("the path of the grant is forgotten", "explain", "[first, held, granted, tree]", "[first, held, tree]"),
    Mutant("links are forgotten", "explain", "[link IN links | type(link)]", "[]"),
    Mutant("the way up is forgotten", "explain", "[node IN nodes(tree) | node.ref] END", "[] END"),
    Mutant("membership alone is no way", "explain", "fact STARTS WITH 'HOLDS '", "fact = ''"),
    Mutant("no grants below", "explain", "UNWIND $below AS place", "UNWIND [] AS place"),
    Mutant("grants below, whatever was granted", "explain", "grant.privilege IN place.privileges AND ", ""),
]
DECISIONS = [*ALIKE, *CHECK, *EXPLAIN]
