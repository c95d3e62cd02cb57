"""The judge: programs by URL, in the shapes of SandboxFusion and of open-r1's router. Reward clients call it as it is.

Every program has a session of its own; the policy is the tenant's default.
"""

from __future__ import annotations

import asyncio
import os
from typing import Annotated, Any

from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from safeexec import AsyncSandbox, AsyncSession, Result, SandboxError, WorkspaceError
from safeexec.servers.http.cells import as_execution, data_of, shown, traceback_of
from safeexec.servers.http.requests import RefusedRequest, answer, from_base64, read, takes, to_base64
from safeexec.servers.http.tenancy import Tenancy, Tenant
from safeexec.servers.methods import MAX_MESSAGE

Files = dict[str, str | None]
"""Names in the workspace → contents in base64."""
Several = Annotated[list[str], Meta(max_length=1000)]
"""For each of them a program runs, or a file is read."""
MAX_FETCHED = MAX_MESSAGE // 2
"""Bytes of the files of one answer, before base64."""


class RunCode(Struct):
    """What `/run_code` takes. `run_timeout`: seconds. `memory_limit_MB`: below 0 the policy's. `fetch_files`: names of
    files whose contents the answer has.
    """

    code: str
    language: str = "python"
    stdin: str | None = None
    run_timeout: float = 10
    memory_limit_MB: float = -1
    files: Files = {}
    fetch_files: Several = []
    args: list[str] = []


class RunJupyter(Struct):
    """What `/run_jupyter` takes. Both timeouts are seconds; `cell_timeout` 0: the most that the policy gives a step."""

    cells: Several
    cell_timeout: float = 0
    total_timeout: float = 45
    kernel: str = "python3"
    files: Files = {}
    fetch_files: Several = []


class Batch(Struct):
    """What `/execute_batch` takes. `timeout`: seconds for each script. `request_timeout` is the client's own."""

    scripts: Several
    languages: Several = []
    language: str = "python"
    timeout: float = 300
    request_timeout: float = 30


def routes() -> list[BaseRoute]:
    """The paths that this module answers."""
    return [
        Route("/run_code", takes(RunCode)(run_code), methods=["POST"]),
        Route("/run_jupyter", takes(RunJupyter)(run_jupyter), methods=["POST"]),
        Route("/execute_batch", takes(Batch)(execute_batch), methods=["POST"]),
    ]


async def run_code(request: Request) -> Response:
    """Run one program."""
    asked = await read(request, RunCode)
    tenancy: Tenancy = request.scope["tenancy"]
    tenant: Tenant = request.scope["tenant"]
    reply: dict[str, Any] = {"status": "SandboxError", "message": "", "compile_result": None, "run_result": None}
    reply |= {"executor_pod_name": os.environ.get("HOSTNAME"), "files": {}}
    if not _is_python(asked.language):
        return answer(reply | {"message": f"the language {asked.language[:100]!r} is not offered; python is"})
    given = _decoded(asked.files)
    try:
        result, files = await tenancy.while_there(request, _program(tenant, asked, given))
    except SandboxError as error:
        return answer(reply | {"message": f"{type(error).__name__}: {error}"})
    ran = _ran(result)
    succeeded = ran["status"] == "Finished" and ran["return_code"] == 0
    return answer(reply | {"status": "Success" if succeeded else "Failed", "run_result": ran, "files": files})


async def _program(tenant: Tenant, asked: RunCode, given: dict[str, bytes]) -> tuple[Result, dict[str, str]]:
    async with tenant.turn():
        sandbox = await tenant.sandbox()
        limits = sandbox.policy.limits
        tightened: dict[str, Any] = {"checkpoints": "off"}
        if 0 < asked.memory_limit_MB < limits.memory_mb:
            tightened["memory_mb"] = max(16, int(asked.memory_limit_MB))
        place = tenant.place(sandbox.policy, tightened.get("memory_mb"))
        try:
            async with sandbox.session(**tightened) as session:
                await _put(sandbox, session, given)
                result = await session.run(
                    asked.code,
                    timeout=_seconds(asked.run_timeout, limits.max_wall_seconds),
                    stdin=asked.stdin or "",
                    argv=["main.py", *asked.args],
                )
                return tenant.counted(result), await _fetched(session, asked.fetch_files)
        finally:
            place.leave()


def _ran(result: Result) -> dict[str, Any]:
    """A result as `run_result` tells it. `execution_time`: seconds."""
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


async def run_jupyter(request: Request) -> Response:
    """Run cells one after the other in one session; a cell that fails ends nothing, one that takes too long all."""
    asked = await read(request, RunJupyter)
    tenancy: Tenancy = request.scope["tenancy"]
    reply: dict[str, Any] = {"status": "SandboxError", "message": "", "driver": None, "cells": []}
    reply |= {"executor_pod_name": os.environ.get("HOSTNAME"), "files": {}}
    if not _is_python(asked.kernel):
        return answer(reply | {"message": f"the kernel {asked.kernel[:100]!r} is not offered; python3 is"})
    given = _decoded(asked.files)
    try:
        results, files = await tenancy.while_there(request, _cells(request.scope["tenant"], asked, given))
    except SandboxError as error:
        return answer(reply | {"message": f"{type(error).__name__}: {error}"})
    late = any(result.outcome in ("timeout", "cpu") for result in results)
    driver = {
        "status": "TimeLimitExceeded" if late else "Finished",
        "execution_time": sum(result.usage.wall_ms for result in results) / 1000,
        "return_code": None if late else 0,
        "stdout": "",
        "stderr": "",
    }
    cells = [_cell(result) for result in results]
    status = "Failed" if late else "Success"
    return answer(reply | {"status": status, "driver": driver, "cells": cells, "files": files})


async def _cells(tenant: Tenant, asked: RunJupyter, given: dict[str, bytes]) -> tuple[list[Result], dict[str, str]]:
    async with tenant.turn():
        sandbox = await tenant.sandbox()
        most = sandbox.policy.limits.max_wall_seconds
        left = _seconds(asked.total_timeout, float("inf"))
        each = _seconds(asked.cell_timeout or most, most)
        results: list[Result] = []
        place = tenant.place(sandbox.policy)
        try:
            async with sandbox.session() as session:
                await _put(sandbox, session, given)
                for cell in asked.cells:
                    results.append(tenant.counted(await session.run(cell, timeout=min(each, left))))
                    left = max(0.001, left - results[-1].usage.wall_ms / 1000)
                    if results[-1].outcome in ("timeout", "cpu"):
                        break
                return results, await _fetched(session, asked.fetch_files)
        finally:
            place.leave()


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


async def execute_batch(request: Request) -> Response:
    """Run scripts side by side, each in a session of its own."""
    asked = await read(request, Batch)
    tenancy: Tenancy = request.scope["tenancy"]
    tenant: Tenant = request.scope["tenant"]
    languages = asked.languages or [asked.language] * len(asked.scripts)
    if len(languages) != len(asked.scripts):
        raise RefusedRequest(422, "`languages` needs one for each of `scripts`", "InvalidArguments")

    async def one(script: str, language: str) -> dict[str, Any]:
        if not _is_python(language):
            return _failed(f"the language {language[:100]!r} is not offered; python is")
        try:
            result, _ = await _program(tenant, RunCode(script, run_timeout=asked.timeout), {})
        except (RefusedRequest, SandboxError) as error:
            return _failed(str(error))
        if result.outcome in ("timeout", "cpu"):
            return _failed(f"TimeoutError: {result.error.message if result.error else result.outcome}")
        return {"execution": as_execution(result), "exception_str": None}

    async def all_of_them() -> list[dict[str, Any]]:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(*pair)) for pair in zip(asked.scripts, languages, strict=True)]
        return [task.result() for task in tasks]

    return answer(await tenancy.while_there(request, all_of_them()))


def _failed(reason: str) -> dict[str, Any]:
    return {"execution": None, "exception_str": reason}


def _is_python(language: str) -> bool:
    return language.lower() in ("python", "python3", "py")


def _seconds(asked: float, most: float) -> float:
    """The seconds that a client asks for, `most` at most. Raises `RefusedRequest` for none."""
    if not asked > 0:
        raise RefusedRequest(422, "a timeout is a number of seconds above 0", "InvalidArguments")
    return min(asked, most)


def _decoded(files: Files) -> dict[str, bytes]:
    return {name: from_base64(name, content or "") for name, content in files.items()}


async def _put(sandbox: AsyncSandbox, session: AsyncSession, files: dict[str, bytes]) -> None:
    """Put the files into the session's workspace. Raises `RefusedRequest` for a name that leaves it."""
    if files and sandbox.policy.filesystem.workspace == "none":
        raise SandboxError(f"the policy {sandbox.policy.name!r} gives programs no files")
    for name, data in files.items():
        try:
            await asyncio.to_thread(session.write_file, name, data)
        except WorkspaceError as error:
            raise RefusedRequest(422, str(error), "WorkspaceError") from None


async def _fetched(session: AsyncSession, names: list[str]) -> dict[str, str]:
    """The files of those names that there are, as far as they fit into the answer together."""
    found, left = {}, MAX_FETCHED
    for name in names:
        try:
            data = await asyncio.to_thread(session.read_file, name, max_bytes=left)
        except SandboxError:
            continue
        left -= len(data)
        found[name] = to_base64(data)
    return found
