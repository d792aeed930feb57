"""The methods that explain why the answer to a check is yes or no, and what would change it."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from grantpath.engine.advise.revocation import Revocation, revocation
from grantpath.engine.answers import request
from grantpath.engine.answers.decision import Decision, Explanation
from grantpath.engine.answers.explanation import explained
from grantpath.engine.authorizer.effect_verbs import TRIES, EffectVerbs
from grantpath.engine.authorizer.past_verbs import PastVerbs
from grantpath.engine.tenants.one_revision import GuardedAsk
from grantpath.engine.tenants.open_tenant import following
from grantpath.graph.client import telemetry
from grantpath.graph.errors import Inconsistent, Invalid
from grantpath.graph.language.statement import Check

if TYPE_CHECKING:
    from grantpath.engine.answers.access_effects import Effects
    from grantpath.engine.past.past_root import AsOf

Found = TypeVar("Found", Explanation, Revocation)


class ExplanationVerbs(PastVerbs, EffectVerbs):
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
        as_of: "AsOf | None" = None,
    ) -> Explanation:
        """The decision, with the paths that allow it, or with the paths of the DENYs and the nearest remedy.

        With `all`, it has the paths of every deciding fact, within the limits of Explanation. `as_of` as in `check`;
        the remedy is then that of the past state. Raises the errors of `check`.
        """
        words = {"subject": subject, "name": name, "object": object, "as_role": as_role}
        return self._about(
            "explain", words, with_, at_least, lambda ask, decision, near: explained(ask, decision, all, near), as_of
        )

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
        effects: bool = False,
    ) -> Revocation:
        """The smallest set of statements after which `subject` cannot use `name` on `object` any more. Changes nothing.

        With `effects`, the result also has all access that these statements would take away (see `plan`). Raises the
        errors of `check`.
        """
        words = {"subject": subject, "name": name, "object": object, "as_role": as_role}
        for _ in range(TRIES):
            found = self._about(
                "revocation", words, with_, at_least, lambda ask, decision, _: revocation(ask, decision)
            )
            if not (effects and found.statements):
                return found
            told = self._effects_at(found.revision, found.statements)
            if told is not None:
                return found.model_copy(update={"effects": told})
        raise Inconsistent(f"{self.tenant} changes too often to be compared at one revision; ask again later")

    def _effects_at(self, revision: int, statements: Iterable[str]) -> "Effects | None":
        """The effects of statements at a revision; None if the root is now at another revision."""
        try:
            planned = self.store.apart(partial(self.plan, statements))
        except Invalid:  # a concurrent change can make the statements impossible
            if self.revision_now() == revision:
                raise
            return None
        return planned.effects if planned.revision == revision else None

    def _about(
        self,
        verb: str,
        words: Mapping[str, str | None],
        with_: Mapping[str, str] | None,
        at_least: int | None,
        answer: Callable[[GuardedAsk, Decision, Callable[[str], str]], Found],
        as_of: "AsOf | None" = None,
    ) -> Found:
        """The decision of one check, and the answer about it, both read at the same revision."""
        named = {"subject": words["subject"], "object": words["object"]}
        with telemetry.span(verb, self.tenant, words["name"], **named) as span:
            asked = request.as_words(Check, with_, **words)
            past = None if as_of is None else self._past(as_of, at_least)
            state = past or self
            check, question = request.resolve_check(state.policy, self.root, asked)

            def read(ask: GuardedAsk) -> Found:
                [row], marks = past.answers([question]) if past else request.answers(ask, [question], at_least)
                return answer(ask, request.decision(state, check, question, row, marks), state.near)

            found = state.at_one_revision(read)
            telemetry.decided(span, found.revision, found.allowed)
            return found
