"""Two hundred thousand damaged messages and values: each is read, or is one ProtocolError, in bounded time and memory.

`SAFEEXEC_FUZZ_FRAMES` and `SAFEEXEC_FUZZ_SEED` make longer and different runs.
"""

from __future__ import annotations

import os
import random
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec
import pytest

from safeexec.errors import ProtocolError
from safeexec.protocol import messages, turns
from safeexec.protocol.framing import FrameReader, frame
from safeexec.protocol.values import decode, encode

FRAMES = int(os.environ.get("SAFEEXEC_FUZZ_FRAMES", "200000"))
SEED = int(os.environ.get("SAFEEXEC_FUZZ_SEED", "20240229"))
CAP = 1 << 16
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
        messages.Parked(3),
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


def test_damaged_values() -> None:
    random_ = random.Random(SEED)
    seeds = seeds_of_values()
    read = refused = 0
    for number in range(FRAMES // 2):
        data = damaged(random_, seeds)
        try:
            value = decode(data, arrays=number % 2 == 0)
        except ProtocolError:
            refused += 1
            continue
        read += 1
        if number % 8 == 0:
            # What was read is an ordinary value: it can be shown and sent again.
            encode(value, max_bytes=1 << 20, max_depth=200, arrays=True)
    assert read and refused and read + refused == FRAMES // 2


def test_damaged_messages() -> None:
    """Whatever a child sends, the host's side of the conversation hears messages or raises ProtocolError."""
    random_ = random.Random(SEED + 1)
    seeds = seeds_of_messages()
    states = (turns.STARTING, turns.IDLE, turns.RUNNING, turns.ANSWERING, turns.PARKING)
    heard = refused = 0
    for _ in range(FRAMES // 4):
        conversation = turns.Conversation(random_.choice(states), CAP)
        try:
            heard += len(conversation.hear(frame(damaged(random_, seeds))))
        except ProtocolError:
            refused += 1
    assert heard and refused


def test_damaged_streams() -> None:
    """Frames in pieces of any size: the reader gives back what was framed, or refuses an announced length."""
    random_ = random.Random(SEED + 2)
    seeds = seeds_of_messages()
    for _ in range(FRAMES // 4 // 10):
        payloads = [random_.choice(seeds) for _ in range(10)]
        stream = bytearray(b"".join(map(frame, payloads)))
        broken = random_.random() < 0.5
        if broken:
            stream[random_.randrange(len(stream))] = random_.choice(INTERESTING)
        reader, got, at = FrameReader(CAP), [], 0
        try:
            while at < len(stream):
                size = random_.choice((1, 3, 4, 50, len(stream)))
                got += reader.feed(bytes(stream[at : at + size]))
                at += size
        except ProtocolError:
            assert broken
            continue
        assert broken or got == payloads
