"""Which of the names that exist was meant by one that does not.

In this order: the same name but for case, underscores, blanks or a plural; the same words in another order; few
typing errors; words of the same meaning, or abbreviated; one name that contains all words of the other. Without a
library: `difflib` costs 3 ms to import and 20 us per candidate, this costs 2 us for the few candidates that survive
the first filter.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_CANDIDATES = 5_000
MAX_NAME = 60
TYPING_ERROR = 10
TYPING_ERRORS = 27


def nearest(name: str, candidates: Iterable[str], n: int = 1, *, worst: int = 99) -> list[str]:
    """Up to `n` of `candidates` that `name` may have meant, the likeliest first; empty if none is near.

    `worst` limits how far one may be: `TYPING_ERROR` allows one error, `TYPING_ERRORS` no names that only share words.
    """
    if not name or len(name) > MAX_NAME:
        return []
    words = split_words(name)
    plain = "".join(words)
    scored: list[tuple[int, int, str]] = []
    for count, candidate in enumerate(candidates):
        if count >= MAX_CANDIDATES:
            break
        if candidate == name or not candidate or len(candidate) > MAX_NAME:
            continue
        score = _distance(name, plain, words, candidate)
        if score is not None and score <= worst:
            scored.append((score, abs(len(candidate) - len(name)), candidate))
    scored.sort()
    if not scored:
        return []
    best = scored[0][0]
    return [candidate for score, _, candidate in scored[:n] if score <= best + 10]


def split_words(name: str) -> list[str]:
    """The lower-cased words of ``snake_case``, ``camelCase`` or ``Some Title``, without a plural ``s``."""
    words: list[str] = []
    current = ""
    for index, character in enumerate(name):
        starts = character.isupper() and index > 0 and (name[index - 1].islower() or name[index - 1].isdigit())
        if not character.isalnum() or starts:
            if current:
                words.append(current)
            current = character.lower() if starts else ""
        else:
            current += character.lower()
    if current:
        words.append(current)
    return [_singular(word) for word in words]


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _distance(name: str, plain: str, words: list[str], candidate: str) -> int | None:
    """How far `candidate` is from the name; None if too far to speak of. Tens separate the classes."""
    if abs(len(candidate) - len(name)) <= 4 and candidate.lower() == name.lower():
        return 0
    other = split_words(candidate)
    joined = "".join(other)
    if joined == plain and plain:
        return 1
    if len(words) > 1 and sorted(words) == sorted(other):
        return 2
    errors = _errors(plain, joined)
    if errors is None and "_" not in candidate:
        errors = _errors(name.lower(), candidate.lower())
    same_start = plain[:1] == joined[:1]
    if len(name) >= 4 and candidate.startswith(name) and errors != 1:
        return 11
    if errors is not None and (same_start or errors == 1):
        return min(10 * errors, 27) if same_start else 15
    if sorted(map(_meaning, words)) == sorted(map(_meaning, other)) or _abbreviates(words, other):
        return 28
    return _containment(words, other)


def _meaning(word: str) -> str:
    return _SAME_MEANING.get(word, word)


def _abbreviates(words: list[str], other: list[str]) -> bool:
    """Are the words of one name the beginnings of the other's (``calc_mean``), or is it its initials (``gcd``)?"""
    short, long = (words, other) if sum(map(len, words)) <= sum(map(len, other)) else (other, words)
    if len(short) == 1 and len(long) > 2 and short[0] == "".join(word[0] for word in long):
        return True
    if len(short) != len(long) or not short:
        return False
    least = 4 if len(short) == 1 else 3
    pairs = list(zip(short, long, strict=True))
    return all(a == b or (len(a) >= least and b.startswith(a)) for a, b in pairs)


_SAME_MEANING = {
    word: group.split()[0]
    for group in (
        "mean average avg", "std stdev stddev deviation sd", "var variance", "max maximum largest highest biggest",
        "min minimum smallest lowest", "sum total", "num number nr", "qty quantity", "amt amount", "idx index",
        "len length size", "remove delete drop discard erase", "make create build", "load read", "save write",
        "calculate calc compute", "col column", "cat category", "pct percent percentage", "temp temperature",
        "dept department", "emp employee", "addr address", "desc description", "msg message", "cfg config",
        "prev previous", "cur curr current", "val value", "func fn function", "arg argument", "param parameter",
        "dir directory folder", "str string text", "dist distance", "corr correlation", "coef coefficient",
        "diff difference derivative", "inv inverse", "det determinant", "rand random", "abs absolute", "cov covariance",
        "cumulative cum", "dup duplicate", "na null nan missing", "count cnt",
    )
    for word in group.split()
}  # fmt: skip
"""Word of a name → the word that stands for all of the same meaning."""


def _errors(left: str, right: str) -> int | None:
    """How many typing errors make `right` of `left`; None if more than a word of that length may have and be itself."""
    length = max(len(left), len(right))
    allowed = 0 if length < 3 else 1 if length < 6 else 2 if length < 11 else 3
    if not allowed or abs(len(left) - len(right)) > allowed or len(set(left) ^ set(right)) > 2 * allowed:
        return None
    if length == 3 and left[:1] != right[:1]:
        return None
    return edits(left, right, allowed)


def _containment(words: list[str], other: list[str]) -> int | None:
    """One name has all the words of the other: ``customer`` and ``customer_id``."""
    short, long = (words, other) if len(words) <= len(other) else (other, words)
    if not short or len(short) == len(long) or sum(map(len, short)) < 2 or len(long) - len(short) > 2:
        return None
    return 28 + len(long) - len(short) if all(word in long for word in short) else None


def edits(left: str, right: str, most: int) -> int | None:
    """Insertions, deletions, replacements and swaps of neighbours between two words; None if more than `most`."""
    before: list[int] = []
    previous: list[int] = []
    row = list(range(len(right) + 1))
    for i, character in enumerate(left, 1):
        before, previous, row = previous, row, [i]
        for j, wanted in enumerate(right, 1):
            cost = min(previous[j] + 1, row[j - 1] + 1, previous[j - 1] + (character != wanted))
            if i > 1 and j > 1 and character == right[j - 2] and left[i - 2] == wanted:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        if min(row) > most and min(previous) > most:
            return None
    return row[-1] if row[-1] <= most else None


def quoted(names: Iterable[str], limit: int = 6) -> str:
    """Names for a sentence, in backquotes: ```a`, `b` and 3 more``."""
    every = list(names)
    shown = [f"`{name}`" for name in every[:limit]]
    if len(every) > limit:
        shown.append(f"{len(every) - limit} more")
    return shown[0] if len(shown) == 1 else ", ".join(shown[:-1]) + " and " + shown[-1] if shown else ""


def same_name(name: str, candidates: Iterable[str]) -> list[str]:
    """The candidates that are `name` but for case, underscores, a plural or the order of the words."""
    words = split_words(name)
    plain, ordered = "".join(words), sorted(words)
    found = []
    for candidate in candidates:
        other = split_words(candidate) if candidate != name else []
        if other and ("".join(other) == plain or (len(words) > 1 and sorted(other) == ordered)):
            found.append(candidate)
    return found[:2]


def needles(pattern: str) -> tuple[str, ...]:
    """Texts of which one is in every text that `pattern` matches; empty if that cannot be said.

    A table of patterns is searched without compiling those that cannot match: compiling costs 100 us each, this 6 us.
    """
    rest = _ESCAPED.sub("\0", pattern)
    while (inner := _GROUP.sub("\0", rest)) != rest:
        rest = inner
    found = []
    for alternative in _OPTIONAL.sub("\0", rest).split("|"):
        longest = max(_NOT_LITERAL.split(alternative), key=len)
        if len(longest) < 3:
            return ()
        found.append(longest)
    return tuple(found)


_ESCAPED = re.compile(r"\\.|\[\^?\]?[^\]]*\]")
_GROUP = re.compile(r"\([^()]*\)[?*]?")
_OPTIONAL = re.compile(r".(?:[?*]|\{[^}]*\})")
_NOT_LITERAL = re.compile(r"[\0.^$+{}]")
