"""Expressions evaluated in the host's own process: a language small enough to bound by construction.

    evaluate("2 * (3 + x)", {"x": 4})                   # 14
    area = compile_expression("pi * r ** 2", functions={})
    evaluate("max(prices) * rate", {"prices": [3, 4], "rate": 1.2})

There are arithmetic, comparisons, `and`/`or`/`not`, `if`/`else`, displays, subscripts and slices, comprehensions,
f-strings, the functions of `safeexec.inline.functions` (builtins, `math`, `statistics`) and the names of the caller; no
statement, no lambda, no assignment, no method, no attribute of a value.

Two properties hold for whatever text is evaluated:

- *No reach.* Values are of a fixed set of exact types (`safeexec.inline.costs.WEIGHTS`); subclasses are refused, so no
  operator runs code of the caller's. Functions can only be called, never held.
- *No unbounded cost.* Every operation costs at most what its guard has taken from an account of `max_steps` units before
  it ran (at most about 100 ns or 100 bytes each). Plain code without guards runs only where the operands are proven to be
  small numbers.

`grammar` checks and rewrites the tree, `compile` makes functions of it, `quick` evaluates an expression that is seen for the
first time, `operators`, `functions`, `subscripts`, `text` and `exact` are the guards, `costs` the accounts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from safeexec.inline.compile import Expression, Functions, Names, parse
from safeexec.inline.quick import Unfinished, walk

if TYPE_CHECKING:
    from safeexec.policy.model import Policy

MAX_STEPS = 1_000_000
"""Units of work of one evaluation, about 0.1 s at the worst."""
CACHED = 512
"""Expressions that `evaluate` remembers."""

_seen: dict[tuple[str, int], Expression | None] = {}


def evaluate(
    expression: str,
    names: Names | None = None,
    *,
    policy: str | Policy = "expression",
    functions: Functions | None = None,
    max_steps: int = MAX_STEPS,
) -> object:
    """The value of an expression over the given names, computed in this process.

    Names hold numbers, strings, None, lists, tuples, dicts, sets, ranges, Decimals, Fractions, dates and times, of exactly
    these types. `functions` are further functions that the expression may call; they see its values as arguments, their
    results must be values of these types, and what they cost is the caller's affair. `max_steps` bounds the work.

    Raises `ExpressionError` (a ValueError) with column and caret, for what is refused before or while it runs and for what
    fails; the exception that Python raised, say a ZeroDivisionError, is its `__cause__`. Raises `PolicyError` for a policy
    that allows more than expressions: such code belongs in a `Sandbox`.
    """
    if policy != "expression":
        _require_expressions_only(policy)
    if functions:
        return Expression(expression, functions, max_steps, names)(names)
    key = (expression, max_steps)
    compiled = _seen.get(key)
    if compiled is None:
        if key not in _seen:
            tree = parse(expression)
            if len(_seen) >= CACHED:
                _seen.clear()
            _seen[key] = None
            try:
                return walk(tree, names or {}, max_steps)
            except Unfinished:
                pass
        compiled = Expression(expression, None, max_steps, names)
        _seen[key] = compiled
    return compiled(names)


def forget() -> None:
    """Empties the memory of `evaluate`: the next evaluation of any expression is a first one."""
    _seen.clear()


def compile_expression(
    expression: str,
    *,
    policy: str | Policy = "expression",
    functions: Functions | None = None,
    max_steps: int = MAX_STEPS,
) -> Expression:
    """The expression as a callable that takes the names: `compile_expression("2 * x")({"x": 4})`. Errors as in `evaluate`."""
    if policy != "expression":
        _require_expressions_only(policy)
    return Expression(expression, functions, max_steps)


def _require_expressions_only(policy: str | Policy) -> None:
    from safeexec.inline.permit import require_expressions_only

    require_expressions_only(policy)


__all__ = ["MAX_STEPS", "Expression", "compile_expression", "evaluate", "forget"]
