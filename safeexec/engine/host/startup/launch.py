"""Starts the process of a zygote. Imports next to nothing: the zygote boots while the host is still importing."""

from __future__ import annotations

import os
import signal
import socket
import sys

from safeexec import errors
from safeexec.common.typed import TYPE_CHECKING
from safeexec.errors import ProtectionError

if TYPE_CHECKING:
    from safeexec.engine.policy.model import Policy

CONTROL_FD = 3
_BOOT = "import sys;sys.path[:]={path!r};from safeexec.engine.zygote.__main__ import main;main({fd})"


def unsupported_build() -> str:
    """Return the error message for a CPython that was built without the GIL, or for musl; "" for any other."""
    if "t" in sys.abiflags:
        return "free-threaded builds of CPython are not supported: take the usual build of the same version"
    try:
        glibc = os.confstr("CS_GNU_LIBC_VERSION")
    except (ValueError, OSError):
        glibc = None
    if glibc is None:
        return "musl (Alpine) is not supported: take a Python for glibc, as in the image python:3.13-slim"
    return ""


def unstarted(error: OSError) -> str:
    """Return the error message for a Python that the system does not start."""
    why = f"{sys.executable} cannot be started: {error.strerror}"
    if not isinstance(error, PermissionError):
        return why
    return (
        f"{why} for user {os.geteuid()}; open its folders to others (chmod o+x), or install Python where all can run it"
    )


STORED_SEED = 1
"""The hash seed (PYTHONHASHSEED) where sessions are stored: sets of strings have the same order in another process."""


def environment(policy: Policy | None, *, stored: bool = False) -> dict[str, str]:
    """Return the environment of a zygote: nothing, but for the one variable that fixes the order of sets of strings.
    `policy` None: as most have it.
    """
    if policy is None or policy.determinism is None:
        return {"PYTHONHASHSEED": str(STORED_SEED)} if stored else {}
    return {"PYTHONHASHSEED": str(policy.determinism.hash_seed)}


class Launched:
    """A zygote process that has been started and has no configuration yet."""

    __slots__ = ("log", "pid", "pidfd", "socket")

    def __init__(self, environment: dict[str, str]) -> None:
        """Exec the interpreter with `environment`, what the loader needs, and one socket. Raises `ProtectionError`."""
        if sys.platform != "linux":
            raise ProtectionError(
                f"this is {sys.platform}: only Linux can hold guest code, in a virtual machine or a container"
            )
        if problem := unsupported_build():
            raise ProtectionError(problem)
        if not sys.executable:
            raise ProtectionError("sys.executable is empty: this host does not know the Python that it runs on")
        self.socket, theirs = socket.socketpair()
        self.log = os.memfd_create("safeexec-zygote-log")
        # -I ignores PYTHONHASHSEED, so where a policy sets one its parts are given one by one. -S: no site, no .pth
        # code.
        flags = ["-s", "-P", "-S"] if environment else ["-I", "-S"]
        # 3.14+ would run a script that another process has named to it in its memory; older ones know no such option.
        flags += ["-X", "disable-remote-debug", "-X", "utf8"]
        # Without it the loader may not find libpython. The zygote wipes it before it does anything else.
        if folders := loader_folders():
            environment = {**environment, "LD_LIBRARY_PATH": ":".join(folders)}
        try:
            self.pid = os.posix_spawn(
                sys.executable,
                [sys.executable, *flags, "-c", _BOOT.format(path=import_path(), fd=CONTROL_FD)],
                environment,
                file_actions=[
                    (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                    (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
                    (os.POSIX_SPAWN_DUP2, self.log, 2),
                    (os.POSIX_SPAWN_DUP2, theirs.fileno(), CONTROL_FD),
                ],
                setsid=True,
                # An exec keeps what a thread of the host blocks, and what the host ignores: SIGPIPE every Python does.
                setsigmask=(),
                setsigdef=(signal.SIGPIPE, signal.SIGINT, signal.SIGTERM),
            )
        except BaseException as error:
            self.socket.close()
            os.close(self.log)
            if isinstance(error, OSError):
                raise ProtectionError(unstarted(error)) from None
            raise
        finally:
            theirs.close()
        self.pidfd = os.pidfd_open(self.pid)

    def discard(self) -> None:
        """End the process: it was not needed after all."""
        self.socket.close()
        signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.pidfd)
        os.close(self.log)


def loader_folders() -> list[str]:
    """Return the folders in which the host's dynamic linker looks first. An empty or relative one would depend on the
    working directory of a process, and is left out.
    """
    return [place for place in os.environ.get("LD_LIBRARY_PATH", "").split(":") if os.path.isabs(place)]


def import_path() -> list[str]:
    """Return the host's own import path, absolute: the standard library first, then the directory that holds this
    package.

    The zygote runs without `site` and without PYTHONPATH, so a venv, a user site and an editable install reach it here.
    What lies beside the host's script cannot stand in for a module of the standard library.
    """
    entries = [os.path.abspath(entry) for entry in sys.path if entry]
    standard = os.path.dirname(os.__file__)
    sites = ("site-packages", "dist-packages")
    first = [
        entry
        for entry in entries
        if standard in (entry, os.path.dirname(entry)) and os.path.basename(entry) not in sites
    ]
    package = os.path.dirname(os.path.dirname(os.path.abspath(errors.__file__)))
    return [entry for entry in dict.fromkeys([*first, package, *entries]) if os.path.exists(entry)]
