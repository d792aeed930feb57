"""Makes requests idempotent: a change or a batch that is repeated with the same id is not made again."""

import hashlib
import json
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from grantpath import cypher
from grantpath.engine.change.change_step import Actor, actor_names
from grantpath.engine.change.made import Change, MakeChange
from grantpath.engine.tenants.root_name import all_as_named_now, as_named_now
from grantpath.graph.errors import Conflict, Invalid, InvalidInput
from grantpath.graph.guard.transaction import QueryRunner, Writing, query_by_name
from grantpath.graph.language.inputs import require_text
from grantpath.graph.language.reference import Reference
from grantpath.graph.messages import short

MAX_ID = 200


def require_id(id_: str, suffix: int = 0) -> None:
    """Raises InvalidInput unless `id_` is an id to which `suffix` more characters can be added."""
    longest = MAX_ID - suffix
    if not (isinstance(id_, str) and 0 < len(id_) <= longest):
        raise InvalidInput(f"{short(repr(id_))} is not an id; pass a string of 1 to {longest} characters")
    require_text("id", id_)


class Request:
    """A change or a batch as a caller requests it, with its id."""

    def __init__(self, id_: str | None, texts: Sequence[str], actor: Actor | None, root: Reference) -> None:
        if id_ is not None:
            require_id(id_)
        self.id = id_ or uuid.uuid4().hex
        self.ids = [self.id] if len(texts) == 1 else [f"{self.id}.{index}" for index in range(len(texts))]
        self.what = repr(short(texts[0])) if len(texts) == 1 else f"a batch of {len(texts)}"
        self._actor = actor
        self._texts = list(texts)
        self._root = root

    @property
    def _questions(self) -> list[MakeChange]:
        return [MakeChange.of(text, self._actor) for text in self._texts]

    @property
    def _digest(self) -> str:
        """The digest of the request. It does not contain the present name of the root object, because a root that is
        restored under another name keeps the digests."""
        own = all_as_named_now(self._texts, self._root) == self._texts
        return self._digest_of(all_as_named_now(self._texts, Reference(self._root.type, ("",))) if own else self._texts)

    def _digest_of(self, texts: Sequence[str]) -> str:
        return hashlib.sha256(json.dumps([*actor_names(self._actor), *texts]).encode()).hexdigest()

    def earlier(self, writing: QueryRunner) -> list[Change] | None:
        """The changes that were made with this id before; None if there are none. Raises Invalid if the id belongs to
        another request."""
        row = _found(writing, self.id, self.ids if self.ids != [self.id] else [])
        if row["said"] in (self._digest, self._digest_of(self._texts)):  # the second one is from an older version
            done = zip(row["ids"], row["revisions"], row["hashes"], self._questions, strict=True)
            return [
                Change(id=id_ or None, revision=at, question=question, already=True, hash=hash_)
                for id_, at, hash_, question in done
            ]
        change = row["change"]
        if change and row["said"] is None and self._is(change):
            [question] = self._questions
            at, hash_ = change["revision"], change["hash"]
            return [Change(id=self.id, revision=at, question=question, already=True, hash=hash_)]
        if change or row["said"] or row["taken"]:
            taken = next(iter(row["taken"]), self.id)
            raise Conflict(
                f"the id {short(taken)} belongs to another change; repeat exactly that change, or use a new id",
                code="id_taken",
            )
        return None

    def is_new(self, writing: QueryRunner) -> bool:
        """Whether the id is unused."""
        try:
            return self.earlier(writing) is None
        except Invalid:  # the id belongs to another request
            return False

    def _is(self, change: Mapping[str, Any]) -> bool:
        """Whether this is the same change, made without an id and now repeated with the id that was assigned to it."""
        said = as_named_now(change["statement"], self._root)
        same = [said] == all_as_named_now(self._texts, self._root)
        return same and (change["actor"], change["as_role"]) == actor_names(self._actor)

    def remember(self, writing: Writing, changes: Sequence[Change]) -> None:
        """Stores the changes under this id, in their transaction."""
        cypher.load("idempotency_keep").run(
            writing.note,
            root=writing.root,
            id=self.id,
            said=self._digest,
            ids=[change.id or "" for change in changes],
            revisions=[change.revision for change in changes],
        )


def is_made(writing: Writing, changes: Sequence[Change]) -> bool:
    """Whether exactly these changes are in the history, which were to be committed together.

    The hash of the last one proves those before it. Its id alone proves nothing: another request may have used it.
    """
    last = next((change for change in reversed(changes) if change.id), None)
    if last is None or last.id is None:
        return False
    found = _found(writing, last.id, [])["change"]
    return found is not None and found["hash"] == last.hash


def first_id(changes: Sequence[Change]) -> str | None:
    """The id of the first change that changed anything."""
    return next((change.id for change in changes if change.id), None)


def _found(writing: QueryRunner, id: str | None, parts: Sequence[str]) -> Mapping[str, Any]:
    """The row of an earlier request with this id."""
    return query_by_name(writing.ask, writing.root)("idempotency_find", id=id, parts=parts)[0]
