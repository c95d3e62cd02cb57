"""Judge how a number stands in its sentence: do the words around it say it as it is, and as what?

Pure. A list of the harmless, not of the harmful (`words.txt`): a number counts as a statement behind a verb, a sign of
equality or the beginning of a sentence, before the end of a clause, a unit or a noun. Where nothing here knows the
words, the number states nothing. Time is linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Literal, NamedTuple

from safeexec.agent.tokens import WORDS, is_in, tokens

Lead = Literal["claim", "list", "mention", "either", "other"]

CURRENCIES = frozenset("$€£¥₹")
_OPENERS = frozenset(("BOLD", "`", "(", "[", "{", r"\boxed")) | CURRENCIES
"""Kinds of tokens that may stand between a word and the number that it is about."""
_CLOSERS = frozenset((")", "]", "}", "*", "BOLD", "`", "$"))
_QUOTES = frozenset({"''", '""', "‘’", "“”"})
_CHANGING_SIGNS = frozenset(("+", "×", "÷", "<", ">", "→", "∞", "->", "<=", ">="))
_PLURAL = re.compile(r"[a-z]{2,20}(?<!ward)(?<!s)s")
PLACES = re.compile(
    r"(?:\s|-)?(?:decimals?|significant (?:digits?|figures?)|places?|digits?|d\.?p\.?\b|s\.?f\.?\b|sig figs?)", re.I
)
"""Behind a number that counts digits."""
_TASK = re.compile(
    r"(?:\A|[.!;:\n])[^\S\n]*+(?:now |then |next |finally |and )?(?:multiply|square|double|add|subtract|divide|negate"
    r"|halve|take|raise|round|reverse)\b"
    r"(?![^.!?\n]{0,120}(?::\s|\b(?:get|gives?|find|obtain|yields?)\b)[^.!?\n]{0,40}\d)",
    re.IGNORECASE,
)
"""A task that is still to be done with a number."""


class Standing(NamedTuple):
    """`lead` is what the words before a number make of it: a *claim* ("is", "=", a sentence that begins with it), one
    more of a *list* ("and", a comma), a *mention* ("at 5 %"), *either* of claim and mention ("in 10 years", "at
    x = 3"), or *other*: nothing that is known. `sure` is False where what follows, or the rest of the text, says more
    about it or casts doubt on it.
    """

    lead: Lead
    sure: bool


class Sentences:
    """A text whose numbers are judged one by one, by the places of its tokens. `vocabulary`: the words of the question,
    in lower case; None: every word may stand beside a number that is not known to change it.
    """

    def __init__(self, text: str, vocabulary: Collection[str] | None = ()) -> None:
        self.text, self.found = text, tokens(text)
        self._vocabulary = vocabulary
        task = max((found.end() for found in _TASK.finditer(text)), default=0)
        doubts = (at for at, token in enumerate(self.found) if token.begin < task or self._is_doubt(at))
        self._doubted = max(doubts, default=-1)
        """Place of the last word of doubt: it is about all of its sentence, and about those before."""
        self._changed = [False] * (len(self.found) + 1)
        """For each place: is more said of a number before it, ahead of the next one and the end of the sentence?"""
        self._last = [len(self.found)] * (len(self.found) + 1)
        """For each place: the end of its sentence."""
        for at in range(len(self.found) - 1, -1, -1):
            is_end = self.kind(at) == "\n" or (self.spelling(at)[-1] in ".!?" and self.is_apart(at + 1))
            self._last[at] = at if is_end else self._last[at + 1]
            changes = False if is_end else self._changes(at)
            self._changed[at] = self._changed[at + 1] if changes is None else changes

    def kind(self, at: int) -> str:
        """Return the kind of a token; of a word or command, that; empty where there is none."""
        if not 0 <= at < len(self.found):
            return ""
        token = self.found[at]
        return token.word if token.kind in ("WORD", "COMMAND") else token.kind

    def spelling(self, at: int) -> str:
        """Return a token as the text has it; empty where there is none."""
        return self.found[at].text if 0 <= at < len(self.found) else ""

    def is_word(self, at: int) -> bool:
        """Return True for a word, rather than a sign."""
        return 0 <= at < len(self.found) and self.found[at].kind == "WORD"

    def is_apart(self, at: int) -> bool:
        """Return True where a token is apart from the one before, or where there is none."""
        return not 0 <= at < len(self.found) or self.found[at].gap

    def standing(self, begin: int, end: int) -> Standing:
        """Return the standing of the number whose tokens go from `begin` to `end`."""
        if self.spelling(begin - 1) + self.spelling(end) in _QUOTES:
            begin, end = begin - 1, end + 1
        lead, is_loud = self._lead(begin, end)
        is_doubted = self._doubted >= 0 and self._last[self._doubted] >= begin
        return Standing(lead, not is_doubted and self._is_whole(end, is_loud))

    def behind(self, end: int) -> int:
        """Return the place behind the brackets and marks that close here."""
        while self.kind(end) in _CLOSERS and not (self.kind(end) == "$" and self.kind(end + 1) == "NUMBER"):
            end += 1
        return end

    def before(self, begin: int, marks: Collection[str] = _OPENERS) -> int:
        """Return the place before the brackets and marks that open here."""
        at = begin - 1
        while self.kind(at) in marks:
            at -= 1
        return at

    def names_another(self, at: int) -> bool:
        """Return True for a word, one of the question, that names one more value: "and the median 2.5"."""
        is_known = self.is_word(at) if self._vocabulary is None else self.kind(at) in self._vocabulary
        return is_known and self.kind(at - 1) == "the" and self.kind(at - 2) in WORDS["list"]

    def _is_doubt(self, at: int) -> bool:
        kind = self.kind(at)
        if kind == "if":
            return "were" in map(self.kind, range(at, at + 9))
        return kind in ("?", "≠") or (self.is_word(at) and (is_in(kind, "doubt") or kind[-3:] in ("n't", "n’t")))

    # Before a number

    def _lead(self, begin: int, end: int) -> tuple[Lead, bool]:
        """Return the lead, and whether a word stands before the number, rather than a sign or nothing."""
        at = begin - 1
        for _ in range(12):
            kind, before = self.kind(at), self.kind(at - 1)
            is_name = kind == "=" and len(before) == 1 and before.isalpha()
            if is_name and self.kind(self.before(at - 1)) in WORDS["given"]:
                return "either", False
            if self._is_claim(at) or self._begins(at):
                return "claim", self.is_word(at)
            if kind in _OPENERS or kind in WORDS["opener"]:
                at -= 1
            elif f"{before} {kind}" in WORDS["opener of two"]:
                at -= 2
            else:
                break
        kind = self.kind(at)
        if kind in WORDS["list"] or self.names_another(at):
            return "list", False
        if kind in WORDS["mention"]:
            counted = self.kind(end + (self.kind(end) in WORDS["adjective"]))
            return ("either" if counted in WORDS["counted"] else "mention"), False
        is_unknown = self._vocabulary is None and self.is_word(at) and len(kind) > 1 and not kind.endswith("ing")
        return ("claim" if is_unknown and kind.split()[-1] not in WORDS["changed"] else "other"), False

    def _is_claim(self, at: int) -> bool:
        kind = self.kind(at)
        if kind == "(":
            return self.is_apart(at) and self.kind(self.before(at, ("BOLD", "$"))) == "NUMBER"
        if kind == ":":
            return self.kind(at - 1) != "NUMBER" or self.is_apart(at)
        if kind in WORDS["claim behind a"]:
            return not {self.kind(at - 1), self.kind(at - 2)}.isdisjoint(("a", "an"))
        return is_in(kind, "claim")

    def _begins(self, at: int) -> bool:
        """Return True if a sentence ends here, and not a number in front of a list."""
        kind = self.kind(at)
        if kind in ("", "\n", ";", "—"):
            return True
        if kind not in (".", "!") or not self.is_apart(at + 1):
            return False
        if self.is_word(at - 1):
            return len(self.kind(at - 1).split()[-1]) > 3
        last = self.text[: self.found[at].begin][-3:]
        return len("".join(last.split())) == 3 and (last[-1].isdecimal() or last[-1] in ")%$}*")

    # Behind a number

    def _is_whole(self, end: int, is_loud: bool) -> bool:
        """Return True if the words that follow leave the number as it is."""
        is_percent = self.kind(end - 1) in WORDS["percent"]
        end = self.behind(end)
        kind, after = self.kind(end), self.kind(end + 1)
        if kind == "!":
            while self.kind(end) == "!":
                end += 1
            return is_loud and (not self.kind(end) or (self.is_apart(end) and self.spelling(end)[0].isupper()))
        if kind in WORDS["preposition"] and not (is_percent and kind == "of") and self._is_number(end + 1):
            return False
        if self._changed[end]:
            return False
        if kind in ("", "\n", "=", "≈", "\\\\", "&") or (kind == "(" and self.is_apart(end)):
            return True
        if kind in (".", ",", ";", "—"):
            return self.is_apart(end + 1) or after in _CLOSERS
        if kind in WORDS["state"]:
            return kind in ("is", "are", "was") and self._is_answer(end + 1)
        if kind in CURRENCIES or kind == "°" or self.spelling(end) in WORDS["unit"]:
            return True
        is_noun = self.is_word(end) and self.is_apart(end) and len(kind) > 1
        return is_noun and (self.is_apart(end + 1) or after not in ("(", "^", "'", "NUMBER"))

    def _is_answer(self, at: int) -> bool:
        """Return True before "the answer", "our final result", and before the only word that the question has."""
        if self.kind(at) not in ("the", "my", "our", "your"):
            return False
        word, last = self.kind(at + 1), self.kind(self.behind(at + 2))
        is_asked = self.kind(at) == "the" and word in (self._vocabulary or ()) and last in ("", *".,;!\n")
        return is_asked or not WORDS["answer"].isdisjoint((word, self.kind(at + 2)))

    def _is_number(self, at: int) -> bool:
        """Return True before a number that is no count of digits."""
        while self.kind(at) in ("the", "$", "(", "FRAC", "{", "-", "+"):
            at += 1
        return self.kind(at) == "NUMBER" and not PLACES.match(self.text, self.found[at].end)

    def _changes(self, at: int) -> bool | None:
        """Return True for a token that makes another number of the one before, False for the next number; None for a
        harmless one.
        """
        spelling, word = self.spelling(at), self.found[at].word
        if self.kind(at) == "NUMBER" or (spelling[0] == "\\" and spelling[1:].isalpha()):
            return False
        if not spelling[0].isalpha():
            return spelling in _CHANGING_SIGNS or None
        if word in WORDS["fine"] or (word in WORDS["numbers"] and self.kind(at + 1) in WORDS["position"]):
            return False
        if word in ("by", "through", "out of", "than") and self._is_number(at + 1):
            return True
        return not all(self._is_harmless(one, at) for one in word.split()) or None

    def _is_harmless(self, word: str, at: int) -> bool:
        if len(word) < 2 or word in WORDS["harmless"]:
            return True
        if word in WORDS["changing"] or "'" in word or "’" in word:
            return word == "zeros" and word in (self._vocabulary or ())
        is_counted = _PLURAL.fullmatch(word) is not None
        is_counted = is_counted and self.kind(at - 1 - (self.kind(at - 1) in WORDS["adjective"])) == "NUMBER"
        return self._vocabulary is None or word in self._vocabulary or is_counted
