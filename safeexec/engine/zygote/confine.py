"""The zygote gives up what no child will need: other files, other processes, the network, its user.

`enter` forks: the process that the host started becomes a small reaper, and the zygote goes on as its child, as process
1 of a new pid namespace where there is one. The reaper reads nothing. It waits for the end of the host or of the zygote
and then ends everything that is left; its own end takes the zygote along (PR_SET_PDEATHSIG), and the zygote's end takes
the pid namespace along. So nothing outlives the host, however it dies.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import select
import signal
from typing import NoReturn

from safeexec.engine.linux import capabilities, landlock, namespaces, processes, seccomp
from safeexec.engine.linux.libc import address, make, syscall
from safeexec.protocol.confinement import Mechanism, ZygoteConfinement

_WRITE_PROC = landlock.READ | landlock.WRITE_FILE

_RESET_ON_FORK = 0x40000000
"""SCHED_RESET_ON_FORK, which the kernel adds to its answer."""

_DETAILS = {
    "mount": "a new root that holds the interpreter's files, read-only, and the workspaces",
    "pid": "no process of the host can be seen; the end of the zygote ends every process",
    "net": "no interface, not even loopback of the host",
    "ipc": "no shared memory, semaphores or queues of the host",
    "uts": "a host name of its own",
    "cgroup": "the host's control groups cannot be seen",
}
_NAMES = {"net": "network-namespace"}


class ConfinementError(Exception):
    """A step of the plan failed; the zygote must not serve."""


def enter(plan: ZygoteConfinement) -> list[Mechanism]:
    """Apply `plan` and return in the confined zygote; the calling process becomes its reaper and never returns.

    One thread, before libraries are imported. Raises `ConfinementError`, in the calling process or in the zygote: the
    one that raises still has the control socket and should report to the host.
    """
    step = "look at the host's process"
    try:
        # By this the zygote watches its reaper: as process 1 of its namespace it has 0 for a parent's number.
        outer = os.pidfd_open(os.getpid())
        parent = os.getppid()
        # None where it lies outside of this pid namespace: then only the socket shows its end.
        host = os.pidfd_open(parent) if parent else None
        step = "leave the host's namespaces"
        _leave_namespaces(plan)
        step = "start the zygote"
        processes.set_subreaper()
        inner = os.fork()
        if inner:
            _reap(plan, host, inner)
        if host is not None:
            os.close(host)
        os.setsid()
        if "mount" in plan.namespaces:
            step = "make a new root"
            _new_root(plan)
        step = "give up real-time scheduling"
        _share_cores()
        step = "become an unprivileged user"
        _drop_rights(plan)
        step = "tie the zygote to its reaper"
        make([processes.setting_death_signal()])  # behind the change of user, which would clear it
        if processes.has_ended(outer):  # before that was set: then no signal comes
            os._exit(0)
        os.close(outer)
        step = "restrict files with Landlock"
        seccomp.set_no_new_privs()
        if plan.landlock:
            _restrict_files(plan)
        make([processes.setting_dumpable(False)])
    except OSError as error:
        where = f": {error.filename}" if error.filename else ""
        raise ConfinementError(f"cannot {step}{where}: {error.strerror}") from error
    return _describe(plan)


def _share_cores() -> None:
    """Give up a real-time priority that came from the host: a guest in a loop would keep the host off its core.

    The reaper keeps it, as it must be able to run to end a guest. By the system calls: musl's functions of these names
    answer ENOSYS. Where the kernel itself has none of it, there is nothing to give up.
    """
    try:
        policy = syscall("sched_getscheduler", 0)
    except OSError as error:
        if error.errno != errno.ENOSYS:
            raise
        return
    if policy & ~_RESET_ON_FORK in (os.SCHED_FIFO, os.SCHED_RR):
        syscall("sched_setscheduler", 0, os.SCHED_OTHER, address(ctypes.c_int(0)))


def _leave_namespaces(plan: ZygoteConfinement) -> None:
    """Leave all but the mount namespace, which the zygote alone needs. A user namespace owns them, or a root host."""
    kinds = [kind for kind in plan.namespaces if kind not in ("user", "mount")]
    if "user" in plan.namespaces:
        namespaces.enter_user_namespace(os.geteuid(), os.getegid())
    if kinds:
        make([namespaces.unsharing(*kinds)])


def _new_root(plan: ZygoteConfinement) -> None:
    """Make a tmpfs with the planned paths, at their own places; their parents are 0755, whoever's home they lie in."""
    make([namespaces.unsharing("mount")])
    namespaces.enter_new_root()
    for path in plan.read:
        namespaces.bind(path)
    for path in plan.devices:
        namespaces.bind(path, devices=True)
    if plan.workspaces is not None:
        namespaces.bind(plan.workspaces, writable=True)
    for place, target in plan.links:
        if not os.path.lexists(place):
            os.makedirs(os.path.dirname(place), 0o755, exist_ok=True)
            os.symlink(target, place)
    namespaces.mount_proc()  # EPERM in a user namespace without the old root, where another /proc is in full view
    namespaces.leave_old_root()
    namespaces.make_root_read_only()


def _drop_rights(plan: ZygoteConfinement) -> None:
    capabilities.forbid_gains()
    if plan.uid is not None and plan.gid is not None:
        os.setgroups([])
        os.setresgid(plan.gid, plan.gid, plan.gid)
        os.setresuid(plan.uid, plan.uid, plan.uid)
    make([capabilities.dropping_all()])


def _restrict_files(plan: ZygoteConfinement) -> None:
    ruleset = landlock.Ruleset(plan.landlock)
    ruleset.add_paths(plan.read, landlock.READ)
    ruleset.add_paths(plan.listed, landlock.READ_DIR)
    ruleset.add_paths(plan.devices, landlock.DEVICE)
    ruleset.add_paths(plan.programs, landlock.READ_FILE | landlock.EXECUTE)
    # A child maps its user there and reads its own size; guests get no rule for it.
    ruleset.add_paths(("/proc",), _WRITE_PROC)
    if plan.workspaces is not None:
        ruleset.add_path(plan.workspaces, landlock.WRITE)
    make([landlock.restricting_self(ruleset.descriptor)])
    ruleset.close()


def _reap(plan: ZygoteConfinement, host: int | None, inner: int) -> NoReturn:
    """Live the reaper's whole life. SIGTERM ends the sandbox, SIGKILL too as far as the kernel carries it on.

    Signals are heard through a pipe: one that only interrupted the wait would be lost between Python's last look for
    signals and the system call that waits.
    """
    status = 1
    try:
        heard, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        asked_to_end: list[int] = []
        signal.signal(signal.SIGCHLD, lambda *_: None)  # a signal without a handler writes nothing into the pipe
        signal.signal(signal.SIGTERM, lambda number, _: asked_to_end.append(number))
        zygote = os.pidfd_open(inner)
        ends = [descriptor for descriptor in (host, zygote) if descriptor is not None]
        processes.close_all_but([*ends, heard, wake])
        _drop_rights(plan)
        make([processes.setting_dumpable(False)])
        poller = select.poll()
        for descriptor in (*ends, heard):
            poller.register(descriptor, select.POLLIN)
        ready: set[int] = set()
        while not asked_to_end and ready.isdisjoint(ends):
            _reap_orphans(inner)
            ready = {descriptor for descriptor, _ in poller.poll()}
            if heard in ready:
                os.read(heard, select.PIPE_BUF)
        if not asked_to_end:
            status = _exit_status(inner) if processes.has_ended(zygote) else 0
    except BaseException:
        status = 1
    finally:
        try:
            _end_all(inner)
        finally:
            os._exit(status)


def _reap_orphans(inner: int) -> None:
    """Reap what has ended: without a pid namespace, a copy whose parent has ended would stay here as a zombie."""
    with contextlib.suppress(ChildProcessError):
        while ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            if ended.si_pid == inner:  # whose end is what the poll waits for
                return
            os.waitpid(ended.si_pid, os.WNOHANG)


def _exit_status(pid: int) -> int:
    try:
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    except ChildProcessError:  # it ended before SIGCHLD was ours, and the kernel reaped it
        return 1
    return code if code >= 0 else 128 - code


def _end_all(inner: int) -> None:
    """Kill the zygote, which ends its pid namespace; without one also every orphan, which a subreaper inherits."""
    try:
        os.kill(inner, signal.SIGKILL)
    except ProcessLookupError:
        pass
    while True:
        processes.kill_groups_below(os.getpid())
        try:
            os.waitpid(-1, 0)
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass  # all that have ended, before the next look at all processes: a fork bomb left a thousand
        except ChildProcessError:
            return


def _describe(plan: ZygoteConfinement) -> list[Mechanism]:
    """Return what `enter` has done; every step that did not raise holds."""
    active = []
    if plan.uid is not None:
        active.append(Mechanism("unprivileged-user", True, f"uid {plan.uid}, which owns nothing but the workspaces"))
    # each child reports the user namespace of its own, which lies within the zygote's
    kinds = [kind for kind in plan.namespaces if kind != "user"]
    active += [Mechanism(_NAMES.get(kind, f"{kind}-namespace"), True, _DETAILS[kind]) for kind in kinds]
    return active + list(plan.missing)
