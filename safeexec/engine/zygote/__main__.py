"""Entry of the zygote process: `main(fd)` with the control socket on descriptor `fd`."""

from __future__ import annotations

import gc
import os
import sys
import time

from safeexec.common.typed import Unseen


def main(fd: int) -> None:
    """Close every descriptor that is not ours, then become a zygote."""
    began = time.monotonic()
    os.closerange(fd + 1, os.sysconf("SC_OPEN_MAX"))
    # Nothing that is imported becomes garbage, and looking for some takes a tenth of the start: until `preload.finish`.
    gc.disable()
    if "PYTHONHASHSEED" in os.environ:
        fix_addresses()
    if "LD_LIBRARY_PATH" in os.environ:
        from safeexec.engine.linux.libc import wipe_variable  # where a module system or a package manager has set it

        wipe_variable("LD_LIBRARY_PATH")
    # uuid has platform imported (2 ms of regular expressions) to ask whether this is Linux.
    sys.modules["platform"] = platform = type(sys)("platform")
    platform.__dict__["system"] = lambda: "Linux"
    with Unseen("typing_extensions"):
        from safeexec.engine.zygote.server import run  # while those two are hidden

    del sys.modules["platform"]
    run(fd, began)


def fix_addresses() -> None:
    """Start once more without address randomisation: the order of a set of objects hangs on their addresses."""
    from safeexec.engine.linux.personality import stop_randomizing  # for policies with `determinism`

    if stop_randomizing():
        os.execv(sys.executable, sys.orig_argv)
