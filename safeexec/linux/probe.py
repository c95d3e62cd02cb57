"""What this machine can enforce, found by doing it in a process that is thrown away, not by reading versions.

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
from typing import NamedTuple, NoReturn

from safeexec.linux import landlock, namespaces, notify, processes, seccomp
from safeexec.linux.libc import raw_syscall
from safeexec.syscalls import NAMING_BASE, allow, refuse
from safeexec.syscalls.numbers import MACHINES, machine, numbers

__all__ = ["Probe", "ProbeAnswer", "is_root", "probe", "run_probe"]

TIMEOUT_SECONDS = 20.0
"""How long all of it may take. A probe that is given up costs the machine's protection, and a busy machine is slow."""


class ProbeAnswer(NamedTuple):
    """Whether an act worked here; `reason` is empty, or what failed and how."""

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
    landlock_abi: int

    def namespace(self, kind: str) -> ProbeAnswer:
        answer: ProbeAnswer = getattr(self, kind)
        return answer


_NOT_TRIED = ProbeAnswer(False, "the probe ended before it came to this")
_cache: list[Probe] = []


def probe() -> Probe:
    """The answers for this process, found at the first call: about 5 ms, with one fork."""
    if not _cache:
        _cache.append(run_probe())
    return _cache[0]


def is_root() -> bool:
    """Whether the effective user is 0 and may change it."""
    return os.geteuid() == 0


def run_probe(before: Callable[[], None] | None = None) -> Probe:
    """Try every act in a fork; `before` runs first in it, for tests that take something away."""
    read_end, write_end = os.pipe()
    with warnings.catch_warnings():
        # 3.12 warns of forks in threaded processes; this one calls the kernel and ends
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        _be_the_probe(write_end, before)
    os.close(write_end)
    answers = _parse(_read_all(read_end, time.monotonic() + TIMEOUT_SECONDS))
    os.close(read_end)
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)
    abi = landlock.abi() if answers.get("landlock", _NOT_TRIED).works else 0
    fields = {name: answers.get(name, _NOT_TRIED) for name in Probe._fields if name != "landlock_abi"}
    return Probe(**fields, landlock_abi=abi)


def _read_all(descriptor: int, deadline: float) -> bytes:
    data = b""
    while select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))[0]:
        chunk = os.read(descriptor, 4096)
        if not chunk:
            break
        data += chunk
    return data


def _parse(data: bytes) -> dict[str, ProbeAnswer]:
    answers: dict[str, ProbeAnswer] = {}
    for line in data.decode("utf-8", "replace").splitlines():
        name, separator, reason = line.partition("\t")
        if separator:
            answers.setdefault(name, ProbeAnswer(not reason, reason))
    return answers


class _Reporter:
    """Writes one line per act, at once: a later act may not come back."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    def say(self, name: str, reason: str = "") -> None:
        os.write(self.descriptor, f"{name}\t{reason}\n".encode())

    def attempt(self, names: str | tuple[str, ...], act: Callable[[], object]) -> bool:
        names = (names,) if isinstance(names, str) else names
        try:
            act()
        except OSError as error:
            for name in names:
                self.say(name, _explain(error))
            return False
        for name in names:
            self.say(name)
        return True


def _explain(error: OSError) -> str:
    code = errno.errorcode.get(error.errno or 0, str(error.errno))
    what = str(error.strerror).partition(":")[0]
    return f"{what}: {code}"


def _be_the_probe(descriptor: int, before: Callable[[], None] | None) -> NoReturn:
    try:
        if before is not None:
            before()
        _try_everything(_Reporter(descriptor))
    finally:
        os._exit(0)


def _try_everything(report: _Reporter) -> None:
    report.attempt("pidfd", lambda: os.close(os.pidfd_open(os.getpid())))
    _in_a_fork(lambda: report.attempt("landlock", _act_landlock))
    _in_a_fork(lambda: report.attempt("seccomp", _act_seccomp))
    _in_a_fork(lambda: report.attempt("notify", _act_notify))
    if os.geteuid() == 0:
        _in_a_fork(lambda: _root_acts(report))
        _in_a_fork(lambda: _nested_user_as_another(report))
    else:
        report.say("root", "the host does not run as root")
        _in_a_fork(lambda: _user_acts(report))


def _in_a_fork(act: Callable[[], object]) -> None:
    pid = os.fork()
    if pid == 0:
        try:
            act()
        finally:
            os._exit(0)
    os.waitpid(pid, 0)


def _act_landlock() -> None:
    """Give up every file, then try to open one."""
    if landlock.abi() == 0:
        raise OSError(errno.ENOSYS, "Landlock is missing or not enabled at boot")
    seccomp.set_no_new_privs()
    ruleset = landlock.Ruleset()
    ruleset.restrict_self()
    try:
        os.close(os.open("/", os.O_RDONLY | os.O_DIRECTORY))
    except PermissionError:
        return
    raise OSError(errno.ENOTSUP, "Landlock refuses nothing here")


def _act_seccomp() -> None:
    """Refuse one call by its own errno, then make it."""
    if machine() not in MACHINES:
        raise OSError(errno.ENOSYS, f"no system call table for {machine()}")
    seccomp.set_no_new_privs()
    names = dict.fromkeys(numbers(), allow()) | {"getpriority": refuse()}
    seccomp.install(seccomp.prepare(seccomp.build(names)))
    import ctypes

    ctypes.set_errno(0)
    raw_syscall(numbers()["getpriority"], 0, 0, 0, 0, 0, 0)
    if ctypes.get_errno() != NAMING_BASE + numbers()["getpriority"]:
        raise OSError(errno.ENOTSUP, "a filter was installed and did not refuse")


def _act_notify() -> None:
    """Have a process wait with its fork, see that it waits, and let it go on."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        _notified(ours, theirs)


def _notified(ours: socket.socket, theirs: socket.socket) -> None:
    pid = os.fork()
    if pid == 0:
        try:
            seccomp.set_no_new_privs()
            listener = notify.install_listener(notify.fork_gate())
            socket.send_fds(theirs, [b"+"], [listener])
            os.close(listener)
            inner = os.fork()
            if inner:
                os.waitpid(inner, 0)
                os.write(theirs.fileno(), b"!")
        except OSError as error:
            os.write(theirs.fileno(), _explain(error).encode())
        finally:
            os._exit(0)
    theirs.close()
    ours.settimeout(TIMEOUT_SECONDS / 2)
    told, listeners, _, _ = socket.recv_fds(ours, 1000, 1)
    if not listeners:
        raise OSError(errno.ENOSYS, told.decode(errors="replace"))
    request = notify.receive(listeners[0])
    if request is None or request.thread != pid or not notify.let_go_on(listeners[0], request.id):
        raise OSError(errno.ENOTSUP, "a fork did not wait")
    if ours.recv(1) != b"!":
        raise OSError(errno.ENOTSUP, "a fork that was allowed was not made")
    os.waitpid(pid, 0)


def _root_acts(report: _Reporter) -> None:
    """What a root host does: namespaces first, then the change of user."""
    _other_namespaces(report)
    _new_root(report)
    report.attempt("root", _change_user)


def _change_user() -> None:
    os.setgroups([])
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)


def _user_acts(report: _Reporter) -> None:
    """What an ordinary user's host does: the user namespace first; it owns the others."""
    uid, gid = os.getuid(), os.getgid()

    def enter() -> None:
        namespaces.unshare(["user"])
        namespaces.map_user(uid, gid)

    if not report.attempt("user", enter):
        for kind in ("mount", "pid", "net", "ipc", "uts", "cgroup"):
            report.say(kind, "it needs a user namespace")
        return
    _other_namespaces(report)
    _new_root(report)


def _other_namespaces(report: _Reporter) -> None:
    for kind in ("ipc", "uts", "cgroup", "net"):
        report.attempt(kind, functools.partial(namespaces.unshare, [kind]))


def _new_root(report: _Reporter) -> None:
    """Mount and pid namespace go together: a new root needs a ``/proc`` of its own processes."""

    def enter() -> None:
        namespaces.unshare(["mount", "pid"])

    if not report.attempt("pid", enter):
        report.say("mount", "it goes with the pid namespace, which is refused")
        return

    def act() -> None:
        namespaces.enter_new_root()
        namespaces.bind("/dev/null", devices=True)
        namespaces.mount_proc()
        namespaces.leave_old_root()
        namespaces.seal_root()

    _in_a_fork(lambda: report.attempt("mount", act))


def _nested_user_as_another(report: _Reporter) -> None:
    """A root host's children make their user namespace after the change of user: Ubuntu's AppArmor judges them then."""

    def act() -> None:
        _change_user()
        processes.set_dumpable(True)
        namespaces.unshare(["user"])
        namespaces.map_user(65534, 65534)

    report.attempt("user", act)
