"""`safeexec serve`: sessions for programs in any language."""

from __future__ import annotations

import argparse
import os
import resource
from typing import Any

from safeexec.cli.common import add_policy_option


def add_parser(commands: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser("serve", help="serve sessions to programs in any language")
    add_policy_option(parser)
    parser.add_argument(
        "--allow-policy",
        nargs="+",
        action="extend",
        metavar="P",
        help="what else clients may name (default: every shipped profile)",
    )
    parser.add_argument(
        "--stdio",
        action="store_true",
        required=True,
        help="JSON-RPC 2.0 over standard input and output, a message a line",
    )
    return parser


def main(options: argparse.Namespace) -> int:
    """0 when it was ended; what the policies or the machine refuse is an error of the command."""
    import asyncio

    from safeexec.servers.service import Service

    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    service = Service(options.policy, options.allow_policy)
    asyncio.run(_over_pipes(service))
    return 0


async def _over_pipes(service: Any) -> None:
    """Whatever else prints here prints to standard error: standard output is for the client alone."""
    from safeexec.servers.stdio import serve

    read, write = os.dup(0), os.dup(1)
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    await serve(service, read, write)
