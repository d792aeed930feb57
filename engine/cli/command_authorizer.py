"""The authorizer of a command: it records the parameters of its queries, for `params`, and revisions, for output."""

import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import Any

from grantpath.engine.authorizer.authorizer import Authorizer
from grantpath.engine.change.founding import create_by
from grantpath.engine.cli.context import CommandContext
from grantpath.engine.cli.output import note
from grantpath.engine.policy import policy as policies
from grantpath.engine.policy.policy import Policy
from grantpath.engine.tenants import opening, registry
from grantpath.graph.errors import GrantpathError, InvalidReference, Unknown
from grantpath.graph.guard.store import Store
from grantpath.graph.language.near_names import nearest
from grantpath.graph.language.reference import Reference

Creation = Callable[[Store, str, Policy, Reference], object]
SHOWN = 20  # the number of roots that a message lists


class CommandAuthorizer(Authorizer):
    """An authorizer that records the parameters of its last queries, and the revision of the last answer."""

    def __init__(self, store: Store, tenant: str, policy: Policy, root: Reference) -> None:
        super().__init__(store, tenant, policy, root)
        self.asked: dict[str, dict[str, Any]] = {}
        self.revision = 0
        self.log_begins: int | None = None  # the first revision in the log, if older entries were pruned
        self.made = self.trial = False
        self.by_default = False  # whether the root was created with a policy that the caller did not name

    def __enter__(self) -> "CommandAuthorizer":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Closes the connection, and removes a root that was created for a command that failed, or for a dry run."""
        try:
            if self.trial:
                registry.remove(self.store, self.tenant)
            elif self.made and error is None:
                default = " (the default; --policy names another)" if self.by_default else ""
                note(f"created the root {self.tenant} with the policy {self.policy.name}{default}")
            elif self.made:
                with suppress(GrantpathError):  # the original error is more informative
                    registry.take_back(self.store, self.tenant)
        finally:
            super().__exit__(kind, error, at)

    def ask(self, query: str, *, at_least: int | None = None, **parameters: Any) -> Mapping[str, Any]:
        row = super().ask(query, at_least=at_least, **parameters)
        self.asked[query] = {"root": self.tenant, "now": None, **parameters}
        self.revision = row["revision"]
        self.log_begins = row.get("begins")
        return row

    def note_absent(self, *refs: str | None) -> None:
        """Notes which of these entities do not exist, with similar names: "no" or "none" may be about a misspelled
        one."""
        for ref in refs:
            if ref is None:
                continue
            found = self.policy.reference(ref, self.root).text
            if told := registry.absence(self.store, self.tenant, self.policy, found):
                note(told, "yellow")


def open_selected(
    session: CommandContext, create: bool, history: bool, policy: Policy | None, by: str | None, dry_run: bool
) -> CommandAuthorizer:
    """Implements `CommandContext.open`."""
    store = session.store()
    try:
        known = registry.names(store)
        wanted, exists = _find(session, known, create)
        if known.get(wanted) and not history:
            raise registry.dropped(wanted)
        creation: Creation = registry.create if by is None else partial(create_by, by=by)
        if dry_run and not exists:
            return _trial(store, wanted, session.policy, policy, creation)
        tenant, model, reference = opening.open_root(
            store, wanted, session.policy, may_create=create, default=policy, create=creation
        )
    except BaseException:
        store.close()
        raise
    opened = CommandAuthorizer(store, tenant, model, reference)
    opened.made = not exists
    opened.by_default = session.policy is None and policy is None
    return opened


def _trial(store: Store, wanted: str, name: str | None, default: Policy | None, create: Creation) -> CommandAuthorizer:
    """A new root for a dry run. Like the roots of `grantpath test`, it has a key that no reference can have."""
    model = policies.load(name) if name else default or policies.load(opening.DEFAULT_POLICY)
    root = model.root(wanted)
    opened = CommandAuthorizer(store, f"{root.text}~{uuid.uuid4().hex}", model, root)
    opened.trial = True
    try:
        create(store, opened.tenant, model, root)
    except BaseException:
        with suppress(GrantpathError):  # the original error is more informative
            registry.remove(store, opened.tenant)
        raise
    return opened


def _find(session: CommandContext, listed: Mapping[str, bool], create: bool) -> tuple[str, bool]:
    """The selected root, and whether it exists. A dropped root is selected only if it is named."""
    known = registry.present(listed)
    there = f"the roots are {_some(known)}" if known else "there are no roots yet"
    if session.root is None:
        if len(known) == 1:
            return known[0], True
        example = known[0] if known else "metalake:main"
        raise Unknown(f"no root is selected; {there}; name one by --root or GRANTPATH_ROOT, e.g. --root {example}")
    wanted = session.root
    if session.policy:
        try:
            wanted = policies.load(session.policy).root(wanted).text
        except InvalidReference:
            if wanted not in listed:
                raise  # otherwise the root has another policy, which is reported when it is opened
    fitting = registry.named_like(listed, wanted)
    if len(fitting) == 1:
        return fitting[0], True
    if fitting:
        raise Unknown(f"--root {wanted} can mean {' or '.join(fitting)}; write the type, too")
    if create:
        return wanted, False
    near = nearest(wanted, known)
    raise Unknown(
        f"the root {wanted} does not exist{near}: {there}; check the name, or create it by `grantpath change` or "
        "`grantpath load` with --create"
    )


def _some(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN:,} more (`grantpath roots`)" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more
