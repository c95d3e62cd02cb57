"""Judge how a number stands in its sentence: do the words around it say it as it is, and as what?

Pure. A list of the harmless, not of the harmful: a number counts as a statement behind a verb, a sign of equality or
the beginning of a sentence, before the end of a clause, a unit or a noun. Where nothing here knows the words, the
number states nothing. Time is linear in the text.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection
from typing import Literal, NamedTuple

Lead = Literal["claim", "list", "mention", "either", "other"]


class Standing(NamedTuple):
    """`lead` is what the words before a number make of it: a *claim* ("is", "=", a sentence that begins with it), one
    more of a *list* ("and", a comma), a *mention* ("at 5 %"), *either* of claim and mention ("in 10 years", "at
    x = 3"), or *other*: nothing that is known. `sure` is False where what follows, or the rest of the text, says more
    about it or casts doubt on it.
    """

    lead: Lead
    sure: bool


# Before a number

_NEAR = 80
_OPENING = re.compile(
    r"(?:[ \t$*`(\[€£¥₹{]|\\boxed\s?\{|\\\{|\b(?:USD|EUR|CHF|GBP)"
    r"|\b(?:about|approximately|approx\.?|roughly|around|circa|ca\.|exactly|precisely|simply|just|now|then|thus|hence"
    r"|therefore|also|indeed|rounded|only|all|equal to|given by|a total of|the (?:number|value|answer|result)"
    r"|(?:in total|overall|altogether|so|thus|hence|therefore|finally),|etwa|rund|ungefähr|genau|gleich|environ"
    r"|exactement|unos|unas))\Z",
    re.IGNORECASE,
)
_CLAIM = re.compile(
    r"(?:(?<![!<>≠~/=:\\])(?<!\\not)(?<!\\not )=|[≈≃≅∈⇒]|(?<=\d)[ *$]{1,3}\(|\\(?:approx|simeq|in|Rightarrow)"
    r"|\\implies|(?<!\d):"
    r"|\b(?:is|are|was|were|be|(?:it|that)'s|equals?|approach(?:es)?|gives?|gave|giving|makes?|made|making|yields?|yielding|gets?|got"
    r"|getting"
    r"|obtain(?:s|ed)?|have|has|had|totals?|totalling|returns?|returned|finds?|found|contains?|costs?|takes?|took|needs?"
    r"|leaves?|left(?: with)?|holds?|requires?"
    r"|reach(?:es)?|covers?|travels?|drives?|scores?|buys?|sells?|shows?"
    r"|save[sd]?|earn(?:s|ed)?|pays?|paid|computes?|computed|produces?|outputs?|weighs?|measures?|lasts?"
    r"|(?:equals?|comes?|came|amounts?|adds? up|sums?(?: up)?|evaluates?|simplifies|works? out|rounds?|rounded|grows?"
    r"|rises|falls|drops|reduces|converges|tends|leads|equates|boils down) to"
    r"|(?:total|value|result|answer|probability|chance|remainder|quotient|modulus|amount|area|volume|solution|distance|height|speed|interest"
    r"|price|balance|\ba(?:n? \w+)? (?:average|mean|median|sum|product|count|length|deviation|variance)) of"
    r"|ist|sind|beträgt|betragen|ergibt|macht|lautet|kostet|est|sont|vaut|égale?|fait|donne|es|son|vale|è|sono))\s*\Z",
    re.IGNORECASE,
)
_LEFT_SIDE = re.compile(r"(?:\A|[=≈.,;:$\n])([^=≈.,;:$\n]{1,60})=\s*\Z")
_LONG_WORD = re.compile(r"(?<![\\\w])(?!(?:mod|log|sqrt)\b)[A-Za-z]{3,}\b")
_UNSOLVED = re.compile(
    r"\A\s*+(?![A-Za-z]\w*['’′]*\s?[(\[])(?:[-−]\s*)?(?=.*(?:[-−+*/^·²³!%|√\d]|\bmod\b|\b(?:ln|log)\b|\\(?:[dt]?frac|sqrt|log|ln)))"
    r".*(?<![A-Za-z_\\])[a-hk-zA-Z](?![A-Za-z_])",
    re.DOTALL,
)
"""A side of an equation that is not the unknown itself: 2x, x², ln x."""
_EVALUATED = re.compile(
    r"[∫∑∏]|\\(?:int|sum|prod|lim|det)(?![A-Za-z])|\b(?:lim|det|gcd|lcm)(?![A-Za-z])|d/d[a-z]\b|\|(?:[^|a-hk-zA-Z]*|[A-Zuvwzab])\|"
    r"|\A\s*\$?[A-Za-z]\s?(?:[·⋅×]|\\cdot|\\times)\s?[A-Za-z]\s*\Z"
)
"""Signs that a side of an equation is to be worked out: lim sin(x)/x, |3 + 4i|."""
_BEGINS = re.compile(r"(?:(?:\A|\n)\s*|(?:(?<=[^\W\d_]{4})|(?<=\S\S[\d)%$}*]))[.!]\s+|[;—]\s*)\Z")
_LIST = re.compile(
    r"(?:[,;&]|\\\\|\b(?:and|or|und|oder|et|ou|y|o|e))\s*(?:\b[a-z](?:_\w)?\s?[=≈]\s*)?\Z", re.IGNORECASE
)
_MENTION = re.compile(
    r"\b(?:after|at|for|from|over|with|of|by|in|between|on|per|than|below|under|above|until|to|every|within|since|size|degree|radius"
    r"|length|order|first|to choose|choosing|nach|bei|für|von|mit|après|pour|avec)\s*\Z",
    re.IGNORECASE,
)
_GIVEN = re.compile(r"\b(?:for|when|at|with|if|where|given)\s\$?[a-z](?:_\w)?\s?=\s*\Z", re.IGNORECASE)
_COUNTED = re.compile(
    r"\s?(?:(?:different|distinct|possible|full|more)\s)?(?:ways?|years?|months?|weeks?|days?|hours?|minutes?|seconds?"
    r"|steps?|moves?|rounds?|periods?)\b",
    re.IGNORECASE,
)

# Behind a number

_CLOSING = re.compile(r"(?>(?:[)\]}*`$]|\\\}|[ \t]+(?=[)\]}*$]))*)")
_QUOTES = frozenset({"''", '""', "‘’", "“”"})
_END = re.compile(r"[ \t]*(?:\Z|\n|[.,;—](?=[\s)*$]|\Z)|\s\(|=(?!=)|[≈≃≅]|\\(?:approx|simeq|\\|end)|&)")
_SHOUT = re.compile(r"!+(?=\s*\Z|\s+[A-Z])")
UNITS = r"m|cm|mm|km|kg|g|mg|s|ms|h|min|mi|ft|lb|L|ml|J|kJ|N|W|kW|V|A|Hz|kHz|px|USD|EUR"
"""Alternatives of a pattern."""
_UNIT = re.compile(
    rf"\s?(?:°[CF]?|[€£¥₹]|{UNITS}|CHF|GBP)"
    r"(?:[²³]|\^[23]|/[a-z]{1,3}[²³]?)?(?![\w'²³^°/]|\s?\d)"
)
_QUANTITY = re.compile(rf"\d\s(?:{UNITS})(?:[²³]|\^[23])?(?:/[a-z]{{1,3}}[²³]?)?(?![\w^²³])")
_IS = re.compile(r"\s(?:(is|are|was)|were|isn|has|have|does|do|did|can|will|must)\b", re.IGNORECASE)
_IS_ANSWER = re.compile(
    r"\s\w+\s(?:the|my|our|your)\s(?:\w{1,12}\s)?(?:answers?|results?|values?|solutions?|sum|total|number|product"
    r"|roots?)\b",
    re.IGNORECASE,
)
_IS_WHAT = re.compile(r"\s\w+\sthe\s([^\W\d_]+)(?=[*$]*(?:[.,;!\n]|\Z))")
"""Behind a number, what it is: 5/11 is the largest."""
_WORD = re.compile(r"\s{1,3}[^\W\d_]{2,30}(?![\w'^(])")
_PART = re.compile(
    r"\s(?:of|in|to|by|from|through|than|out of|into|on)\s"
    r"(?:the\s)?[$(\\]*(?:[dt]?frac\{)?[-−+]?\.?\d"
    r"(?!\d*\s?(?:decimal|significant|place|digit|d\.?p|s\.?f|sig))",
    re.IGNORECASE,
)
_PERCENT_OF = re.compile(r"(?:%|percent|per cent) of\b")
_MORE = re.compile(
    r"(?P<fine>\d++|\b(?:primes?|numbers?|integers?|multiples|values|terms)\s(?:below|under|above|up to"
    r"|(?:less|greater|smaller|larger) than)\b|(?:computed|shown|found) above\b|\bto choose\b|\\[a-z]+\b)"
    r"|[+×÷<>→∞]|->|['’]\w|\b(?:by|through|out of|than)\s[$(\\]*[-−+]?\.?\d|(?P<word>[^\W\d_]{2,})",
    re.IGNORECASE,
)
_CHANGING_TEXT = """\
time times plus minus less fewer over under above below greater higher lower larger smaller than too odd score dozen
dozens hundred hundreds thousand thousands million millions billion billions trillion trillions percent percentage
point points basis squared cubed factorial choose mod modulo base remainder rest fold short off half double doubled
triple twice cents pence bucks zeros nines halves halved thirds quarters fourths fifths sixths sevenths eighths ninths
tenths hundredths thousandths millionths billionths quintillion quintillions septillion zillion googol gross ppm bp pp
apiece thrice counting hex micro milli nano kilo mega giga thousandth hundredth bit something truncated floored debt
loss tax net reverse backwards upwards downwards shifted grand quid most least itself appended same ago or through
until opposite inverse reciprocal negative digits up down reversed radians rad"""
_CHANGING = frozenset(_CHANGING_TEXT.split())
"""Words that change a number also where the question has them."""
_HARMLESS_TEXT = """\
a about according after agree agrees all also altogether am an and annually années ans answer answers apart apples
approximately are area as at au average años be because been between brute mean median mode minimum maximum standard
deviation variance by calculated calculation can check checked checking checks chf cm code coins combinations computed
confirmed confirms correct cubic das dates day days de decimal decimals degrees der die different digits distinct
divisors dollar dollars each el en end equation eur euro euros every exact exactly exists far feet final finally find
first for force found franc francs franken from full für gbp given gives goes grams infinity have hence here heures
hour hours hz if im in inches indeed insgesamt integer integers interest into is it items its jahre jahren jours kg
khz kilograms kilometers kilometres km kmh kwh la later le left length les liters litres los mass means meters metres
miles min minute minutes ml mm month monthly months more mph ms now number numbers numerically of on one only overall
pair pairs people per period periods permutations person personen personnes persons place places possible pounds
precisely price prime primes probability problem produces px real result results right root roots rounded same second
seconds since so solution solutions solves speed square steps students stunden subsets substitution such sum
symbolically tage term terms that the them then there therefore these they this thus to together total tree trees und
units usd use used uses using value values verified verifies volume watts way ways we week weeks were what when where
which with yards year yearly years yen you your fahrenheit celsius kelvin"""
_HARMLESS = frozenset(_HARMLESS_TEXT.split())
"""Words that leave a number as it is, whatever the question: units, what is counted, and how it was found."""

# In the whole text

_DOUBT = re.compile(
    r"\?|≠|\\n(?:eq?|ot)\b|n['’]t\b|\bif\b[^.]{0,40}\bwere\b|\b(?:not|no|nor|non|never|neither|none|nobody|nothing|cannot"
    r"|hardly|barely|scarcely|almost|nearly|close|lacks?|lacking|except\w*|besides?|but|instead|unless"
    r"|would (?:be|have been)|could|should|might|seem\w*|appears? to|thinks?|thought|believe\w*|doubt\w*|expect"
    r"|guess\w*|suppos\w*|claim\w*|wrong\w*"
    r"|incorrect\w*|false\w*|mistak\w*|erroneous\w*|fail\w*|naively?|impossible|unlikely|unequal|differs?|different"
    r" from|far from|short of|bounds?|bounded|intermediate|partial|unfortunately|other than|rather than|said to|hmm"
    r"|anything|everything|wait|nope|untrue|nonsense|reject\w*|disprove\w*|contradict\w*|refut\w*|exceeds?"
    r"|nicht|keine?\w?|nie|niemals|falsch|pas|jamais|faux|nunca|falso|mai)\b",
    re.IGNORECASE,
)
_TASK = re.compile(
    r"(?:\A|[.!;:\n])[^\S\n]*+(?:now |then |next |finally |and )?(?:multiply|square|double|add|subtract|divide|negate"
    r"|halve|take|raise|round|reverse)\b"
    r"(?![^.!?\n]{0,120}(?::\s|\b(?:get|gives?|find|obtain|yields?)\b)[^.!?\n]{0,40}\d)",
    re.IGNORECASE,
)
"""A task that is still to be done with a number."""
_SENTENCE = re.compile(r"[.!?](?:\s|\Z)|\n")


_PLURAL = re.compile(r"[a-z]{2,20}(?<!ward)(?<!s)s\Z")
_COUNT = re.compile(r"\d (?:(?:possible|different|distinct|unique|full) )?\Z")
"""Before what is counted: 96 eggs."""
_LAST_WORD = re.compile(r"([^\W\d_]{2,})[ *$]*\Z")
_CHANGED_TEXT = """\
than over under above below least most exceeds exceed exceeding times by of to from between and or not mod modulo log
ln sin cos tan exp minus negative plus until half twice double doubled triple thrice beyond near past beneath inverse
reciprocal square cube root squared any every each per no never except but instead without excluding base approaching
nearly almost hardly barely if were maybe perhaps through like versus against unlike number day year page the an on at
in for with after before since within around toward towards upon off short away next large big equation row some
nearest precedes back says overline bar lt gt le ge leq geq"""
_CHANGED = frozenset(_CHANGED_TEXT.split())
"""Words before a number that make another one of it, or of which nobody knows what they make of it."""


def is_unsolved(side: str) -> bool:
    """Return True for a side of an equation to be solved, False for a value to be worked out."""
    if _EVALUATED.search(side):
        return False
    return _UNSOLVED.match(_LONG_WORD.split(_QUANTITY.sub("1", side))[-1]) is not None


class Sentences:
    """A text whose numbers are judged one by one. `vocabulary`: the words of the question, in lower case; None: every
    word may stand beside a number that is not known to change it.
    """

    def __init__(self, text: str, vocabulary: Collection[str] | None = ()) -> None:
        self._text = text
        self._vocabulary = vocabulary
        self._ends = [0, *(found.end() for found in _SENTENCE.finditer(text))]
        doubts = (found.start() for pattern in (_DOUBT, _TASK) for found in pattern.finditer(text))
        self._doubted = max(doubts, default=-1)
        """Place of the last word of doubt: it is about all of its sentence, and about those before."""
        self._more: list[tuple[int, bool]] = []
        """Places of the next number, or of a word that may change the one before it."""
        for found in _MORE.finditer(text):
            if found["word"] is None:
                self._more.append((found.start(), found["fine"] is None))
                continue
            word = found["word"].rstrip("²³").lower()
            counted = _PLURAL.match(word) and _COUNT.search(text, max(0, found.start() - 12), found.start())
            known = word not in _CHANGING and (vocabulary is None or word in vocabulary or counted)
            known = known or (word == "zeros" and vocabulary is not None and word in vocabulary)  # 100! has 24 zeros
            if len(word) > 1 and word not in _HARMLESS and not known:
                self._more.append((found.start(), True))

    def standing(self, begin: int, end: int) -> Standing:
        """Return the standing of the number that was read from `begin` to `end`."""
        if begin and self._text[begin - 1] + self._text[end : end + 1] in _QUOTES:
            begin, end = begin - 1, end + 1
        sentence = bisect_right(self._ends, begin) - 1
        doubted = self._doubted >= self._ends[sentence]
        lead, loud = self._lead(begin, end)
        last = self._ends[sentence + 1] if sentence + 1 < len(self._ends) else len(self._text)
        return Standing(lead, not doubted and self._is_whole(end, last, loud))

    def _lead(self, begin: int, end: int) -> tuple[Lead, bool]:
        """Return the lead, and whether a word or a sign of equality stands before the number, rather than nothing."""
        text, place = self._text, begin
        for _ in range(12):
            near = max(0, place - _NEAR)
            if _GIVEN.search(text, near, place):
                return "either", False
            if _CLAIM.search(text, near, place):
                side = _LEFT_SIDE.search(text, near, place)
                if side and (side.group()[0] != "=" or _LONG_WORD.search(side[1])) and is_unsolved(side[1]):
                    return "other", False
                return "claim", text[:place].rstrip()[-1:].isalpha()
            if _BEGINS.search(text, near, place):
                return "claim", False
            opening = _OPENING.search(text, near, place)
            if opening is None:
                break
            place = opening.start()
        near = max(0, place - _NEAR)
        if _LIST.search(text, near, place):
            return "list", False
        if _MENTION.search(text, near, place):
            return ("either" if _COUNTED.match(text, end) else "mention"), False
        word = _LAST_WORD.search(text, near, place) if self._vocabulary is None else None
        return ("claim" if word and word[1].lower() not in _CHANGED and not word[1].endswith("ing") else "other"), False

    def _is_whole(self, end: int, last: int, loud: bool) -> bool:
        """Return True if the words that follow leave the number as it is."""
        text = self._text
        closed = _CLOSING.match(text, end)
        end = closed.end() if closed else end
        if _END.match(text, end):
            return not self._goes_on(end, last)
        if _SHOUT.match(text, end):
            return loud
        is_part = _PART.match(text, end) and not _PERCENT_OF.search(text, max(0, end - 9), end + 4)
        if is_part or self._goes_on(end, last):
            return False
        if stating := _IS.match(text, end):
            what = _IS_WHAT.match(text, end)
            asked = what is not None and what[1].lower() in (self._vocabulary or ())
            return bool(stating[1] and (asked or _IS_ANSWER.match(text, end)))
        return bool(_UNIT.match(text, end) or _WORD.match(text, end))

    def _goes_on(self, end: int, last: int) -> bool:
        """Return True if more is said of the number that ends here, before the next one and the end of its sentence."""
        following = bisect_left(self._more, (end, False))
        if following == len(self._more):
            return False
        start, changes = self._more[following]
        return start < last and changes
