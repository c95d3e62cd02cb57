"""The HTTP application. It checks the token of a request, and whose it is, before any method sees the request.

Each method finds its tenant in ``request.scope["tenant"]``. Whatever a method raises becomes an answer; a fault of ours
is one line on standard error and never a traceback to a client.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import ExitStack, suppress
from functools import cache
from typing import Any, NamedTuple

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Router

from safeexec.common.identity import LARGE
from safeexec.servers.access import Hosts, given_tokens, same_origin
from safeexec.servers.account import apart
from safeexec.servers.http import e2b, judge, openapi, sessions
from safeexec.servers.http.e2b_sandboxes import let_in
from safeexec.servers.http.metrics import merged
from safeexec.servers.http.peers import Peers
from safeexec.servers.http.requests import Offered, RefusedRequest, Routes, answer, refused
from safeexec.servers.http.tenancy import Tenancy
from safeexec.servers.service import log
from safeexec.servers.wire import plain

_routes = Routes()
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

LINGER_SECONDS = 5.0
"""How long the rest of a body that is too long is read."""
SWEEP_SECONDS = 1.0
"""How often sessions and sandboxes are looked for whose time is over."""
OPEN = frozenset({"/healthz", "/readyz"})
"""Paths that need no token. Nothing of a tenant is shown there."""


def application(tenancy: Tenancy, hosts: Hosts, lifetimes: Lifetimes) -> Guard:
    """Return everything that `safeexec serve` offers over HTTP."""
    return Guard(Router(routes(), redirect_slashes=False), tenancy, hosts, lifetimes)


def routes() -> list[Offered]:
    return [*_routes, *sessions.routes, *judge.routes, *e2b.routes]


class Lifetimes(NamedTuple):
    """After how many seconds a session is closed."""

    unused: float
    """Since it was used last."""
    any: float
    """Since it was opened, however much it is used."""


class Guard:
    """Lets in who may come in, and turns whatever goes wrong into an answer."""

    def __init__(self, app: Router, tenancy: Tenancy, hosts: Hosts, lifetimes: Lifetimes) -> None:
        self._app, self._tenancy, self._hosts, self._lifetimes = app, tenancy, hosts, lifetimes
        self.peers: Peers | None = None
        """The other replicas, where there may be any."""
        self._sweeping: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Begin what serving needs: nothing is served before."""
        await self._tenancy.open()
        self._sweeping = asyncio.create_task(self._sweep())
        if self.peers is not None:
            self.peers.start()

    async def stop(self) -> None:
        await self._tenancy.stop()

    async def close(self) -> None:
        """End every session of every tenant."""
        if self._sweeping is not None:
            self._sweeping.cancel()
        if self.peers is not None:
            self.peers.close()
        await self._tenancy.close()

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            for tenant in self._tenancy.tenants:
                await tenant.sweep(*self._lifetimes)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        assert scope["type"] == "http"
        # With an "app" in the scope Starlette raises where no route fits, and does not answer: `_refusal` does.
        scope.update(app=self, tenancy=self._tenancy, peers=self.peers, room=ExitStack())
        answered = _Answer(receive, send)
        try:
            self._let_in(scope, Headers(scope=scope))
            await self._app(scope, receive, answered.send)
        except Exception as error:
            if not answered.begun:
                await self._refusal(error).response()(scope, receive, answered.send)
            elif not isinstance(error, RefusedRequest):  # a client that leaves is no fault
                log(error)
        finally:
            scope["room"].close()
            endpoint = scope.get("endpoint")
            self._tenancy.metrics.request(getattr(endpoint, "__name__", "none"), answered.status)

    def _let_in(self, scope: Scope, headers: Headers) -> None:
        """Count a request and note whose it is. Raises `RefusedRequest` for one that no method should see."""
        host, origin = headers.get("host", ""), headers.get("origin")
        if not self._hosts.allows(host):
            raise RefusedRequest(421, f"this server is not called {host[:100]!r}", "ForeignHost")
        if origin is not None and not same_origin(origin, host):
            raise RefusedRequest(403, "requests of other sites' pages are refused", "ForeignOrigin")
        tokens = given_tokens(scope)
        if scope["path"] in OPEN:
            scope["has_token"] = any(map(self._tenancy.tokens.owner, tokens))
            return
        tenant = let_in(self._tenancy.tenants, scope, headers)
        tenant = tenant or next(filter(None, map(self._tenancy.tokens.owner, tokens)), None)
        if tenant is None:
            wrong = "the token that came is not known here; " if any(tokens) else ""
            raise RefusedRequest(
                401, f"{wrong}a token is needed: Authorization: Bearer TOKEN, or X-API-Key: TOKEN", "Unauthorized"
            )
        if self._tenancy.stopping:
            raise RefusedRequest(503, "the server stops", "Stopping", 5)
        tenant.count_request()
        scope["tenant"] = tenant
        scope["account"] = tenant.account
        tenant.account.begin()

    @staticmethod
    def _refusal(error: Exception) -> RefusedRequest:
        if isinstance(error, HTTPException):
            missing = error.status_code == 404
            message = f"{'there is no such method' if missing else 'it is called by another verb'}: see /openapi.json"
            return RefusedRequest(error.status_code, message, "NoSuchMethod", headers=error.headers)
        known = refused(error)
        if known is None:
            log(error)
            return RefusedRequest(500, "the server failed; its log says more", "Failed")
        return known


class _Answer:
    """An answer as it is sent. A client that takes nothing of it is cut off by `servers/running.py`."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive, self._send = receive, send
        self.begun = False
        self.status = 0

    async def send(self, message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self.begun, self.status = True, message["status"]
        elif self.status == 413:
            await self._send({**message, "more_body": True})
            await self._read_the_rest()
            message = {"type": "http.response.body"}
        await self._send(message)

    async def _read_the_rest(self) -> None:
        """Read a body that is too long to its end, for a while: a client whose connection ends while it still sends
        never reads the answer that says why.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(LINGER_SECONDS):
                while (await self._receive()).get("more_body"):
                    pass


@_routes("GET", "/healthz")
async def _healthz(_: Request) -> dict[str, Any]:
    """Say that the process lives."""
    return {"ok": True}


@_routes("GET", "/readyz")
async def _readyz(request: Request) -> Response:
    """Return whether programs can be run; with a token also what `doctor` says of the default policy."""
    tenancy: Tenancy = request.scope["tenancy"]
    found, ready, peers = tenancy.findings, tenancy.ready, request.scope["peers"]
    status: dict[str, Any] = {"ready": ready}
    if request.scope["has_token"]:
        problem = found.problem if found is not None else "not examined yet"
        status["policy"] = found.policy.name if found is not None else ""
        status["problem"] = "the server stops" if tenancy.stopping else problem
        status["protection"] = plain([] if found is None else found.session)
        if peers is not None:
            status["replicas"] = {peers.name: ready} | {name: one.ready for name, one in peers.others.items()}
    return answer(status, 200 if ready else 503)


@_routes("GET", "/metrics")
async def _metrics(request: Request) -> Response:
    """Return the counters for Prometheus."""
    tenancy: Tenancy = request.scope["tenancy"]
    text, peers = tenancy.metrics.text(), request.scope["peers"]
    if peers is not None:
        text = merged({peers.name: text} | {name: one.metrics for name, one in peers.others.items()})
    return Response(text, media_type="text/plain; version=0.0.4")


@_routes("GET", "/openapi.json")
async def _openapi(_: Request) -> Response:
    """Answer with the OpenAPI document of this server."""
    return await apart(LARGE, _description)


@cache
def _description() -> Response:
    """Return the answer, which takes 25 ms to make."""
    return answer(openapi.document(routes(), OPEN))
