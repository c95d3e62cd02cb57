"""What makes code in memory runs where native libraries are open."""

from __future__ import annotations

import pytest

from tests.conftest import Run

CALLBACK = """
import ctypes
order = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
numbers = (ctypes.c_int * 3)(3, 1, 2)
ctypes.CDLL(None).qsort(numbers, 3, 4, order(lambda a, b: a[0] - b[0]))
list(numbers)
"""
CODE_IN_MEMORY = """
import mmap
code = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=7)
"""


@pytest.mark.profile("confined-python")
def test_a_callback_of_ctypes_is_called(run: Run) -> None:
    assert run(CALLBACK).value == [1, 2, 3]
    run(CODE_IN_MEMORY).check()
