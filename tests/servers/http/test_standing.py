"""No route of the server holds its event loop for long, with the largest body that it takes."""

from __future__ import annotations

import asyncio
import gc
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.engine.host.loop import LoopClock
from tests.servers.serving import needs_server

pytestmark = needs_server
HELD_SECONDS = 0.05
"""CPU time; on a quiet machine 0.02 is what we aim at."""
TOKEN = "a-token-of-the-only-tenant"
LARGE = 30 << 20
"""Bytes of the largest part of a body: with the rest just below what a body may have."""
PIECE = 64 << 10
"""What arrives at once."""
TEXT = "x" * LARGE
BASE64 = {"type": "bytes", "base64": "eHh4" * (LARGE // 4)}
METADATA = {f"{number:03d}{'k' * 200}": "v" * 200 for number in range(100)}
FILES = """
import os
deep = "/".join(["d" * 60] * 30)
os.makedirs(deep)
for number in range(900):
    open(f"{deep}/{number}" + "n" * 200, "w").close()
"""


class Client:
    """Speaks to the application itself, on the loop that it runs on: the clock sees what it does and little else."""

    def __init__(self, app: Any) -> None:
        self.app = app
        self.held: dict[tuple[str, str], float] = {}
        self.headers: dict[str, str] = {"authorization": f"Bearer {TOKEN}"}

    async def ask(self, route: tuple[str, str], body: Any = b"", query: str = "", **parts: str) -> tuple[int, bytes]:
        """Ask for a route, which is driven by that: the status and the answer."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        sent = [data[at : at + PIECE] for at in range(0, len(data), PIECE)] or [b""]
        headers = {"host": "localhost", "content-type": "application/json", "content-length": str(len(data))}
        method, path = route
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": "http",
            "path": path.format(**parts), "raw_path": path.format(**parts).encode(), "root_path": "",
            "query_string": query.encode(), "client": ("127.0.0.1", 1), "server": ("localhost", 80),
            "headers": [(name.encode(), value.encode()) for name, value in (headers | self.headers).items()],
        }  # fmt: skip
        status, pieces, left = 0, [], iter(sent)
        over = asyncio.Event()

        async def receive() -> dict[str, Any]:
            await asyncio.sleep(0)
            if (piece := next(left, None)) is not None:
                return {"type": "http.request", "body": piece, "more_body": True}
            if not over.is_set() and not ended:
                ended.append(True)
                return {"type": "http.request", "body": b"", "more_body": False}
            await over.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            else:
                pieces.append(message.get("body", b""))

        ended: list[bool] = []
        async with LoopClock() as clock:
            await asyncio.create_task(self.app(scope, receive, send))  # its answer counts as taken when the task ends
        over.set()
        self.held[route] = max(self.held.get(route, 0.0), clock.held)
        return status, b"".join(pieces)

    async def made(self, route: tuple[str, str], body: Any = b"", **parts: str) -> Any:
        """The answer as JSON, of a request that is well."""
        status, answer = await self.ask(route, body, **parts)
        assert status in (200, 201), (route, status, answer[:300])
        return json.loads(answer)


def post(name: str) -> tuple[str, str]:
    return "POST", f"/v1/sessions/{{session}}/{name}"


async def fixed(client: Client) -> None:
    for path in ("/healthz", "/readyz", "/metrics", "/openapi.json"):
        assert (await client.ask(("GET", path)))[0] == 200


async def programs(client: Client) -> None:
    await client.ask(("POST", "/run_code"), {"code": "import sys; len(sys.stdin.read())", "stdin": TEXT})
    await client.ask(("POST", "/run_code"), {"code": "1", "files": {"a": BASE64["base64"]}, "fetch_files": ["a"]})
    await client.ask(("POST", "/run_code"), {"code": TEXT})
    for source in ({"source": TEXT}, {"source": BASE64}, {"source": "1", "namespace": {"x": TEXT}}):
        await client.ask(("POST", "/v1/run"), source)
    for body in ({"stdin": BASE64}, {"stdin": TEXT}, {"files": {"a": BASE64}}, {"request_id": "1", "stdin": TEXT}):
        await client.made(("POST", "/v1/run"), {"source": "'y' * 1_000_000", **body})
    await client.ask(("POST", "/v1/check"), {"source": TEXT})
    await client.ask(("POST", "/v1/restore"), {"state": BASE64})
    await client.made(("POST", "/v1/policy"))
    await client.made(("POST", "/v1/protection"))
    many = [[f"a{number}", "either", "int", "1"] for number in range(18_000)]
    for tool in ({"parameters": many}, {"parameters": many[:4000]}, {"doc": TEXT}, {"returns": TEXT}):
        await client.ask(("POST", "/v1/tools"), {"tools": [{"name": "t", **tool}]})
    each = [{"name": f"t{number}", "parameters": many[:90]} for number in range(180)]
    await client.ask(("POST", "/v1/tools"), {"tools": each})
    for name, body in (("stored", {}), ("waiting", {}), ("forget", {"label": TEXT}), ("tools", {"tools": [TEXT]})):
        await client.ask(("POST", f"/v1/{name}"), body)


async def sessions(client: Client) -> None:
    opened = await client.made(("POST", "/v1/sessions"), {"files": {"a": BASE64}})
    of = {"session": opened["session"]}
    for source in ("'y' * 40_000_000", "many = [[i, str(i)] for i in range(100_000)]; many", "print('x' * 8_000_000)"):
        await client.made(post("run"), {"source": source}, **of)
        await client.ask(post("run"), {"source": source, "stream": True}, **of)
    await client.made(post("run"), {"source": "1", "stdin": TEXT}, **of)
    await client.ask(post("sql"), {"query": TEXT}, **of)
    await client.made(post("set"), {"name": "v", "value": "z" * (LARGE - (1 << 20))}, **of)
    await client.made(post("set"), {"name": "w", "value": [[i, str(i)] for i in range(100_000)]}, **of)
    await client.made(post("get"), {"name": "many"}, **of)
    await client.made(post("get"), {"name": "many", "exact": True}, **of)
    await client.made(post("remove"), {"name": "w"}, **of)
    await client.made(post("write_file"), {"name": "b", "data": TEXT}, **of)
    await client.made(post("write_file"), {"name": "b", "data": BASE64}, **of)
    await client.made(post("read_file"), {"name": "a"}, **of)
    for name in ("names", "variables", "checkpoints", "list_files", "card", "policy", "protection"):
        await client.made(post(name), **of)
    await client.made(post("checkpoint"), {"name": "here"}, **of)
    await client.made(post("rollback"), {"name": "here"}, **of)
    await client.made(post("drop"), {"name": "here"}, **of)
    reply = {"call": 1, "outcome": "ok", "value": BASE64}
    for name, body in (("answer", {"value": TEXT}), ("waiting_for", {}), ("cancel_waiting", {}), ("reply", reply)):
        await client.ask(post(name), body, **of)
    for name in (await client.made(post("branch"), {"n": 4}, **of))["sessions"]:
        await client.made(post("close"), session=name)
    await client.ask(post("command"), {"argv": ["true", *["x" * 1000] * 9000]}, **of)
    await client.made(post("run"), {"source": "import os; os.remove('a'); os.remove('b'); v = many = None"}, **of)
    state = (await client.made(post("save"), **of))["state"]
    restored = await client.made(("POST", "/v1/restore"), {"state": state})
    await client.made(post("cancel"), session=restored["session"])
    await client.made(post("close"), session=restored["session"])
    await client.made(post("close"), **of)


async def boxes(client: Client) -> None:
    for version in ("", "/v2"):
        top, one = f"{version}/sandboxes", f"{version}/sandboxes/{{id}}"
        await client.ask(("POST", top), {"templateID": "base", "metadata": {"a": TEXT}})
        keyed = Client(client.app)
        keyed.held, keyed.headers = client.held, client.headers | {"idempotency-key": f"{version} key"}
        await keyed.ask(("POST", top), {"envVars": {"A": TEXT}})
        box = await client.made(("POST", top), {"templateID": "base"})
        of, own = {"id": box["sandboxID"]}, Client(client.app)
        own.held = client.held
        own.headers = {"e2b-sandbox-id": box["sandboxID"], "x-access-token": box["envdAccessToken"]}
        if not version:
            await of_box(own)
        labelled = [await client.made(("POST", top), {"metadata": METADATA}) for _ in range(100)]
        await client.ask(("GET", top))
        for other in labelled:
            await client.ask(("DELETE", one), id=other["sandboxID"])
        for verb, path in (("GET", one), ("GET", f"{one}/metrics")):
            await client.ask((verb, path), **of)
        await client.ask(("POST", f"{one}/timeout"), {"timeout": 600, "more": TEXT}, **of)
        await client.made(("POST", f"{one}/connect"), {"timeout": 600}, **of)
        await client.ask(("POST", f"{one}/fork"), {"count": 2}, **of)
        await client.ask(("POST", f"{one}/snapshots"), **of)
        await client.ask(("POST", f"{one}/pause"), **of)
        await client.made(("POST", f"{one}/resume"), {"timeout": 600}, **of)
        await client.ask(("DELETE", one), **of)


async def of_box(client: Client) -> None:
    await client.ask(("GET", "/health"))
    await client.ask(("POST", "/execute"), {"code": TEXT})
    await client.ask(("POST", "/execute"), {"code": "'y' * 40_000_000", "env_vars": {"A": TEXT}})
    await client.ask(("POST", "/execute"), {"code": "print('x' * 8_000_000); 'y' * 40_000_000"})
    await client.ask(("POST", "/files"), TEXT.encode(), query="path=a")
    await client.ask(("GET", "/files"), query="path=a")
    made = await client.made(("POST", "/contexts"), {})
    await client.ask(("GET", "/contexts"))
    await client.ask(("POST", "/contexts/{name}/restart"), name=made["id"])
    await client.ask(("DELETE", "/contexts/{name}"), name=made["id"])
    await client.ask(("POST", "/execute"), {"code": FILES})
    for method in ("Stat", "ListDir"):
        for path in ("/home/user", TEXT):
            await client.ask(("POST", f"/filesystem.Filesystem/{method}"), {"path": path, "depth": 1000})
    for service in ("/process.Process/{method}", "/filesystem.Filesystem/{method}"):
        for verb in ("POST", "GET"):
            await client.ask((verb, service), TEXT.encode() if verb == "POST" else b"", method="Start")


DRIVES: tuple[Callable[[Client], Awaitable[None]], ...] = (fixed, programs, sessions, boxes)


@pytest.mark.slow
async def test_no_route_holds_the_loop_and_every_route_is_driven() -> None:
    from starlette.routing import Route

    from safeexec.servers.access import Hosts
    from safeexec.servers.http.app import Lifetimes, application, routes
    from safeexec.servers.http.grants import Grant
    from safeexec.servers.http.tenancy import Tenancy
    from safeexec.servers.running import COLLECTED
    from safeexec.servers.service import Service

    usual = gc.get_threshold()
    gc.set_threshold(*COLLECTED)  # as the server does: one pass over all that there is takes 0.05 s
    tenancy = Tenancy(Service("confined-python", []), {"only": Grant(token=TOKEN)})
    app = application(tenancy, Hosts(frozenset({"localhost"})), Lifetimes(3600, 3600))
    await app.open()
    client = Client(app)
    try:
        for drive in DRIVES:
            await drive(client)
    finally:
        gc.set_threshold(*usual)
        await app.close()
    held = client.held
    there = {
        (verb, one.path) for one in routes() if isinstance(one, Route) for verb in {*(one.methods or ())} - {"HEAD"}
    }
    print({route: round(seconds, 3) for route, seconds in held.items() if seconds > 0.015})
    assert held.keys() == there
    assert {route: round(seconds, 3) for route, seconds in held.items() if seconds > HELD_SECONDS} == {}
