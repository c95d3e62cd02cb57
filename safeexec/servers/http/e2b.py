"""The shape of E2B: sandboxes that its SDKs create, run cells in, fork, pause, resume and kill.

A sandbox has a workspace, which clients call ``/home/user``. Calls for what it does not have (shell processes,
networks) get the answer that it is not offered.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Annotated, Any
from urllib.parse import parse_qs, unquote

from msgspec import Meta, Struct, ValidationError, convert
from msgspec.json import encode
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from safeexec import AsyncSession, WorkspaceError
from safeexec.servers.http.boxes import MAX_KEPT, Box, Boxes, NewSandbox, Seconds
from safeexec.servers.http.cells import as_error, as_result, shown
from safeexec.servers.http.once import digest_of
from safeexec.servers.http.requests import Large, RefusedRequest, answer, body_of, queries, read, takes
from safeexec.servers.http.streaming import Piece, Put, Streamed, later, line
from safeexec.servers.http.tenancy import Tenant
from safeexec.servers.service import apart
from safeexec.untrusted.forms import files_of

HOME = "/home/user"
"""What clients call the workspace."""
MAX_FORKS = 20
PageSize = Annotated[int, Meta(ge=1, le=MAX_KEPT)]


class Timeout(Struct):
    timeout: Seconds = 300


class ForkRequest(Struct):
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
        yield Route(f"{one}/fork", takes(ForkRequest)(fork), methods=["POST"])
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
    yield Route("/filesystem.Filesystem/Stat", stat, methods=["POST"])
    yield Route("/filesystem.Filesystem/ListDir", list_directory, methods=["POST"])
    yield Route("/filesystem.Filesystem/{method}", not_offered, methods=["POST", "GET"])


def _boxes(request: Request) -> Boxes:
    boxes: Boxes = request.scope["boxes"]
    return boxes


async def create(request: Request) -> Response:
    """Create a sandbox, or go on from a snapshot."""
    asked = await read(request, NewSandbox)
    asked.refuse_the_rest()
    tenant: Tenant = request.scope["tenant"]

    async def made() -> Response:
        return answer((await _boxes(request).create(tenant, asked)).as_json(), 201)

    identity = request.headers.get("idempotency-key")
    work = (
        made()
        if identity is None
        else tenant.answers.once(f"sandbox {identity[:255]}", digest_of((encode(asked),)), made())
    )
    created: Response = await request.scope["tenancy"].while_there(request, work)
    return created


@queries("metadata", "state", "order", "template", "startedAfter", "limit", "nextToken")
async def list_sandboxes(request: Request) -> Response:
    """The tenant's sandboxes, the youngest first; the query may choose some. With a `limit` they come in pages: the
    header X-Next-Token is the `nextToken` of the next one.
    """
    query = request.query_params
    wanted = {unquote(name): unquote(one[0]) for name, one in parse_qs(query.get("metadata", "")).items()}
    states = {word for given in query.getlist("state") for word in given.split(",")} or {"running", "paused"}
    after, last = _time(query.get("startedAfter")), _time(query.get("nextToken"))
    try:
        limit = convert(query.get("limit", MAX_KEPT), PageSize, strict=False)
    except ValidationError as error:
        raise RefusedRequest(400, f"limit: {error}", "InvalidArguments") from None
    rising = query.get("order") == "asc"
    found = [
        box
        for box in _boxes(request).of(request.scope["tenant"])
        if wanted.items() <= box.asked.metadata.items()
        and box.state in states
        and query.get("template", box.asked.templateID) == box.asked.templateID
        and (after is None or box.started > after)
        and (last is None or (box.started > last if rising else box.started < last))
    ]
    page = (found if rising else found[::-1])[:limit]
    headers = {"X-Next-Token": page[-1].started.isoformat()} if len(page) < len(found) else {}
    return answer([box.row() for box in page], headers=headers)


def _time(text: str | None) -> datetime | None:
    """A moment of a query. Raises `RefusedRequest`."""
    if text is None:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise RefusedRequest(400, f"{text[:100]!r} is no time of ISO 8601", "InvalidArguments") from None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


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
    """Tell how many seconds a sandbox lives from now on."""
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
    return answer(box.as_json(), status)


async def resume(request: Request) -> Response:
    """Go on with a paused sandbox."""
    boxes = _boxes(request)
    box, asked = boxes.find(request), await read(request, Timeout)
    if not box.paused:
        raise RefusedRequest(409, "the sandbox is running", "NotPaused")
    await boxes.resume(box)
    box.live_for(asked.timeout)
    return answer(box.as_json(), 201)


async def pause(request: Request) -> Response:
    """Save a sandbox and end its processes."""
    boxes = _boxes(request)
    await boxes.pause(boxes.find(request))
    return Response(status_code=204)


async def fork(request: Request) -> Response:
    """Copies of a sandbox as it is now."""
    boxes = _boxes(request)
    box, asked = boxes.find(request), await read(request, ForkRequest)
    made = await boxes.fork(box, asked.count, asked.timeout)
    return answer([_forked(one) for one in made], 201)


def _forked(made: Box | RefusedRequest) -> dict[str, Any]:
    if isinstance(made, RefusedRequest):
        return {"error": {"code": made.status, "message": str(made)}}
    return {"sandbox": made.as_json()}


async def take_snapshot(request: Request) -> Response:
    """Keep the state of a sandbox; `templateID` of a new one may name it."""
    boxes = _boxes(request)
    box, asked = boxes.find(request), await read(request, SnapshotRequest)
    snapshot = await boxes.take_snapshot(box, asked.name[:100])
    return answer({"snapshotID": snapshot.id, "names": snapshot.names}, 201)


@queries("sandboxID")
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
        raise RefusedRequest(404, "there is no such snapshot", "NotFound")
    boxes.drop(snapshot)
    return Response(status_code=204)


async def no_metrics(request: Request) -> Response:
    """There are none for one sandbox."""
    _boxes(request).find(request)
    return answer([])


# Methods of one sandbox


async def health(_: Request) -> Response:
    """The sandbox is there: whoever gets here has been let in."""
    return Response(status_code=204)


async def execute(request: Request) -> Response:
    """Run a cell; its output is sent line by line."""
    box: Box = request.scope["box"]
    asked = await read(request, Cell)
    _check_language(asked.language)
    context = box.context(asked.context_id)

    async def work(put: Put) -> None:
        async with context.turn:
            box.tenant.check_cpu()
            await context.set_environment(box.tenant, box.asked.envVars | (asked.env_vars or {}))
            box.tenant.check_cpu()
            context.count += 1
            put(line({"type": "number_of_executions", "execution_count": context.count}))
            for name, reason in context.lost.items():
                put(_printed("stderr", f"{name} was not saved when the sandbox was paused: {reason}\n"))
            context.lost.clear()
            result = await context.session.run(
                asked.code,
                timeout=context.session.policy.limits.max_wall_seconds,
                on_stdout=lambda text: put(_printed("stdout", text)),
                on_stderr=lambda text: put(_printed("stderr", text)),
            )
            box.tenant.counted(result)
            parts = shown(result)
            size = sum(len(data) for part in parts for data in part.data.values())
            for row in await apart(size, lambda: [line({"type": "result", **as_result(part)}) for part in parts]):
                put(row)
            if (failed := as_error(result)) is not None:
                put(line({"type": "error", **failed}))

    return Streamed(request, work, "application/x-ndjson", _failed)


def _failed(error: RefusedRequest) -> bytes:
    return line({"type": "error", "name": error.kind, "value": str(error), "traceback": f"{error}\n"})


def _printed(stream: str, text: str) -> Piece:
    return later(text, line, {"type": stream, "text": text, "timestamp": time.time_ns()})


def _check_language(language: str | None) -> None:
    if language is not None and language.lower() not in ("python", "python3", ""):
        raise RefusedRequest(400, f"the language {language[:100]!r} is not offered; python is", "NotOffered")


async def list_contexts(request: Request) -> Response:
    """The contexts of a sandbox."""
    return answer([_context_row(name) for name in request.scope["box"].contexts])


async def create_context(request: Request) -> Response:
    """A further context, with copies of the sandbox's files."""
    asked = await read(request, NewContext)
    _check_language(asked.language)
    if asked.cwd is not None and asked.cwd.rstrip("/") != HOME:
        raise RefusedRequest(400, f"another directory than {HOME} is not offered", "NotOffered")
    return answer(_context_row(await _boxes(request).add_context(request.scope["box"])))


async def remove_context(request: Request) -> Response:
    """End a context. The default one ends with its sandbox."""
    box: Box = request.scope["box"]
    name = request.path_params["name"]
    if name == "default":
        raise RefusedRequest(400, "the default context ends with its sandbox", "NotOffered")
    await _boxes(request).remove(box, name)
    return Response(status_code=204)


async def restart_context(request: Request) -> Response:
    """Begin a context anew."""
    await _boxes(request).restart(request.scope["box"], request.path_params["name"])
    return answer({})


def _context_row(name: str) -> dict[str, str]:
    return {"id": name, "language": "python", "cwd": HOME}


@queries("path")
async def read_file(request: Request) -> Response:
    """The bytes of a file, from the first context that has it."""
    box: Box = request.scope["box"]
    sessions = [context.session for context in box.contexts.values()]
    name = _inside(request.query_params.get("path", ""), sessions)
    for session in sessions:
        if name in await session.list_files():
            return Large(await session.read_file(name), media_type="application/octet-stream")
    raise RefusedRequest(404, f"there is no file {name[:200]!r}", "NotFound")


@queries("path")
async def write_files(request: Request) -> Response:
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
    return answer([{"name": os.path.basename(name), "type": "file", "path": f"{HOME}/{name}"} for name, _ in named])


def _inside(path: str, sessions: list[AsyncSession]) -> str:
    """The name in the workspace of what a client calls `path`. Raises `RefusedRequest` and `WorkspaceError`."""
    homes = [f"{session.workspace}/" for session in sessions if session.workspace is not None]
    if not homes:
        raise WorkspaceError("the policy of this sandbox gives it no files; data-analysis and confined-python do")
    place = next((_placed(path.removeprefix(home)) for home in homes if path.startswith(home)), _placed(path))
    if not place.startswith(f"{HOME}/") or path.endswith("/"):
        raise RefusedRequest(400, f"{path[:200]!r} is not a file below {HOME}", "WorkspaceError")
    return place.removeprefix(f"{HOME}/")


def _placed(path: str) -> str:
    """What a client calls `path` as a whole path without dots: relative ones, and `~`, begin at home."""
    home, _, rest = path.partition("/")
    return os.path.normpath(os.path.join(HOME, rest if home == "~" else path))


async def stat(request: Request) -> Response:
    """Return what is at a path of the workspace, in Connect's words: a file or a directory, or not_found."""
    path, _ = await _asked(request)
    entries = await _entries(request.scope["box"])
    found = entries.get(path)
    if found is None:
        return answer({"code": "not_found", "message": f"there is no file or directory {path[:200]!r}"}, 404)
    return _connect(request, {"entry": found.as_json()}, _field(1, found.as_proto()))


async def list_directory(request: Request) -> Response:
    """Return what is in a directory of the workspace, as many levels down as the client asks for."""
    path, depth = await _asked(request)
    entries = await _entries(request.scope["box"])
    if path not in entries or not entries[path].is_directory:
        return answer({"code": "not_found", "message": f"there is no directory {path[:200]!r}"}, 404)
    below = [entry for name, entry in sorted(entries.items()) if name.startswith(f"{path}/")]
    near = [entry for entry in below if entry.path.removeprefix(f"{path}/").count("/") < max(depth, 1)]
    rows = b"".join(_field(1, entry.as_proto()) for entry in near)
    return _connect(request, {"entries": [entry.as_json() for entry in near]}, rows)


class FileEntry(Struct):
    """A file or a directory of the workspace, as clients see it."""

    path: str
    is_directory: bool
    size: int = 0
    modified: int = 0

    def as_json(self) -> dict[str, Any]:
        kind = "FILE_TYPE_DIRECTORY" if self.is_directory else "FILE_TYPE_FILE"
        modified = datetime.fromtimestamp(self.modified, UTC).isoformat().replace("+00:00", "Z")
        about = {"name": os.path.basename(self.path), "type": kind, "path": self.path, "size": str(self.size)}
        return about | {"mode": 0o644, "permissions": "", "owner": "user", "group": "user", "modifiedTime": modified}

    def as_proto(self) -> bytes:
        """The same as a message of protobuf: what other clients of Connect speak."""
        texts = {1: os.path.basename(self.path), 3: self.path, 7: "user", 8: "user"}
        numbers = {2: 2 if self.is_directory else 1, 4: self.size, 5: 0o644}
        fields = [(tag, _field(tag, text.encode("utf-8", "replace"))) for tag, text in texts.items()]
        fields += [(tag, _varint(tag << 3) + _varint(number)) for tag, number in numbers.items()]
        fields.append((9, _field(9, _varint(1 << 3) + _varint(self.modified))))
        return b"".join(field for _, field in sorted(fields))


async def _entries(box: Box) -> dict[str, FileEntry]:
    """All that is in the workspace of the sandbox's first context, by path."""
    session = box.context(None).session
    _inside("x", [session])  # raises where there are no files
    entries = {HOME: FileEntry(HOME, True)}
    for name in await session.list_files():
        try:
            about = os.lstat(os.path.join(session.workspace or "", name))
        except OSError:
            continue
        parts = name.split("/")
        for end in range(1, len(parts)):
            folder = f"{HOME}/{'/'.join(parts[:end])}"
            entries.setdefault(folder, FileEntry(folder, True, 0, int(about.st_mtime)))
        entries[f"{HOME}/{name}"] = FileEntry(f"{HOME}/{name}", False, about.st_size, int(about.st_mtime))
    return entries


class _PathRequest(Struct):
    path: str = ""
    depth: int = 1


async def _asked(request: Request) -> tuple[str, int]:
    """Path and depth of a call, in JSON or protobuf. Raises `RefusedRequest`."""
    if request.headers.get("content-type", "").startswith("application/json"):
        asked = await read(request, _PathRequest)
        path, depth = asked.path, asked.depth
    else:
        path, depth = _path_of(bytes(await body_of(request)))
    return _placed(path), depth


def _path_of(body: bytes) -> tuple[str, int]:
    """The first two fields of a protobuf message: a text and a number. Linear in the message."""
    path, depth, at = "", 1, 0
    while at < len(body):
        key, at = _read_varint(body, at)
        value, at = _read_varint(body, at)
        if key == (1 << 3 | 2):
            path, at = body[at : at + value].decode("utf-8", "replace"), at + value
        elif key == 2 << 3:
            depth = min(value, 100)
        elif key & 7 == 2:
            at += value
        elif key & 7 != 0:
            raise RefusedRequest(400, "the message cannot be read", "InvalidArguments")
    return path, depth


def _read_varint(body: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(body):
            raise RefusedRequest(400, "the message ends too early", "InvalidArguments")
        byte = body[at]
        value, at = value | (byte & 0x7F) << shift, at + 1
        if byte < 0x80:
            return value, at
    raise RefusedRequest(400, "the message cannot be read", "InvalidArguments")


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def _field(tag: int, data: bytes) -> bytes:
    return _varint(tag << 3 | 2) + _varint(len(data)) + data


def _connect(request: Request, as_json: dict[str, Any], as_proto: bytes) -> Response:
    kind = request.headers.get("content-type", "")
    return (
        answer(as_json) if kind.startswith("application/json") else Response(as_proto, media_type="application/proto")
    )


async def not_offered(request: Request) -> Response:
    """Processes and watches: said in the words of Connect, the protocol of those calls."""
    service = "shell processes are" if "process" in request.url.path else "this call for files is"
    problem = {"code": "unimplemented", "message": f"{service} not offered; run_code runs Python"}
    if not (kind := request.headers.get("content-type", "")).startswith("application/connect+"):
        return answer(problem, 501)
    end = encode({"error": problem})  # a stream, which is 200 whatever it says: one envelope, marked as its end
    return Response(b"\x02" + len(end).to_bytes(4, "big") + end, media_type=kind[:100])
