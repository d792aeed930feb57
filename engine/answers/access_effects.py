"""The effects of a change, a load or an upgrade: who gains and who loses which privileges and operations on what."""

from collections.abc import Iterator
from typing import Literal

from grantpath.engine.answers.notebook import verdict_html
from grantpath.graph.frozen import Frozen
from grantpath.graph.messages import counted, short

NAMED = 3  # the most names, and the most grants, in a sentence
GRANT = 300  # the most characters of a grant in a sentence


class AccessShare(Frozen):
    """Users and objects: each of the users gains, or loses, the effect's `names` on each of the objects.

    The objects are `objects` and all objects of the effect's type inside the places `below`, except the objects
    `except_objects` and all objects inside the places `except_below`.
    """

    users: tuple[str, ...]
    objects: tuple[str, ...]
    below: tuple[str, ...]
    except_objects: tuple[str, ...] = ()
    except_below: tuple[str, ...] = ()


class AccessEffect(Frozen):
    """Access that users gain, or lose, because of the same deciding grants.

    `names` are privileges and operations on objects of `type`. `by` are the deciding grants: those that allow only
    after the change (gain) or only before it (loss), or the DENYs that stop other grants only before the change (gain)
    or only after it (loss). For objects that are added or dropped, `by` is the statement that adds or drops them.
    `users` and `objects` count distinct users and objects, `pairs` counts the pairs of user and object. `place` is the
    lowest place that contains all the objects. `shares` list all pairs: in a share, all users are paired with all
    objects. Gained objects exist after the change, lost objects existed before it.
    """

    effect: Literal["gain", "lose"]
    names: tuple[str, ...]
    type: str
    by: tuple[str, ...]
    users: int
    objects: int
    pairs: int
    place: str
    shares: tuple[AccessShare, ...]

    def sentence(self) -> str:
        """The effect as a sentence, e.g. `12,000 users gain load_table on 40 tables below catalog:hr, by ...`."""
        who = short(self.shares[0].users[0]) if self.users == 1 else f"{self.users:,} users"
        what = short(self.place) if self.objects == 1 else f"{self.objects:,} {_several(self.type)} below {self.place}"
        if self.pairs != self.users * self.objects:
            what = f"up to {what} ({self.pairs:,} pairs of user and {self.type.replace('_', ' ')})"
        by = f", by {_listed(self.by)}" if self.by else ""
        names = tuple(sorted(self.names, key=lambda name: telling_first(name, self.type)))
        return f"{who} {self.effect}{'s' * (self.users == 1)} {_listed(names)} on {what}{by}"


class Effects(Frozen):
    """All access that a change would give and take away: the exact difference between all access before and after it.

    `revision` is the revision of the facts before the change. `gaining` and `losing` count the users that gain or lose
    any access. `effects` is sorted by the number of pairs of user and object, the widest effect first. Only existing
    users, service principals and objects are compared. The operations in `omitted` are not compared, because they need
    a second object.
    """

    revision: int
    gaining: int
    losing: int
    effects: tuple[AccessEffect, ...]
    omitted: tuple[str, ...]

    def sentences(self) -> list[str]:
        """Each effect as a sentence, the widest first."""
        return [each.sentence() for each in self.effects]

    def summary(self) -> str:
        """The counts in a few words."""
        if not self.effects:
            return "no user gains or loses anything"
        parts = [
            f"{counted(count, 'users')} {verb}{'s' * (count == 1)} access"
            for count, verb in ((self.gaining, "gain"), (self.losing, "lose"))
            if count
        ]
        return " and ".join(parts)

    def pairs(self) -> Iterator[tuple[str, str, AccessShare]]:
        """(`gain` or `lose`, name, share) of everything that changes."""
        for each in self.effects:
            for name in each.names:
                for share in each.shares:
                    yield each.effect, name, share

    def _repr_html_(self) -> str:
        lists = [
            (verb, [each.sentence() for each in self.effects if each.effect == effect])
            for verb, effect in (("gained", "gain"), ("lost", "lose"))
        ]
        return verdict_html("effects", self.summary(), lists, self.revision)


def telling_first(name: str, type_: str) -> tuple[bool, int, str]:
    """The key by which names with the same answers on a type are sorted for a reader: those that contain the type
    first, and short ones before long ones."""
    return type_ not in name.lower(), len(name), name


def _listed(texts: tuple[str, ...]) -> str:
    more = len(texts) - NAMED
    shown = [short(each, GRANT) for each in texts[:NAMED]]
    if more > 0:
        return f"{', '.join(shown)} and {more:,} more"
    return " and ".join(filter(None, [", ".join(shown[:-1]), shown[-1]]))


def _several(type_: str) -> str:
    name = type_.replace("_", " ")
    return f"{name[:-1]}ies" if name.endswith("y") else f"{name}es" if name.endswith("s") else f"{name}s"
