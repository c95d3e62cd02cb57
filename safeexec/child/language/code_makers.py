"""Who makes code of text, and functions of code. The interpreter asks, whatever calls it: by audit events.

A program has its own `compile`, `exec`, `eval`, ``def`` and ``lambda``, which its policy judges. The real ones may
reach it by an unknown way, and a library may hand its text to a module of Python that runs it (``timeit.Timer``).
"""

from __future__ import annotations

from types import FrameType
from typing import Any, Final

from safeexec.child.language.program import is_of_program
from safeexec.facades.sealing import SEALED_LIBRARIES

_OF_PYTHON: Final = {
    "ast": ("parse",),
    "collections": ("namedtuple",),
    "dataclasses": ("_FuncBuilder.add_fns_to_class", "_create_fn"),
    "gettext": ("c2py",),
    "importlib._bootstrap": ("FrozenImporter.exec_module", "_call_with_frames_removed"),
    "types": ("coroutine",),
}
"""Python's own modules and their functions that make code: of text that they write or have checked, or of modules that
are loaded.
"""
_SPELT: Final = frozenset({"CodeType", "FunctionType", "compile", "eval", "exec", "exec_", "replace"})
"""What a function spells that makes code or functions of it."""
CODE_EVENTS: Final = frozenset({"code.__new__", "compile", "exec", "function.__new__"})
"""The audit events of who makes code."""


def judge_maker(frame: FrameType) -> None:
    """Raise RuntimeError where the function of this frame may not make code, which it is about to.

    It must be one of a library that spells what it asks for, and of Python's own one that is listed: a pool of threads
    or a decorator calls what it was given.
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
    module: Any = frame.f_globals.get("__name__")
    root = str(module).partition(".")[0]
    if root in SEALED_LIBRARIES and root != "safeexec":
        return frame.f_code.co_qualname in _OF_PYTHON.get(module, ())
    return not _SPELT.isdisjoint(frame.f_code.co_names)
