"""A small Flask service that grantpath guards. Each view names the operation that its caller needs.

Start it with: SERVICE_SECRET=... flask --app docs/examples/service/flask_app.py:served run
"""

import hashlib
import hmac
import logging
import os
from collections.abc import Callable
from functools import wraps

from flask import Flask, abort, jsonify, request
from flask.typing import ResponseReturnValue

from grantpath import Authorizer, GrantpathError, reference

OPERATIONS = ["load_table"]  # a misspelled one is noticed at the start
REFUSED = "this is not allowed or not possible"  # also said about a missing name, so that no caller learns what exists
STATUS = {"unknown": 403, "conflict": 403, "id_taken": 403, "root_unknown": 503, "root_dropped": 503}  # by error code
View = Callable[..., ResponseReturnValue]


def create_app(auth: Authorizer) -> Flask:
    """The service; all requests share the authorizer. Its tests pass one from `grantpath.testing`."""
    auth.policy.check_names(OPERATIONS)
    app = Flask(__name__)

    def needs(operation: str) -> Callable[[View], View]:
        """A decorator: the view runs only if the caller can use `operation` on the table of the path."""

        def guarded(view: View) -> View:
            @wraps(view)
            def run(catalog: str, schema: str, table: str) -> ResponseReturnValue:
                user, object = caller(), reference("table", catalog, schema, table)
                decision = auth.check(user, operation, object)
                if not decision:
                    return jsonify(detail=REFUSED), 403
                return view(object)

            return run

        return guarded

    @app.errorhandler(GrantpathError)
    def failed(error: GrantpathError) -> ResponseReturnValue:
        """A failure is never a yes. What exists is not shown: a missing and an existing name are answered as a
        refusal. A root that is gone is no fault of the request."""
        status = STATUS.get(error.code, error.status)
        if status >= 500:  # the database or this program is at fault
            logging.getLogger("service").error("%s", error)
        return jsonify(detail=error.public), status, {"Retry-After": "1"} if error.retryable else {}

    @app.get("/tables")
    def tables() -> ResponseReturnValue:
        found = auth.which("table", caller(), "load_table", limit=1_000)
        return jsonify(tables=[*found], revision=found.revision)

    @app.get("/tables/<catalog>/<schema>/<table>")
    @needs("load_table")
    def load(object: str) -> ResponseReturnValue:
        return jsonify(table=object)

    @app.put("/roles/<role>/members/<login>")
    def join(role: str, login: str) -> ResponseReturnValue:
        done = auth.join(reference("user", login), reference("role", role), by=caller())
        return jsonify(revision=done.revision)

    return app


def signature(login: str) -> str:
    """The signature of a login. It stands for the login of your own service, e.g. by OpenID Connect."""
    return hmac.new(os.environ["SERVICE_SECRET"].encode(), login.encode(), hashlib.sha256).hexdigest()


def caller() -> str:
    """The reference of the user who calls, from `Authorization: Bearer LOGIN:SIGNATURE`."""
    kind, _, token = request.headers.get("Authorization", "").partition(" ")
    login, _, signed = token.rpartition(":")
    if kind != "Bearer" or not hmac.compare_digest(signature(login).encode(), signed.encode()):
        abort(401, "log in first")
    return reference("user", login)  # quotes any character of the login


def served() -> Flask:
    """The service on a root of a server."""
    return create_app(Authorizer.open(os.environ.get("SERVICE_ROOT", "metalake:ml"), timeout=5))
