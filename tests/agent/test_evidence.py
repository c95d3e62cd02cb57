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
