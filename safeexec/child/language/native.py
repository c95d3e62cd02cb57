"""Makes a builtin of a Python function, so that ``isinstance(print, types.BuiltinFunctionType)`` is true here, too.

``PyObject_Vectorcall(callable, args, nargs, kwnames)`` is a C function of the kind METH_FASTCALL | METH_KEYWORDS, whose
`self` is what it calls: the object made here is a real builtin, no frame of its own comes between the guest's frame and
the function, and a call costs 50 ns more.
"""

from __future__ import annotations

import builtins
import ctypes
from collections.abc import Callable
from typing import Any, Final

_FASTCALL_WITH_KEYWORDS: Final = 0x0080 | 0x0002


class _MethodDef(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


_call: Final = ctypes.cast(ctypes.pythonapi.PyObject_Vectorcall, ctypes.c_void_p).value
_new: Final = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.py_object)(
    ("PyCFunction_NewEx", ctypes.pythonapi)
)
_definitions: Final[list[_MethodDef]] = []
"""They live as long as the process: the interpreter keeps their address."""


def builtin(function: Callable[..., Any], name: str) -> Any:
    """A builtin of this name that calls `function`, with the signature and the text of the one it stands for."""
    real = getattr(builtins, name, function)
    signature = getattr(real, "__text_signature__", None)
    doc = f"{name}{signature}\n--\n\n{real.__doc__}" if signature else real.__doc__ or ""
    definition = _MethodDef(name.encode(), _call, _FASTCALL_WITH_KEYWORDS, doc.encode())
    _definitions.append(definition)
    return _new(ctypes.addressof(definition), function, "builtins")
