"""Expressions evaluated in the host's own process: a language small enough to bound by construction.

    evaluate("2 * (3 + x)", {"x": 4})                   # 14
    area = compile_expression("math.pi * r ** 2")       # area({"r": 2})
    evaluate("max(prices) * rate", {"prices": [3, 4], "rate": 1.2})

There are arithmetic, comparisons, `and`/`or`/`not`, `if`/`else`, displays, subscripts and slices, comprehensions,
f-strings, the functions of `safeexec.inline.functions` (builtins, `math`, `statistics`) and the names of the caller; no
statement, no lambda, no assignment, no method, no attribute of a value. What Python gives lazily (`zip`, `enumerate`,
`reversed`) is a list.

Two properties hold for whatever text is evaluated:

- *No reach.* Values are of a fixed set of exact types (`safeexec.inline.costs.WEIGHTS`); subclasses are refused, so
  no operator runs code of the caller's (but for keys of a subclass, in a dict that is only looked up). Functions can
  only be called, never held.
- *No unbounded cost.* Every operation costs at most what its guard has taken from an account of `max_steps` units
  before it ran (at most about 100 ns or 100 bytes each). Only floats and integers of 30 bits are computed without one.

An expression is parsed once: `grammar` checks the tree by its table of nodes, and writes one of guards for CPython to
compile. The guards with their costs: `operators`, and `functions` with `containers`, `numeric` and `text`. `costs` says
what values weigh, and what an account is.
"""

from __future__ import annotations

from safeexec.common.typed import TYPE_CHECKING
from safeexec.inline.compile import Expression

if TYPE_CHECKING:
    from collections.abc import Callable

    from safeexec.engine.policy.model import Policy
    from safeexec.inline.compile import Functions, Names

MAX_STEPS = 1_000_000
"""Units of work of one evaluation, about 0.1 s at the worst."""
CACHED = 512
"""Expressions that `evaluate` remembers, of so many characters together:"""
CACHED_CHARACTERS = 1 << 16

_seen: dict[tuple[str, int, str | None], Callable[..., object]] = {}
_characters = 0


def evaluate(
    expression: str,
    names: Names | None = None,
    *,
    policy: str | Policy = "expression",
    functions: Functions | str | None = None,
    max_steps: int = MAX_STEPS,
) -> object:
    """Return the value of an expression over the given names, computed in this process.

    Names hold numbers, strings, None, lists, tuples, dicts, sets and ranges, of exactly these types. `functions` are
    further functions that the expression may call; they see its values as arguments, their results must be values of
    these types, and what they cost is the caller's affair. Those of `math` and `statistics` have their bare names too
    (`sqrt(144)`). With ``"mathematics"`` those of `math` take complex numbers, `pi`, `e`, `tau`, `inf` and `nan` are
    there unless `names` has them, and `2 ^ 10` is refused. `max_steps` bounds the work. A policy may allow less than
    the profile `expression`: the functions that it leaves out are refused. One with ``language: {functions:
    mathematics}`` gives those of mathematics by itself.

    Raises `ExpressionError` (a ValueError) with column and caret, for what is refused before or while it runs and for
    what fails; the exception that Python raised, say a ZeroDivisionError, is its `__cause__`. Raises `PolicyError` for
    a policy that allows more than expressions: such code belongs in a `Sandbox`.
    """
    if policy != "expression" or not (functions is None or type(functions) is str):
        return compile_expression(expression, policy=policy, functions=functions, max_steps=max_steps)(names)
    key = expression, max_steps, functions
    known = _seen.get(key)
    if known is None:
        known = Expression(expression, functions, max_steps).__call__
        _remember(key, known)
    return known(names)


def _remember(key: tuple[str, int, str | None], compiled: Callable[..., object]) -> None:
    global _characters
    if len(_seen) >= CACHED or _characters + len(key[0]) > CACHED_CHARACTERS:
        forget()
    _seen[key] = compiled
    _characters += len(key[0])


def forget() -> None:
    """Empty the memory of `evaluate`: the next evaluation of any expression is a first one."""
    global _characters
    _seen.clear()
    _characters = 0


def compile_expression(
    expression: str,
    *,
    policy: str | Policy = "expression",
    functions: Functions | str | None = None,
    max_steps: int = MAX_STEPS,
) -> Expression:
    """Return the expression as a callable of the names: `compile_expression("2 * x")({"x": 4})`; else as `evaluate`."""
    if policy == "expression":
        return Expression(expression, functions, max_steps)
    from safeexec.inline.permit import permitted  # loads the policy package, and with it YAML

    withheld, mathematics = permitted(policy)
    return Expression(expression, functions, max_steps, withheld, mathematics)


__all__ = ["MAX_STEPS", "Expression", "compile_expression", "evaluate", "forget"]
