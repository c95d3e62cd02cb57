"""The tokens of a text: its numbers, words, LaTeX commands and signs, which all that judges an answer reads; and the
classes of words that `words.txt` has.

Pure. Time is linear in the text.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple
from unicodedata import numeric

_MAX_DIGITS = 2_000
_MAX_EXPONENT = 2_000


def _sections() -> dict[str, list[str]]:
    """Return the words of each heading of `words.txt`: of `[claim + of]`, each with " of" behind it, under `claim`."""
    sections: dict[str, list[str]] = {}
    text = (files("safeexec.agent") / "words.txt").read_text(encoding="utf-8")
    for heading, words in re.findall(r"\[(.+)\]([^\[]*)", text):
        name, _, behind = heading.partition(" + ")
        sections.setdefault(name, []).extend(f"{word} {behind}".strip().replace("_", " ") for word in words.split())
    return sections


SECTIONS = _sections()
"""Heading → its words, in order."""
WORDS = {name: frozenset(words) for name, words in SECTIONS.items()}
_STEMS = {name: tuple(word[:-1] for word in words if word[-1] == "*") for name, words in WORDS.items()}


def numbers_of(name: str) -> dict[str, int]:
    """Return the words of a class of which each has a number: twelve=12."""
    return {word: int(number) for word, number in (pair.split("=") for pair in SECTIONS[name])}


def is_in(word: str, name: str) -> bool:
    """Return True for a word of a class, and for one that begins with a stem of it."""
    word = word.replace("’", "'")
    return word in WORDS[name] or (" " not in word and word.startswith(_STEMS[name]))


class Unit(NamedTuple):
    """`words` is a pattern of its names, of which `name` is the usual one."""

    name: str
    words: str
    size: Fraction


def _family(spelt: str) -> list[Unit]:
    """Return units of one kind, the largest first, of a text of sizes and names: 60 minutes min 1 seconds s."""
    parts = re.split(r"(?<!\S)(\d+) ", spelt)[1:]
    pairs = zip(parts[::2], (names.split() for names in parts[1::2]), strict=True)
    return [
        Unit(names[0], "|".join(sorted(map(re.escape, names), key=len)[::-1]), Fraction(size)) for size, names in pairs
    ]


FAMILIES = {name: _family(" ".join(words)) for name, words in SECTIONS.items() if name.startswith("unit of")}
VULGAR = {sign: Fraction(numeric(sign)).limit_denominator(10) for sign in "½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞"}
SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺−", "0123456789-+-")


def _kinds() -> dict[str, str]:
    """Return the kind of each sign, command and word that has one: the first spelling of its group."""
    kinds: dict[str, str] = {}
    kind = ""
    for spelling in SECTIONS["kind"]:
        kind = "" if spelling == "|" else kind or spelling
        kinds[spelling] = kind
    return {spelling: kind for spelling, kind in kinds.items() if kind}


_KINDS = _kinds()
_SUPER = r"[⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,6}"
_VULGAR = f"[{''.join(VULGAR)}]"
_LETTER = rf"[^\W\d_π⁰¹²³⁴⁵⁶⁷⁸⁹{''.join(VULGAR)}]"
_GROUPED = (
    r"\d{1,2}(?:,\d{2}){1,9},\d{3}(?!,?\d)|\d{1,3}(?>(?:(?:,|\{,\})\d{3})+)"
    r"|\d{1,3}(?>(?:(?:[\u00a0\u2009\u202f '’_]|\\,)\d{3})+)|\d{1,9}(?>(?:_\d{3})+)"
)
_DIGITS = rf"(?:(?:{_GROUPED})(?!\d)|\d++)(?>(?:\.\d++)?)|\.\d++"
_TEN = rf"\s?(?:×|·|\*|x|\\times|\\cdot)\s?10(?:\s?(?:\^|\*\*)\s?(?:[{{(]\s?)?[-+−]?\d{{1,6}}|{_SUPER})(?:\s?[}})])?"
_PART = rf"\s?{_VULGAR}|\s\d{{1,9}}/\d{{1,9}}(?![\d/])|\s?\\[dt]?frac\{{\d{{1,9}}\}}\{{\d{{1,9}}\}}"
_SIMPLE = re.compile(rf"(?P<digits>{_DIGITS})|{_VULGAR}")
_NUMBER = re.compile(
    rf"(?P<whole>\d{{1,9}}+)(?P<part>{_PART})|(?P<digits>{_DIGITS})(?>(?:[eE][-+]?\d{{1,6}}(?!\w)|{_TEN})?)|{_VULGAR}"
)
_INDEX = re.compile(r"[\d_{}].*")
_EXPONENT = re.compile(r"(?:[eE]|10[\s^*{(]*)([-+]?\d+)")
_PHRASES = {word for name, words in WORDS.items() for word in words if " " in word and name != "opener of two"}
_TOKEN = re.compile(
    r"(?P<gap>(?:[^\S\n]|\\(?:left|right|displaystyle|q?quad)(?![A-Za-z])|\\[!,;: ()\[\]])+)"
    rf"|(?P<NUMBER>(?=\.?\d|{_VULGAR}))|(?P<RAISED>{_SUPER})|(?P<COMMAND>\\not=|\\[A-Za-z]+)"
    rf"|(?P<WORD>(?:{'|'.join(sorted(_PHRASES, key=len, reverse=True))})(?!\w)"
    rf"|π|{_LETTER}+(?:['’]{_LETTER}+|['’′]+(?=\())?(?:_?\d{{1,3}}(?!\d)|_\{{\w{{1,3}}\}})?)"
    r"|(?P<sign>\*\*|[=!<>~/:]=|->|=>|\.\.\.|\\.|.|\n)",
    re.IGNORECASE | re.DOTALL,
)


class Token(NamedTuple):
    """`kind` is NUMBER, WORD, COMMAND, RAISED of an exponent, BOLD of stars around bold text, or the sign itself, in
    one of its spellings. `gap`: nothing joins it to the one before.
    """

    kind: str
    text: str
    begin: int
    end: int
    gap: bool

    @property
    def word(self) -> str:
        """A word in lower case, without an index."""
        return _INDEX.sub("", self.text.lower())


def tokens(text: str) -> list[Token]:
    """Return the tokens of a text, without blanks."""
    found: list[Token] = []
    position, gap = 0, True
    while match := _TOKEN.match(text, position):
        kind, end = str(match.lastgroup), match.end()
        if kind == "gap":
            position, gap = end, True
            continue
        before = found[-1].kind if found else ""
        if kind == "NUMBER":
            number = (_SIMPLE if before in ("/", "^") else _NUMBER).match(text, position)
            assert number is not None  # it begins with a digit, or a point before one
            end = number.end()
        spelling = text[position:end]
        if spelling == "**":
            kind = "^" if _is_power(text, position, end, before) else "BOLD"
        else:
            kind = _KINDS.get(spelling.lower(), spelling if kind == "sign" else kind)
        found.append(Token(kind, spelling, position, end, gap))
        position, gap = end, kind == "\n"
    return found


def _is_power(text: str, begin: int, end: int, before: str) -> bool:
    """Return True for two stars that raise to a power, rather than begin or end bold text."""
    alike = text[begin - 1 : begin].isspace() == text[end : end + 1].isspace()
    after = text[end : end + 2].strip()[:1]
    return alike and before in ("NUMBER", "WORD", ")", "]", "}") and (after.isalnum() or after in tuple("(-−{√\\"))


class WrittenNumber(NamedTuple):
    """A number as it is written. `place` is the value of one unit of its last digit, 0 where it is exact; `digits`
    counts those that matter; `value` is None where it cannot be read.
    """

    value: Fraction | None
    place: Fraction = Fraction(0)
    digits: int = 0
    is_power: bool = False
    """It is written with a power of ten, and with a point."""


@lru_cache(256)
def written(text: str) -> WrittenNumber:
    """Return the number that a token of a number says."""
    match = _NUMBER.fullmatch(text)
    assert match is not None  # it is such a token
    if match["part"] is not None:
        part = match["part"].strip()
        over, under = VULGAR[part].as_integer_ratio() if part in VULGAR else map(int, re.findall(r"\d+", part))
        return WrittenNumber(int(match["whole"]) + Fraction(over, under) if 0 < over < under else None)
    if match["digits"] is None:
        return WrittenNumber(VULGAR[text])
    digits, rest = match["digits"], text[match.end("digits") :]
    plain = re.sub(r"[^\d.]", "", digits)
    if (len(digits) > 1 and digits[0] == "0" and digits[1] not in "0123456789.") or len(plain) > _MAX_DIGITS:
        return WrittenNumber(None)
    value = Fraction(plain if plain[0] != "." else f"0{plain}")
    exponent = int(_EXPONENT.findall(rest.translate(SUPERSCRIPTS))[0]) if rest else 0
    if abs(exponent) > _MAX_EXPONENT:
        return WrittenNumber(None)
    scale = Fraction(10) ** exponent
    places, significant = len(plain.partition(".")[2]), plain.replace(".", "").lstrip("0")
    return WrittenNumber(value * scale, scale / 10**places, len(significant), is_power=bool(exponent and "." in plain))
