"""The method that reads a past state of a root; `Authorizer` adds the questions."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from grantpath.engine.answers import request
from grantpath.engine.tenants.open_tenant import OpenTenant, following
from grantpath.graph.client import telemetry
from grantpath.graph.errors import InvalidInput
from grantpath.graph.language.statement import Check

if TYPE_CHECKING:
    from grantpath.engine.facts.copy.replica import Replica
    from grantpath.engine.past.past_root import AsOf, PastRoot
    from grantpath.engine.past.since import Since
    from grantpath.graph.files.remote_path import AnyPath


class PastVerbs(OpenTenant):
    """Reads the past of one root. Threads can share it."""

    replica: "Replica | None" = None  # the copy of the facts, for `open(..., replica=True)`

    @following
    def past(self, as_of: int | str | datetime, *, snapshots: "Iterable[AnyPath | str]" = ()) -> "PastRoot":
        """The root as it was at a revision, or after the last change at or before a time.

        Pass the result to several questions as `as_of`, so that the facts are read only once. A time is a datetime
        with a zone, or a text in ISO 8601; a text without an offset is in UTC.

        The facts are computed from those of the present or of one of the `snapshots` of this root, by undoing or
        repeating the changes of the log. The nearest start from which this is possible is used. Needs the extra
        `replica`. Raises InvalidInput if the root has not reached the revision, if it had no change at or before the
        time, or if the log does not describe all the changes in between; Unknown, Inconsistent, Unavailable.
        """
        from grantpath.engine.past.past_reader import PastReader  # only here: it needs an extra
        from grantpath.engine.past.past_root import PastRoot

        reader = PastReader.of(self, self.replica, snapshots)

        def read() -> PastRoot:
            version, policy = reader.facts_at(reader.revision_of(as_of))
            return PastRoot(self.tenant, self.root, policy, version)

        with telemetry.span("past", self.tenant) as span:
            found = self.store.apart(read)
            span.set(revision=found.revision)
            return found

    @following
    def since(
        self,
        subject: str,
        name: str,
        object: str,
        *,
        as_role: str | None = None,
        with_: Mapping[str, str] | None = None,
    ) -> "Since":
        """Since when, without interruption, `subject` can (or cannot) use `name` on `object`, and by which change.

        The changes of the log are undone one by one until the answer is different, or the question was not possible
        yet, e.g. because the object did not exist. All facts of the root are read (see `past`). Raises the errors of
        `check`, and Inconsistent if the log contradicts the facts.
        """
        from grantpath.engine.past.past_reader import PastReader
        from grantpath.engine.past.since_reader import since

        with telemetry.span("since", self.tenant, name, subject=subject, object=object) as span:
            asked = request.as_words(Check, with_, subject=subject, name=name, object=object, as_role=as_role)
            # an error in the question is raised before the facts are read
            words, _ = request.resolve_check(self.policy, self.root, asked)
            found = self.store.apart(lambda: since(self, PastReader.of(self, self.replica, ()), words))
            telemetry.decided(span, found.revision, found.allowed)
            return found

    def _past(self, as_of: "AsOf", at_least: int | None) -> "PastRoot":
        """The past state for the argument `as_of` of a question. Raises InvalidInput and the errors of `past`."""
        from grantpath.engine.past.past_root import PastRoot

        if at_least is not None:
            raise InvalidInput(f"as_of cannot be combined with at_least={at_least}; omit one of them")
        if not isinstance(as_of, PastRoot):
            return self.past(as_of)
        if as_of.tenant != self.tenant:
            raise InvalidInput(
                f"as_of is a state of {as_of.tenant}, not of {self.tenant}; pass a result of `past` of this Authorizer"
            )
        return as_of
