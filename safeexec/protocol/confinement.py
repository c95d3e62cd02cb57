"""The kernel layer as data: what zygote and children have to enforce through the kernel.

The host decides both from the policy and from what the machine can do (`host.startup.confinement.plan`). Every step of
a plan is mandatory: a process that fails to take one ends.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from safeexec.protocol.printed import PYTHON_AT

Files = Literal["none", "read", "write"]


class Mechanism(msgspec.Struct, frozen=True, array_like=True):
    """One thing that the kernel does for us, or why it does not."""

    name: str
    """Stable (``seccomp``, ``network-namespace``): a policy's `require` names it."""
    active: bool
    detail: str = ""
    """Its effect here; if it is not active: why, and what carries on without it."""


class ZygoteConfinement(msgspec.Struct, frozen=True, kw_only=True):
    """The rights that a zygote gives up before it imports a library."""

    namespaces: tuple[str, ...] = ()
    """Names of `linux.namespaces.KINDS`. ``mount`` brings the new root, ``pid`` the fresh ``/proc``."""
    uid: int | None = None
    """The unprivileged user to become (a root host only); None: stay."""
    gid: int | None = None
    read: tuple[str, ...] = ()
    """Real paths (no symlinks) that libraries need."""
    listed: tuple[str, ...] = ()
    """Directories of which the names may be read and nothing else: those that an import looks through."""
    devices: tuple[str, ...] = ()
    """Device files that may be read and written (``/dev/null``)."""
    programs: tuple[str, ...] = ()
    """Files that commands may execute: programs, their interpreters, the dynamic loader. No other child may."""
    links: tuple[tuple[str, str], ...] = ()
    """(place, target) of symlinks that lead to `read` paths and that the new root needs as well (``/lib64``)."""
    workspaces: str | None = None
    """Directory that holds the workspaces of all sessions: a real path, owned by `uid`."""
    landlock: int = 0
    """Landlock ABI to use, 0: none."""
    fork_gate: bool = False
    """True if every fork waits for the host's permission (`linux.notify`)."""
    missing: tuple[Mechanism, ...] = ()
    """The mechanisms that the host knows this machine lacks, for the report."""


class ChildConfinement(msgspec.Struct, frozen=True, kw_only=True):
    """The rights that each child gives up right after the fork. Bytes and seconds."""

    memory_bytes: int
    """Address space beyond what the zygote has."""
    cpu_seconds: int
    """CPU of one process over its whole life: a backstop; the host measures steps."""
    file_bytes: int
    """Size of one file, stdout and stderr included."""
    printed_at: int = PYTHON_AT
    """The one offset at which a file may be mapped shared: what is printed lies there, behind the end of any file."""
    open_files: int
    processes: int | None
    """Processes and threads of one session together; None where they cannot be counted per session."""
    threads: int = 0
    """Threads that guest code may start; 0: the call is refused."""
    event_loop: bool = False
    """True if AF_UNIX stream socket pairs are allowed."""
    executable_memory: bool = False
    """True if memory may be made executable. Files may be mapped so in any case, never writable as well: Landlock says
    which can be opened, and the interpreter's own parts are imported late."""
    files: Files = "none"
    """The kinds of file calls that there are at all; Landlock says on which paths."""
    metadata: bool = False
    """True if chmod and utime are allowed: only where a new root hides every writable file but the workspaces."""
    read: tuple[str, ...] = ()
    """Paths that libraries and the policy's `filesystem.read` need."""
    listed: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    """Files that may be executed. Empty, but for the process that runs a command."""
    devices: tuple[str, ...] = ()
    landlock: int = 0
    separate: Literal["", "none", "landlock", "mounts", "turns"] = ""
    """The way in which the files of two sessions are kept apart. "": not at all; "none": there are no files; "mounts":
    each child has a mount namespace in which `workspaces` is covered but for its own; "turns": one session at a time
    has files.
    """
    workspaces: str = ""
    """Directory that holds the workspaces of all sessions, where there are any."""
    proc: Literal["", "/proc", "/proc/self"] = ""
    """The ``/proc`` that may be read: all of one that shows a process only its own session, or its own directory."""
    user_namespace: bool = False
    """True if each child gets a user namespace of its own, which makes `processes` count the session alone."""
    setgroups_denied: bool = False
    """True if the zygote's own user namespace has denied setgroups for those nested in it."""
    rules: dict[str, str] = {}
    """Group of refusals (`syscalls.table`: ``network`` …) → where the policy says so (``standard.yaml:51``)."""
    missing: tuple[Mechanism, ...] = ()
