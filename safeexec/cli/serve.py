"""`safeexec serve`: sessions for programs in any language, over HTTP or over a pipe."""

from __future__ import annotations

import argparse
import os
import sys
from secrets import token_urlsafe
from typing import Any

from safeexec import StoreOptions
from safeexec.cli.common import add_http_options, add_policy_option, add_tools_option, tools_of
from safeexec.engine.approvals import Later
from safeexec.errors import SandboxError
from safeexec.servers import stdio
from safeexec.servers.access import hosts_for, is_loopback, listen
from safeexec.servers.http.grants import Grant, read_tenants
from safeexec.servers.service import Service

NEEDS = "this needs the libraries of a server: pip install 'safeexec[server]'"


def add_options(parser: argparse.ArgumentParser) -> None:
    add_policy_option(parser)
    parser.add_argument(
        "--allow-policy",
        nargs="+",
        action="extend",
        metavar="P",
        help="what else clients may name (default: every shipped profile)",
    )
    parser.add_argument(
        "--stdio", action="store_true", help="JSON-RPC 2.0 over standard input and output, a message a line"
    )
    parser.add_argument(
        "--owned",
        action="store_true",
        help="with --stdio: the client brings its own policies",
    )
    add_tools_option(parser)
    parser.add_argument("--record", metavar="DIR", help="record each session that a client opens in a new file there")
    parser.add_argument(
        "--store",
        metavar="PLACE",
        help="keep the sessions that clients open by a label: a directory, or postgresql://…",
    )
    parser.add_argument(
        "--durable", choices=("step", "second", "close"), default="second", help="when a step is on the disk (second)"
    )
    http = parser.add_argument_group("over HTTP (without --stdio)")
    http.add_argument("--host", default="127.0.0.1", metavar="H", help="address to listen on (default: 127.0.0.1)")
    add_http_options(http, "a token, or tenants with their tokens and quotas (YAML)")
    http.add_argument("--allow-host", nargs="+", action="extend", metavar="NAME", help="other names of this server")
    http.add_argument(
        "--replica",
        default="",
        metavar="NAME",
        help="one of several servers: ids of its sessions begin with NAME and a dot",
    )
    http.add_argument(
        "--idle-seconds", type=float, default=1800, metavar="S", help="a session idle for longer is closed (1800)"
    )
    http.add_argument(
        "--max-seconds", type=float, default=86400, metavar="S", help="a session that is older is closed (86400)"
    )


def main(options: argparse.Namespace) -> int:
    """Serve until that is ended, with 0; what the policies or the machine refuse is an error of the command."""
    if sys.platform == "win32":
        raise SandboxError("safeexec serve runs on Linux and in its containers; from Windows, connect to one")
    import resource  # which Windows has not

    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    if options.owned and not options.stdio:
        raise SandboxError("--owned is for --stdio: over HTTP others may be clients")
    if options.owned:
        service = Service("calculator", (), owned=True)
    else:
        store = None if options.store is None else StoreOptions(at=options.store)
        # Whoever has the session says yes or no to a tool, however long that takes.
        later = Later("session.answer allows it or not")
        tools: dict[str, Any] = {}
        if options.tools:
            tools = {"tools": tools_of(options), "approval": lambda _tool, _arguments: later}
        given = (options.policy, options.allow_policy, options.record, options.replica)
        service = Service(*given, store=store, durable=options.durable, **tools)
    if not options.stdio:
        return _over_http(service, options)
    import asyncio

    asyncio.run(_over_pipes(service))
    return 0


def _over_http(offers: Service, options: argparse.Namespace) -> int:
    try:
        from safeexec.servers import running
        from safeexec.servers.http import (  # with the libraries of the extra `server`, which pipes do without
            app,
            tenancy,
        )
    except ImportError as error:
        raise SandboxError(f"{NEEDS} ({error})") from None
    if options.token_file is not None:
        grants, token = read_tenants(options.token_file), "(in-the-token-file)"
    elif is_loopback(options.host):
        token = token_urlsafe(32)
        grants = {"": Grant(token=token)}
    else:
        raise SandboxError(f"--host {options.host} can be reached by others: that needs a --token-file")
    hosts = hosts_for(options.host, options.allow_host or ())
    lifetimes = app.Lifetimes(options.idle_seconds, options.max_seconds)
    served = app.application(tenancy.Tenancy(offers, grants), hosts, lifetimes)
    return running.serve(served, listen(options.port, options.host), token)


async def _over_pipes(service: Service) -> None:
    """Serve standard input and output. Whatever else prints here prints to standard error."""
    read, write = os.dup(0), os.dup(1)
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    await stdio.serve(service, read, write)
