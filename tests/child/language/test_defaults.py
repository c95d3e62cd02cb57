"""What `inspect` shows of the defaults of a function: what a program may have."""

from __future__ import annotations

import inspect
import os
import sys
import types
import warnings
from collections.abc import Callable
from typing import Any

import pytest

from safeexec.protocol.plan import ImportPlan

Run = Callable[..., Any]
MODULES = "import functools, inspect\n"


def of_a_library(
    first: int = 1,
    kept: Any = warnings,
    code: Any = (lambda: None).__code__,
    kind: Any = types.CodeType,
    size: Any = len,
    *,
    store: Any = setattr,
    remove: Any = os.unlink,
    find: Any = sys.modules,
) -> None: ...


@pytest.fixture(autouse=True)
def _own_inspect(monkeypatch: pytest.MonkeyPatch) -> None:
    """The guest's language runs in this process, and changes the functions of `inspect`."""
    monkeypatch.setattr(inspect, "_signature_from_function", vars(inspect)["_signature_from_function"])


@pytest.fixture
def guest(guest_with: Callable[..., Run]) -> Run:
    """A guest with `inspect`."""
    return guest_with(imports={name: ImportPlan(rule="test.yaml:3") for name in ("functools", "inspect", "math")})


def values(guest: Run, expression: str, function: Any = of_a_library) -> list[str]:
    return [repr(value) for value in guest(MODULES + expression, f=function)]


WITHHELD = ["<warnings>", "<code>", "<code>", "<setattr>", "<unlink>", "<dict>"]


@pytest.mark.parametrize(
    "expression",
    [
        "[p.default for p in inspect.signature(f).parameters.values()]",
        "[p.default for p in inspect.signature(functools.partial(f, 1)).parameters.values()]",
        "[p._default for p in inspect.signature(f).parameters.values()]",
        "[*inspect.getfullargspec(f).defaults, *inspect.getfullargspec(f).kwonlydefaults.values()]",
        "inspect.getcallargs(f, 1).values()",
        "bound = inspect.signature(f).bind()\nbound.apply_defaults()\nbound.arguments.values()",
    ],
)
def test_what_leads_away_is_withheld(expression: str, guest: Run) -> None:
    shown = values(guest, expression)
    assert [text for text in WITHHELD if text in shown] == WITHHELD
    assert not [text for text in shown if "module" in text]
    assert "<built-in function len>" in shown


def test_what_stands_for_a_function_is_asked_once(guest: Run) -> None:
    class Changing:
        asked = 0
        __name__ = "f"
        __code__ = of_a_library.__code__
        __annotations__: dict[str, Any] = {}
        __kwdefaults__ = None

        @property
        def __defaults__(self) -> Any:
            self.asked += 1
            return (1,) * 6 if self.asked < 3 else of_a_library.__defaults__

        def __call__(self) -> None: ...

    shown = values(guest, "[p.default for p in inspect.signature(f).parameters.values()]", Changing())
    assert not [text for text in shown if "module" in text]


def test_a_program_sees_what_it_has_given_its_functions(guest: Run) -> None:
    source = (
        "import functools, inspect, math\n"
        "def own(a, b=math, c=len, d=getattr, *, e=print, f=functools.partial, g=open): return a\n"
        "shown = inspect.signature(own).parameters\n"
        "given = [*own.__defaults__, *own.__kwdefaults__.values()]\n"
        "[shown[name].default is value for name, value in zip('bcdefg', given)]"
    )
    assert guest(source) == [True] * 6


def test_a_signature_keeps_the_rest(guest: Run) -> None:
    shown = str(guest(MODULES + "inspect.signature(f)", f=of_a_library))
    assert shown.startswith("(first: 'int' = 1, kept: 'Any' = <warnings>, code: 'Any' = <code>, ")
    assert shown.endswith(") -> 'None'")
