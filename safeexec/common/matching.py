"""Finds which of the names that exist was meant by one that does not.

In this order: the same name but for case, underscores, blanks or a plural; the same words in another order; typing
errors; words of the same meaning, or abbreviated; one name that contains all words of the other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import SequenceMatcher
from heapq import nlargest
from itertools import islice

MAX_CANDIDATES = 5_000
MAX_NAME = 60
TYPING_ERROR = 0.8
"""As near as this are one typing error in five letters."""
TYPING_ERRORS = 0.75
"""As near as this are typing errors alone, no names that only share words."""
_MOVED, _SAME_MEANING, _SAME_WORDS = 0.98, 0.73, 0.71
_COMPARED = 100
"""Candidates that are compared letter by letter, those first that have the most in common: 0.3 ms each at worst, and
5,000 of the same letters in any order took 1.4 s.
"""
_BEHIND = 0.05
"""A second name is named, too, if it is nearly as near as the first."""
_SEPARATOR = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[\W_]+")


def nearest(name: str, candidates: Iterable[str], n: int = 1, *, worst: float = 0.0) -> list[str]:
    """Return up to `n` of `candidates` that `name` may have meant, the likeliest first; empty if none is near.

    `worst` says how near one must be, from 0 to 1: `TYPING_ERROR`, `TYPING_ERRORS`.
    """
    if not name or len(name) > MAX_NAME:
        return []
    words = split_words(name)
    plain = _letters(name)
    matcher = SequenceMatcher(None, "", plain, autojunk=False)
    nearness: dict[str, float] = {}
    typed: dict[str, float] = {}
    for candidate in islice(candidates, MAX_CANDIDATES):
        if candidate and candidate != name and len(candidate) <= MAX_NAME:
            nearness[candidate] = _nearness(name, words, candidate)
            if nearness[candidate] < _MOVED and (at_most := _in_any_order(matcher, plain, candidate)):
                typed[candidate] = at_most
    for candidate in nlargest(_COMPARED, typed, key=typed.__getitem__):
        nearness[candidate] = max(nearness[candidate], _typing_errors(matcher, plain, candidate))
    scored = sorted(
        (-near, abs(len(candidate) - len(name)), candidate)
        for candidate, near in nearness.items()
        if near and near >= worst
    )
    return [candidate for near, _, candidate in scored[:n] if near <= scored[0][0] + _BEHIND]


def misspelt(name: str, candidates: Iterable[str]) -> list[str]:
    """Return those of `candidates` that `name` is but for one slip, the same word in another case or with underscores
    first.

    A slip is a letter that is doubled, left out, or swapped with the next; in longer names one too many or a wrong one.
    Meant for names that no one in the session wrote, where a word that only looks like one of them is none of them:
    `main` and `min`, `point` and `print`, `variable` and `variance`.
    """
    plain = _letters(name)
    if not plain or len(name) > MAX_NAME:
        return []
    near = [
        (other != plain, candidate[0].isupper() != name[0].isupper(), candidate)
        for candidate in candidates
        if len(candidate) <= MAX_NAME and _one_slip(plain, other := _letters(candidate))
    ]
    return [candidate for *_, candidate in sorted(near)]


def _one_slip(plain: str, other: str) -> bool:
    """Return whether `other` is what was meant by `plain`, letters both, with at most one slip."""
    size = len(plain)
    if plain == other or size < 4 or not other or (plain[0] != other[0] and plain[:2] != other[1::-1]):
        return plain == other
    at = next((at for at, (a, b) in enumerate(zip(plain, other, strict=False)) if a != b), min(size, len(other)))
    if size == len(other):
        swapped = plain[at : at + 2] == other[at : at + 2][::-1] and plain[at + 2 :] == other[at + 2 :]
        return swapped or (size > 5 and plain[at + 1 :] == other[at + 1 :])
    if size < len(other):
        return plain[at:] == other[at + 1 :]
    return plain[at + 1 :] == other[at:] and (size > 4 or plain[at] == plain[at - 1])


def split_words(name: str) -> list[str]:
    """Return the lower-cased words of ``snake_case``, ``camelCase`` or ``Some Title``, without a plural ``s``."""
    return [_singular(word) for word in _SEPARATOR.sub(" ", name).lower().split()]


def _letters(name: str) -> str:
    return "".join(filter(str.isalnum, name.lower()))


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _nearness(name: str, words: list[str], candidate: str) -> float:
    """Return how near `candidate` is to the name by its words, from 0 to 1; 0 if too far to speak of."""
    if candidate.lower() == name.lower():
        return 1.0
    other = split_words(candidate)
    if other == words or "".join(other) == "".join(words):
        return 0.99
    if len(words) > 1 and (sorted(words) == sorted(other) or "".join(words[::-1]) == candidate.lower()):
        return _MOVED
    if len(name) >= 4 and "".join(other).startswith("".join(words)):
        return 0.85
    if sorted(map(_meaning, words)) == sorted(map(_meaning, other)) or _abbreviates(words, other):
        return _SAME_MEANING
    return _SAME_WORDS if _contains(words, other) else 0.0


def _in_any_order(matcher: SequenceMatcher[str], plain: str, candidate: str) -> float:
    """Return the share of letters that two words have in common, in any order: what `_typing_errors` is at most."""
    other = _letters(candidate)
    if not plain or not other:
        return 0.0
    least = _least(plain, other)
    matcher.set_seq1(other)
    if matcher.real_quick_ratio() < least:
        return 0.0
    share = matcher.quick_ratio()
    return share if share >= least else 0.0


def _typing_errors(matcher: SequenceMatcher[str], plain: str, candidate: str) -> float:
    """Return the share of letters that two words have in common, in order; 0 if they are too few for a typing error."""
    other = _letters(candidate)
    matcher.set_seq1(other)
    ratio = matcher.ratio()
    return ratio if ratio >= _least(plain, other) else 0.0


def _least(plain: str, other: str) -> float:
    return TYPING_ERRORS if plain[0] == other[0] else TYPING_ERROR


def _meaning(word: str) -> str:
    return _MEANINGS.get(word, word)


def _abbreviates(words: list[str], other: list[str]) -> bool:
    """Return whether the words of one name begin those of the other (``calc_mean``), or are its initials (``gcd``)."""
    short, long = sorted((words, other), key=lambda name: sum(map(len, name)))
    if len(short) == 1 and len(long) > 2 and short[0] == "".join(word[0] for word in long):
        return True
    least = 4 if len(short) == 1 else 3
    same_length = len(short) == len(long) and bool(short)
    return same_length and all(
        a == b or (len(a) >= least and b.startswith(a)) for a, b in zip(short, long, strict=True)
    )


def _contains(words: list[str], other: list[str]) -> bool:
    """Return whether one name has all the words of the other: ``customer`` and ``customer_id``."""
    short, long = sorted((words, other), key=len)
    return 0 < len(long) - len(short) <= 2 and len("".join(short)) >= 2 and all(word in long for word in short)


_MEANINGS = {
    word: group.split()[0]
    for group in (
        "mean average avg", "std stdev stddev deviation sd", "var variance", "max maximum largest highest biggest",
        "min minimum smallest lowest", "sum total", "num number nr", "qty quantity", "amt amount", "idx index position",
        "len length size", "remove delete drop discard erase", "make create build", "load read parse decode",
        "calculate calc compute", "col column", "cat category", "pct percent percentage", "temp temperature",
        "dept department", "emp employee", "addr address", "desc description", "msg message", "cfg config",
        "prev previous", "cur curr current", "val value", "func fn function", "arg argument", "param parameter",
        "dir directory folder", "str string text", "dist distance", "corr correlation", "coef coefficient",
        "diff difference derivative derive differentiate", "inv inverse invert", "det determinant", "rand random",
        "abs absolute", "cov covariance", "cumulative cum", "dup duplicate", "na null nan missing", "count cnt",
        "save write dump serialize stringify encode", "append push add enqueue put", "pop dequeue poll",
        "fit train learn", "quantile percentile", "strip trim", "lstrip ltrim", "rstrip rtrim", "contain include has",
        "run execute start", "upper toupper uppercase", "lower tolower lowercase", "choice choose pick select",
        "slice substring substr", "sub replace substitute", "int integer", "unique distinct", "ln log",
        "sort sorted order", "search find", "reverse reversed", "score accuracy evaluate", "hexdigest hex",
    )
    for word in group.split()
}  # fmt: skip
"""Word of a name → the word that stands for all of the same meaning."""


def synonyms(name: str, candidates: Iterable[str]) -> list[str]:
    """Return the candidates that mean the same, word by word: ``len`` for ``length``."""
    words = [*map(_meaning, split_words(name))]
    if not words or len(name) > MAX_NAME:
        return []
    short = (candidate for candidate in candidates if len(candidate) <= MAX_NAME)
    return [candidate for candidate in short if [*map(_meaning, split_words(candidate))] == words]


def quoted(names: Iterable[str], limit: int = 6) -> str:
    """Return names for a sentence, in backquotes: ```a`, `b` and 3 more``."""
    every = list(names)
    shown = [*map(_as_code, every[:limit])]
    if len(every) > limit:
        shown.append(f"{len(every) - limit} more")
    return " and ".join(filter(None, (", ".join(shown[:-1]), *shown[-1:])))


def _as_code(name: str) -> str:
    """Return a name in backquotes. One of its own, as an attribute or a file may have it, would end them."""
    return "`" + name.replace("`", "'") + "`"


def suggestion(word: str, known: Iterable[str]) -> str:
    """Return the end of a message about a word that is not known: ``; did you mean …?``, or the empty string."""
    return Suggestions().end(word, known)


class Suggestions:
    """Says which words were meant by those of a stranger that are not known: by the first `MOST`, 2 ms each."""

    MOST = 100

    def __init__(self) -> None:
        self._left = self.MOST

    def nearest(self, word: str, known: Iterable[str], *, worst: float = 0.0) -> str:
        """Return the known word that is nearest to one, or "" where none is near."""
        self._left -= 1
        return next(iter(nearest(word, known, worst=worst)), "") if self._left >= 0 else ""

    def end(self, word: str, known: Iterable[str]) -> str:
        """Return the end of a message about a word, as `suggestion` does."""
        found = self.nearest(word, known)
        return f"; did you mean {found}?" if found else ""


def did_you_mean(names: Iterable[str]) -> str | None:
    """Return a sentence of its own for names that were found: ``Did you mean `a` or `b`?``, or None."""
    shown = [*map(_as_code, names)]
    return f"Did you mean {' or '.join(shown)}?" if shown else None


def same_name(name: str, candidates: Iterable[str]) -> list[str]:
    """Return the candidates that are `name` but for case, underscores, a plural or the order of the words."""
    return nearest(name, candidates, 2, worst=_MOVED)
