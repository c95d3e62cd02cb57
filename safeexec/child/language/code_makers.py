"""Who makes code of text, and functions of code. The interpreter asks, whatever calls it: by audit events.

A program has its own `compile`, `exec`, `eval`, ``def`` and ``lambda``, which its policy judges. The real ones may
reach it by an unknown way, and a library may hand its text to a module of Python that runs it (``timeit.Timer``).
"""

from __future__ import annotations

from types import FrameType
from typing import Final

from safeexec.child.language.libraries.sites import LIBRARIES, MAKERS
from safeexec.child.language.program import is_of_program
from safeexec.facades.sealing import SEALED_LIBRARIES

_SPELT: Final = frozenset({"CodeType", "FunctionType", "compile", "eval", "exec", "exec_", "replace"})
"""What a function spells that makes code or functions of it."""
_READ: Final = (SEALED_LIBRARIES | LIBRARIES) - {"safeexec"}
"""Libraries whose source was read for `MAKERS`."""
CODE_EVENTS: Final = frozenset({"code.__new__", "compile", "exec", "function.__new__"})
"""The audit events of who makes code."""


def judge_maker(frame: FrameType) -> None:
    """Raise RuntimeError where the function of this frame may not make code, which it is about to.

    Of Python's own modules and of libraries whose source was read it must be one that is listed: a pool of threads
    calls what it was given, others run what stands in ``sys.argv``. Of other libraries it spells what it asks for.
    """
    if not _makes_code(frame):
        name = frame.f_code.co_qualname
        if not is_of_program(frame):
            name = f"{frame.f_globals.get('__name__')}.{name}"
        raise RuntimeError(
            f"{name} makes code, which is refused: code is made by a program's own compile, exec, eval and def"
        )


def _makes_code(frame: FrameType) -> bool:
    if is_of_program(frame):
        return False
    code, module = frame.f_code, str(frame.f_globals.get("__name__"))
    root = module.partition(".")[0]
    if root in _READ:
        return f"{module}:{code.co_qualname}" in MAKERS or code.co_name == "<module>"
    return not _SPELT.isdisjoint(code.co_names)
