"""Makes the configuration of a zygote: the policy as data, the plan for the kernel, what to import."""

from __future__ import annotations

import os
import sys
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING

from msgspec.structs import replace

from safeexec.engine.host.session.channel import TOKEN
from safeexec.engine.host.startup import confinement as kernel
from safeexec.engine.policy.kernel import COMMAND_THREADS
from safeexec.errors import ProtectionError
from safeexec.protocol import messages as m

if TYPE_CHECKING:
    from collections.abc import Iterable

    from safeexec.engine.host.files.workspace_root import WorkspaceRoot
    from safeexec.engine.host.tools.toolbox import Toolbox
    from safeexec.engine.policy.model import Policy

DATA_PRELOAD = (
    "numpy",
    "pandas",
    "scipy.stats",
    "scipy.optimize",
    "sklearn.linear_model",
    "matplotlib.pyplot",
)
"""Imported before the first fork where the policy allows them: 2 to 4 s that no session should pay."""
SYMBOLIC_PRELOAD = (
    *("numpy.char", "numpy.ctypeslib", "numpy.f2py", "numpy.fft", "numpy.ma", "numpy.polynomial", "numpy.random"),
    *("numpy.rec", "numpy.strings", "numpy.testing", "numpy.typing"),
    *("sympy", "sympy.assumptions.wrapper", "sympy.combinatorics", "sympy.integrals.heurisch"),
    *("sympy.integrals.manualintegrate", "sympy.integrals.risch", "sympy.physics.units", "sympy.sets.setexpr"),
    *("sympy.stats", "sympy.tensor.tensor"),
)
"""Modules that `from numpy import *` imports, which `sympy.lambdify` does, and sympy with what `solve`, `integrate` and
`simplify` import when they are first called (together 0.6 s): for children that open no files.
"""


def configuration(policy: Policy, toolbox: Toolbox, root: WorkspaceRoot | None, packages: str | None) -> m.Configure:
    """Return the message. `root` has the sandbox's workspaces, with their owner; `packages` is where those
    lie that the policy requires. Raises `ProtectionError`.
    """
    programs: tuple[str, ...] = ()
    if policy.danger_allow_commands:
        from safeexec.engine.host.startup.programs import executables  # with shutil 5 ms, for few policies

        programs = executables(policy.danger_allow_commands)
    fonts = _fonts(policy)
    libraries = (*filter(None, (fonts, packages)), *programs)
    workspaces = None if root is None else root.path
    zygote, child, user = kernel.plan(policy, workspaces=workspaces, libraries=libraries)
    if root is not None:
        root.owner = user
    command = None
    if programs:
        if not zygote.landlock:
            raise ProtectionError("commands need Landlock, which says what may be executed; this machine has none")
        zygote = replace(zygote, programs=programs)
        command = replace(
            child,
            programs=programs,
            threads=max(child.threads, COMMAND_THREADS),
            executable_memory=True,
            event_loop=True,
            cpu_seconds=int(policy.limits.cpu_seconds) + 1,
        )
    determinism = policy.determinism
    imported = preloaded(policy)
    tell_uncompiled({name.partition(".")[0] for name in imported} - sys.stdlib_module_names)
    return m.Configure(
        language=policy.language_plan(tuple(toolbox.tools)),
        limits=policy.limits_plan(),
        confinement=zygote,
        child=child,
        command=command,
        preload=imported,
        font_cache=fonts,
        seed=None if determinism is None else determinism.seed,
        clock="real" if determinism is None else determinism.clock,
        tools=toolbox.signatures(),
        packages=packages,
        token=TOKEN,
    )


def _fonts(policy: Policy) -> str | None:
    """Return matplotlib's cache of fonts, where guests may draw."""
    draws = "any" in policy.imports or any(name.partition(".")[0] == "matplotlib" for name in policy.imports)
    if not draws and policy.language.mode != "python":
        return None
    from safeexec.engine.host.startup.fonts import font_cache  # with importlib.metadata 10 ms, for matplotlib

    return font_cache()


def tell_uncompiled(names: Iterable[str]) -> None:
    """Say once which of these packages have no byte code, as `uv pip install` leaves them: zygote and children cannot
    write it, so that every start compiles them anew, in seconds. To the logger `safeexec`, where the application logs.
    """
    logging = sys.modules.get("logging")
    if logging is None or not (logger := logging.getLogger("safeexec")).hasHandlers():
        return
    for name in names:
        spec = PathFinder.find_spec(name)
        if spec is None or not spec.cached or os.path.exists(spec.cached) or spec.cached in _REPORTED:
            continue
        _REPORTED.add(spec.cached)
        logger.warning(
            "%s has no byte code, so every start of a sandbox compiles it anew; once: %s -m compileall -q %s",
            *(name, sys.executable, os.path.dirname(spec.origin or "")),
        )


_REPORTED: set[str] = set()


def preloaded(policy: Policy) -> tuple[str, ...]:
    """Return what the zygote imports before it forks: all of the standard library that the policy names, which costs 20
    ms for `calculator` and no child anything; of other libraries the usual parts, and those that the policy names
    (`numpy.random`).
    """
    if policy.language.mode == "python":
        return ()
    imports = policy.imports
    tops = {name.partition(".")[0] for name in imports}
    wanted = [name for name in imports if name.partition(".")[0] in sys.stdlib_module_names]
    wanted += [name for name in DATA_PRELOAD if name.partition(".")[0] in tops]
    if "sympy" in tops and policy.filesystem.workspace == "none":
        wanted += [name for name in SYMBOLIC_PRELOAD if name.partition(".")[0] in tops]
    wanted += [name for name in imports if "." in name and name not in wanted]
    return tuple(wanted)
