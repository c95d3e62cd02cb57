"""Landlock: a process gives up all files, TCP ports, abstract sockets and signals that no rule grants.

It does not govern stat, chmod, chown, utimes and xattrs, UDP, or what an open descriptor can do. ABI 1 is Linux 5.13; 2
renames across directories; 3 truncate; 4 TCP; 5 ioctl on devices; 6 scopes for abstract unix sockets and signals; 7
audit flags.
"""

from __future__ import annotations

import ctypes
import functools
import os
import stat
import struct
from collections.abc import Iterable
from typing import NamedTuple

from safeexec.engine.linux.libc import Call, address, prepared, syscall

EXECUTE = 1 << 0
WRITE_FILE = 1 << 1
READ_FILE = 1 << 2
READ_DIR = 1 << 3
REMOVE_DIR = 1 << 4
REMOVE_FILE = 1 << 5
MAKE_DIR = 1 << 7
MAKE_REG = 1 << 8
REFER = 1 << 13
TRUNCATE = 1 << 14
IOCTL_DEV = 1 << 15

READ = READ_FILE | READ_DIR
"""Read files and list directories."""
WRITE = READ | WRITE_FILE | TRUNCATE | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG | REFER
"""Everything with regular files and directories; no links, devices, sockets or pipes."""

DEVICE = READ_FILE | WRITE_FILE | TRUNCATE
"""Use of a device file."""

FOR_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
_TCP = 0b11
_SCOPES = 0b11
_RULE_PATH_BENEATH = 1


@functools.cache
def abi() -> int:
    """Return the newest ABI of this kernel, 0 where Landlock is missing or off."""
    try:
        return syscall("landlock_create_ruleset", 0, 0, 1)
    except OSError:
        return 0


def handled_rights(version: int) -> int:
    """Return all file system rights that ABI `version` knows."""
    if version >= 5:
        return (1 << 16) - 1
    return (1 << (13 if version == 1 else 14 if version == 2 else 15)) - 1


class PackedRule(NamedTuple):
    """``struct landlock_path_beneath_attr`` in memory, and where; the descriptor must stay open."""

    buffer: ctypes.Array[ctypes.c_char]
    address: int


def pack_rule(descriptor: int, rights: int, version: int | None = None) -> PackedRule:
    """Make a rule ready once for many rulesets of ABI `version`, of which it takes no rights that this one does not
    know, and on a file none of directories (EINVAL). Raises OSError.
    """
    rights &= handled_rights(abi() if version is None else version)
    if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
        rights &= FOR_FILES
    buffer = ctypes.create_string_buffer(struct.pack("=Qi", rights, descriptor), 12)
    return PackedRule(buffer, address(buffer))


def restricting_self(descriptor: int) -> Call:
    """Return the call that restricts the calling thread, and all that it will start, by the ruleset of `descriptor`,
    for good. `no_new_privs` comes first.
    """
    return prepared("landlock_restrict_self", descriptor)


class Ruleset:
    """Rights that stay. Add paths, then `restricting_self`; `close` when done. A ruleset may serve many processes."""

    def __init__(self, version: int | None = None) -> None:
        version = abi() if version is None else version
        self.version = version
        fields = [handled_rights(version), _TCP if version >= 4 else 0, _SCOPES if version >= 6 else 0]
        size = 24 if version >= 6 else 16 if version >= 4 else 8
        attributes = ctypes.create_string_buffer(struct.pack("=3Q", *fields), 24)
        self.descriptor = syscall("landlock_create_ruleset", address(attributes), size)

    def add_packed(self, rule: PackedRule) -> None:
        """Grant what `pack_rule` made ready. Raises OSError."""
        syscall("landlock_add_rule", self.descriptor, _RULE_PATH_BENEATH, rule.address)

    def add_descriptor(self, descriptor: int, rights: int) -> None:
        """Grant `rights` beneath an open descriptor (O_PATH will do). Raises OSError."""
        self.add_packed(pack_rule(descriptor, rights, self.version))

    def add_path(self, path: str, rights: int) -> None:
        """Grant `rights` beneath `path`. Raises OSError (ENOENT)."""
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            self.add_descriptor(descriptor, rights)
        finally:
            os.close(descriptor)

    def add_paths(self, paths: Iterable[str], rights: int) -> None:
        """Grant `rights` beneath those of `paths` that exist."""
        for path in paths:
            if os.path.exists(path):
                self.add_path(path, rights)

    def close(self) -> None:
        os.close(self.descriptor)
