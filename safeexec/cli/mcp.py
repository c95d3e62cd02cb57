"""`safeexec mcp`: serve sessions to models over the Model Context Protocol."""

from __future__ import annotations

import asyncio
from secrets import token_urlsafe
from typing import TYPE_CHECKING

from safeexec.cli.common import add_http_options, add_policy_option, add_tools_option, tools_of
from safeexec.errors import SandboxError
from safeexec.servers.access import listen
from safeexec.servers.http.grants import read_token

if TYPE_CHECKING:
    import argparse


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.description = "A server of the Model Context Protocol, over the standard streams or HTTP on loopback."
    add_policy_option(parser)
    parser.add_argument("--http", action="store_true", help="serve over HTTP, and print the address and its token")
    add_http_options(parser, "the token of HTTP (default: a new one at each start)")
    add_tools_option(parser)


def main(options: argparse.Namespace) -> int:
    """Serve until the client, or SIGTERM, ends it. `SandboxError` where a library, a tool or a policy is missing."""
    try:
        from safeexec.servers import mcp_transports, running  # with the libraries of the extra `mcp`
    except ModuleNotFoundError as error:
        raise SandboxError(f"MCP needs {error.name}: pip install 'safeexec[mcp]'") from None
    tools = tools_of(options)
    if options.http:
        token = token_urlsafe(32) if options.token_file is None else read_token(options.token_file)
        return running.serve(mcp_transports.HttpMcpServer(options.policy, tools, token), listen(options.port), token)
    asyncio.run(mcp_transports.serve_stdio(options.policy, tools))
    return 0
