"""Namespaces: leave the shared ones, map one user, and make a root file system that holds only what is bound in."""

from __future__ import annotations

import ctypes
import errno
import os
import struct

from safeexec.engine.linux.libc import AT_FDCWD, Call, address, check, libc, make, prepared, syscall, write_file
from safeexec.engine.linux.processes import setting_dumpable
from safeexec.engine.syscalls.numbers import numbers

KINDS = {
    "mount": 0x00020000,
    "cgroup": 0x02000000,
    "uts": 0x04000000,
    "ipc": 0x08000000,
    "user": 0x10000000,
    "pid": 0x20000000,
    "net": 0x40000000,
}
"""CLONE_NEW* by name."""

_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_NOEXEC = 1, 2, 4, 8
_MS_REMOUNT, _MS_BIND, _MS_REC, _MS_PRIVATE = 32, 4096, 16384, 1 << 18
_MNT_DETACH = 2
_AT_RECURSIVE = 0x8000
MOUNT_READ_ONLY, MOUNT_NOSUID, MOUNT_NODEV = 1, 2, 4
"""MOUNT_ATTR_* of mount_setattr(2)."""

_STAGE_CANDIDATES = ("/tmp", "/run", "/var/tmp", "/mnt")
_OLD_ROOT = "/.old"


def unsharing(*kinds: str) -> Call:
    """Return the call that moves this process into new namespaces (pid: its next child), or fails: EPERM, ENOSPC."""
    return prepared("unshare", sum(KINDS[kind] for kind in set(kinds)))


def enter_user_namespace(uid: int, gid: int, *, deny_setgroups: bool = True) -> None:
    """Enter a new user namespace in which one uid and gid are mapped to themselves. Raises OSError.

    The process must be dumpable, or its files in /proc belong to root: it stays dumpable. setgroups must be denied
    first (once: nested namespaces inherit it), or an unprivileged process may not map a group.
    """
    make([setting_dumpable(True), unsharing("user")])
    if deny_setgroups:
        write_file("/proc/self/setgroups", b"deny")
    write_file("/proc/self/gid_map", b"%d %d 1" % (gid, gid))
    write_file("/proc/self/uid_map", b"%d %d 1" % (uid, uid))


def mount(source: str, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    """Call mount(2). Raises OSError that names the target."""
    result = libc.mount(
        source.encode(), target.encode(), kind and kind.encode(), ctypes.c_ulong(flags), data and data.encode()
    )
    check(result, f"mount on {target}")


def set_flags(target: str, flags: int, *, recursive: bool = True) -> None:
    """Add MOUNT_ATTR_* `flags` to a mount and those beneath it. Raises OSError.

    mount_setattr(2) (5.12) adds and takes nothing away, so the locked flags of a user namespace do no harm.
    """
    attributes = ctypes.create_string_buffer(struct.pack("=4Q", flags, 0, 0, 0), 32)
    path = ctypes.create_string_buffer(target.encode())
    syscall("mount_setattr", AT_FDCWD, address(path), _AT_RECURSIVE if recursive else 0, address(attributes), 32)


def enter_new_root() -> None:
    """Make an empty tmpfs the root; the old one is reachable under ``/.old`` until `leave_old_root`.

    The mount namespace must be private to the caller. Raises OSError (EINVAL in a chroot or an initramfs).
    """
    mount("none", "/", None, _MS_REC | _MS_PRIVATE)  # or a host that shares its mounts, as systemd does, got these
    stage = next((path for path in _STAGE_CANDIDATES if os.path.isdir(path)), "/tmp")
    mount("safeexec", stage, "tmpfs", _MS_NOSUID | _MS_NODEV, "mode=0755,size=1m,nr_inodes=4096")
    os.mkdir(f"{stage}{_OLD_ROOT}", 0o755)
    os.chdir(stage)
    check(libc.syscall(ctypes.c_long(numbers()["pivot_root"]), b".", f".{_OLD_ROOT}".encode()), "pivot_root")
    os.chdir("/")


def bind(path: str, *, writable: bool = False, devices: bool = False) -> None:
    """Bind `path` of the old root at the same place of the new one. `path` must be free of symlinks. Raises OSError."""
    source = _OLD_ROOT + path
    if os.path.isdir(source):
        os.makedirs(path, 0o755, exist_ok=True)
    elif not os.path.exists(path):
        os.makedirs(os.path.dirname(path), 0o755, exist_ok=True)
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644))
    mount(source, path, None, _MS_BIND | _MS_REC)  # which takes no MS_RDONLY: a file behind it could be written
    # A device on a read-only mount can be written to all the same; its times and mode, which the host's are, cannot.
    flags = MOUNT_NOSUID | (0 if writable else MOUNT_READ_ONLY) | (0 if devices else MOUNT_NODEV)
    set_flags(path, flags)


def mount_proc() -> None:
    """Mount a fresh ``/proc``: only this pid namespace, and of it only what the reader could trace. Raises OSError.

    In a user namespace the kernel demands that the old ``/proc`` is fully visible; a container masks parts (EPERM).
    """
    os.makedirs("/proc", 0o755, exist_ok=True)
    for options in ("subset=pid,hidepid=invisible", "subset=pid", "hidepid=2", None):  # the names are those of 5.8
        try:
            mount("proc", "/proc", "proc", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC, options)
            return
        except OSError as error:
            if error.errno != errno.EINVAL or options is None:
                raise


def cover(directory: str, kept: str | None) -> None:
    """Cover `directory` in a mount namespace of the caller's own; `kept`, a path in it, stays what it was. The caller
    keeps its working directory, if that still exists. Raises OSError.
    """
    make([unsharing("mount")])
    mount("none", "/", None, _MS_REC | _MS_PRIVATE)
    here = os.getcwd()
    if kept is not None:
        os.chdir(kept)
    mount("safeexec", directory, "tmpfs", _MS_NOSUID | _MS_NODEV, "mode=0711,size=64k,nr_inodes=16")
    if kept is not None:
        os.makedirs(kept, 0o711)
        mount(".", kept, None, _MS_BIND)
    set_flags(directory, MOUNT_READ_ONLY | MOUNT_NOSUID | MOUNT_NODEV, recursive=False)
    os.chdir(here)  # by its path: what was open shows what is covered now


def leave_old_root() -> None:
    """Detach the old root. Raises OSError."""
    # Without the flag it is EBUSY: the interpreter and its libraries were mapped from there.
    check(libc.umount2(_OLD_ROOT.encode(), _MNT_DETACH), "umount of the old root")
    os.rmdir(_OLD_ROOT)


def make_root_read_only() -> None:
    """Make the tmpfs of the root read-only; mounts beneath keep their own flags. Raises OSError."""
    set_flags("/", MOUNT_READ_ONLY | MOUNT_NOSUID | MOUNT_NODEV, recursive=False)
