"""Control groups, version 2: a group below the one that was delegated to this process, with limits for all in it.

Whether there is one is found by making one. A group that has processes cannot give controllers to groups below it
(EBUSY), except for the hierarchy's root, so that a process which is alone in its group, with its children, moves into a
leaf first, as the documentation of systemd's ``Delegate=`` says. ``cgroup.kill`` needs 5.14.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator

from safeexec.engine.linux import processes
from safeexec.engine.linux.libc import write_file

CONTROLLERS = ("memory", "pids")
_OWN_LEAF = "safeexec-host"
_PREFIX = "safeexec-"
_MARKS = ("user.delegate", "trusted.delegate")  # extended attributes that systemd sets, the first since 251


class Unavailable(Exception):
    """No group can be made here; the message says why."""


class Group:
    """One group that this process has made. The paths of its files are opened at each use: it lives long."""

    __slots__ = ("path",)

    def __init__(self, path: str) -> None:
        """Make it. Raises OSError."""
        os.mkdir(path)
        self.path = path

    def limit(self, *, memory_bytes: int, processes: int) -> None:
        """Bound the memory of all in it together, swap included, and the number of processes and threads."""
        write_file(f"{self.path}/memory.max", b"%d" % memory_bytes)
        with contextlib.suppress(FileNotFoundError):  # a kernel without swap
            write_file(f"{self.path}/memory.swap.max", b"0")
        write_file(f"{self.path}/pids.max", b"%d" % processes)

    def add(self, pid: int) -> None:
        """Move a process here; what it forks from now on is born here. Raises OSError (ESRCH: it has ended)."""
        write_file(f"{self.path}/cgroup.procs", b"%d" % pid)

    def pids(self) -> list[int]:
        """Return the processes in it that live."""
        return [int(line) for line in _read(f"{self.path}/cgroup.procs").split()]

    def oom_kills(self) -> int:
        """Return how many processes the kernel has ended because the group was over its limit of memory."""
        events = dict(line.split() for line in _read(f"{self.path}/memory.events").splitlines())
        return int(events.get("oom_kill", 0))

    def cpu_seconds(self) -> float:
        """Return the CPU time of all that have ever been in it, those that have ended included."""
        first = _read(f"{self.path}/cpu.stat").partition("\n")[0]
        return int(first.partition(" ")[2]) / 1e6

    def kill(self) -> bool:
        """Send SIGKILL to all in it, those included that are being forked. Returns False before 5.14."""
        try:
            write_file(f"{self.path}/cgroup.kill", b"1")
        except FileNotFoundError:
            return False
        return True

    def remove(self) -> bool:
        """Remove it. False while something in it lives."""
        try:
            os.rmdir(self.path)
        except FileNotFoundError:
            return True
        except OSError as error:
            if error.errno == errno.EBUSY:
                return False
            raise
        return True


def prepare_parent_with_limits() -> str:
    """Return the directory below which this process may make groups with limits. Raises `Unavailable`.

    Removes the groups that killed hosts have left there, and moves this process out of its own group where it is alone
    in one that was delegated.
    """
    place, own = _own_place()
    given = _read(f"{place}/cgroup.controllers").split()
    if missing := [name for name in CONTROLLERS if name not in given]:
        has = ", ".join(given) or "none"
        raise Unavailable(f"the group {own} has not the controllers {' and '.join(missing)} (it has: {has})")
    with _trial(place, own) as group:
        _give_controllers(place, own)
        if not os.path.exists(f"{group.path}/memory.max") or not os.path.exists(f"{group.path}/pids.max"):
            raise Unavailable(f"groups below {own} get no limits")
        group.limit(memory_bytes=1 << 40, processes=1000)
    _remove_stale(place)
    return place


def prepare_parent_without_limits() -> str:
    """Return the directory below which this process may make groups without limits: they count CPU time, and end all
    that is in them at once. That needs no controller. Removes the groups that killed hosts have left there. Raises
    `Unavailable`.
    """
    place, own = _own_place()
    with _trial(place, own) as group:
        if not os.path.exists(f"{group.path}/cgroup.kill"):
            raise Unavailable("this kernel ends no group (cgroup.kill, 5.14)")
        if not os.access(f"{place}/cgroup.procs", os.W_OK):
            raise Unavailable(f"no process of {own} may be moved")
        group.cpu_seconds()
    _remove_stale(place)
    return place


def _own_place() -> tuple[str, str]:
    """Return the directory of this process's group, and its name."""
    mount, own = hierarchy()
    place = mount + own.rstrip("/")
    if os.path.basename(place) == _OWN_LEAF:  # an earlier host, our parent, has moved here
        place = os.path.dirname(place)
    if place != mount and os.path.isdir("/run/systemd/system") and not _is_marked(place):
        raise Unavailable(f"systemd has not delegated {own}: start the host with Delegate=yes")
    return place, own


@contextlib.contextmanager
def _trial(place: str, own: str) -> Iterator[Group]:
    """Make a group to see whether one can be."""
    try:
        group = Group(f"{place}/{_PREFIX}{os.getpid()}-trial")
    except OSError as error:
        raise Unavailable(f"no group can be made below {own}: {error.strerror}") from None
    try:
        yield group
    except OSError as error:
        raise Unavailable(f"the group {own} cannot be divided: {error.strerror}") from None
    finally:
        group.remove()


def hierarchy() -> tuple[str, str]:
    """Return (where the hierarchy is mounted, this process's group in it). Raises `Unavailable`."""
    own = next((line[3:] for line in _read("/proc/self/cgroup").splitlines() if line.startswith("0::")), None)
    if own is None:
        raise Unavailable("this kernel runs no cgroup v2")
    for line in _read("/proc/self/mountinfo").splitlines():
        fields, _, source = line.partition(" - ")
        if source.startswith("cgroup2 "):
            _, _, _, root, place = fields.split()[:5]
            if root == "/":
                return place, own
            if own == root or own.startswith(root + "/"):
                return place, own[len(root) :] or "/"
    raise Unavailable("cgroup v2 is not mounted")


def _give_controllers(place: str, own: str) -> None:
    control = f"{place}/cgroup.subtree_control"
    if set(CONTROLLERS) <= set(_read(control).split()):
        return
    wanted = " ".join(f"+{name}" for name in CONTROLLERS).encode()
    try:
        write_file(control, wanted)
        return
    except OSError as error:
        if error.errno != errno.EBUSY:
            raise
    members = {int(pid) for pid in _read(f"{place}/cgroup.procs").split()}
    if not members <= {os.getpid(), *(stat.pid for stat in processes.descendants(os.getpid()))}:
        raise Unavailable(
            f"{len(members)} processes live in {own}: start the host alone in a group of its own "
            "(systemd-run --user --scope -p Delegate=yes ...)"
        )
    with contextlib.suppress(FileExistsError):
        os.mkdir(f"{place}/{_OWN_LEAF}")
    for pid in members:
        with contextlib.suppress(ProcessLookupError):
            write_file(f"{place}/{_OWN_LEAF}/cgroup.procs", b"%d" % pid)
    write_file(control, wanted)


def _is_marked(place: str) -> bool:
    for name in _MARKS:
        with contextlib.suppress(OSError):
            if os.getxattr(place, name) == b"1":
                return True
    return False


def _remove_stale(place: str) -> None:
    """Remove the groups of hosts that were killed: all in them has ended, only the directories are left."""
    with os.scandir(place) as entries:
        names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    for name in names:
        owner = name[len(_PREFIX) :].partition("-")[0]
        if name.startswith(_PREFIX) and owner.isdigit() and not os.path.exists(f"/proc/{owner}"):
            with contextlib.suppress(OSError):
                os.rmdir(f"{place}/{name}")


def _read(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()
