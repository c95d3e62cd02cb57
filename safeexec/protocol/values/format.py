"""The format of values: one byte says the kind, numbers are little-endian, lengths and counts are four bytes.

A list, tuple, set or frozenset is its tag and a *body*. A body of plain scalars is one msgpack array (`PACKED`),
written and read by msgspec at C speed (10,000 floats: 0.16 ms to write, 0.1 ms to read). More than `PART` of them are
a count and several such arrays (`PARTS`), so that no call of C holds the GIL for long; any other body is a count and
that many values (`GENERIC`). A small dict is one msgpack map where its keys are str and its values scalars
(`PACKED_MAP`), else two bodies. A str that is the whole value is one msgpack array of one item, so that its text is
copied once (1 MB of ASCII: 26 us; 520 us with a second buffer, whose pages the kernel hands out and takes back every
time).
"""

from __future__ import annotations

import re
from struct import Struct

import msgspec

MAX_DEPTH = 200
"""No value may nest deeper, whatever the caller allows: `repr` and `==` of the result must not exhaust the stack."""
MAX_NODES = 2_000_000
"""Items in one value, by their price: 64 bytes and 0.3 us of the host each, beside twice the bytes on the wire. A list
of 1.5 million ints crosses; 250,000 Decimals, or 220,000 pairs, are the most of their kinds.
"""
CONTAINER = 6
"""The price of a list, a set or a dict beyond its items: an empty set is 216 bytes and 2.6 us."""
OBJECT = 7
"""The price of a Decimal, a date or another value made by a call, beyond itself: 1 to 2.5 us, 50 to 250 bytes."""
PART = 1 << 15
"""Items that are read, or put into a table, by one call of C: as many texts take 2 ms."""
MAX_KEY_INT = 2048
"""Bytes of an int in a key. Comparing an int with an equal-hash Decimal converts it in quadratic time."""
MAX_KEY_DECIMAL = 4300
MAX_FRACTION_INT = 4096
"""Bytes of a numerator or denominator: building a Fraction takes a quadratic gcd (1.5 ms at this size)."""
MAX_ZONES = 256
"""Different zone names in one value: each unknown one is searched in the file system."""
ALIGNMENT = 16
"""The bytes of an array begin at a multiple of this, so that they can be used where they are."""
MAX_TEXT = 500
"""Characters of an opaque repr."""
MAX_FORMULA = 2000
"""Characters of a formula; a longer one is opaque."""
MAX_FORMULAS = 100
"""Formulas of one value that have their LaTeX, which costs 0.1 ms each."""

LENGTH = Struct("<I")
TAG_LENGTH = Struct("<cI")
TAG_INT = Struct("<cq")
TAG_FLOAT = Struct("<cd")
INT64 = Struct("<q")
FLOAT64 = Struct("<d")
COMPLEX = Struct("<dd")
DATE = Struct("<HBB")
TIME = Struct("<BBBIB")  # hour, minute, second, microsecond, fold
TIMEDELTA = Struct("<iii")  # days, seconds, microseconds

NONE, TRUE, FALSE = b"N", b"T", b"F"
INT, BIG_INT, FLOAT, COMPLEX_TAG = b"i", b"I", b"f", b"c"
STR, BYTES, BYTEARRAY = b"s", b"b", b"B"
LIST, TUPLE, SET, FROZENSET, DICT = b"l", b"t", b"e", b"z", b"d"
PACKED, PARTS, GENERIC, PACKED_MAP = b"M", b"p", b"G", b"m"
DECIMAL, FRACTION, RANGE, UUID_TAG = b"D", b"Q", b"r", b"u"
DATE_TAG, TIME_TAG, DATETIME, TIMEDELTA_TAG = b"y", b"h", b"w", b"x"
NO_ZONE, OFFSET, NAMED_OFFSET, ZONE_KEY = b"0", b"1", b"2", b"3"
NUMPY_SCALAR, ARRAY, OBJECT_ARRAY, FRAME, SERIES = b"n", b"A", b"O", b"P", b"S"
RECORDS, MASKED, INDEX, PANDAS_SCALAR = b"R", b"K", b"X", b"q"
OPAQUE = b"o"
FORMULA = b"g"
ALONE = 0x91
"""The header of a msgpack array of one item."""

ZONE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_+\-]{0,31}(?:/[A-Za-z0-9][A-Za-z0-9_+\-]{0,31}){0,2}\Z")
DECIMAL_TEXT = re.compile(rb"-?(?:[0-9]+(?:\.[0-9]*)?(?:[Ee][+\-]?[0-9]{1,20})?|Infinity|s?NaN[0-9]*)\Z")
SCALAR_DTYPE = re.compile(
    r"[<>|=](?:b1|i[1248]|u[1248]|f[248]|c8|c16|[Mm]8(?:\[(?:[1-9][0-9]{0,5})?(?:Y|M|W|D|h|m|s|ms|us|ns)\])?)\Z"
)
"""The dtypes whose raw bytes cross. No object dtype (pointers), none with fields, no long double (machines differ)."""
TEXT_DTYPE = re.compile(r"[<>|=](?:U[0-9]{1,7}|S[0-9]{1,7})\Z")

Scalar = None | bool | int | float | str


class Opaque(msgspec.Struct, frozen=True):
    """A value that stayed in the child: its type's name (``Point``), a shortened repr, and why it did not cross."""

    type: str
    repr: str
    reason: str = ""


class Formula(Opaque, frozen=True):
    """An exact formula of sympy, which has no other form in the host: its text (``sqrt(2)/2``), and as LaTeX."""

    latex: str = ""

    def __repr__(self) -> str:
        return self.repr

    __str__ = __repr__


class Encoded(msgspec.Struct, frozen=True, gc=False):
    """A value as bytes. `opaque`: a part of it, or all, became `Opaque`; `truncated`: for a budget or a cycle, and
    `reason` says for which first.
    """

    data: bytes
    truncated: bool = False
    opaque: bool = False
    reason: str = ""
