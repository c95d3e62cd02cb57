"""The child gives up its rights, before a byte of guest input is read.

`Lockdown` does in the zygote, once, what can be done ahead: the filter as bytes, a descriptor per readable
path, the system calls in a row. `apply` runs in each child right after the fork, with one thread. The order matters:
the user namespace needs ``/proc`` and a dumpable process, Landlock must find the workspace, the limit of memory comes
after the last large allocation, and seccomp is last, since it refuses most of what comes before it; only descriptors,
which Landlock's rules need, are closed behind it. Any failure raises: a child that is not locked down does not run.
"""

from __future__ import annotations

import contextlib
import os
import resource
import struct
from collections.abc import Iterable

from safeexec.engine.child.step import violations
from safeexec.engine.linux import capabilities, landlock, namespaces, processes, rlimits, seccomp
from safeexec.engine.linux.libc import Call, libc, make
from safeexec.engine.syscalls.table import OWN_PID, rules_for
from safeexec.protocol.confinement import ChildConfinement, Mechanism

_M_ARENA_MAX = -8
_ARENAS = 2
_OWN_PROC = ("cmdline", "comm", "fd", "fdinfo", "limits", "maps", "stat", "statm", "status")
"""Below /proc/self, for the first process of a session: threadpoolctl (scikit-learn) reads the maps, psutil the rest.

What later processes need must not be here: Landlock grants a file, and theirs do not exist yet."""
STACK = 120 << 20
"""Bytes that the stack of the main thread may grow to. The kernel keeps at least 128 MiB below it free of mappings."""
PROGRAM_STACK = 8 << 20
"""The stack of a program that a command runs: glibc takes it as the size of each thread's stack."""
_BRANCHES = "branches of one session can reach each other's"
_SEPARATE = {
    "": f"sessions of one sandbox can reach each other's files; {_BRANCHES}",
    "none": "no session has files",
    "landlock": "each session and each branch opens its own files alone",
    "mounts": f"each session has a mount namespace that holds its own files alone; {_BRANCHES}",
    "turns": f"one session with files at a time, as nothing here keeps two apart; {_BRANCHES}",
}
_WORKSPACE_RIGHTS = {"none": 0, "read": landlock.READ, "write": landlock.WRITE}


class Lockdown:
    """A plan made ready in the zygote, after `zygote.confine.enter` and the imports, for children to apply."""

    def __init__(self, plan: ChildConfinement, keep_fds: Iterable[int] = ()) -> None:
        """`keep_fds`: the descriptors that children keep besides the standard streams. Raises OSError, KeyError (a
        machine without a system call table).
        """
        if plan.threads and hasattr(libc, "mallopt"):  # musl has neither it nor arenas
            # Each malloc arena of a thread reserves 64 MiB of address space, which RLIMIT_AS counts.
            libc.mallopt(_M_ARENA_MAX, _ARENAS)
        violations.known.rules, violations.known.threads = plan.rules, plan.threads > 0
        self.plan = plan
        self._uid, self._gid = os.getuid(), os.getgid()
        self.parent = os.getpid()
        """The process that forks them."""
        self._keep = (0, 1, 2, *keep_fds)
        # Only who creates files needs a name in its user namespace (EOVERFLOW), which otherwise only counts processes.
        self._maps_user = plan.user_namespace and (plan.files == "write" or plan.separate == "mounts")
        self._first = [namespaces.unsharing("user")] if plan.user_namespace and not self._maps_user else []
        self._first.append(capabilities.dropping_all())
        self._filter, self._pid_offsets = _compile(plan)
        self._paths = _rules_of_paths(plan) if plan.landlock else []
        is_individual = plan.files == "write" or (plan.proc == "/proc/self" and plan.files != "none")
        self._ruleset = self._make_ruleset() if plan.landlock and not is_individual else -1
        """The ruleset that children without files of their own take as it is; -1: none does."""
        self.mechanisms = _describe(plan)
        self.measure()

    def limit(self) -> None:
        """Set the limits that children simply inherit, in the process that forks them."""
        make(rlimits.setting_limit(*limit) for limit in _inherited_limits(self.plan).items())

    def measure(self) -> None:
        """Take the zygote's present size as what the memory limit counts from. Call it again after late imports."""
        self._address_space = rlimits.address_space()
        self._last = self._last_calls(())
        self._calls = self._sequence(self._ruleset, self._last)

    def apply(self, *, workspace: str | None = None, lowered: Iterable[tuple[int, int]] = ()) -> None:
        """Give up, in the child, everything but the kept descriptors and `workspace`. Raises OSError.

        `lowered`: resource limits of this child alone, and by how much each is less than the plan's.
        The child is the leader of its session and process group already (setsid); afterwards it cannot become one.
        """
        for offset in self._pid_offsets:  # where the filter compares with the caller's own number
            struct.pack_into("=I", self._filter.data, offset, os.getpid())
        calls = self._calls
        if lowered or self._ruleset < 0 or workspace is not None:
            violations.known.workspace = workspace
            is_own = self.plan.landlock and (self._ruleset < 0 or workspace is not None)
            ruleset = self._make_ruleset(workspace) if is_own else self._ruleset
            calls = self._sequence(ruleset, self._last_calls(lowered) if lowered else self._last)
        if self._maps_user:
            denied = self.plan.setgroups_denied
            namespaces.enter_user_namespace(self._uid, self._gid, deny_setgroups=not denied)
            if self.plan.separate == "mounts":
                namespaces.cover(self.plan.workspaces, workspace)
        make(calls)
        processes.close_all_but(self._keep)
        # A parent that died before the death signal was set sends none.
        if os.getppid() != self.parent:
            os._exit(0)

    def _sequence(self, ruleset: int, last: list[Call]) -> list[Call]:
        """Return what `apply` does, in its order."""
        restricting = [landlock.restricting_self(ruleset)] if self.plan.landlock else []
        return [*self._first, *restricting, *last]

    def _last_calls(self, lowered: Iterable[tuple[int, int]]) -> list[Call]:
        """Return what comes behind Landlock. To make these ready in a child costs it 40 pages."""
        calls = [processes.setting_dumpable(False), processes.setting_death_signal()]
        calls += [rlimits.setting_limit(number, value) for number, value in self._limits(lowered)]
        return [*calls, seccomp.installing(self._filter)]

    def _limits(self, lowered: Iterable[tuple[int, int]]) -> Iterable[tuple[int, int]]:
        """Return the limits that a child sets itself: what the zygote could not live with, and what is `lowered`."""
        limits = {
            resource.RLIMIT_AS: self._address_space + self.plan.memory_bytes,
            # Who forks them has one for each path, which a child closes; and all that a user has under way between
            # processes counts against the limit of who sends more (ETOOMANYREFS on a busy machine).
            resource.RLIMIT_NOFILE: self.plan.open_files,
        }
        if self.plan.processes is not None:
            limits[resource.RLIMIT_NPROC] = self.plan.processes
        for number, less in lowered:
            limit = limits.get(number, resource.getrlimit(number)[1])
            if limit != resource.RLIM_INFINITY:
                limits[number] = max(0, limit - less)
        return limits.items()

    def _make_ruleset(self, workspace: str | None = None) -> int:
        """Return a ruleset of all that the plan opens, and of `workspace`."""
        ruleset = landlock.Ruleset(self.plan.landlock)
        for rule in self._paths:
            ruleset.add_packed(rule)
        if self.plan.proc and self.plan.files != "none":
            _add_proc(ruleset, self.plan.proc)
        if workspace is not None and (rights := _WORKSPACE_RIGHTS[self.plan.files]):
            ruleset.add_path(workspace, rights)
        return ruleset.descriptor


def _add_proc(ruleset: landlock.Ruleset, proc: str) -> None:
    """Grant the files about the process itself. In the host's /proc, nothing of the host: no network, no mounts."""
    if proc == "/proc":
        ruleset.add_path(proc, landlock.READ)
        return
    ruleset.add_path(proc, landlock.READ_DIR)
    for name in _OWN_PROC:
        with contextlib.suppress(FileNotFoundError):
            ruleset.add_path(f"{proc}/{name}", landlock.READ)


def _compile(plan: ChildConfinement) -> tuple[seccomp.Prepared, list[int]]:
    """Return the filter, and where in its bytes the child's own pid belongs."""
    program = seccomp.build(rules_for(plan))
    # `k` of a sock_filter begins at its fifth byte of eight.
    places = [index * 8 + 4 for index, instruction in enumerate(program) if instruction.k == OWN_PID]
    return seccomp.prepare(program), places


def _inherited_limits(plan: ChildConfinement) -> dict[int, int]:
    """Return number and value of the limits that the zygote can live with: it sets them, its children inherit them.

    The kernel counts CPU time and file sizes for each process, from zero in every fork.
    """
    values = {
        "core": 0,
        "memlock": 0,
        "msgqueue": 0,
        "rtprio": 0,
        "nice": 0,
        "sigpending": 256,
        "cpu": plan.cpu_seconds,
        "fsize": plan.file_bytes,
        "stack": STACK,
    }
    return {rlimits.NAMES[name]: value for name, value in values.items()}


def _rules_of_paths(plan: ChildConfinement) -> list[landlock.PackedRule]:
    """Return a rule per path that exists, on a descriptor that is closed in the child."""
    granted = [(path, landlock.READ_FILE | landlock.EXECUTE) for path in plan.programs]
    if plan.files != "none":
        granted += [(path, landlock.READ) for path in plan.read]
        granted += [(path, landlock.READ_DIR) for path in plan.listed]
        granted += [(path, landlock.DEVICE) for path in plan.devices]
    rules = []
    for path, rights in granted:
        with contextlib.suppress(FileNotFoundError, PermissionError):  # nothing to read there for this user
            rules.append(landlock.pack_rule(os.open(path, os.O_PATH | os.O_CLOEXEC), rights))
    return rules


def _describe(plan: ChildConfinement) -> list[Mechanism]:
    """Return what holds a child once `apply` has returned, and what is missing by the host's words."""
    count = "" if plan.processes is None else f", {plan.processes} processes and threads with checkpoints"
    limits = (
        f"{plan.memory_bytes >> 20} MiB of address space beyond the zygote's, {plan.open_files} descriptors, "
        f"{plan.file_bytes >> 20} MiB per file, {plan.cpu_seconds} s of CPU{count}"
    )
    files = "no path can be opened"
    if plan.files != "none":
        workspace = "the workspace can be written" if plan.files == "write" else "nothing can be written"
        known = "looked up, its mode and times changed" if plan.metadata else "looked up"
        apart = f"a session and a branch open their own files alone (what they know by path can be {known})"
        files = f"{len(plan.read)} paths can be read, {workspace}; {apart}"
    active = [
        Mechanism("rlimits", True, limits),
        Mechanism("no-new-privs", True, "no program can gain rights"),
        Mechanism("capabilities", True, "none left"),
        Mechanism("descriptors", True, "only the standard streams and the control socket are open"),
        Mechanism("seccomp", True, _seccomp_detail(plan)),
    ]
    if plan.landlock:
        scope = "; signals and abstract sockets stay inside the session" if plan.landlock >= 6 else ""
        active.append(Mechanism("landlock", True, f"ABI {plan.landlock}: {files}{scope}"))
    if plan.user_namespace:
        detail = "one per session: no rights outside, and its processes and threads are counted"
        active.append(Mechanism("user-namespace", True, detail))
    active.append(Mechanism("separate-files", bool(plan.separate), _SEPARATE[plan.separate]))
    return active + list(plan.missing)


def _seccomp_detail(plan: ChildConfinement) -> str:
    parts = [
        "threads" if plan.threads else "no threads",
        "socket pairs, no other sockets" if plan.event_loop else "no sockets",
        "executable memory" if plan.executable_memory else "executable mappings of files alone",
        {"none": "no files", "read": "files read-only", "write": "files"}[plan.files],
    ]
    unseen = "no shared memory" if not plan.programs else "no shared memory without a file"
    unseen += ", no descriptors through sockets, no larger socket buffers"
    unseen += ", no locks" if plan.files != "write" else " (locks of files are not counted)"
    programs = "the policy's programs alone" if plan.programs else "no programs"
    return "an allow list: " + ", ".join(parts) + f"; {programs}, no signals to others; {unseen}"
