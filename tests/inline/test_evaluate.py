"""`evaluate` computes what Python computes, says what is wrong and where, and admits exact types only."""

from __future__ import annotations

import gc
import importlib
import math
import re
import statistics
import sys
import warnings
from collections import OrderedDict
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from safeexec import ExpressionError, Policy, PolicyError, compile_expression, evaluate, inline
from safeexec.engine.policy.access import allowed_names
from safeexec.inline import forget
from safeexec.inline.functions import BUILTINS, CONSTANTS, MODULES
from tests.alone import alone

PYTHON: dict[str, Any] = {"math": math, "statistics": statistics}
NAMES: dict[str, Any] = {
    "x": 3,
    "y": -2.5,
    "n": 2**70,
    "s": "abc",
    "t": "b",
    "xs": [3, 1, 2],
    "ys": [1.5, 2.0, 0.5],
    "mixed": [1, "a", None],
    "d": {"a": 1, "b": [1, 2]},
    "none": None,
}

NUMBER = st.one_of(
    st.integers(-20, 20).map(str),
    st.sampled_from(["0.5", "1e3", "True", "x", "y", "n", "xs[0]", "d['a']", "len(s)"]),
    st.sampled_from(["2j", "1073741822", "1073741823", "1073741824", "-1073741823", "2 ** 63", "1e308", "math.inf"]),
)
TEXT = st.sampled_from(["'a'", "''", "s", "t", "s[1:]", "str(x)", "f'{x}-{s!r:>6}'", "s + t", "t * 3"])
ITEMS = st.sampled_from(
    ["xs", "ys", "mixed", "[x, y, 1]", "(1, 2, x)", "range(x)", "d", "{1, 2, 3}", "sorted(xs)", "s"]
)


FORMS = (
    *("(E BINARY E)", "(E BINARY E)", "(E ** SMALL)", "(E << DIGIT >> 1)", "(E < E <= E != E)", "(E if E else E)"),
    *("(-E)", "(~E)", "(not E)", "ONE(E)", "TWO(E, E)", "[E, E]", "(E in ITEMS)", "ALL(ITEMS)", "ITEMS[E:E]"),
    *("[E for i in ITEMS if E]", "{i: E for i in ITEMS}", "[a + b for a, b in zip(ITEMS, ITEMS)]", "ITEMS[E]"),
    *("any(i > E for i in ITEMS)", "f'{PLAIN}|{PLAIN:>12}'", "ITEMS[::E]", "(E is None or E is not True)"),
    *("(E not in ITEMS in [ITEMS])", "(E or E and missing)", "(E and E or missing)", "[*ITEMS, E]", "max(*ITEMS, E)"),
    *("sorted(ITEMS, reverse=E)", "{E: E, **DICT}", "{E for i in ITEMS}", "[x * j for x in ITEMS for j in ITEMS if E]"),
    *("sum(i * E for i in ITEMS)", "format(E, 'x')", "format(E, 'e')", "(E or E or missing)", "(E and E and missing)"),
    *("[[i, x] for i in [x for x in ITEMS]]", "[(i, a, b) for i, (a) in enumerate(ITEMS) for b in [E]]"),
    *("format(E, '>9')", "format(E, '07.2f')", "format(E, ',')", "format(E, '%')", "f'{PLAIN!r:>{DIGIT}}'"),
)
"""What is larger than a number or a text, with a hole for each of its parts."""
HOLES: dict[str, st.SearchStrategy[str]] = {
    "BINARY": st.sampled_from([*"+-*/%&|^<>", "//", "<=", ">=", "==", "!=", "and", "or"]),
    "SMALL": st.integers(-3, 6).map(str),
    "DIGIT": st.integers(0, 9).map(str),
    "ONE": st.sampled_from(["abs", "int", "float", "round", "str", "bool", "math.sqrt", "math.floor"]),
    "TWO": st.sampled_from(["min", "max", "math.atan2", "math.gcd", "divmod", "pow"]),
    "ALL": st.sampled_from(["sum", "len", "sorted", "max", "list", "set", "any", "all", "math.prod"]),
    "DICT": st.sampled_from(["d", "{}", "{1: 2}"]),
    "ITEMS": ITEMS,
}


def _grow(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    holes = HOLES | {"E": inner, "PLAIN": inner.filter(lambda text: not set(text) & set("'\"{}:!="))}

    def filled(form: str) -> st.SearchStrategy[str]:
        parts = re.split(rf"\b({'|'.join(holes)})\b", form)
        return st.tuples(*(holes.get(part, st.just(part)) for part in parts)).map("".join)

    return st.sampled_from(FORMS).flatmap(filled)


ANY = st.one_of(NUMBER, TEXT, st.sampled_from(["none", "xs", "d"]))
EXPRESSIONS = st.recursive(ANY, _grow, max_leaves=6)


def _outcome(function: Any, *args: Any) -> tuple[str, Any]:
    """("value", type and repr), ("error", type) or, for an error without a cause, ("refused", None)."""
    try:
        value = function(*args)
    except ExpressionError as error:
        return ("error", type(error.__cause__)) if error.__cause__ else ("refused", None)
    except Exception as error:
        return "error", type(error)
    return "value", (type(value), repr(value))


@pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::DeprecationWarning")  # of eval()
@settings(max_examples=300, deadline=None)
@given(EXPRESSIONS)
def test_values_are_those_of_python(expression: str) -> None:
    """The first evaluation, the second and a compiled expression, against eval().

    What is refused for its cost is not given to eval(), which may take for ever. Of two errors in one expression,
    another may come first here: a container that is walked is checked as a whole.
    """
    compiled = compile_expression(expression)
    routes = (evaluate, evaluate, lambda _, names: compiled(names), lambda _, names: compiled(names))
    found = [_outcome(route, expression, NAMES) for route in routes]
    assert len({outcome for outcome, _ in found}) == 1
    if found[0][0] != "refused":
        expected = _outcome(eval, expression, {**PYTHON, **NAMES})
        assert [outcome for outcome, _ in found] == [expected[0]] * 4
        assert found == [expected] * 4 or expected[0] == "error"


ARGUMENTS = (
    "", "0", "1", "-3", "2.5", "-0.0", "1e300", "math.inf", "math.nan", "2j", "True", "None", "n",
    "s", "'12'", "' 0x1f '", "'1_000'", "'1/3'", "[]", "xs", "ys", "mixed", "d", "(1, 2)", "{1}",
    "range(4)", "'a,b'", "x, 2", "2, 5", "7, -2", "y, x", "ys, xs", "xs, ys", "s, 2",
    "'ff', 16", "1.2345, 2", "12345, -2", "xs, s", "5, 0", "0, 0", "d, xs", "xs, 0.5",
    "2 ** 70, 3", "1, math.inf", "'7', 10", "'z', 36", "'1', 1", "2, 3, 5", "1, 10, 3", "3, -1, 7", "xs, ys, s",
    "1, 2, 3, 4", "2024, 1, 31", "2024, 2, 30", "12, 30", "*xs", "xs, default=3", "[], default=3",
    "xs, reverse=True", "xs, strict=True", "xs, start=1", "xs, n=4", "real=1, imag=2", "1.0, 1.0, rel_tol=0.1",
    "1, 2, abs_tol=2", "xs, method='inclusive'", "days=1, hours=2", "xs, weights=xs", "t",
)  # fmt: skip
"""What each function is called with: of each type, one to four of them, and by name."""
OWN_WAYS = {"join", "enumerate", "reversed", "zip"}
"""Functions that Python does not have, or that give a list here where Python gives an iterator."""


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(
    "function",
    sorted(BUILTINS.keys() - OWN_WAYS) + [f"{module}.{name}" for module in MODULES for name in MODULES[module]],
)
def test_a_function_gives_what_it_gives_in_python(function: str) -> None:
    """One that Python accepts may be an error here: a statistic of the characters of a text, for one."""
    answers = 0
    for arguments in ARGUMENTS:
        expression = f"{function}({arguments})"
        found = _outcome(evaluate, expression, NAMES)
        if found[0] == "value":
            answers += 1
            assert found == _outcome(eval, expression, {**PYTHON, **NAMES}), expression
        elif found[0] == "error" and not function.startswith("statistics."):
            assert _outcome(eval, expression, {**PYTHON, **NAMES})[0] == "error", expression
    assert answers


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(
        ["a + b * c", "a * a - b ** 2 / (c or 1)", "a < b < c", "max(a, b) % (c or 3)", "[a * i for i in [b, c]]"]
    ),
    *[st.one_of(st.integers(), st.floats(allow_nan=False), st.integers(2**62, 2**64), st.booleans()) for _ in "abc"],
)
def test_one_expression_over_numbers_of_all_sizes(expression: str, a: Any, b: Any, c: Any) -> None:
    """Values below and above the bound of what needs no guard give what Python gives."""
    names = {"a": a, "b": b, "c": c}
    compiled = compile_expression(expression)
    assert _outcome(compiled, names) == _outcome(eval, expression, dict(names))


@pytest.mark.parametrize(
    "expression",
    ["1 if x else nothing()", "1 or (lambda: 2)", "1 if 1 else math.nope", "0 > x > nothing(1)", "0 and b''"],
)
def test_what_is_not_evaluated_is_refused_too(expression: str) -> None:
    """What is not in the language is refused wherever it stands. (A name is missed only where it is read.)"""
    with pytest.raises(ExpressionError):
        evaluate(expression, {"x": 1})


@pytest.mark.parametrize(
    ("expression", "names", "value"),
    [
        ("(1 +\n 2)", {}, 3),
        ("{**d, 'z': 1}", {"d": {"a": 1}}, {"a": 1, "z": 1}),
        ("join(', ', [str(x) for x in xs])", {"xs": [1, 2]}, "1, 2"),
        ("list(zip([1], [2])) + list(reversed([1, 2]))", {}, [(1, 2), 2, 1]),
        ("any([0, 1]) and not all([0, 1])", {}, True),
        ("x == y", {"x": "x" * 500, "y": "x" * 500}, True),
        ("7 in x", {"x": dict.fromkeys(range(100))}, True),
        ("\u00b5 * 2 + x", {"\u00b5": 3, "x": 1}, 7),
        ("\u03bc * 2", {"\u00b5": 3}, 6),
        ("7 in x", {"x": dict.fromkeys((number,) for number in range(100))}, False),
    ],
)  # fmt: skip
def test_values(expression: str, names: dict[str, Any], value: object) -> None:
    assert evaluate(expression, names) == value


@pytest.mark.parametrize(
    ("expression", "column", "text"),
    [
        ("1 + nope(2)", 5, "no function nope"),
        ("é + ü", 5, "the name ü is not given"),
        ("1 + 'a'.upper()", 5, "methods are not available"),
        ("math.sqroot(2)", 1, "did you mean sqrt?"),
        ("[1, 2][x + 7]", 1, "IndexError"),
        ("2 + 9 ** 9 ** 9", 5, "bits"),
        ("1 +", 4, "not an expression"),
        ("(1 +\r  nope())", 3, "no function nope"),
        ("[i for i in range(10 ** 9)]", 13, "max_steps"),
    ],
)
def test_errors_name_column_and_reason(expression: str, column: int, text: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        evaluate(expression, {"x": 3, "zero": 0, "é": 1})
    assert caught.value.column == column
    assert text in str(caught.value)
    assert caught.value.caret.split("\n")[1].index("^") == column - 1


@pytest.mark.parametrize(
    ("expression", "lines"),
    [
        ("{'\ud800': 1}", ["{'\\ud800': 1}", "^"]),
        ("'\x1b[31mé\x07' + 1 + 2", ["'é\u2407' + 1 + 2", "^^^^^^^^"]),
        ("'\u202e' + nope()", ["'\\u202e' + nope()", "           ^^^^"]),
    ],
)
def test_an_error_holds_nothing_that_a_terminal_obeys(expression: str, lines: list[str]) -> None:
    with pytest.raises(ExpressionError) as caught:
        evaluate(expression)
    assert caught.value.caret.split("\n") == lines
    assert str(caught.value).encode() and "\x1b" not in str(caught.value)


LONG = "9" * 20_001


@pytest.mark.parametrize(
    ("expression", "names", "text"),
    [
        *(
            (f"{kind}(t)", {"t": LONG}, "a text of 20001 characters is too long")
            for kind in ("int", "float", "complex")
        ),
        ("round(1, 10 ** 6)", {}, "round() takes at most 5000 places"),
        ("round(1.5, 'x')", {}, "'str' object cannot be interpreted as an integer"),
        ("statistics.quantiles([1, 2], n=1001)", {}, "quantiles() takes at most n=1000"),
        ("statistics.mean([[1]])", {}, "a sample may hold numbers, not 'list'"),
        ("statistics.mean(s)", {"s": [10**9000] * 40}, "the numbers of this sample have 1195920 bits together"),
        ("{**x}", {"x": [1]}, "'list' object is not a mapping"),
        ("join(1, [])", {}, "join() takes a text and a container of texts"),
        ("x[0]", {"x": 5}, "'int' object is not subscriptable"),
        ("f'{1:1000000d}'", {}, "a width or precision in a format may be at most 1000"),
        ("'%d' % 1", {}, "% does not format texts here: write an f-string, f'{x:.2f}'"),
        ("'%(a' % x", {"x": {"a": 1}}, "% does not format texts here"),
        ("1\0", {}, "not an expression: "),
        ("1 " * 3000, {}, "the expression has 6000 characters; the limit is 4096"),
    ],
)
def test_a_bound_is_told_by_its_number_and_a_type_as_in_python(
    expression: str, names: dict[str, Any], text: str
) -> None:
    with pytest.raises(ExpressionError, match=re.escape(text)):
        evaluate(expression, names)


def test_an_expression_is_a_text_and_a_cause_is_what_python_raised() -> None:
    with pytest.raises(TypeError, match="an expression must be a str, not int"):
        evaluate(5)  # type: ignore[arg-type]
    with pytest.raises(ExpressionError) as caught:
        evaluate("1 / x", {"x": 0})
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


class Int(int):
    """An int whose addition would run code of its own."""

    def __add__(self, other: object) -> Any:
        raise AssertionError("code of a subclass ran")

    __radd__ = __bool__ = __eq__ = __add__  # type: ignore[assignment]
    __hash__ = int.__hash__


@pytest.mark.parametrize(
    "expression", ["x + 1", "1 + x", "x == 1", "[x] == [1]", "not x", "x if x else 1", "{x: 1}", "str(x)"]
)
@pytest.mark.parametrize(
    "value",
    [Int(1), object(), Decimal(1), Fraction(1, 2), date(2024, 1, 1), OrderedDict(a=1), int, abs, math, iter([]), b"a"],
)
def test_other_types_are_refused_before_their_code_runs(expression: str, value: object) -> None:
    with pytest.raises(ExpressionError, match=r"may not take part|unhashable"):
        evaluate(expression, {"x": value})


@pytest.mark.parametrize(
    "expression", ["xs[0] + 1", "[x + 1 for x in xs]", "xs == [1]", "xs[0]", "sum(xs)", "max(xs)", "[*xs]", "all(xs)"]
)
def test_items_of_other_types_are_refused_where_they_come_out(expression: str) -> None:
    with pytest.raises(ExpressionError, match="subclass of int"):
        evaluate(expression, {"xs": [Int(1), Int(2)]})


def test_functions_of_the_caller_and_keywords_of_any_name() -> None:
    assert evaluate("double(x) + 1", {"x": 4}, functions={"double": lambda x: 2 * x}) == 9
    with pytest.raises(ExpressionError, match="may not take part"):
        evaluate("leak()", functions={"leak": lambda: sys})
    with pytest.raises(ExpressionError) as caught:
        evaluate("1 + fail()", functions={"fail": lambda: {}["key"]})
    assert isinstance(caught.value.__cause__, KeyError)
    assert caught.value.column == 5
    assert evaluate("dict(fuel=3, args=4)") == {"fuel": 3, "args": 4}
    assert evaluate("burn(fuel=3)", functions={"burn": lambda fuel: fuel * 2}) == 6


def test_a_compiled_expression_takes_values_of_changing_types_within_its_steps() -> None:
    double = compile_expression("x * 2")
    for value in [1, 2.5, "ab", [1], (1,), 2**80, True, 2**62, "a" * 999]:
        assert double({"x": value}) == value * 2
    assert double.names == ("x",)
    assert double.source == "x * 2"
    count = compile_expression("len([i for i in range(n)])", max_steps=1000)
    assert count({"n": 100}) == 100
    with pytest.raises(ExpressionError, match="max_steps"):
        count({"n": 1000})


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("1 or missing", 1),
        ("0 and 1 / missing", 0),
        ("1 if True else missing", 1),
        ("2 < 1 < missing", False),
        ("any(i > 1 or missing for i in [2])", True),
        ("[missing for i in []]", []),
    ],
)
def test_a_name_is_needed_only_where_it_is_read(expression: str, value: object) -> None:
    compiled = compile_expression(expression)
    assert [evaluate(expression), evaluate(expression), compiled(), compiled({})] == [value] * 4
    assert compiled.names == ("missing",)


def test_loops_see_the_names_around_them_and_leave_none() -> None:
    names = {"x": 2, "xs": [1, 2]}
    assert evaluate("[x * y for y in xs for x in [x]] if 0 else [x for x in [x]] + [x]", names) == [2, 2]
    assert evaluate("[[a, b, c, x] for a, b, c in [(1, 2, 3)]]", names) == [[1, 2, 3, 2]]
    assert names == {"x": 2, "xs": [1, 2]}
    for row, words in (("(1, 2)", "expected 3, got 2"), ("(1, 2, 3, 4)", "expected 3")):
        with pytest.raises(ExpressionError, match=words):
            evaluate(f"[a for a, b, c in [{row}]]")


def test_what_is_remembered_is_bounded() -> None:
    def remembered() -> int:
        gc.collect()
        return sum(type(one) is inline.Expression for one in gc.get_objects())

    forget()
    before = remembered()
    for number in range(300):
        assert evaluate(f"{number} + {'1 + ' * 100}1") == number + 101
    assert 0 < remembered() - before <= inline.CACHED_CHARACTERS // 400
    for number in range(600):
        assert evaluate(f"{number}") == number
    assert 0 < remembered() - before <= inline.CACHED


@pytest.mark.parametrize("policy", ["calculator", "standard", "data-analysis", "confined-python"])
def test_a_policy_that_allows_more_is_refused_with_its_line(policy: str) -> None:
    with pytest.raises(PolicyError, match=r"evaluate runs in your own process.*\.yaml:\d+.*Sandbox"):
        evaluate("1 + 1", policy=policy)


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"imports": {"json": "all"}}, "allows the module json"),
        ({"builtins": {"add": ["open"]}}, "allows the builtin open"),
        ({"filesystem": {"workspace": "read-only"}}, "gives access to files"),
        ({"language": {"mode": "python"}}, "allows the language mode 'python'"),
        ({"language": {"constructs": {"add": ["while"]}}}, "allows while"),
    ],
)
def test_what_a_policy_allows_beyond_expressions_is_named(more: dict[str, Any], told: str) -> None:
    with pytest.raises(PolicyError, match=f"takes policies for expressions only; 'expression' {told} "):
        evaluate("1", policy=Policy.load("expression").replace(**more))


@pytest.mark.parametrize(
    "expression", ["1 is None", "'abc'[1.5]", "~True == -2", r"'\d' == '\\d'", "(1if x else 2) == 1"]
)
def test_the_compiler_does_not_warn_on_the_hosts_stderr(expression: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            outcome, value = _outcome(evaluate, expression, {"x": 1})
            assert value is TypeError if outcome == "error" else value[0] is bool


def test_the_hosts_own_code_is_still_warned() -> None:
    with pytest.warns(SyntaxWarning if sys.version_info >= (3, 12) else DeprecationWarning, match="invalid escape"):
        evaluate(r"'\d'")
        compile(r"'\d'", "host.py", "eval")


def test_the_profile_lists_what_evaluate_offers_and_what_a_policy_leaves_out_is_refused() -> None:
    """`join` stands for the method of texts, which the profile's own sessions have."""
    policy = Policy.load("expression")
    assert set(policy.builtins) == BUILTINS.keys() - {"join"}
    offered = {module: {*MODULES[module], *CONSTANTS.get(module, ())} for module in MODULES}
    plan = policy.language_plan()
    listed = {module: allowed_names(module, plan) - {"integer"} for module in policy.imports}  # a module, since 3.15
    assert {
        module: {name for name in names if hasattr(importlib.import_module(module), name)}
        for module, names in listed.items()
    } == offered
    narrow = Policy.load("expression").replace(builtins={"remove": ["pow"]}, imports={"statistics": "none"})
    assert evaluate("math.sqrt(4) + max(1, 2)", policy=narrow) == 4
    for expression in ("pow(2, 3)", "statistics.mean([1, 2])"):
        with pytest.raises(ExpressionError, match="is not allowed by the policy"):
            evaluate(expression, policy=narrow)


def test_a_plain_expression_loads_no_policy() -> None:
    script = (
        "import sys; from safeexec.inline import evaluate; evaluate('1+1');"
        "print([name for name in ('yaml', 'msgspec', 'decimal', 'statistics', 'ast', 'typing') if name in sys.modules])"
    )
    assert alone(script, check=True).stdout == "[]\n"


@pytest.mark.parametrize("source", ["sum()", "abs(1, 2, 3)", "round(1, 2, 3, 4)", "len(fuel=3)", "math.gcd(x=1)"])
def test_a_call_that_fits_no_parameters_is_told_without_words_of_ours(source: str) -> None:
    name = source.partition("(")[0].rpartition(".")[2]
    with pytest.raises(ExpressionError, match=rf"^TypeError: {name}\(\) cannot be called with these arguments"):
        evaluate(source)


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("", "it is empty"),
        ("2x", "a product is written with *"),
        ("x = 3", "equality is =="),
        ("√2", "a root is sqrt(x)"),
        ("Decimal('1')", 'Sandbox("calculator")'),
        ("$5 + 3", "without its currency"),
        ("e * x", "math.e"),
        ("import os", "runs in a Sandbox"),
        *((fault, "not an expression") for fault in ("f'{x!z}'", "'a", "x == 1 =", "(1", "1 if x", "\n\n=")),
        *((fault, "not an expression") for fault in ("3 4", "3 +", "50%", r"\frac{1}{2}")),
    ],
)
def test_a_fault_of_syntax_is_told_with_what_to_write_or_in_words_of_python(source: str, told: str) -> None:
    with pytest.raises(ExpressionError, match=re.escape(told)):
        evaluate(source, {"x": 1})
