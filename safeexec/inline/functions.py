"""The functions that an expression may call, each behind a guard `(fuel, *arguments)` that spends its cost first.

`BUILTINS` by name, `MODULES` for the functions of `math` and `statistics`, `MATHEMATICS` for those that have their bare
names with ``functions="mathematics"``; `CONSTANTS` are `math.pi` and so on.
"""

from __future__ import annotations

import math

from safeexec.common.typed import TYPE_CHECKING
from safeexec.inline import containers, numeric, text
from safeexec.inline.costs import admit, spend
from safeexec.inline.operators import absolute

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from safeexec.inline.costs import Fuel

    Guard = Callable[..., Any]


def from_host(function: Callable[..., object]) -> Guard:
    """Return a function that the caller passed: its cost is the caller's affair, its result admitted as any value."""

    def guard(fuel: Fuel, /, *args: Any, **options: Any) -> Any:
        spend(fuel, 1)
        return admit(function(*args, **options))

    return guard


BUILTINS: dict[str, Guard] = {
    "abs": absolute,
    "all": containers.truths(all),
    "any": containers.truths(any),
    "ascii": text.to_ascii,
    "bin": text.to_digits(bin),
    "bool": numeric.to_bool,
    "chr": text.to_digits(chr),
    "complex": numeric.to_complex,
    "dict": containers.to_dict,
    "divmod": numeric.quotient,
    "enumerate": containers.enumerated,
    "float": numeric.to_float,
    "format": text.formatted,
    "frozenset": containers.to_frozenset,
    "hex": text.to_digits(hex),
    "int": numeric.to_int,
    "join": containers.join,
    "len": containers.length,
    "list": containers.of_items(list),
    "max": containers.extreme(max),
    "min": containers.extreme(min),
    "oct": text.to_digits(oct),
    "ord": numeric.ascii_safe,
    "pow": numeric.power,
    "range": containers.ranged,
    "repr": text.to_repr,
    "reversed": containers.reverse,
    "round": numeric.rounded,
    "set": containers.to_set,
    "sorted": containers.order,
    "str": text.to_text,
    "sum": containers.total,
    "tuple": containers.of_items(tuple),
    "zip": containers.zipped,
}

OF_REALS = (
    "acos acosh asin asinh atan atan2 atanh cbrt copysign cos cosh degrees erf erfc exp exp2 expm1 fabs fma fmax fmin "
    "fmod frexp gamma hypot isclose isfinite isinf isnan isnormal isqrt issubnormal ldexp lgamma log log10 log1p log2 "
    "modf nextafter pow radians remainder signbit sin sinh sqrt tan tanh ulp"
)
_OF_SAMPLES = (
    "correlation covariance fmean geometric_mean harmonic_mean linear_regression mean median median_grouped median_high"
    " median_low mode multimode pstdev pvariance quantiles stdev variance"
)

MODULES: dict[str, dict[str, Guard]] = {
    "math": {
        **{name: numeric.numeric(getattr(math, name)) for name in OF_REALS.split() if hasattr(math, name)},
        **{
            name: numeric.over_floats(getattr(math, name))
            for name in ("dist", "fsum", "sumprod")
            if hasattr(math, name)
        },
        **{name: numeric.whole(getattr(math, name)) for name in ("ceil", "floor", "trunc")},
        "comb": numeric.combinations,
        "factorial": numeric.factorial,
        "gcd": numeric.common_divisor,
        "lcm": numeric.common_multiple,
        "perm": numeric.permutations,
        "prod": numeric.product_of,
    },
    "statistics": {name: numeric.statistic(name) for name in _OF_SAMPLES.split() if name != "linear_regression"},
}

CONSTANTS: dict[str, dict[str, float]] = {
    "math": {name: getattr(math, name) for name in ("e", "inf", "nan", "pi", "tau")}
}

OF_COMPLEX = (
    *("acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "sin", "sinh", "tan", "tanh"),
    *("exp", "log", "log10", "sqrt", "isclose", "isfinite", "isinf", "isnan"),
)


def _of_complex(name: str, of_reals: Guard) -> Guard:
    """Return a function of `math`, or where an argument is complex that of `cmath`."""

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


MATHEMATICS: dict[str, Guard] = {
    **{name: guard for name, guard in MODULES["math"].items() if name not in BUILTINS},
    **{name: _of_complex(name, MODULES["math"][name]) for name in OF_COMPLEX},
}
"""The functions of `functions="mathematics"`, by their bare names: those of `math`, of complex numbers too."""
