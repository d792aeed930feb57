"""A set of facts: those of a root at one revision, with the policy under which they are read."""

from collections.abc import Sequence
from typing import NamedTuple

from grantpath.engine.facts.set.fact_version import FactVersion, Numbers
from grantpath.engine.policy.policy import Policy
from grantpath.graph.language.reference import Reference, type_of


class FactSet(NamedTuple):
    """The facts of a root at one revision, and the policy under which they are read. Threads can share it.

    `root` is the root object.
    """

    version: FactVersion
    policy: Policy
    root: Reference

    def reference(self, ref: str) -> Reference:
        """The reference of a text that the policy accepts."""
        return self.policy.reference(ref, self.root)

    def chain(self, number: int) -> Sequence[int]:
        """The numbers of an entity and its ancestors, without those that have no number."""
        numbers = self.version.numbers
        known = numbers.chains.get(number)
        if known is not None:
            return known
        chain = self.policy.chain(self.reference(numbers.refs[number]), self.root)
        found = tuple(each for _, above in chain if (each := numbers.find(above.text)) is not None)
        if len(found) == len(chain):  # otherwise one of them may be numbered later
            numbers.keep_chain(number, found)
        return found

    def places(self, number: int) -> Sequence[int]:
        """The numbers of an entity and its ancestors; empty if the policy does not have its type."""
        return self.chain(number) if type_of(self.version.numbers.refs[number]) in self.policy.names.types else ()

    def users(self) -> Numbers:
        """The numbers of the users that answers may contain, ascending. While they do not change, it is the same
        array."""
        return self.version.numbers.users_of(self.version.existing, self.policy.hidden)

    def shows(self, number: int) -> bool:
        """Whether an entity exists and answers may contain it."""
        return self.version.existing.get(number) is not None and (
            self.version.numbers.refs[number] not in self.policy.hidden
        )


Sides = tuple[FactSet, FactSet]
"""The facts before and after a change. Both use the same numbers for references."""
