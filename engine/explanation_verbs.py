"""The methods that say why a question is answered yes or no, and what would change the answer."""

from collections.abc import Mapping

from grantpath.engine.decide import request
from grantpath.engine.decide.decision import Explanation
from grantpath.engine.decide.explanation import explained
from grantpath.engine.decide.revocation import Revocation, revocation
from grantpath.engine.tenants.one_revision import GuardedAsk
from grantpath.engine.tenants.open_tenant import OpenTenant, following
from grantpath.graph import telemetry
from grantpath.graph.statement import Check


class ExplanationVerbs(OpenTenant):
    """Explains decisions about one root. Threads can share it."""

    @following
    def explain(
        self,
        subject: str,
        name: str,
        object: str,
        *,
        as_role: str | None = None,
        with_: Mapping[str, str] | None = None,
        all: bool = False,
        at_least: int | None = None,
    ) -> Explanation:
        """The decision with paths that allow it, or with the paths of the DENYs and the nearest remedy. With `all` the
        paths are those of every deciding fact, up to the bounds of Explanation. Raises the errors of `check`."""
        with telemetry.span("explain", self.tenant, name, subject=subject, object=object) as span:
            words = request.as_words(Check, with_, subject=subject, name=name, object=object, as_role=as_role)
            question = request.resolve(self.policy, self.root, words)

            def read(ask: GuardedAsk) -> Explanation:
                [answer], row = request.answers(ask, [question], at_least)
                return explained(ask, request.decision(self, words, question, answer, row), all)

            found = self.at_one_revision(read)
            telemetry.decided(span, found.decision.revision, bool(found))
            return found

    @following
    def revocation(
        self,
        subject: str,
        name: str,
        object: str,
        *,
        as_role: str | None = None,
        with_: Mapping[str, str] | None = None,
        at_least: int | None = None,
    ) -> Revocation:
        """The smallest set of statements after which `subject` cannot use `name` on `object` any more. It changes
        nothing. Raises the errors of `check`."""
        with telemetry.span("revocation", self.tenant, name, subject=subject, object=object) as span:
            words = request.as_words(Check, with_, subject=subject, name=name, object=object, as_role=as_role)
            question = request.resolve(self.policy, self.root, words)

            def read(ask: GuardedAsk) -> Revocation:
                [answer], row = request.answers(ask, [question], at_least)
                return revocation(ask, request.decision(self, words, question, answer, row))

            found = self.at_one_revision(read)
            telemetry.decided(span, found.revision, found.allowed)
            return found
