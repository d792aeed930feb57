"""The answers that every system must give, by plain loops over the facts of an estate."""

from collections import defaultdict

from peers.interface import Facts, Grant, Question


class PlainAnswers:
    """An allow on the object or above it counts if no deny is there, for the user and all its groups and roles."""

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
        return question.object in self._within(question.user, question.privilege, [question.object])

    def list_objects(self, user: str, privilege: str) -> set[str]:
        return self._within(user, privilege, self._facts.tables())

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
        """The user and all groups and roles that it is in, over any number of steps."""
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

    def _within(self, user: str, privilege: str, objects: list[str]) -> set[str]:
        """Those of the objects on which the user has the privilege."""
        principals = self.principals(user)
        found = set()
        for each in objects:
            path = self._facts.path(each)
            effects = {
                effect
                for effect in ("allow", "deny")
                for place in path
                for principal in principals
                if Grant(effect, privilege, place, principal) in self._grants
            }
            if effects == {"allow"}:
                found.add(each)
        return found
