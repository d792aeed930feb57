"""The demo's estate: TPC-DS and TPC-H tables in three catalogs, departments, roles, ALLOW and DENY at every level.

It has the form of a bulk import, for the policy `gravitino` and the root `metalake:tpc`.
"""

import json
import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypedDict

from grantpath.graph.language.reference import parse, type_of

POLICY = "gravitino"
ROOT = "metalake:tpc"

TableRow = dict[str, str]
DemoData = dict[str, list[TableRow]]

# TPC-DS: 24 tables. TPC-H: 8 tables. Each occurs once in the catalog of its standard.
TPC_DS = {
    "store": ["store", "store_sales", "store_returns"],
    "catalog": ["call_center", "catalog_page", "catalog_sales", "catalog_returns", "ship_mode"],
    "web": ["web_site", "web_page", "web_sales", "web_returns"],
    "stock": ["warehouse", "inventory"],
    "customer": [
        "customer",
        "customer_address",
        "customer_demographics",
        "household_demographics",
        "income_band",
    ],
    "shared": ["date_dim", "time_dim", "item", "promotion", "reason"],
}
TPC_H = {
    "sales": ["customer", "orders", "lineitem"],
    "supply": ["part", "partsupp", "supplier"],
    "world": ["nation", "region"],
}
# One sandbox per department, with copies of tables.
LAB = {
    "sales": ["store_sales", "web_sales", "catalog_sales", "customer", "orders"],
    "marketing": ["customer", "customer_address", "promotion", "web_page", "web_sales"],
    "finance": ["store_sales", "store_returns", "web_returns", "lineitem", "orders"],
    "logistics": ["inventory", "warehouse", "ship_mode", "lineitem", "nation"],
    "procurement": ["part", "partsupp", "supplier", "item"],
    "support": ["call_center", "reason", "web_returns", "catalog_returns"],
    "engineering": ["date_dim", "time_dim", "item", "region"],
    "analytics": ["store_sales", "web_sales", "customer_demographics", "household_demographics", "date_dim"],
}
CATALOGS = {"retail": TPC_DS, "wholesale": TPC_H, "lab": LAB}

# Users per department: 354 with the contractors, who are in a department, too.
DEPARTMENTS = {
    "sales": 70,
    "marketing": 48,
    "finance": 40,
    "logistics": 52,
    "procurement": 30,
    "support": 46,
    "engineering": 28,
    "analytics": 24,
}
CONTRACTORS = 16

ANALYST = "user:analytics-007"
CONTRACTOR = "user:contractor-004"
SUPPORTER = "user:support-012"
# These three have exactly what the stories below need; random choices exclude them.
STORYTELLERS = frozenset({ANALYST, CONTRACTOR, SUPPORTER})


class Stories(TypedDict):
    """The questions of the demo: checks (subject, operation, object), `who` and `which` with their arguments."""

    allowed: tuple[str, str, str]
    denied_by_deny: tuple[str, str, str]
    denied_missing: tuple[str, str, str]
    who: tuple[str, str]
    which: tuple[str, str, str]


STORIES: Stories = {
    # group:analytics holds role:retail_reader, which reads the whole catalog.
    "allowed": (ANALYST, "load_table", "table:retail.store.store_sales"),
    # group:marketing can read it, but group:contractors holds role:no_customer_data.
    "denied_by_deny": (CONTRACTOR, "load_table", "table:retail.customer.customer"),
    # role:order_lookup has grants on the table and the catalog, but lacks USE_SCHEMA on the schema between them.
    "denied_missing": (SUPPORTER, "load_table", "table:wholesale.sales.orders"),
    "who": ("load_table", "table:retail.customer.customer"),
    "which": ("table", CONTRACTOR, "load_table"),
}

CUSTOMER_TABLES = [
    "table:retail.customer.customer",
    "table:retail.customer.customer_address",
    "table:retail.customer.customer_demographics",
    "table:wholesale.sales.customer",
    "table:lab.sales.customer",
    "table:lab.marketing.customer",
    "table:lab.marketing.customer_address",
]

# The grants of the hand-written roles: effect, privileges, objects.
Holding = tuple[str, str, list[str]]
ROLES: dict[str, list[Holding]] = {
    "platform_admin": [("allow", "MANAGE_USERS MANAGE_GROUPS MANAGE_GRANTS CREATE_ROLE CREATE_CATALOG", [ROOT])],
    "auditor": [("allow", "USE_CATALOG USE_SCHEMA SELECT_TABLE", [ROOT])],
    "never_writes": [("deny", "MODIFY_TABLE CREATE_TABLE", [ROOT])],
    "retail_reader": [("allow", "USE_CATALOG USE_SCHEMA SELECT_TABLE", ["catalog:retail"])],
    "retail_builder": [("allow", "USE_CATALOG USE_SCHEMA CREATE_SCHEMA CREATE_TABLE", ["catalog:retail"])],
    "wholesale_reader": [("allow", "USE_CATALOG USE_SCHEMA SELECT_TABLE", ["catalog:wholesale"])],
    "wholesale_builder": [("allow", "USE_CATALOG USE_SCHEMA CREATE_SCHEMA CREATE_TABLE", ["catalog:wholesale"])],
    "lab_guest": [("allow", "USE_CATALOG", ["catalog:lab"])],
    "order_lookup": [
        ("allow", "USE_CATALOG", ["catalog:wholesale"]),
        ("allow", "SELECT_TABLE", ["table:wholesale.sales.orders", "table:wholesale.sales.lineitem"]),
    ],
    "customer_care": [
        ("allow", "USE_CATALOG", ["catalog:retail"]),
        ("allow", "USE_SCHEMA", ["schema:retail.customer"]),
        ("allow", "SELECT_TABLE MODIFY_TABLE", ["table:retail.customer.customer_address"]),
        ("allow", "SELECT_TABLE", ["table:retail.customer.customer"]),
    ],
    "price_desk": [
        ("allow", "USE_CATALOG USE_SCHEMA", ["catalog:retail"]),
        ("allow", "SELECT_TABLE MODIFY_TABLE", ["table:retail.shared.item", "table:retail.shared.promotion"]),
    ],
    "no_customer_data": [("deny", "SELECT_TABLE MODIFY_TABLE", CUSTOMER_TABLES)],
    "no_wholesale": [("deny", "USE_CATALOG", ["catalog:wholesale"])],
    "no_finance_lab": [("deny", "USE_SCHEMA", ["schema:lab.finance"])],
    "stock_count": [("deny", "MODIFY_TABLE", ["table:retail.stock.inventory", "table:lab.logistics.inventory"])],
}

# Roles that a group holds, in addition to that of its sandbox.
GROUP_ROLES = {
    "sales": ["store_writer", "retail_catalog_reader", "web_reader", "wholesale_sales_writer"],
    "marketing": ["retail_reader", "web_writer", "price_desk", "no_finance_lab"],
    "finance": ["retail_reader", "wholesale_reader"],
    "logistics": ["stock_writer", "retail_catalog_reader", "supply_reader", "stock_count"],
    "procurement": ["supply_writer", "world_writer", "stock_reader"],
    "support": ["customer_care", "order_lookup", "retail_catalog_reader", "no_finance_lab"],
    "engineering": ["retail_builder", "wholesale_builder", "shared_writer"],
    "analytics": ["retail_reader", "wholesale_reader"],
    "contractors": ["no_customer_data", "no_wholesale"],
    "auditors": ["auditor", "never_writes"],
    "administrators": ["platform_admin"],
    "everyone": ["lab_guest", "shared_reader"],
}
# Groups with members of these departments.
MIXED_GROUPS = {"auditors": ["finance", "analytics"], "administrators": ["engineering"]}


def schema_roles() -> Iterator[tuple[str, list[Holding]]]:
    """A reader and a writer role for each schema of the two standards."""
    for catalog, schemas in (("retail", TPC_DS), ("wholesale", TPC_H)):
        for schema in schemas:
            # Without the catalog, these names of schemas would be misunderstood as names of roles.
            name = f"{catalog}_{schema}" if schema in ("catalog", "customer", "sales") else schema
            into: Holding = ("allow", "USE_CATALOG", [f"catalog:{catalog}"])
            here = [f"schema:{catalog}.{schema}"]
            yield f"{name}_reader", [into, ("allow", "USE_SCHEMA SELECT_TABLE", here)]
            yield f"{name}_writer", [into, ("allow", "USE_SCHEMA SELECT_TABLE MODIFY_TABLE", here)]


def lab_roles() -> Iterator[tuple[str, list[Holding]]]:
    """The role of each department for its own sandbox."""
    for schema in LAB:
        held = "USE_SCHEMA SELECT_TABLE MODIFY_TABLE CREATE_TABLE"
        yield f"{schema}_lab", [("allow", held, [f"schema:lab.{schema}"])]


def all_roles() -> dict[str, list[Holding]]:
    return {**ROLES, **dict(schema_roles()), **dict(lab_roles())}


def people(department: str) -> list[str]:
    """The users of a department, e.g. user:sales-001."""
    return [f"user:{department}-{number:03d}" for number in range(1, DEPARTMENTS[department] + 1)]


def contractors() -> list[str]:
    return [f"user:contractor-{number:03d}" for number in range(1, CONTRACTORS + 1)]


def subjects() -> Iterator[str]:
    for department in DEPARTMENTS:
        yield from people(department)
    yield from contractors()
    yield from (f"group:{name}" for name in GROUP_ROLES)
    yield from (f"role:{name}" for name in all_roles())


def objects() -> Iterator[str]:
    for catalog, schemas in CATALOGS.items():
        yield f"catalog:{catalog}"
        for schema, tables in schemas.items():
            yield f"schema:{catalog}.{schema}"
            yield from (f"table:{catalog}.{schema}.{table}" for table in tables)


def by_chance(chance: random.Random, among: Iterable[str], count: int) -> list[str]:
    return chance.sample([user for user in among if user not in STORYTELLERS], count)


def members(chance: random.Random) -> Iterator[tuple[str, str]]:
    """Memberships: users in groups, roles of groups, and roles of a few users."""
    for department in DEPARTMENTS:
        yield from ((user, f"group:{department}") for user in people(department))
        yield f"group:{department}", f"role:{department}_lab"
        for role in chance.sample(sorted(dict(schema_roles())), 3):
            yield from ((user, f"role:{role}") for user in by_chance(chance, people(department), 2))
    for user in contractors():
        yield user, "group:contractors"
        # CONTRACTOR needs a department whose role can read the customer tables.
        yield user, "group:marketing" if user == CONTRACTOR else f"group:{chance.choice(list(DEPARTMENTS))}"
    for group, departments in MIXED_GROUPS.items():
        for department in departments:
            yield from ((user, f"group:{group}") for user in by_chance(chance, people(department), 4))
    for department in DEPARTMENTS:
        yield from ((user, "group:everyone") for user in people(department))
    for group, roles in GROUP_ROLES.items():
        yield from ((f"group:{group}", f"role:{role}") for role in roles)


def owners(chance: random.Random) -> Iterator[tuple[str, str]]:
    """Owners of the root, of all catalogs and schemas, of half the tables and of a few roles."""
    yield ROOT, "user:engineering-001"
    builders = {"retail": "sales", "wholesale": "procurement", "lab": "analytics"}
    for ref in objects():
        catalog, *rest = parse(ref).segments
        department = rest[0] if catalog == "lab" and rest else builders[catalog]
        if type_of(ref) != "table" or chance.random() < 0.5:
            yield ref, by_chance(chance, people(department), 1)[0]
    for role in chance.sample(sorted(ROLES), 5):
        yield f"role:{role}", by_chance(chance, people("engineering"), 1)[0]


def grants() -> Iterator[TableRow]:
    for role, holdings in all_roles().items():
        for effect, privileges, places in holdings:
            for place in places:
                for privilege in privileges.split():
                    yield {
                        "effect": effect,
                        "privilege": privilege,
                        "object": place,
                        "subject": f"role:{role}",
                    }


def estate(seed: int = 7) -> DemoData:
    """The five tables of a bulk import, in a fixed order of rows. The seed affects only owners and memberships."""
    chance = random.Random(seed)
    return {
        "subjects": [{"ref": ref} for ref in subjects()],
        "objects": [{"ref": ref} for ref in objects()],
        "members": [{"member": member, "of": of} for member, of in sorted(set(members(chance)))],
        "owners": [{"object": ref, "owner": owner} for ref, owner in owners(chance)],
        "grants": list(grants()),
    }


def write_estate(directory: Path, seed: int = 7) -> None:
    """Writes the estate into `directory` for `grantpath load`, one JSON Lines file per table."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, rows in estate(seed).items():
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (directory / f"{name}.jsonl").write_text(lines, encoding="utf-8")
