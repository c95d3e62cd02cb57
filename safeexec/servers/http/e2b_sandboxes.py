"""The sandboxes of E2B's clients, and their lives: created, forked, paused, resumed, ended.

Each is a session of its tenant, and one more for each further context.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from msgspec import Meta, Raw, Struct, field
from starlette.datastructures import Headers
from starlette.requests import Request

from safeexec import AsyncSession, SandboxError
from safeexec.remote.methods import Name
from safeexec.servers.http.grants import Tokens
from safeexec.servers.http.requests import RETRY_SECONDS, RefusedRequest, full
from safeexec.servers.http.tenancy import Tenant

ENVD_VERSION = "0.5.8"
"""The version of E2B's own daemon that this one answers as: it says what its SDKs may ask for."""
MAX_SECONDS = 24 * 3600
MAX_KEPT = 1000
"""Sandboxes of one tenant, paused ones included."""
OWN_TOKENS = ("/execute", "/contexts", "/files", "/health", "/process.Process", "/filesystem.Filesystem")
"""The paths where the secrets of one sandbox count, and the tenant's token does not."""


def has_own_tokens(path: str) -> bool:
    """Return whether a request for this path shows the secrets of one sandbox."""
    return any(path == own or path.startswith(own + "/") for own in OWN_TOKENS)


Seconds = Annotated[int, Meta(ge=0, le=MAX_SECONDS)]
NULL = Raw(b"null")
NOTHING = (NULL, Raw(b"{}"), Raw(b"[]"), Raw(b"false"))


class NewSandbox(Struct):
    """The body of a request for a sandbox. `templateID` is sent back, and ignored else."""

    templateID: Name = ""
    timeout: Seconds = 300
    autoPause: bool = False
    metadata: Annotated[dict[Name, Name], Meta(max_length=100)] = {}
    envVars: dict[str, str] = {}
    network: Raw = field(default_factory=lambda: NULL)
    mcp: Raw = field(default_factory=lambda: NULL)
    iam: Raw = field(default_factory=lambda: NULL)
    volumeMounts: Raw = field(default_factory=lambda: NULL)

    def refuse_the_rest(self) -> None:
        """Raise `RefusedRequest` where more is asked for than is offered."""
        for name in ("network", "mcp", "iam", "volumeMounts"):
            if getattr(self, name) not in NOTHING:
                raise RefusedRequest(400, f"{name} is not offered", "NotOffered")
            setattr(self, name, NULL)  # a part of the body holds all of it, as long as the sandbox lives


class Context:
    """One session of a sandbox. Its cells queue."""

    def __init__(self, tenant: Tenant, session: AsyncSession, place: ExitStack) -> None:
        """Keep the session, with its place, among those of the tenant."""
        self.tenant, self.session = tenant, session
        self._identity = tenant.hold(session, place, kept=True)
        self.turn = asyncio.Lock()
        self.count = 0
        self.environment: dict[str, str] = {}
        """The environment variables that clients have set, as they are now."""

    async def set_environment(self, wanted: Mapping[str, str]) -> None:
        """Make the variables of clients be these, in a step of its own. Raises `RefusedRequest`."""
        if wanted == self.environment:
            return
        most = self.session.policy.limits.step_source_kb << 10  # it is a step: a longer one is refused in any case
        if sum(len(name) + len(value) for name, value in wanted.items()) > most:
            raise RefusedRequest(400, f"the environment variables have more than {most} characters", "TooLarge")
        gone = [name for name in self.environment if name not in wanted]
        lines = [
            "import os as _e2b_os",
            *(f"_e2b_os.environ.pop({name!r}, None)" for name in gone),
            f"_e2b_os.environ.update({dict(wanted)!r})",
            "del _e2b_os",
        ]
        result = await self.session.run("\n".join(lines))
        self.tenant.count(result)
        if result.error is not None:
            raise RefusedRequest(
                400, f"environment variables are not offered here: {result.error.message}", "NotOffered"
            )
        self.environment = dict(wanted)

    async def close(self) -> None:
        await self.tenant.end(self._identity)


class Box:
    """One sandbox of a client. The first context is the default. While it is `paused` its time stands still, and it
    takes no call: its sessions rest, as all do that nobody uses.
    """

    def __init__(self, tenant: Tenant, options: NewSandbox, seconds: int) -> None:
        self.id = f"i{secrets.token_hex(12)}"
        self.tenant = tenant
        self.options = options
        self.access_token, self.traffic_token = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        self.tokens = Tokens([(self.access_token, self), (self.traffic_token, self)])
        self.started = datetime.now(UTC)
        self.contexts: dict[str, Context] = {}
        self.paused = False
        self.changing = asyncio.Lock()
        self.live_for(seconds)

    def live_for(self, seconds: int) -> None:
        self.ends = time.monotonic() + seconds
        self.end_at = datetime.now(UTC) + timedelta(seconds=seconds)

    @property
    def state(self) -> str:
        return "paused" if self.paused else "running"

    def context(self, name: str | None) -> Context:
        """Return the context of a name, or the first. Raises `RefusedRequest` for one that is not there."""
        found = next(iter(self.contexts.values()), None) if name is None else self.contexts.get(name)
        if found is None:
            raise RefusedRequest(404, f"there is no context {(name or '')[:100]!r}", "NotFound")
        return found

    # Its life

    @classmethod
    async def create(cls, tenant: Tenant, options: NewSandbox) -> Box:
        """Make a new sandbox. Raises `RefusedRequest`."""
        _check_room(tenant)
        box = cls(tenant, options, options.timeout)
        box.contexts["default"] = await box._new_context()
        tenant.boxes[box.id] = box
        return box

    @asynccontextmanager
    async def at_rest(self) -> AsyncIterator[None]:
        """Have nobody else change its state. Raises `RefusedRequest` where a cell runs, or it is paused."""
        async with self.changing, AsyncExitStack() as turns:
            if self.paused:
                raise RefusedRequest(409, "the sandbox is paused", "Paused")
            if any(context.turn.locked() for context in self.contexts.values()):
                raise RefusedRequest(429, "a cell of the sandbox runs", "Busy", RETRY_SECONDS)
            for context in self.contexts.values():
                await turns.enter_async_context(context.turn)
            yield

    async def fork(self, count: int, seconds: int) -> list[Box | RefusedRequest]:
        """Make copies of it as it is now; a refusal for each that there is no room for."""
        async with self.at_rest():
            return [await self._forked(seconds) for _ in range(count)]

    async def _forked(self, seconds: int) -> Box | RefusedRequest:
        forked = Box(self.tenant, self.options, seconds)
        async with AsyncExitStack() as undo:
            undo.push_async_callback(forked.kill)
            try:
                _check_room(self.tenant)
                for name, context in [*self.contexts.items()]:
                    with self.tenant.reserve(context.session.policy) as place:
                        (session,) = await context.session.branch(1)
                        forked.contexts[name] = Context(self.tenant, session, place)
                    forked.contexts[name].count = context.count
                    forked.contexts[name].environment = context.environment
            except RefusedRequest as refusal:
                return refusal
            except SandboxError as error:
                return RefusedRequest(429, str(error), type(error).__name__)
            undo.pop_all()
        self.tenant.boxes[forked.id] = forked
        return forked

    async def pause(self) -> None:
        """Have its time stand still. Raises `RefusedRequest` where a cell runs."""
        async with self.at_rest():
            self.paused = True

    async def sweep(self) -> None:
        """End it, or pause it, if it has lived long enough."""
        if self.ends >= time.monotonic() or self.paused:
            return
        if not self.options.autoPause:
            await self.kill()
        else:
            with suppress(RefusedRequest):  # a cell still runs: the next round
                await self.pause()

    async def kill(self) -> None:
        """End it at once, whatever it does. Each context is closed, also where closing another one fails."""
        self.tenant.boxes.pop(self.id, None)
        async with AsyncExitStack() as closing:
            while self.contexts:
                closing.push_async_callback(self.contexts.popitem()[1].close)

    async def _check_alive(self) -> None:
        """Raise `RefusedRequest` if it was killed meanwhile; nothing of it stays."""
        if self.id not in self.tenant.boxes:
            await self.kill()
            raise RefusedRequest(404, "the sandbox was killed meanwhile", "NotFound")

    # Its contexts

    async def _new_context(self) -> Context:
        sandbox = await self.tenant.sandbox()
        with self.tenant.reserve(sandbox.policy) as place:
            context = Context(self.tenant, await sandbox.session(), place)
        async with AsyncExitStack() as undo:
            undo.push_async_callback(context.close)
            await context.set_environment(self.options.envVars)
            undo.pop_all()
        return context

    async def add_context(self) -> str:
        """Open a further session with copies of the sandbox's files. Raises `RefusedRequest`."""
        async with self.at_rest():
            context = await self._new_context()
            async with AsyncExitStack() as undo:
                undo.push_async_callback(context.close)
                if context.session.workspace is not None:
                    source = self.context(None).session
                    for name in await source.list_files():
                        await context.session.write_file(name, await source.read_file(name))
                undo.pop_all()
            self.contexts[identity := secrets.token_hex(12)] = context
            await self._check_alive()
            return identity

    async def restart(self, name: str) -> None:
        """Open a new session in the place of a context's. What it was running is stopped. Raises `RefusedRequest`:
        where no CPU time is left, nothing has changed; where no new session opens, the context is removed, and with the
        default one the whole sandbox.
        """
        async with self.changing:
            context = self.context(name)
            self.tenant.check_cpu()
            await context.close()
            try:
                self.contexts[name] = await self._new_context()
            except BaseException:
                self.contexts.pop(name, None)
                if name == "default":
                    await self.kill()
                raise
            await self._check_alive()

    async def remove(self, name: str) -> None:
        """End a context. What it was running is stopped."""
        async with self.changing:
            context = self.context(name)
            del self.contexts[name]
            await context.close()

    # As its clients see it

    def _named(self) -> dict[str, Any]:
        return {
            "sandboxID": self.id,
            "templateID": self.options.templateID or "safeexec",
            "clientID": "safeexec",
            "envdVersion": ENVD_VERSION,
        }

    def as_json(self) -> dict[str, Any]:
        return self._named() | {
            "envdAccessToken": self.access_token,
            "trafficAccessToken": self.traffic_token,
            "domain": None,
        }

    def row(self) -> dict[str, Any]:
        limits = self.context(None).session.policy.limits
        return self._named() | {
            "startedAt": self.started.isoformat(),
            "endAt": self.end_at.isoformat(),
            "cpuCount": 1,
            "memoryMB": limits.memory_mb,
            "diskSizeMB": limits.workspace_mb,
            "state": self.state,
            "metadata": self.options.metadata,
        }


def let_in(tenants: Iterable[Tenant], scope: Any, headers: Headers) -> Tenant | None:
    """Return whose sandbox a request is for, where a sandbox's own secrets count: it is put into the scope. None
    elsewhere. Raises `RefusedRequest`.
    """
    if not has_own_tokens(scope["path"]):
        return None
    wanted = headers.get("e2b-sandbox-id", "")
    given = [headers[name].encode() for name in ("x-access-token", "e2b-traffic-access-token") if name in headers]
    boxes: list[Box] = [box for tenant in tenants for box in tenant.boxes.values() if wanted in ("", box.id)]
    if wanted and not boxes:
        raise RefusedRequest(502, f"The sandbox {wanted[:100]} was not found", "NotFound")
    found = next((box for box in boxes for token in given if box.tokens.owner(token)), None)
    if found is None:
        raise RefusedRequest(401, "one of the sandbox's tokens is needed: X-Access-Token: TOKEN", "Unauthorized")
    if found.paused:
        raise RefusedRequest(
            502, f"The sandbox {found.id} is paused: a running one of that name was not found", "Paused"
        )
    scope["box"] = found
    return found.tenant


def find(request: Request) -> Box:
    """Return the sandbox of a path. Raises `RefusedRequest` for one of another tenant, as for one that is not there."""
    box: Box | None = request.scope["tenant"].boxes.get(request.path_params["id"])
    if box is None:
        raise RefusedRequest(404, "there is no such sandbox", "NotFound")
    return box


def _check_room(tenant: Tenant) -> None:
    if len(tenant.boxes) >= MAX_KEPT:
        raise full(f"{MAX_KEPT} sandboxes are kept")
