"""The questions and answers about what is in a root. They are frozen; `model_dump_json()` gives their JSON."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from pydantic import Field, ValidationInfo, field_validator

from grantpath.cypher.catalogue import Kind, catalogue
from grantpath.engine.answers.graph_path import GraphPath
from grantpath.engine.answers.notebook import verdict_html
from grantpath.engine.answers.tabular import ReferenceTable, Tabular, TypedColumn
from grantpath.graph.frozen import Frozen
from grantpath.graph.language.statement import Effect
from grantpath.graph.messages import indefinite


# ---- questions -----------------------------------------------------------------------------------------------------
class ListEntities(Frozen):
    """Which entities of `type` exist: below `under`, owned by `owned_by`, without an owner, with `like` in the name?"""

    type: str
    under: str | None = None
    owned_by: str | None = None
    without_owner: bool = False
    like: str | None = None


class ListGrants(Frozen):
    """Which grants exist: directly on `on`, directly to `to`, of `privilege`, with `effect`?"""

    on: str | None = None
    to: str | None = None
    privilege: str | None = None
    effect: Effect | None = None


class ListMembers(Frozen):
    """Which members does `container` have: direct ones, or with `all` also those through other groups and roles?"""

    container: str
    all: bool = False


class ListMemberships(Frozen):
    """To which groups and roles does `member` belong: directly, or with `all` also through other groups and roles?"""

    member: str
    all: bool = False


class ShowEntity(Frozen):
    """What is `ref`?"""

    ref: str


class ListAbilities(Frozen):
    """Which privileges and operations can `subject` use on `object`, with the second objects `with_`?"""

    subject: str
    object: str
    with_: dict[str, str] = Field({})
    as_role: str | None = None


class AskCatalogue(Frozen):
    """The question `name` of the catalogue, with its parameters except the root; at most `limit` rows (None: all)."""

    name: str
    parameters: dict[str, str] = Field({})
    limit: int | None = None


# ---- answers -------------------------------------------------------------------------------------------------------
class Grant(Frozen):
    """One grant, as it is stored. `until`: when it ends, None if it does not; always None in a past state, and in a
    list with `ends_due`."""

    effect: Effect
    privilege: str
    object: str
    subject: str
    until: str | None = None

    @property
    def statement(self) -> str:
        """The statement that makes the grant, e.g. `allow READ on table:a to role:r`; `after` takes this form, too."""
        ends = f" until {self.until}" if self.until else ""
        return f"{self.effect.lower()} {self.privilege} on {self.object} to {self.subject}{ends}"


class Membership(Frozen):
    """One membership. `path` is a shortest path from the member to the container, both included. `until`: when a direct
    membership ends, None if it does not; always None in a past state, and in a list with `ends_due`."""

    member: str
    container: str
    path: tuple[str, ...]
    until: str | None = None

    @property
    def direct(self) -> bool:
        """Whether it does not depend on another group or role."""
        return len(self.path) == 2


class EntityPage(ReferenceTable[str]):
    """One page of references, in byte order."""

    question: ListEntities
    answer: tuple[str, ...]
    ends_due: bool = False  # as in Decision
    after: str | None  # the last entry if more follow: pass it as `after` for the next page, and `revision` as `at`

    def references(self) -> Iterable[str]:
        return self.answer

    def columns(self) -> Mapping[str, TypedColumn]:
        return {"ref": TypedColumn("text", self.answer)}


class GrantPage(Tabular[Grant]):
    """One page of grants, sorted by object, subject, privilege and effect."""

    question: ListGrants
    answer: tuple[Grant, ...]
    ends_due: bool = False  # as in Decision
    after: str | None  # the statement of the last grant if more follow, as in EntityPage

    def columns(self) -> Mapping[str, TypedColumn]:
        return {
            "effect": TypedColumn("text", [each.effect for each in self.answer]),
            "privilege": TypedColumn("text", [each.privilege for each in self.answer]),
            "object": TypedColumn("text", [each.object for each in self.answer]),
            "subject": TypedColumn("text", [each.subject for each in self.answer]),
            "until": TypedColumn("text", [each.until for each in self.answer]),
        }


class MembershipPage(ReferenceTable[Membership]):
    """One page of memberships, in the byte order of the members or of the containers; `in` takes one of these, too."""

    question: ListMembers | ListMemberships
    answer: tuple[Membership, ...]
    ends_due: bool = False  # as in Decision
    after: str | None  # the reference of the last entry if more follow, as in EntityPage

    def references(self) -> Iterable[str]:
        members = isinstance(self.question, ListMembers)
        return (each.member if members else each.container for each in self.answer)

    def columns(self) -> Mapping[str, TypedColumn]:
        return {
            "member": TypedColumn("text", [each.member for each in self.answer]),
            "container": TypedColumn("text", [each.container for each in self.answer]),
            "path": TypedColumn("texts", [each.path for each in self.answer]),
            "until": TypedColumn("text", [each.until for each in self.answer]),
        }


Cell = str | int | bool | datetime | GraphPath | tuple[GraphPath, ...] | tuple[str, ...] | None


class CatalogueAnswer(Tabular[Mapping[str, Cell]]):
    """The answer to a question of the catalogue: rows by column. `reason` says why there are none; else it is None."""

    question: AskCatalogue
    answer: tuple[dict[str, Cell], ...]
    reason: str | None

    @field_validator("answer")
    @classmethod
    def _read_times(cls, rows: tuple[dict[str, Cell], ...], info: ValidationInfo) -> tuple[dict[str, Cell], ...]:
        """In JSON a time is text."""
        kinds = catalogue()[info.data["question"].name].columns if "question" in info.data else {}
        times = [name for name, kind in kinds.items() if kind == "ZONED DATETIME"]
        for row in rows:
            row.update({name: datetime.fromisoformat(cell) for name in times if isinstance(cell := row[name], str)})
        return rows

    def columns(self) -> Mapping[str, TypedColumn]:
        kinds = catalogue()[self.question.name].columns
        return {name: _column(kind, [row[name] for row in self.answer]) for name, kind in kinds.items()}


def _column(kind: Kind, cells: Sequence[Cell]) -> TypedColumn:
    """A column of a table. Paths are texts."""
    match kind:
        case "INTEGER":
            return TypedColumn("number", cells)
        case "BOOLEAN":
            return TypedColumn("flag", cells)
        case "ZONED DATETIME":
            return TypedColumn("time", cells)
        case "LIST OF STRING" | "LIST OF PATH":
            return TypedColumn("texts", [tuple(map(str, each)) if isinstance(each, tuple) else () for each in cells])
        case "STRING" | "PATH":
            return TypedColumn("text", [None if each is None else str(each) for each in cells])


class EdgeCounts(Frozen):
    """How many edges of each kind an entity has; memberships through others are not counted."""

    members: int
    memberships: int
    grants_on: int
    grants_to: int
    owns: int
    tags: int
    tagged: int


class EntityView(Frozen):
    """One entity with its surroundings. `complete` of a page is false if the page is cut.

    `exists` is false for a name with grants on it before it is created. `builtin` is true for an entity that comes with
    the policy. `parents` are the places above it, the nearest first; `children` counts the entities directly below it
    by type; those of the root include users and groups. `tags` are the tags of an object, and `tagged` what a tag is
    on: the first 50 in byte order; `counts` has the numbers.
    """

    question: ShowEntity
    revision: int  # the revision of the root that was read
    ends_due: bool = False  # as in Decision
    ref: str
    type: str
    exists: bool
    builtin: bool
    parents: tuple[str, ...]
    children: dict[str, int]
    owner: str | None
    counts: EdgeCounts
    members: MembershipPage
    memberships: MembershipPage
    grants_on: GrantPage
    grants_to: GrantPage
    tags: tuple[str, ...]
    tagged: tuple[str, ...]

    def _repr_html_(self) -> str:
        lists = [
            ("parents", self.parents),
            ("owner", [self.owner] if self.owner else []),
            ("members", [each.member for each in self.members.answer]),
            ("memberships", [each.container for each in self.memberships.answer]),
            ("grants on it", [each.statement for each in self.grants_on.answer]),
            ("grants to it", [each.statement for each in self.grants_to.answer]),
            ("tags", self.tags),
            ("tagged with it", self.tagged),
        ]
        state = "" if self.exists else ", which does not exist"
        return verdict_html(self.ref, f"{indefinite(self.type)}{state}", lists, self.revision)


class Ability(Frozen):
    """Whether a subject can use one privilege or operation.

    `allowed` is None if that depends on second objects that the question does not name: `needs` has their types by key.
    """

    name: str
    allowed: bool | None
    needs: dict[str, str] = Field({})


class Abilities(Tabular[Ability]):
    """Every privilege and operation that can be asked about the object, in byte order: privileges come first."""

    complete: bool = True
    question: ListAbilities
    answer: tuple[Ability, ...]
    ends_due: bool = False  # as in Decision

    def columns(self) -> Mapping[str, TypedColumn]:
        return {
            "name": TypedColumn("text", [each.name for each in self.answer]),
            "allowed": TypedColumn("flag", [each.allowed for each in self.answer]),
            "needs": TypedColumn("by_key", [[*each.needs.items()] for each in self.answer]),
        }

    @property
    def allowed(self) -> tuple[str, ...]:
        """The names that are allowed."""
        return tuple(each.name for each in self.answer if each.allowed)
