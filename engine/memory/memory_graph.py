"""The facts of a root in memory, behind the queries of cypher/ that questions and changes ask.

Each query is answered by the method of its name, with the parameters and the rows that its file describes. So the rules
of changes, and everything that builds questions and reads their answers, are those of a root in the database.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from time import time
from typing import Any

from grantpath import cypher
from grantpath.engine.answers.request import ResolvedQuestion
from grantpath.engine.facts.set.descendants import Descendants
from grantpath.engine.facts.set.fact_builder import FactVersionBuilder
from grantpath.engine.facts.set.fact_draft import advanced
from grantpath.engine.facts.set.fact_set import FactSet
from grantpath.engine.facts.set.fact_version import (
    OWNS,
    TAGGED,
    FactOrigin,
    FactVersion,
    has_any,
    members,
)
from grantpath.engine.facts.set.memory_check import MemoryChecks
from grantpath.engine.facts.set.memory_paths import MemoryPaths
from grantpath.engine.facts.set.memory_views import MemoryViews
from grantpath.engine.facts.set.renamed_facts import facts_of
from grantpath.engine.policy.clauses import Atom, Clauses
from grantpath.engine.policy.facts import Fact, effect_and_privilege
from grantpath.engine.policy.policy import Policy, Requirement
from grantpath.engine.policy.renamed import Renamed
from grantpath.graph.errors import InvalidInput
from grantpath.graph.guard.transaction import Row
from grantpath.graph.language.ends import end_of
from grantpath.graph.language.reference import Reference, length_of, type_of
from grantpath.graph.language.statement import parse_statement
from grantpath.graph.language.stored_fact import PARTS, StoredFact, fact_text

MADE = "memory"  # the creation id of each root in memory
ENDING = ("list_grants", "list_members", "list_memberships")  # queries whose answers say when facts end
Values = Mapping[str, Any]


def needs_server(what: str) -> InvalidInput:
    """The error for what a root in memory does not have."""
    return InvalidInput(
        f"{what} needs a server: a root in memory has no log, no request ids and no Cypher; use Authorizer.open"
    )


def created(policy: Policy, root: Reference, builtins: Sequence[Values]) -> FactVersion:
    """The facts of a new root of a policy: the root object and the built-in subjects."""
    version = FactVersionBuilder(policy).version(FactOrigin(MADE, root.text, policy.digest), 0)
    facts = [f"add {root}", *(f"add {each['ref']}" for each in builtins)]
    for each in builtins:
        facts += [f"member {each['ref']} of {role}" for role in dict.fromkeys(each["holds"])]
        facts += [f"allow {name} on {root} to {each['ref']}" for name in dict.fromkeys(each["allow"])]
        facts += [f"owner {each['ref']} of {root}"] if each["owns"] else []
    return advanced(version, [{"added": facts, "removed": []}], 0)


class MemoryGraph:
    """The facts of a root at one revision; while a change is made, its own facts."""

    def __init__(
        self, policy: Policy, root: Reference, version: FactVersion, ends: Mapping[str, str] | None = None
    ) -> None:
        """`ends`: when facts end, by their statements without the end."""
        self.policy, self.root, self.version, self.ends = policy, root, version, dict(ends or {})
        self._conditions: dict[str, Requirement] = {}

    def rows(self, query: str, **parameters: Any) -> list[Row]:
        """The rows of a query of cypher/, by its name. Raises InvalidInput for a query that needs the database."""
        parameters.pop("now", None)  # `clock` has the same
        answer: Callable[..., list[Row]] | None = getattr(self, f"_{query}", None)
        if answer is not None:
            return answer(**parameters)
        for of in (MemoryPaths(self.facts), self._views):
            if hasattr(of, query):
                row = {**getattr(of, query)(**parameters), **self._marks}
                return [{**row, "answer": [*map(self._with_end, row["answer"])]} if query in ENDING else row]
        raise needs_server(f"{query}.cypher")

    @property
    def facts(self) -> FactSet:
        """The facts as a set."""
        return FactSet(self.version, self.policy, self.root)

    @property
    def _views(self) -> MemoryViews:
        return MemoryViews(self.facts)

    @property
    def _marks(self) -> dict[str, Any]:
        revision = self.version.revision
        return {"revision": revision, "begun": revision, "made": MADE, "policy": self.policy.digest, "due": False}

    # ---- reads -------------------------------------------------------------------------------------------------------
    def _revision(self) -> list[Row]:
        return [{**self._marks, "ends": None}]

    def _read_marks(self) -> list[Row]:
        return [{**self._marks, "loading": None, "what": None}]

    def _entity_exists(self, ref: str) -> list[Row]:
        return [{"ref": ref}] if self.version.exists(ref) else []

    def _similar_names(self, type: str, ref: str, limit: int) -> list[Row]:
        listed = self.version.listed.get(type, [])
        at = bisect_right(listed, ref)
        return [{"known": listed[max(0, at - limit) : at + limit]}]

    def _effective_principals(self, subjects: Sequence[str]) -> list[Row]:
        numbers = (self.version.numbers.find(subject) for subject in subjects)
        found = {each for number in numbers if number is not None for each in self.version.effective(number)}
        return [{"held": [self.version.numbers.refs[each] for each in found]}]

    def _owned_objects(self, subject: str) -> list[Row]:
        return [{"owned": sorted(self._views.owned(subject))}]

    def _check(self, checks: Sequence[Values], conditions: Sequence[Any]) -> list[Row]:
        asking = MemoryChecks(self.facts)
        answers = [
            {"index": check["index"], **asking.answer(self._question(check, conditions[check["condition"]]))}
            for check in checks
        ]
        return [{"answers": answers, **self._marks}]

    def _question(self, check: Values, condition: Any) -> ResolvedQuestion:
        """The question that the parameters of a check stand for."""
        named = {place["name"]: place["ref"] for place in (*check["places"], *check["below"])}
        named |= {Fact.parse(every["fact"]).place: every["ref"] for every in check["every"]}
        places = {name: self.policy.reference(ref, self.root) for name, ref in named.items()}
        key = f"{check['one_role']} {condition}"
        if key not in self._conditions:
            clauses = _clauses(condition)
            self._conditions[key] = Requirement("", self.root.type, clauses, check["one_role"], {}, True, ("",))
        subject = self.policy.reference(check["subject"], self.root)
        return ResolvedQuestion(
            self._conditions[key], places, None, {}, subject, check["as_role"], check["one_role"], check["needed"]
        )

    def _preconditions(
        self, refs: Sequence[str], top: str, joining: Sequence[str], changes: Sequence[Values]
    ) -> list[Row]:
        existing = [ref for ref in refs if self.version.exists(ref)]
        states = [self._state(change, joining) for change in changes]
        [marks] = self._read_marks()
        owner = self._views.owner(top)
        return [{"existing": existing, "states": states, "root_owner": owner, **marks, "now": clock()}]

    def _state(self, change: Values, joining: Sequence[str]) -> dict[str, Any]:
        find, refs = self.version.numbers.find, self.version.numbers.refs
        object_, subject = find(change["object"], -1), find(change["subject"] or "", -1)
        edge, above = change["edge"], list[str]()
        if edge == "MEMBER":
            there = object_ in (self.version.containers.get(subject) or ())
            if change["subject"] in joining and object_ >= 0:
                above = [refs[each] for each in self.version.effective(object_) if refs[each] in joining]
        elif edge == TAGGED:
            there = self._tagged(change["object"], change["subject"])
        else:
            granted = self.version.granted_on(change["object"])
            there = has_any(granted.get(f"{edge} {change['privilege']}"), {subject})
        return {
            "index": change["index"],
            "edge": there,
            "until": self._end(edge, change["privilege"] or "", change["subject"] or "", change["object"]),
            "owner": self._views.owner(change["object"]) if edge == "OWNS" else None,
            "owning": next(self._views.owned(change["object"]), None) if edge == "NONE" else None,
            "above": above,
        }

    # ---- writes ------------------------------------------------------------------------------------------------------
    def _apply(self, added: Sequence[str] = (), removed: Sequence[str] = ()) -> None:
        entry = {"added": [*dict.fromkeys(added)], "removed": [*dict.fromkeys(removed)]}
        self.version = advanced(self.version, [entry], self.version.revision)
        for text in removed:
            self.ends.pop(_split_end(text)[0], None)
        self.ends.update({fact: end for fact, end in map(_split_end, added) if end})

    def _end(self, kind: str, privilege: str, subject: str, object_: str) -> str | None:
        """When a fact ends."""
        return self.ends.get(fact_text((kind, privilege, subject, object_, "")))

    @property
    def due(self) -> bool:
        """Whether a fact has ended that was not removed yet."""
        return bool(self.ends) and min(self.ends.values()) <= end_of(clock())

    def _with_end(self, listed: Values) -> Values:
        """A grant or a membership of a list, with its end."""
        if "path" in listed:
            member, *_, container = listed["path"]
            return {**listed, "until": self._end("MEMBER", "", member, container)}
        return {**listed, "until": self._end(*(listed[part] for part in ("effect", "privilege", "subject", "object")))}

    def _ending_facts(self, by: str, hidden: Sequence[str], limit: int) -> list[Row]:
        found = [self._row_of(fact, end) for fact, end in self.ends.items() if end <= by]
        shown = [row for row in found if row["subject"] not in hidden and row["object"] not in hidden]
        shown.sort(key=lambda row: (row["until"], row["subject"], row["object"], row["privilege"] or ""))
        return [{"answer": shown[:limit], **self._marks}]

    def _clock(self) -> list[Row]:
        return [{"root": self.root.text, "now": clock()}]

    def _due_facts(self, limit: int) -> list[Row]:
        due = sorted((end, fact.startswith("deny "), fact) for fact, end in self.ends.items() if end <= end_of(clock()))
        return [self._row_of(fact, end) for end, _, fact in due[:limit]]

    @staticmethod
    def _row_of(fact: str, end: str) -> Row:
        words = parse_statement(fact)
        kind = "MEMBER" if words.kind == "member" else words.effect
        return dict(zip(PARTS, (kind, words.privilege, words.subject, words.object, end), strict=True))

    def _add(self, rows: Sequence[Values]) -> list[Row]:
        found, added = list[Row](), list[str]()
        for row in rows:
            ref, refs = row["ref"], self.version.numbers.refs
            granted = [
                [*effect_and_privilege(label), refs[by], self._end(*effect_and_privilege(label), refs[by], ref)]
                for label, principals in self.version.stored_on(ref).items()
                for by in members(principals)
                if label not in (OWNS, TAGGED)
            ]
            held = [*self._views.containers_of(ref)]
            ends = [[role, self._end("MEMBER", "", ref, role)] for role in held]
            found.append({"ref": ref, "granted": granted, "held": ends})
            for role in row["holds"]:
                self.ends.pop(fact_text(("MEMBER", "", ref, role, "")), None)
            if row["exists"] and not self.version.exists(ref):
                added.append(f"add {ref}")
            added += [f"member {ref} of {role}" for role in row["holds"] if role not in held]
        self._apply(added)
        return found

    def _join(self, rows: Sequence[Values], log: Sequence[Values]) -> list[Row]:
        joined = [fact_text(("MEMBER", "", row["subject"], row["container"], row["until"] or "")) for row in rows]
        self._apply(joined, [f"member {row['subject']} of {row['container']}" for row in rows if self._joined(row)])
        return []

    def _leave(self, rows: Sequence[Values], log: Sequence[Values]) -> list[Row]:
        self._apply(removed=[f"member {row['subject']} of {row['container']}" for row in rows if self._joined(row)])
        return []

    def _joined(self, row: Values) -> bool:
        find = self.version.numbers.find
        return find(row["container"], -2) in (self.version.containers.get(find(row["subject"], -1)) or ())

    def _own(self, rows: Sequence[Values]) -> list[Row]:
        found: list[Row] = [
            {"object": row["object"], "former": [*filter(None, [self._views.owner(row["object"])])]} for row in rows
        ]
        removed = [f"owner {former} of {row['object']}" for row in found for former in row["former"]]
        self._apply([f"owner {row['owner']} of {row['object']}" for row in rows], removed)
        return found

    def _grant(self, rows: Sequence[Values], log: Sequence[Values]) -> list[Row]:
        self._apply(
            [_granting(row, row["until"] or "") for row in rows], [_granting(row) for row in rows if self._granted(row)]
        )
        return []

    def _revoke(self, rows: Sequence[Values], kept: Sequence[str], log: Sequence[Values]) -> list[Row]:
        self._apply(removed=[_granting(row) for row in rows if self._granted(row)])
        return []

    def _granted(self, row: Values) -> bool:
        by = self.version.granted_on(row["object"]).get(f"{row['effect']} {row['privilege']}")
        return has_any(by, {self.version.numbers.find(row["subject"], -1)})

    def _tag(self, rows: Sequence[Values], log: Sequence[Values]) -> list[Row]:
        self._apply([_tagging(row) for row in rows if not self._tagged(row["object"], row["tag"])])
        return []

    def _untag(self, rows: Sequence[Values], log: Sequence[Values]) -> list[Row]:
        self._apply(removed=[_tagging(row) for row in rows if self._tagged(row["object"], row["tag"])])
        return []

    def _tagged(self, object_: str, tag: str) -> bool:
        return has_any(self.version.granted_on(object_).get(TAGGED), {self.version.numbers.find(tag, -1)})

    def _drop(self, refs: Sequence[str], all: bool, kept: Sequence[str], most: int) -> list[Row]:
        inside = {each: ref for ref in refs for each in self._inside(ref, all)}
        removed: dict[StoredFact, str] = {}  # each fact, with the one of `refs` that caused its removal
        for each, ref in inside.items():
            for fact in self._facts_of(each, inside, () if all else kept):
                removed.setdefault(fact, ref)
        self._apply(removed=[fact_text(fact) for fact in removed])
        listed = [[ref, *(part or None for part in fact)] for fact, ref in removed.items()]
        return [{"removed": listed[: most + 1]}]

    def _before_rename(self, ref: str, to: str, most: int, long: int) -> list[Row]:
        inside, facts = self._with_facts(ref)
        lengths = {(type_of(each), length_of(each)) for each in inside}
        return [
            {
                "refs": inside,
                "facts": [list(fact) for fact in facts][: most + 1],
                "lengths": [list(each) for each in lengths],
                "long": [each for each in inside if len(each) >= long],
                "taken": self._views.is_node(self.policy.reference(to, self.root)),
            }
        ]

    def _rename(self, ref: str, to: str, name: str, former: str, path: str, parent: str | None) -> list[Row]:
        _, facts = self._with_facts(ref)
        new = Renamed.of(self.policy.names, ref, to).new
        renamed = [(kind, name, new(by), new(on), end) for kind, name, by, on, end in facts]
        self._apply([fact_text(fact) for fact in renamed], [fact_text(fact) for fact in facts])
        return []

    def _with_facts(self, ref: str) -> tuple[list[str], list[StoredFact]]:
        """An entity with all that is below it, and their facts."""
        inside = dict.fromkeys(self._inside(ref, all=False), ref)
        return [*inside], [*dict.fromkeys(fact for each in inside for fact in self._facts_of(each, inside, ()))]

    def _inside(self, ref: str, all: bool) -> Iterator[str]:
        """An entity with all that is below it; the root object with everything, if `all`."""
        yield ref
        names = {**self.version.listed}
        for type_, more in self.version.granted_names.items():
            names[type_] = sorted({*names.get(type_, ()), *more})
        if all:
            yield from (each for listed in names.values() for each in listed if each != ref)
            return
        top, below = self.policy.reference(ref, self.root), Descendants(self.facts)
        for type_ in self.policy.names.below(top.type):
            if self.policy.is_securable(type_):
                yield from below.below(names, type_, top)

    def _facts_of(self, ref: str, gone: Mapping[str, str], kept: Sequence[str]) -> Iterator[StoredFact]:
        """The entity as a fact, and the facts about its edges, without its memberships in groups and roles that are
        `kept`."""
        for kind, privilege, subject, object_, _ in facts_of(self.version, self.version.numbers.of(ref)):
            is_kept = kind == "MEMBER" and subject == ref and object_ in kept and object_ not in gone
            if not is_kept:
                yield kind, privilege, subject, object_, self._end(kind, privilege, subject, object_) or ""

    # ---- the log, which is not kept ----------------------------------------------------------------------------------
    def _log_tail(self) -> list[Row]:
        from neo4j.time import DateTime

        now = DateTime.from_native(datetime.now(UTC))
        return [{"chain": self.root.text, "head": None, "unchained": None, "at": now, "newest": None}]

    def _audit_write(self, rows: Sequence[Values]) -> list[Row]:
        return []

    def _delta_write(self, rows: Sequence[Values]) -> list[Row]:
        return []

    def _refusal_write(self, **refusal: Any) -> list[Row]:
        return []

    def _idempotency_find(self, id: str, parts: Sequence[str]) -> list[Row]:
        raise needs_server("the argument `id`")


def _clauses(condition: Any) -> Clauses:
    """The inverse of `clauses.as_parameters`."""
    return tuple(
        tuple(
            tuple(Atom(tuple(map(Fact.parse, one["any"])), tuple(map(Fact.parse, one["none"]))) for one in term)
            for term in clause
        )
        for clause in condition
    )


def _tagging(row: Values) -> str:
    return fact_text((TAGGED, "", row["object"], row["tag"], ""))


def _granting(row: Values, until: str = "") -> str:
    return fact_text((row["effect"], row["privilege"], row["subject"], row["object"], until))


def _split_end(text: str) -> tuple[str, str]:
    """The statement of a fact without its end, and the end."""
    until = parse_statement(text).until
    return (text.removesuffix(f" until {until}"), until) if until else (text, "")


def clock() -> int:
    """The seconds since 1970."""
    return int(time()) if cypher.now is None else cypher.now
