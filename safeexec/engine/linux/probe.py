"""Finds what this machine can enforce, by doing it in a process that is thrown away, not by reading versions.

The forked probe tries each act and writes one line per answer into a pipe. The answers are kept for the life of the
process; a probe that hangs or dies answers with what it had said by then.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import select
import signal
import socket
import time
import warnings
from collections.abc import Callable
from typing import NamedTuple

from safeexec.engine.linux import landlock, namespaces, notify, seccomp
from safeexec.engine.linux.libc import make, raw_syscall
from safeexec.engine.syscalls import allow, refuse
from safeexec.engine.syscalls.numbers import MACHINES, machine, numbers

TIMEOUT_SECONDS = 20.0
"""Time for all of it. A probe that is given up costs the machine's protection, and a busy machine is slow."""


class ProbeAnswer(NamedTuple):
    """True in `works` for an act that worked here; `reason` is empty, or what failed and how."""

    works: bool
    reason: str = ""


class Probe(NamedTuple):
    """One answer per act. `landlock_abi` is 0 where Landlock does not hold."""

    root: ProbeAnswer
    """The process may change its user (root with CAP_SETUID and CAP_SETGID)."""
    user: ProbeAnswer
    """A user namespace with one mapped user; for a root host: of an unprivileged user, after the change of user."""
    mount: ProbeAnswer
    """A new root by pivot_root, with binds and, in a new pid namespace, a fresh ``/proc``."""
    pid: ProbeAnswer
    net: ProbeAnswer
    ipc: ProbeAnswer
    uts: ProbeAnswer
    cgroup: ProbeAnswer
    landlock: ProbeAnswer
    seccomp: ProbeAnswer
    notify: ProbeAnswer
    """A fork that waits until another process allows it."""
    pidfd: ProbeAnswer
    own_mount: ProbeAnswer
    """A directory covered in a mount namespace of a user namespace, as a child has them."""
    landlock_abi: int

    def namespace(self, kind: str) -> ProbeAnswer:
        answer: ProbeAnswer = getattr(self, kind)
        return answer


_SHARED = ("ipc", "uts", "cgroup", "net")
_NOT_TRIED = ProbeAnswer(False, "the probe ended before it came to this")
_cache: list[Probe] = []
_begun: list[Trial] = []


def begin() -> None:
    """Have the answers looked for while the caller goes on, where there are none yet: `probe` waits for less then."""
    if not _cache and not _begun:
        _begun.append(Trial())


def give_up() -> None:
    """End what `begin` has begun: nobody waits for it any more."""
    with contextlib.suppress(IndexError):
        _begun.pop().end()


def probe() -> Probe:
    """Return the answers for this process, found once."""
    if not _cache:
        trial = None
        with contextlib.suppress(IndexError):  # another thread was first
            trial = _begun.pop()
        if trial is not None and trial.owner != os.getpid():
            trial.end()
            trial = None
        _cache.append((trial or Trial()).result())
    return _cache[0]


def _forked(act: Callable[[], object]) -> int:
    """Return a fork that does `act` and ends."""
    with warnings.catch_warnings():
        # 3.12 warns of forks in threaded processes; this one calls the kernel and ends
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        try:
            act()
        finally:
            os._exit(0)
    return pid


class Trial:
    """A fork that tries every act, and the pipe in which it answers."""

    def __init__(self, before: Callable[[], object] = lambda: None) -> None:
        """`before` runs first in the fork, for tests that take something away."""
        self.owner = os.getpid()
        self._read_end, write_end = os.pipe()
        self._pid = _forked(functools.partial(_try_everything, _Reporter(write_end), before))
        os.close(write_end)

    def result(self) -> Probe:
        """Return its answers, once; it has ended then."""
        data, deadline, poller = b"", time.monotonic() + TIMEOUT_SECONDS, select.poll()
        poller.register(self._read_end, select.POLLIN)
        while poller.poll(max(0.0, deadline - time.monotonic()) * 1000) and (part := os.read(self._read_end, 4096)):
            data += part
        self.end()
        answers: dict[str, ProbeAnswer] = {}
        for line in data.decode("utf-8", "replace").splitlines():
            name, separator, reason = line.partition("\t")
            if separator:
                answers.setdefault(name, ProbeAnswer(not reason, reason))
        abi = landlock.abi() if answers.get("landlock", _NOT_TRIED).works else 0
        fields = {name: answers.get(name, _NOT_TRIED) for name in Probe._fields if name != "landlock_abi"}
        return Probe(**fields, landlock_abi=abi)

    def end(self) -> None:
        """Close the pipe, and end the fork if it is this process's own."""
        os.close(self._read_end)
        if self.owner != os.getpid():
            return
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._pid, 0)


class _Reporter:
    """Writes one line per act, at once: a later act may not come back."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    def say(self, reason: str, *names: str) -> None:
        os.write(self.descriptor, "".join(f"{name}\t{reason}\n" for name in names).encode())

    def attempt(self, name: str, act: Callable[[], object]) -> bool:
        reason = ""
        try:
            act()
        except OSError as error:
            reason = _explain(error)
        self.say(reason, name)
        return not reason


def _explain(error: OSError) -> str:
    code = errno.errorcode.get(error.errno or 0, str(error.errno))
    what = str(error.strerror).partition(":")[0]
    return f"{what}: {code}"


def _try_everything(report: _Reporter, before: Callable[[], object]) -> None:
    """Try every act in few processes, as each fork of a host costs a millisecond or more: an act that takes something
    away for good stands behind those that need it.
    """
    before()
    report.attempt("pidfd", lambda: os.close(os.pidfd_open(os.getpid())))
    report.attempt("notify", functools.partial(_act_notify, report))
    is_root = os.geteuid() == 0
    if is_root:
        _shared_namespaces(report)
        # A root host's children make their user namespace after the change of user: Ubuntu's AppArmor judges them then.
        if not report.attempt("root", _change_user):
            report.say("it needs a change of user", "user", "own_mount")
            return
    else:
        report.say("the host does not run as root", "root")
    if not report.attempt("user", lambda: namespaces.enter_user_namespace(os.getuid(), os.getgid())):
        report.say("it needs a user namespace", "own_mount", *(() if is_root else ("mount", "pid", *_SHARED)))
        return
    if not is_root:
        _shared_namespaces(report)
    report.attempt("own_mount", lambda: namespaces.cover("/proc", None))


def _act_landlock() -> None:
    """Give up every file, then try to open one."""
    if landlock.abi() == 0:
        raise OSError(errno.ENOSYS, "Landlock is missing or not enabled at boot")
    seccomp.set_no_new_privs()
    make([landlock.restricting_self(landlock.Ruleset().descriptor)])
    try:
        os.close(os.open("/", os.O_RDONLY | os.O_DIRECTORY))
    except PermissionError:
        return
    raise OSError(errno.ENOTSUP, "Landlock refuses nothing here")


def _act_seccomp() -> None:
    """Refuse one call, then make it."""
    if machine() not in MACHINES:
        raise OSError(errno.ENOSYS, f"no system call table for {machine()}")
    names = dict.fromkeys(numbers(), allow()) | {"getpriority": refuse()}
    seccomp.install(names)
    import ctypes

    ctypes.set_errno(0)
    raw_syscall(numbers()["getpriority"], 0, 0, 0, 0, 0, 0)
    if ctypes.get_errno() != errno.EPERM:
        raise OSError(errno.ENOTSUP, "a filter was installed and did not refuse")


def _act_notify(report: _Reporter) -> None:
    """Have a process wait with its fork, see that it waits, and let it go on. It tries the other filters before."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        pid = _forked(functools.partial(_wait_with_a_fork, report, ours, theirs))
        theirs.close()
        ours.settimeout(TIMEOUT_SECONDS / 2)
        answer, listeners, _, _ = socket.recv_fds(ours, 1000, 1)
        if not listeners:
            raise OSError(errno.ENOSYS, answer.decode(errors="replace"))
        request = notify.receive(listeners[0])
        if request is None or request.thread != pid or not notify.answer(listeners[0], request.id):
            raise OSError(errno.ENOTSUP, "a fork did not wait")
        if ours.recv(1) != b"!":
            raise OSError(errno.ENOTSUP, "a fork that was allowed was not made")
        os.close(listeners[0])
        os.waitpid(pid, 0)


def _wait_with_a_fork(report: _Reporter, ours: socket.socket, theirs: socket.socket) -> None:
    # With a copy of its own it would keep the listener that it sends, unread, and wait for ever if its parent is
    # killed (`give_up`): the kernel lets go of who waits only when no process has the listener any more.
    ours.close()
    report.attempt("landlock", _act_landlock)
    report.attempt("seccomp", _act_seccomp)
    try:
        seccomp.set_no_new_privs()
        listener = seccomp.install_fork_gate()
        socket.send_fds(theirs, [b"+"], [listener])
        os.close(listener)
        inner = os.fork()
        if inner:
            os.waitpid(inner, 0)
            os.write(theirs.fileno(), b"!")
    except OSError as error:
        os.write(theirs.fileno(), _explain(error).encode())


def _change_user() -> None:
    os.setgroups([])
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)


def _shared_namespaces(report: _Reporter) -> None:
    """Try what a zygote has; its root in the first process of a pid namespace, whose ``/proc`` shows no other."""
    for kind in _SHARED:
        report.attempt(kind, functools.partial(make, [namespaces.unsharing(kind)]))
    if not report.attempt("pid", lambda: make([namespaces.unsharing("pid")])):
        report.say("it goes with the pid namespace, which is refused", "mount")
        return

    def act() -> None:
        make([namespaces.unsharing("mount")])
        namespaces.enter_new_root()
        namespaces.bind("/dev/null", devices=True)
        namespaces.mount_proc()
        namespaces.leave_old_root()
        namespaces.make_root_read_only()

    os.waitpid(_forked(lambda: report.attempt("mount", act)), 0)
