"""What libraries do by calls that the filter refuses (`syscalls.table`), done by others that it allows."""

from __future__ import annotations

import sys
from typing import Any

from safeexec.child.language.on_import import after_import

_OPTIONS = ("flags", "prot", "access", "offset")
"""The arguments of `mmap.mmap` after file and length."""


def install() -> None:
    """Replace them now or when each module is imported. In the zygote: its children inherit it."""
    after_import("mmap", _map_privately)
    after_import("asyncio.selector_events", _send_without_descriptors)


def _map_privately() -> None:
    """Memory without a file is shared by default, for forks that there are none of here: private memory does the same.

    The filter refuses the former, which can be held without being in any resident size.
    """
    module: Any = sys.modules["mmap"]
    shared = module.mmap

    def __new__(cls: type, fileno: int, length: int, *arguments: Any, **options: Any) -> Any:
        options |= zip(_OPTIONS, arguments, strict=False)
        if fileno == -1:
            access = options.pop("access", module.ACCESS_DEFAULT)
            if access == module.ACCESS_READ:
                options["prot"] = module.PROT_READ
            options["flags"] = options.get("flags", 0) & ~module.MAP_SHARED | module.MAP_PRIVATE
        return shared.__new__(cls, fileno, length, **options)

    module.mmap = type("mmap", (shared,), {"__new__": __new__, "__module__": "mmap", "__doc__": shared.__doc__})


def _send_without_descriptors() -> None:
    """3.12 and later send several buffers by sendmsg, which can carry descriptors, too."""
    vars(sys.modules["asyncio.selector_events"])["_HAS_SENDMSG"] = False
