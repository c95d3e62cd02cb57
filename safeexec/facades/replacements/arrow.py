"""Arrays of Arrow as pickles hold them. What pyarrow has for it believes the lengths and offsets that a pickle tells,
and would read any memory by them; here they are checked.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


def restore_array(data: tuple[Any, ...]) -> Any:
    """`pyarrow.lib._restore_array`: the array of a type, length, buffers, children and dictionary. Raises ValueError or
    IndexError where these do not fit together.
    """
    pyarrow = import_module("pyarrow")
    kind, length, _, offset, buffers, children, dictionary = data
    if isinstance(kind, pyarrow.BaseExtensionType):
        return kind.wrap_array(restore_array((kind.storage_type, *data[1:])))
    if dictionary is not None:
        codes = restore_array((kind.index_type, *data[1:6], None))
        return pyarrow.DictionaryArray.from_arrays(codes, restore_array(dictionary), ordered=kind.ordered)
    if offset < 0:  # which nothing below looks at
        raise ValueError("the offset of an array is negative")
    parts = [restore_array(child) for child in children]
    array = pyarrow.Array.from_buffers(kind, length, buffers, -1, offset, parts)
    array.validate(full=True)
    return array


def py_buffer(data: bytes | bytearray) -> Any:
    """`pyarrow.py_buffer` of bytes that nobody changes any more: what has been checked stays as it is."""
    if type(data) is not bytes and type(data) is not bytearray:
        raise TypeError("a buffer of Arrow is made of bytes")
    return import_module("pyarrow").py_buffer(bytes(data))
