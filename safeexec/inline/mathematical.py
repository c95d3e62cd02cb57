"""The functions of `functions="mathematics"`, by their bare names: those of `math`, of complex numbers too."""

from __future__ import annotations

import _ast as ast

from safeexec.common.typed import TYPE_CHECKING
from safeexec.inline.costs import admit
from safeexec.inline.fuel import Fuel, Refused, spend
from safeexec.inline.functions import BUILTINS, CONSTANTS, MODULES
from safeexec.inline.operators import GUARDS

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Guard = Callable[..., Any]

OF_COMPLEX = (
    *("acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "sin", "sinh", "tan", "tanh"),
    *("exp", "log", "log10", "sqrt", "isclose", "isfinite", "isinf", "isnan"),
)
_xor = GUARDS[ast.BitXor]


def _of_complex(name: str, of_reals: Guard) -> Guard:
    """A function of `math`, or where an argument is complex that of `cmath`."""

    def guard(fuel: Fuel, *args: Any, **options: Any) -> Any:
        for arg in args:
            if type(arg) is complex:
                break
        else:
            return of_reals(fuel, *args, **options)
        import cmath

        spend(fuel, 1 + len(args))
        return getattr(cmath, name)(*map(admit, args), **options)

    return guard


def exclusive_or(fuel: Fuel, left: Any, right: Any) -> Any:
    """`^`: of sets and bools as ever. Of two integers it is meant as a power, which it is not."""
    if type(left) is int and type(right) is int:
        meant = f"{left} ** {right}" if max(abs(left), abs(right)) < 10**9 else "2 ** 10"
        raise Refused(f"^ is not a power but an exclusive or: use ** ({meant})")
    return _xor(fuel, left, right)


FUNCTIONS: dict[str, Guard] = {
    **{name: guard for name, guard in MODULES["math"].items() if name not in BUILTINS},
    **{name: _of_complex(name, MODULES["math"][name]) for name in OF_COMPLEX},
}
NUMBERS = CONSTANTS["math"]
