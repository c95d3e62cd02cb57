"""Who may use a door that listens on a port: the holder of its token. Bound to loopback, announced in one line."""

from __future__ import annotations

import base64
import binascii
import hmac
import secrets
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
App = Callable[[Scope, Any, Any], Awaitable[None]]
"""An ASGI application."""


class TokenRequired:
    """An ASGI application whose every request must carry the token: as ``Authorization: Bearer``, as ``X-API-Key``, or
    as the password of HTTP Basic with any user. Otherwise 401.
    """

    def __init__(self, app: App, token: str) -> None:
        self._app = app
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or any(hmac.compare_digest(given, self._token) for given in _given(scope)):
            await self._app(scope, receive, send)
            return
        headers = [(b"content-type", b"text/plain"), (b"www-authenticate", b"Bearer")]
        await send({"type": "http.response.start", "status": 401, "headers": headers})
        await send({"type": "http.response.body", "body": b"the token of this server is missing or wrong\n"})


def _given(scope: Scope) -> list[bytes]:
    """The tokens that a request carries."""
    found = []
    for name, value in scope["headers"]:
        if name == b"x-api-key":
            found.append(value)
        elif name == b"authorization":
            scheme, _, credentials = value.partition(b" ")
            if scheme.lower() == b"bearer":
                found.append(credentials.strip())
            elif scheme.lower() == b"basic":
                found.append(_password(credentials))
    return found


def _password(credentials: bytes) -> bytes:
    try:
        return base64.b64decode(credentials, validate=True).partition(b":")[2]
    except binascii.Error:
        return b""


def token_of(path: str | None) -> str:
    """The token in a file, or a new one. Raises OSError, also for a file that holds none."""
    if path is None:
        return secrets.token_urlsafe(32)
    with open(path, encoding="ascii", errors="replace") as file:
        token = file.read(4096).strip()
    if len(token) < 16 or not token.isprintable() or " " in token:
        raise OSError(f"{path}: a token is one word of at least 16 ASCII characters")
    return token


def listen(port: int) -> socket.socket:
    """A socket on loopback that takes connections; port 0 picks one. Raises OSError."""
    try:
        return socket.create_server(("127.0.0.1", port))
    except OverflowError as error:
        raise OSError(str(error)) from None


def announce(listening: socket.socket, token: str) -> None:
    """Tell whoever started this process that it accepts requests, where, and with which token."""
    print(f"safeexec serves http://127.0.0.1:{listening.getsockname()[1]} token={token}", flush=True)
