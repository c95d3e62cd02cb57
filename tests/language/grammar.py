"""Random programs, made of every form in which a name is read, bound, imported or written to."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

EXPRESSIONS = (
    "NAME", "NAME", "NAME", "EXPR.ATTR", "EXPR.ATTR", "NAME.ATTR", "NAME.ATTR.ATTR", "EXPR(EXPR, ATTR=EXPR)",
    "NAME(*EXPR, **EXPR)", "[EXPR for NAME in EXPR if LIVE]", "{NAME: EXPR for NAME in EXPR}", "(lambda NAME: EXPR)",
    "(lambda *NAME, ATTR=EXPR: EXPR)", "f'{EXPR}'", "f'{EXPR:>{EXPR}}'", "(NAME := EXPR)", "(EXPR if LIVE else EXPR)",
    "'TEXT'", "b'x'", "1", "None", "EXPR[EXPR]", "EXPR[EXPR:EXPR]", "(EXPR + EXPR)", "(not EXPR)", "(EXPR < EXPR)",
    "'{0.ATTR}'.format(EXPR)", "'{}'.format(EXPR)", "EXPR.format(EXPR)", "'TEXT'.format", "{'TEXT': EXPR, **EXPR}",
    "NAME('TEXT')", "NAME(NAME, 'TEXT')", "('TEXT', 'ATTR')", "[*EXPR]", "NAME(EXPR)", "(LIVE and EXPR)",
)  # fmt: skip
SIMPLE = (
    "EXPR", "NAME = EXPR", "NAME, *NAME = EXPR", "NAME.ATTR = EXPR", "EXPR.ATTR = EXPR", "NAME.ATTR.ATTR = EXPR",
    "NAME[EXPR] = EXPR", "NAME += EXPR", "NAME.ATTR += EXPR", "NAME: int = EXPR", "NAME.ATTR: int = EXPR", "pass",
    "del NAME", "del NAME.ATTR", "import MODULE", "import MODULE as NAME", "import MODULE, MODULE as NAME",
    "from MODULE import ATTR", "from MODULE import ATTR as NAME, ATTR", "assert LIVE, EXPR", "NAME = 'TEXT'",
    "for NAME.ATTR in EXPR: pass", "with EXPR as NAME.ATTR: pass", "if LIVE: raise EXPR from EXPR",
)  # fmt: skip
COMPOUND = (
    "if LIVE:\n BLOCK\nelse:\n BLOCK", "for NAME in EXPR:\n BLOCK", "while LIVE:\n BLOCK",
    "def NAME(NAME, /, ATTR=EXPR):\n BLOCK", "def f(*NAME, ATTR: EXPR = EXPR, **kw):\n BLOCK",
    "def f():\n global SAME\n SAME = EXPR\n BLOCK", "class NAME(EXPR):\n BLOCK",
    "class A(metaclass=NAME, ATTR=EXPR):\n BLOCK",
    "@EXPR\ndef f():\n BLOCK\n yield EXPR", "async def f():\n BLOCK\n await EXPR",
    "try:\n BLOCK\nexcept NAME as NAME:\n BLOCK", "try:\n LIVE\n BLOCK\nexcept ImportError:\n BLOCK",
    "try:\n LIVE\n BLOCK\nexcept* NAME:\n BLOCK", "with EXPR as NAME:\n BLOCK", "def f():\n BLOCK\n def g():\n  BLOCK",
    "match EXPR:\n case NAME:\n  BLOCK", "match EXPR:\n case NAME(ATTR=x):\n  BLOCK",
    "match EXPR:\n case NAME(x, [y, *z]):\n  BLOCK", "match EXPR:\n case {'TEXT': NAME.ATTR, **rest}:\n  BLOCK",
    "def f():\n n = 1\n def g():\n  nonlocal n\n  BLOCK",
)  # fmt: skip
"""``LIVE`` is no constant: what CPython can tell will never run is not in the byte code, and nobody judges it there."""


class Grammar:
    """Programs of these names; a suspicious name comes rarely, so that many programs hold one or none."""

    def __init__(self, seed: int, plain: Sequence[str], suspicious: Sequence[str], modules: Sequence[str]) -> None:
        self._random = Random(seed)
        self._plain, self._suspicious, self._modules = plain, suspicious, modules

    def program(self) -> str:
        """One program of a few statements. It may be no Python."""
        return "\n".join(self._statement(2) for _ in range(self._random.randint(1, 3)))

    def _statement(self, depth: int) -> str:
        forms = SIMPLE if depth == 0 or self._random.random() < 0.6 else COMPOUND
        text = self._filled(self._random.choice(forms))
        while " BLOCK" in text:
            head, _, rest = text.partition("BLOCK")
            indent = head.rpartition("\n")[2]
            text = head + self._statement(depth - 1).replace("\n", "\n" + indent) + rest
        return text

    def _filled(self, form: str, depth: int = 3) -> str:
        choose = self._random.choice
        form = form.replace("LIVE", "NAME(EXPR)")
        while "EXPR" in form:
            form = form.replace("EXPR", self._filled(choose(EXPRESSIONS), depth - 1) if depth else "x", 1)
        form = form.replace("SAME", self._name(self._plain))
        for hole in ("NAME", "ATTR", "TEXT", "MODULE"):
            while hole in form:
                form = form.replace(hole, self._name(self._modules if hole == "MODULE" else self._plain), 1)
        return form

    def _name(self, usual: Sequence[str]) -> str:
        return self._random.choice(self._suspicious if self._random.random() < 0.03 else usual)
