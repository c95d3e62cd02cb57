"""Numbers in words, LaTeX and other forms: each is read as the number that it is, and a wrong one never as it."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from safeexec import Opaque
from safeexec.agent.evidence import judge, leaves
from safeexec.agent.wording import normal

FORMS = {
    "one million two hundred thousand": "1200000",
    "minus three and a half": "minus 7/2",
    "one hundred and eleven": "111",
    "The two roots are two and three.": "The two roots are 2 and 3.",
    "one thirty-sixth": "1/36",
    "three point one four": "3.14",
    "half a million": "0.5 million",
    "the one of them": "the one of them",
    "nineteen eighty-four": "nineteen eighty-four",
    "18.446.744": "18446744",
    "1.234": "1.234",
    "5–7": "5–7",
    "7^222 ≡ 12 (mod 13)": "= 12",
    "2h30": "2 h 30 min",
    "x = y = 2": "x = 2, y = 2",
    "{1,2,30}": "{1, 2, 30}",
    "(1,234,567)": "(1,234,567)",
}


@pytest.mark.parametrize(("written", "wanted"), FORMS.items(), ids=FORMS)
def test_words_become_digits_and_signs_one_form(written: str, wanted: str) -> None:
    assert normal(written).strip() == wanted


UNION = Opaque("Union", "Union(Interval.open(-oo, -1), Interval.open(3, oo))")
# What was computed, what says it, and what does not: `;` between.
ANSWERS: list[tuple[Any, str, str]] = [
    ([-3, 3], "x equals plus or minus three.;x = ±3;-3 and 3", "x = 3;The only solution is 3.;x = ±9"),
    (-13, "minus thirteen;negative thirteen;The result is –13.", "thirteen;minus thirty;13"),
    (111, "one hundred eleven;It is 111.", "one hundred and one;eleven;one thousand one hundred eleven"),
    (2**64, "18.446.744.073.709.551.616;About 1.8 × 10^19.;$1.845\\times 10^{19}$", "About 1.8 × 10^18.;1.9e19"),
    (1469.0549999999998, "$1,469.06;€1.469,06;about $1,469", "$1,469.60;$1,500,000"),
    (150, "2h30;two and a half hours (150 minutes);2 hours and 30 minutes", "2h50;two hours (120 minutes)"),
    (Fraction(1, 36), "1 in 36;one thirty-sixth;about 2.78%", "1 in 63;one thirtieth;27.8%"),
    (9, "∫₀³ x² dx = 9;$\\int_0^3 x^2\\,dx = 9$;The integral equals nine.", "∫₀³ x² dx = 3;It equals eight.;3x = 9"),
    (1, "lim_{x→0} sin(x)/x = 1;It tends to one.", "The limit does not exist.;It diverges.;lim_{x→0} sin(x)/x = 0"),
    (5.0, "|3 + 4i| = 5;The modulus is 5.", "|3 + 4i| = 7;|3 + 4i| = 25"),
    (Opaque("Mul", "2*pi/3"), "2π/3 radians;120°;About 2.094 radians.", "π/3;3π/2 radians;60°"),
    ({2: 1, 5: 1}, "The eigenvalues are 5 and 2.;λ₁ = 5, λ₂ = 2", "λ = 5;The eigenvalues are 2 and 4."),
    (
        [[1, 3], [2, 4]],
        "$\\begin{pmatrix}1&3\\\\2&4\\end{pmatrix}$;[[1, 3], [2, 4]]",
        "$\\begin{pmatrix}1&2\\\\3&4\\end{pmatrix}$;[[1, 2], [3, 4]]",
    ),
    (UNION, "x < -1 or x > 3;(-∞, -1) ∪ (3, ∞);x is less than -1 or greater than 3", "x < -1 and x > 3;x > 3"),
    (Opaque("Reals", "Reals"), "All real numbers.;x ∈ ℝ", "x ≥ 0;x ≠ 0;No solution."),
    (set(), "The intersection is empty.;∅;They have no elements in common.", "{1};The intersection is {1, 2}."),
    (25.0, "It rose by 25%.;a 25% increase;45 is 25% of 180.", "It fell by 25%.;a 25% decrease;2.5%"),
    ([(-3, -4), (4, 3)], "(4, 3) and (-3, -4);(x, y) = (4, 3) or (x, y) = (-3, -4)", "(3, 4) and (-4, -3);(4, 3)"),
    (Opaque("Mul", "2*x"), "2x;The derivative is 2x.", "2y;x²;2"),
    (1_200_000, "1.2 million;1'200'000;1.200.000;12 lakh", "1.2 billion;one million twenty thousand;120,000"),
]


@pytest.mark.parametrize(("value", "right", "wrong"), ANSWERS, ids=[right[:30] for _, right, _ in ANSWERS])
def test_right_answers_are_verified_and_wrong_ones_never_said(value: Any, right: str, wrong: str) -> None:
    known = leaves([0, 45, 180, 3, 4]) or ()
    lost = [words for words in right.split(";") if not judge(words, value, known, percent=True).matched]
    passed = [words for words in wrong.split(";") if judge(words, value, known, percent=value == 25).said]
    assert (lost, passed) == ([], [])


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ("The series diverges.", False),
        ("It converges.", True),
        ("It does not converge.", False),
        ("It is large.", None),
    ],
)
def test_a_series_converges_or_not(said: str, wanted: bool | None) -> None:
    for value in (True, False):
        found = judge(said, value, predicates=frozenset({"convergent"}))
        assert (found.matched, found.said) == (wanted is value, wanted is value)
