"""Sessions for everybody: the table of methods over HTTP, each a POST to its path.

What one tenant opens, no other finds.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from time import monotonic
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from safeexec.remote.methods import METHODS, Method
from safeexec.servers.account import answering, apart
from safeexec.servers.acts import do
from safeexec.servers.http.idempotency import digest_of
from safeexec.servers.http.requests import RefusedRequest, Routes, answer_apart, body_of
from safeexec.servers.http.streaming import Put, Streamed, event
from safeexec.servers.http.tenancy import Tenant
from safeexec.servers.labels import reach
from safeexec.servers.service import Notify
from safeexec.servers.wire import parse

routes = Routes()
_FREE = ("session.cancel", "session.reply", "session.close")
"""Methods of a session that are never refused."""


def _offer(method: Method) -> None:
    async def endpoint(request: Request) -> Response:
        tenant: Tenant = request.scope["tenant"]
        body = await body_of(request)
        given = msgspec.structs.asdict(await parse("the body", body or b"{}", method.body)) | request.path_params
        identity = given.pop("request_id")

        async def streamed(put: Put) -> None:
            put(event, "result", await _call(tenant, method, given, partial(put, event)))

        async def answered() -> Response:
            return await answer_apart(await _call(tenant, method, given))

        if given.get("stream"):
            if identity is not None:
                raise RefusedRequest(
                    422, "the answer to a request_id is kept, a stream is not: ask for one of them", "InvalidArguments"
                )
            return Streamed(request, streamed, "text/event-stream", lambda error: event("error", error.as_json()))
        work = answered
        if identity is not None:
            digest = await apart(len(body), digest_of, (request.url.path.encode(), b"\n", body))
            work = partial(tenant.answers.once, identity, digest, answered, request.scope["room"])
        return await request.scope["tenancy"].while_there(request, work())

    endpoint.__name__, endpoint.__doc__ = method.name, method.about
    routes("POST", method.path, takes=method.body, gives=method.answer, read=False)(endpoint)


for _method in METHODS.values():
    _offer(_method)


async def _call(tenant: Tenant, method: Method, given: dict[str, Any], notify: Notify | None = None) -> dict[str, Any]:
    """Do what was asked, within the tenant's quotas. Raises `RefusedRequest` when they are used up."""
    if "session" in given:
        await reach(tenant, given["session"])  # from the store it may take long, and nobody is charged for that
    async with _charged(tenant, method.name):
        return await do(tenant, method, given, notify)


@asynccontextmanager
async def _charged(tenant: Tenant, name: str) -> AsyncIterator[None]:
    """Have a method wait for its turn, and refuse it where the tenant's CPU time is used up. What no result reports
    is charged by the clock, but for what it waits for the client: a guest's code may describe or save a variable.
    """
    if name in ("sandbox.run", "sandbox.check"):
        async with tenant.turn():
            yield
    elif name != "sandbox.stored" and (name.startswith("sandbox.") or name in _FREE):
        yield
    else:
        tenant.check_cpu()
        if name in ("session.run", "session.answer", "session.sql", "session.command", "session.branch"):
            yield
            return
        began, request = monotonic(), answering.get()
        assert request is not None
        request.pay, request.waited = None, 0.0
        try:
            yield
        finally:
            request.pay = tenant.use_cpu
            tenant.use_cpu(monotonic() - began - request.waited)
