"""Questions about grants and owners: the rows are those that follow from the facts."""

from collections.abc import Iterator

from ...oracle import Oracle
from ...oracle.facts import Grant
from ...oracle.notation import Ref
from ...support.catalogue import Case, Row, agree, counting, inside, members, refs, securable, subjects, users
from ...support.twin import Twin


def sample(twin: Twin, count: int) -> list[Ref]:
    """Objects and the root; half of them have grants."""
    granted = sorted({place for _, _, place, _ in twin.world.grants} & twin.world.existing)
    others = sorted(each for each in twin.world.existing if each.type not in ("user", "group"))
    tagged = [each for each, tag in sorted(twin.world.tags) if tag in granted]
    return [
        twin.world.root,
        *twin.rng.sample(granted, min(count, len(granted))),
        *twin.rng.sample(others, count),
        *tagged,
    ]


def test_what_is_granted_on_an_object(worlds: list[Twin]) -> None:
    def cases(twin: Twin) -> Iterator[Case]:
        for on in {*sample(twin, 6)}:
            above = twin.world.upward(on)
            wanted: list[tuple[object, ...]] = [
                (effect.upper(), name, by, place, tagged != on)
                for effect, name, place, by in twin.world.grants
                for tagged, there in counting(twin.world, name, on)
                if place == there
            ]
            owned = [
                ("OWNS", None, twin.world.owners[each], each, each != on) for each in above if each in twin.world.owners
            ]
            yield {"object": str(on)}, wanted + owned

    agree(worlds, "what_is_granted_on_an_object", "effect privilege subject place inherited", cases)


def test_what_is_granted_to_a_subject(worlds: list[Twin]) -> None:
    def cases(twin: Twin) -> Iterator[Case]:
        for subject in subjects(twin.world)[::3]:
            reach = twin.world.reach(subject)
            yield (
                {"subject": str(subject)},
                [(effect.upper(), name, on, by) for effect, name, on, by in twin.world.grants if by in reach],
            )

    def leads(twin: Twin, row: Row) -> bool:
        return refs(row["membership"])[-1] == row["principal"] and refs(row["path"]) == [
            row["principal"],
            row["object"],
        ]

    agree(worlds, "what_is_granted_to_a_subject", "effect privilege object principal", cases, leads)


def test_everything_a_user_owns(worlds: list[Twin]) -> None:
    def cases(twin: Twin) -> Iterator[Case]:
        for subject in subjects(twin.world)[::2]:
            reach = twin.world.reach(subject)
            owned = [(on, on.type, by) for on, by in twin.world.owners.items() if by in reach]
            yield {"subject": str(subject)}, owned

    agree(worlds, "everything_a_user_owns", "object type owner", cases)


def test_objects_without_an_owner(worlds: list[Twin]) -> None:
    def cases(twin: Twin) -> Iterator[Case]:
        world = twin.world
        for type_ in ("table", "schema", "role", "catalog"):
            wanted = []
            for each in world.existing if type_ in world.types else ():
                if each.type == type_ and each not in world.owners:
                    place = next((above for above in world.upward(each) if above in world.owners), None)
                    wanted.append((each, place and world.owners[place], place))
            yield {"type": type_}, wanted

    agree(
        [twin for twin in worlds if twin.world.policy != "onehouse"],
        "objects_without_an_owner",
        "object owner_above place",
        cases,
    )


def test_objects_without_any_grant(worlds: list[Twin]) -> None:
    def cases(twin: Twin) -> Iterator[Case]:
        world = twin.world
        given = {place for _, _, place, _ in world.grants} | world.owners.keys()
        for type_ in sorted({each.type for each in securable(world)}):
            wanted = [(each,) for each in securable(world) if each.type == type_ and not given & {*world.upward(each)}]
            yield {"type": type_}, wanted

    agree(worlds, "objects_without_any_grant", "object", cases)


def test_grants_to_users_directly(worlds: list[Twin]) -> None:
    def cases(twin: Twin) -> Iterator[Case]:
        people = users(twin.world)
        yield {}, [(by, effect.upper(), name, on) for effect, name, on, by in twin.world.grants if by in people]

    agree(worlds, "grants_to_users_directly", "user effect privilege object", cases)


def test_grants_on_the_root(worlds: list[Twin]) -> None:
    def cases(twin: Twin) -> Iterator[Case]:
        world = twin.world
        people = {*users(world)}

        def reached(by: Ref) -> int:
            return len((members(world, by) | {by}) & people)

        wanted: list[tuple[object, ...]] = [
            (effect.upper(), name, by, reached(by)) for effect, name, on, by in world.grants if on == world.root
        ]
        owner = world.owners.get(world.root)
        yield {}, wanted + ([("OWNS", None, owner, reached(owner))] if owner else [])

    agree(worlds, "grants_on_the_root", "effect privilege subject users", cases)


def covering(world: Oracle, effect: str, grant: Grant) -> list[Grant]:
    """The grants of the same privilege to the grantee, its groups and roles, on the same object or above."""
    _, name, on, by = grant
    reach, above = world.reach(by), world.upward(on)
    return [
        each
        for each in world.grants
        if each[0] == effect and each[1] == name and each[2] in above and each[3] in reach and each != grant
    ]


def test_grants_shadowed_by_a_deny(worlds: list[Twin]) -> None:
    def cases(twin: Twin) -> Iterator[Case]:
        allows = [grant for grant in twin.world.grants if grant[0] == "allow"]
        yield (
            {},
            [
                (by, name, on, denied, place)
                for _, name, on, by in allows
                for _, _, place, denied in covering(twin.world, "deny", ("allow", name, on, by))
            ],
        )

    agree(worlds, "grants_shadowed_by_a_deny", "subject privilege object denied_to denied_on", cases)


def test_grants_implied_by_another(worlds: list[Twin]) -> None:
    def cases(twin: Twin) -> Iterator[Case]:
        allows = [grant for grant in twin.world.grants if grant[0] == "allow"]
        yield (
            {},
            [
                (grant[3], grant[1], grant[2], other, place)
                for grant in allows
                for _, _, place, other in covering(twin.world, "allow", grant)
            ],
        )

    agree(worlds, "grants_implied_by_another", "subject privilege object granted_to granted_on", cases)


def test_grants_behind_a_closed_gate(worlds: list[Twin]) -> None:
    def cases(twin: Twin) -> Iterator[Case]:
        world = twin.world
        for gate, type_ in (("USE_CATALOG", "catalog"), ("USE_SCHEMA", "schema")):
            wanted = []
            for effect, name, on, by in world.grants:
                for place in world.upward(on):
                    if effect == "allow" and name != gate and place.type == type_:
                        found = {grant[0] for grant in covering(world, "allow", ("", gate, place, by))}
                        denied = bool(covering(world, "deny", ("", gate, place, by)))
                        if denied or not found:
                            wanted.append((by, name, on, place, denied))
            yield {"gate": gate, "type": type_}, wanted

    agree(worlds, "grants_behind_a_closed_gate", "subject privilege object gate_on denied", cases)


def test_denies_without_an_allow(worlds: list[Twin]) -> None:
    def cases(twin: Twin) -> Iterator[Case]:
        world = twin.world
        wanted = []
        for effect, name, on, by in world.grants:
            reach = {each for member in members(world, by) | {by} for each in world.reach(member)}
            overridden = [
                grant
                for grant in world.grants
                if grant[:2] == ("allow", name)
                and grant[3] in reach
                and (grant[2] in world.upward(on) or on in world.upward(grant[2]))
            ]
            if effect == "deny" and not overridden:
                wanted.append((by, name, on))
        yield {}, wanted

    agree(worlds, "denies_without_an_allow", "subject privilege object", cases)


def test_roles_with_the_same_grants(worlds: list[Twin]) -> None:
    def cases(twin: Twin) -> Iterator[Case]:
        alike: dict[tuple[str, ...], list[str]] = {}
        for role in [each for each in subjects(twin.world) if each.type == "role"]:
            key = sorted(f"{effect.upper()} {name} on {on}" for effect, name, on, by in twin.world.grants if by == role)
            alike.setdefault(tuple(sorted(key, key=str.encode)), []).append(str(role))
        yield {}, [(sorted(those, key=str.encode), key) for key, those in alike.items() if key and len(those) > 1]

    agree(worlds, "roles_with_the_same_grants", "roles grants", cases)


def test_most_granted_objects(worlds: list[Twin]) -> None:
    def cases(twin: Twin) -> Iterator[Case]:
        by_object: dict[Ref, list[Grant]] = {}
        for grant in twin.world.grants:
            by_object.setdefault(grant[2], []).append(grant)
        ranked = sorted(by_object.items(), key=lambda item: (-len(item[1]), str(item[0]).encode()))
        yield (
            {"limit": 5},
            [
                (on, len(those), sum(each[0] == "deny" for each in those), len({each[3] for each in those}))
                for on, those in ranked[:5]
            ],
        )

    agree(worlds, "most_granted_objects", "object grants denies subjects", cases)


def test_widest_roles(worlds: list[Twin]) -> None:
    def cases(twin: Twin) -> Iterator[Case]:
        world = twin.world
        people = {*users(world)}
        rows = []
        for each in subjects(world):
            places = [on for effect, _, on, by in world.grants if by == each and effect == "allow"]
            reached = {inner for place in places for inner in inside(world, place)}
            if places and each not in people:
                rows.append((str(each), len(members(world, each) & people), len(places), len(reached)))
        yield {"limit": 4}, sorted(rows, key=lambda row: (-row[3], -row[1], row[0].encode()))[:4]

    agree(worlds, "widest_roles", "principal users grants objects", cases)
