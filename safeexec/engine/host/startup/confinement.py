"""Decides what the kernel shall enforce: from the policy, and from what this machine has shown that it can do.

The answer is two structs of plain data. They name what this machine cannot do, with the reason and with what still
holds. Whether that is enough, the policy decides (`require`).
"""

from __future__ import annotations

import itertools
import os
import stat
from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal, NamedTuple

from msgspec.structs import replace

from safeexec.engine.host.startup.library_paths import (
    SYSTEM_DATA,
    installation_targets,
    installed_in,
    is_below,
    library_paths,
    machine_paths,
    needed_packages,
    parents,
)
from safeexec.engine.host.watch.control_groups import mechanisms as group_mechanisms
from safeexec.engine.linux import landlock
from safeexec.engine.linux.probe import probe
from safeexec.engine.policy.kernel import child_confinement
from safeexec.errors import ProtectionError
from safeexec.protocol.confinement import ChildConfinement, Mechanism, ZygoteConfinement

if TYPE_CHECKING:
    from safeexec.engine.linux.probe import Probe
    from safeexec.engine.policy.model import Policy

_WORKSPACE_LINKS = (("/home/user", "/proc/self/cwd"), ("/mnt/data", "/proc/self/cwd"))
"""The places where programs that were written for other services look for their files: in a new root that is the
directory that a session works in, its workspace until the program changes it.
"""
_INPUT_LINKS = (("/dev/stdin", "/proc/self/fd/0"), ("/dev/fd", "/proc/self/fd"))
"""Not /dev/stdout and /dev/stderr: a program that opens one to write would empty the file of what it has printed."""
_DEVICES = ("/dev/null", "/dev/urandom")
"""Not /dev/zero: mapped shared it is memory that counts in no size."""
_SHARED_PROCESSES = 1024  # of all sessions together, where the kernel cannot count for each
_FIRST_USER = 0x70000000
_USERS = 256
"""The number of user ids that each host process takes."""
_counter = itertools.count()

_WITHOUT = {
    "user": "children cannot count their own processes; seccomp, Landlock and the host's watch carry on",
    "mount": "the whole file tree is in view; Landlock decides what can be opened, not what can be looked up by stat",
    "pid": "the end of a sandbox is a sweep by its reaper; seccomp refuses all signals to others",
    "net": "seccomp refuses every socket",
    "ipc": "seccomp refuses shared memory and queues",
    "uts": "the host's name can be read",
    "cgroup": "the names of the host's control groups can be read",
}
_WITHOUT_GATE = "what guest code forks is counted, and ended when it is found"


def _mechanism_of(kind: str) -> str:
    """Return the name by which policies require a kind of namespace."""
    return "network-namespace" if kind == "net" else f"{kind}-namespace"


class User(NamedTuple):
    uid: int
    gid: int


class Confinement(NamedTuple):
    """The decision of `plan`; `user` owns the workspaces directory (None: the host's own user does)."""

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
    extra = () if "mount" in namespaces else machine_paths()
    listed = tuple(installation_targets())
    packages = tuple(package for directory in listed for package in installed_in(directory))
    needed = needed_packages()
    read, links = library_paths((*libraries, *policy.filesystem.read, *extra, *packages, *needed))
    listed = tuple(dict.fromkeys(os.path.realpath(place) for place in (*listed, *map(os.path.dirname, needed))))
    listed = tuple(place for place in listed if not is_below(place, read))
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
            missing.append(Mechanism(_mechanism_of(kind), False, f"not available ({answer.reason}): {lost}"))
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
    """Return a uid and gid that nobody has, and that no other sandbox of this host gets.

    Taken from far above the ranges that systems hand out, or from the end of what a container maps. A host that has
    opened hundreds comes round to the first ones: those that have a process are passed over. Where all have one, the
    last one is shared.
    """
    for _ in range(_USERS):
        wanted = _FIRST_USER + os.getpid() % 0x100000 * _USERS + next(_counter) % _USERS
        user = User(_mapped("/proc/self/uid_map", wanted), _mapped("/proc/self/gid_map", wanted))
        try:
            os.getpriority(os.PRIO_USER, user.uid)  # ESRCH where no process is this user's
        except ProcessLookupError:
            break
    return user


def _mapped(path: str, wanted: int) -> int:
    """Return an id that this user namespace maps: the one that is wanted, or one near the end of its largest range."""
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
    """Return the first of `paths` that a user without rights could not read. In a new root parents do not matter."""
    for path in paths:
        if path in SYSTEM_DATA:
            continue
        for place in (path,) if new_root else (path, *parents(path)):
            mode = os.stat(place).st_mode
            needed = (0o5 if place == path else 0o1) if stat.S_ISDIR(mode) else 0o4
            if mode & needed != needed:
                return place
    return None


def describe(facts: Probe | None = None) -> list[Mechanism]:
    """Return what this machine can enforce, for `safeexec doctor`: each answer was found by trying."""
    if facts is None:
        facts = probe()
    abi = f"ABI {facts.landlock_abi}" if facts.landlock.works else facts.landlock.reason
    found = [
        Mechanism("seccomp", facts.seccomp.works, facts.seccomp.reason or "a filter was installed and refused a call"),
        Mechanism("landlock", facts.landlock.works, abi),
        Mechanism("fork-gate", facts.notify.works, facts.notify.reason or "a fork waited until it was allowed"),
        Mechanism("unprivileged-user", facts.root.works or os.geteuid() != 0, facts.root.reason),
    ]
    for kind, without in _WITHOUT.items():
        answer = facts.namespace(kind)
        detail = "" if answer.works else f"{answer.reason}: {without}"
        found.append(Mechanism(_mechanism_of(kind), answer.works, detail))
    return [*found, *group_mechanisms()]


def check_required(policy: Policy, rows: list[Mechanism]) -> None:
    """Raise `ProtectionError` unless all that the policy requires is active in `rows`."""
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
