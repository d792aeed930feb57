"""SpiceDB: a server with its schema, asked by gRPC with the token of the last write."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from peers.interface import Facts, Grant, Peer, Question
from peers.postgres import Postgres
from peers.programs import Server, built_by_go, connects, free_port, run

VERSION = "v1.56.0"
PACKAGE = "github.com/authzed/spicedb/cmd/spicedb"
KEY = "peers"
MANY = 1_000  # relationships in one message
LEVELS = {"metalake": None, "catalog": "metalake", "schema": "catalog", "table": "schema"}
SUBJECTS = "user | group#member | role#holder"


class SpiceDbPeer(Peer):
    """Each privilege has inherited relations for allows and denies, and a permission for an allow without a deny."""

    name = "SpiceDB"
    set_up = (
        "The server on the same machine with PostgreSQL and its usual caches; asked by `authzed`, its Python client, "
        "by gRPC. Each answer is at least as fresh as the last write. For each privilege, the schema has a permission "
        "that excludes denied subjects (`-`). Lists are `LookupResources` and `LookupSubjects`."
    )
    distribution = "authzed"
    _server: Server | None = None
    _database: Postgres | None = None

    def version(self) -> str:
        return VERSION

    def install(self) -> None:
        super().install()
        self._program = built_by_go("spicedb", PACKAGE, VERSION)
        self._database = Postgres()
        self._datastore = ["--datastore-engine=postgres", f"--datastore-conn-uri={self._database.uri}"]
        run([str(self._program), "datastore", "migrate", "head", *self._datastore], Path("/"))

    def load(self, facts: Facts) -> None:
        import authzed.api.v1 as api
        from authzed.api.v1.permission_service_pb2 import ImportBulkRelationshipsRequest

        self._api: Any = api
        address = f"127.0.0.1:{free_port()}"
        options = {"grpc-preshared-key": KEY, "grpc-addr": address, "http-enabled": "false", "metrics-enabled": "false"}
        options |= {"telemetry-endpoint": "", "log-level": "error"}
        flags = [f"--{name}={value}" for name, value in options.items()]
        self._client: Any = api.InsecureClient(address, KEY)
        self._server = Server([self._program, "serve", *self._datastore, *flags], connects(address))
        privileges = sorted({each.privilege for each in facts.grants})
        self._fresh = self._client.WriteSchema(api.WriteSchemaRequest(schema=schema(privileges))).written_at
        imports = (ImportBulkRelationshipsRequest(relationships=some) for some in self._relationships(facts))
        self._client.ImportBulkRelationships(imports)
        if self._database:
            self._database.analyze()
        self._fresh = self._client.ReadSchema(api.ReadSchemaRequest()).read_at

    def check(self, question: Question) -> bool:
        return self._allowed(self._client.CheckPermission(self._asked(self._api.CheckPermissionRequest, question)))

    def check_many(self, questions: Sequence[Question]) -> list[bool]:
        items = [self._asked(self._api.CheckBulkPermissionsRequestItem, each, False) for each in questions]
        request = self._api.CheckBulkPermissionsRequest(items=items, consistency=self._consistency())
        pairs = self._client.CheckBulkPermissions(request).pairs
        failed = [each for each in pairs if each.HasField("error")]
        if failed:
            raise RuntimeError(f"SpiceDB could not answer {len(failed)} checks of a batch: {failed[0]}")
        return [self._allowed(each.item) for each in pairs]

    def list_objects(self, user: str, privilege: str) -> Iterable[str]:
        request = self._api.LookupResourcesRequest(
            resource_object_type="table",
            permission=f"can_{privilege.lower()}",
            subject=self._subject(user),
            consistency=self._consistency(),
        )
        for each in self._client.LookupResources(request):
            yield "table:" + each.resource_object_id.replace("/", ".")

    def list_users(self, privilege: str, table: str) -> Iterable[str]:
        request = self._api.LookupSubjectsRequest(
            resource=self._object(table),
            permission=f"can_{privilege.lower()}",
            subject_object_type="user",
            consistency=self._consistency(),
        )
        for each in self._client.LookupSubjects(request):
            yield "user:" + each.subject.subject_object_id

    def change(self, grant: Grant, added: bool) -> None:
        kinds = self._api.RelationshipUpdate
        update = kinds(
            operation=kinds.OPERATION_CREATE if added else kinds.OPERATION_DELETE, relationship=self._grant(grant)
        )
        request = self._api.WriteRelationshipsRequest(updates=[update])
        self._fresh = self._client.WriteRelationships(request).written_at

    def close(self) -> None:
        if self._server:
            self._server.close()
        if self._database:
            self._database.close()

    def _allowed(self, answer: Any) -> bool:
        has: int = self._api.CheckPermissionResponse.PERMISSIONSHIP_HAS_PERMISSION
        return bool(answer.permissionship == has)

    def _asked(self, request: Any, question: Question, alone: bool = True) -> Any:
        return request(
            resource=self._object(question.object),
            permission=f"can_{question.privilege.lower()}",
            subject=self._subject(question.user),
            **({"consistency": self._consistency()} if alone else {}),
        )

    def _consistency(self) -> Any:
        return self._api.Consistency(at_least_as_fresh=self._fresh)

    def _object(self, reference: str) -> Any:
        kind, name = reference.split(":", 1)
        return self._api.ObjectReference(object_type=kind, object_id=name.replace(".", "/"))

    def _subject(self, reference: str) -> Any:
        relation = {"group": "member", "role": "holder"}.get(reference.partition(":")[0], "")
        return self._api.SubjectReference(object=self._object(reference), optional_relation=relation)

    def _grant(self, grant: Grant) -> Any:
        return self._relationship(grant.object, f"{grant.effect}_{grant.privilege.lower()}", grant.subject)

    def _relationship(self, object_: str, relation: str, subject: str) -> Any:
        return self._api.Relationship(resource=self._object(object_), relation=relation, subject=self._subject(subject))

    def _relationships(self, facts: Facts) -> Iterator[list[Any]]:
        rows = [
            *((of, "member" if of.startswith("group:") else "holder", member) for member, of in facts.members),
            *((object_, "inside", above) for object_, above in facts.above.items()),
            *((each.object, f"{each.effect}_{each.privilege.lower()}", each.subject) for each in facts.grants),
        ]
        for at in range(0, len(rows), MANY):
            yield [self._relationship(*row) for row in rows[at : at + MANY]]


def schema(privileges: Sequence[str]) -> str:
    """The schema of an estate with these privileges."""
    lines = ["definition user {}", "definition group {", "relation member: user | group#member", "}"]
    lines += ["definition role {", f"relation holder: {SUBJECTS}", "}"]
    for level, above in LEVELS.items():
        lines += [f"definition {level} {{", *([f"relation inside: {above}"] if above else [])]
        for privilege in map(str.lower, privileges):
            for effect in ("allow", "deny"):
                inherited = f" + inside->all_{effect}_{privilege}" if above else ""
                lines.append(f"relation {effect}_{privilege}: {SUBJECTS}")
                lines.append(f"permission all_{effect}_{privilege} = {effect}_{privilege}{inherited}")
            lines.append(f"permission can_{privilege} = all_allow_{privilege} - all_deny_{privilege}")
        lines.append("}")
    return "\n".join(lines)
