"""The judge: programs by URL, in the shapes of SandboxFusion and of open-r1's router. Reward clients call it as it is.

Every program has a session of its own; the policy is the tenant's default.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from safeexec import AsyncSandbox, AsyncSession, Result, SandboxError, WorkspaceError
from safeexec.results.jsonable import to_base64
from safeexec.servers.http.cells import as_execution, data_of, shown, traceback_of
from safeexec.servers.http.requests import (
    Large,
    RefusedRequest,
    answer,
    answer_apart,
    takes,
)
from safeexec.servers.http.tenancy import Tenancy, Tenant
from safeexec.servers.methods import MAX_MESSAGE, Arguments, Name
from safeexec.servers.service import apart, encoded, encoded_apart

Files = Annotated[dict[Name, bytes | None], Meta(max_length=10_000)]
"""Names in the workspace → contents in base64."""
Several = Annotated[list[str], Meta(max_length=1000)]
"""For each of them a program runs, or a file is read."""
MAX_FETCHED = MAX_MESSAGE // 2
"""Bytes of the files of one answer, before base64."""
MAX_TOTAL_SECONDS = 3600.0
"""How long all cells of a request may take together."""
UNFIT_BYTES = 1000
"""Room for what is said of a script whose own answer has none."""


class RunCode(Struct):
    """The body of `/run_code`. `run_timeout`: seconds. `memory_limit_MB`: below 0 the policy's. `fetch_files`: names of
    files whose contents the answer has.
    """

    code: str
    language: str = "python"
    stdin: str | None = None
    run_timeout: float = 10
    memory_limit_MB: float = -1
    files: Files = {}
    fetch_files: Several = []
    args: Arguments = []


class RunJupyter(Struct):
    """The body of `/run_jupyter`. Both timeouts are seconds, `total_timeout` an hour at most; `cell_timeout` 0: the
    most that the policy gives a step.
    """

    cells: Several
    cell_timeout: float = 0
    total_timeout: float = 45
    kernel: str = "python3"
    files: Files = {}
    fetch_files: Several = []


class Batch(Struct):
    """The body of `/execute_batch`. `timeout`: seconds for each script. `request_timeout` is the client's own."""

    scripts: Several
    languages: Several = []
    language: str = "python"
    timeout: float = 300
    request_timeout: float = 30


def routes() -> list[BaseRoute]:
    """Return the paths that this module answers."""
    return [
        Route("/run_code", run_code, methods=["POST"]),
        Route("/run_jupyter", run_jupyter, methods=["POST"]),
        Route("/execute_batch", execute_batch, methods=["POST"]),
    ]


@takes(RunCode)
async def run_code(request: Request, asked: RunCode) -> Response:
    """Run one program."""
    tenancy: Tenancy = request.scope["tenancy"]
    tenant: Tenant = request.scope["tenant"]
    reply: dict[str, Any] = {"status": "SandboxError", "message": "", "compile_result": None, "run_result": None}
    reply |= {"executor_pod_name": os.environ.get("HOSTNAME"), "files": {}}
    if not _is_python(asked.language):
        return answer(reply | {"message": f"the language {asked.language[:100]!r} is not offered; python is"})
    try:
        result, files = await tenancy.while_there(request, _program(tenant, asked))
    except SandboxError as error:
        return answer(reply | {"message": f"{type(error).__name__}: {error}"})
    ran = _ran(result)
    succeeded = ran["status"] == "Finished" and ran["return_code"] == 0
    reply |= {"status": "Success" if succeeded else "Failed", "run_result": ran, "files": files}
    return await answer_apart(reply)


async def _program(tenant: Tenant, asked: RunCode) -> tuple[Result, dict[str, str]]:
    async with tenant.turn():
        sandbox = await tenant.sandbox()
        limits = sandbox.policy.limits
        tightened: dict[str, Any] = {"checkpoints": "off"}
        if 0 < asked.memory_limit_MB < limits.memory_mb:
            tightened["memory_mb"] = max(16, int(asked.memory_limit_MB))
        with tenant.place(sandbox.policy, tightened.get("memory_mb")):
            async with sandbox.session(**tightened) as session:
                await _put(sandbox, session, asked.files)
                result = await session.run(
                    asked.code,
                    timeout=_seconds(asked.run_timeout, limits.max_wall_seconds),
                    stdin=asked.stdin or "",
                    argv=["main.py", *asked.args],
                )
                return tenant.counted(result), await _fetched(session, asked.fetch_files, MAX_MESSAGE)


def _ran(result: Result) -> dict[str, Any]:
    """Return a result as `run_result` tells it. `execution_time`: seconds."""
    late = result.outcome in ("timeout", "cpu")
    code = result.exit_status if result.exit_status is not None else int(not result.ok)
    raised = "" if result.ok or result.exit_status is not None else traceback_of(result)
    return {
        "status": "TimeLimitExceeded" if late else "Finished",
        "execution_time": result.usage.wall_ms / 1000,
        "return_code": None if late else code,
        "stdout": result.stdout,
        "stderr": result.stderr + raised,
    }


@takes(RunJupyter)
async def run_jupyter(request: Request, asked: RunJupyter) -> Response:
    """Run cells one after the other in one session; a cell that fails ends nothing, one that takes too long all."""
    tenancy: Tenancy = request.scope["tenancy"]
    reply: dict[str, Any] = {"status": "SandboxError", "message": "", "driver": None, "cells": []}
    reply |= {"executor_pod_name": os.environ.get("HOSTNAME"), "files": {}}
    if not _is_python(asked.kernel):
        return answer(reply | {"message": f"the kernel {asked.kernel[:100]!r} is not offered; python3 is"})
    try:
        told = await tenancy.while_there(request, _cells(request.scope["tenant"], asked))
    except SandboxError as error:
        return answer(reply | {"message": f"{type(error).__name__}: {error}"})
    return await answer_apart(reply | told)


async def _cells(tenant: Tenant, asked: RunJupyter) -> dict[str, Any]:
    """Return what the answer says of the cells. Raises `SandboxError` as soon as it can hold no more: a thousand
    results that were kept until then took 1.5 GB.
    """
    async with tenant.turn():
        sandbox = await tenant.sandbox()
        most = sandbox.policy.limits.max_wall_seconds
        total = _seconds(asked.total_timeout, MAX_TOTAL_SECONDS)
        each = _seconds(asked.cell_timeout or most, most)
        cells: list[dict[str, Any]] = []
        room, seconds, late = MAX_MESSAGE, 0.0, False
        with tenant.place(sandbox.policy):
            async with sandbox.session() as session:
                await _put(sandbox, session, asked.files)
                for cell in asked.cells:
                    left = max(0.001, total - seconds)
                    result = tenant.counted(await session.run(cell, timeout=min(each, left)))
                    seconds += result.usage.wall_ms / 1000
                    cells.append(_cell(result))
                    room -= len(await encoded_apart(cells[-1]))
                    if room < 0:
                        raise SandboxError(f"the cells give more than {MAX_MESSAGE} bytes, the most that is sent")
                    if late := result.outcome in ("timeout", "cpu"):
                        break
                files = await _fetched(session, asked.fetch_files, room)
    driver = {
        "status": "TimeLimitExceeded" if late else "Finished",
        "execution_time": seconds,
        "return_code": None if late else 0,
        "stdout": "",
        "stderr": "",
    }
    return {"status": "Failed" if late else "Success", "driver": driver, "cells": cells, "files": files}


def _cell(result: Result) -> dict[str, Any]:
    error = result.error
    raised = (
        [] if error is None else [{"ename": error.type, "evalue": error.message, "traceback": traceback_of(result)}]
    )
    return {
        "stdout": result.stdout,
        "stderr": result.stderr,
        "display": [data_of(part.data) for part in shown(result)],
        "error": raised,
    }


@takes(Batch)
async def execute_batch(request: Request, asked: Batch) -> Response:
    """Run scripts side by side, each in a session of its own."""
    tenancy: Tenancy = request.scope["tenancy"]
    tenant: Tenant = request.scope["tenant"]
    languages = asked.languages or [asked.language] * len(asked.scripts)
    if len(languages) != len(asked.scripts):
        raise RefusedRequest(422, "`languages` needs one for each of `scripts`", "InvalidArguments")

    pairs = [*zip(asked.scripts, languages, strict=True)]
    told = await tenancy.while_there(request, _executions(tenant, pairs, asked.timeout))
    return Large(b"[" + b",".join(told) + b"]", media_type="application/json")


async def _executions(tenant: Tenant, pairs: list[tuple[str, str]], seconds: float) -> list[bytes]:
    """Return what is said of each script, in a language: JSON that fits into one answer, and takes less memory than
    what it stands for.
    """
    room = MAX_MESSAGE - UNFIT_BYTES * len(pairs)

    async def one(script: str, language: str) -> bytes:
        nonlocal room
        try:
            told = await encoded_apart(await _execution(tenant, script, language, seconds))
        except (RefusedRequest, SandboxError) as error:
            told = encoded(_failed(str(error)))
        if len(told) > room:
            return encoded(_failed(f"the scripts give more than {MAX_MESSAGE} bytes, the most that is sent"))
        room -= len(told)
        return told

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(*pair)) for pair in pairs]
    return [task.result() for task in tasks]


async def _execution(tenant: Tenant, script: str, language: str, seconds: float) -> dict[str, Any]:
    if not _is_python(language):
        return _failed(f"the language {language[:100]!r} is not offered; python is")
    result, _ = await _program(tenant, RunCode(script, run_timeout=seconds))
    if result.outcome in ("timeout", "cpu"):
        return _failed(f"TimeoutError: {result.error.message if result.error else result.outcome}")
    return {"execution": as_execution(result), "exception_str": None}


def _failed(reason: str) -> dict[str, Any]:
    return {"execution": None, "exception_str": reason}


def _is_python(language: str) -> bool:
    return language.lower() in ("python", "python3", "py")


def _seconds(asked: float, most: float) -> float:
    """Return the seconds that a client asks for, `most` at most. Raises `RefusedRequest` for none."""
    if not asked > 0:
        raise RefusedRequest(422, "a timeout is a number of seconds above 0", "InvalidArguments")
    return min(asked, most)


async def _put(sandbox: AsyncSandbox, session: AsyncSession, files: Mapping[str, bytes | None]) -> None:
    """Put the files into the session's workspace. Raises `RefusedRequest` for a name that leaves it."""
    if files and sandbox.policy.filesystem.workspace == "none":
        raise SandboxError(f"the policy {sandbox.policy.name!r} gives programs no files")
    for name, data in files.items():
        try:
            await session.write_file(name, data or b"")
        except WorkspaceError as error:
            raise RefusedRequest(422, str(error), "WorkspaceError") from None


async def _fetched(session: AsyncSession, names: list[str], room: int) -> dict[str, str]:
    """Return the files of those names that there are, as far as they fit together into `room` bytes of the answer."""
    found: dict[str, str] = {}
    left = min(MAX_FETCHED, room * 3 // 4 - UNFIT_BYTES)  # base64 makes four characters of three bytes
    for name in names:
        try:
            data = await session.read_file(name, max_bytes=left)
        except SandboxError:
            continue
        left -= len(data)
        found[name] = await apart(len(data), to_base64, data)
    return found
