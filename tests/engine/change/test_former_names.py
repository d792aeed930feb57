"""The names that an entity has had: the log and `since` follow it through renames and moves."""

import random
from dataclasses import dataclass, field
from typing import Any

import pytest

from grantpath.engine import Authorizer, Refused
from grantpath.engine.change.former_names import FormerNames, NameSpan

from ...conftest import Tenants, built_in

FACTS = [
    *("add user:admin", "owner user:admin of metalake:ml", "add user:bob", "add user:lee", "add role:analyst"),
    *("add catalog:hr", "add schema:hr.public", "add table:hr.public.staff", "add catalog:old", "add schema:old.s"),
    *("member user:bob of role:analyst", "allow USE_CATALOG on metalake:ml to role:analyst"),
    *("allow USE_SCHEMA on metalake:ml to role:analyst", "allow SELECT_TABLE on table:hr.public.staff to role:analyst"),
]


@pytest.fixture
def auth(tenant: Tenants) -> Authorizer:
    return tenant("gravitino", FACTS)


def statements(auth: Authorizer, **wanted: Any) -> list[str]:
    return [each.statement for each in auth.log(**wanted)]


# ---- in the database -------------------------------------------------------------------------------------------------
def test_log_finds_an_object_by_all_its_names(auth: Authorizer) -> None:
    auth.rename("catalog:hr", to="people")
    auth.move("schema:people.public", to="catalog:old")
    auth.deny("SELECT_TABLE", on="table:old.public.staff", to="role:analyst")
    auth.rename("table:old.public.staff", to="team")
    expected = [
        "add table:hr.public.staff",
        "allow SELECT_TABLE on table:hr.public.staff to role:analyst",
        "rename catalog:hr to people",
        "move schema:people.public to catalog:old",
        "deny SELECT_TABLE on table:old.public.staff to role:analyst",
        "rename table:old.public.staff to team",
    ]
    names = ["hr.public.staff", "people.public.staff", "old.public.staff", "old.public.team"]
    for name in names:  # by each of the names, because no other entity has one of them
        assert statements(auth, object=f"table:{name}") == expected
    page = auth.log(object="table:old.public.team", limit=2)
    assert ([each.statement for each in page], page.complete) == (expected[-2:], False)
    before = page.read().before
    assert statements(auth, object="table:old.public.team", limit=4, before=before) == expected[:-2]
    assert statements(auth, object="table:old.public.team", after=before) == expected[-1:]


def test_other_names_are_only_those_of_the_entity_that_has_the_name(auth: Authorizer) -> None:
    auth.rename("table:hr.public.staff", to="team")
    auth.add("table:hr.public.staff")
    auth.allow("MODIFY_TABLE", on="table:hr.public.staff", to="role:analyst")
    auth.allow("MODIFY_TABLE", on="table:hr.public.team", to="role:analyst")
    first = ["add table:hr.public.staff", "allow SELECT_TABLE on table:hr.public.staff to role:analyst"]
    renamed = "rename table:hr.public.staff to team"
    assert statements(auth, object="table:hr.public.team") == [
        *first,
        renamed,
        "allow MODIFY_TABLE on table:hr.public.team to role:analyst",
    ]
    assert statements(auth, object="table:hr.public.staff") == [  # all entries that name it
        *first,
        renamed,
        "add table:hr.public.staff",
        "allow MODIFY_TABLE on table:hr.public.staff to role:analyst",
    ]


def test_no_entry_is_hidden_by_renames_of_others(auth: Authorizer) -> None:
    auth.rename("catalog:hr", to="people")
    for statement in ("add catalog:hr", "allow USE_CATALOG on catalog:hr to role:analyst", "drop catalog:hr"):
        auth.change(statement)
    named = ["add catalog:hr", "rename catalog:hr to people"]
    assert statements(auth, object="catalog:hr", limit=5) == [
        *named,
        "add catalog:hr",
        "allow USE_CATALOG on catalog:hr to role:analyst",
        "drop catalog:hr",
    ]
    assert statements(auth, object="catalog:people") == named


def test_name_that_another_entity_took_is_not_followed(auth: Authorizer) -> None:
    auth.rename("catalog:hr", to="people")
    auth.drop("catalog:people")
    auth.rename("catalog:old", to="people")
    auth.allow("USE_CATALOG", on="catalog:people", to="role:analyst")
    assert statements(auth, object="catalog:hr") == [
        "add catalog:hr",
        "rename catalog:hr to people",
        "drop catalog:people",
    ]


def test_new_entity_has_no_entries_of_a_dropped_one_under_its_former_name(auth: Authorizer) -> None:
    auth.rename("user:bob", to="kim")
    auth.drop("user:kim")
    auth.add("user:kim")
    assert statements(auth, object="user:kim") == ["rename user:bob to kim", "drop user:kim", "add user:kim"]


def test_log_finds_an_actor_and_a_subject_by_all_their_names(auth: Authorizer) -> None:
    auth.join("user:lee", "role:analyst", by="user:admin")
    auth.rename("user:admin", to="chief")
    auth.rename("user:lee", to="lee@example.org")
    auth.leave("user:lee@example.org", "role:analyst", by="user:chief")
    assert statements(auth, actor="user:chief") == [
        "member user:lee of role:analyst",
        "remove user:lee@example.org from role:analyst",
    ]
    assert statements(auth, subject="user:lee", actor="user:admin", object="role:analyst") == [
        "member user:lee of role:analyst",
        "remove user:lee@example.org from role:analyst",
    ]
    assert statements(auth, subject="user:lee@example.org") == [
        "member user:lee of role:analyst",
        "rename user:lee to `lee@example.org`",
        "remove user:lee@example.org from role:analyst",
    ]


def test_refused_attempts_are_found_by_all_names_of_their_actor(auth: Authorizer) -> None:
    for name, former in (("bob", None), ("kim", "bob")):
        if former:
            auth.rename(f"user:{former}", to=name)
        with pytest.raises(Refused):
            auth.add(f"role:{name}", by=f"user:{name}")
    assert statements(auth, refused=True, actor="user:kim") == ["add role:bob", "add role:kim"]


def test_refused_attempt_on_a_name_that_is_free_is_none_on_the_renamed_entity(auth: Authorizer) -> None:
    auth.rename("catalog:hr", to="people")
    with pytest.raises(Refused):
        auth.add("catalog:hr", by="user:lee")
    assert statements(auth, refused=True, object="catalog:people") == []
    assert statements(auth, refused=True, object="catalog:hr") == ["add catalog:hr"]


def test_since_of_a_name_that_was_freed_begins_with_the_rename(auth: Authorizer) -> None:
    done = auth.rename("user:bob", to="kim")
    assert auth.since("user:bob", "load_table", "table:hr.public.staff").since == done.revision
    auth.add("user:bob")
    assert auth.since("user:bob", "load_table", "table:hr.public.staff").since == done.revision


def test_reference_that_was_too_long_before_a_rename_is_not_followed(tenant: Tenants) -> None:
    auth = tenant("lakehouse_nested", ["add catalog:c", "add user:bob"])
    auth.rename("user:bob", to="kim")
    path = "c"
    for _ in range(7):
        path += "." + "n" * 240
        auth.add(f"schema:{path}")
    auth.add(f"schema:{path}.deep")
    auth.move(f"schema:{path}.deep", to="catalog:c")
    child = "c.deep"
    for _ in range(5):
        child += "." + "m" * 240
        auth.add(f"schema:{child}")  # below its former parent, this would be longer than a reference can be
    assert statements(auth, object=f"schema:{child}") == [f"add schema:{child}"]
    since = auth.since("user:kim", "USE_SCHEMA", f"schema:{child}")
    assert since.change is not None and since.change.statement == f"add schema:{child}"


def test_since_follows_subjects_and_objects_to_their_former_names(auth: Authorizer) -> None:
    granted = auth.revision_now()
    auth.rename("user:bob", to="kim")
    auth.rename("schema:hr.public", to="open")
    auth.move("table:hr.open.staff", to="schema:old.s")
    found = auth.since("user:kim", "load_table", "table:old.s.staff")
    assert (found.allowed, found.since) == (True, granted)
    assert found.change is not None and found.change.statement.startswith("allow SELECT_TABLE")
    auth.change("allow MODIFY_TABLE on table:old.s.staff to role:analyst")
    auth.rename("user:lee", to="bob")  # a name that another user had
    denied = auth.since("user:bob", "load_table", "table:old.s.staff")
    assert (denied.allowed, denied.change is not None and denied.change.statement) == (
        False,
        "add table:hr.public.staff",
    )


# ---- against an oracle -----------------------------------------------------------------------------------------------
@dataclass
class Estate:
    """Tables in schemas in catalogs, and users, each with its reference at every revision."""

    rng: random.Random
    paths: dict[int, tuple[str, ...]] = field(default_factory=dict)  # by entity; a user has ("user", name)
    history: dict[int, list[tuple[int, str]]] = field(
        default_factory=dict
    )  # by entity: from a revision on, a reference
    log: list[tuple[int, str]] = field(default_factory=list)
    revision: int = 0

    def ref(self, path: tuple[str, ...]) -> str:
        if path[0] == "user":
            return f"user:{path[1]}"
        return f"{('catalog', 'schema', 'table')[len(path) - 1]}:{'.'.join(path)}"

    def step(self) -> None:
        self.revision += 1
        entity = self.rng.choice([*self.paths])
        old = self.paths[entity]
        match self.rng.randrange(12):
            case 0:
                for each in [each for each, path in self.paths.items() if path[: len(old)] == old]:
                    del self.paths[each]
            case 1 | 2 | 3 | 4:
                self.add()
            case 5 | 6 if old[0] != "user" and len(old) > 1:
                parents = [path for path in self.paths.values() if path[0] != "user" and len(path) == len(old) - 1]
                self.become(old, (*self.rng.choice(parents), old[-1]), move=True)
            case _:
                self.become(old, (*old[:-1], self.rng.choice("abc")), move=False)

    def add(self) -> None:
        entity, kind = len(self.history), self.rng.randrange(4)
        name = f"new{entity}"  # the log does not tell apart two entities that were added under one name
        if kind == 3:
            path: tuple[str, ...] = ("user", name)
        else:
            parents = (
                [path for path in self.paths.values() if path[0] != "user" and len(path) == kind] if kind else [()]
            )
            path = (*self.rng.choice(parents), name) if parents else ("user", name)
        self.paths[entity], self.history[entity] = path, [(self.revision, self.ref(path))]

    def become(self, old: tuple[str, ...], new: tuple[str, ...], move: bool) -> None:
        if new in self.paths.values():
            return
        to = self.ref(new[:-1]) if move else new[-1]
        self.log.append((self.revision, f"{'move' if move else 'rename'} {self.ref(old)} to {to}"))
        for entity, path in self.paths.items():
            if path[: len(old)] == old:
                self.paths[entity] = (*new, *path[len(old) :])
                self.history[entity].append((self.revision, self.ref(self.paths[entity])))

    def spans(self, entity: int) -> list[NameSpan]:
        """The names of an entity, newest first."""
        names = self.history[entity]
        ends = [*(first - 1 for first, _ in names[1:]), self.revision]
        return [NameSpan(ref, first, last) for (first, ref), last in zip(names, ends, strict=True)][::-1]


@pytest.mark.parametrize("seed", range(20))
def test_names_are_those_of_a_simulation(seed: int) -> None:
    policy = built_in("gravitino")
    estate = Estate(random.Random(seed))
    for entity, name in enumerate("abcd"):
        estate.paths[entity], estate.history[entity] = (name,), [(0, f"catalog:{name}")]
    for _ in range(60):
        estate.step()
    existing = {estate.ref(path) for path in estate.paths.values()}

    def ask(query: str, **parameters: Any) -> dict[str, object]:
        refs = parameters["refs"]
        rows = [{"revision": revision, "statement": text} for revision, text in reversed(estate.log)]
        return {"revision": estate.revision, "entries": rows, "existing": [ref for ref in refs if ref in existing]}

    names = FormerNames.read(ask, policy, policy.root("ml"), existing)
    assert estate.log and existing
    for entity, path in estate.paths.items():
        ref, wanted = estate.ref(path), estate.spans(entity)
        found = names.by_rename(ref, estate.revision)
        # before it was added, its names are those that it would have had
        assert found[: len(wanted) - 1] == wanted[:-1]
        first = found[len(wanted) - 1]
        assert (first.ref, first.last) == (wanted[-1].ref, wanted[-1].last) and first.first <= wanted[-1].first
        for revision in range(wanted[-1].first, estate.revision + 1):
            then = next(each.ref for each in found if each.first <= revision)
            assert then == next(each.ref for each in wanted if each.first <= revision)
        own, *others = names.spans(ref)
        assert own == NameSpan(ref, 0, estate.revision)
        assert [each for each in others if each.last >= wanted[-1].first][: len(wanted)] == [
            each if each.first != wanted[-1].first else next(other for other in others if other.last == each.last)
            for each in wanted
            if each.ref != ref
        ]
