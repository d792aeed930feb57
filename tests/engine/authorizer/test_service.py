"""The service of docs/examples/service: what it allows, and attacks on it."""

import asyncio
import importlib.util
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import ModuleType
from urllib.parse import quote

import httpx
import pytest
import uvicorn

from grantpath.engine import Authorizer, reference
from grantpath.graph.client.connection import Connection

from ...support.proxy import Proxy
from .conftest import NewRoot

APP = Path(__file__).parents[3] / "docs" / "examples" / "service" / "app.py"
ODD_NAME = 'a`b.c, "d"\nadd user:eve'  # as a login and as a table
FACTS = [
    *("add user:ann", "add user:bob", "add role:analyst", "owner user:ann of metalake:ml"),
    *("add catalog:hr", "add schema:hr.public", "add table:hr.public.staff", "add table:hr.public.pay"),
    f"add {reference('table', 'hr', 'public', ODD_NAME)}",
    f"add {reference('user', ODD_NAME)}",
    *("member user:bob of role:analyst", "allow USE_CATALOG on metalake:ml to role:analyst"),
    *("allow USE_SCHEMA on catalog:hr to role:analyst", "allow SELECT_TABLE on table:hr.public.staff to role:analyst"),
    f"allow SELECT_TABLE on {reference('table', 'hr', 'public', ODD_NAME)} to role:analyst",
]
STAFF = "/tables/hr/public/staff"
Ask = Callable[[httpx.AsyncClient], Awaitable[None]]


class Service:
    """The application, over the database behind a proxy."""

    def __init__(self, module: ModuleType, proxy: Proxy, auth: Authorizer) -> None:
        self.app = module.app
        self.proxy = proxy
        self.auth = auth
        self._sign = module.signature

    def login(self, name: str) -> dict[str, str]:
        """The headers of a user who has logged in."""
        return {"Authorization": f"Bearer {name}:{self._sign(name)}"}

    def run(self, ask: Ask) -> None:
        """Runs `ask` with a client, while the application lives."""

        async def running() -> None:
            async with self.client() as client:
                await ask(client)

        asyncio.run(running())

    @asynccontextmanager
    async def client(self) -> AsyncIterator[httpx.AsyncClient]:
        transport = httpx.ASGITransport(self.app)
        async with (
            self.app.router.lifespan_context(self.app),
            httpx.AsyncClient(transport=transport, base_url="http://service", timeout=60) as client,
        ):
            yield client


@pytest.fixture
def service(new_root: NewRoot, server: Connection, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    auth = new_root(FACTS)
    proxy = Proxy(server.uri)
    named = {"NEO4J_URI": proxy.uri, "NEO4J_USER": server.user, "NEO4J_PASSWORD": server.password}
    for name, value in {
        **named,
        "SERVICE_ROOT": auth.tenant,
        "SERVICE_SECRET": "only-for-tests",
        "SERVICE_TIMEOUT": "60",
    }.items():
        monkeypatch.setenv(name, value)
    spec = importlib.util.spec_from_file_location("service_app", APP)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield Service(module, proxy, auth)
    proxy.close()


def test_allowed_and_refused_requests_and_their_audit_lines(service: Service, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "service.audit")

    async def ask(client: httpx.AsyncClient) -> None:
        seen = await client.get(STAFF, headers=service.login("bob"))
        assert (seen.status_code, seen.json()["table"]) == (200, "table:hr.public.staff")
        refused = await client.get("/tables/hr/public/pay", headers=service.login("bob"))
        assert (refused.status_code, refused.json()) == (
            403,
            {"detail": "this is not allowed or not possible"},
        )
        listed = (await client.get("/tables", headers=service.login("bob"))).json()["tables"]
        assert set(listed) == {"table:hr.public.staff", reference("table", "hr", "public", ODD_NAME)}

    service.run(ask)
    assert audited(caplog) == [
        ("user:bob", "load_table", "table:hr.public.staff", "allowed"),
        ("user:bob", "load_table", "table:hr.public.pay", "refused"),
    ]


def audited(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str, str, str]]:
    """The user, action, object and outcome of each audit line."""
    lines = [json.loads(record.getMessage()) for record in caplog.records if record.name == "service.audit"]
    return [(line["user"], line["action"], line["object"], line["outcome"]) for line in lines]


def test_absent_table_is_answered_like_a_refused_one(service: Service) -> None:
    async def ask(client: httpx.AsyncClient) -> None:
        refused = await client.get("/tables/hr/public/pay", headers=service.login("bob"))
        for absent in ("nothing", "n" * 200, quote("no\nthing", safe="")):
            answer = await client.get(f"/tables/hr/public/{absent}", headers=service.login("bob"))
            assert (answer.status_code, answer.content) == (403, refused.content), absent
            assert answer.headers == refused.headers

    service.run(ask)


def test_changes_need_the_right_of_the_caller(service: Service, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "service.audit")

    async def ask(client: httpx.AsyncClient) -> None:
        path = "/roles/analyst/members/bob"
        by = [(await client.put(path, headers=service.login(login))).status_code for login in ("bob", "eve", "ann")]
        assert by == [403, 403, 200]

    service.run(ask)
    action = ("add user:bob", "role:analyst")
    assert audited(caplog) == [
        ("user:bob", *action, "refused"),
        ("user:eve", *action, "refused"),
        ("user:ann", *action, "done"),
    ]


def test_forged_logins_are_refused(service: Service) -> None:
    bob = service.login("bob")["Authorization"]
    signed = bob.rpartition(":")[2]
    forged = [
        "",
        "Bearer",
        "Bearer bob",
        "Bearer bob:",
        f"Bearer ann:{signed}",
        f"Basic bob:{signed}",
        f"Bearer bob:{signed[:-1]}",
        f"Bearer user:bob:{signed}",
        f"Bearer bob, ann:{signed}",
        f"Bearer bob\x00:{signed}",
        f"Bearer bob:{signed}:{signed}",
        "Bearer " + "x" * 10_000,
    ]

    async def ask(client: httpx.AsyncClient) -> None:
        for each in forged:
            for path in (STAFF, "/tables"):
                answer = await client.get(path, headers={b"Authorization": each.encode()})
                assert answer.status_code == 401, each
        assert (await client.get(STAFF)).status_code == 401

    service.run(ask)


@pytest.mark.parametrize(
    "login", ["bob`", "bob.x", "`bob`", "user:bob", "bob as role:analyst", "bob%0Aadd", "*", " bob"]
)
def test_login_with_special_characters_is_a_user_of_its_own(service: Service, login: str) -> None:
    async def ask(client: httpx.AsyncClient) -> None:
        assert (await client.get(STAFF, headers=service.login(login))).status_code == 403
        listed = await client.get("/tables", headers=service.login(login))
        assert (listed.status_code, listed.json().get("tables")) == (200, []), listed.text

    service.run(ask)


def test_path_tricks_never_reach_another_table(service: Service) -> None:
    tricks = [
        "/tables/hr/public/../public/pay",
        "/tables/hr/public/%2e%2e/pay",
        "/tables/hr/public%2Fpay",
        "/tables/hr/public/staff%2F..%2Fpay",
        "/tables/hr/public/pay%00",
        "/tables/hr/public.staff/x",
        "/tables/hr.public/staff/x",
        "/tables/hr/public/`staff`",
        "/tables/hr/public/staff,%20table:hr.public.pay",
        "/tables/hr/public/staff%0Aallow",
        "/tables//public/staff",
        "/tables/hr/public/" + "x" * 5_000,
    ]

    async def ask(client: httpx.AsyncClient) -> None:
        for path in tricks:
            answer = await client.get(path, headers=service.login("bob"))
            assert answer.status_code in (400, 403, 404), path
        odd = await client.get(f"/tables/hr/public/{quote(ODD_NAME, safe='')}", headers=service.login("bob"))
        assert (odd.status_code, odd.json()["table"]) == (200, reference("table", "hr", "public", ODD_NAME))

    service.run(ask)


def test_names_in_changes_stay_names(service: Service) -> None:
    names = [ODD_NAME, "bob of role:admin", "bob`, user:ann"]

    async def ask(client: httpx.AsyncClient) -> None:
        for name, status in zip(names, (200, 403, 403), strict=True):
            path = f"/roles/analyst/members/{quote(name, safe='')}"
            assert (await client.put(path, headers=service.login("ann"))).status_code == status, name
        assert (await client.put("/roles/analyst", headers=service.login("ann"))).status_code == 404

    service.run(ask)
    odd = reference("user", ODD_NAME)
    assert [entry.statement for entry in service.auth.log() if entry.actor] == [f"member {odd} of role:analyst"]


def test_stopped_database_is_503_and_never_200(service: Service) -> None:
    async def ask(client: httpx.AsyncClient) -> None:
        bob = service.login("bob")
        assert (await client.get(STAFF, headers=bob)).status_code == 200
        service.proxy.close()
        service.proxy.doom()
        answers = await asyncio.gather(*(client.get(STAFF, headers=bob) for _ in range(20)))
        answers += [await client.get("/tables", headers=bob), await client.put("/roles/r/members/m", headers=bob)]
        assert {answer.status_code for answer in answers} == {503}
        assert {answer.json()["detail"] for answer in answers} == {"the service is not available; try again later"}
        assert answers[0].headers["retry-after"] == "1"

    service.run(ask)


def test_500_parallel_requests_get_their_own_answers(service: Service) -> None:
    async def ask(client: httpx.AsyncClient) -> None:
        async def one(number: int) -> bool:
            user, table = ("bob", "ann", "eve")[number % 3], ("staff", "pay")[number % 2]
            answer = await client.get(f"/tables/hr/public/{table}", headers=service.login(user))
            allowed = user == "ann" or (user == "bob" and table == "staff")
            words = f"table:hr.public.{table}" if allowed else "this is not allowed or not possible"
            return answer.status_code == (200 if allowed else 403) and words in answer.json().values()

        assert await asyncio.gather(*map(one, range(500))) == [True] * 500

    service.run(ask)


def test_real_server_answers(service: Service) -> None:
    async def run() -> None:
        server = uvicorn.Server(uvicorn.Config(service.app, port=0, log_level="warning"))
        serving = asyncio.create_task(server.serve())
        while not server.started:
            assert not serving.done()
            await asyncio.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
            for login, status in (("bob", 200), ("eve", 403)):
                assert (await client.get(STAFF, headers=service.login(login))).status_code == status
        server.should_exit = True
        await serving

    asyncio.run(run())
