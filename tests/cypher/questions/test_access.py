"""Questions about who holds one privilege, by plain grants: the rows are those that follow from the facts."""

from collections import Counter
from collections.abc import Iterable, Iterator

from ...oracle import Oracle
from ...oracle.facts import Grant
from ...oracle.notation import Ref
from ...support.catalogue import Case, Row, agree, counting, holds, refs, subjects, users
from ...support.twin import Twin


def pairs(twin: Twin, count: int) -> list[tuple[str, Ref]]:
    """Privileges on objects on which they are granted, or below."""
    found = sorted({(name, on) for effect, name, on, _ in twin.world.grants if on in twin.world.existing})
    below = [(name, each) for name, on in found[::3] for each in sorted(twin.world.existing_inside(on))[:1]]
    tagged = [(name, each) for name, on in found for each, tag in sorted(twin.world.tags) if tag == on]
    return [*twin.rng.sample([*found, *below], min(count, len(found))), *tagged[:count]]


def places(world: Oracle, name: str, on: Ref) -> set[Ref]:
    """Where grants of the privilege count for the object: there, above, and on the tags of these."""
    return {place for _, place in counting(world, name, on)}


def grants_on(world: Oracle, name: str, places: Iterable[Ref]) -> list[Grant]:
    return [grant for grant in world.grants if grant[1] == name and grant[2] in places]


ROOT = ("MANAGE_GRANTS", "SELECT_TABLE", "USE_SCHEMA")
TAGGED = Ref("table", ("quiet", "s", "t"))


def asked(twin: Twin, count: int) -> list[tuple[str, Ref]]:
    fixed = [(name, twin.world.root) for name in ROOT if name in twin.world.privileges]
    fixed += [("SELECT_TABLE", TAGGED)] if TAGGED in twin.world.existing else []
    return [*fixed, *pairs(twin, count)]


def test_who_holds_a_privilege(worlds: list[Twin]) -> None:
    def cases(twin: Twin) -> Iterator[Case]:
        for name, on in asked(twin, 12):
            yield (
                {"privilege": name, "object": str(on)},
                [
                    (user, by, place)
                    for user in users(twin.world)
                    if holds(twin.world, user, name, places(twin.world, name, on))
                    for _, _, place, by in grants_on(twin.world, name, places(twin.world, name, on))
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
                both = {one: places(world, one, on) for one in (name, second)}
                for user in users(world):
                    if all(holds(world, user, one, there) for one, there in both.items()):
                        by = [
                            sorted(
                                {str(each[3]) for each in grants_on(world, one, there) if each[3] in world.reach(user)},
                                key=str.encode,
                            )
                            for one, there in both.items()
                        ]
                        wanted.append((user, *by))
                yield {"privilege": name, "second": second, "object": str(on)}, wanted

    agree(worlds, "subjects_with_two_privileges", "user first_by second_by", cases)


def test_who_could_grant_themselves(worlds: list[Twin]) -> None:
    ways = {"MANAGE_GRANTS": "grants", "MANAGE_GROUPS": "joins", "MODIFY_TABLE": "tags"}
    given = dict(zip(("grant_with", "join_with", "tag_with"), ways, strict=True))
    found = Counter[str]()

    def cases(twin: Twin) -> Iterator[Case]:
        world = twin.world
        for name, on in asked(twin, 8):
            there = places(world, name, on)
            tags = there - {*world.upward(on)}
            asked_on = {
                "grants": {on, world.root, *tags},
                "joins": {on, world.root},
                "tags": {*world.upward(on)},
            }
            allowed = [each for each in world.grants if each[:2] == ("allow", name)]
            joined = {by for _, _, place, by in allowed if place in there and by not in users(world)}
            wanted = set[tuple[Ref, str, Ref, Ref | None]]()
            for user in users(world):
                reach = world.reach(user)
                opening = {
                    tag for _, _, tag, by in allowed if by in reach and tag not in there and gives(world, name, tag, on)
                }
                wanted |= {
                    (user, "owns", world.owners[each], None)
                    for each in asked_on["grants"]
                    if world.owners.get(each) in reach
                }
                for right, how in ways.items():
                    own = [
                        each
                        for each in world.grants
                        if each[1] == right and each[2] in asked_on[how] and each[3] in reach
                    ]
                    if all(each[0] == "allow" for each in own):
                        gains: Iterable[Ref | None] = {"joins": sorted(joined), "tags": sorted(opening)}.get(
                            how, [None]
                        )
                        wanted |= {(user, how, each[3], gained) for each in own for gained in gains}
            found.update(how for _, how, _, _ in wanted)
            found["by its tag"] += any(
                world.owners[tag] == by for tag in tags & {*world.owners} for _, _, by, _ in wanted
            )
            yield {"privilege": name, "object": str(on), **given}, list(wanted)

    agree(worlds, "who_could_grant_themselves", "user how by gains", cases)
    assert all(found[each] for each in ("owns", *ways.values(), "by its tag")), found


def gives(world: Oracle, name: str, tag: Ref, on: Ref) -> bool:
    """Would a grant of the privilege on that tag count for the object, if it had the tag?"""
    return on.type in world.taggable.get(tag.type, ()) and {tag.type, on.type} <= {*world.privileges[name]}


def test_access_by_a_single_edge(worlds: list[Twin]) -> None:
    """By trying: each edge without which the subject reaches no grantee."""

    def cases(twin: Twin) -> Iterator[Case]:
        world = twin.world
        for name, on in asked(twin, 10):
            grants = [grant for grant in grants_on(world, name, places(world, name, on)) if grant[0] == "allow"]
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
                if [each for each in users(world) if holds(world, each, name, world.upward(on))] == [user]:
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
                and not any(
                    same[0] == effect and same[3] in world.reach(other)
                    for same in grants_on(world, name, world.upward(on))
                )
            ]
            yield {"subject": str(one), "other": str(other)}, wanted

    agree(worlds, "what_one_user_has_and_another_lacks", "effect privilege object principal", cases)
