"""Who makes code of text, and functions of code. The interpreter asks, whatever calls it: by audit events.

A program has its own `compile`, `exec`, `eval`, ``def`` and ``lambda``, which its policy judges. The real ones may
reach it by an unknown way, and a library may hand its text to a module of Python that runs it (``timeit.Timer``).
"""

from __future__ import annotations

import sys
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
_EVENTS: Final = frozenset({"code.__new__", "compile", "exec", "function.__new__"})


def judge_code() -> None:
    """Let nobody make code but those who may, in this process and in those forked from it. It cannot be undone.

    The function that asks must be one of a library that spells what it asks for, and of Python's own one that is
    listed: a pool of threads or a decorator calls what it was given.
    """

    def hear(event: str, arguments: tuple[Any, ...]) -> None:
        if event not in _EVENTS:
            return
        frame = sys._getframe(1)
        if not _makes_code(frame):
            code = frame.f_code
            name = code.co_qualname if is_of_program(frame) else f"{frame.f_globals.get('__name__')}.{code.co_qualname}"
            raise RuntimeError(
                f"{name} makes code, which is refused: code is made by a program's own compile, exec, eval and def"
            )

    sys.addaudithook(hear)


def _makes_code(frame: FrameType) -> bool:
    if is_of_program(frame):
        return False
    module: Any = frame.f_globals.get("__name__")
    root = str(module).partition(".")[0]
    if root in SEALED_LIBRARIES and root != "safeexec":
        return frame.f_code.co_qualname in _OF_PYTHON.get(module, ())
    return not _SPELT.isdisjoint(frame.f_code.co_names)
