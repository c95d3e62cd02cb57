"""Messages and values as they are sent, and what damages them."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec
import pytest

from safeexec.protocol import messages
from safeexec.protocol.values import encode

INTERESTING = [0, 1, 2, 0x7F, 0x80, 0x91, 0xC1, 0xD9, 0xDC, 0xDD, 0xDF, 0xFF, *b"NTFiIfcsbBltezdMGmDQruyhwxnAOPSo"]


def seeds_of_values() -> list[bytes]:
    values: list[Any] = [
        None, 5, 1.5, "text", "\ud800", b"bytes", bytearray(b"x"), 2**90, 1j, [1, "a", None], (1, (2,)), {1, (2, 3)},
        frozenset({"a"}), {"a": 1, "b": [1.5]}, {1: {2: {3: 4}}}, Decimal("1.5e10"), Fraction(1, 3), range(1, 9, 2),
        datetime(2024, 5, 6, 7, 8, 9, 10, tzinfo=ZoneInfo("Europe/Rome")), timedelta(1, 2, 3), UUID(int=7),
        [{"id": number, "name": str(number)} for number in range(5)], len,
    ]  # fmt: skip
    numpy = pytest.importorskip("numpy")
    values += [
        numpy.float64(1.5),
        numpy.datetime64("2024-01-01"),
        numpy.arange(6.0).reshape(2, 3),
        numpy.array(["a", "b"]),
    ]
    values.append(numpy.array([1, "x"], dtype=object))
    pandas = pytest.importorskip("pandas")
    frame_ = pandas.DataFrame({"a": [1, 2], "b": ["x", None], "c": pandas.Categorical(["u", "v"])})
    frame_["d"] = pandas.to_datetime(["2024-01-01", None]).tz_localize("Europe/Rome")
    values += [frame_, frame_["a"], frame_.groupby(["a", "b"])["c"].count()]
    return [encode(value, max_bytes=1 << 16, max_depth=20, arrays=True).data for value in values]


def seeds_of_messages() -> list[bytes]:
    error = messages.ErrorReport(type="ValueError", message=b"no", line=1, diagnostics=[messages.ErrorReport(type="X")])
    changes = messages.ChangesReport(["a"], ["b"], ["c"], {"a": "int"})
    display = messages.DisplayData({"text/plain": b"x", "image/png": b"\x89PNG"})
    sent: list[messages.FromChild] = [
        messages.Ready(notes=["n"]),
        messages.Frozen(3),
        messages.StepDone("error", b"N", b"None", error, changes=changes, displays=[display], notes=["x"]),
        messages.ToolRequest(1, "price", b"N"),
        messages.Progress("load", 1.0, 10.0),
        messages.Fetched(True, b"N"),
        messages.Names(["a", "b"]),
        messages.Described([messages.VariableData("a", "int", "", 28, b"1")]),
        messages.Done("no"),
    ]
    return [msgspec.msgpack.encode(message) for message in sent]


def damaged(random_: random.Random, seeds: list[bytes]) -> bytes:
    """One seed with a few bytes set, dropped, repeated, or spliced with another seed."""
    data = bytearray(random_.choice(seeds))
    for _ in range(random_.choice((1, 1, 2, 3, 6))):
        at = random_.randrange(len(data) + 1)
        match random_.randrange(6):
            case 0:
                data[at : at + 1] = bytes((random_.choice(INTERESTING),))
            case 1:
                data[at : at + 4] = random_.choice((b"\xff\xff\xff\xff", b"\0\0\0\0", b"\xff\xff\xff\x7f", b"\0\0\0\1"))
            case 2:
                del data[at : at + random_.randrange(1, 9)]
            case 3:
                data[at:at] = bytes((random_.choice(INTERESTING),)) * random_.choice((1, 2, 8, 300))
            case 4:
                other = random_.choice(seeds)
                data[at:] = other[random_.randrange(len(other)) :]
            case _:
                data[at : at + 1] = bytes((random_.randrange(256),))
    return bytes(data)
