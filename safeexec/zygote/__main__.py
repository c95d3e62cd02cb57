"""Entry of the zygote process: `main(fd)` with the control socket on descriptor `fd`."""

from __future__ import annotations

import os


def main(fd: int) -> None:
    """Close every descriptor that is not ours, then become a zygote."""
    os.closerange(fd + 1, os.sysconf("SC_OPEN_MAX"))
    from safeexec.zygote.server import run

    run(fd)
