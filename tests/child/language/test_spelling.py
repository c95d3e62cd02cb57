"""Which names a function spells for a call of `getattr`, and which for something else."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from safeexec.child.language.spelling import spells, spelt

told: list[tuple[str, bool]] = []


def ask(value: object, name: str, *default: object) -> object:
    told.append((name, spells(sys._getframe(1), name)))
    return value


# What the code below calls by these names.
SPACE: dict[str, Any] = {"getattr": ask, "setattr": ask, "delattr": ask, "other": lambda *given: given}
SOURCES = {
    "a literal": ("getattr(x, '__a__')", {"__a__": True}),
    "a literal and a default": ("getattr(x, '__a__', None)", {"__a__": True}),
    "a literal and a value that is made": ("setattr(x, '__a__', [1, x, {2: 3}])", {"__a__": True}),
    "a literal and a call": ("getattr(other(x), '__a__', other('__b__', x))", {"__a__": True}),
    "two calls": ("getattr(getattr(x, '__a__'), '__b__')", {"__a__": True, "__b__": True}),
    "a choice for a default": ("getattr(x, '__a__', 1 if x else 2)", {"__a__": True}),
    "a name that is made": ("getattr(x, '__' + k)", {"__made__": False}),
    "a name of another call": ("getattr(x, '__made__', 1); getattr(x, '__' + k)", {"__made__": False}),
    "a name of another call, before": ("getattr(x, '__' + k); delattr(x, '__made__')", {"__made__": True}),
    "a list of names": ("for name in ('__a__', '__b__'): getattr(x, name)", {"__a__": True, "__b__": True}),
    "a name that is compared": ("name = '__' + k\nif name == '__made__': getattr(x, name)", {"__made__": True}),
    "a name of a function within": ("def inner(): return other('__made__')\ngetattr(x, '__' + k)", {"__made__": True}),
}


def function(source: str) -> Callable[..., object]:
    lines = "\n".join(f"    {line}" for line in source.split("\n"))
    space = dict(SPACE)
    exec(f"def made(x, k):\n{lines}\n", space)
    found: Callable[..., object] = space["made"]
    return found


@pytest.mark.parametrize(("source", "expected"), SOURCES.values(), ids=SOURCES)
def test_a_name_in_a_call_stands_for_that_call_alone(source: str, expected: dict[str, bool]) -> None:
    told.clear()
    function(source)(object(), "made__")
    assert dict(told) == expected


def test_a_call_of_the_builtin_is_found_where_it_is_made() -> None:
    """Once it is warm, 3.11 makes such a call one instruction earlier."""
    frames = []

    class Asked:
        def __getattr__(self, name: str) -> object:
            frames.append(spells(sys._getframe(1), name))
            raise AttributeError(name)

    def asks(x: object) -> object:
        return hasattr(x, "__a__") or getattr(x, "__b__", None)

    for _ in range(100):
        asks(Asked())
    assert frames == [True] * 200


def test_the_name_of_an_attribute_stands_for_that_place_alone() -> None:
    """A builtin asks in the name of the function that calls it, which is told what to ask for."""
    found = []

    class Asked:
        def __getattr__(self, name: str) -> object:
            found.append(spells(sys._getframe(1), name))
            return len

        def __setattr__(self, name: str, value: object) -> None:
            found.append(spells(sys._getframe(1), name))

    def asks(x: Any, name: str, get: Callable[[object, str], object]) -> None:
        x.__a__ = x.__a__
        x.__a__(())
        get(x, name)

    for _ in range(100):
        asks(Asked(), "__a__", getattr)
    assert found == [True, True, True, False] * 100


def test_code_is_read_once() -> None:
    code = function("return getattr(x, '__a__')").__code__  # type: ignore[attr-defined]
    assert spelt(code) is spelt(code)
    assert set(spelt(code).asks.values()) == {"__a__"} and spelt(code).elsewhere == frozenset()


def test_text_of_another_type_spells_nothing() -> None:
    class Lies(str):
        __slots__ = ()

        def __hash__(self) -> int:
            return hash("__a__")

        def __eq__(self, other: object) -> bool:
            return True

    told.clear()
    function("other('__a__')\ngetattr(x, k)")(object(), Lies("__b__"))
    assert told == [("__b__", False)]
