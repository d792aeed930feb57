"""Writes a seeded estate of any size, in the format of `grantpath load`, for the benchmarks.

The popularity of groups, roles and objects follows Zipf's law. An estate with equal popularity would hide the slow
cases: a catalog with thousands of grants, a group with thousands of users, a role with thousands of grants.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

Ints = npt.NDArray[np.int64]

DENY_SHARE = 0.05
# The frequency of grants on each level, and the relative frequency of a DENY there. DENYs are rare on high levels,
# because one DENY to a popular role would deny the whole estate.
LEVELS = ("metalake", "catalog", "schema", "table")
LEVEL_SHARE = (0.0002, 0.02, 0.22, 0.7598)
DENY_WEIGHT = (0.02, 0.1, 0.7, 1.0)
PRIVILEGES: dict[str, dict[str, float]] = {
    "metalake": {"USE_CATALOG": 0.4, "CREATE_CATALOG": 0.2, "MANAGE_USERS": 0.2, "MANAGE_GRANTS": 0.2},
    "catalog": {"USE_CATALOG": 0.4, "USE_SCHEMA": 0.3, "CREATE_SCHEMA": 0.15}
    | {"SELECT_TABLE": 0.07, "CREATE_TABLE": 0.05, "MODIFY_TABLE": 0.03},
    "schema": {"USE_SCHEMA": 0.45, "SELECT_TABLE": 0.3, "CREATE_TABLE": 0.15, "MODIFY_TABLE": 0.1},
    "table": {"SELECT_TABLE": 0.75, "MODIFY_TABLE": 0.25},
}
PRIVILEGE_NAMES = sorted({name for names in PRIVILEGES.values() for name in names})
GROUP_LEVELS = 4
ROLE_LEVELS = 3


@dataclass(frozen=True)
class Size:
    """The size of an estate: counts (schemas per catalog, tables per schema, others in total), policy, root name."""

    users: int = 100_000
    groups: int = 5_000
    roles: int = 10_000
    catalogs: int = 10
    schemas: int = 100
    tables: int = 100
    grants: int = 200_000
    policy: str = "gravitino"
    nested: bool = False
    root: str = "ml"

    def __post_init__(self) -> None:
        for name in ("users", "groups", "roles", "catalogs", "schemas", "tables", "grants"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)}: must be at least 1")
        if self.nested and self.policy != "lakehouse":
            raise ValueError(f"the policy {self.policy} has no nested groups or roles; use lakehouse")

    @property
    def first_of_level(self) -> Ints:
        """The number of each level's first object, and the end. The order is root, catalogs, schemas, tables."""
        schemas = self.catalogs * self.schemas
        return np.cumsum([0, 1, self.catalogs, schemas, schemas * self.tables]).astype(np.int64)


class Popularity:
    """Picks numbers below `count`: the most popular one about `count ** skew` times as often as the least popular."""

    def __init__(self, rng: np.random.Generator, count: int, skew: float) -> None:
        weights = (1.0 / np.arange(1, count + 1)) ** skew
        self._rng = rng
        self._edges = np.cumsum(weights / weights.sum())
        self._names = rng.permutation(count)  # so that popular numbers are not all next to each other

    def pick(self, count: int) -> Ints:
        places = np.searchsorted(self._edges, self._rng.random(count), side="right")
        return self._names[np.minimum(places, len(self._names) - 1)].astype(np.int64)


def numbered(prefix: "str | pa.Array", count: int) -> pa.Array:
    """Names of a prefix and a number of fixed width: `count` names for one prefix, or for each of several."""
    digits = len(str(count - 1))
    numbers = pc.utf8_lpad(pa.array(np.arange(count)).cast(pa.string()), digits, "0")
    if isinstance(prefix, str):
        return pc.binary_join_element_wise(prefix, numbers, "")
    parents = np.repeat(np.arange(len(prefix)), count)
    children = np.tile(np.arange(count), len(prefix))
    return pc.binary_join_element_wise(prefix.take(parents), numbers.take(children), "")


def object_names(size: Size) -> pa.Array:
    """The references of root, catalogs, schemas and tables, in this order."""
    catalogs = numbered("c", size.catalogs)
    schemas = numbered(pc.binary_join_element_wise(catalogs, ".s", ""), size.schemas)
    tables = numbered(pc.binary_join_element_wise(schemas, ".t", ""), size.tables)
    named = zip(LEVELS, [pa.array([size.root]), catalogs, schemas, tables], strict=True)
    return pa.concat_arrays([pc.binary_join_element_wise(f"{level}:", names, "") for level, names in named])


def subject_names(size: Size) -> pa.Array:
    """The references of users, groups and roles, in this order."""
    kinds = {"user:u": size.users, "group:g": size.groups, "role:r": size.roles}
    return pa.concat_arrays([numbered(prefix, count) for prefix, count in kinds.items()])


def pairs(left: Ints, right: Ints) -> tuple[Ints, Ints]:
    """The given pairs without duplicates, in order."""
    width = np.int64(right.max(initial=0) + 1)
    keys = np.unique(left * width + right)
    return keys // width, keys % width


def a_few_each(rng: np.random.Generator, count: int, mean: float) -> Ints:
    """The numbers below `count`, each repeated a random number of times that is `mean` on average."""
    return np.repeat(np.arange(count, dtype=np.int64), rng.geometric(1 / (mean + 1), count) - 1)


def up_a_level(rng: np.random.Generator, count: int, levels: int, mean: float, skew: float) -> tuple[Ints, Ints]:
    """Links from each level of a hierarchy to the next higher one, without cycles; at most `levels` levels."""
    shares = 4 ** np.arange(levels)
    bounds = -(-np.cumsum(shares) * count // shares.sum())  # rounded up: no level is empty
    starts = np.concatenate([[0], bounds[:-1]])
    below, above = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for level in range(1, levels):
        width = int(starts[level] - starts[level - 1])
        if width > 0:
            members = starts[level] + a_few_each(rng, int(bounds[level] - starts[level]), mean)
            below.append(members)
            above.append(starts[level - 1] + Popularity(rng, width, skew).pick(len(members)))
    return pairs(np.concatenate(below), np.concatenate(above))


def memberships(rng: np.random.Generator, size: Size) -> tuple[Ints, Ints]:
    """Members, and their groups and roles, as subject numbers. A user has about 20 roles, most through groups."""
    first_group, first_role = size.users, size.users + size.groups
    groups, roles = Popularity(rng, size.groups, 0.8), Popularity(rng, size.roles, 0.7)
    in_groups = a_few_each(rng, size.users, 1.7 if size.nested else 4.0)
    group_holds = a_few_each(rng, size.groups, 2.4 if size.nested else 4.8)
    user_holds = a_few_each(rng, size.users, 1.5)
    found = [
        pairs(in_groups, first_group + groups.pick(len(in_groups))),
        pairs(first_group + group_holds, first_role + roles.pick(len(group_holds))),
        pairs(user_holds, first_role + roles.pick(len(user_holds))),
    ]
    if size.nested:
        member, parent = up_a_level(rng, size.groups, GROUP_LEVELS, 0.8, 0.6)
        found.append((first_group + member, first_group + parent))
        member, parent = up_a_level(rng, size.roles, ROLE_LEVELS, 0.4, 0.6)
        found.append((first_role + member, first_role + parent))
    return np.concatenate([f[0] for f in found]), np.concatenate([f[1] for f in found])


def owners(rng: np.random.Generator, size: Size) -> tuple[Ints, Ints]:
    """Owned objects and their owners. The root and all catalogs have owners, some schemas and tables do."""
    starts = size.first_of_level
    shares = (1.0, 1.0, 0.6, 0.3)
    owned = np.concatenate(
        [
            starts[level] + np.flatnonzero(rng.random(int(starts[level + 1] - starts[level])) < share)
            for level, share in enumerate(shares)
        ]
    )
    owner = Popularity(rng, size.users, 0.5).pick(len(owned))
    if size.policy == "lakehouse":  # there a group or a role can also be an owner
        others = rng.random(len(owned)) < 0.2
        owner[others] = size.users + rng.integers(0, size.groups + size.roles, int(others.sum()))
    return owned, owner


class GrantDraw:
    """Draws grants as three columns of numbers: subject, object, privilege.

    Each role has a home catalog, which it can use and where most of its grants are. With purely random grants, a user
    could load almost no table.
    """

    def __init__(self, rng: np.random.Generator, size: Size) -> None:
        self._rng, self._size = rng, size
        self._first = size.first_of_level
        self._roles = Popularity(rng, size.roles, 0.7)
        self._catalogs = Popularity(rng, size.catalogs, 0.6)
        self._schemas = Popularity(rng, size.schemas, 0.6)
        self._tables = Popularity(rng, size.tables, 0.6)
        self._home = self._catalogs.pick(size.roles)

    def home(self) -> tuple[Ints, Ints, Ints]:
        """USE_CATALOG on each role's home catalog; for half of the roles also USE_SCHEMA on it."""
        roles = np.arange(min(self._size.roles, max(1, self._size.grants // 6)), dtype=np.int64)
        both = roles[::2]
        subjects = np.concatenate([roles, both])
        privileges = np.repeat(
            [PRIVILEGE_NAMES.index("USE_CATALOG"), PRIVILEGE_NAMES.index("USE_SCHEMA")], [len(roles), len(both)]
        )
        return self._role_numbers(subjects), self._first[1] + self._home[subjects], privileges

    def more(self, count: int) -> tuple[Ints, Ints, Ints]:
        """`count` grants of any kind; there may be duplicates."""
        rng, size = self._rng, self._size
        role = self._roles.pick(count)
        catalog = np.where(rng.random(count) < 0.8, self._home[role], self._catalogs.pick(count))
        schema = catalog * size.schemas + self._schemas.pick(count)
        table = schema * size.tables + self._tables.pick(count)
        level = rng.choice(len(LEVELS), count, p=LEVEL_SHARE)
        place = self._first[level] + np.choose(level, [np.zeros(count, np.int64), catalog, schema, table])
        privilege = np.empty(count, np.int64)
        for number, name in enumerate(LEVELS):
            here = level == number
            codes = [PRIVILEGE_NAMES.index(privilege) for privilege in PRIVILEGES[name]]
            privilege[here] = rng.choice(codes, int(here.sum()), p=list(PRIVILEGES[name].values()))
        subject = self._role_numbers(role)
        if size.policy == "lakehouse":  # there a user or a group can also be a grantee
            others = rng.random(count) < 0.2
            subject[others] = rng.integers(0, size.users + size.groups, int(others.sum()))
        return subject, place, privilege

    def _role_numbers(self, roles: Ints) -> Ints:
        return self._size.users + self._size.groups + roles


def grants(rng: np.random.Generator, size: Size) -> tuple[Ints, Ints, Ints, npt.NDArray[np.bool_]]:
    """Exactly `size.grants` different grants: subject, object, privilege, and whether it is a DENY.

    Raises ValueError if the estate is too small for this number of grants.
    """
    draw = GrantDraw(rng, size)
    columns = np.stack(draw.home())
    objects = int(size.first_of_level[-1])
    for _ in range(50):
        keys = (columns[0] * objects + columns[1]) * len(PRIVILEGE_NAMES) + columns[2]
        first = np.sort(np.unique(keys, return_index=True)[1])[: size.grants]  # the first drawn ones
        columns = columns[:, first]
        lacking = size.grants - len(first)
        if not lacking:
            break
        columns = np.concatenate([columns, np.stack(draw.more(lacking + lacking // 8 + 16))], axis=1)
    else:
        raise ValueError(
            f"{size.roles} roles and {objects} objects are too few for {size.grants} different grants; ask for fewer"
        )
    subject, place, privilege = columns
    deny = np.zeros(size.grants, dtype=np.bool_)
    weight = np.array(DENY_WEIGHT)[np.searchsorted(size.first_of_level, place, side="right") - 1]
    # Items with the largest random ** (1 / weight): weighted sampling without replacement (Efraimidis, Spirakis).
    order = np.argsort(np.log(rng.random(size.grants)) / weight)
    deny[order[size.grants - round(size.grants * DENY_SHARE) :]] = True
    return subject, place, privilege, deny


def generate(out: Path, size: Size, seed: int) -> dict[str, int]:
    """Writes the five tables as Parquet into `out`. Returns the number of rows of each."""
    rng = np.random.default_rng(seed)
    out.mkdir(parents=True, exist_ok=True)
    subjects, objects = subject_names(size), object_names(size)
    member, of = memberships(rng, size)
    owned, owner = owners(rng, size)
    subject, place, privilege, deny = grants(rng, size)
    tables = {
        "subjects": {"ref": subjects},
        "objects": {"ref": objects[1:]},  # the root is not listed
        "members": {"member": subjects.take(member), "of": subjects.take(of)},
        "owners": {"object": objects.take(owned), "owner": subjects.take(owner)},
        "grants": {
            "effect": pa.array(["allow", "deny"]).take(deny.astype(np.int8)),
            "privilege": pa.array(PRIVILEGE_NAMES).take(privilege),
            "object": objects.take(place),
            "subject": subjects.take(subject),
        },
    }
    for name, columns in tables.items():
        pq.write_table(pa.table(columns), out / f"{name}.parquet")
    return {name: len(next(iter(columns.values()))) for name, columns in tables.items()}


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("users", "groups", "roles", "catalogs", "grants"):
        parser.add_argument(f"--{name}", type=int, default=getattr(Size, name))
    parser.add_argument("--schemas", type=int, default=Size.schemas, help="in each catalog")
    parser.add_argument("--tables", type=int, default=Size.tables, help="in each schema")
    parser.add_argument("--policy", choices=["gravitino", "lakehouse"], default=Size.policy)
    parser.add_argument("--nested", action="store_true", help="groups in groups, roles in roles (lakehouse)")
    parser.add_argument("--root", default=Size.root, help="name of the root, metalake:NAME")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--out", type=Path, required=True)
    return parser.parse_args(given)


def main() -> None:
    options = vars(arguments())
    out, seed = options.pop("out"), options.pop("seed")
    try:
        counts = generate(out, Size(**options), seed)
    except ValueError as error:
        raise SystemExit(f"error: {error}") from None
    print(f"{out} (seed {seed}): " + ", ".join(f"{rows:,} {name}" for name, rows in counts.items()))


if __name__ == "__main__":
    main()
