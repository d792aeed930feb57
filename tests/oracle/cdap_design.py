"""CDAP's design page, by its sheet: no inheritance, ALL covers the four privileges, creators get ALL."""

from typing import ClassVar

from .base import Change, Oracle, Question
from .cdap_design_operations import CREATING, DELETING, OPERATIONS, Case
from .notation import Ref

ENTITIES = ("instance", "namespace", "artifact", "application", "program", "stream", "dataset")
PEOPLE = ("user", "group", "role")


class CdapDesign(Oracle):
    """The policy model `cdap_design`."""

    policy = "cdap_design"
    root_type = "instance"
    types: ClassVar[dict[str, str | None]] = {
        "instance": None,
        "namespace": "instance",
        "artifact": "namespace",
        "application": "namespace",
        "program": "application",
        "stream": "namespace",
        "dataset": "namespace",
        "user": "instance",
        "group": "instance",
        "role": "instance",
    }
    askers = PEOPLE
    memberships: ClassVar[set[tuple[str, str]]] = {
        ("user", "group"),
        ("group", "group"),
        ("user", "role"),
        ("group", "role"),
    }
    grantees = PEOPLE
    privileges: ClassVar[dict[str, tuple[str, ...]]] = dict.fromkeys(
        ("READ", "WRITE", "EXECUTE", "ADMIN", "ALL"), ENTITIES
    )
    operations = OPERATIONS
    adding_with: ClassVar[dict[str, dict[str, str]]] = {"application": {"artifact": "artifact"}}

    def checkable_on(self, privilege: str) -> tuple[str, ...]:
        return ENTITIES

    def in_effect(self, subject: Ref, privilege: str, place: Ref) -> bool:
        holders = self.reach(subject)
        return any(
            ("allow", enough, place, holder) in self.grants for enough in (privilege, "ALL") for holder in holders
        )

    def decide(self, question: Question) -> bool:
        if question.name in self.privileges:
            return self.in_effect(question.subject, question.name, question.object)
        case = Case(self, question.subject, question.object, question.second)
        return OPERATIONS[question.name].condition(case)

    def authorized(self, change: Change, actor: Ref, as_role: Ref | None) -> bool:
        what = change.object
        if what.type in PEOPLE:
            return self.in_effect(actor, "ADMIN", self.root)
        if change.verb == "add":
            case = Case(self, actor, self.upward(what)[1], change.second)
            return OPERATIONS[CREATING[what.type]].condition(case)
        if change.verb == "drop":
            return OPERATIONS[DELETING[what.type]].condition(Case(self, actor, what, {}))
        return self.in_effect(actor, "ADMIN", what)

    def created(self, change: Change, actor: Ref, as_role: Ref | None) -> None:
        if change.object.type in ENTITIES:
            self.grants.add(("allow", "ALL", change.object, actor))
