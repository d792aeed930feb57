"""Questions about who holds one privilege, by plain grants: the rows are those that follow from the facts."""

from collections.abc import Iterator

from ...oracle import Oracle
from ...oracle.facts import Grant
from ...oracle.notation import Ref
from ...support.catalogue import Case, Row, agree, holds, refs, subjects, users
from ...support.twin import Twin


def pairs(twin: Twin, count: int) -> list[tuple[str, Ref]]:
    """Privileges on objects on which they are granted, or below."""
    found = sorted({(name, on) for effect, name, on, _ in twin.world.grants if on in twin.world.existing})
    below = [(name, each) for name, on in found[::3] for each in sorted(twin.world.existing_inside(on))[:1]]
    return twin.rng.sample([*found, *below], min(count, len(found)))


def grants_on(world: Oracle, name: str, on: Ref) -> list[Grant]:
    return [grant for grant in world.grants if grant[1] == name and grant[2] in world.upward(on)]


ROOT = ("MANAGE_GRANTS", "SELECT_TABLE", "USE_SCHEMA")


def asked(twin: Twin, count: int) -> list[tuple[str, Ref]]:
    fixed = [(name, twin.world.root) for name in ROOT if name in twin.world.privileges]
    return [*fixed, *pairs(twin, count)]


def test_who_holds_a_privilege(worlds: list[Twin]) -> None:
    def cases(twin: Twin) -> Iterator[Case]:
        for name, on in asked(twin, 12):
            yield (
                {"privilege": name, "object": str(on)},
                [
                    (user, by, place)
                    for user in users(twin.world)
                    if holds(twin.world, user, name, on)
                    for _, _, place, by in grants_on(twin.world, name, on)
                    if by in twin.world.reach(user)
                ],
            )

    def leads(twin: Twin, row: Row) -> bool:
        path, granted = refs(row["path"]), refs(row["granted"])
        return [path[0], path[-1], *granted] == [row["user"], row["principal"], row["principal"], row["place"]]

    agree(worlds, "who_holds_a_privilege", "user principal place", cases, leads)


def test_subjects_with_two_privileges(worlds: list[Twin]) -> None:
    def cases(twin: Twin) -> Iterator[Case]:
        world = twin.world
        for name, on in asked(twin, 12):
            others = sorted({grant[1] for grant in world.grants if grant[2] in world.upward(on)} - {name})
            for second in others[:2]:
                wanted = []
                for user in users(world):
                    if holds(world, user, name, on) and holds(world, user, second, on):
                        by = [
                            sorted(
                                {str(each[3]) for each in grants_on(world, one, on) if each[3] in world.reach(user)},
                                key=str.encode,
                            )
                            for one in (name, second)
                        ]
                        wanted.append((user, *by))
                yield {"privilege": name, "second": second, "object": str(on)}, wanted

    agree(worlds, "subjects_with_two_privileges", "user first_by second_by", cases)


def test_who_could_grant_themselves(worlds: list[Twin]) -> None:
    grant_with, join_with = "MANAGE_GRANTS", "MANAGE_GROUPS"

    def cases(twin: Twin) -> Iterator[Case]:
        world = twin.world
        for name, on in asked(twin, 8):
            places = {on, world.root}
            joined = {
                by for effect, _, _, by in grants_on(world, name, on) if effect == "allow" and by not in users(world)
            }
            wanted = set[tuple[object, ...]]()
            for user in users(world):
                reach = world.reach(user)
                wanted |= {
                    (user, "owns", world.owners[each], None) for each in places if world.owners.get(each) in reach
                }
                for right in (grant_with, join_with):
                    own = [each for each in world.grants if each[1] == right and each[2] in places and each[3] in reach]
                    if all(each[0] == "allow" for each in own):
                        gains = [None] if right == grant_with else sorted(joined)
                        how = "grants" if right == grant_with else "joins"
                        wanted |= {(user, how, each[3], gained) for each in own for gained in gains}
            yield (
                {"privilege": name, "object": str(on), "grant_with": grant_with, "join_with": join_with},
                list(wanted),
            )

    agree(worlds, "who_could_grant_themselves", "user how by gains", cases)


def test_access_by_a_single_edge(worlds: list[Twin]) -> None:
    """By trying: each edge without which the subject reaches no grantee."""

    def cases(twin: Twin) -> Iterator[Case]:
        world = twin.world
        for name, on in asked(twin, 10):
            grants = [grant for grant in grants_on(world, name, on) if grant[0] == "allow"]
            able = [each for each in subjects(world) if any(grant[3] in world.reach(each) for grant in grants)]
            for subject in twin.rng.sample(able, min(4, len(able))):
                yield {"subject": str(subject), "privilege": name, "object": str(on)}, _needed(world, subject, grants)

    agree(worlds, "access_by_a_single_edge", "start edge end", cases)


def _needed(world: Oracle, subject: Ref, grants: list[Grant]) -> list[tuple[object, ...]]:
    reach = world.reach(subject)
    needed: list[tuple[object, ...]] = []
    for member in reach:
        for container in world.containers.get(member, set()):
            less = world.clone()
            less.containers[member] = less.containers[member] - {container}
            if not any(grant[3] in less.reach(subject) for grant in grants):
                needed.append((member, "HAS_ROLE" if container.type == "role" else "MEMBER_OF", container))
    own = [grant for grant in grants if grant[3] in reach]
    return [*needed, *((grant[3], "ALLOW", grant[2]) for grant in own if len(own) == 1)]


def test_what_a_leaving_user_leaves(worlds: list[Twin]) -> None:
    def cases(twin: Twin) -> Iterator[Case]:
        world = twin.world
        for user in users(world)[::2]:
            wanted: list[tuple[object, ...]] = [("owns", on, None) for on, by in world.owners.items() if by == user]
            wanted += [("member", each, None) for each in world.containers.get(user, ())]
            wanted += [
                ("granted", on, f"{effect.upper()} {name}") for effect, name, on, by in world.grants if by == user
            ]
            reached = {
                (name, on) for effect, name, on, by in world.grants if effect == "allow" and by in world.reach(user)
            }
            for name, on in reached:
                if [each for each in users(world) if holds(world, each, name, on)] == [user]:
                    wanted.append(("alone", on, f"ALLOW {name}"))
            yield {"subject": str(user)}, wanted

    agree(worlds, "what_a_leaving_user_leaves", "kind what privilege", cases)


def test_what_one_user_has_and_another_lacks(worlds: list[Twin]) -> None:
    def cases(twin: Twin) -> Iterator[Case]:
        world = twin.world
        for _ in range(10):
            one, other = twin.rng.sample(subjects(world), 2)
            wanted = [
                (effect.upper(), name, on, by)
                for effect, name, on, by in world.grants
                if by in world.reach(one) - world.reach(other)
                and not any(same[0] == effect and same[3] in world.reach(other) for same in grants_on(world, name, on))
            ]
            yield {"subject": str(one), "other": str(other)}, wanted

    agree(worlds, "what_one_user_has_and_another_lacks", "effect privilege object principal", cases)
