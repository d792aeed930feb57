"""Cedar in this process: a few fixed policies, with the grants as sets of principals in the objects."""

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from peers.interface import Facts, Grant, Peer, Question

LEVELS = ("resource", "resource.up", "resource.up.up", "resource.up.up.up")  # from the table to the root


class CedarPeer(Peer):
    """For each privilege P that is granted on an object, the object has the sets of principals allow_P and deny_P. `up`
    is the object above it."""

    name = "Cedar"
    set_up = (
        "`cedarpy` in memory. Each privilege has one `permit` and one `forbid`, which look for the principal in sets "
        "at each level of an object's path. Policies and entities are parsed once; a change parses the entities again. "
        "Cedar has no lists: every candidate is checked, in one batch."
    )
    distribution = "cedarpy"

    def load(self, facts: Facts) -> None:
        import cedarpy

        self._cedar: Any = cedarpy
        self._facts = facts
        self._grants = set(facts.grants)
        kinds = sorted({each[:2] for each in facts.grants})
        self._policies = cedarpy.PolicySet.from_str("\n".join(_policy(*each) for each in kinds))
        self._parse()

    def check(self, question: Question) -> bool:
        return bool(self._cedar.is_authorized(_request(question), self._policies, self._entities).allowed)

    def check_many(self, questions: Sequence[Question]) -> list[bool]:
        requests = [_request(each) for each in questions]
        return [
            bool(each.allowed) for each in self._cedar.is_authorized_batch(requests, self._policies, self._entities)
        ]

    def list_objects(self, user: str, privilege: str) -> Iterable[str]:
        tables = self._facts.tables()
        allowed = self.check_many([Question(user, privilege, table) for table in tables])
        return (table for table, yes in zip(tables, allowed, strict=True) if yes)

    def list_users(self, privilege: str, table: str) -> Iterable[str]:
        users = self._facts.users()
        allowed = self.check_many([Question(user, privilege, table) for user in users])
        return (user for user, yes in zip(users, allowed, strict=True) if yes)

    def change(self, grant: Grant, added: bool) -> None:
        (self._grants.add if added else self._grants.discard)(grant)
        self._parse()

    def _parse(self) -> None:
        parents: dict[str, list[str]] = defaultdict(list)
        for member, of in self._facts.members:
            parents[member].append(of)
        sets: dict[str, dict[str, list[str]]] = {
            place: defaultdict(list) for place in (self._facts.root, *self._facts.above)
        }
        for effect, privilege, place, subject in self._grants:
            sets[place][f"{effect}_{privilege}"].append(subject)
        entities = [
            {"uid": _uid(each), "attrs": {}, "parents": [_uid(of) for of in parents[each]]}
            for each in self._facts.subjects
        ]
        for place, granted in sets.items():
            attributes: dict[str, object] = {
                name: [{"__entity": _uid(each)} for each in subjects] for name, subjects in granted.items()
            }
            if place in self._facts.above:
                attributes["up"] = {"__entity": _uid(self._facts.above[place])}
            entities.append({"uid": _uid(place), "attrs": attributes, "parents": []})
        self._entities = self._cedar.Entities.from_json_str(json.dumps(entities))


def _policy(effect: str, privilege: str) -> str:
    decision = {"allow": "permit", "deny": "forbid"}[effect]
    name = f"{effect}_{privilege}"
    condition = " || ".join(f"{level} has {name} && principal in {level}.{name}" for level in LEVELS)
    return f'{decision}(principal, action == Action::"{privilege}", resource) when {{ {condition} }};'


def _uid(reference: str) -> dict[str, str]:
    kind, name = reference.split(":", 1)
    return {"type": kind.capitalize(), "id": name}


def _request(question: Question) -> dict[str, object]:
    return {
        "principal": _uid(question.user),
        "action": {"type": "Action", "id": question.privilege},
        "resource": _uid(question.object),
        "context": {},
    }
