"""The users of each principal: the users that have it as one of their effective principals."""

import numpy as np

from grantpath.engine.facts.kernel.intervals import Bools, Ints, offsets
from grantpath.spark_sync.session.snapshot import Snapshot


class UsersByPrincipal:
    """The closure of memberships, by principal. Users are numbered from 0 on, in order of position."""

    def __init__(self, source: Snapshot, users: Bools) -> None:
        """`users`: by position. Raises InvalidInput if the closure cannot be read."""
        closure = source.closure()
        held = np.diff(closure.offset)
        subject = np.repeat(np.arange(len(users)), held)
        counted = users[subject]
        subject, principal = subject[counted], closure.principal[counted]
        order = np.argsort(principal, kind="stable")
        self._users = (np.cumsum(users) - 1)[subject[order]]
        self._offset = offsets(principal[order], len(users))
        self.total = int(users.sum())  # the number of users
        self.count: Ints = np.diff(self._offset)  # by position of the principal: the number of its users
        self.groups: Ints = held - 1  # by position of a subject: the number of its groups and roles

    def of(self, principal: int) -> Ints:
        """The numbers of the users of a principal."""
        return self._users[self._offset[principal] : self._offset[principal + 1]]

    def first(self, principals: Ints) -> Ints:
        """The number of the first user of each principal, all of which must have one."""
        first: Ints = self._users[self._offset[principals]]
        return first
