"""`safeexec mcp`: serve sessions to models over the Model Context Protocol."""

from __future__ import annotations

import asyncio
import sys
from contextlib import redirect_stdout
from importlib import import_module
from typing import TYPE_CHECKING, Any

from safeexec.cli.common import add_http_options, add_policy_option
from safeexec.errors import SandboxError, ToolError
from safeexec.servers.access import listen, new_token
from safeexec.servers.http.grants import read_token

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.description = "A server of the Model Context Protocol, over the standard streams or HTTP on loopback."
    add_policy_option(parser)
    parser.add_argument("--http", action="store_true", help="serve over HTTP, and print the address and its token")
    add_http_options(parser, "the token of HTTP (default: a new one at each start)")
    parser.add_argument(
        "--tools",
        nargs="+",
        default=[],
        metavar="MODULE:FUNCTION",
        help="host functions that code may call, if the policy allows them (tools.allow)",
    )


def main(options: argparse.Namespace) -> int:
    """Serve until the client, or SIGTERM, ends it. `SandboxError` where a library, a tool or a policy is missing."""
    try:
        from safeexec.servers import mcp  # with the libraries of the extra `mcp`
    except ModuleNotFoundError as error:
        raise SandboxError(f"MCP needs {error.name}: pip install 'safeexec[mcp]'") from None
    sys.path.insert(0, "")  # a tool may be in the current directory, as with `python -m`
    with redirect_stdout(sys.stderr):  # standard output is the protocol's
        tools = [tool_of(name) for name in options.tools]
    if options.http:
        token = new_token() if options.token_file is None else read_token(options.token_file)
        return mcp.serve_http(options.policy, tools, token, listen(options.port))
    asyncio.run(mcp.serve_stdio(options.policy, tools))
    return 0


def tool_of(name: str) -> Callable[..., Any]:
    """The function that ``module:function`` names, of the current directory or installed. Raises `ToolError`."""
    module, _, function = name.partition(":")
    try:
        found: Callable[..., Any] = getattr(import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        raise ToolError(f"--tools {name}: {error}") from None
    return found
