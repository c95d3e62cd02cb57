"""Python values ↔ bytes, between two processes of which one is hostile. No pickle, no eval, no class of the other side.

`encode` runs where the value lives and touches exact builtin types only, through their C methods: an object that lies
about its class, its length or its items is written as `Opaque`. `decode` treats its input as an attack: sizes, depths
and counts are checked before memory is taken, and the answer is a value or one `ProtocolError`.

What crosses as itself: None, bool, int (any size), float, complex, str (lone surrogates too), bytes, bytearray, list,
tuple, set, frozenset, dict, Decimal, Fraction, date, time, datetime (fixed offsets and zone names), timedelta, UUID,
range. Subclasses cross as their base: a namedtuple as tuple, OrderedDict, defaultdict and Counter as dict, `class
Metres(float)` as float; members of an Enum are opaque. A pandas Timestamp crosses as datetime where it has no
nanoseconds. numpy scalars are numpy scalars again where the receiver has imported numpy already, else Python scalars.
Arrays, DataFrames and Series cross when both sides say `arrays=True`: as arrays and frames if the receiver can import
the library, else as lists and dicts of lists, with the labels that say more than the position. A formula of sympy is a
`Formula`: its text and LaTeX. Everything else, every cycle, and what exceeds a budget, is an `Opaque`.
"""

from __future__ import annotations

from safeexec.protocol.values.decoder import decode
from safeexec.protocol.values.encoder import encode
from safeexec.protocol.values.format import MAX_DEPTH, MAX_NODES, Encoded, Formula, Opaque
from safeexec.protocol.values.objects import ByFields
from safeexec.protocol.values.reader import Clock

__all__ = ["MAX_DEPTH", "MAX_NODES", "ByFields", "Clock", "Encoded", "Formula", "Opaque", "decode", "encode"]
