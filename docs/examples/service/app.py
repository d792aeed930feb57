"""A small service that grantpath guards. Each route names the operation that its caller needs.

Start it with: SERVICE_SECRET=... uvicorn --app-dir docs/examples/service app:app
"""

import hashlib
import hmac
import json
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Annotated

from fastapi import Depends, FastAPI, Header, HTTPException, Request
from fastapi.responses import JSONResponse

from grantpath import AsyncAuthorizer, Decision, GrantpathError, Refused, Unknown, reference, statement

audit = logging.getLogger("service.audit")
Guard = Callable[..., Awaitable[Decision]]
OPERATIONS = ["load_table"]  # a misspelled one is noticed at the start
REFUSED = "this is not allowed or not possible"  # also said about a missing name, so that no caller learns what exists
STATUS = {"unknown": 403, "conflict": 403, "id_taken": 403, "root_unknown": 503, "root_dropped": 503}  # by error code


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Opens one authorizer for the life of the service; all requests share it."""
    root, timeout = os.environ.get("SERVICE_ROOT", "metalake:ml"), float(os.environ.get("SERVICE_TIMEOUT", "5"))
    async with AsyncAuthorizer.open(root, timeout=timeout) as auth:
        auth.policy.check_names(OPERATIONS)
        app.state.auth = auth
        yield


app = FastAPI(lifespan=lifespan)


async def authorizer(request: Request) -> AsyncAuthorizer:
    """The authorizer of the service."""
    auth: AsyncAuthorizer = request.app.state.auth
    return auth


def signature(login: str) -> str:
    """The signature of a login. It stands for the login of your own service, e.g. by OpenID Connect."""
    return hmac.new(os.environ["SERVICE_SECRET"].encode(), login.encode(), hashlib.sha256).hexdigest()


async def caller(authorization: Annotated[str, Header()] = "") -> str:
    """The reference of the user who calls, from `Authorization: Bearer LOGIN:SIGNATURE`."""
    kind, _, token = authorization.partition(" ")
    login, _, signed = token.rpartition(":")
    if kind != "Bearer" or not hmac.compare_digest(signature(login).encode(), signed.encode()):
        raise HTTPException(401, "log in first", {"WWW-Authenticate": "Bearer"})
    return reference("user", login)  # quotes any character of the login


async def table(catalog: str, schema: str, table: str) -> str:
    """The reference of the table in the path of the request."""
    return reference("table", catalog, schema, table)


Auth = Annotated[AsyncAuthorizer, Depends(authorizer)]
Caller = Annotated[str, Depends(caller)]
Table = Annotated[str, Depends(table)]


def noted(user: str, action: str, object: str, outcome: str, revision: int | None = None) -> None:
    """Writes one audit line. JSON keeps a line break in a name inside its string."""
    line = {"user": user, "action": action, "object": object, "outcome": outcome, "revision": revision}
    audit.info("%s", json.dumps(line))


def needs(operation: str) -> Guard:
    """A dependency that lets a request pass only if its caller can use `operation` on its table."""

    async def guard(auth: Auth, user: Caller, object: Table) -> Decision:
        try:
            decision = await auth.check(user, operation, object)
        except Unknown:
            noted(user, operation, object, "refused")
            raise
        noted(user, operation, object, "allowed" if decision else "refused", decision.revision)
        if not decision:
            raise HTTPException(403, REFUSED)
        return decision

    return guard


@app.exception_handler(GrantpathError)
async def failed(request: Request, error: GrantpathError) -> JSONResponse:
    """A failure is never a yes. What exists is not shown: a missing and an existing name are answered as a refusal. A
    root that is gone is no fault of the request."""
    status = STATUS.get(error.code, error.status)
    if status >= 500:  # the database or this program is at fault
        logging.getLogger("service").error("%s", error)
    return JSONResponse({"detail": error.public}, status, {"Retry-After": "1"} if error.retryable else None)


@app.get("/ready")
async def ready(auth: Auth) -> dict[str, int]:
    """For a readiness probe: the revision of the root. If the database does not answer, the error is a 503."""
    return {"revision": await auth.revision_now()}


@app.get("/tables")
async def tables(auth: Auth, user: Caller) -> dict[str, object]:
    """The tables that the caller can load."""
    found = await auth.which("table", user, "load_table", limit=1_000)
    return {"tables": [ref async for ref in found], "revision": found.revision}


@app.get("/tables/{catalog}/{schema}/{table}")
async def load(object: Table, decision: Annotated[Decision, Depends(needs("load_table"))]) -> dict[str, object]:
    """A table. Here the service would read it."""
    return {"table": object, "revision": decision.revision}


@app.put("/roles/{role}/members/{login}")
async def join(role: str, login: str, auth: Auth, user: Caller) -> dict[str, object]:
    """Makes a user a member of a role, if the caller may do that."""
    role_, member = reference("role", role), reference("user", login)
    try:
        done = await auth.change(statement("member", member, "of", role_), by=user)
    except (Refused, Unknown):
        noted(user, f"add {member}", role_, "refused")
        raise
    noted(user, f"add {member}", role_, "done", done.revision)
    return {"revision": done.revision}
