"""Access to a server that listens on a port: its token, the names that it answers to, and the address that it binds.

A server binds loopback unless more is asked for, and prints where it listens in one line. A server with tenants checks
tokens in `safeexec.servers.http.app`.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from contextlib import suppress
from typing import Any, NamedTuple

Scope = MutableMapping[str, Any]
App = Callable[[Scope, Any, Any], Awaitable[None]]
"""An ASGI application."""
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
WILDCARDS = frozenset({"0.0.0.0", "::"})


class TokenRequired:
    """An ASGI application whose every request must carry the token: as ``Authorization: Bearer``, as ``X-API-Key``, or
    as the password of HTTP Basic with any user. Otherwise 401.
    """

    def __init__(self, app: App, token: str) -> None:
        self._app = app
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or any(hmac.compare_digest(given, self._token) for given in given_tokens(scope)):
            await self._app(scope, receive, send)
            return
        headers = [(b"content-type", b"text/plain"), (b"www-authenticate", b"Bearer")]
        await send({"type": "http.response.start", "status": 401, "headers": headers})
        await send({"type": "http.response.body", "body": b"the token of this server is missing or wrong\n"})


def given_tokens(scope: Scope) -> list[bytes]:
    """Return the tokens that a request carries."""
    found = []
    for name, value in scope["headers"]:
        if name == b"x-api-key":
            found.append(value)
        elif name == b"authorization":
            scheme, _, credentials = value.partition(b" ")
            if scheme.lower() == b"bearer":
                found.append(credentials.strip())
            elif scheme.lower() == b"basic":
                with suppress(binascii.Error):
                    found.append(base64.b64decode(credentials, validate=True).partition(b":")[2])
    return found


class Hosts(NamedTuple):
    """By which names the server may be called: a page of another site that has its own name point here is refused."""

    names: frozenset[str]
    addresses: bool = False
    """True where any IP address will do: a name that was made to point here is not one."""

    def allows(self, host: str) -> bool:
        """Return whether `host`, the header with or without a port, is one of them."""
        name = _name(host)
        return name is not None and (name in self.names or (self.addresses and _is_address(name)))


def hosts_for(bound: str, allowed: Iterable[str]) -> Hosts:
    """Return the names of a server that listens on `bound`, with those that were `allowed` besides."""
    names = {name.lower() for name in allowed} | LOOPBACK
    if bound in WILDCARDS:
        return Hosts(frozenset({*names, socket.gethostname().lower()}), addresses=True)
    return Hosts(frozenset({*names, bound.lower()}))


def is_loopback(bound: str) -> bool:
    return bound in LOOPBACK or (_is_address(bound) and ipaddress.ip_address(bound).is_loopback)


def same_origin(origin: str, host: str) -> bool:
    """Return whether a page that sends `origin` came from this very server."""
    return origin.lower() in (f"http://{host}".lower(), f"https://{host}".lower())


def _name(host: str) -> str | None:
    """Return the name of a Host header, without port and the brackets of an IPv6 address. None for what is no host."""
    if host.startswith("["):
        name, bracket, port = host[1:].partition("]")
        port = port.removeprefix(":") if bracket else "x"
    else:
        name, _, port = host.partition(":")
    return name.lower() if name and (port == "" or (port.isascii() and port.isdigit())) else None


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def listen(port: int, host: str = "127.0.0.1") -> socket.socket:
    """Open a socket that takes connections; port 0 picks one. Raises OSError, which names the address."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With its protocol named, or asyncio leaves Nagle's algorithm on: 40 ms for each answer.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        # A server that is started again gets its port though connections of the one before are in TIME_WAIT.
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(2048)
    except (OSError, OverflowError) as error:
        listening.close()
        raise OSError(f"cannot listen on {host}:{port}: {error}") from None
    return listening


def announce(listening: socket.socket, token: str) -> None:
    """Print for whoever started this process that it accepts requests, where, and with which token."""
    host, port = listening.getsockname()[:2]
    print(f"safeexec serves http://{f'[{host}]' if ':' in host else host}:{port} token={token}", flush=True)
