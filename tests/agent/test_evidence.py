"""Numbers in the words of an answer against computed values: written in every usual way they agree; a number that is
another one never does.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from datetime import date, timedelta
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from fractions import Fraction
from typing import Any

import pytest

from safeexec import Formula, Opaque
from safeexec.agent import readings
from safeexec.agent.evidence import judge, leaves
from safeexec.agent.numerals import numerals
from tests.untrusted.doubling import SLACK, growth

ROOT = math.sqrt(2)

AGREE: list[tuple[str, Any]] = [
    ("It is 1.4142.", ROOT),
    ("It is 1.4142135623730951.", ROOT),
    ("1.41421356…", ROOT),
    ("\\sqrt{2} \\approx 1.4142", ROOT),
    ("0.3", 0.1 + 0.2),
    ("about 0.33", 1 / 3),
    ("1/3", Fraction(1, 3)),
    ("\\frac{1}{3}", Fraction(1, 3)),
    ("½", Fraction(1, 2)),
    ("3 1/2", Fraction(7, 2)),
    ("33.3%", 1 / 3),
    ("33.3\\%", Fraction(1, 3)),
    ("$1,234.57", 1234.5678),
    ("€1 234.57", 1234.5678),
    ("12,34,567", 1234567),
    ("1_234_567", 1234567),
    ("1\\,234\\,567", 1234567),
    ("1.5 million", 1_500_000),
    ("$2.5M", 2_500_000),
    ("1.27 × 10^30", 2**100),
    ("1.27 \\times 10^{30}", 2**100),
    ("1.267651e30", 2**100),
    ("6.02×10²³", 6.02e23),
    ("2^100", 2**100),
    ("2^10 = 1024", 1024),
    ("3 + 4i", 3 + 4j),
    ("-3 - 4.5j", -3 - 4.5j),
    ("2i", 2j),
    ("$\\boxed{42}$", 42),
    ("The answer is **-17**.", -17),
    ("minus 17", -17),
    ("x = −17", -17),
    ("π/4", math.pi / 4),
    ("\\frac{\\pi}{4}", math.pi / 4),
    ("2√3", math.sqrt(12)),
    ("x = 2, y = 3", {"x": 2, "y": 3}),
    ("The roots are 1 and 2.", [1, 2]),
    ("x = ±2", [2, -2]),
    ("2 and 1", {1, 2}),
    ("1.41 to 2 decimal places", ROOT),
    ("It is 5!", 5),
    ("Yes, it is.", True),
    ("No.", False),
    ("The integral is x^3/3.", "x**3/3"),
    ("1.41", f"{ROOT:.2f}"),
    ("33.3 Prozent", 1 / 3),
    ("Das sind 2.5 Mrd. Euro.", 2_500_000_000),
    ("0", 0),
    ("$\\sqrt{2} \\approx 1.4142$", 1.4142),
    ("The root is $2\\sqrt{3} = 3.4641$.", 3.4641),
    ("$\\ln 7 \\approx 1.9459$", math.log(7)),
    ("$\\binom{6}{3} = 20$", 20),
    ("$\\sum_{k=1}^{12} k = 78$", 78),
    ("x = ±2", [-2, 2]),
    ("It is \\sqrt{2}.", Opaque("Pow", "sqrt(2)")),
    ("1.41421", Opaque("Pow", "sqrt(2)")),
    ("$x = \\pm\\sqrt{2}$", [Opaque("Mul", "-sqrt(2)"), Opaque("Pow", "sqrt(2)")]),
    ("x = \\frac{-1+\\sqrt{5}}{2}", Opaque("Add", "-1/2 + sqrt(5)/2")),
    ("x = \\frac{-1 \\pm i\\sqrt{3}}{2}", [Opaque("Add", "-1/2 - sqrt(3)*I/2"), Opaque("Add", "-1/2 + sqrt(3)*I/2")]),
    ("\\frac{-1 \\pm \\sqrt{5}}{2}", [Opaque("Add", "-1/2 + sqrt(5)/2"), Opaque("Add", "-sqrt(5)/2 - 1/2")]),
    ("(1+√5)/2 ≈ 1.618", Opaque("Add", "1/2 + sqrt(5)/2")),
    ("-\\frac{\\sqrt{2}}{2}", -math.sqrt(2) / 2),
    ("\\sqrt[3]{2}", Opaque("Pow", "2**(1/3)")),
    ("\\left(\\sqrt{2}+1\\right)^2", Opaque("Add", "2*sqrt(2) + 3")),
    ("\\dfrac{\\pi^2}{6}", math.pi**2 / 6),
    ("$\\boxed{\\frac{3\\sqrt{2}}{4}}$", Opaque("Mul", "3*sqrt(2)/4")),
    ("It is infinite.", math.inf),
    ("The limit is ∞.", Opaque("Infinity", "oo")),
    ("It diverges to negative infinity.", -math.inf),
    ("$-\\infty$", Opaque("NegativeInfinity", "-oo")),
    ("It takes 1 hour 30 minutes (90 minutes).", 90),
    ("1 h 30 min", 90),
    ("It takes 2 hours and 15 minutes.", Fraction(9, 4)),
    ("2 days, 3 hours and 5 minutes", timedelta(2, 11100)),
    ("There are 328 days between them.", timedelta(328)),
    ("There are 328 days between them.", 328),
    ("5 feet 6 inches", 66),
    ("The ratio is 3:2.", Fraction(3, 2)),
    ("The ratio is 3 to 2.", 1.5),
    ("The ratio is 3:2.", (3, 2)),
    ("The ratio is 3:2.", "3:2"),
    ("x = 2 or x = 3", [2, 3]),
    ("x = -1/2 or 4", [Fraction(-1, 2), 4]),
    ("Since 3² + 4² = 25, the hypotenuse is 5.", 5.0),
    ("Since $5^2 + 12^2 = 169$, c = 13.", 13.0),
    ("The legs give 9 + 16 = 25, so the hypotenuse is 5.", 5),
    ("Because 7 * 8 = 56, the rest is 4.", 4),
    ("The derivative is $3x^2$.", "3*x**2"),
    ("f'(x) = 3·x²", Opaque("Mul", "3*x**2")),
    ("f(x) = x^3, so f'(x) = 3x^2", Opaque("Mul", "3*x**2")),
    ("The integral is $\\frac{x^{3}}{3} + C$.", Opaque("Mul", "x**3/3")),
    ("ln|x| + C", Opaque("log", "log(x)")),
    ("The product is x² - 5x + 6.", Opaque("Mul", "(x - 3)*(x - 2)")),
    ("It is March 3, 2024.", date(2024, 3, 3)),
    ("The day is the 3rd of March 2024.", date(2024, 3, 3)),
    ("No, 91 is not prime.", False),
    ("91 is not prime.", False),
    ("The solution is -2 < x < 2.", Opaque("And", "(-2 < x) & (x < 2)")),
    ("x lies in (−2, 2).", Opaque("Interval", "Interval.open(-2, 2)")),
    ("$x \\leq \\frac{1}{2}$", Opaque("LessThan", "x <= 1/2")),
    ("x > 1.41", Opaque("StrictGreaterThan", "x > sqrt(2)")),
    ("It is a Friday.", "Friday"),
    ("360 = 2³ × 3² × 5", {2: 3, 3: 2, 5: 1}),
    ("91 is composite.", False),
    ("A week has 604800 seconds, that is 7 days.", 604800),
    ("It is 365.76 cm, or 3.66 m.", 365.76),
    ("It is 3 and 2/5.", Fraction(17, 5)),
]
DIFFER: list[tuple[str, Any]] = [
    ("It is 1.7321.", ROOT),
    ("It is 1.4142135623730961.", ROOT),
    ("It is 1.4143.", ROOT),
    ("It is 1.", ROOT),
    ("It is 12", 11.6),
    ("1.7321, and not 1.41421.", ROOT),
    ("1.41421 + 1.7321", ROOT),
    ("5", -5),
    ("-5", 5),
    ("not 5", 5),
    ("more than 5", 5),
    ("at least 5", 5),
    ("5 squared", 5),
    ("5!!", 15),
    ("5x", 5),
    ("2π", 2),
    ("2√3", 2),
    ("5 + 3", 5),
    ("5^2", 5),
    ("5³", 5),
    ("5–7", 5),
    ("5/7", 5),
    ("1.5 million", 1.5),
    ("50%", 50),
    ("0.5%", 0.5),
    ("1.234,56", 1.234),
    ("12:30", 12),
    ("2024-01-05", 2024),
    ("3 - 4i", 3 + 4j),
    ("3 + 4i", 3),
    ("4 - i", 4),
    ("x = 3, y = 2", {"x": 2, "y": 3}),
    ("2 and 1", [1, 2]),
    ("The root is 1.", [1, 2]),
    ("1, 2 and 5", [1, 2]),
    ("No.", True),
    ("1.4142", f"{ROOT:.2f}"),
    ("x^3/3 + 1", "x**3/3"),
    ("1,234,000", 1234567),
    ("1.2e30", 2**100 * 3),
    ("0,867,415", 867415),
    ("0,0179", 179),
    ("7.3½", 7.3),
    ("3.1+ in total", 3.1),
    ("1.5 ppm", 1.5),
    ("1,234 Millionen", 1234),
    ("nan", math.nan),
    ("x5", 5),
    ("f(5)", 5),
    ("0", 1e-20),
    ("four", 5),
    ("2", Opaque("Pow", "sqrt(2)")),
    ("\\sqrt{3}", Opaque("Pow", "sqrt(2)")),
    ("x = \\frac{-1+\\sqrt{3}}{2}", Opaque("Add", "-1/2 + sqrt(5)/2")),
    ("x = \\frac{1 \\pm \\sqrt{5}}{2}", [Opaque("Add", "-1/2 + sqrt(5)/2"), Opaque("Add", "-sqrt(5)/2 - 1/2")]),
    ("1 + \\sqrt{2} + x", Opaque("Add", "1 + sqrt(2)")),
    ("\\sqrt{2}x", Opaque("Pow", "sqrt(2)")),
    ("√2", Opaque("Add", "x + sqrt(2)")),
    ("3", Opaque("Add", "x + 3")),
    ("$\\sqrt{3} \\approx 1.4142$", 1.4142),
    ("$\\sqrt{2} \\approx 1.5$", 1.4142),
    ("5 = 4", 4),
    ("$\\ln 7$", 7),
    ("42 apples in the thousands", 42),
    ("three", 4),
    ("", 5),
    ("9" * 30_000, 9),
    ("5 " * 1000, 5),
]


WITHIN_TWO = Opaque("And", "(-2 < x) & (x < 2)")
WRONG: list[tuple[str, Any]] = [
    ("f'(x) = 2x^2", Opaque("Mul", "3*x**2")),
    ("The derivative of x^3 is 2x^2.", Opaque("Mul", "3*x**2")),
    ("$\\int 2x\\,dx = x^3 + C$", Opaque("Pow", "x**2")),
    ("The derivative is 3cos(x).", "3*sin(x)"),
    ("Yes, 91 is prime.", False),
    ("91 is prime.", False),
    ("No.", True),
    ("The statement is false.", True),
    ("The limit is -∞.", math.inf),
    ("It takes 1 hour 20 minutes.", 90),
    ("The ratio is 3:2.", Fraction(2, 3)),
    ("x = 2 or x = 4", [2, 3]),
    ("3² + 4² = 26, so it is 5.", 5),
    ("5 + 3 = 8", 5),
    ("It is 5; 5 + 3 = 8", 5),
    ("2 + 2 = 4", 5),
    ("It is March 4, 2024.", date(2024, 3, 3)),
    ("It is a Saturday.", "Friday"),
    ("The solution is -2 < x < 3.", WITHIN_TWO),
    ("x ∈ [-2, 2]", WITHIN_TWO),
    ("x > 2", Opaque("LessThan", "x <= 2")),
    ("x < -3 or x > 2", Opaque("Union", "Union(Interval.open(-oo, -2), Interval.open(3, oo))")),
    ("x = 3, y = 2", {Formula("Symbol", "x", "", "x"): 2, Formula("Symbol", "y", "", "y"): 3}),
    ("The limit is 0.", math.inf),
    ("It diverges to infinity.", 1),
    ("91 is composite.", True),
    ("360 = 2² · 3² · 5", {2: 3, 3: 2, 5: 1}),
    ("4500 seconds = 74 minutes", 4500),
]


@pytest.mark.parametrize(("words", "value"), WRONG, ids=[words[:40] for words, _ in WRONG])
def test_what_plainly_says_something_else_contradicts(words: str, value: Any) -> None:
    verdict = judge(words, value, predicates=frozenset({"prime"}))
    assert verdict.contradicted and not verdict.matched


def test_other_readings_are_linear_in_hostile_text() -> None:
    pieces = [
        "1 < x < ",
        "-2 < ",
        "[1, 2",
        "x < √",
        "2 · ",
        "2³·",
        "Friday ",
        "1 h, or ",
        "1 hour 2 ",
        "1:2:",
        "1 to 2 ",
        "3² + ",
        "1+1=2,",
        "2 or 3 ",
        "March ",
        "x^2 = ",
        "x^",
        "(x",
        "1 h ",
    ]
    for piece in pieces:
        for value in (5, "x**2", date(2024, 3, 3), timedelta(1), [1, 2], WITHIN_TWO, {2: 3}, "Friday", True):
            text = f"the ratio of the odds {piece * 20_000}"[:20_000]
            assert growth(lambda n, text=text, value=value: judge(text[:n], value), int, 1 << 10, 1 << 14) < SLACK


@pytest.mark.parametrize(("words", "value"), AGREE, ids=[words[:40] for words, _ in AGREE])
def test_a_value_agrees_as_people_and_models_write_it(words: str, value: Any) -> None:
    verdict = judge(words, value, leaves("2 10 91", strict=False) or (), predicates=frozenset({"prime"}))
    assert verdict.matched and not verdict.contradicted


@pytest.mark.parametrize(("words", "value"), DIFFER, ids=[words[:40] for words, _ in DIFFER])
def test_what_says_another_number_or_none_for_certain_does_not_agree(words: str, value: Any) -> None:
    assert not judge(words, value).matched


@pytest.mark.parametrize(
    "words", ["42 people attended.", "It took 42 days to get there.", "There are 42 apples in the basket."]
)
def test_the_computed_number_among_unknown_words_is_no_other_number(words: str) -> None:
    assert not judge(words, 42).contradicted
    assert judge(words, 43).contradicted


def test_numbers_of_the_question_may_be_repeated_but_answer_nothing() -> None:
    known = leaves("What is the square root of 2?", strict=False) or ()
    assert judge("The square root of 2 is 1.4142.", ROOT, known).matched
    assert judge("The square root of 2 is 2.", ROOT, known).contradicted
    assert judge("The answer is 2; 1.4142 is something else.", ROOT, known).contradicted


def test_a_percentage_that_is_computed_as_one_may_be_said_as_it_is() -> None:
    assert judge("62.9%", 62.889, percent=True).matched
    assert not judge("62.9%", 62.889).matched
    assert not judge("0.63%", 0.62889, percent=True).matched


# A property: what is written in whatever way agrees if it is the value rounded, and never else.

Writer = Callable[[Decimal], str]


def superscript(number: int) -> str:
    return str(number).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def scientific(number: Decimal, form: str) -> str:
    mantissa, _, exponent = f"{number:e}".lower().partition("e")
    return form.format(m=mantissa, e=int(exponent), s=superscript(int(exponent)))


WRITERS: dict[str, Writer] = {
    "plain": lambda n: f"{n:f}",
    "commas": lambda n: f"{n:,f}",
    "underscores": lambda n: f"{n:,f}".replace(",", "_"),
    "thin spaces": lambda n: f"{n:,f}".replace(",", "\u2009"),
    "latex groups": lambda n: f"{n:,f}".replace(",", "{,}"),
    "euro": lambda n: f"€{n:,f}" if n >= 0 else f"-€{-n:,f}",
    "currency": lambda n: f"{n:,f} dollars",
    "percent": lambda n: f"{n.scaleb(2):f}%",
    "latex percent": lambda n: f"${n.scaleb(2):f}\\%$",
    "e": lambda n: scientific(n, "{m}e{e}"),
    "times": lambda n: scientific(n, "{m} × 10^{e}"),
    "times braces": lambda n: scientific(n, "${m} \\times 10^{{{e}}}$"),
    "superscripts": lambda n: scientific(n, "{m}·10{s}"),
    "boxed": lambda n: f"$\\boxed{{{n:f}}}$",
    "bold": lambda n: f"**{n:f}**",
    "minus sign": lambda n: f"{n:f}".replace("-", "−"),
}
PHRASES = [
    "It is {}.", "The answer is {}", "≈ {}", "= {}", "So the total comes to {}.", "Result: {}", "{}",
    "We get x = {} in the end.", "The value, rounded, is {}!", "Thus f(3) = {}.",
]  # fmt: skip


def a_number(chance: random.Random) -> int | float | Fraction | Decimal:
    size = 10.0 ** chance.uniform(-4, 9)
    value = chance.choice((-1, 1)) * chance.uniform(0.1, 1) * size
    fraction = Fraction(int(value), chance.randint(1, 99))
    return chance.choice((value, value, round(value, 2), int(value), fraction, Decimal(str(value))))


def exact(value: float | Fraction | Decimal) -> Fraction:
    """The number that a reader of the value sees."""
    return Fraction(repr(value)) if isinstance(value, float) else Fraction(value)


def rounded(value: Fraction, digits: int, rounding: str) -> Decimal:
    """`value` to so many significant digits, exactly."""
    if not value:
        return Decimal(0)
    exponent = math.floor(math.log10(abs(value))) - digits + 1
    unit = Fraction(10) ** exponent
    units, rest = divmod(abs(value), unit)
    up = rest * 2 > unit or (rest * 2 == unit and (rounding == ROUND_HALF_UP or units % 2))
    return Decimal(int(units) + bool(up)).scaleb(exponent) * (1 if value > 0 else -1)


def case(chance: random.Random) -> tuple[str, Any, bool]:
    """Words, a computed value, and whether the words may say that value."""
    value = a_number(chance)
    digits = chance.randint(3, 12) + max(0, len(str(int(value))))
    said = rounded(exact(value), digits, chance.choice((ROUND_HALF_EVEN, ROUND_HALF_UP)))
    if type(value) is int:
        said = Decimal(value)
    if wrong := chance.random() < 0.5:
        said = spoilt(said, chance)
    writer = chance.choice(list(WRITERS.values()))
    return chance.choice(PHRASES).format(writer(said)), value, not wrong


def spoilt(said: Decimal, chance: random.Random) -> Decimal:
    """Another number with as many digits: one of them changed, the sign, the size, or all."""
    place = Decimal(1).scaleb(int(said.as_tuple().exponent))
    way = chance.randrange(4)
    if way == 0 or not said:
        return said + place * chance.choice((-1, 1)) * chance.randint(2, 9)
    if way == 1:
        return -said
    return said * 10 if way == 2 else said + place * 10 ** chance.randint(1, 3) * chance.randint(1, 9)


def run_property(seed: int, cases: int) -> None:
    chance = random.Random(seed)
    wrong, missed = [], []
    for _ in range(cases):
        words, value, right = case(chance)
        matched = judge(words, value).matched
        if matched and not right:
            wrong.append((words, value))
        if right and not matched:
            missed.append((words, value))
    assert not wrong
    assert len(missed) < cases // 200, missed[:10]


def test_a_thousand_numbers_in_prose() -> None:
    run_property(1, 1000)


@pytest.mark.slow
def test_ten_thousand_numbers_in_prose() -> None:
    for seed in range(2, 12):
        run_property(seed, 1000)


def test_reading_is_linear_in_hostile_text() -> None:
    """Twenty thousand characters of whatever begins a number, a group or a name are read or refused at once."""
    begins = ["1,", "1,234", "(", "f(", "√", "\\frac{", "1/", "10^", "±", "**", "answer ", "1 234 ", "=", "x1 "]
    for piece in (*begins, "(√", "\\sqrt{", "√2+", "(-", "√2(", "2^("):
        judge((piece * 20_000)[:20_000], 5)


@pytest.mark.parametrize("between", ["(", " ", "$", "[ "])
def test_what_stands_between_two_numbers_is_read_once(between: str) -> None:
    assert growth(numerals, lambda n: f"1+{between * (n // len(between))}x2", 1 << 10, 1 << 14) < SLACK


def test_empty_lines_are_read_once() -> None:
    assert growth(numerals, lambda n: "\n" * n, 1 << 10, 1 << 14) < SLACK


@pytest.mark.parametrize(
    "value", [Decimal("1E+999999999"), Decimal("1E-999999999"), Fraction(1, 1 << 20_001), Fraction(1 << 30_000, 7)]
)
def test_a_number_that_is_longer_than_prose_is_not_made_a_fraction(value: Any) -> None:
    assert leaves(value) is None
    assert not judge("It is 5.", [value]).matched


SAID_OF_IT = """\
half of {}|half {}|twice {}|double {}|double that of {}|a third of {}|the inverse of {}|
the negative of {}|ten to the {}|two {}|{} doubled|{} halved|{} times itself|{} in base 8|
{} (base 7)|{} hundredths|{} hundreds|{} basis points|{} bp|{} per thousand|{} degrees below zero|
{}-fold|{} fold less|{} or so more|{}¢|arctan {}|\\log_{10} {}|log_2 {}|!= {}|#{}|= – {}|except {}|
instead of {}|far from {}|different from {}|no longer {}|nicht {}|mindestens {}|höchstens {}|
weniger als {}|mehr als {}|über {}|unter {}|{} Prozent|{} Tausend|{} Mio.|{} Dutzend|pas {}|
moins de {}|plus de {}|au moins {}|{} pour cent|{} et demi|{} milliards"""


@pytest.mark.parametrize("phrase", SAID_OF_IT.replace("\n", "").split("|"))
def test_a_number_of_which_more_is_said_is_no_statement_of_it(phrase: str) -> None:
    for value, written in ((59796, "59796"), (7.25, "7.25"), (Fraction(31, 10), "3.1")):
        assert not judge(f"The answer is {phrase.replace('{}', written)}.", value).matched


_FORMS: list[tuple[object, str, bool, str, str]] = [
    (3.75, "3:45 h", True, "", ""),
    (12, "12 (not 10).", True, "", ""),
    (12, "10 (not 12).", False, "", ""),
    ([Opaque("sympy", "-4*I", ""), Opaque("sympy", "4*I", "")], "x = 4i and x = −4i.", True, "", ""),
    ([Opaque("sympy", "-4*I", ""), Opaque("sympy", "4*I", "")], "x = 4, x = -4", False, "", ""),
    (False, "The triangle is not a right triangle.", True, "Is the triangle a right triangle?", ""),
    (False, "It is a right triangle.", False, "Is the triangle a right triangle?", ""),
    ([Opaque("sympy", "-I", ""), Opaque("sympy", "I", "")], "x = ±1", False, "", ""),
    ([Opaque("sympy", "-I", ""), Opaque("sympy", "I", "")], "x = ±i", True, "", ""),
    ([(-0 - 1j), 1j], "x = ±i", True, "", ""),
    ([(-0 - 1j), 1j], "x = ±1", False, "", ""),
    ([(-0 - 1j), 1j], "The roots are x = 1 and x = -1.", False, "", ""),
    ([Opaque("sympy", "-2*I", ""), Opaque("sympy", "2*I", "")], "x = ±2", False, "", ""),
    ([Opaque("sympy", "-2*I", ""), Opaque("sympy", "2*I", "")], "x = ±2i", True, "", ""),
    ([Opaque("sympy", "1 - 2*I", ""), Opaque("sympy", "1 + 2*I", "")], "x = 1 ± 2i", True, "", ""),
    ([Opaque("sympy", "1 - 2*I", ""), Opaque("sympy", "1 + 2*I", "")], "x = 1 ± 2", False, "", ""),
    ([Opaque("sympy", "1 - 2*I", ""), Opaque("sympy", "1 + 2*I", "")], "x = 2 ± i", False, "", ""),
    ([Opaque("sympy", "-sqrt(2)*I", ""), Opaque("sympy", "sqrt(2)*I", "")], "x = ±√2", False, "", ""),
    ([Opaque("sympy", "-sqrt(2)*I", ""), Opaque("sympy", "sqrt(2)*I", "")], "x = ±i√2", True, "", ""),
    ([Opaque("sympy", "-sqrt(2)*I", ""), Opaque("sympy", "sqrt(2)*I", "")], "x = ±√2 i", True, "", ""),
    (
        [Opaque("sympy", "-sqrt(2)*I", ""), Opaque("sympy", "sqrt(2)*I", "")],
        "\\[x = \\pm \\sqrt{2}\\,i\\]",
        True,
        "",
        "",
    ),
    (
        [Opaque("sympy", "-sqrt(3)*I", ""), Opaque("sympy", "sqrt(3)*I", "")],
        "The solutions are $x = \\pm i\\sqrt{3}$.",
        True,
        "",
        "",
    ),
    (
        [Opaque("sympy", "-sqrt(3)*I", ""), Opaque("sympy", "sqrt(3)*I", "")],
        "The solutions are $x = \\pm \\sqrt{3}$.",
        False,
        "",
        "",
    ),
    ([2], "x = ±2", False, "", ""),
    ([-3, 3], "x = ±3", True, "", ""),
    ((3 + 4j), "The product is 3 + 4i.", True, "", ""),
    ((3 + 4j), "The product is 3 - 4i.", False, "", ""),
    ((3 + 4j), "The product is 3.", False, "", ""),
    ((3 + 4j), "The product is 4 + 3i.", False, "", ""),
    (4j, "It equals 4.", False, "", ""),
    (4j, "It equals 4i.", True, "", ""),
    (Opaque("sympy", "Interval(-2, 3)", ""), "-2 ≤ x ≤ 3", True, "", ""),
    (Opaque("sympy", "Interval(-2, 3)", ""), "-2 < x < 3", False, "", ""),
    (Opaque("sympy", "Interval.open(-2, 3)", ""), "The solution is (-2, 3).", True, "", ""),
    (Opaque("sympy", "Interval.open(-2, 3)", ""), "The solution is [-2, 3].", False, "", ""),
    (Opaque("sympy", "Interval.open(-2, 3)", ""), "x is between -2 and 3, exclusive.", True, "", ""),
    (Opaque("sympy", "Union(Interval.open(-oo, -1), Interval.open(4, oo))", ""), "x < -1 or x > 4", True, "", ""),
    (Opaque("sympy", "Union(Interval.open(-oo, -1), Interval.open(4, oo))", ""), "(-∞, -1) ∪ (4, ∞)", True, "", ""),
    (Opaque("sympy", "Union(Interval.open(-oo, -1), Interval.open(4, oo))", ""), "-1 < x < 4", False, "", ""),
    (Opaque("sympy", "Union(Interval.open(-oo, -1), Interval.open(4, oo))", ""), "x ≤ -1 or x ≥ 4", False, "", ""),
    (False, "91 is not prime.", True, "Is 91 prime?", "isprime(91)"),
    (False, "91 = 7 × 13, so it is not a prime number.", True, "Is 91 prime?", "isprime(91)"),
    (True, "97 is not prime.", False, "Is 97 prime?", "isprime(97)"),
    (True, "97 is a prime.", True, "Is 97 prime?", "isprime(97)"),
    (True, "97 has no divisors other than 1 and itself, so it is prime.", True, "Is 97 prime?", "isprime(97)"),
    (False, "91 has the divisor 7, so it cannot be prime.", True, "Is 91 prime?", "isprime(91)"),
    (False, "It's false that 91 is prime.", True, "Is 91 prime?", "isprime(91)"),
    (True, "No: 2024 is not a leap year.", False, "leap?", "isleap(2024)"),
    (True, "2024 is a leap year.", True, "leap?", "isleap(2024)"),
    (False, "1900 was not a leap year.", True, "leap?", "isleap(1900)"),
    (False, "1900 was a leap year.", False, "leap?", "calendar.isleap(1900)"),
    (True, "The number 12321 is a palindrome.", True, "", "is_palindrome(12321)"),
    (False, "The word is not a palindrome.", True, "", "is_palindrome('abc')"),
    (False, "The word is a palindrome.", False, "Is the word a palindrome?", "s == s[::-1]"),
    (True, "Yes, 144 is a perfect square.", True, "", "isqrt(n)**2 == n"),
    (True, "144 isn't a perfect square.", False, "Is 144 a perfect square?", "isqrt(n)**2 == n"),
    (0.125, "12.5%", True, "", ""),
    (0.125, "1/8", True, "", ""),
    (0.125, "The probability is 1.25 %.", False, "", ""),
    (0.125, "The probability is 1/7.", False, "", ""),
    (Fraction(2, 3), "≈ 66.67%", True, "", ""),
    (Fraction(2, 3), "About 0.67", True, "", ""),
    (Fraction(2, 3), "0.66", False, "", ""),
    (Fraction(2, 3), "It is two thirds.", True, "", ""),
    (1234.5, "$1,234.50", True, "", ""),
    (1234.5, "€1.234,50", True, "", ""),
    (1234.5, "$1,243.50", False, "", ""),
    (1234.5, "The total is 1234.5 dollars.", True, "", ""),
    (1500000, "1.5 million", True, "", ""),
    (1500000, "$1.5M", True, "", ""),
    (1500000, "1.5 billion", False, "", ""),
    (3.14159, "π ≈ 3.14", True, "", ""),
    (3.14159, "3.15", False, "", ""),
    (-5, "The temperature is −5 °C.", True, "", ""),
    (-5, "The temperature is 5 °C.", False, "", ""),
    (-5, "It fell by 5 degrees.", True, "", ""),
    (17, "The answer isn't 16 but 17.", True, "", ""),
    (17, "The answer isn't 17.", False, "", ""),
    (17, "It is not 17, it is 18.", False, "", ""),
    ({"x": 2, "y": 3}, "x = 3, y = 2", False, "", ""),
    ({"x": 2, "y": 3}, "x = 2 and y = 3", True, "", ""),
    (Opaque("sympy", "sqrt(2)/2", ""), "√2/2", True, "", ""),
    (Opaque("sympy", "sqrt(2)/2", ""), "1/√2", True, "", ""),
    (Opaque("sympy", "sqrt(2)/2", ""), "sqrt(3)/2", False, "", ""),
    (Opaque("sympy", "pi/4", ""), "45°", True, "", ""),
    (Opaque("sympy", "pi/4", ""), "π/3", False, "", ""),
    (Opaque("sympy", "3*x**2", ""), "f'(x) = 2x^2", False, "", ""),
    (Opaque("sympy", "log(2)", ""), "ln 2 ≈ 0.693", True, "", ""),
    (Opaque("sympy", "log(2)", ""), "The value is ln(2).", True, "", ""),
    (Opaque("sympy", "log(2)", ""), "The value is ln(3).", False, "", ""),
    (Opaque("sympy", "exp(2)", ""), "e^2", True, "", ""),
    (Opaque("sympy", "exp(2)", ""), "e^3", False, "", ""),
    (Opaque("sympy", "E", ""), "The limit is e.", True, "", ""),
    (Opaque("sympy", "E", ""), "The limit is 1.", False, "", ""),
    ([], "There are no solutions.", True, "", ""),
    (Opaque("sympy", "EmptySet", ""), "No real solutions.", True, "", ""),
    ([Opaque("sympy", "-3*I", ""), Opaque("sympy", "3*I", "")], "z = 3i and z = -3i", True, "", ""),
    ([Opaque("sympy", "-3*I", ""), Opaque("sympy", "3*I", "")], "z = 3 or z = -3", False, "", ""),
    ([Opaque("sympy", "-3*I", ""), Opaque("sympy", "3*I", "")], "\\boxed{\\pm 3i}", True, "", ""),
    ([Opaque("sympy", "-3*I", ""), Opaque("sympy", "3*I", "")], "The roots are purely imaginary: ±3i.", True, "", ""),
    ([Opaque("sympy", "2 - I", ""), Opaque("sympy", "2 + I", "")], "The solutions are 2 + i and 2 - i.", True, "", ""),
    (
        [Opaque("sympy", "2 - I", ""), Opaque("sympy", "2 + I", "")],
        "The solutions are 2 + i and 2 - 2i.",
        False,
        "",
        "",
    ),
    (
        [Opaque("sympy", "2 - I", ""), Opaque("sympy", "2 + I", "")],
        "The solutions are 1 + 2i and 1 - 2i.",
        False,
        "",
        "",
    ),
    (
        [Opaque("sympy", "-1/2 - sqrt(3)*I/2", ""), Opaque("sympy", "-1/2 + sqrt(3)*I/2", "")],
        "$x = \\frac{-1 \\pm i\\sqrt{3}}{2}$",
        True,
        "",
        "",
    ),
    (
        [Opaque("sympy", "-1/2 - sqrt(3)*I/2", ""), Opaque("sympy", "-1/2 + sqrt(3)*I/2", "")],
        "$x = \\frac{1 \\pm i\\sqrt{3}}{2}$",
        False,
        "",
        "",
    ),
    ([Opaque("sympy", "3 - sqrt(7)", ""), Opaque("sympy", "3 + sqrt(7)", "")], "x = 3 ± √7", True, "", ""),
    ([Opaque("sympy", "3 - sqrt(7)", ""), Opaque("sympy", "3 + sqrt(7)", "")], "x ≈ 0.354 or x ≈ 5.646", True, "", ""),
    ([Opaque("sympy", "3 - sqrt(7)", ""), Opaque("sympy", "3 + sqrt(7)", "")], "x = 7 ± √3", False, "", ""),
    (Opaque("sympy", "5 + 12*I", ""), "(3+2i)² = 5 + 12i", True, "", ""),
    (Opaque("sympy", "5 + 12*I", ""), "(3+2i)² = 5 - 12i", False, "", ""),
    (Opaque("sympy", "Interval.Ropen(0, 5)", ""), "0 ≤ x < 5", True, "", ""),
    (Opaque("sympy", "Interval.Ropen(0, 5)", ""), "x ∈ [0, 5)", True, "", ""),
    (Opaque("sympy", "Interval.Ropen(0, 5)", ""), "0 < x ≤ 5", False, "", ""),
    (Opaque("sympy", "Interval(7, oo)", ""), "x is at least 7.", True, "", ""),
    (Opaque("sympy", "Interval(7, oo)", ""), "x is greater than 7.", False, "", ""),
    (Opaque("sympy", "Interval(7, oo)", ""), "x ≥ 7", True, "", ""),
    (Opaque("sympy", "(x > 4) & (x < oo)", ""), "x > 4", True, "", ""),
    (Opaque("sympy", "(x > 4) & (x < oo)", ""), "x < 4", False, "", ""),
    (Opaque("sympy", "Interval(-1, 1)", ""), "|x| ≤ 1", True, "", ""),
    (False, "221 is composite.", True, "Is 221 prime?", "sympy.isprime(221)"),
    (False, "221 is, in fact, prime.", False, "Is 221 prime?", "isprime(221)"),
    (True, "1009 isn't prime.", False, "Is 1009 prime?", "all(n % d for d in range(2, 32))"),
    (True, "1009 is indeed prime.", True, "Is 1009 prime?", "all(n % d for d in range(2, 32))"),
    (True, "Correct, the matrix is invertible.", True, "Is the matrix invertible?", "det != 0"),
    (True, "The matrix is singular, so it is not invertible.", False, "Is the matrix invertible?", "det != 0"),
    (False, "The events aren't independent.", True, "Are the events independent?", "abs(a-b)<1e-9"),
    (False, "The events are independent.", False, "Are the events independent?", "abs(a-b)<1e-9"),
    (True, "That statement is true.", True, "", "1"),
    (False, "That's not correct.", True, "Is it true that 2^10 > 10^4?", "2**10>10**4"),
    (True, "7 divides 91.", True, "Does 7 divide 91?", "91 % 7 == 0"),
    (True, "7 does not divide 91.", False, "Does 7 divide 91?", "91 % 7 == 0"),
    (True, "91 is divisible by 7.", True, "Is 91 divisible by 7?", "91 % 7 == 0"),
    (0.0725, "7.25 %", True, "", ""),
    (0.0725, "0.0725", True, "", ""),
    (0.0725, "7.3%", True, "", ""),
    (0.0725, "72.5%", False, "", ""),
    (0.0725, "29/400", True, "", ""),
    (19.999, "$20.00", True, "", ""),
    (19.999, "$19.99", False, "", ""),
    (2.3456, "2.35", True, "", ""),
    (2.3456, "2.34", False, "", ""),
    (2.3456, "approximately 2.346", True, "", ""),
    (2.3456, "2.3456...", True, "", ""),
    (Fraction(7, 4), "1 3/4", True, "", ""),
    (Fraction(7, 4), "1.75", True, "", ""),
    (Fraction(7, 4), "7/4 = 1.75", True, "", ""),
    (Fraction(7, 4), "1 1/4", False, "", ""),
    (Decimal("1299.99"), "The price is USD 1,299.99.", True, "", ""),
    (Decimal("1299.99"), "Der Preis beträgt 1.299,99 €.", True, "", ""),
    (Decimal("1299.99"), "1299.90 dollars", False, "", ""),
    (72, "72 km/h", True, "", ""),
    (72, "27 km/h", False, "", ""),
    (-12.5, "The price dropped by 12.5%.", True, "By what percent did it change?", "(70-80)/80*100"),
    (-12.5, "It decreased 12.5 percent.", True, "By what percent did it change?", "(70-80)/80*100"),
    (-12.5, "It increased by 12.5%.", False, "By what percent did it change?", "(70-80)/80*100"),
    (42, "It's 42, not 24.", True, "", ""),
    (42, "Not 24 but 42.", True, "", ""),
    (42, "It's 24, not 42.", False, "", ""),
    ([], "The equation has no real solutions.", True, "", ""),
    ([], "None exist.", True, "", ""),
    ([2, 3], "There are no solutions.", False, "", ""),
    (Opaque("sympy", "exp(3)/2", ""), "e^3/2", True, "", ""),
    (Opaque("sympy", "exp(3)/2", ""), "$\\frac{e^3}{2} \\approx 10.04$", True, "", ""),
    (Opaque("sympy", "exp(3)/2", ""), "e^2/3", False, "", ""),
    (Opaque("sympy", "2*log(3)", ""), "2 ln 3", True, "", ""),
    (Opaque("sympy", "2*log(3)", ""), "ln 9", True, "", ""),
    (Opaque("sympy", "2*log(3)", ""), "\\(2\\ln 3 \\approx 2.197\\)", True, "", ""),
    (Opaque("sympy", "2*log(3)", ""), "3 ln 2", False, "", ""),
    (Opaque("sympy", "log(5)/log(2)", ""), "x = ln 5 / ln 2", True, "", ""),
    (Opaque("sympy", "pi**2/6", ""), "π²/6", True, "", ""),
    (Opaque("sympy", "pi**2/6", ""), "π²/8", False, "", ""),
    (Opaque("sympy", "pi**2/6", ""), "It converges to π²/6 ≈ 1.645.", True, "", ""),
    (Opaque("sympy", "5*pi/6", ""), "150°", True, "", ""),
    (Opaque("sympy", "5*pi/6", ""), "120°", False, "", ""),
    (2, "For example, i.e. the value, it is 2.", True, "", ""),
    (6, "Subtracting 5 from both sides gives 2x = 12, so x = 6.", True, "Solve 2x + 5 = 17.", ""),
    (6, "Subtracting 5 from both sides gives 2x = 12, so x = 7.", False, "Solve 2x + 5 = 17.", ""),
    (7, "Then x² = 49 leads to 3x = 21 and x = 7.", True, "Solve 3x = 21.", ""),
    ({2: 3, 3: 2, 5: 1}, "360 = 2³ · 3² · 5.", True, "Factor 360.", ""),
    ({2: 3, 3: 2, 5: 1}, "360 = 2² · 3² · 5.", False, "Factor 360.", ""),
    (Opaque("sympy", "log(3)**2", ""), "(ln 3)²", True, "", ""),
    (Opaque("sympy", "log(3)**2", ""), "2 ln 3", False, "", ""),
    (Opaque("sympy", "3*2**(1/3)", ""), "∛54 = 3∛2", True, "Simplify the cube root of 54.", ""),
    (Opaque("sympy", "3*2**(1/3)", ""), "∛54 = 2∛3", False, "Simplify the cube root of 54.", ""),
]


@pytest.mark.parametrize(("value", "said", "is_right", "question", "program"), _FORMS)
def test_other_forms_of_right_and_wrong_answers(
    value: object, said: str, is_right: bool, question: str, program: str
) -> None:
    """What is right is matched, what is wrong is contradicted: roots with i, intervals, yes and no, percent."""
    predicates = readings.predicates(program) | readings.asked(question)
    found = judge(
        said, value, leaves(question, strict=False) or (), percent="percent" in question, predicates=predicates
    )
    assert (found.matched, found.contradicted) == (is_right, not is_right)


@pytest.mark.parametrize(
    ("said", "value", "question"),
    [
        ("It takes 1.5 hours.", 90, "How many minutes does it take?"),
        ("It weighs 250 g.", 0.25, "How many kilograms does it weigh?"),
    ],
)
def test_a_quantity_in_another_unit_than_the_one_that_was_asked(said: str, value: float, question: str) -> None:
    assert judge(readings.in_unit_asked(said, question), value).matched
    assert not judge(readings.in_unit_asked(said.replace("5", "7"), question), value).matched
    assert readings.in_unit_asked("It takes 90 minutes.", "How many minutes does it take?") == ""
