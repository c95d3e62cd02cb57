"""Decides what the kernel shall enforce: from the policy, and from what this machine has shown that it can do.

The answer is two structs of plain data. They name what this machine cannot do, with the reason and with what still
holds. Whether that is enough, the policy decides (`require`).
"""

from __future__ import annotations

import contextlib
import itertools
import os
import stat
import sys
from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING, Literal, NamedTuple

from msgspec.structs import replace

from safeexec import errors
from safeexec.engine.host.startup.launch import loader_folders
from safeexec.engine.host.watch.control_groups import mechanisms as group_mechanisms
from safeexec.engine.linux import landlock
from safeexec.engine.linux.probe import probe
from safeexec.engine.policy.kernel import child_confinement
from safeexec.errors import ProtectionError
from safeexec.protocol.confinement import ChildConfinement, Mechanism, ZygoteConfinement

if TYPE_CHECKING:
    from safeexec.engine.linux.probe import Probe
    from safeexec.engine.policy.model import Policy

_SYSTEM_LIBRARIES = ("/usr/lib", "/usr/lib64", "/lib", "/lib64", "/usr/local/lib", "/nix/store", "/gnu/store")
_SYSTEM_DATA = (
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/etc/mime.types",
    "/usr/share/zoneinfo",
    "/usr/share/fonts",
    "/usr/local/share/fonts",
)
_NEEDED = ("RestrictedPython", "asttokens", "cloudpickle")
"""Packages that a zygote imports after it has given up its rights."""
_METADATA = ".dist-info"
_SITES = ("site-packages", "dist-packages")
_WORKSPACE_LINKS = (("/home/user", "/proc/self/cwd"), ("/mnt/data", "/proc/self/cwd"))
"""Where programs that were written for other services look for their files: in a new root that is the directory that a
session works in, its workspace until the program changes it.
"""
_INPUT_LINKS = (("/dev/stdin", "/proc/self/fd/0"), ("/dev/fd", "/proc/self/fd"))
"""Not /dev/stdout and /dev/stderr: a program that opens one to write would empty the file of what it has printed."""
_DEVICES = ("/dev/null", "/dev/urandom")
"""Not /dev/zero: mapped shared it is memory that no size tells of."""
_SHARED_PREFIXES = frozenset(("/", "/usr", "/usr/local"))
"""Prefixes that hold a whole system: of those only Python's own directories are needed."""

_SHARED_PROCESSES = 1024  # of all sessions together, where the kernel cannot count for each
_FIRST_USER = 0x70000000
_USERS = 256
"""How many user ids each host process takes."""
_counter = itertools.count()

_WITHOUT = {
    "user": "children cannot count their own processes; seccomp, Landlock and the host's watch carry on",
    "mount": "the whole file tree is in view; Landlock decides what can be opened, not what can be looked up by stat",
    "pid": "the end of a sandbox is a sweep by its reaper; seccomp refuses all signals to others",
    "net": "seccomp refuses every socket",
    "ipc": "seccomp refuses shared memory and queues",
    "uts": "the host's name can be read",
    "cgroup": "nothing else is lost",
}
_WITHOUT_GATE = "what guest code forks is counted, and ended when it is found"
_NAMES = {"net": "network-namespace"}


class User(NamedTuple):
    uid: int
    gid: int


class Confinement(NamedTuple):
    """What `plan` decided; `user` owns the workspaces directory (None: the host's own user does)."""

    zygote: ZygoteConfinement
    child: ChildConfinement
    user: User | None


def plan(
    policy: Policy, *, workspaces: str | None = None, libraries: Iterable[str] = (), facts: Probe | None = None
) -> Confinement:
    """Return the two plans for one sandbox. `workspaces` is an existing directory; the caller gives it to `user`
    afterwards.

    `libraries` are further paths that the zygote needs (prepared caches, editable installs). Raises `ProtectionError`
    where seccomp is missing: without it nothing holds.
    """
    if facts is None:
        facts = probe()
    if not facts.seccomp.works:
        reason = f"seccomp does not work here ({facts.seccomp.reason})"
        raise ProtectionError(f"{reason}; guest code cannot be confined without it")
    namespaces, missing = _namespaces(facts)
    extra = () if "mount" in namespaces else _machine_paths()
    listed = tuple(_installation_targets())
    packages = tuple(package for directory in listed for package in _installed_in(directory))
    needed = _needed_packages()
    read, links = library_paths((*libraries, *policy.filesystem.read, *extra, *packages, *needed))
    listed = tuple(dict.fromkeys(os.path.realpath(place) for place in (*listed, *map(os.path.dirname, needed))))
    listed = tuple(place for place in listed if not _is_below(place, read))
    user = None
    if facts.root.works:
        unreadable = _unreadable(read, "mount" in namespaces)
        if unreadable is None:
            user = unprivileged_user()
        else:
            missing.append(_no_user(f"{unreadable} cannot be read by another user"))
            namespaces = tuple(kind for kind in namespaces if kind != "user")
    elif os.geteuid() == 0:
        missing.append(_no_user(facts.root.reason))
    if not facts.notify.works:
        missing.append(Mechanism("fork-gate", False, f"not available ({facts.notify.reason}): {_WITHOUT_GATE}"))
    zygote = ZygoteConfinement(
        namespaces=tuple(kind for kind in namespaces if user is None or kind != "user"),
        uid=user.uid if user else None,
        gid=user.gid if user else None,
        read=read,
        listed=listed,
        devices=tuple(filter(os.path.exists, _DEVICES)),
        links=(*links, *_INPUT_LINKS, *(_WORKSPACE_LINKS if workspaces else ())),
        workspaces=workspaces and os.path.realpath(workspaces),
        landlock=facts.landlock_abi,
        fork_gate=facts.notify.works,
        missing=tuple(missing),
    )
    return Confinement(zygote, _child(policy, zygote, facts, "user" in namespaces), user)


def branch_ruleset(plan: ChildConfinement, proc: int, region: str) -> int | None:
    """Return a descriptor of one more layer of Landlock for a branch: all that its session may read, and of the
    workspaces its own `region` alone. None where there is no Landlock, or no files. `proc`: a descriptor of the
    ``/proc`` that children see, -1 where they have none of their own. Raises OSError.

    It is made here, since no child may make one, and travels with the resume; the branch enters it before any code of
    the guest goes on. The kernel judges a path by every layer that a process has: what only the older ones allow, the
    workspaces of the session that the branch comes from and of its siblings, is out of reach.
    """
    if not plan.landlock or plan.files == "none":
        return None
    ruleset = landlock.Ruleset(plan.landlock)
    try:
        ruleset.add_paths(plan.read, landlock.READ)
        ruleset.add_paths(plan.devices, landlock.DEVICE)
        if proc >= 0:
            ruleset.add_descriptor(proc, landlock.READ)
        ruleset.add_path(region, landlock.WRITE if plan.files == "write" else landlock.READ)
    except BaseException:
        ruleset.close()
        raise
    return ruleset.descriptor


def _namespaces(facts: Probe) -> tuple[tuple[str, ...], list[Mechanism]]:
    wanted, missing = [], []
    for kind, lost in _WITHOUT.items():
        answer = facts.namespace(kind)
        if answer.works:
            wanted.append(kind)
        else:
            detail = f"not available ({answer.reason}): {lost}"
            missing.append(Mechanism(_NAMES.get(kind, f"{kind}-namespace"), False, detail))
    if not {"mount", "pid"} <= set(wanted):  # a new root needs a /proc of its own, which needs a pid namespace
        wanted = [kind for kind in wanted if kind not in ("mount", "pid")]
        if facts.pid.works:
            missing.append(Mechanism("pid-namespace", False, f"it goes with the mount namespace: {_WITHOUT['pid']}"))
    return tuple(wanted), missing


def _no_user(reason: str) -> Mechanism:
    return Mechanism("unprivileged-user", False, f"guest code runs as root without capabilities ({reason})")


def _child(policy: Policy, zygote: ZygoteConfinement, facts: Probe, user_namespace: bool) -> ChildConfinement:
    wanted = child_confinement(policy)
    missing = []
    files = wanted.files
    separate: Literal["", "none", "landlock", "mounts", "turns"] = "landlock"
    if not facts.landlock.works:
        lost = "the new root says what can be opened"
        if "mount" not in zygote.namespaces:
            files, lost = "none", "no file can be opened at all, not even a library's"
        elif user_namespace and facts.own_mount.works:
            separate = "mounts"
        else:
            separate = "turns" if any("separate-files" in entry for entry in policy.require) else ""
        missing.append(Mechanism("landlock", False, f"not available ({facts.landlock.reason}): {lost}"))
    return replace(
        wanted,
        processes=_process_limit(wanted.processes, zygote, user_namespace),
        files=files,
        metadata="mount" in zygote.namespaces and files == "write",
        read=zygote.read,
        listed=zygote.listed,
        devices=zygote.devices,
        landlock=facts.landlock_abi,
        separate="none" if files == "none" or not zygote.workspaces else separate,
        workspaces=zygote.workspaces or "",
        proc="/proc" if "mount" in zygote.namespaces else "/proc/self",
        user_namespace=user_namespace,
        setgroups_denied="user" in zygote.namespaces,
        missing=tuple(missing),
    )


def _process_limit(of_session: int | None, zygote: ZygoteConfinement, user_namespace: bool) -> int | None:
    """Return RLIMIT_NPROC of a child: of its session where it has a user namespace, else of all that its user has."""
    if user_namespace:
        return of_session
    if zygote.uid is None and os.geteuid() == 0:
        return None
    return _SHARED_PROCESSES + (0 if zygote.uid is not None else _tasks_of(os.getuid()))


def _tasks_of(uid: int) -> int:
    """Return the number of threads of all processes of a user."""
    total = 0
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                if os.stat(f"/proc/{name}").st_uid == uid:
                    total += len(os.listdir(f"/proc/{name}/task"))
            except OSError:
                continue
    return total


def unprivileged_user() -> User:
    """Return a uid and gid that nobody has: of this sandbox alone, so that not even the same user is shared with
    another.

    Taken from far above the ranges that systems hand out, or from the end of what a container maps. A host that has
    opened hundreds comes round to the first ones: those that have a process are passed over.
    """
    for _ in range(_USERS):
        wanted = _FIRST_USER + os.getpid() % 0x100000 * _USERS + next(_counter) % _USERS
        user = User(_mapped("/proc/self/uid_map", wanted), _mapped("/proc/self/gid_map", wanted))
        try:
            os.getpriority(os.PRIO_USER, user.uid)
        except ProcessLookupError:
            break
    return user


def _mapped(path: str, wanted: int) -> int:
    try:
        with open(path, encoding="utf-8") as file:
            ranges = [(int(first), int(count)) for first, _, count in (line.split() for line in file)]
    except OSError:
        return wanted
    if any(first <= wanted < first + count for first, count in ranges):
        return wanted
    first, count = max(ranges, key=lambda item: item[1], default=(0, 65536))
    return first + max(0, count - 2 - wanted % min(1000, max(1, count - 2)))


def _unreadable(paths: Iterable[str], new_root: bool) -> str | None:
    """Return the first of `paths` that a user without rights could not read. In a new root the parents do not
    matter.
    """
    for path in paths:
        if path in _SYSTEM_DATA:
            continue
        for place in (path,) if new_root else (path, *_parents(path)):
            mode = os.stat(place).st_mode
            needed = (0o5 if place == path else 0o1) if stat.S_ISDIR(mode) else 0o4
            if mode & needed != needed:
                return place
    return None


def _parents(path: str) -> Iterator[str]:
    while (parent := os.path.dirname(path)) != path:
        yield parent
        path = parent


def library_paths(extra: Iterable[str]) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    """Return the real paths that Python and its libraries read, and the symlinks that lead to them.

    Holds the standard library, the prefix, site-packages (also the user's, where it is on), what ``.pth`` files and
    editable installs add, this package, and the system's libraries, time zones and fonts.
    """
    wanted = [*_python_paths(), *_SYSTEM_LIBRARIES, *_SYSTEM_DATA, *extra]
    real: dict[str, None] = {}
    links: dict[str, str] = {}
    for path in wanted:
        if os.path.isabs(path) and os.path.exists(path):
            links.update(_links_on(path))
            real[os.path.realpath(path)] = None
    kept = [path for path in real if not _is_below(path, real)]
    return tuple(sorted(kept)), tuple(links.items())


def _is_below(path: str, others: Collection[str]) -> bool:
    return any(parent in others for parent in _parents(path))


def _machine_paths() -> Iterator[str]:
    """Yield what libraries ask about the machine, and do not find in a new root: processors, and the control group's
    limits.

    Where they are in view but refused, joblib fails: it expects ENOENT.
    """
    yield "/sys/devices/system/cpu/online"
    limits = ("cpu.max", "memory.max", "memory.high", "cpu.cfs_quota_us", "cpu.cfs_period_us", "memory.limit_in_bytes")
    try:
        with open("/proc/self/cgroup", encoding="utf-8") as file:
            groups = [line.strip().split(":", 2)[1:] for line in file]
    except OSError:
        return
    for controllers, group in groups:
        for controller in controllers.split(","):
            for place in {group, "/"}:
                directory = os.path.normpath(f"/sys/fs/cgroup/{controller}/{place}")
                yield from (path for name in limits if os.path.exists(path := os.path.join(directory, name)))


def _python_paths() -> Iterator[str]:
    # The site directories are on the import path. `sysconfig` would say the same, at the cost of a large table.
    yield os.path.dirname(os.__file__)
    yield os.path.join(sys.base_exec_prefix, sys.platlibdir, "python{}.{}".format(*sys.version_info))
    for prefix in {sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix}:
        if os.path.realpath(prefix) not in _SHARED_PREFIXES:
            yield prefix
    yield os.path.dirname(os.path.abspath(errors.__file__))
    yield from _site_paths()
    for name, module in list(sys.modules.items()):
        if name.startswith("__editable___"):  # setuptools' finders map packages to a source tree
            yield from (path for path in getattr(module, "MAPPING", {}).values() if isinstance(path, str))
    for folder in loader_folders():  # the shared libraries there, and not what lies beside them
        libraries = (name for name in _list(folder) if name.rstrip(".0123456789").endswith(".so"))  # libz.so.1.3 too
        yield from filter(os.path.isfile, (os.path.join(folder, name) for name in libraries))


def _site_paths() -> Iterator[str]:
    """Yield the site directories on the import path, and the entries that their ``.pth`` files added to it.

    Other entries are the caller's own code (the script's directory, PYTHONPATH), which guest code has no need to read.
    """
    on_path = {os.path.abspath(entry) for entry in sys.path if entry}
    sites = [entry for entry in on_path if os.path.basename(entry) in _SITES]
    yield from sites
    for file in (os.path.join(site, name) for site in sites for name in _list(site) if name.endswith(".pth")):
        with contextlib.suppress(OSError), open(file, encoding="utf-8", errors="replace") as lines:
            added = (os.path.abspath(os.path.join(os.path.dirname(file), line.strip())) for line in lines)
            yield from on_path.intersection(added)


def _installation_targets() -> Iterator[str]:
    """Yield the directories on the import path that ``pip install --target`` has filled, whatever they are called."""
    standard = os.path.dirname(os.__file__)
    for entry in {os.path.abspath(entry) for entry in sys.path if entry}:
        if standard in (entry, os.path.dirname(entry)) or os.path.basename(entry) in _SITES:
            continue
        if any(name.endswith(_METADATA) for name in _list(entry)):
            yield entry


def _installed_in(directory: str) -> Iterator[str]:
    """Yield what is installed in such a directory, and not what lies beside it: the caller's own code may."""
    names: dict[str, None] = {}
    for info in (name for name in _list(directory) if name.endswith(_METADATA)):
        names[info] = None
        try:
            with open(os.path.join(directory, info, "RECORD"), encoding="utf-8", errors="replace") as file:
                names.update(dict.fromkeys(line.partition(",")[0].partition("/")[0] for line in file))
        except OSError:
            continue
    yield from (os.path.join(directory, name) for name in names if name not in ("", ".", "..", "__pycache__"))


def _needed_packages() -> tuple[str, ...]:
    """Return where the packages of `_NEEDED` lie on the import path. Raises `ProtectionError`."""
    entries = [os.path.abspath(entry) for entry in sys.path if entry]
    found = {
        name: next((path for entry in entries if os.path.isdir(path := os.path.join(entry, name))), "")
        for name in _NEEDED
    }
    if missing := [name for name, place in found.items() if not place]:
        raise ProtectionError(
            f"{missing[0]}, which safeexec needs, is in no directory of this Python's import path (sys.path): install "
            "safeexec with its dependencies, by pip or uv"
        )
    return tuple(found.values())


def _list(directory: str) -> list[str]:
    try:
        return os.listdir(directory)
    except OSError:
        return []


def _links_on(path: str) -> Iterator[tuple[str, str]]:
    """Yield (place, target) of every symlink on the way to `path`, targets included."""
    parts, place = path.strip("/").split("/"), "/"
    for _ in range(256):
        if not parts:
            return
        here = os.path.join(place, parts.pop(0))
        if os.path.islink(here):
            target = os.readlink(here)
            yield here, target
            there = os.path.normpath(os.path.join(place, target))
            parts, place = there.strip("/").split("/") + parts, "/"
        else:
            place = here


def describe(facts: Probe | None = None) -> list[Mechanism]:
    """Return what this machine can enforce, for `safeexec doctor`: each answer was found by trying."""
    if facts is None:
        facts = probe()
    landlock = f"ABI {facts.landlock_abi}" if facts.landlock.works else facts.landlock.reason
    found = [
        Mechanism("seccomp", facts.seccomp.works, facts.seccomp.reason or "a filter was installed and refused a call"),
        Mechanism("landlock", facts.landlock.works, landlock),
        Mechanism("fork-gate", facts.notify.works, facts.notify.reason or "a fork waited until it was allowed"),
        Mechanism("unprivileged-user", facts.root.works or os.geteuid() != 0, facts.root.reason),
    ]
    for kind, without in _WITHOUT.items():
        answer = facts.namespace(kind)
        detail = "" if answer.works else f"{answer.reason}: {without}"
        found.append(Mechanism(_NAMES.get(kind, f"{kind}-namespace"), answer.works, detail))
    return [*found, *group_mechanisms()]


def check_required(policy: Policy, rows: list[Mechanism]) -> None:
    """Raises `ProtectionError` unless all that the policy requires is active in `rows`."""
    active = {mechanism.name for mechanism in rows if mechanism.active}
    missing = policy.missing_protection(active)
    if not missing:
        return
    reasons = {mechanism.name: mechanism.detail for mechanism in rows if not mechanism.active}
    text = "; ".join(
        f"{entry} ({', '.join(reasons.get(name, 'not active') for name in entry.split(' or '))})" for entry in missing
    )
    rule = policy.origin(f"require.{missing[0]}")
    kept = ", ".join(entry for entry in policy.require if entry not in missing)
    less = f"Take it out of `require` ({rule})" if rule else f"Write `require: [{kept}]` into the policy"
    raise ProtectionError(
        f"this machine cannot give what the policy {policy.name!r} requires: {text}. "
        f"{less} to accept less; `safeexec doctor` shows what there is"
    )
