"""Upgrades the policy of a root: checks every fact against the new policy, and changes nothing if one violates it."""

import logging
from dataclasses import dataclass, field

from grantpath.engine.change.audit_writer import append, whole
from grantpath.engine.change.deltas import Delta
from grantpath.engine.change.facts_format import of_format
from grantpath.engine.policy import policy as policies
from grantpath.engine.policy.policy import Policy
from grantpath.engine.policy.rule_graph import rule_graph
from grantpath.engine.tenants import registry
from grantpath.engine.tenants.open_tenant import UPGRADING, OpenTenant
from grantpath.engine.transfer.upgrade_facts import UpgradeFacts
from grantpath.graph.client import telemetry
from grantpath.graph.errors import Invalid
from grantpath.graph.guard.bulk_write import bulk_write
from grantpath.graph.guard.transaction import Send, query_by_name
from grantpath.graph.messages import indefinite
from grantpath.graph.progress import ReportCount

log = logging.getLogger("grantpath.change")
SHOWN = 20


@dataclass(frozen=True)
class Upgrade:
    """The result of an upgrade: the number of facts that were checked, the root's revision now, and the hash of the log
    entry (None if nothing changed).

    In a dry run, `changed` says whether the upgrade would change anything; `problems` lists the facts that violate the
    policy, `renamed` the privileges that get another name, `added` and `removed` the facts that would be added and
    removed.
    """

    facts: int
    changed: bool
    revision: int
    hash: str | None = None
    problems: list[str] = field(default_factory=list)
    renamed: dict[str, str] = field(default_factory=dict)
    added: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)


def upgrade(
    authorizer: OpenTenant,
    new: Policy,
    by: str | None = None,
    dry_run: bool = False,
    progress: ReportCount | None = None,
) -> Upgrade:
    """Replaces the policy of a root by `new`.

    `by` is the operator named in the log; it needs no authority. `dry_run` changes nothing, and returns the changes and
    the problems. `progress` receives the step, the number of facts done and their total.

    Raises Invalid, which lists the facts that violate the policy, Unknown if the root was dropped, Inconsistent,
    Unavailable; nothing is changed then. A caller that has the root open with the old policy continues with the new one
    if it follows the policy; otherwise it gets Inconsistent, and must open the root again.
    """
    with telemetry.span("upgrade", authorizer.tenant) as span:
        done = _upgrade(authorizer, new, by, dry_run, progress or (lambda *_: None))
        span.set(policy=new.name, revision=done.revision, changed=done.changed, facts=done.facts)
    verb = "upgraded to" if done.changed else "already has"
    if dry_run:
        return done
    log.info("%s %s the policy %s, revision %d", authorizer.tenant, verb, new.name, done.revision)
    return done


def _upgrade(authorizer: OpenTenant, new: Policy, by: str | None, dry_run: bool, progress: ReportCount) -> Upgrade:
    store, tenant, root = authorizer.store, authorizer.tenant, authorizer.root
    operator = authorizer.operator(by)
    hashes: list[str] = []
    if new.root_type != root.type:
        raise Invalid(
            f"{tenant} was not upgraded: the root of {new.name} must be {indefinite(new.root_type)}, "
            f"not {indefinite(root.type)}; use a policy whose root is {indefinite(root.type)}"
        )
    what = f"{UPGRADING} {new.name}"
    with bulk_write(store, tenant, what, lambda *_: None) as bulk:
        kept = registry.find(store, tenant)
        if kept is None:
            raise registry.missing(tenant, {})
        if not registry.exists(store.read, tenant, root.text):
            raise registry.dropped(tenant)
        progress("reading facts", 0, 1)
        old = policies.from_source(kept["source"])
        new = of_format(new, old.facts_format)  # an older version must not answer from these facts afterwards, either
        facts = UpgradeFacts(store, tenant, old, new, root)
        progress("reading facts", 1, 1)
        problems = list(facts.problems(progress))
        needed = kept["digest"] != new.digest or facts.misplaced > 0
        if dry_run:
            changes = needed and not problems
            delta = facts.rehearse(store, tenant) if changes else Delta()
            renamed = dict(sorted(facts.renamed))
            return Upgrade(facts.count, changes, bulk.revision, None, problems, renamed, delta.added, delta.removed)
        if problems:
            rest = [f"... and {len(problems) - SHOWN:,} more"] if len(problems) > SHOWN else []
            failed = f"{tenant} was not upgraded: {len(problems):,} of its facts violate the policy {new.name}:"
            raise Invalid(failed, *problems[:SHOWN], *rest)
        if not needed:
            return Upgrade(facts.count, False, bulk.revision)
        graph = rule_graph(new)
        bulk.begin()

        def last(ask: Send, revision: int) -> None:
            named = query_by_name(ask, tenant)
            delta = facts.put(named)
            named("set_policy", policy=new.name, digest=new.digest, source=new.source)
            named("write_policy_graph", digest=new.digest, graph=graph)
            entry = whole(revision, bulk.id, f"{what} ({new.digest})", operator, delta)
            hashes[:] = append(named, [{**entry, "policy_before": kept["source"], "policy_after": new.source}])

        return Upgrade(facts.count, True, bulk.finish(last, lambda *_: None), hashes[0])
