"""Numbers and formulas of sympy and mpmath → bytes: those that are a plain number exactly as one; what else
sympy has, `sqrt(2)`, `pi` and 30 digits too, as text and LaTeX.

Neither is imported: what is in `sys.modules` decides.
"""

from __future__ import annotations

import sys
from math import inf, ldexp, nan
from typing import TYPE_CHECKING, Any

from safeexec.common.identity import mro_of
from safeexec.common.text import type_name
from safeexec.protocol.values.format import MAX_FORMULA, OBJECT
from safeexec.protocol.values.writer import formula_bytes

if TYPE_CHECKING:
    from safeexec.protocol.values.writer import Write, Writer

_BITS = 53
_EXPONENTS = range(-1074, 971)
"""Exponents of the last bit of a number that a float can hold as it is."""
_SPECIAL = {0: 0.0, -456: inf, -789: -inf, -123: nan}
"""The exponents of numbers without a mantissa, as mpmath writes them."""


def writer_of(kind: type) -> Write | None:
    """Return what writes this type of sympy or mpmath, or None where it is written like any other."""
    mro = mro_of(kind)
    numbers = sys.modules.get("sympy.core.numbers")
    if numbers is not None:
        if numbers.Rational in mro:
            return _rational
        if numbers.Float in mro:
            return _binary
    boolean = sys.modules.get("sympy.logic.boolalg")
    if boolean is not None and boolean.BooleanAtom in mro:
        return _truth
    sympy = sys.modules.get("sympy")
    if sympy is not None and (getattr(sympy, "Basic", None) in mro or getattr(sympy, "MatrixBase", None) in mro):
        return _formula
    return _binary if getattr(sys.modules.get("mpmath.ctx_mp_python"), "_mpf", None) in mro else None


def _rational(w: Writer, value: Any, depth: int) -> None:
    from fractions import Fraction  # with sympy it is there

    p, q = value.p, value.q
    if type(p) is not int or type(q) is not int or q < 1:
        _formula(w, value, depth)
    else:
        w.put(p if q == 1 else Fraction(p, q), depth)


def _binary(w: Writer, value: Any, depth: int) -> None:
    sign, mantissa, exponent, bits = map(int, value._mpf_)
    if not mantissa and exponent in _SPECIAL:
        w.put(_SPECIAL[exponent], depth)
    elif bits > _BITS or mantissa.bit_length() > _BITS or exponent not in _EXPONENTS:
        _more_digits(w, value, depth)
    else:
        w.put(ldexp(-mantissa if sign else mantissa, exponent), depth)


def _more_digits(w: Writer, value: Any, depth: int) -> None:
    """Write a number that no float holds: one of sympy's with its digits; one of mpmath's stays."""
    if getattr(sys.modules.get("sympy.core.numbers"), "Float", None) in mro_of(type(value)):
        _formula(w, value, depth)
    else:
        w.opaque(value, depth)


def _truth(w: Writer, value: Any, depth: int) -> None:
    w.put(value is sys.modules["sympy.logic.boolalg"].true, depth)


def _formula(w: Writer, value: Any, depth: int) -> None:
    """Return the text as sympy writes it, and LaTeX, where neither is too long."""
    text = str.__str__(str(value))
    if len(text) > MAX_FORMULA:
        w.opaque(value, depth)
        return
    w.spend(OBJECT)
    latex = ""
    if w.formulas:
        w.formulas -= 1
        try:
            latex = sys.modules["sympy"].latex(value)
        except Exception:  # of a class of the guest's own, that prints in its own way
            latex = ""
    data = formula_bytes(type_name(type(value))[:200], text, latex if len(latex) <= 2 * MAX_FORMULA else "")
    w.emit(data, len(data))
