"""The roots of a database. Each is one tenant with its own policy, which is stored with its revision."""

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from grantpath import cypher
from grantpath.engine.policy.policy import Policy
from grantpath.engine.tenants.lifecycle import claim, end_root, make_root, renew_root, sweep_root
from grantpath.engine.tenants.stored_policy import kept_policy
from grantpath.graph.client.driver import code_of
from grantpath.graph.errors import GrantpathError, InvalidReference, Unavailable, Unknown
from grantpath.graph.guard.store import Store
from grantpath.graph.guard.transaction import Row, Send
from grantpath.graph.guard.writer_lock import Held
from grantpath.graph.language.near_names import CANDIDATES, MAX_NAME, nearest
from grantpath.graph.language.reference import Reference, name_of, parse, type_of
from grantpath.graph.messages import short

log = logging.getLogger("grantpath.change")
CREATED_MEANWHILE = (
    "Neo.ClientError.Schema.EquivalentSchemaRuleAlreadyExists",
    "Neo.ClientError.Schema.ConstraintAlreadyExists",
    "Neo.ClientError.Schema.IndexAlreadyExists",
)


def missing(root: str, known: Mapping[str, bool]) -> Unknown:
    """The error for a root that does not exist; `known` maps each existing root to whether it was dropped."""
    near = nearest(root, present(known))
    return Unknown(
        f"the root {short(root)} does not exist{near}; check the name, or create it: "
        "Authorizer.open(..., policy=..., create=True), or `grantpath change --create --policy ...`",
        code="root_unknown",
    )


def named_like(known: Iterable[str], root: str) -> list[str]:
    """The known roots that `root` may mean, as a key or as a name without its type, in any spelling."""
    wanted = canonical_name(root)
    return [key for key in known if wanted in (key, name_of(key))]


def canonical_name(root: str) -> str:
    """The key of a root, or its name without the type, without unnecessary quotes; other texts are unchanged."""
    try:
        return parse(root).text if ":" in root else name_of(parse(f"root:{root}").text)
    except InvalidReference:
        return root


def find(store: Store, tenant: str) -> dict[str, str] | None:
    """The stored policy of a tenant, and the load or upgrade in progress; None if the tenant does not exist."""
    rows = cypher.load("tenant_policy").run(store.read, root=tenant)
    return dict(rows[0]) if rows else None


@dataclass(frozen=True)
class Root:
    """A tenant in a listing: its policy, its revision, and its sizes.

    `dropped`: a change has dropped the root, and only its history is left. `of_test`: `grantpath test` created it for
    scenarios; if no test is running, an interrupted test has left it.
    """

    root: str
    policy: str
    revision: int
    dropped: bool
    sizes: dict[str, int]
    of_test: bool = False


def listed(store: Store, progress: Callable[[str, int, int], None] = lambda *_: None) -> list[Root]:
    """All tenants, by name, with their sizes. There is no time limit. `progress` receives the step, the number of
    tenants done and their total. Raises Unavailable."""
    rows = _all(store)
    found: list[Root] = []
    for row in rows:
        progress("sizing roots", len(found), len(rows))
        found.append(_sized(store, row))
    return found


def listed_one(store: Store, tenant: str) -> Root | None:
    """One tenant as `listed` returns it; None if it does not exist."""
    return next((_sized(store, row) for row in _all(store) if row["root"] == tenant), None)


def names(store: Store) -> dict[str, bool]:
    """The tenants other than those of tests: by name, whether each was dropped. Raises Unavailable."""
    return {row["root"]: row["dropped"] for row in _all(store) if _is_name(row["root"])}


def present(known: Mapping[str, bool]) -> list[str]:
    """Those of the tenants that `names` returns that were not dropped."""
    return [tenant for tenant, is_dropped in known.items() if not is_dropped]


def hidden_members(store: Store) -> dict[str, dict[str, list[str]]]:
    """By root: the members of each group and role that its answers omit, such as the list of service admins. Raises
    InvalidPolicy, Unavailable."""
    found: dict[str, dict[str, list[str]]] = {}
    for tenant in present(names(store)):
        kept = find(store, tenant)
        hidden = kept_policy(store, tenant, kept).hidden if kept else []
        if hidden:
            rows = cypher.load("hidden_members").run(store.read, root=tenant, hidden=hidden)
            members = {ref: [row["member"] for row in rows if row["container"] == ref] for ref in hidden}
            found[tenant] = members
    return found


def _sized(store: Store, row: Row) -> Root:
    root = row["root"]
    return Root(root, row["policy"], row["revision"], row["dropped"], sizes(store, root), of_test=not _is_name(root))


def sizes(store: Store, tenant: str) -> dict[str, int]:
    """The number of entities and edges of a tenant. Reads all of it, without a time limit. Raises Unavailable."""
    return dict(next(iter(cypher.load("tenant_sizes").run(store.read_all, root=tenant))))


def _all(store: Store) -> list[Row]:
    return cypher.load("list_tenants").run(store.read)


def _is_name(tenant: str) -> bool:
    """Is the key a reference? The keys of test tenants are not."""
    try:
        parse(tenant)
    except InvalidReference:
        return False
    return True


def create_schema(store: Store) -> None:
    """Creates the constraints and indexes that do not exist yet, and drops those of earlier versions if the user may.
    Raises Unavailable."""
    for statement in cypher.statements("schema"):
        try:
            store.execute(statement)
        except Unavailable as error:
            if statement.lower().startswith("drop"):  # it only takes time, and another client may be dropping it, too
                continue
            # IF NOT EXISTS does not see what another client is creating at the same moment.
            if not isinstance(error.__cause__, Exception) or code_of(error.__cause__) not in CREATED_MEANWHILE:
                raise


def create(store: Store, tenant: str, policy: Policy, root: Reference) -> bool:
    """Creates a root with the built-in subjects of the policy. Does nothing, and returns False, if it exists."""
    create_schema(store)
    with store.alone(tenant, "the creation of the root") as held:
        return held.marks is None and make_root(held, policy, root)


def remove(store: Store, tenant: str) -> None:
    """Removes a tenant with its contents and its history, or what an interrupted removal left of it.

    The marks are removed first, which makes the tenant disappear for all callers at once; the rest follows in batches.
    Raises Inconsistent if another caller is writing or has just written the tenant; Unavailable, with `unknown` if the
    outcome is not known.
    """
    with store.alone(tenant, "a drop of the root") as held:
        _remove(held)
    log.info("removed the root %s", tenant)


def renew(store: Store, tenant: str, policy: Policy, root: Reference) -> None:
    """Makes an existing small root as new: it loses all its facts and its history, and gets another creation id.

    Raises Unknown if the root does not exist, and the errors of `remove`.
    """
    with store.alone(tenant, "a renewal of the root") as held:
        if held.marks is None:
            raise missing(tenant, {})
        renew_root(held, held.marks, policy, root)


def remove_unused(store: Store, tenant: str, is_unused: Callable[[], bool]) -> None:
    """Removes a root if `is_unused`, which is called under the writer lock. Raises the same errors as `remove`."""
    with store.alone(tenant, "a drop of the root") as held:
        if held.marks is not None and is_unused():
            _remove(held)


def take_back(store: Store, tenant: str) -> None:
    """Removes a root that was created for an operation that then failed, unless another caller has written to it.

    Raises Unknown and the errors of `remove`.
    """
    with store.alone(tenant, "a drop of the root") as held:
        if held.marks is None:
            raise missing(tenant, {})
        if held.marks.newest == 0 and held.marks.loading is None:
            _remove(held)


def sweep(store: Store, tenant: str) -> bool:
    """Removes what an interrupted removal left over; False if nothing was left. Raises the errors of `remove`."""
    if not _is_name(tenant):
        return False
    with store.alone(tenant, "a drop of the root") as held:
        if held.marks is not None or not claim(held):
            return False
        swept = sweep_root(held)
        held.forget()
    return swept


def _remove(held: Held) -> None:
    marks = held.marks
    if marks is None:
        claim(held)
    else:
        end_root(held, marks)
    sweep_root(held)
    held.forget()


def exists(ask: Send, tenant: str, ref: str) -> bool:
    """Does the entity exist? `ask` sends a query to the store, or in the transaction of a change."""
    return bool(cypher.load("entity_exists").run(ask, root=tenant, ref=ref))


def absent(ask: Send, tenant: str, root: Reference, ref: str) -> Unknown:
    """The error for a name that does not exist; if the root was dropped, the error about the root."""
    if not exists(ask, tenant, root.text):
        return dropped(tenant)
    return Unknown(f"{short(ref)} does not exist", "; add it, or check the name", absent=ref)


def suggesting(error: Unknown, store: Store, tenant: str, policy: Policy) -> Unknown:
    """The error, which now suggests existing names that are similar to the missing one."""
    if error.absent is not None:
        error.suggest(near(store, tenant, policy, error.absent))
    return error


def near(store: Store, tenant: str, policy: Policy, ref: str) -> str:
    """` (did you mean X?)` with existing names of the same type; empty if `ref` exists or the lookup fails."""
    return _suggestion(store, tenant, policy, ref) or ""


def absence(store: Store, tenant: str, policy: Policy, ref: str) -> str | None:
    """`user:bop does not exist in ROOT (did you mean user:bob?)`; None if it exists, or the lookup fails."""
    suggestion = _suggestion(store, tenant, policy, ref)
    return None if suggestion is None else f"{short(ref)} does not exist in {tenant}{suggestion}"


def _suggestion(store: Store, tenant: str, policy: Policy, ref: str) -> str | None:
    """` (did you mean X?)` for a name that does not exist, or an empty text; None if it exists or the lookup fails."""
    if len(ref) > MAX_NAME:
        return None
    try:
        query = cypher.load("similar_names")
        [row] = query.run(store.read, root=tenant, type=type_of(ref), ref=ref, limit=CANDIDATES // 2)
    except GrantpathError:  # what is said is complete without a suggestion
        return None
    known: list[str] = row["known"]
    return None if ref in known else nearest(ref, [each for each in known if each not in policy.hidden])


def with_prefix(store: Store, tenant: str, prefix: str, limit: int) -> list[str]:
    """The first `limit` existing references that begin with `prefix`, which contains the type, in byte order.

    Raises Unavailable.
    """
    query = cypher.load("similar_names")
    [row] = query.run(store.read, root=tenant, type=type_of(prefix), ref=prefix, limit=limit)
    return sorted(ref for ref in row["known"] if ref.startswith(prefix))


def dropped(tenant: str) -> Unknown:
    """The error for a root that a change has dropped, so that only its history is left."""
    return Unknown(
        f"{tenant} was dropped, and only its history is left; `grantpath roots drop` removes that too, so that the name"
        " can be used again",
        code="root_dropped",
    )
