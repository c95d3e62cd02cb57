"""Capabilities: drop them all, and see which are left."""

from __future__ import annotations

import ctypes
import struct

from safeexec.engine.linux.libc import Call, address, prctl, prepared, syscall

_SETPCAP = 8

_VERSION_3 = 0x20080522
_PR_CAPBSET_DROP, _PR_SET_SECUREBITS = 24, 28
_PR_CAP_AMBIENT, _AMBIENT_CLEAR_ALL = 47, 4
# NOROOT, NO_SETUID_FIXUP, NO_CAP_AMBIENT_RAISE, each with its lock; KEEP_CAPS off and locked
_SECUREBITS = 0x01 | 0x02 | 0x04 | 0x08 | 0x20 | 0x40 | 0x80

_header = ctypes.create_string_buffer(struct.pack("=Ii", _VERSION_3, 0), 8)
_nothing = ctypes.create_string_buffer(24)


def effective() -> int:
    """Return the effective set of the calling thread as a bit mask. Raises OSError."""
    data = ctypes.create_string_buffer(24)
    syscall("capget", address(_header), address(data))
    low, _, _, high, _, _ = struct.unpack("=6I", data.raw)
    return int(low | high << 32)


def dropping_all() -> Call:
    """Return the call that empties the effective, permitted and inheritable sets, and with them the ambient set."""
    return prepared("capset", address(_header), address(_nothing))


def forbid_gains() -> bool:
    """Let no exec give a capability back, and being uid 0 give none, for good. False without CAP_SETPCAP."""
    if not effective() >> _SETPCAP & 1:
        return False
    for capability in range(64):
        try:
            prctl(_PR_CAPBSET_DROP, capability)
        except OSError:  # EINVAL: past the last capability of this kernel
            break
    prctl(_PR_CAP_AMBIENT, _AMBIENT_CLEAR_ALL)
    prctl(_PR_SET_SECUREBITS, _SECUREBITS)
    return True
