"""The principals that act together for a subject: all effective principals, or the principals of one role at a time."""

from dataclasses import dataclass

import numpy as np

from grantpath.engine.facts.kernel.intervals import ActingPrincipals, AnyInts, Ints, offsets, ranges


@dataclass(frozen=True)
class Closure:
    """Every subject with its effective principals, itself included."""

    offset: Ints
    principal: AnyInts

    @staticmethod
    def of(subject: AnyInts, principal: AnyInts, size: int) -> "Closure":
        """Creates a closure from pairs that are sorted by subject."""
        return Closure(offsets(subject, size), principal)

    def principals(self, subject: int) -> AnyInts:
        return self.principal[self.offset[subject] : self.offset[subject + 1]]

    def acting(self, subjects: Ints) -> ActingPrincipals:
        """One row per subject, with its effective principals."""
        count = self.offset[subjects + 1] - self.offset[subjects]
        chosen = self.principal[ranges(self.offset[subjects], count)]
        return ActingPrincipals(subjects, np.concatenate([[0], np.cumsum(count)]).astype(np.int64), chosen)


@dataclass(frozen=True)
class Roles:
    """The roles that subjects hold directly, as columns sorted by subject."""

    subject: Ints
    role: Ints

    def acting(self, subjects: Ints, closure: Closure) -> ActingPrincipals:
        """One row per held role, with the role's effective principals."""
        low = np.searchsorted(self.subject, subjects, side="left")
        count = np.searchsorted(self.subject, subjects, side="right") - low
        return _with_role(np.repeat(subjects, count), self.role[ranges(low, count)], closure)


def as_role(subject: int, role: int, closure: Closure) -> ActingPrincipals:
    """One row: the subject with this role active."""
    return _with_role(np.array([subject]), np.array([role]), closure)


def _with_role(subject: Ints, role: Ints, closure: Closure) -> ActingPrincipals:
    held = closure.acting(role)
    return ActingPrincipals(subject, held.offset, held.principal)
