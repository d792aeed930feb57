"""OpenFGA: a server with its model, asked by HTTP over one connection of each thread."""

import json
from collections.abc import Iterable, Iterator, Sequence
from http.client import HTTPConnection
from pathlib import Path
from threading import local
from typing import Any

from peers.interface import Facts, Grant, Peer, Question
from peers.measuring import BATCH
from peers.postgres import Postgres
from peers.programs import Server, built_by_go, free_port, run

VERSION = "v1.22.1"
PACKAGE = "github.com/openfga/openfga/cmd/openfga"
MANY = 1_000  # tuples in one write
LEVELS = {"metalake": None, "catalog": "metalake", "schema": "catalog", "table": "schema"}
SUBJECTS = [
    {"type": "user"},
    {"type": "group", "relation": "member"},
    {"type": "role", "relation": "holder"},
]


class OpenFgaPeer(Peer):
    """Each privilege has inherited relations for allows and denies, and a relation for an allow without a deny."""

    name = "OpenFGA"
    set_up = (
        "The server on the same machine with PostgreSQL, without caches, because those can be stale; asked by "
        f"HTTP over one open connection of each caller. Batches of {BATCH} and lists of any length and time are "
        "permitted. For each privilege, the model has a relation that excludes denied subjects (`but not`). "
        "Lists are `ListObjects`, `ListUsers`."
    )
    _server: Server | None = None
    _database: Postgres | None = None

    def version(self) -> str:
        return VERSION

    def install(self) -> None:
        self._program = built_by_go("openfga", PACKAGE, VERSION)
        self._database = Postgres()
        self._datastore = ["--datastore-engine=postgres", f"--datastore-uri={self._database.uri}"]
        run([str(self._program), "migrate", *self._datastore], Path("/"))

    def load(self, facts: Facts) -> None:
        port = free_port()
        limits = {"max-checks-per-batch-check": BATCH, "max-tuples-per-write": MANY}
        endless = {"listObjects-deadline": "10m", "listObjects-max-results": 0}
        endless |= {"listUsers-deadline": "10m", "listUsers-max-results": 0, "request-timeout": "10m"}
        addresses = {"http-addr": f"127.0.0.1:{port}", "grpc-addr": f"127.0.0.1:{free_port()}"}
        endless |= {"http-upstream-timeout": "10m"}
        off = {"playground-enabled": "false", "metrics-enabled": "false", "log-level": "error"}
        flags = [f"--{name}={value}" for name, value in (limits | endless | addresses | off).items()]
        self._port, self._open = port, local()
        self._server = Server([self._program, "run", *self._datastore, *flags], self._ready)
        self._store = "/stores/" + str(self._send("/stores", {"name": "peers"})["id"])
        privileges = sorted({each.privilege for each in facts.grants})
        self._model = self._send(f"{self._store}/authorization-models", model(privileges))["authorization_model_id"]
        tuples = list(_tuples(facts))
        for at in range(0, len(tuples), MANY):
            self._ask("write", {"writes": {"tuple_keys": tuples[at : at + MANY]}})
            if self._database and at % (10 * MANY) == 0:  # otherwise PostgreSQL keeps its plans for an empty table
                self._database.analyze()

    def check(self, question: Question) -> bool:
        return bool(self._ask("check", {"tuple_key": _key(question)})["allowed"])

    def check_many(self, questions: Sequence[Question]) -> list[bool]:
        checks = [{"tuple_key": _key(each), "correlation_id": str(at)} for at, each in enumerate(questions)]
        answers = self._ask("batch-check", {"checks": checks})["result"]
        failed = [each for each in answers.values() if "error" in each]  # `allowed` is false in these
        if failed:
            raise RuntimeError(f"OpenFGA could not answer {len(failed)} checks of a batch: {failed[0]}")
        return [bool(answers[str(at)].get("allowed", False)) for at in range(len(questions))]

    def list_objects(self, user: str, privilege: str) -> Iterable[str]:
        answer = self._ask("list-objects", {"type": "table", "relation": f"can_{privilege}", "user": user})
        return list(answer["objects"])

    def list_users(self, privilege: str, table: str) -> Iterable[str]:
        kind, name = table.split(":", 1)
        asked = {
            "object": {"type": kind, "id": name},
            "relation": f"can_{privilege}",
            "user_filters": [{"type": "user"}],
        }
        return ["user:" + each["object"]["id"] for each in self._ask("list-users", asked)["users"]]

    def change(self, grant: Grant, added: bool) -> None:
        self._ask("write", {"writes" if added else "deletes": {"tuple_keys": [_grant(grant)]}})

    def close(self) -> None:
        if self._server:
            self._server.close()
        if self._database:
            self._database.close()

    @property
    def _http(self) -> HTTPConnection:
        if not hasattr(self._open, "http"):
            self._open.http = HTTPConnection("127.0.0.1", self._port)
        http: HTTPConnection = self._open.http
        return http

    def _ready(self) -> bool:
        try:
            self._http.request("GET", "/healthz")
            response = self._http.getresponse()
            return response.status == 200 and b"SERVING" in response.read()
        except OSError:
            self._http.close()
            return False

    def _ask(self, verb: str, body: dict[str, Any]) -> dict[str, Any]:
        return self._send(f"{self._store}/{verb}", body | {"authorization_model_id": self._model})

    def _send(self, path: str, body: object) -> dict[str, Any]:
        http = self._http
        http.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        response = http.getresponse()
        answer: dict[str, Any] = json.loads(response.read())
        if response.status >= 300:
            raise RuntimeError(f"OpenFGA refused {path}: {answer}")
        return answer


def model(privileges: Sequence[str]) -> dict[str, object]:
    """The authorization model, in the form of the API."""
    types = [
        {"type": "user"},
        _type("group", {"member": {"this": {}}}, {"member": SUBJECTS[:2]}),
        _type("role", {"holder": {"this": {}}}, {"holder": SUBJECTS}),
        *(_level(level, above, privileges) for level, above in LEVELS.items()),
    ]
    return {"schema_version": "1.1", "type_definitions": types}


def _level(level: str, above: str | None, privileges: Sequence[str]) -> dict[str, object]:
    relations: dict[str, object] = {"up": {"this": {}}} if above else {}
    direct: dict[str, object] = {"up": [{"type": above}]} if above else {}
    for privilege in privileges:
        for effect in ("allow", "deny"):
            name = f"{effect}_{privilege}"
            from_above = {"tupleset": {"relation": "up"}, "computedUserset": {"relation": name}}
            here: list[dict[str, object]] = [{"this": {}}]
            relations[name] = {"union": {"child": [*here, {"tupleToUserset": from_above}]}} if above else here[0]
            direct[name] = SUBJECTS
        allow, deny = ({"computedUserset": {"relation": f"{effect}_{privilege}"}} for effect in ("allow", "deny"))
        relations[f"can_{privilege}"] = {"difference": {"base": allow, "subtract": deny}}
    return _type(level, relations, direct)


def _type(name: str, relations: dict[str, object], direct: dict[str, Any]) -> dict[str, object]:
    metadata = {relation: {"directly_related_user_types": types} for relation, types in direct.items()}
    return {"type": name, "relations": relations, "metadata": {"relations": metadata}}


def _tuples(facts: Facts) -> Iterator[dict[str, str]]:
    for member, of in facts.members:
        relation = "member" if of.startswith("group:") else "holder"
        yield {"user": _userset(member), "relation": relation, "object": of}
    for object_, above in facts.above.items():
        yield {"user": above, "relation": "up", "object": object_}
    yield from map(_grant, facts.grants)


def _grant(grant: Grant) -> dict[str, str]:
    relation = f"{grant.effect}_{grant.privilege}"
    return {"user": _userset(grant.subject), "relation": relation, "object": grant.object}


def _userset(subject: str) -> str:
    relation = {"group": "#member", "role": "#holder"}.get(subject.partition(":")[0], "")
    return subject + relation


def _key(question: Question) -> dict[str, str]:
    return {"user": question.user, "relation": f"can_{question.privilege}", "object": question.object}
