"""System calls as data: their numbers, and which of them a child may make. Nothing here makes one.

A rule is compiled into a filter by `linux.seccomp`, and read by whoever explains a refusal.
"""

from __future__ import annotations

import errno
from typing import NamedTuple

__all__ = ["Check", "Rule", "allow", "allow_if", "refuse"]


class Check(NamedTuple):
    """``arguments[argument] & mask == value``. The upper word is judged too if `mask` reaches into it.

    An argument that the kernel cuts to 32 bits (an int, a command number) must be checked with a 32-bit mask: a caller
    may leave anything in the upper word.
    """

    argument: int
    mask: int
    value: int


class Rule(NamedTuple):
    """Allowed if one of the alternatives holds entirely; otherwise refused with `error`.

    `fallbacks` are (checks, errno) for calls that a library makes as a matter of course and must fail in the usual way;
    of errno 0 the call does nothing and reports success.
    """

    alternatives: tuple[tuple[Check, ...], ...] = ()
    error: int = errno.EPERM
    fallbacks: tuple[tuple[tuple[Check, ...], int], ...] = ()


def allow() -> Rule:
    """Return a rule that always allows."""
    return Rule(((),))


def allow_if(*alternatives: tuple[Check, ...], error: int = errno.EPERM) -> Rule:
    """Return a rule that allows where all checks of one alternative hold."""
    return Rule(alternatives, error)


def refuse(error: int = errno.EPERM) -> Rule:
    """Return a rule that always refuses, with `error`: libraries fall back on some errors (ENOSYS for clone3)."""
    return Rule((), error)
