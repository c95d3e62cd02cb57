"""Sessions for everybody: the table of methods over HTTP, each a POST to its path.

What one tenant opens, no other finds. A session that nobody uses for a while is closed, and so is one that is too old.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from time import monotonic
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from safeexec import SandboxError
from safeexec.servers.http.once import digest_of
from safeexec.servers.http.requests import Endpoint, RefusedRequest, answer_apart, body_of, describes, parsed
from safeexec.servers.http.streaming import Put, Streamed, event, later
from safeexec.servers.http.tenancy import Tenancy, Tenant
from safeexec.servers.methods import METHODS, Method
from safeexec.servers.service import Tell, apart

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

SWEEP_SECONDS = 1.0


def routes() -> list[BaseRoute]:
    return [Route(method.path, _endpoint(method), methods=["POST"]) for method in METHODS.values()]


def _endpoint(method: Method) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        tenant: Tenant = request.scope["tenant"]
        body = await body_of(request)
        given = msgspec.structs.asdict(await parsed(body or b"{}", method.body)) | request.path_params
        identity = given.pop("request_id")
        if given.get("stream"):
            if identity is not None:
                raise RefusedRequest(
                    422, "the answer to a request_id is kept, a stream is not: ask for one of them", "InvalidArguments"
                )
            work = _streamed(tenant, method, given)
            return Streamed(request, work, "text/event-stream", lambda error: event("error", error.as_json()))
        tenancy: Tenancy = request.scope["tenancy"]
        if identity is None:
            return await tenancy.while_there(request, _answered(tenant, method, given))
        digest = await apart(len(body), digest_of, (request.url.path.encode(), b"\n", body))
        return await tenancy.while_there(
            request, tenant.answers.once(identity, digest, _answered(tenant, method, given))
        )

    endpoint.__name__ = method.name
    endpoint.__doc__ = method.about
    return describes(method.body, method.answer)(endpoint)


async def _answered(tenant: Tenant, method: Method, given: dict[str, Any]) -> Response:
    return await answer_apart(await _call(tenant, method, given))


def _streamed(tenant: Tenant, method: Method, given: dict[str, Any]) -> Callable[[Put], Awaitable[None]]:
    async def work(put: Put) -> None:
        told = await _call(tenant, method, given, lambda name, data: put(later(data, event, name, data)))
        put(later(told, event, "result", told))

    return work


async def _call(tenant: Tenant, method: Method, given: dict[str, Any], tell: Tell | None = None) -> dict[str, Any]:
    """Do what was asked, within the tenant's quotas. Raises `RefusedRequest`: 404 for a session or a name that is not
    there.
    """
    try:
        if "session" in given:
            await tenant.service.reached(given["session"])
        async with _charged(tenant, method.name):
            reply = await tenant.service.do(method, given, tell)
    except KeyError as error:
        raise RefusedRequest(404, str(error.args[0]) if error.args else "", "KeyError") from None
    if "outcome" in reply and "usage" in reply:
        tenant.count(reply["outcome"], reply["usage"]["cpu_ms"] / 1000, reply["usage"]["wall_ms"] / 1000)
    elif method.name == "session.command":
        tenant.use_cpu(reply["command"]["usage"]["cpu_ms"] / 1000)
    return reply


@asynccontextmanager
async def _charged(tenant: Tenant, name: str) -> AsyncIterator[None]:
    """Have a method wait for its turn, and refuse it where the tenant's CPU time is used up. What no result tells of
    is charged by the clock: a guest's code may describe or save a variable.
    """
    if name in ("sandbox.run", "sandbox.check"):
        async with tenant.turn():
            yield
    elif name.startswith("sandbox.") or name in ("session.cancel", "session.reply", "session.close"):
        yield
    else:
        tenant.check_cpu()
        began = monotonic()
        try:
            yield
        finally:
            if name not in ("session.run", "session.answer", "session.sql", "session.command", "session.branch"):
                tenant.use_cpu(monotonic() - began)


async def sweep(tenants: list[Tenant], idle_seconds: float, most_seconds: float) -> None:
    """Close, for ever, the sessions that nobody has used for long, or that are too old."""
    while True:
        await asyncio.sleep(SWEEP_SECONDS)
        now = monotonic()
        for tenant in tenants:
            for identity, held in [*tenant.service.sessions.items()]:
                tenant.use_untold_cpu(held.session)
                old = now - held.opened > most_seconds
                idle = not held.calls and now - held.used > idle_seconds
                if old or (idle and await held.session.waiting_for is None):
                    with suppress(SandboxError):
                        await tenant.service.end(identity)
