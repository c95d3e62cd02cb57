"""What is known about a value before it is computed: its kind, and the kinds of results.

A kind is an integer b for a number (a float or complex number, or an integer or bool of at most b bits), `Numbers` for
a container of such numbers, `Text` for a text of bounded length, and None for any value.
"""

from __future__ import annotations

import _ast as ast  # the node classes alone: `ast` itself imports re, enum and contextlib, 3 ms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

NAME_BITS = 63
"""Integers of names are below 2**63 in code compiled for numbers."""
NATIVE_BITS = 2048
"""Up to here an operation on integers takes less than 3 us and needs no guard."""
NAME_TEXT = 256
"""Texts of names have at most so many characters in code compiled for texts."""
NATIVE_TEXT = 4096
"""Up to here texts are joined and compared without a guard."""
FLOAT_BITS = 1024
"""int(), round(), floor() of a float have at most so many bits."""


class Numbers:
    """A container of numbers of so many bits; depth 2: of rows of such numbers."""

    __slots__ = ("bits", "depth")

    def __init__(self, bits: int, depth: int = 1) -> None:
        self.bits = bits
        self.depth = depth

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Numbers) and (self.bits, self.depth) == (other.bits, other.depth)

    def __hash__(self) -> int:
        return hash((self.bits, self.depth))


class Text:
    """A text of at most so many characters."""

    __slots__ = ("length",)

    def __init__(self, length: int) -> None:
        self.length = length

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Text) and self.length == other.length

    def __hash__(self) -> int:
        return hash((Text, self.length))


Kind = int | Numbers | Text | None


RESULT_BITS: dict[type[ast.AST], Callable[[int, int], int]] = {
    ast.Add: lambda left, right: max(left, right) + 1,
    ast.Sub: lambda left, right: max(left, right) + 1,
    ast.Mult: lambda left, right: left + right,
    ast.Div: lambda left, right: 0,
    ast.FloorDiv: lambda left, right: left + 1,
    ast.Mod: lambda left, right: right,
    ast.RShift: lambda left, right: left,
    ast.BitAnd: lambda left, right: max(left, right) + 1,
    ast.BitOr: lambda left, right: max(left, right) + 1,
    ast.BitXor: lambda left, right: max(left, right) + 1,
}


def constant_power_bits(left: int, exponent: ast.expr) -> int | None:
    """Bits of a power with a constant exponent; None if it needs a guard."""
    if isinstance(exponent, ast.Constant):
        if type(exponent.value) in (float, complex):
            return 0
        return left * exponent.value + 1 if type(exponent.value) is int else None
    if (
        isinstance(exponent, ast.UnaryOp)
        and isinstance(exponent.op, ast.USub)
        and isinstance(exponent.operand, ast.Constant)
    ):
        return 0
    return None


def join(kinds: list[Kind]) -> Kind:
    """The kind of a value that is one of several."""
    bounds = [kind for kind in kinds if isinstance(kind, int)]
    if len(bounds) == len(kinds):
        return max(bounds)
    texts = [kind for kind in kinds if isinstance(kind, Text)]
    if len(texts) == len(kinds):
        return Text(max(text.length for text in texts))
    return kinds[0] if all(kind == kinds[0] for kind in kinds) else None


def container_of(name: str, kinds: list[Kind]) -> Kind:
    """The kind of what a guarded builtin returns."""
    bounds = [kind for kind in kinds if isinstance(kind, int)]
    if name == "range" and bounds and len(bounds) == len(kinds) and max(bounds) <= NAME_BITS + 1:
        return Numbers(max(bounds) + 1)
    containers = [kind for kind in kinds if isinstance(kind, Numbers) and kind.depth == 1]
    if name in ("list", "tuple", "sorted", "reversed") and len(containers) == len(kinds) == 1:
        return containers[0]
    if name in ("zip", "enumerate") and containers and len(containers) == len(kinds):
        return Numbers(max(NAME_BITS, *(kind.bits for kind in containers)), 2)
    return None
