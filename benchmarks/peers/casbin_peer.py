"""Casbin in this process: a policy for each grant, found by object and privilege."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from peers.interface import Facts, Grant, Peer, Question

MODEL = """
[request_definition]
r = subject, object, privilege
[policy_definition]
p = subject, object, privilege, eft
[role_definition]
g = _, _
[policy_effect]
e = some(where (p.eft == allow)) && !some(where (p.eft == deny))
[matchers]
m = r.object == p.object && r.privilege == p.privilege && g(r.subject, p.subject)
"""
OBJECT, PRIVILEGE, EFFECT = 1, 2, 3  # indexes in a row of a policy


class CasbinPeer(Peer):
    """Casbin's role manager has the groups and roles. This class has the object tree, and asks once for each level."""

    name = "casbin"
    set_up = (
        "`FastEnforcer` of `pycasbin` in memory, with an index by object and privilege. Memberships are `g`; the "
        "effect is allow-and-deny. The application asks once for each level of an object's path, and makes the "
        "lists from the roles and the policies."
    )
    distribution = "pycasbin"

    def load(self, facts: Facts) -> None:
        import casbin

        self._facts = facts
        self._filtered = casbin.fast_policy_filter
        model = casbin.FastModel((OBJECT, PRIVILEGE))
        model.load_model_from_text(MODEL)
        self._enforcer: Any = casbin.FastEnforcer(model, cache_key_order=(OBJECT, PRIVILEGE))
        self._enforcer.set_adapter(_Rows(facts))
        self._enforcer.enable_auto_save(False)
        self._enforcer.load_policy()
        self._members: dict[str, list[str]] = defaultdict(list)
        for member, of in facts.members:
            self._members[of].append(member)

    def check(self, question: Question) -> bool:
        allowed = False
        for place in self._facts.path(question.object):
            with self._filtered(self._policies(), place, question.privilege):
                here, rule = self._enforcer.enforce_ex(question.user, place, question.privilege)
            if rule and rule[EFFECT] == "deny":
                return False
            allowed = allowed or here
        return allowed

    def check_many(self, questions: Sequence[Question]) -> list[bool]:
        return [self.check(each) for each in questions]

    def list_objects(self, user: str, privilege: str) -> Iterable[str]:
        principals = {user, *self._enforcer.get_implicit_roles_for_user(user)}
        places: dict[str, set[str]] = {"allow": set(), "deny": set()}
        for subject, object_, granted, effect in self._enforcer.get_policy():
            if granted == privilege and subject in principals:
                places[effect].add(object_)
        for table in self._facts.tables():
            path = self._facts.path(table)
            if not places["allow"].isdisjoint(path) and places["deny"].isdisjoint(path):
                yield table

    def list_users(self, privilege: str, table: str) -> Iterable[str]:
        users: dict[str, set[str]] = {"allow": set(), "deny": set()}
        for place in self._facts.path(table):
            with self._filtered(self._policies(), place, privilege):
                granted = list(self._policies())
            for policy in granted:
                users[policy[EFFECT]] |= self._users_in(policy[0])
        return users["allow"] - users["deny"]

    def change(self, grant: Grant, added: bool) -> None:
        if added:
            self._enforcer.add_policy(*_policy(grant))
        else:
            self._enforcer.remove_policy(*_policy(grant))

    def _policies(self) -> Any:
        return self._enforcer.model.model["p"]["p"].policy

    def _users_in(self, subject: str) -> set[str]:
        """The users that are the subject, or belong to it directly or through others."""
        found, waiting = {subject}, [subject]
        while waiting:
            new = set(self._members[waiting.pop()]) - found
            found |= new
            waiting += new
        return {each for each in found if each.startswith("user:")}


class _Rows:
    """An adapter that passes all rows at once, as for a database. Adding rows one by one would compare each row with
    all earlier ones."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts

    def load_policy(self, model: Any) -> None:
        model.model["g"]["g"].policy.extend([list(each) for each in self._facts.members])
        for each in self._facts.grants:
            model.model["p"]["p"].policy.append(_policy(each))


def _policy(grant: Grant) -> list[str]:
    return [grant.subject, grant.object, grant.privilege, grant.effect]
