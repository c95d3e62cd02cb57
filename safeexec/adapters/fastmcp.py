"""A `SandboxProvider` for fastmcp's code mode, in which a model calls the tools of a server from Python:

FastMCP("server", transforms=[CodeMode(sandbox_provider=SafeProvider("standard"))])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from fastmcp.exceptions import ToolError

from safeexec import AsyncSandbox

if TYPE_CHECKING:
    from safeexec import AsyncSession, Policy, Result

_AWAITED = """
import asyncio

def _awaited(function):
    async def call(*args, **kwargs):
        return function(*args, **kwargs)
    return call
"""
"""Host tools answer at once; the programs of this server await them."""

_INDENTED = r"""
import ast
_inside = set()
try:
    for _node in ast.walk(ast.parse(source)):
        if isinstance(_node, (ast.Constant, ast.JoinedStr)) and _node.end_lineno > _node.lineno:
            _inside.update(range(_node.lineno + 1, _node.end_lineno + 1))
except SyntaxError:
    pass  # the run reports it
"\n".join(line if number in _inside else " " + line for number, line in enumerate(source.split("\n"), 1))
"""
"""Makes of a program the body of a function: each line one to the right, but for those that begin within a text."""


class SafeProvider:
    """Runs each program in a sandbox of its own, as the functions that it may call differ from program to program. The
    policy must allow `asyncio` and `ast`.
    """

    def __init__(self, policy: str | Policy = "standard", *, timeout: float | None = None, **options: Any) -> None:
        """`timeout`: seconds of one program, the policy's where none is given. `options` are those of `Sandbox`."""
        self._policy = policy
        self._timeout = timeout
        self._options = options

    async def run(
        self,
        code: str,
        *,
        inputs: dict[str, Any] | None = None,
        external_functions: dict[str, Callable[..., Any]] | None = None,
    ) -> Any:
        """Return what the program returns, or else what it printed. It may return and await at its top level; `inputs`
        are its variables, `external_functions` what it may await.

        Raises `ToolError` with the observation for the model.
        """
        tools = dict(external_functions or {})
        async with (
            AsyncSandbox(self._policy, tools=tools, **self._options) as sandbox,
            sandbox.session(checkpoints="off") as session,
        ):
            result = await self._run(session, code, inputs or {}, tools)
        return result.value if result.value is not None else result.stdout or None

    async def _run(self, session: AsyncSession, code: str, inputs: dict[str, Any], tools: dict[str, Any]) -> Result:
        body = _checked(await session.run(_INDENTED, namespace={"source": code})).value
        _checked(await session.run(_AWAITED + "".join(f"{name} = _awaited({name})\n" for name in tools)))
        for name, value in inputs.items():
            await session.set(name, value)
        result = await session.run(f"async def _main():\n{body}\nasyncio.run(_main())", timeout=self._timeout)
        return _checked(result, lines_before=1)


def _checked(result: Result, *, lines_before: int = 0) -> Result:
    """Return a result that is `ok`. Raises `ToolError` with what a model needs, the line counted in its own program."""
    error = result.error
    if result.ok or error is None:
        return result
    place = f"line {error.line - lines_before}: " if error.line is not None else ""
    source = f"\n    {error.source_line}" if error.source_line else ""
    hint = f"\nHint: {error.hint}" if error.hint else ""
    raise ToolError(f"{place}{error.type}: {error.message}{source}{hint}")
