"""grantpath itself: it answers by Cypher, and from a copy of the facts in memory."""

from collections.abc import Iterable, Sequence

from grantpath.engine import Authorizer
from grantpath.engine.tenants import registry
from grantpath.engine.transfer import importer
from peers.interface import Facts, Grant, Peer, Question

POLICY = "lakehouse"


class CypherPeer(Peer):
    """A root in the embedded Neo4j, asked by Cypher."""

    name = "grantpath, Cypher"
    set_up = "The embedded Neo4j with its defaults. `load` reads Parquet files."
    distribution = "grantpath"
    auth: Authorizer

    def load(self, facts: Facts) -> None:
        self.auth = Authorizer.open(facts.root, POLICY, create=True, timeout=60)
        importer.load(self.auth, facts.directory)

    def bare(self) -> None:
        """The shortest round trip to the database, with which all times are compared."""
        self.auth.store.read("RETURN 1 AS one", {})

    def check(self, question: Question) -> bool:
        return bool(self.auth.check(*question))

    def check_many(self, questions: Sequence[Question]) -> list[bool]:
        return [bool(each) for each in self.auth.check_many(questions)]

    def list_objects(self, user: str, privilege: str) -> Iterable[str]:
        return self.auth.which("table", user, privilege)

    def list_users(self, privilege: str, table: str) -> Iterable[str]:
        return self.auth.who(privilege, table)

    def change(self, grant: Grant, added: bool) -> None:
        given = f"{grant.effect} {grant.privilege} on {grant.object}"
        self.auth.change(f"{given} to {grant.subject}" if added else f"revoke {given} from {grant.subject}")

    def close(self) -> None:
        self.auth.close()


class ReplicaPeer(CypherPeer):
    """The same root, asked through a copy of its facts, which each answer proves to be current."""

    name = "grantpath, replica"
    set_up = "The same root with `replica=True`. Its load is the start of the copy from the graph."

    def load(self, facts: Facts) -> None:
        self.auth = Authorizer.open(facts.root, POLICY, timeout=60, replica=True)


def drop(root: str) -> None:
    """Removes the root if it exists."""
    with Authorizer.open(root, POLICY, create=True, timeout=60) as auth:
        registry.remove(auth.store, auth.tenant)
