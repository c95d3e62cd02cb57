"""Where attempts to get out are tried: a machine of its own, as far as namespaces go, for whatever does get out.

python -m benchmarks.compare.bed COMMAND [ARGUMENT...]

Nothing is written to disk (the root is read-only, `/tmp` is memory), no process and no network of the real machine is
there, and the user has no rights. Inside it each contender has its host, as it would on a real machine.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import shutil
import socket
import struct
import subprocess
import sys
from functools import cache

_ENTER = "benchmarks.compare.bed"
_LIBC = ctypes.CDLL(None, use_errno=True)
_MOUNT_SETATTR, _AT_FDCWD, _AT_RECURSIVE, _RDONLY = 442, -100, 0x8000, 1
_NOSUID, _NODEV = 2, 4
_SIOCSIFFLAGS, _IFF_UP = 0x8914, 1


def command(inner: list[str]) -> list[str]:
    """What runs `inner` there."""
    return [
        "unshare", "--user", "--keep-caps", "--map-user=1000", "--map-group=1000", "--mount", "--pid", "--net", "--ipc",
        "--uts", "--fork", "--kill-child", sys.executable, "-m", _ENTER, *inner,
    ]  # fmt: skip


@cache
def missing() -> str:
    """Why there is none on this machine, or nothing."""
    if not shutil.which("unshare") or not shutil.which("setpriv"):
        return "util-linux is not installed (unshare, setpriv)"
    done = subprocess.run(command(["true"]), capture_output=True, text=True, check=False)
    return f"no namespaces here: {done.stderr.strip()[-100:]}" if done.returncode else ""


def _check(result: int, what: str) -> None:
    if result:
        raise OSError(ctypes.get_errno(), what)


def _mount(kind: bytes, target: bytes) -> None:
    _check(_LIBC.mount(kind, target, kind, _NOSUID | _NODEV, None), f"mount on {target.decode()}")


def main() -> None:
    """Make this namespace such a machine, then become the command."""
    attributes = struct.pack("=QQQQ", _RDONLY, 0, 0, 0)
    _check(_LIBC.syscall(_MOUNT_SETATTR, _AT_FDCWD, b"/", _AT_RECURSIVE, attributes, len(attributes)), "read-only /")
    for target in (b"/tmp", b"/dev/shm", b"/run"):
        _mount(b"tmpfs", target)
    _mount(b"proc", b"/proc")
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", _IFF_UP))
    os.environ["HOME"] = "/tmp"
    os.execvp("setpriv", ["setpriv", "--ambient-caps=-all", "--inh-caps=-all", "--bounding-set=-all", *sys.argv[1:]])


if __name__ == "__main__":
    main()
