"""Reads the facts of a version again under another policy, which may count other types as users and roles."""

from grantpath.engine.facts.fact_builder import FactVersionBuilder
from grantpath.engine.facts.fact_version import FactVersion, members
from grantpath.engine.policy.policy import Policy


def under_policy(version: FactVersion, policy: Policy) -> FactVersion:
    """The same facts under another policy; references keep their numbers."""
    refs = version.numbers.refs[:]  # other versions may add to the list meanwhile
    builder = FactVersionBuilder(policy, known=refs)
    for number, ref in enumerate(refs):
        if version.existing.get(number) is not None:
            builder.entity(ref)
        builder.member(ref, [refs[each] for each in version.containers.get(number) or ()])
        for fact, by in (version.grants.get(number) or {}).items():
            for each in members(by):
                builder.grant(refs[each], fact, ref)
    return builder.version(version.origin, version.revision)
