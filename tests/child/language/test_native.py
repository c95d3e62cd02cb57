"""Functions of ours that stand where CPython has builtins."""

from __future__ import annotations

import inspect
import sys
from types import BuiltinFunctionType
from typing import Any

import pytest

from safeexec.child.language.native import builtin


def test_a_function_becomes_a_builtin_with_name_and_signature() -> None:
    made = builtin(lambda *values, **options: (values, options), "print")
    assert type(made) is BuiltinFunctionType
    assert (made.__name__, made.__module__) == ("print", "builtins")
    assert inspect.signature(made) == inspect.signature(print)
    assert made(1, 2, end="") == ((1, 2), {"end": ""})
    assert made(*range(9), sep="x") == (tuple(range(9)), {"sep": "x"})


def test_the_caller_is_one_frame_away() -> None:
    made: Any = builtin(lambda: sys._getframe(1).f_code.co_name, "locals")

    def caller() -> Any:
        return made()

    assert caller() == "caller"


def test_what_the_function_raises_comes_out() -> None:
    def refuse(value: object, /) -> None:
        raise PermissionError(value)

    with pytest.raises(PermissionError, match="no"):
        builtin(refuse, "open")("no")
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        builtin(refuse, "open")()
