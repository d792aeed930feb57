"""The answers that every system must give, by plain loops over the facts of an estate."""

from collections import defaultdict

from peers.interface import Facts, Grant, Question


class PlainAnswers:
    """The rule: a user is allowed if, on the object or above it, the user and its groups and roles together have an
    allow and no deny."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._grants = set(facts.grants)
        self._of: dict[str, list[str]] = defaultdict(list)
        for member, of in facts.members:
            self._of[member].append(of)
        self._kept: dict[str, frozenset[str]] = {}

    def change(self, grant: Grant, added: bool) -> None:
        (self._grants.add if added else self._grants.discard)(grant)

    def check(self, question: Question) -> bool:
        effects = {
            effect
            for effect in ("allow", "deny")
            for place in self._facts.path(question.object)
            for principal in self.principals(question.user)
            if Grant(effect, question.privilege, place, principal) in self._grants
        }
        return effects == {"allow"}

    def list_objects(self, user: str, privilege: str) -> set[str]:
        places: dict[str, set[str]] = {"allow": set(), "deny": set()}
        for each in self._grants:
            if each.privilege == privilege and each.subject in self.principals(user):
                places[each.effect].add(each.object)
        paths = {table: self._facts.path(table) for table in self._facts.tables()}
        return {
            table
            for table, path in paths.items()
            if not places["allow"].isdisjoint(path) and places["deny"].isdisjoint(path)
        }

    def list_users(self, privilege: str, table: str) -> set[str]:
        path = set(self._facts.path(table))
        granted = {effect: self._granted(effect, privilege, path) for effect in ("allow", "deny")}
        return {
            user
            for user in self._facts.users()
            if not granted["allow"].isdisjoint(self.principals(user))
            and granted["deny"].isdisjoint(self.principals(user))
        }

    def principals(self, user: str) -> frozenset[str]:
        """The user and all its groups and roles, directly or through others."""
        if user not in self._kept:
            found, waiting = {user}, [user]
            while waiting:
                new = set(self._of[waiting.pop()]) - found
                found |= new
                waiting += new
            self._kept[user] = frozenset(found)
        return self._kept[user]

    def _granted(self, effect: str, privilege: str, places: set[str]) -> set[str]:
        return {each.subject for each in self._grants if each[:2] == (effect, privilege) and each.object in places}
