"""Questions about memberships: the rows are those that follow from the facts by plain reachability."""

from collections.abc import Iterator
from itertools import combinations

from ...support.catalogue import Case, Row, agree, members, refs, rows_of, steps, subjects, users
from ...support.twin import Twin


def test_who_is_in_a_group(worlds: list[Twin]) -> None:
    def cases(twin: Twin) -> Iterator[Case]:
        for group in [each for each in subjects(twin.world) if each.type in ("group", "role")][:12]:
            found = members(twin.world, group)
            yield {"group": str(group)}, [(each, each.type, twin.world.is_member(each, group)) for each in found]

    agree(worlds, "who_is_in_a_group", "member type direct", cases, _shortest)


def test_what_a_user_belongs_to(worlds: list[Twin]) -> None:
    def cases(twin: Twin) -> Iterator[Case]:
        for subject in subjects(twin.world)[::4]:
            found = twin.world.reach(subject) - {subject}
            yield {"subject": str(subject)}, [(each, each.type, twin.world.is_member(subject, each)) for each in found]

    agree(worlds, "what_a_user_belongs_to", "principal type direct", cases, _shortest)


def _shortest(twin: Twin, row: Row) -> bool:
    """Whether the path starts or ends at the row's subject, and none is shorter."""
    found = refs(row["path"])
    ends = found[0] == row["member"] if "member" in row else found[-1] == row["principal"]
    return ends and len(found) - 1 == steps(twin.world, twin.world.resolve(found[0]), twin.world.resolve(found[-1]))


def test_roles_without_holders(worlds: list[Twin]) -> None:
    def cases(twin: Twin) -> Iterator[Case]:
        world = twin.world
        built_in = type(world)(world.root.segments[0]).existing
        wanted = [
            (each, sorted(map(str, members(world, each))), sum(by == each for *_, by in world.grants))
            for each in subjects(world)
            if each.type == "role" and each not in built_in and not members(world, each) & {*users(world)}
        ]
        yield {}, wanted

    agree(worlds, "roles_without_holders", "role held_by grants", cases)


def test_empty_groups(worlds: list[Twin]) -> None:
    def cases(twin: Twin) -> Iterator[Case]:
        world = twin.world
        yield (
            {},
            [
                (each, sorted(map(str, members(world, each))), sum(by == each for *_, by in world.grants))
                for each in subjects(world)
                if each.type == "group" and not members(world, each) & {*users(world)}
            ],
        )

    agree(worlds, "empty_groups", "group members grants", cases)


def test_users_without_a_group(worlds: list[Twin]) -> None:
    def cases(twin: Twin) -> Iterator[Case]:
        direct = {user: sorted(twin.world.containers.get(user, ())) for user in users(twin.world)}
        yield (
            {},
            [
                (user, sorted(map(str, those)))
                for user, those in direct.items()
                if all(each.type == "role" for each in those)
            ],
        )

    agree(worlds, "users_without_a_group", "user roles", cases)


def test_users_without_any_grant(worlds: list[Twin]) -> None:
    def cases(twin: Twin) -> Iterator[Case]:
        world = twin.world
        given = {by for effect, _, _, by in world.grants if effect == "allow"} | {*world.owners.values()}
        yield (
            {},
            [
                (user, sorted(map(str, world.reach(user) - {user})))
                for user in users(world)
                if not world.reach(user) & given
            ],
        )

    agree(worlds, "users_without_any_grant", "user principals", cases)


def test_users_with_the_same_principals(worlds: list[Twin]) -> None:
    def cases(twin: Twin) -> Iterator[Case]:
        alike: dict[tuple[str, ...], list[str]] = {}
        for user in users(twin.world):
            key = tuple(sorted(map(str, twin.world.reach(user) - {user}), key=str.encode))
            alike.setdefault(key, []).append(str(user))
        yield (
            {},
            [(sorted(those, key=str.encode), key) for key, those in alike.items() if key and len(those) > 1],
        )

    agree(worlds, "users_with_the_same_principals", "users principals", cases)


def test_memberships_given_twice(worlds: list[Twin]) -> None:
    def cases(twin: Twin) -> Iterator[Case]:
        world = twin.world
        yield (
            {},
            [
                (member, group, through)
                for member, direct in world.containers.items()
                for group in direct
                for through in direct - {group}
                if group in world.reach(through)
            ],
        )

    agree(worlds, "memberships_given_twice", "member group through", cases)


def test_nearest_common_role(worlds: list[Twin]) -> None:
    def cases(twin: Twin) -> Iterator[Case]:
        world = twin.world
        alike = [
            [one, other] for one, other in combinations(subjects(world), 2) if world.reach(one) & world.reach(other)
        ]
        pairs = [twin.rng.sample(subjects(world), 2) for _ in range(10)]
        for one, other in [*pairs, *twin.rng.sample(alike, min(3, len(alike)))]:
            common = world.reach(one) & world.reach(other)
            wanted = [(each, steps(world, one, each) + steps(world, other, each)) for each in common]
            yield {"subject": str(one), "other": str(other)}, wanted

    agree(worlds, "nearest_common_role", "principal steps", cases)


def test_memberships_in_a_cycle_are_found_in_a_graph_edited_by_hand(worlds: list[Twin]) -> None:
    graph = next(twin.graph for twin in worlds if twin.world.policy == "lakehouse")
    [none] = rows_of(graph, "memberships_in_a_cycle")
    assert none["says"] == "there is no cycle"
    link = "MATCH (a:Entity {root: $root, ref: 'group:chain5'}), (b:Entity {root: $root, ref: 'group:chain3'}) "
    graph.store.execute(link + "CREATE (a)-[:MEMBER_OF]->(b)", {"root": graph.tenant})
    try:
        found = {(row["member"], row["group"]) for row in rows_of(graph, "memberships_in_a_cycle")}
    finally:
        graph.store.execute(link + "MATCH (a)-[edge:MEMBER_OF]->(b) DELETE edge", {"root": graph.tenant})
    assert found == {(f"group:chain{at}", f"group:chain{to}") for at, to in ((3, 4), (4, 5), (5, 3))}
