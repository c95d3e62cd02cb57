"""The shape of E2B: sandboxes that its SDKs create, run cells in, fork, pause, resume and kill.

A sandbox here is a session, and one more for each further context. What it has is a workspace, which clients call
``/home/user``; what it has not (shell processes, networks, environment variables) is said to be not offered.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import parse_qs, unquote

from msgspec import Meta, Struct, field
from msgspec.json import encode
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from safeexec import AsyncSession, SandboxError, WorkspaceError
from safeexec.servers.cells import as_error, as_result, shown
from safeexec.servers.grants import Tokens
from safeexec.servers.requests import RETRY_SECONDS, Refused, answer, body_of, read, takes
from safeexec.servers.streaming import Put, Streamed, line
from safeexec.servers.tenancy import Place, Tenant
from safeexec.untrusted.forms import files_of

HOME = "/home/user"
"""What clients call the workspace."""
ENVD_VERSION = "0.5.8"
"""Of E2B's own daemon: what its SDKs may ask for."""
MAX_SECONDS = 24 * 3600
MAX_FORKS = 20
MAX_KEPT = 1000
"""Sandboxes, paused ones and snapshots of one tenant together."""
SWEEP_SECONDS = 1.0
OWN_TOKENS = ("/execute", "/contexts", "/files", "/health", "/process.Process", "/filesystem.Filesystem")
"""Where the secrets of one sandbox count, and the tenant's token does not."""

Seconds = Annotated[int, Meta(ge=0, le=MAX_SECONDS)]


class NewSandbox(Struct):
    """`templateID` may be a snapshot; any other name is ignored."""

    templateID: str = ""
    timeout: Seconds = 300
    autoPause: bool = False
    metadata: dict[str, str] = {}
    envVars: dict[str, str] = {}
    network: Any = None
    mcp: Any = None
    iam: Any = None
    volumeMounts: list[Any] = []


class Timeout(Struct):
    timeout: Seconds = 300


class Fork(Struct):
    timeout: Seconds = 300
    count: Annotated[int, Meta(ge=1, le=MAX_FORKS)] = 1


class SnapshotRequest(Struct):
    name: str = ""


class NewContext(Struct):
    language: str | None = None
    cwd: str | None = None


class Cell(Struct):
    code: str
    context_id: str | None = None
    language: str | None = None
    env_vars: dict[str, str] | None = None


class Context:
    """One session of a sandbox. Its cells queue."""

    def __init__(self, session: AsyncSession, place: Place, told: Mapping[str, str] | None = None) -> None:
        self.session = session
        self.place = place
        self.turn = asyncio.Lock()
        self.count = 0
        self.lost = dict(told or {})
        """What could not be saved when the sandbox was paused; told with the next cell."""

    async def close(self) -> None:
        await self.session.close()
        self.place.leave()


class Saved(Struct):
    """A session as a file, and what could not be put into it."""

    path: Path
    lost: dict[str, str]


class Box:
    """One sandbox of a client: running, with `contexts`, or paused, with `saved`. The first context is the default."""

    def __init__(self, tenant: Tenant, asked: NewSandbox, seconds: int) -> None:
        self.id = f"i{secrets.token_hex(12)}"
        self.tenant = tenant
        self.asked = asked
        self.access_token, self.traffic_token = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        self.tokens = Tokens([(self.access_token, self), (self.traffic_token, self)])
        self.started = datetime.now(UTC)
        self.contexts: dict[str, Context] = {}
        self.saved: dict[str, Saved] = {}
        self.paused_place: Place | None = None
        self.changing = asyncio.Lock()
        self.live_for(seconds)

    def live_for(self, seconds: int) -> None:
        self.ends = time.monotonic() + seconds
        self.end_at = datetime.now(UTC) + timedelta(seconds=seconds)

    @property
    def paused(self) -> bool:
        return bool(self.saved)

    def context(self, name: str | None) -> Context:
        """Raises `Refused` for one that is not there."""
        found = next(iter(self.contexts.values()), None) if name is None else self.contexts.get(name)
        if found is None:
            raise Refused(404, f"there is no context {(name or '')[:100]!r}", "NotFound")
        return found

    def told(self) -> dict[str, Any]:
        return {
            "sandboxID": self.id,
            "templateID": self.asked.templateID or "safeexec",
            "clientID": "safeexec",
            "envdVersion": ENVD_VERSION,
            "envdAccessToken": self.access_token,
            "trafficAccessToken": self.traffic_token,
            "domain": None,
        }

    def row(self) -> dict[str, Any]:
        limits = next(iter(self.contexts.values())).session.policy.limits if self.contexts else None
        return {
            "sandboxID": self.id,
            "templateID": self.asked.templateID or "safeexec",
            "clientID": "safeexec",
            "startedAt": self.started.isoformat(),
            "endAt": self.end_at.isoformat(),
            "cpuCount": 1,
            "memoryMB": limits.memory_mb if limits is not None else 0,
            "diskSizeMB": limits.workspace_mb if limits is not None else 0,
            "state": "paused" if self.paused else "running",
            "envdVersion": ENVD_VERSION,
            "metadata": self.asked.metadata,
        }


class Snapshot(Struct):
    tenant: Tenant
    source: str
    names: list[str]
    saved: Saved
    id: str = field(default_factory=lambda: f"s{secrets.token_hex(12)}")


class Boxes:
    """All sandboxes of a server in this shape."""

    def __init__(self) -> None:
        self._boxes: dict[str, Box] = {}
        self._snapshots: dict[str, Snapshot] = {}
        self._directory: Path | None = None
        self._sweeping: asyncio.Task[None] | None = None

    async def open(self) -> None:
        self._sweeping = asyncio.create_task(self._sweep())

    async def close(self) -> None:
        """The sessions end with their sandboxes; saved states are removed."""
        if self._sweeping is not None:
            self._sweeping.cancel()
        if self._directory is not None:
            shutil.rmtree(self._directory)

    def let_in(self, scope: Any, headers: Headers) -> Tenant | None:
        """Whose sandbox a request is for, where a sandbox's own secrets count: it is put into the scope. None
        elsewhere. Raises `Refused`.
        """
        if not any(scope["path"] == own or scope["path"].startswith(own + "/") for own in OWN_TOKENS):
            return None
        wanted = headers.get("e2b-sandbox-id", "")
        given = [headers[name].encode() for name in ("x-access-token", "e2b-traffic-access-token") if name in headers]
        box = self._boxes.get(wanted)
        if box is None and wanted:
            raise Refused(502, f"The sandbox {wanted[:100]} was not found", "NotFound")
        candidates = [box] if box is not None else [*self._boxes.values()]
        found = next((one for one in candidates for token in given if one.tokens.owner(token)), None)
        if found is None:
            raise Refused(401, "one of the sandbox's tokens is needed: X-Access-Token: TOKEN", "Unauthorized")
        if found.paused:
            raise Refused(502, f"The sandbox {found.id} is paused: a running one of that name was not found", "Paused")
        scope["box"] = found
        return found.tenant

    def find(self, request: Request) -> Box:
        """The sandbox of a path. Raises `Refused` for one of another tenant, as for one that is not there."""
        box = self._boxes.get(request.path_params["id"])
        if box is None or box.tenant is not request.scope["tenant"]:
            raise Refused(404, "there is no such sandbox", "NotFound")
        return box

    def of(self, tenant: Tenant) -> list[Box]:
        return [box for box in self._boxes.values() if box.tenant is tenant]

    def snapshots_of(self, tenant: Tenant) -> list[Snapshot]:
        return [snapshot for snapshot in self._snapshots.values() if snapshot.tenant is tenant]

    def snapshot(self, tenant: Tenant, name: str) -> Snapshot | None:
        found = self._snapshots.get(name)
        return found if found is not None and found.tenant is tenant else None

    # Lives

    async def create(self, tenant: Tenant, asked: NewSandbox) -> Box:
        """A new sandbox, from a snapshot where one is named. Raises `Refused`."""
        self._check_room(tenant)
        snapshot = self.snapshot(tenant, asked.templateID)
        box = Box(tenant, asked, asked.timeout)
        box.contexts["default"] = await self._context(tenant, snapshot.saved if snapshot is not None else None)
        self._boxes[box.id] = box
        return box

    async def fork(self, box: Box, asked: Fork) -> list[Box | Refused]:
        """Copies of a sandbox as it is now; a refusal for each that there is no room for."""
        async with self._at_rest(box):
            return [await self._forked(box, asked.timeout) for _ in range(asked.count)]

    async def _forked(self, box: Box, seconds: int) -> Box | Refused:
        forked = Box(box.tenant, box.asked, seconds)
        try:
            self._check_room(box.tenant)
            for name, context in box.contexts.items():
                place = box.tenant.place(context.session.policy)
                try:
                    (session,) = await context.session.branch(1)
                except BaseException:
                    place.leave()
                    raise
                forked.contexts[name] = Context(session, place)
                forked.contexts[name].count = context.count
        except (Refused, SandboxError) as error:
            await self._end(forked)
            return error if isinstance(error, Refused) else Refused(429, str(error), type(error).__name__)
        except BaseException:
            await self._end(forked)
            raise
        self._boxes[forked.id] = forked
        return forked

    async def pause(self, box: Box) -> None:
        """Write every context to a file and end its processes. Raises `Refused`, and `StateFileError`."""
        async with self._at_rest(box):
            saved = {}
            try:
                for name, context in box.contexts.items():
                    saved[name] = await self._save(context.session)
            except BaseException:
                for state in saved.values():
                    state.path.unlink(missing_ok=True)
                raise
            box.saved, contexts, box.contexts = saved, box.contexts, {}
            for context in contexts.values():
                await context.close()
            box.paused_place = Place(box.tenant, 0)

    async def resume(self, box: Box) -> None:
        """Go on from what was written. Raises `Refused`."""
        async with box.changing:
            if not box.paused:
                return
            contexts: dict[str, Context] = {}
            try:
                for name, state in box.saved.items():
                    contexts[name] = await self._context(box.tenant, state)
            except BaseException:
                for context in contexts.values():
                    await context.close()
                raise
            box.contexts = contexts
            self._forget(box)

    async def add_context(self, box: Box) -> str:
        """A further session with copies of the sandbox's files. Raises `Refused`."""
        async with self._at_rest(box):
            context = await self._context(box.tenant, None)
            try:
                if context.session.workspace is not None:
                    for name in (first := box.context(None).session).list_files():
                        context.session.write_file(name, first.read_file(name))
            except BaseException:
                await context.close()
                raise
            box.contexts[identity := secrets.token_hex(12)] = context
            return identity

    async def restart(self, box: Box, name: str) -> None:
        """A new session in the place of a context's. What it was running is stopped."""
        old = box.context(name)
        await old.close()
        box.contexts[name] = await self._context(box.tenant, None)

    async def take_snapshot(self, box: Box, name: str) -> Snapshot:
        """Keep the default context as a file, for sandboxes to come."""
        self._check_room(box.tenant)
        async with self._at_rest(box):
            saved = await self._save(box.context(None).session)
        snapshot = Snapshot(box.tenant, box.id, [name] if name else [], saved)
        self._snapshots[snapshot.id] = snapshot
        return snapshot

    def drop(self, snapshot: Snapshot) -> None:
        del self._snapshots[snapshot.id]
        snapshot.saved.path.unlink(missing_ok=True)

    async def kill(self, box: Box) -> None:
        """End it at once, whatever it does."""
        self._boxes.pop(box.id, None)
        await self._end(box)

    async def _end(self, box: Box) -> None:
        self._forget(box)
        for context in [*box.contexts.values()]:
            await context.close()
        box.contexts.clear()

    def _forget(self, box: Box) -> None:
        for state in box.saved.values():
            state.path.unlink(missing_ok=True)
        box.saved.clear()
        if box.paused_place is not None:
            box.paused_place.leave()
            box.paused_place = None

    async def _sweep(self) -> None:
        """End, or pause, what has lived long enough."""
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            now = time.monotonic()
            for box in [box for box in self._boxes.values() if box.ends < now and not box.paused]:
                try:
                    if not box.asked.autoPause:
                        await self.kill(box)
                    else:
                        await self.pause(box)
                except Refused:
                    continue  # a cell still runs; the next round
                except (SandboxError, OSError):
                    await self.kill(box)

    # Sessions

    async def _context(self, tenant: Tenant, saved: Saved | None) -> Context:
        sandbox = await tenant.sandbox()
        place = tenant.place(sandbox.policy)
        try:
            session = await (sandbox.session() if saved is None else sandbox.restore(saved.path))
        except BaseException:
            place.leave()
            raise
        return Context(session, place, saved.lost if saved is not None else None)

    async def _save(self, session: AsyncSession) -> Saved:
        if self._directory is None:
            self._directory = Path(tempfile.mkdtemp(prefix="safeexec-states-"))
        path = self._directory / secrets.token_hex(16)
        return Saved(path, await session.save(path))

    def _check_room(self, tenant: Tenant) -> None:
        if len(self.of(tenant)) + len(self.snapshots_of(tenant)) >= MAX_KEPT:
            raise Refused(429, f"{MAX_KEPT} sandboxes and snapshots are kept", "Full", RETRY_SECONDS)

    def _at_rest(self, box: Box) -> _AtRest:
        return _AtRest(box)


class _AtRest:
    """A sandbox whose state nobody changes meanwhile. Raises `Refused` where a cell runs, or it is paused."""

    def __init__(self, box: Box) -> None:
        self._box = box
        self._turns: list[asyncio.Lock] = []

    async def __aenter__(self) -> None:
        await self._box.changing.acquire()
        try:
            if self._box.paused:
                raise Refused(409, "the sandbox is paused", "Paused")
            if any(context.turn.locked() for context in self._box.contexts.values()):
                raise Refused(429, "a cell of the sandbox runs", "Busy", RETRY_SECONDS)
            for context in self._box.contexts.values():
                await context.turn.acquire()
                self._turns.append(context.turn)
        except BaseException:
            await self.__aexit__()
            raise

    async def __aexit__(self, *_: object) -> None:
        for turn in self._turns:
            turn.release()
        self._box.changing.release()


# Methods of the tenant


def routes() -> list[BaseRoute]:
    return [*_of_tenants(), *_of_sandboxes()]


def _of_tenants() -> Iterator[BaseRoute]:
    """The SDKs call some below ``/v2``; all are at both places."""
    for version in ("", "/v2"):
        one = f"{version}/sandboxes/{{id}}"
        yield Route(f"{version}/sandboxes", takes(NewSandbox)(create), methods=["POST"])
        yield Route(f"{version}/sandboxes", list_sandboxes, methods=["GET"])
        yield Route(one, detail, methods=["GET"])
        yield Route(one, kill, methods=["DELETE"])
        yield Route(f"{one}/timeout", takes(Timeout)(set_timeout), methods=["POST"])
        yield Route(f"{one}/connect", takes(Timeout)(connect), methods=["POST"])
        yield Route(f"{one}/resume", takes(Timeout)(resume), methods=["POST"])
        yield Route(f"{one}/pause", pause, methods=["POST"])
        yield Route(f"{one}/fork", takes(Fork)(fork), methods=["POST"])
        yield Route(f"{one}/snapshots", takes(SnapshotRequest)(take_snapshot), methods=["POST"])
        yield Route(f"{one}/metrics", no_metrics, methods=["GET"])
    yield Route("/snapshots", list_snapshots, methods=["GET"])
    yield Route("/templates/{id}", drop_snapshot, methods=["DELETE"])


def _of_sandboxes() -> Iterator[BaseRoute]:
    yield Route("/health", health, methods=["GET"])
    yield Route("/execute", takes(Cell)(execute), methods=["POST"])
    yield Route("/contexts", list_contexts, methods=["GET"])
    yield Route("/contexts", takes(NewContext)(create_context), methods=["POST"])
    yield Route("/contexts/{name}", remove_context, methods=["DELETE"])
    yield Route("/contexts/{name}/restart", restart_context, methods=["POST"])
    yield Route("/files", read_file, methods=["GET"])
    yield Route("/files", write_files, methods=["POST"])
    yield Route("/process.Process/{method}", not_offered, methods=["POST", "GET"])
    yield Route("/filesystem.Filesystem/{method}", not_offered, methods=["POST", "GET"])


def _boxes(request: Request) -> Boxes:
    boxes: Boxes = request.scope["boxes"]
    return boxes


async def create(request: Request) -> Response:
    """Create a sandbox, or go on from a snapshot."""
    asked = await read(request, NewSandbox)
    for name, given in (("envVars", asked.envVars), ("network", asked.network), ("mcp", asked.mcp), ("iam", asked.iam)):
        if given:
            raise Refused(400, f"{name} is not offered", "NotOffered")
    if asked.volumeMounts:
        raise Refused(400, "volumeMounts are not offered", "NotOffered")
    tenant: Tenant = request.scope["tenant"]

    async def made() -> Response:
        return answer((await _boxes(request).create(tenant, asked)).told(), 201)

    identity = request.headers.get("idempotency-key")
    work = made() if identity is None else tenant.answers.once(f"sandbox {identity[:255]}", encode(asked), made())
    created: Response = await request.scope["tenancy"].while_there(request, work)
    return created


async def list_sandboxes(request: Request) -> Response:
    """The tenant's sandboxes, of a `state` and with the `metadata` where these are given."""
    query = request.query_params
    states = {word for given in query.getlist("state") for word in given.split(",")} or {"running", "paused"}
    wanted = {unquote(name): unquote(one[0]) for name, one in parse_qs(query.get("metadata", "")).items()}
    rows = [
        box.row() for box in _boxes(request).of(request.scope["tenant"]) if wanted.items() <= box.asked.metadata.items()
    ]
    found = [row for row in rows if row["state"] in states]
    return answer(found[::-1] if query.get("order") != "asc" else found)


async def detail(request: Request) -> Response:
    """One sandbox."""
    box = _boxes(request).find(request)
    return answer(box.row() | {"domain": None, "allowInternetAccess": False, "envdAccessToken": box.access_token})


async def kill(request: Request) -> Response:
    """End a sandbox."""
    boxes = _boxes(request)
    await boxes.kill(boxes.find(request))
    return Response(status_code=204)


async def set_timeout(request: Request) -> Response:
    """How many seconds a sandbox lives from now on."""
    box = _boxes(request).find(request)
    box.live_for((await read(request, Timeout)).timeout)
    return Response(status_code=204)


async def connect(request: Request) -> Response:
    """The secrets of a sandbox; a paused one is resumed. Its life is only made longer."""
    boxes = _boxes(request)
    box, asked = boxes.find(request), await read(request, Timeout)
    status = 201 if box.paused else 200
    await boxes.resume(box)
    if box.ends < time.monotonic() + asked.timeout:
        box.live_for(asked.timeout)
    return answer(box.told(), status)


async def resume(request: Request) -> Response:
    """Go on with a paused sandbox."""
    boxes = _boxes(request)
    box, asked = boxes.find(request), await read(request, Timeout)
    if not box.paused:
        raise Refused(409, "the sandbox is running", "NotPaused")
    await boxes.resume(box)
    box.live_for(asked.timeout)
    return answer(box.told(), 201)


async def pause(request: Request) -> Response:
    """Save a sandbox and end its processes."""
    boxes = _boxes(request)
    await boxes.pause(boxes.find(request))
    return Response(status_code=204)


async def fork(request: Request) -> Response:
    """Copies of a sandbox as it is now."""
    boxes = _boxes(request)
    box, asked = boxes.find(request), await read(request, Fork)
    made = await boxes.fork(box, asked)
    return answer([_forked(one) for one in made], 201)


def _forked(made: Box | Refused) -> dict[str, Any]:
    if isinstance(made, Refused):
        return {"error": {"code": made.status, "message": str(made)}}
    return {"sandbox": made.told()}


async def take_snapshot(request: Request) -> Response:
    """Keep the state of a sandbox; `templateID` of a new one may name it."""
    boxes = _boxes(request)
    box, asked = boxes.find(request), await read(request, SnapshotRequest)
    snapshot = await boxes.take_snapshot(box, asked.name[:100])
    return answer({"snapshotID": snapshot.id, "names": snapshot.names}, 201)


async def list_snapshots(request: Request) -> Response:
    """The tenant's snapshots, those of one sandbox where `sandboxID` is given."""
    source = request.query_params.get("sandboxID")
    found = _boxes(request).snapshots_of(request.scope["tenant"])
    return answer([{"snapshotID": one.id, "names": one.names} for one in found if source in (None, one.source)])


async def drop_snapshot(request: Request) -> Response:
    """Give up a snapshot."""
    boxes = _boxes(request)
    snapshot = boxes.snapshot(request.scope["tenant"], request.path_params["id"])
    if snapshot is None:
        raise Refused(404, "there is no such snapshot", "NotFound")
    boxes.drop(snapshot)
    return Response(status_code=204)


async def no_metrics(request: Request) -> Response:
    """There are none for one sandbox."""
    _boxes(request).find(request)
    return answer([])


# Methods of one sandbox


async def health(_: Request) -> Response:
    """The sandbox is there: who asks has been let in."""
    return Response(status_code=204)


async def execute(request: Request) -> Response:
    """Run a cell; its output is sent line by line."""
    box: Box = request.scope["box"]
    asked = await read(request, Cell)
    _check_language(asked.language)
    if asked.env_vars:
        raise Refused(400, "environment variables are not offered", "NotOffered")
    context = box.context(asked.context_id)

    async def work(put: Put) -> None:
        async with context.turn:
            box.tenant.check_cpu()
            context.count += 1
            put(line({"type": "number_of_executions", "execution_count": context.count}))
            for name, reason in context.lost.items():
                put(_printed("stderr", f"{name} was not saved when the sandbox was paused: {reason}\n"))
            context.lost.clear()
            try:
                result = await context.session.run(
                    asked.code,
                    timeout=context.session.policy.limits.max_wall_seconds,
                    on_stdout=lambda text: put(_printed("stdout", text)),
                    on_stderr=lambda text: put(_printed("stderr", text)),
                )
            except SandboxError as error:
                told = {"name": type(error).__name__, "value": str(error), "traceback": f"{error}\n"}
                put(line({"type": "error", **told}))
                return
            box.tenant.told(result)
            for part in shown(result):
                put(line({"type": "result", **as_result(part)}))
            if (failed := as_error(result)) is not None:
                put(line({"type": "error", **failed}))

    return Streamed(request, work, "application/x-ndjson")


def _printed(stream: str, text: str) -> bytes:
    return line({"type": stream, "text": text, "timestamp": time.time_ns()})


def _check_language(language: str | None) -> None:
    if language is not None and language.lower() not in ("python", "python3", ""):
        raise Refused(400, f"the language {language[:100]!r} is not offered; python is", "NotOffered")


async def list_contexts(request: Request) -> Response:
    """The contexts of a sandbox."""
    return answer([_context_row(name) for name in request.scope["box"].contexts])


async def create_context(request: Request) -> Response:
    """A further context, with copies of the sandbox's files."""
    asked = await read(request, NewContext)
    _check_language(asked.language)
    if asked.cwd is not None and asked.cwd.rstrip("/") != HOME:
        raise Refused(400, f"another directory than {HOME} is not offered", "NotOffered")
    return answer(_context_row(await _boxes(request).add_context(request.scope["box"])))


async def remove_context(request: Request) -> Response:
    """End a context. The default one ends with its sandbox."""
    box: Box = request.scope["box"]
    name = request.path_params["name"]
    context = box.context(name)
    if name == "default":
        raise Refused(400, "the default context ends with its sandbox", "NotOffered")
    del box.contexts[name]
    await context.close()
    return Response(status_code=204)


async def restart_context(request: Request) -> Response:
    """Begin a context anew."""
    await _boxes(request).restart(request.scope["box"], request.path_params["name"])
    return answer({})


def _context_row(name: str) -> dict[str, str]:
    return {"id": name, "language": "python", "cwd": HOME}


async def read_file(request: Request) -> Response:
    """The bytes of a file, from the first context that has it."""
    box: Box = request.scope["box"]
    sessions = [context.session for context in box.contexts.values()]
    name = _inside(request.query_params.get("path", ""), sessions)
    for session in sessions:
        if name in session.list_files():
            return Response(await asyncio.to_thread(session.read_file, name), media_type="application/octet-stream")
    raise Refused(404, f"there is no file {name[:200]!r}", "NotFound")


async def write_files(request: Request) -> Response:
    """Put files into every context: the body, or the files of a form."""
    box: Box = request.scope["box"]
    if request.headers.get("content-encoding", "identity") != "identity":
        raise Refused(415, "compressed bodies are not offered", "NotOffered")
    body, kind = await body_of(request), request.headers.get("content-type", "")
    path = request.query_params.get("path")
    if kind.startswith("multipart/form-data"):
        given = [(path if path is not None else part.name, part.data) for part in files_of(body, kind)]
    else:
        given = [(path or "", body)]
    contexts = [*box.contexts.values()]
    named = [(_inside(name, [context.session for context in contexts]), data) for name, data in given]
    for context in contexts:
        async with context.turn:
            for name, data in named:
                await asyncio.to_thread(context.session.write_file, name, data)
    return answer([{"name": os.path.basename(name), "type": "file", "path": f"{HOME}/{name}"} for name, _ in named])


def _inside(path: str, sessions: list[AsyncSession]) -> str:
    """The name in the workspace of what a client calls `path`. Raises `Refused` and `WorkspaceError`."""
    homes = [f"{HOME}/", *(f"{session.workspace}/" for session in sessions if session.workspace is not None)]
    if len(homes) == 1:
        raise WorkspaceError("the policy of this sandbox gives it no files; data-analysis and confined-python do")
    name = next((path.removeprefix(home) for home in homes if path.startswith(home)), path)
    if not name or name.startswith("/") or ".." in name.split("/"):
        raise Refused(400, f"{path[:200]!r} is not a file below {HOME}", "WorkspaceError")
    return name


async def not_offered(request: Request) -> Response:
    """Processes and watches: said in the words of Connect, the protocol of those calls."""
    service = "shell processes are" if "process" in request.url.path else "this way to files is"
    return answer({"code": "unimplemented", "message": f"{service} not offered; run_code runs Python"}, 501)
