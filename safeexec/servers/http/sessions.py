"""Sessions for everybody: the table of methods over HTTP, each a POST to its path.

What one tenant opens, no other finds. A session that nobody uses for a while is closed, and so is one that is too old.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from time import monotonic
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from safeexec.servers.http.once import digest_of
from safeexec.servers.http.requests import RefusedRequest, answer_apart, body_of, parsed, refused
from safeexec.servers.http.streaming import Put, Streamed, event, later
from safeexec.servers.http.tenancy import SessionPlace, Tenancy, Tenant
from safeexec.servers.methods import METHODS, Method
from safeexec.servers.service import Tell, apart

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

SWEEP_SECONDS = 1.0
Endpoint = Callable[[Request], Awaitable[Response]]


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
    endpoint.takes = method.body  # type: ignore[attr-defined]
    endpoint.gives = method.answer  # type: ignore[attr-defined]
    return endpoint


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
        await _come(tenant, given.get("session", ""))
        async with _around(tenant, method.name, given) as held:
            reply = await tenant.service.do(method, given, tell)
            held(reply)
    except KeyError as error:
        raise RefusedRequest(404, str(error.args[0]) if error.args else "", "KeyError") from None
    except Exception as error:
        known = refused(error)
        if known is None:
            raise
        raise known from None
    if "outcome" in reply and "usage" in reply:
        tenant.count(reply["outcome"], reply["usage"]["cpu_ms"] / 1000, reply["usage"]["wall_ms"] / 1000)
    elif method.name == "session.command":
        tenant.use_cpu(reply["command"]["usage"]["cpu_ms"] / 1000)
    return reply


Held = Callable[[dict[str, Any]], None]
"""Hears what a call has answered."""


@asynccontextmanager
async def _around(tenant: Tenant, name: str, given: dict[str, Any]) -> AsyncIterator[Held]:
    """Hold what a method needs of the tenant's quotas, for as long as it runs; sessions that it opens keep their
    places.
    """
    if name in ("sandbox.run", "sandbox.check"):
        async with tenant.turn():
            place = await _place(tenant, given)
            try:
                yield _nothing
            finally:
                place.leave()
    elif name == "sandbox.session" and tenant.service.has_open(given["policy"], given["stored"]):
        yield _nothing  # it has its place
    elif name in ("sandbox.session", "sandbox.restore"):
        places = [await _place(tenant, given)]
        with tenant.held.filled(places) as held:
            yield lambda reply: held([reply["session"]])
    elif name == "session.branch":
        policy = tenant.service.held(given["session"]).session.policy
        count = given["n"]
        places = []
        with tenant.held.filled(places) as held:
            for _ in range(count if 0 < count <= policy.limits.branches else 0):
                places.append(tenant.place(policy))
            yield lambda reply: held(reply["sessions"])
    elif name == "session.close":
        yield lambda _: tenant.held.leave(given["session"])
    elif name in ("session.run", "session.answer", "session.sql", "session.command"):
        tenant.check_cpu()
        yield _nothing
    elif name.startswith("session.") and name not in ("session.cancel", "session.reply"):
        tenant.check_cpu()
        began = monotonic()
        try:
            yield _nothing  # a guest's code may describe or save a variable, and nobody tells what it used
        finally:
            tenant.use_cpu(monotonic() - began)
    else:
        yield _nothing


async def _come(tenant: Tenant, identity: str) -> None:
    """Open a session of the store that is not open here, with a place in the tenant's quotas."""
    if (named := tenant.service.asleep(identity)) is not None:
        place = await _place(tenant, {"policy": named.policy, **named.tightened})
        with tenant.held.filled([place]) as held:
            await tenant.service.reached(identity)
            held([identity])


async def _place(tenant: Tenant, given: dict[str, Any]) -> SessionPlace:
    sandbox, memory = await tenant.service.sandbox(given["policy"]), given.get("memory_mb")
    most = sandbox.policy.limits.memory_mb
    return tenant.place(sandbox.policy, memory if isinstance(memory, int) and 0 < memory < most else most)


def _nothing(_: dict[str, Any]) -> None:
    """It keeps no place."""


async def sweep(tenants: list[Tenant], idle_seconds: float, most_seconds: float) -> None:
    """Close, for ever, the sessions that nobody has used for long, or that are too old."""
    while True:
        await asyncio.sleep(SWEEP_SECONDS)
        now = monotonic()
        for tenant in tenants:
            for identity, held in [*tenant.service.sessions.items()]:
                tenant.use_untold_cpu(held.session)
                old = now - tenant.held.since(identity, now) > most_seconds
                idle = not held.calls and now - held.used > idle_seconds
                if old or (idle and await held.session.waiting_for is None):
                    await tenant.leave(identity, also_used=True)
