"""What crosses between processes: frames, messages, values. Damaged ones are read, or are one ProtocolError."""

from __future__ import annotations

import datetime
import zoneinfo
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any
from uuid import UUID

import msgspec
import pytest
from hypothesis import strategies as st

from safeexec.errors import ProtocolError
from safeexec.protocol import messages as m
from safeexec.protocol.conversation import (
    ANSWERING,
    FREEZING,
    IDLE,
    RUNNING,
    STARTING,
    Conversation,
    FrameReader,
    frame,
)
from safeexec.protocol.values import decode, encode
from tests.fuzz.mutation import drawn, edited, mutated
from tests.fuzz.target import Holds, Target, plain

CAP = 1 << 16
AT_ONCE = 100
"""Streams of one input: to hear one takes less than to draw it."""
TOKEN = bytes(range(8))
NAMES = {"datetime": datetime, "zoneinfo": zoneinfo, "Decimal": Decimal, "Fraction": Fraction, "UUID": UUID}
STATES = (STARTING, IDLE, RUNNING, ANSWERING, FREEZING)
INTERESTING = [0, 1, 2, 0x7F, 0x80, 0x91, 0xC1, 0xD9, 0xDC, 0xDD, 0xDF, 0xFF, *b"NTFiIfcsbBltezdMGmDQruyhwxnAOPSo"]
FRAGMENTS = [
    *(bytes((code,)) for code in INTERESTING),
    *(b"\xff\xff\xff\xff", b"\0\0\0\0", b"\xff\xff\xff\x7f", b"\0\0\0\1", b"\xdd\x00\x10\x00\x00", b"\x91" * 300),
]


def seeds_of_values() -> list[bytes]:
    values: list[Any] = [
        None, 5, 1.5, "text", "\ud800", b"bytes", bytearray(b"x"), 2**90, 1j, [1, "a", None], (1, (2,)), {1, (2, 3)},
        frozenset({"a"}), {"a": 1, "b": [1.5]}, {1: {2: {3: 4}}}, Decimal("1.5e10"), Fraction(1, 3), range(1, 9, 2),
        datetime.datetime(2024, 5, 6, 7, 8, 9, 10, tzinfo=zoneinfo.ZoneInfo("Europe/Rome")), UUID(int=7),
        datetime.timedelta(1, 2, 3),
        [{"id": number, "name": str(number)} for number in range(5)], len,
    ]  # fmt: skip
    numpy = pytest.importorskip("numpy")
    values += [numpy.float64(1.5), numpy.datetime64("2024-01-01"), numpy.arange(6.0).reshape(2, 3)]
    values += [numpy.array(["a", "b"]), numpy.array([1, "x"], dtype=object)]
    pandas = pytest.importorskip("pandas")
    frame_ = pandas.DataFrame({"a": [1, 2], "b": ["x", None], "c": pandas.Categorical(["u", "v"])})
    frame_["d"] = pandas.to_datetime(["2024-01-01", None]).tz_localize("Europe/Rome")
    frame_["e"] = pandas.period_range("2024-01", periods=2, freq="M")
    frame_["f"] = pandas.interval_range(0, 2)
    frame_["g"] = pandas.array([1, None], dtype="Int8")
    values += [frame_, frame_["a"], frame_.groupby(["a", "b"])["c"].count()]
    return [encode(value, max_bytes=1 << 16, max_depth=20, arrays=True).data for value in values]


def seeds_of_messages() -> list[bytes]:
    error = m.ErrorReport(type="ValueError", message=b"no", line=1, diagnostics=[m.ErrorReport(type="X")])
    changes = m.ChangesReport(["a"], ["b"], ["c"], {"a": "int"})
    display = m.DisplayData({"text/plain": b"x", "image/png": b"\x89PNG"})
    sent: list[m.FromChild] = [
        m.Ready(notes=["n"]),
        m.Frozen(3),
        m.StepDone("error", b"N", b"None", error, changes=changes, displays=[display], notes=["x"]),
        m.ToolRequest(1, "price", b"N"),
        m.Progress("load", 1.0, 10.0),
        m.Fetched(True, b"N"),
        m.Names(["a", "b"]),
        m.Described([m.VariableData("a", "int", "", 28, b"1")]),
        m.Done("no"),
    ]
    return [msgspec.msgpack.encode(message) for message in sent]


def heard(given: tuple[str, list[bytes], list[int]]) -> bool:
    """Hear a stream of frames, in pieces of any size, in any state of the conversation. Returns whether there was
    anything to hear, and none of it was refused.
    """
    state, payloads, cuts = given
    stream = b"".join(frame(payload, TOKEN) for payload in payloads)
    conversation = Conversation(state, CAP, TOKEN)
    at = said = 0
    try:
        for cut in [*cuts, len(stream)]:
            said += len(conversation.receive(stream[at : at + cut]))
            at += cut
    except ProtocolError:
        return False
    return said > 0


def streamed(given: tuple[list[bytes], bytes, list[int]]) -> bool:
    """Check that what was framed comes back, and what follows it is frames or a refusal; never more than was sent.
    Returns whether nothing was refused.
    """
    payloads, rest, cuts = given
    whole = b"".join(frame(payload, TOKEN) for payload in payloads)
    reader = FrameReader(CAP, TOKEN)
    assert _fed(reader, whole, cuts) == payloads
    try:
        got = _fed(reader, rest, cuts)
    except ProtocolError:
        return False
    assert sum(map(len, got)) <= len(rest)
    return True


def _fed(reader: FrameReader, stream: bytes, cuts: list[int]) -> list[bytes]:
    got, at = [], 0
    for cut in [*cuts, len(stream)]:
        got += reader.feed(stream[at : at + cut])
        at += cut
    return got


def decoded(data: bytes) -> bool:
    """Check that what can be read can be sent again, and then read as the same. Returns whether it can."""
    readable = False
    for arrays in (False, True):
        try:
            value = decode(data, arrays=arrays)
        except ProtocolError:
            continue
        readable = True
        again = encode(value, max_bytes=1 << 20, max_depth=200, arrays=arrays).data
        third = encode(decode(again, arrays=arrays), max_bytes=1 << 20, max_depth=200, arrays=arrays).data
        assert third == again
    return readable


def crossed(value: Any) -> None:
    """An ordinary value comes over as itself: the same types, the same content."""
    sent = encode(value, max_bytes=1 << 20, max_depth=200, arrays=True)
    assert _shape(decode(sent.data, arrays=True)) == _shape(value)


def _shape(value: Any) -> Any:
    """With the types of all parts, and so that NaN is like itself."""
    if isinstance(value, list | tuple):
        return type(value).__name__, [_shape(item) for item in value]
    if isinstance(value, set | frozenset):
        return type(value).__name__, sorted(repr(_shape(item)) for item in value)
    if isinstance(value, dict):
        return "dict", [(_shape(key), _shape(item)) for key, item in value.items()]
    return type(value).__name__, repr(value)


def written(text: str) -> None:
    """The same, of the value of an expression."""
    crossed(eval(text, NAMES))


def _literals() -> st.SearchStrategy[Any]:
    keys = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary()
    keys |= st.tuples(st.integers(), st.text(st.characters()))
    leaves = keys | st.floats() | st.complex_numbers(allow_nan=False) | st.text(st.characters(exclude_categories=()))
    return st.recursive(
        leaves,
        lambda inner: (
            st.lists(inner, max_size=6)
            | st.lists(inner, max_size=4).map(tuple)
            | st.sets(keys, max_size=5)
            | st.dictionaries(keys, inner, max_size=5)
        ),
        max_leaves=15,
    )


def _others() -> st.SearchStrategy[Any]:
    one = st.decimals() | st.fractions() | st.dates() | st.datetimes() | st.times() | st.timedeltas() | st.uuids()
    one |= st.builds(range, st.integers(), st.integers(), st.integers().filter(bool)) | st.frozensets(st.integers())
    # Three parts are the most that a name of the database itself has.
    one |= st.datetimes(timezones=st.timezones().filter(lambda zone: str(zone).count("/") < 3))
    return (one | st.lists(one, max_size=4)).map(repr)


def each(holds: Holds) -> Holds:
    """What must hold for each of several inputs."""
    return lambda given: [*map(holds, given)]


def _cuts(random: Random) -> list[int]:
    return [random.randint(0, 60) for _ in range(random.randint(0, 6))]


def _messages() -> st.SearchStrategy[list[tuple[str, list[bytes], list[int]]]]:
    seeds = seeds_of_messages()

    def make(random: Random) -> tuple[str, list[bytes], list[int]]:
        payloads = [edited(random, seeds, FRAGMENTS, 3) for _ in range(random.randint(1, 2))]
        return random.choice(STATES), payloads, _cuts(random)

    return drawn(lambda random: [make(random) for _ in range(AT_ONCE)])


def _frames() -> st.SearchStrategy[list[tuple[list[bytes], bytes, list[int]]]]:
    """Whole frames, then one that somebody broke."""
    seeds = seeds_of_messages()

    def make(random: Random) -> tuple[list[bytes], bytes, list[int]]:
        broken = bytes([random.choice(INTERESTING)]) * random.choice((0, 0, 1, 4, 8)) + edited(
            random, seeds, FRAGMENTS, 6
        )
        return [random.choice(seeds) for _ in range(random.randint(0, 5))], broken, _cuts(random)

    return drawn(lambda random: [make(random) for _ in range(AT_ONCE)])


TARGETS = [
    Target("messages", "what a child says, in any state of the conversation", _messages, plain(each(heard)), 100),
    Target("frames", "a stream in pieces of any size", _frames, plain(each(streamed)), 50),
    Target(
        "decoder",
        "bytes that are nearly a value",
        lambda: mutated(seeds_of_values(), FRAGMENTS) | st.binary(max_size=60),
        plain(decoded),
        400,
        ("numpy", "pandas"),
    ),
    Target("values", "values of the plain types", _literals, plain(crossed), 60),
    Target("special-values", "numbers, dates and times of the standard library", _others, plain(written), 40),
]
