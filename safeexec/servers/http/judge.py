"""The judge: programs by URL, in the shape of SandboxFusion. Reward clients, verl's first, call it as it is.

Every program has a session of its own; the policy is the tenant's default.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import Response

from safeexec import AsyncSandbox, AsyncSession, Result, SandboxError, WorkspaceError
from safeexec.remote.methods import MAX_MESSAGE, Arguments, Name
from safeexec.results.jsonable import to_base64
from safeexec.results.observation import failure_text
from safeexec.servers.account import apart
from safeexec.servers.http.requests import RefusedRequest, Routes, answer_apart
from safeexec.servers.http.tenancy import Tenancy, Tenant

routes = Routes()
Files = Annotated[dict[Name, bytes | None], Meta(max_length=10_000)]
"""Names in the workspace → contents in base64."""
MAX_FETCHED = MAX_MESSAGE // 2
"""Bytes of the files of one answer, before base64."""


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
    fetch_files: Annotated[list[str], Meta(max_length=1000)] = []
    args: Arguments = []


@routes("POST", "/run_code", takes=RunCode)
async def run_code(request: Request, body: RunCode) -> Response | dict[str, Any]:
    """Run one program."""
    tenancy: Tenancy = request.scope["tenancy"]
    tenant: Tenant = request.scope["tenant"]
    reply: dict[str, Any] = {"status": "SandboxError", "message": "", "compile_result": None, "run_result": None}
    reply |= {"executor_pod_name": os.environ.get("HOSTNAME"), "files": {}}
    if body.language.lower() not in ("python", "python3", "py"):
        return reply | {"message": f"the language {body.language[:100]!r} is not offered; python is"}
    try:
        result, files = await tenancy.while_there(request, _program(tenant, body))
    except SandboxError as error:
        return reply | {"message": f"{type(error).__name__}: {error}"}
    ran = _ran(result)
    succeeded = ran["status"] == "Finished" and ran["return_code"] == 0
    reply |= {"status": "Success" if succeeded else "Failed", "run_result": ran, "files": files}
    return await answer_apart(reply)


async def _program(tenant: Tenant, body: RunCode) -> tuple[Result, dict[str, str]]:
    if not body.run_timeout > 0:
        raise RefusedRequest(422, "a timeout is a number of seconds above 0", "InvalidArguments")
    async with tenant.turn():
        sandbox = await tenant.sandbox()
        limits = sandbox.policy.limits
        tightened: dict[str, Any] = {"checkpoints": "off"}
        if 0 < body.memory_limit_MB < limits.memory_mb:
            tightened["memory_mb"] = max(16, int(body.memory_limit_MB))
        with tenant.reserve(sandbox.policy, tightened.get("memory_mb")):
            async with sandbox.session(**tightened) as session:
                await _put(sandbox, session, body.files)
                try:
                    result = await session.run(
                        body.code,
                        timeout=min(body.run_timeout, limits.max_wall_seconds),
                        stdin=body.stdin or "",
                        argv=["main.py", *body.args],
                    )
                finally:
                    tenant.count_untold(session)
                tenant.count(result)
                return result, await _fetched(session, body.fetch_files)


def _ran(result: Result) -> dict[str, Any]:
    """Return a result as `run_result`. `execution_time`: seconds."""
    late = result.outcome in ("timeout", "cpu")
    code = result.exit_status if result.exit_status is not None else int(not result.ok)
    raised = failure_text(None if result.exit_status is not None else result.error)
    return {
        "status": "TimeLimitExceeded" if late else "Finished",
        "execution_time": result.usage.wall_ms / 1000,
        "return_code": None if late else code,
        "stdout": result.stdout,
        "stderr": result.stderr + raised,
    }


async def _put(sandbox: AsyncSandbox, session: AsyncSession, files: Mapping[str, bytes | None]) -> None:
    """Put the files into the session's workspace. Raises `RefusedRequest` for a name that leaves it."""
    if files and sandbox.policy.filesystem.workspace == "none":
        raise SandboxError(f"the policy {sandbox.policy.name!r} gives programs no files")
    for name, data in files.items():
        try:
            await session.write_file(name, data or b"")
        except WorkspaceError as error:
            raise RefusedRequest(422, str(error), "WorkspaceError") from None


async def _fetched(session: AsyncSession, names: list[str]) -> dict[str, str]:
    """Return the files of those names that there are, as far as they fit together into the answer."""
    found: dict[str, str] = {}
    left = MAX_FETCHED
    for name in names:
        try:
            data = await session.read_file(name, max_bytes=left)
        except SandboxError:
            continue
        left -= len(data)
        found[name] = await apart(len(data), to_base64, data)
    return found
