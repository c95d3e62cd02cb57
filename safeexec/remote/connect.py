"""`connect` and `async_connect`: the API of a sandbox and its sessions, driving the cores of one elsewhere."""

from __future__ import annotations

import shlex
from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any, Self, cast

from safeexec.api import aio, blocking
from safeexec.engine.approvals import Approval
from safeexec.engine.policy.model import Policy
from safeexec.remote.http import HttpWire
from safeexec.remote.pipe import PipeWire
from safeexec.remote.sandbox import RemoteSandboxCore

if TYPE_CHECKING:
    from safeexec.engine.host.sandbox import Tools
    from safeexec.recordings.sandbox import RecordedSandbox


def connect(
    url: str | None = None,
    token: str | None = None,
    *,
    command: Sequence[str] | None = None,
    policy: str | None = None,
    tools: Tools = None,
    approval: Approval | None = None,
) -> RemoteSandbox:
    """Return a `Sandbox` of a server: what it runs, runs there.

        with connect("http://127.0.0.1:8000", token) as sandbox: ...
        with connect(command=["ssh", "host", "safeexec", "serve", "--stdio"]) as sandbox: ...

    Give the `url` of `safeexec serve` and its `token` (which may be the password in the address), or a `command` that
    runs `safeexec serve --stdio`, which is started here and ended by `close()`. `policy` is one that the server offers;
    the default is the server's.

    Over HTTP the calls of a session wait where they come faster than the server allows. A call whose connection breaks
    is made again for some seconds: it runs once, and its caller gets the answer. A step with a listener (`on_output` …)
    is not: there a broken connection is a `SandboxClosed`, as it is where the server does not come back.

    `tools` are functions of this program that guest code there may call, and `approval` is asked about them, as of a
    `Sandbox` here: each call comes back over the connection, and is checked, run and counted here.

    Plugins and `Sandbox.command` are not offered, and `workspace` is None: files go through `read_file` and
    `write_file` of a session. Standard input is sent as a whole. Raises `SandboxError` where the server cannot be
    reached, refuses the token, or is no safeexec.
    """
    return RemoteSandbox(url, token, command, policy, tools, approval).open()


def async_connect(
    url: str | None = None,
    token: str | None = None,
    *,
    command: Sequence[str] | None = None,
    policy: str | None = None,
    tools: Tools = None,
    approval: Approval | None = None,
) -> AsyncRemoteSandbox:
    """Connect as `connect` does, for event loops: ``async with async_connect(url, token) as sandbox``, or await it."""
    return AsyncRemoteSandbox(url, token, command, policy, tools, approval)


class _Reached(blocking.SandboxAPI):
    """A sandbox of a server, for both APIs: it opens as one in a container does."""

    def __init__(self, url: str | None, token: str | None, command: Sequence[str] | None, *of: Any) -> None:
        """`of`: the policy, the tools, and the approval. Raises TypeError for what cannot be reached."""
        if (url is None) is (command is None):
            raise TypeError("connect takes the url of a server, or command=[…] that runs one")
        if not isinstance(url, str | None):
            raise TypeError(
                "connect takes one url; several servers are one behind a balancer, or by safeexec.cluster.serve"
            )
        if isinstance(command, str):
            raise TypeError(f"command must be a list, the program first, not a str: command={shlex.split(command)!r}")
        if not isinstance(of[0], str | None):
            raise TypeError(
                "policy= of connect is the name of one that the server offers; one of yours is offered by "
                "`safeexec serve --policy FILE`"
            )
        self._url, self._token, self._command = url, token, command or ()
        self._of = of
        self._arguments = {"tools": of[1]}
        self._engine = "container"
        self._opened: RecordedSandbox | None = None

    def _new_core(self) -> RecordedSandbox:
        wire = PipeWire(self._command) if self._url is None else HttpWire(self._url, self._token)
        return cast("RecordedSandbox", RemoteSandboxCore(wire, *self._of))

    @property
    def policy(self) -> Policy:
        """The server's policy."""
        return self._core.policy

    def __repr__(self) -> str:
        core = self._opened
        summary = "not open" if core is None else f"{core.policy.name!r}, {'open' if core.alive else 'closed'}"
        return f"<{type(self).__name__} {summary}>"


class RemoteSandbox(_Reached, blocking.Sandbox):
    """A sandbox of a server; `connect` makes it."""

    def open(self) -> Self:
        """Connect to the server; `with` does the same. Harmless when it is connected. Raises `SandboxError` where the
        server cannot be reached, refuses the token, or is no safeexec.
        """
        return super().open()


class AsyncRemoteSandbox(_Reached, aio.AsyncSandbox):
    """A sandbox of a server, for event loops; `async_connect` makes it. To await it is to open it."""

    async def open(self) -> Self:
        """Connect to the server as `RemoteSandbox.open` does; `async with` does the same."""
        return await super().open()

    def __await__(self) -> Generator[Any, Any, AsyncRemoteSandbox]:
        return self.open().__await__()
