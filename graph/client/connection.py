"""The parameters of a connection: the address of a Neo4j server, one of its databases, and the login."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Union

from grantpath.graph.client.address import shown
from grantpath.graph.client.credentials import Auth, Provider

if TYPE_CHECKING:
    import neo4j

DATABASE = "neo4j"
USER = "neo4j"


@dataclass(frozen=True)
class Connection:
    """The address of a Neo4j server, one of its databases, and the login: `auth` if given, else the user and password.

    `ca` is a file of trusted certificates; None means those that the system trusts.
    """

    uri: str
    user: str
    password: str
    auth: Union["neo4j.Auth", Provider, None] = None
    ca: str | None = None
    database: str = DATABASE

    def __repr__(self) -> str:
        return f"Connection({shown(self.uri)!r}, user={self.user!r}, ca={self.ca!r}, database={self.database!r})"

    @property
    def login(self) -> Auth | Provider:
        return self.auth or (self.user, self.password)
