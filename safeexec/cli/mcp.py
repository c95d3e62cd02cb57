"""`safeexec mcp`: serve sessions to models over the Model Context Protocol."""

from __future__ import annotations

import asyncio
import sys
from contextlib import redirect_stdout
from importlib import import_module
from typing import TYPE_CHECKING, Any

from safeexec.cli.common import add_policy_option
from safeexec.errors import SandboxError, ToolError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable


def add_parser(commands: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        "mcp",
        help="serve sessions to models over MCP",
        description="A server of the Model Context Protocol, over the standard streams or HTTP on loopback.",
    )
    add_policy_option(parser)
    parser.add_argument("--http", action="store_true", help="serve over HTTP, and print the address and its token")
    parser.add_argument("--port", type=int, default=8000, metavar="N", help="of HTTP; 0 picks one (default: 8000)")
    parser.add_argument("--token-file", metavar="FILE", help="the token of HTTP (default: a new one at each start)")
    parser.add_argument(
        "--tools",
        nargs="+",
        default=[],
        metavar="MODULE:FUNCTION",
        help="host functions that code may call, if the policy allows them (tools.allow)",
    )
    return parser


def main(options: argparse.Namespace) -> int:
    """Serve until the client, or SIGTERM, ends it. Raises `SandboxError` where a library, a tool or a policy is
    missing.
    """
    try:
        from safeexec.servers.access import listen, token_of
        from safeexec.servers.mcp import OverHttp, serve_stdio
        from safeexec.servers.running import serve
    except ModuleNotFoundError as error:
        raise SandboxError(f"MCP needs {error.name}: pip install 'safeexec[mcp]'") from None
    sys.path.insert(0, "")  # a tool may be in the current directory, as with `python -m`
    with redirect_stdout(sys.stderr):  # standard output is the protocol's
        tools = [tool_of(name) for name in options.tools]
    if options.http:
        token = token_of(options.token_file)
        return serve(OverHttp(options.policy, tools, token), listen(options.port), token)
    asyncio.run(serve_stdio(options.policy, tools))
    return 0


def tool_of(name: str) -> Callable[..., Any]:
    """The function that ``module:function`` names, from the current directory or what is installed. Raises
    `ToolError`.
    """
    module, _, function = name.partition(":")
    try:
        found: Callable[..., Any] = getattr(import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        raise ToolError(f"--tools {name}: {error}") from None
    return found
