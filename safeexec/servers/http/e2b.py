"""The shape of E2B: sandboxes that its SDKs create, run cells in, fork, pause, resume and kill.

A sandbox has a workspace, which clients call ``/home/user``. Calls for what it does not have (shell processes,
networks) get the answer that it is not offered.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Any, NamedTuple, TypeVar
from urllib.parse import parse_qs, unquote

from msgspec import Meta, Struct, ValidationError, convert
from msgspec.json import encode
from starlette.requests import Request
from starlette.responses import Response

from safeexec import AsyncSession, Result, WorkspaceError
from safeexec.common.identity import LARGE
from safeexec.results.jsonable import jsonable, to_base64
from safeexec.results.observation import failure_text
from safeexec.servers.account import apart, count_untaken, room
from safeexec.servers.http.e2b_sandboxes import MAX_KEPT, Box, NewSandbox, Seconds, find
from safeexec.servers.http.idempotency import digest_of
from safeexec.servers.http.requests import Large, RefusedRequest, Routes, answer, answer_apart, body_of
from safeexec.servers.http.streaming import Put, Streamed, line
from safeexec.servers.http.tenancy import Tenant
from safeexec.servers.wire import parse
from safeexec.untrusted.below import directory_below, opened
from safeexec.untrusted.json_text import loads
from safeexec.untrusted.multipart import files_of

T = TypeVar("T")
HOME = "/home/user"
"""The workspace, as clients call it."""
DIRECTORY = "FILE_TYPE_DIRECTORY"
MAX_FORKS = 20
NAMES = {
    "text/plain": "text",
    "text/html": "html",
    "text/markdown": "markdown",
    "image/svg+xml": "svg",
    "image/png": "png",
    "image/jpeg": "jpeg",
    "application/pdf": "pdf",
    "text/latex": "latex",
    "application/javascript": "javascript",
}
"""The words of E2B for what a cell shows, by MIME type."""
PageSize = Annotated[int, Meta(ge=1, le=MAX_KEPT)]
Moment = Annotated[datetime, Meta(tz=True)]


class Timeout(Struct):
    timeout: Seconds = 300


class ForkRequest(Timeout):
    count: Annotated[int, Meta(ge=1, le=MAX_FORKS)] = 1


class NewContext(Struct):
    language: str | None = None
    cwd: str | None = None


class PathRequest(Struct):
    path: Annotated[str, Meta(max_length=4096)] = ""
    depth: int = 1


class Cell(Struct):
    code: str
    context_id: str | None = None
    language: str | None = None
    env_vars: dict[str, str] | None = None


routes = Routes()


def _both(path: str) -> tuple[str, str]:
    """Return where a tenant's call is: the SDKs call some below ``/v2``; all are at both places."""
    return f"/sandboxes{path}", f"/v2/sandboxes{path}"


@routes("POST", *_both(""), takes=NewSandbox, read=False)
async def create(request: Request) -> Response:
    """Create a sandbox."""
    sent = await body_of(request)
    body = await parse("the body", sent, NewSandbox)
    body.refuse_the_rest()
    tenant: Tenant = request.scope["tenant"]

    async def made() -> Response:
        return answer((await Box.create(tenant, body)).as_json(), 201)

    work = made
    if (identity := request.headers.get("idempotency-key")) is not None:
        digest = await apart(len(sent), digest_of, (sent,))
        key = f"sandbox {hashlib.sha256(identity.encode()).hexdigest()}"  # of all of it: two long ones may begin alike
        work = partial(tenant.answers.once, key, digest, made, request.scope["room"])
    created: Response = await request.scope["tenancy"].while_there(request, work())
    return created


@routes("GET", *_both(""), queries="metadata state limit nextToken")
async def list_sandboxes(request: Request) -> Response:
    """List the tenant's sandboxes, the youngest first; the query may choose some. With a `limit` they come in pages:
    the header X-Next-Token is the `nextToken` of the next one.
    """
    query = request.query_params
    wanted = {unquote(name): unquote(one[0]) for name, one in parse_qs(query.get("metadata", "")).items()}
    states = {word for given in query.getlist("state") for word in given.split(",")} or {"running", "paused"}
    try:
        limit = convert(query.get("limit", MAX_KEPT), PageSize, strict=False)
        last = convert(query.get("nextToken"), Moment | None)
    except ValidationError as error:
        raise RefusedRequest(400, f"the query: {error}", "InvalidArguments") from None
    found = [
        box
        for box in reversed(request.scope["tenant"].boxes.values())
        if wanted.items() <= box.options.metadata.items()
        and box.state in states
        and (last is None or box.started < last)
    ]
    page = found[:limit]
    headers = {"X-Next-Token": page[-1].started.isoformat()} if len(page) < len(found) else {}
    return await answer_apart([box.row() for box in page], headers=headers)


@routes("GET", *_both("/{id}"))
async def detail(request: Request) -> dict[str, Any]:
    """Describe one sandbox."""
    box = find(request)
    return box.row() | {"domain": None, "allowInternetAccess": False, "envdAccessToken": box.access_token}


@routes("DELETE", *_both("/{id}"))
async def kill(request: Request) -> None:
    """End a sandbox."""
    await find(request).kill()


@routes("POST", *_both("/{id}/timeout"), takes=Timeout)
async def set_timeout(request: Request, body: Timeout) -> None:
    """Set how many seconds a sandbox lives from now on."""
    find(request).live_for(body.timeout)


@routes("POST", *_both("/{id}/connect"), takes=Timeout)
async def connect(request: Request, body: Timeout) -> Response:
    """Return the secrets of a sandbox; a paused one is resumed. Its life is only made longer."""
    box = find(request)
    status = 201 if box.paused else 200
    box.paused = False
    if box.ends < time.monotonic() + body.timeout:
        box.live_for(body.timeout)
    return answer(box.as_json(), status)


@routes("POST", *_both("/{id}/resume"), takes=Timeout)
async def resume(request: Request, body: Timeout) -> Response:
    """Go on with a paused sandbox."""
    box = find(request)
    if not box.paused:
        raise RefusedRequest(409, "the sandbox is running", "NotPaused")
    box.paused = False
    box.live_for(body.timeout)
    return answer(box.as_json(), 201)


@routes("POST", *_both("/{id}/pause"))
async def pause(request: Request) -> None:
    """Have a sandbox rest, its time stand still."""
    await find(request).pause()


@routes("POST", *_both("/{id}/fork"), takes=ForkRequest)
async def fork(request: Request, body: ForkRequest) -> Response:
    """Make copies of a sandbox as it is now."""
    made = await find(request).fork(body.count, body.timeout)
    rows = [
        {"error": {"code": one.status, "message": str(one)}}
        if isinstance(one, RefusedRequest)
        else {"sandbox": one.as_json()}
        for one in made
    ]
    return answer(rows, 201)


@routes("POST", *_both("/{id}/snapshots"))
async def no_snapshot(request: Request) -> None:
    """Refuse a snapshot: to the SDKs a call that is not there says that the sandbox is not."""
    find(request)
    raise RefusedRequest(400, "snapshots are not offered; fork copies a sandbox as it is", "NotOffered")


@routes("GET", *_both("/{id}/metrics"))
async def no_metrics(request: Request) -> list[Any]:
    """Return none: nothing is measured of one sandbox."""
    find(request)
    return []


# Methods of one sandbox


@routes("GET", "/health")
async def health(_: Request) -> None:
    """Say that the sandbox is there: whoever gets here has been let in."""


@routes("POST", "/execute", takes=Cell)
async def execute(request: Request, body: Cell) -> Response:
    """Run a cell; its output is sent line by line."""
    box: Box = request.scope["box"]
    _check_language(body.language)
    context = box.context(body.context_id)

    async def work(put: Put) -> None:
        async with context.turn:
            await box.tenant.account.drain()  # cells queue: each would leave its result to one that is not taken
            box.tenant.check_cpu()
            await context.set_environment(box.options.envVars | (body.env_vars or {}))
            box.tenant.check_cpu()
            context.count += 1
            put(line, {"type": "number_of_executions", "execution_count": context.count})
            result = await context.session.run(
                body.code,
                timeout=context.session.policy.limits.max_wall_seconds,
                on_stdout=lambda text: put(line, _printed("stdout", text)),
                on_stderr=lambda text: put(line, _printed("stderr", text)),
            )
            box.tenant.count(result)
            for part in shown(result):
                put(_row, dict(part.data), part.main)
            if (error := result.error) is not None:
                failed = {"name": error.type, "value": error.message, "traceback": failure_text(error)}
                put(line, {"type": "error", **failed})

    return Streamed(request, work, "application/x-ndjson", _failed)


class ShownPart(NamedTuple):
    """One thing that a step has shown. `main`: it is the value of the step."""

    data: Mapping[str, str | bytes]
    main: bool


def shown(result: Result) -> list[ShownPart]:
    """Return the displays of a step and its value, which may be one of them: that comes last then."""
    parts = [ShownPart(display, False) for display in result.displays]
    if not result.text:
        return parts
    if parts and "image/png" not in parts[-1].data and parts[-1].data.get("text/plain") == result.text:
        return [*parts[:-1], parts[-1]._replace(main=True)]
    return [*parts, ShownPart({"text/plain": result.text}, True)]


def as_result(part: ShownPart) -> dict[str, Any]:
    """Return one thing shown, in E2B's words."""
    row: dict[str, Any] = {"is_main_result": part.main}
    extra = {}
    for mime, shown in part.data.items():
        item = shown if isinstance(shown, str) else to_base64(shown)
        if mime in NAMES:
            row[NAMES[mime]] = item
        else:
            extra[mime] = item
    with suppress(ValueError):  # what cannot be read stays a text
        if (read := loads(extra.get("application/json", "null"))) is not None:
            row["json"] = jsonable(read)
            del extra["application/json"]
    return row | ({"extra": extra} if extra else {})


def _failed(error: RefusedRequest) -> bytes:
    return line({"type": "error", "name": error.kind, "value": str(error), "traceback": f"{error}\n"})


def _row(data: dict[str, str | bytes], main: bool) -> bytes:
    return line({"type": "result", **as_result(ShownPart(data, main))})


def _printed(stream: str, text: str) -> dict[str, Any]:
    return {"type": stream, "text": text, "timestamp": time.time_ns()}


def _check_language(language: str | None) -> None:
    if language is not None and language.lower() not in ("python", "python3", ""):
        raise RefusedRequest(400, f"the language {language[:100]!r} is not offered; python is", "NotOffered")


@routes("GET", "/contexts")
async def list_contexts(request: Request) -> list[Any]:
    """List the contexts of a sandbox."""
    return [_context_row(name) for name in request.scope["box"].contexts]


@routes("POST", "/contexts", takes=NewContext)
async def create_context(request: Request, body: NewContext) -> dict[str, Any]:
    """Open a further context, with copies of the sandbox's files."""
    _check_language(body.language)
    if body.cwd is not None and body.cwd.rstrip("/") != HOME:
        raise RefusedRequest(400, f"another directory than {HOME} is not offered", "NotOffered")
    return _context_row(await request.scope["box"].add_context())


@routes("DELETE", "/contexts/{name}")
async def remove_context(request: Request) -> None:
    """End a context. The default one ends with its sandbox."""
    box: Box = request.scope["box"]
    name = request.path_params["name"]
    if name == "default":
        raise RefusedRequest(400, "the default context ends with its sandbox", "NotOffered")
    await box.remove(name)


@routes("POST", "/contexts/{name}/restart")
async def restart_context(request: Request) -> dict[str, Any]:
    """Begin a context anew."""
    await request.scope["box"].restart(request.path_params["name"])
    return {}


def _context_row(name: str) -> dict[str, Any]:
    return {"id": name, "language": "python", "cwd": HOME}


@routes("GET", "/files", queries="path")
async def read_file(request: Request) -> Response:
    """Return the bytes of a file, from the first context that has it."""
    box: Box = request.scope["box"]
    sessions = [context.session for context in box.contexts.values()]
    name = _inside(request.query_params.get("path", ""), sessions)
    for session in sessions:
        if name in await session.list_files():
            async with room():
                data = await session.read_file(name)
                count_untaken(len(data))
            return Large(data, media_type="application/octet-stream")
    raise RefusedRequest(404, f"there is no file {name[:200]!r}", "NotFound")


@routes("POST", "/files", queries="path")
async def write_files(request: Request) -> list[Any]:
    """Put files into every context: the body, or the files of a form."""
    box: Box = request.scope["box"]
    if request.headers.get("content-encoding", "identity") != "identity":
        raise RefusedRequest(415, "compressed bodies are not offered", "NotOffered")
    body, kind = await body_of(request), request.headers.get("content-type", "")
    path = request.query_params.get("path")
    if kind.startswith("multipart/form-data"):
        parts = await apart(len(body), files_of, bytes(body), kind)
        given = [(path if path is not None else part.name, part.data) for part in parts]
    else:
        given = [(path or "", bytes(body))]
    contexts = [*box.contexts.values()]
    named = [(_inside(name, [context.session for context in contexts]), data) for name, data in given]
    for context in contexts:
        async with context.turn:
            for name, data in named:
                await context.session.write_file(name, data)
    return [{"name": os.path.basename(name), "type": "file", "path": f"{HOME}/{name}"} for name, _ in named]


def _inside(path: str, sessions: list[AsyncSession]) -> str:
    """Return the name in the workspace of what a client calls `path`. Raises `RefusedRequest` and `WorkspaceError`."""
    homes = [f"{session.workspace}/" for session in sessions if session.workspace is not None]
    if not homes:
        raise WorkspaceError("the policy of this sandbox gives it no files; data-analysis and confined-python do")
    place = next((_placed(path.removeprefix(home)) for home in homes if path.startswith(home)), _placed(path))
    if not place.startswith(f"{HOME}/") or path.endswith("/"):
        raise RefusedRequest(400, f"{path[:200]!r} is not a file below {HOME}", "WorkspaceError")
    return place.removeprefix(f"{HOME}/")


def _placed(path: str) -> str:
    """Return a client's `path` as a whole one without dots: relative ones, and `~`, begin at `HOME`."""
    first, _, rest = path.partition("/")
    return os.path.normpath(os.path.join(HOME, rest if first == "~" else path))


@routes("POST", "/filesystem.Filesystem/Stat", takes=PathRequest)
async def stat(request: Request, body: PathRequest) -> Response:
    """Return what is at a path of the workspace, in Connect's words: a file or a directory, or not_found."""
    path = _placed(body.path)
    found = await _of_files(request.scope["box"], lambda entries: entries.get(path))
    return _not_found("file or directory", path) if found is None else answer({"entry": found})


@routes("POST", "/filesystem.Filesystem/ListDir", takes=PathRequest)
async def list_directory(request: Request, body: PathRequest) -> Response:
    """Return what is in a directory of the workspace, as many levels down as the client asks for."""
    path, depth = _placed(body.path), max(body.depth, 1)
    found = await _of_files(request.scope["box"], lambda entries: _below(entries, path, depth))
    return _not_found("directory", path) if found is None else await answer_apart({"entries": found})


def _not_found(kind: str, path: str) -> Response:
    return answer({"code": "not_found", "message": f"there is no {kind} {path[:200]!r}"}, 404)


Entries = dict[str, dict[str, Any]]
"""Files and directories by path, as the JSON form of Connect has them: the form that E2B's SDKs speak."""


async def _of_files(box: Box, read: Callable[[Entries], T]) -> T:
    """Return what `read` makes of all that is in the workspace of the sandbox's first context, in a thread."""
    session = box.context(None).session
    _inside("x", [session])  # raises where there are no files
    names, workspace = await session.list_files(), session.workspace or ""
    return await apart(LARGE, lambda: read(_entries(workspace, names)))


def _entries(workspace: str, names: list[str]) -> Entries:
    entries = {HOME: _entry(HOME, DIRECTORY)}
    with suppress(FileNotFoundError), opened(workspace) as top:
        for name in names:
            folder, _, last = name.rpartition("/")
            try:
                with directory_below(top, folder) as directory:
                    about = os.lstat(last, dir_fd=directory)
            except OSError:  # it vanished, or a link is on the way by now
                continue
            parts = name.split("/")
            for end in range(1, len(parts)):
                above = f"{HOME}/{'/'.join(parts[:end])}"
                entries.setdefault(above, _entry(above, DIRECTORY, modified=about.st_mtime))
            entries[f"{HOME}/{name}"] = _entry(f"{HOME}/{name}", "FILE_TYPE_FILE", about.st_size, about.st_mtime)
    return entries


def _below(entries: Entries, path: str, depth: int) -> list[dict[str, Any]] | None:
    """Return what is in a directory, so many levels down. None where there is no such directory."""
    if path not in entries or entries[path]["type"] != DIRECTORY:
        return None
    below = [(name.removeprefix(f"{path}/"), entries[name]) for name in sorted(entries) if name.startswith(f"{path}/")]
    return [entry for name, entry in below if name.count("/") < depth]


def _entry(path: str, kind: str, size: int = 0, modified: float = 0) -> dict[str, Any]:
    when = datetime.fromtimestamp(int(modified), UTC).isoformat().replace("+00:00", "Z")
    about = {"name": os.path.basename(path), "type": kind, "path": path, "size": str(size), "modifiedTime": when}
    return about | {"mode": 0o644, "permissions": "", "owner": "user", "group": "user"}


@routes("POST GET", "/process.Process/{method}", "/filesystem.Filesystem/{method}")
async def not_offered(request: Request) -> Response:
    """Refuse processes and watches, in the words of Connect, the protocol of those calls."""
    service = "shell processes are" if "process" in request.url.path else "this call for files is"
    problem = {"code": "unimplemented", "message": f"{service} not offered; run_code runs Python"}
    if not (kind := request.headers.get("content-type", "")).startswith("application/connect+"):
        return answer(problem, 501)
    end = encode({"error": problem})  # a stream, which is 200 whatever it says: one envelope, marked as its end
    return Response(b"\x02" + len(end).to_bytes(4, "big") + end, media_type=kind[:100])
