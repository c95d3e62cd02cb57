"""Prepares once, in the zygote, what no child should pay for: libraries imported, the heap frozen."""

from __future__ import annotations

import faulthandler
import gc
import importlib
import os
import signal
import sys
import time
from collections.abc import Sequence
from typing import Any

from safeexec.engine import advice
from safeexec.engine.child.link import Link
from safeexec.engine.child.process import fetching, substitutes
from safeexec.engine.child.process.serve import Server
from safeexec.engine.child.process.threads import Threads
from safeexec.engine.child.step.displays import Displays
from safeexec.engine.child.step.guest import Guest
from safeexec.engine.child.step.output import Streams
from safeexec.engine.child.step.program import Language
from safeexec.engine.child.step.tools import ToolCaller, show_help, tool_functions
from safeexec.protocol import messages as m

ENVIRONMENT = {
    "TZ": "UTC",
    "LC_ALL": "C.UTF-8",
    "LANG": "C.UTF-8",
    "HOME": "/tmp",
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "LOGNAME": "guest",  # for getpass.getuser(): the number that a guest runs under has no name on the machine
    # Process pools need semaphores and programs, and joblib warns at import where it finds none.
    "JOBLIB_MULTIPROCESSING": "0",
    "MPLBACKEND": "Agg",
    # A BLAS thread does not survive a fork, and a pool that lost its threads hangs; nor do pyarrow's own. Read when the
    # library is loaded.
    **dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"), "1"),
    **dict.fromkeys(("BLIS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "ARROW_IO_THREADS"), "1"),
    "ARROW_DEFAULT_MEMORY_POOL": "system",  # its own reserves more address space than a session has
    # DuckDB takes its size from Slurm's variables, and else from the control group, whose refusal ends its process.
    "SLURM_CPUS_ON_NODE": "1",
}


def prepare_environment(configure: m.Configure) -> None:
    """Define what libraries read from the environment, which the exec left empty."""
    os.environ.update(ENVIRONMENT)
    os.environ["SLURM_MEM_PER_NODE"] = str(configure.limits.memory_bytes // 1_000_000)
    if configure.font_cache is not None:
        os.environ["MPLCONFIGDIR"] = configure.font_cache
        _accept_read_only(configure.font_cache)
    time.tzset()


def _accept_read_only(directory: str) -> None:
    """Let matplotlib accept a configuration directory that it cannot write to, whoever imports it, and when.

    It calls `os.access` once, at import: where the directory is not writable it makes one of its own, and looks through
    all fonts for seconds.
    """
    real = os.access

    def access(path: Any, mode: int, **options: Any) -> bool:
        return path == directory or real(path, mode, **options)

    os.access = access


LATE = (
    "safeexec.engine.child.step.errors",
    "asttokens",
    "cloudpickle",
)
"""Modules for some steps only: imported between requests, so that the first result waits for none of it (20 ms)."""


COMMON = (
    *("_strptime", "array", "bisect", "calendar", "cmath", "contextlib", "copy", "dataclasses", "datetime"),
    *("decimal", "enum", "fractions", "functools", "graphlib", "heapq", "itertools", "json", "math", "numbers"),
    *("operator", "pickle", "pprint", "random", "re", "statistics", "string", "struct", "textwrap", "typing"),
    *("unicodedata", "zoneinfo"),
)
"""The modules of the standard library that every profile allows, and what those import behind a program's back:
imported while the host still makes its plans.
"""


def import_modules(names: Sequence[str]) -> None:
    """Import each module. One that is not installed, or fails to import, is logged."""
    for name in names:
        try:
            importlib.import_module(name)
        except Exception as error:
            print(f"{name} was not preloaded: {type(error).__name__}: {error}", file=sys.stderr)


def build_server(configure: m.Configure, control: int) -> Server:
    """Return what serves every session to come, but for its control socket, which becomes descriptor `control`."""
    substitutes.install()
    link = Link(control, token=configure.token)
    tools = ToolCaller(link, configure.limits, [tool.name for tool in configure.tools])
    functions = tool_functions(tools, configure.tools)
    fetching.install(tools.call, configure.tools)
    if functions:
        functions["help"] = show_help
    guest = Guest(
        Language(configure.language) if configure.language.mode == "python" else advice.language_of(configure.language),
        configure.limits,
        Streams(configure.limits.output_bytes),
        Displays(),
        functions,
    )
    if configure.limits.threads:
        guest.threads = Threads(configure.limits.threads)
        guest.threads.install()
    return Server(link, guest, tools)


WARM_UPS = 36
"""The steps after which CPython has specialised the code of a step. Else each child would do that for itself,
and copy 40 pages of 4 KiB more (3.11).
"""


def warm(server: Server) -> None:
    """Specialise the code of a step."""
    for _ in range(WARM_UPS):
        server.warm_up()
    freeze_heap()


def freeze_heap() -> None:
    """Take everything out of the collector's sight: a child's would copy each page of what it looks through."""
    gc.collect()
    gc.freeze()


def finish(server: Server) -> None:
    """Run the paths that every step takes, then hide what exists from the collector: children share it all."""
    server.guest.displays.prepare()
    server.guest.progress.prepare()
    server.guest.loop.prepare()
    server.guest.streams.warnings.install()
    # On this signal a child writes where it is to its standard error, from C, whatever it is busy with.
    faulthandler.register(signal.SIGUSR1, file=2, all_threads=False)
    server.warm_up()
    gc.freeze()
    gc.enable()
