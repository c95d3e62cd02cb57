"""A sandbox in a container of this machine: where the system's own kernel cannot hold guest code, and by name on Linux.

The first one starts podman or docker with the image that `safeexec container build` has made. In it runs
`safeexec serve --stdio`; all sandboxes of this process talk to it over its two pipes. It ends with this process: the
server reads the end of its input, and the engine removes the container.
"""

from __future__ import annotations

import os
import secrets
import shlex
import shutil
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import IO, Any
from weakref import WeakValueDictionary

from safeexec.api.audit import observer_for
from safeexec.common.text import printable
from safeexec.common.version import VERSION
from safeexec.engine.host.files.file_names import check_given
from safeexec.engine.host.waiting import Core, Work
from safeexec.engine.policy.model import Policy
from safeexec.errors import ProtectionError, ProtocolError, SandboxClosed, SandboxError, SessionClosed
from safeexec.remote.crossing import contents_of, read_file
from safeexec.remote.pipe import PipeWire
from safeexec.remote.sandbox import RemoteSandboxCore, toolbox_of
from safeexec.remote.session import RemoteSessionCore
from safeexec.results import TemplateInfo
from safeexec.results.marked import marked

BUILD = "`safeexec container build` makes the image"
START_SECONDS = 120.0
"""Time for an engine until the server in the container answers: a virtual machine may have to wake up."""
REMOVE_SECONDS = 30.0
SAID_SECONDS = 1.0
"""Time to wait for the rest of what an engine says that has ended."""
HELD = (
    "--network none --read-only --tmpfs /tmp:mode=1777 --cap-drop all --security-opt no-new-privileges "
    "--pull never --log-driver none"
)
"""The options of every container. No log: all that crosses would be in it."""
OPTIONS = ("spare", "max_sessions", "queue_seconds", "idle_seconds")
_SAID_BYTES = 2000
_lock = threading.Lock()
_started: list[ContainerWire] = []
"""The container of this process, once there is one."""


def words(variable: str) -> list[str]:
    """Return the words of a command in a variable of the environment."""
    return shlex.split(os.environ.get(variable, ""), posix=os.name != "nt")


def image() -> str:
    """Return the image that is built and run: what SAFEEXEC_IMAGE says, else that of this version."""
    return os.environ.get("SAFEEXEC_IMAGE") or f"localhost/safeexec:{VERSION}"


def engine() -> list[str]:
    """Return the command of a container engine: of SAFEEXEC_ENGINE, else podman or docker. Raises `ProtectionError`."""
    if given := words("SAFEEXEC_ENGINE"):
        return given
    if found := shutil.which("podman") or shutil.which("docker"):
        return [found]
    here = "" if sys.platform == "linux" else f"this is {sys.platform}, only Linux can hold guest code, and "
    how = f"install Podman (podman.io) or Docker, then {BUILD}"
    raise ProtectionError(f"{here}no container engine is on PATH: {how}")


class ContainerWire(PipeWire):
    """A container, and the pipes to the server in it."""

    def __init__(self) -> None:
        """Start it. Raises `ProtectionError` where there is no engine, `SandboxClosed` where it cannot be run."""
        self._engine = engine()
        self._name = f"safeexec-{os.getpid()}-{secrets.token_hex(4)}"
        more = words("SAFEEXEC_ENGINE_RUN")
        run = ["run", "--rm", "--interactive", "--name", self._name, *HELD.split(), *more]
        server = ["--entrypoint", "safeexec", image(), "serve", "--stdio", "--owned"]
        super().__init__([*self._engine, *run, *server], subprocess.PIPE, "sandbox.open() starts another container")
        self._said = bytearray()
        pipe = self._process.stderr
        self._listener = threading.Thread(target=_keep, args=(pipe, self._said), name="safeexec-said", daemon=True)
        self._listener.start()

    def said(self) -> str:
        """Return the last lines that engine and server wrote to standard error."""
        self._listener.join(SAID_SECONDS)
        return " ".join(printable(bytes(self._said).decode("utf-8", "replace")).split())

    def close(self) -> None:
        """End the container, also one that does not end by itself."""
        super().close()
        if self._owner == os.getpid() and self._process.returncode:
            command, nothing = [*self._engine, "rm", "--force", self._name], subprocess.DEVNULL
            with suppress(OSError, subprocess.SubprocessError):
                subprocess.run(command, stdin=nothing, stdout=nothing, stderr=nothing, timeout=REMOVE_SECONDS)


def _keep(pipe: IO[bytes], said: bytearray) -> None:
    """Keep the end of what comes through a pipe, until nobody writes to it."""
    with pipe:
        while data := pipe.read(_SAID_BYTES):
            said += data
            del said[:-_SAID_BYTES]


def _wire() -> ContainerWire:
    """Return the container that runs, or a new one."""
    with _lock:
        if _started and not _started[0].alive:
            _started.pop().close()
        if not _started:
            _started.append(ContainerWire())
        return _started[0]


class ContainerCore(RemoteSandboxCore):
    """One policy in the container of this process."""

    _wire: ContainerWire

    def __init__(self, policy: Policy, arguments: Mapping[str, Any]) -> None:
        """Raises `SandboxError` for what a sandbox in a container does not take."""
        if policy.requirements:
            raise SandboxError("requirements are not fetched in a container, which has no network: build them in")
        if arguments.get("store") is not None:
            raise SandboxError("a store is kept here, not in a container: put states into files with session.save()")
        if arguments.get("files"):
            check_given(arguments["files"], policy)
        self.policy = policy
        self.toolbox = toolbox_of(arguments.get("tools"), arguments.get("approval"), policy)
        self.observer = observer_for(policy, arguments.get("audit"))
        self._labelled: WeakValueDictionary[str, RemoteSessionCore] = WeakValueDictionary()
        self._files = dict(arguments.get("files") or {})
        self._options = {name: arguments[name] for name in OPTIONS if arguments.get(name) is not None}
        self.queue_seconds = self._options.get("queue_seconds", self.queue_seconds)

    @property
    def alive(self) -> bool:
        return bool(self._which) and self._wire.alive

    def open(self, launched: None = None) -> Core[None]:
        """Start the container, if none runs, and the sandbox in it. Raises `ProtectionError`."""
        self.begun = True
        self._wire = yield Work(_wire)
        brought = {"name": self.policy.name, "yaml": self.policy.to_yaml(), "origins": dict(self.policy.origins)}
        params = {"version": VERSION, "brought": brought | {"options": self._options}}
        try:
            answer = yield from self._call("bring", params, within=START_SECONDS)
        except (SandboxClosed, ProtocolError) as error:
            said = self._wire.said()
            yield Work(self._wire.close)
            how = BUILD if said else f"see whether `{' '.join(engine())} info` answers"
            raise ProtectionError(f"the Linux container did not start ({said or error}); {how}") from None
        if answer.version != VERSION:
            yield Work(self._wire.close)
            raise ProtectionError(f"the image has safeexec {answer.version}, and this is {VERSION}: {BUILD}")
        self._which = {"policy": answer.policy}
        try:
            yield from self.declare()
        except BaseException:
            yield from self.close()
            raise

    def close(self) -> Core[None]:
        """Close the sandbox; the container stays for the next one."""
        self.toolbox.close()
        if self.observer is not None:
            self.observer.close()
        which, self._which = self._which, {}
        if which and self._wire.alive:
            with suppress(SandboxClosed, SandboxError):
                yield from self._call("drop", which, within=START_SECONDS)

    def new_template(
        self, name: str, prepare: object, files: Any, timeout: float | None, tightened: Any, api: object
    ) -> Core[TemplateInfo]:
        held = self._files | dict(files or {})
        return (yield from super().new_template(name, prepare, held, timeout, tightened, api))

    def session_for(
        self, label: str, state: Any, keywords: dict[str, Any], new: bool = True
    ) -> Core[RemoteSessionCore]:
        """Return a label's session, as a sandbox here does. Files and a saved state are sent where none is open."""
        given = self.beginning(**keywords) | {"label": label}
        try:
            answer = yield from self._call("session_for", {**given, "new": False})
        except SessionClosed:
            if not new:
                raise
            if state is not None and os.path.exists(state):
                given["state"] = marked((yield Work(partial(read_file, state))))
            elif "template" not in given:
                files = yield Work(partial(contents_of, self._files))
                given["files"] = {path: marked(data) for path, data in files}
            seconds = given.get("queue_seconds", self.queue_seconds)
            answer = yield from self._call("session_for", given, seconds=seconds)
        known = self._labelled.get(label)
        if known is None or known.identity != answer.session:
            known = self._labelled[label] = RemoteSessionCore(self, answer.session, label)
        return known

    def new_session(self, **given: Any) -> Core[RemoteSessionCore]:
        session = yield from super().new_session(**given)
        try:
            for name, data in (yield Work(partial(contents_of, {} if given.get("template") else self._files))):
                yield from session.put(name, data)
        except BaseException:
            yield from session.close()
            raise
        return session
