"""Numbers in words, LaTeX and other forms: each is read as the number that it is, and a wrong one never as it."""

from __future__ import annotations

import pytest

from safeexec.agent.wording import normal

FORMS = {
    "one million two hundred thousand": "1200000",
    "minus three and a half": "minus 7/2",
    "one hundred and eleven": "111",
    "The two roots are two and three.": "The two roots are 2 and 3.",
    "one thirty-sixth": "1/36",
    "three point one four": "3.14",
    "the one of them": "the one of them",
    "nineteen eighty-four": "nineteen eighty-four",
    "18.446.744": "18446744",
    "1.234": "1.234",
    "5–7": "5–7",
    "7^222 ≡ 12 (mod 13)": "= 12",
    "2h30": "2 h 30 min",
    "{1,2,30}": "{1, 2, 30}",
    "(1,234,567)": "(1,234,567)",
}


@pytest.mark.parametrize(("written", "wanted"), FORMS.items(), ids=FORMS)
def test_words_become_digits_and_signs_one_form(written: str, wanted: str) -> None:
    assert normal(written).strip() == wanted
