"""Whatever goes wrong within a request is an answer, or an end, and one line for who runs the server."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any

import pytest

if any(find_spec(name) is None for name in ("starlette", "prometheus_client")):
    pytest.skip("the libraries of a server are not installed (pip install 'safeexec[server]')", allow_module_level=True)

from starlette.requests import Request

from safeexec import Later, Policy, SessionClosed
from safeexec.servers import acts
from safeexec.servers.access import Hosts
from safeexec.servers.account import ClientAccount
from safeexec.servers.http import app, e2b, e2b_sandboxes, idempotency, requests, tenancy
from safeexec.servers.http.app import Guard, Lifetimes
from safeexec.servers.http.grants import Grant, Tokens
from safeexec.servers.http.metrics import Metrics
from safeexec.servers.http.requests import RefusedRequest
from safeexec.servers.http.streaming import Streamed
from safeexec.servers.http.tenancy import Tenancy, Tenant
from safeexec.servers.service import Service
from safeexec.servers.wire import parse

TOKEN = "a-token-of-many-letters"
HEADERS = [(b"host", b"localhost"), (b"x-api-key", TOKEN.encode())]
START = {"type": "http.response.start", "status": 200, "headers": []}


def held(**changes: Any) -> Any:
    """What a server holds, without any sandbox."""
    tenant = SimpleNamespace(count_request=lambda: None, use_cpu=lambda seconds: None, account=ClientAccount())
    counted: list[tuple[str, int]] = []
    metrics = SimpleNamespace(request=lambda *told: counted.append(told))
    return SimpleNamespace(
        tokens=Tokens([(TOKEN, tenant)]), metrics=metrics, counted=counted, stopping=False, tenants=[], **changes
    )


def asked(app: Callable[..., Awaitable[None]], server: Any) -> list[dict[str, Any]]:
    """What is sent for a request that `app` answers."""
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    guard = Guard(app, server, Hosts(frozenset({"localhost"})), Lifetimes(1, 1))  # type: ignore[arg-type]
    asyncio.run(guard(scope("POST", "/run_code"), receive, send))
    return sent


def scope(method: str, path: str) -> dict[str, Any]:
    """A request of the tenant."""
    return {"type": "http", "path": path, "method": method, "headers": HEADERS, "query_string": b""}


def for_one() -> Tenancy:
    """A server of one tenant."""
    return Tenancy(Service("calculator", []), {"": Grant(token=TOKEN)})


def application(server: Tenancy) -> Guard:
    return app.application(server, Hosts(frozenset({"localhost"})), Lifetimes(1, 1))


def test_a_fault_of_ours_is_told_to_nobody_but_who_runs_the_server(capsys: pytest.CaptureFixture[str]) -> None:
    async def fails(*_: object) -> None:
        raise RuntimeError("a secret \x1b[2J\nof ours")

    server = held()
    start, body = asked(fails, server)
    assert (start["status"], server.counted) == (500, [("none", 500)])
    assert b'"the server failed; its log says more"' in body["body"] and b"secret" not in body["body"]
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("safeexec: RuntimeError: 'a secret") and "\x1b" not in line


@pytest.mark.parametrize(("error", "lines"), [(RuntimeError("why"), 1), (RefusedRequest(499, "the client left"), 0)])
def test_a_begun_answer_gets_no_second_head(capsys: pytest.CaptureFixture[str], error: Exception, lines: int) -> None:
    """A client that leaves is no fault of the server."""

    async def begins(_: object, __: object, send: Callable[[Any], Awaitable[None]]) -> None:
        await send(START)
        raise error

    server = held()
    assert asked(begins, server) == [START] and server.counted == [("none", 200)]
    assert len(capsys.readouterr().err.splitlines()) == lines


def test_a_server_that_stops_takes_nothing_new() -> None:
    async def answers(*_: object) -> None:
        raise AssertionError("it was let in")

    server = held()
    server.stopping = True
    start, _ = asked(answers, server)
    assert start["status"] == 503 and (b"retry-after", b"5") in start["headers"]


async def test_a_server_that_could_not_begin_is_closed() -> None:
    closed: list[bool] = []

    async def close() -> None:
        closed.append(True)

    router: Any = SimpleNamespace()
    await Guard(router, held(close=close), Hosts(frozenset()), Lifetimes(1, 1)).close()
    assert closed == [True]


async def test_a_body_that_does_not_come_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "BODY_SECONDS", 0.05)

    async def receive() -> Any:
        await asyncio.Event().wait()

    with pytest.raises(RefusedRequest, match=r"did not arrive within 0\.05 s") as told:
        await requests.body_of(Request({"type": "http", "method": "POST", "headers": []}, receive))
    answer = told.value.response()
    assert (answer.status_code, answer.headers["connection"]) == (408, "close")


@pytest.fixture
def tenant() -> Tenant:
    return Tenant(Grant(token=TOKEN), Service("calculator", []), Metrics(lambda: 0, list))


async def test_only_so_many_programs_wait_and_none_for_ever(tenant: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tenancy, "QUEUE_SECONDS", 0.05)
    monkeypatch.setattr(tenancy, "MAX_WAITING", 1)

    async def program(until: asyncio.Event) -> None:
        async with tenant.turn():
            await until.wait()

    until = asyncio.Event()
    running = [asyncio.create_task(program(until)) for _ in range(tenancy.PROGRAMS)]
    while sum(task.done() for task in running) < len(running) and not tenant._turns.locked():
        await asyncio.sleep(0)
    waits = asyncio.create_task(program(until))
    await asyncio.sleep(0)
    with pytest.raises(RefusedRequest, match="1 programs wait for their turn"):
        await program(until)
    with pytest.raises(RefusedRequest, match=r"no turn came within 0\.05 s"):
        await waits
    until.set()
    await asyncio.gather(*running)
    await program(until)


async def test_what_a_paused_sandbox_waits_for_its_own_tenant_learns_alone() -> None:
    def pay(amount: int) -> int:
        return amount

    policy = Policy.load("standard").replace(tools={"approval": ["pay"]})
    offers = Service(policy, [], tools=[pay], approval=lambda *_: Later("ask"))
    grants = {name: Grant(token=f"{name}-{TOKEN}") for name in ("bob", "eve")}
    bob, eve = (Tenant(grant, offers, Metrics(lambda: 0, list), name) for name, grant in grants.items())
    try:
        box = await e2b_sandboxes.Box.create(bob, e2b_sandboxes.NewSandbox())
        assert (await box.context(None).session.run("pay(3)")).outcome == "waiting"
        await box.pause()
        (waits,) = (await acts.call(bob, "sandbox.waiting", b"{}"))["waiting"]
        assert waits["arguments"] == {"amount": 3}
        assert await acts.call(eve, "sandbox.waiting", b"{}") == {"waiting": []}
        with pytest.raises(SessionClosed):
            await acts.call(eve, "session.waiting_for", json.dumps({"session": waits["session"]}).encode())
    finally:
        await bob.close()
        await eve.close()


@pytest.mark.parametrize("name", ["default", "further"])
async def test_a_context_that_cannot_begin_is_gone(tenant: Tenant, monkeypatch: pytest.MonkeyPatch, name: str) -> None:

    def out_of_time() -> None:
        raise RefusedRequest(429, "no time")

    def full(*_: object) -> None:
        raise RefusedRequest(429, "full")

    box = await e2b_sandboxes.Box.create(tenant, e2b_sandboxes.NewSandbox())
    names = {"default": "default", "further": await box.add_context()}
    try:
        monkeypatch.setattr(tenant, "check_cpu", out_of_time)
        with pytest.raises(RefusedRequest, match="no time"):
            await box.restart(names[name])
        assert (await box.context(names[name]).session.run("1 + 1")).value == 2
        monkeypatch.setattr(tenant, "check_cpu", lambda: None)
        monkeypatch.setattr(tenant, "reserve", full)
        with pytest.raises(RefusedRequest, match="full"):
            await box.restart(names[name])
        left = [] if name == "default" else ["default"]
        assert ([*box.contexts], len(tenant.boxes), tenant.places) == (left, len(left), len(left))
    finally:
        await tenant.close()


async def test_a_large_body_is_digested_beside_the_loop_and_boxes_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    where: list[bool] = []

    def digest_of(asked: Any) -> bytes:
        where.append(threading.current_thread() is threading.main_thread())
        return idempotency.digest_of(asked)

    async def receive() -> Any:
        if coming:
            return {"type": "http.request", "body": coming.pop(), "more_body": False}
        return await asyncio.Event().wait()

    monkeypatch.setattr(e2b, "digest_of", digest_of)
    monkeypatch.setattr(e2b_sandboxes, "MAX_KEPT", 0)
    coming = [b'{"envVars": {"A": "' + b"x" * (1 << 20) + b'"}}']
    server = for_one()
    (tenant,) = server.tenants
    asked = {"type": "http", "method": "POST", "headers": [(b"idempotency-key", b"k")]}
    request = Request(asked | {"tenant": tenant, "tenancy": server, "room": ExitStack()}, receive)
    with pytest.raises(RefusedRequest, match="0 sandboxes are kept") as told:
        await e2b.create(request)
    assert (where, told.value.status, tenant.places) == ([False], 429, 0)


async def test_a_session_that_cannot_be_ended_holds_up_no_other(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ended: list[str] = []

    def session(name: str, fails: bool) -> Any:
        async def close() -> None:
            if fails:
                raise RuntimeError(f"the end of {name}")
            ended.append(name)

        return SimpleNamespace(untold_cpu=0.0, close=close)

    async def fails() -> None:
        raise RuntimeError("the end of a box")

    monkeypatch.setattr(app, "SWEEP_SECONDS", 0.01)
    tenant.boxes["a"] = SimpleNamespace(sweep=fails)
    guard = Guard(SimpleNamespace(), held(), Hosts(frozenset()), Lifetimes(0, 0))  # type: ignore[arg-type]
    guard._tenancy.tenants = [tenant]
    for name in ("first", "second"):
        tenant.hold(session(name, fails=name == "first"), tenant.reserve(tenant.policies["calculator"]))
    sweeping = asyncio.create_task(guard._sweep())
    while not ended and not sweeping.done():
        await asyncio.sleep(0.01)
    tenant.hold(session("third", fails=False), tenant.reserve(tenant.policies["calculator"]))
    while len(ended) < 2 and not sweeping.done():
        await asyncio.sleep(0.01)
    assert (ended, sweeping.done(), tenant.places, tenant.sessions) == (["second", "third"], False, 0, {})
    sweeping.cancel()
    told = capsys.readouterr().err.splitlines()
    assert told[0] == "safeexec: RuntimeError: 'the end of first'"
    assert {*told[1:]} == {"safeexec: RuntimeError: 'the end of a box'"}


async def test_what_is_not_offered_is_not_read_and_not_kept() -> None:
    """A part of a body holds all of it, as long as the sandbox lives."""
    wanted = await parse("the body", b'{"iam": [' + b"[]," * 1000 + b'[]], "mcp": {} }', e2b_sandboxes.NewSandbox)
    assert bytes(wanted.mcp) == b"{}" and bytes(wanted.iam) == b"[" + b"[]," * 1000 + b"[]]"
    with pytest.raises(RefusedRequest, match="iam is not offered"):
        wanted.refuse_the_rest()
    wanted = await parse("the body", b'{"mcp": {}, "network": false, "metadata": {"a": "b"}}', e2b_sandboxes.NewSandbox)
    wanted.refuse_the_rest()
    assert wanted.mcp is wanted.network is wanted.iam is wanted.volumeMounts is e2b_sandboxes.NULL


async def test_the_work_of_a_client_that_left_is_ended_and_what_it_sends_before_is_passed_by() -> None:
    """The body has been read: what still comes is of no interest."""
    ended: list[bool] = []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    async def receive() -> Any:
        return next(coming)

    coming = iter([{"type": "http.request", "body": b"", "more_body": False}, {"type": "http.disconnect"}])
    request = Request({"type": "http", "method": "POST", "headers": []}, receive)
    with pytest.raises(RefusedRequest, match="the client left"):
        await for_one().while_there(request, work())
    assert ended == [True]


async def test_the_body_of_a_client_that_left_has_its_room_until_its_work_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may come back for ten seconds: each left as many MiB as a body has, and no account knew of them."""
    monkeypatch.setattr(idempotency, "RETURN_SECONDS", 0.05)
    server = for_one()
    (tenant,) = server.tenants
    body = json.dumps({"source": "while True: pass", "stdin": "x" * 1000, "request_id": "a"}).encode()
    coming = [{"type": "http.disconnect"}, {"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Any:
        while len(coming) < 2 and not tenant.answers.tasks():
            await asyncio.sleep(0)
        return coming.pop()

    async def send(_: Any) -> None:
        """Nobody is there."""

    try:
        await application(server)(scope("POST", "/v1/run"), receive, send)
        (work,) = tenant.answers.tasks()
        assert tenant.body_bytes == len(body)
        await asyncio.wait({work})
        await asyncio.sleep(0)  # the callbacks of the task
        assert tenant.body_bytes == 0
    finally:
        await tenant.close()


async def test_the_description_of_the_methods_is_made_once_beside_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the same for everybody, and takes 25 ms."""
    beside: list[bool] = []
    statuses: list[int] = []

    def document(*_: Any) -> dict[str, Any]:
        beside.append(threading.current_thread() is not threading.main_thread())
        return {}

    async def send(message: Any) -> None:
        statuses.append(message.get("status", 0))

    guard = application(for_one())
    monkeypatch.setattr(app.openapi, "document", document)
    app._description.cache_clear()
    try:
        for _ in range(2):
            await guard(scope("GET", "/openapi.json"), asyncio.Event().wait, send)  # type: ignore[arg-type]
    finally:
        app._description.cache_clear()
    assert (beside, statuses) == ([True], [200, 0] * 2)


async def test_a_large_piece_of_a_stream_is_handed_on_in_smaller_ones() -> None:
    """A server copies what the client has not taken yet."""
    sent: list[bytes] = []

    async def work(put: Callable[..., None]) -> None:
        put(bytes, 3 * requests.ANSWER_PIECE + 1)

    async def send(message: Any) -> None:
        sent.append(message.get("body", b""))

    request = Request({"type": "http", "method": "POST", "headers": []}, asyncio.Event().wait)  # type: ignore[arg-type]
    server = for_one()
    answer = Streamed(request, work, "text/plain", lambda _: b"")  # type: ignore[arg-type]
    (tenant,) = server.tenants
    await answer({"type": "http", "tenancy": server, "tenant": tenant}, None, send)
    assert tenant.account.untaken == 0
    assert len(b"".join(sent)) == 3 * requests.ANSWER_PIECE + 1
    assert max(map(len, sent)) <= requests.ANSWER_PIECE
