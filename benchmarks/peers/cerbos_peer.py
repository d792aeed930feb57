"""Cerbos: a server with one policy, which compares the principals with the grants that the application sends."""

import tempfile
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from peers.interface import Facts, Grant, Peer, Question
from peers.oracle import PlainAnswers
from peers.programs import Server, connects, free_port, from_npm

VERSION = "0.55.0"
PACKAGE = "@cerbos/cerbos-linux-x64"
MANY = 500  # resources in one request, the most that the server can permit
CONFIG = """
server:
  httpListenAddr: 127.0.0.1:{http}
  grpcListenAddr: 127.0.0.1:{grpc}
  requestLimits: {{maxActionsPerResource: 1, maxResourcesPerRequest: {many}}}
storage: {{driver: disk, disk: {{directory: {folder}, watchForChanges: false}}}}
telemetry: {{disabled: true}}
"""
POLICY = """
apiVersion: api.cerbos.dev/v1
resourcePolicy:
  resource: table
  version: default
  rules:
    - {actions: ["*"], effect: EFFECT_ALLOW, roles: ["*"],
       condition: {match: {expr: "hasIntersection(P.attr.principals, R.attr.allow)"}}}
    - {actions: ["*"], effect: EFFECT_DENY, roles: ["*"],
       condition: {match: {expr: "hasIntersection(P.attr.principals, R.attr.deny)"}}}
"""


class CerbosPeer(Peer):
    """The application keeps all facts in dictionaries. It sends the user's groups and roles, and the path's grants."""

    name = "Cerbos"
    set_up = (
        "The server on the same machine, asked by gRPC by its Python client. It keeps no facts: the application sends "
        "the groups and roles of the user and the grants on the object's path, from dictionaries in its memory; a "
        "change is made there. One policy allows or denies if these groups and roles, or the user, are among the "
        "grantees. One request is for one user and up to "
        f"{MANY} objects. For lists every candidate is checked, with one request for each user."
    )
    distribution = "cerbos"
    _server: Server | None = None

    def version(self) -> str:
        return VERSION

    def install(self) -> None:
        super().install()
        self._program = from_npm("cerbos", PACKAGE, VERSION, PACKAGE.rpartition("/")[2])

    def load(self, facts: Facts) -> None:
        from cerbos.effect.v1.effect_pb2 import EFFECT_ALLOW
        from cerbos.engine.v1 import engine_pb2
        from cerbos.request.v1 import request_pb2
        from cerbos.sdk.grpc.client import CerbosClient
        from google.protobuf.struct_pb2 import Value

        self._engine, self._value, self._allow = engine_pb2, Value, EFFECT_ALLOW
        self._entry: Any = request_pb2.CheckResourcesRequest.ResourceEntry
        self._facts = facts
        self._principals = PlainAnswers(facts).principals
        self._granted: dict[tuple[str, str, str], set[str]] = defaultdict(set)
        for grant in facts.grants:
            self.change(grant, True)
        self._folder = tempfile.TemporaryDirectory()
        folder, port = Path(self._folder.name), free_port()
        (folder / "policies").mkdir()
        (folder / "policies" / "table.yaml").write_text(POLICY)
        config = CONFIG.format(http=free_port(), grpc=port, many=MANY, folder=folder / "policies")
        (folder / "config.yaml").write_text(config)
        command: list[str | Path] = [self._program, "server", f"--config={folder / 'config.yaml'}", "--log-level=ERROR"]
        self._server = Server(command, connects(f"127.0.0.1:{port}"))
        self._client: Any = CerbosClient(f"127.0.0.1:{port}")

    def check(self, question: Question) -> bool:
        return self.check_many([question])[0]

    def check_many(self, questions: Sequence[Question]) -> list[bool]:
        users: dict[str, list[int]] = defaultdict(list)
        for at, each in enumerate(questions):
            users[each.user].append(at)
        answers = [False] * len(questions)
        for user, places in users.items():
            for start in range(0, len(places), MANY):
                some = places[start : start + MANY]
                for at, allowed in zip(some, self._answers(user, [questions[at] for at in some]), strict=True):
                    answers[at] = allowed
        return answers

    def list_objects(self, user: str, privilege: str) -> Iterable[str]:
        tables = self._facts.tables()
        allowed = self.check_many([Question(user, privilege, table) for table in tables])
        return (table for table, yes in zip(tables, allowed, strict=True) if yes)

    def list_users(self, privilege: str, table: str) -> Iterable[str]:
        return (user for user in self._facts.users() if self.check(Question(user, privilege, table)))

    def change(self, grant: Grant, added: bool) -> None:
        subjects = self._granted[grant[:3]]
        (subjects.add if added else subjects.discard)(grant.subject)

    def close(self) -> None:
        if self._server:
            self._server.close()
            self._client.close()
            self._folder.cleanup()

    def _answers(self, user: str, questions: Sequence[Question]) -> list[bool]:
        principal = self._engine.Principal(
            id=user, roles=["user"], attr={"principals": self._list(self._principals(user))}
        )
        entries = [self._entry(actions=[each.privilege], resource=self._resource(each)) for each in questions]
        results = self._client.check_resources(principal, entries).results
        return [result.actions[each.privilege] == self._allow for result, each in zip(results, questions, strict=True)]

    def _resource(self, question: Question) -> Any:
        path = self._facts.path(question.object)
        attributes = {
            effect: self._list(
                subject for place in path for subject in self._granted.get((effect, question.privilege, place), ())
            )
            for effect in ("allow", "deny")
        }
        return self._engine.Resource(kind="table", id=question.object, attr=attributes)

    def _list(self, texts: Iterable[str]) -> Any:
        found = self._value()
        found.list_value.extend(texts)
        return found
