"""The question catalogue: what each query of `questions` asks, needs and returns, as its header says."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal, cast

from grantpath import cypher

Kind = Literal["STRING", "INTEGER", "BOOLEAN", "ZONED DATETIME", "LIST OF STRING", "PATH", "LIST OF PATH"]
ROOT = "root"  # the parameter that each question has
# The groups of questions, in the order in which people read them.
GROUPS: Mapping[str, tuple[str, ...]] = {
    "Decisions": (
        "why_a_user_can",
        "which_deny_stops_a_user",
        "what_a_grant_here_would_open",
        "what_an_operation_needs",
        "which_operations_a_grant_opens",
        "access_by_a_single_edge",
    ),
    "Who": (
        "who_is_in_a_group",
        "who_holds_a_privilege",
        "who_could_grant_themselves",
        "subjects_with_two_privileges",
    ),
    "One subject or object": (
        "what_a_user_belongs_to",
        "what_is_granted_to_a_subject",
        "everything_a_user_owns",
        "what_a_leaving_user_leaves",
        "what_one_user_has_and_another_lacks",
        "nearest_common_role",
        "what_is_granted_on_an_object",
        "what_has_a_tag",
    ),
    "Reviews of users, groups and roles": (
        "users_without_a_group",
        "users_without_any_grant",
        "users_with_the_same_principals",
        "roles_without_holders",
        "roles_with_the_same_grants",
        "widest_roles",
        "empty_groups",
        "memberships_given_twice",
        "memberships_in_a_cycle",
    ),
    "Reviews of grants and objects": (
        "grants_shadowed_by_a_deny",
        "grants_implied_by_another",
        "grants_behind_a_closed_gate",
        "grants_to_users_directly",
        "grants_on_the_root",
        "what_ends",
        "denies_without_an_allow",
        "objects_without_an_owner",
        "objects_without_any_grant",
        "most_granted_objects",
        "names_with_grants_that_do_not_exist",
    ),
    "The log": (
        "recent_changes",
        "changes_of_an_object",
        "what_an_actor_changed",
    ),
}
_CONTINUED = re.compile(r"\n//  +")  # a line that continues the description of a parameter is indented
_PARAMETER = re.compile(r"// \$(\w+)\s+(STRING|INTEGER)\s+('[^']*'|\d+)(.*)")
_COLUMN = re.compile(r"(\w+) (STRING|INTEGER|BOOLEAN|ZONED DATETIME|LIST OF STRING|PATH|LIST OF PATH)(?= \(|,| |$)")
_REASON = "says STRING (why a row has no answer)"
_DUE = "due BOOLEAN (facts have ended, but are still stored; run `grantpath expire`)"


@dataclass(frozen=True)
class Parameter:
    """A parameter of a question. `note` is what the header says after the example."""

    name: str
    kind: Kind
    example: str | int
    note: str

    @property
    def is_reference(self) -> bool:
        """Whether a value is a reference, such as user:bob."""
        return isinstance(self.example, str) and ":" in self.example

    @property
    def is_privilege(self) -> bool:
        """Whether a value is the name of a privilege, such as SELECT_TABLE."""
        return isinstance(self.example, str) and self.example.isupper()


@dataclass(frozen=True)
class CatalogueQuestion:
    """A question of the catalogue.

    `text` is the question in words, `omits` what the answer leaves out. `parameters` are those besides the root.
    `columns` are the columns of the answer, with their types. `explained`: a row whose column `says` is not null is no
    answer, but the reason why there is none, so that `says` is not one of `columns`. In the other questions, such a row
    is one whose first column is null. The column `due` is not one of them, either: facts that have ended are removed
    before a question is asked, except by people who paste its query.
    """

    name: str
    group: str
    text: str
    omits: str
    parameters: Mapping[str, Parameter]
    columns: Mapping[str, Kind]
    explained: bool


@cache
def catalogue() -> Mapping[str, CatalogueQuestion]:
    """The questions by name, group by group."""
    return {name: _read(name, group) for group, names in GROUPS.items() for name in names}


def _read(name: str, group: str) -> CatalogueQuestion:
    """Raises ValueError if the header of the query does not have all parts."""
    lines = [line for line in cypher.load(name).text.splitlines() if line.startswith("// ")]
    text = " ".join(line.removeprefix("// ") for line in lines)
    said = re.match(
        rf"{name}\.cypher: (\w[^?]*\?).* Leaves out: (.*?) \$\w+ .* Returns rows: (.*?) In Neo4j Browser", text
    )
    if said is None:
        raise ValueError(f"{name}.cypher: the header needs a question, what it leaves out, and the columns")
    question, omits = (part[:1].upper() + part[1:] for part in said.groups()[:2])
    parameters = parameters_of(cypher.load(name).text)
    returns, explained = said[3].replace(_DUE, ""), _REASON in said[3]
    columns = dict(_COLUMN.findall(re.sub(r"\([^)]*\)", "()", returns.replace(_REASON, ""))))
    takes = {each.name: each for each in parameters if each.name != ROOT}
    return CatalogueQuestion(name, group, question, omits, takes, columns, explained)


def parameters_of(text: str) -> list[Parameter]:
    """The parameters in the header of a query that have an example, the root among them."""
    whole = _CONTINUED.sub(" ", text)
    found = [match for line in whole.splitlines() if (match := _PARAMETER.match(line))]
    return [Parameter(each[1], cast(Kind, each[2]), _literal(each[3]), each[4].strip(",; ")) for each in found]


def _literal(text: str) -> str | int:
    return text[1:-1] if text.startswith("'") else int(text)
