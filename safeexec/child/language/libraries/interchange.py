"""Tables that are handed over by ``__dataframe__``: their buffers say at which address they begin.

A program may write such a table, and would read any memory by it. What is read here are the bytes of an array or of a
buffer of Arrow that the buffer holds, as far as these reach.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import SimpleNamespace
from typing import Any, NoReturn

from safeexec.child.language.libraries.patching import put

_PANDAS = "pandas.core.interchange.from_dataframe"
_PYARROW = "pyarrow.interchange.from_dataframe"


def guard() -> None:
    """Let pandas and pyarrow read such tables in this way, now or when they are imported."""
    put(_PANDAS, "buffer_to_ndarray", lambda: _array)
    put(_PYARROW, "pa", _arrow)


def _bytes_of(buffer: Any) -> memoryview:
    """What a buffer of pandas or of pyarrow holds. Its class may be the program's: the array itself cannot."""
    import numpy

    for name in ("_x", "_buffer"):
        try:
            held = object.__getattribute__(buffer, name)
        except AttributeError:
            continue
        if type(held) is numpy.ndarray or type(held) is getattr(sys.modules.get("pyarrow"), "Buffer", None):
            return memoryview(held).cast("B")
    raise TypeError("memory is not read by its address: make a DataFrame of the table in another way")


def _array(buffer: Any, dtype: Any, *, length: int, offset: int = 0) -> Any:
    """In place of `buffer_to_ndarray` of pandas."""
    import numpy

    kind, bits, *_ = dtype
    wanted = vars(sys.modules[_PANDAS])["_NP_DTYPES"].get(kind, {}).get(bits)
    if wanted is None:
        raise NotImplementedError(f"Conversion for {dtype} is not yet supported.")
    if bits == 1:
        found = numpy.unpackbits(numpy.frombuffer(_bytes_of(buffer), "u1"), bitorder="little")[offset:]
        if len(found) < length:
            _too_short()
        return found[:length].astype(bool)
    if not length:
        return numpy.array([], wanted)
    return numpy.frombuffer(_bytes_of(buffer), wanted, length, offset * bits // 8).copy()


def _arrow() -> SimpleNamespace:
    """`pyarrow`, as its reader of such tables finds it."""
    pyarrow = import_module("pyarrow")

    def foreign_buffer(address: object, size: int, base: Any) -> Any:
        held = _bytes_of(base)
        if not 0 <= size <= held.nbytes:
            _too_short()
        return pyarrow.py_buffer(held[:size])

    return SimpleNamespace(**{**vars(pyarrow), "foreign_buffer": foreign_buffer})


def _too_short() -> NoReturn:
    raise ValueError("a buffer is shorter than its table says")
