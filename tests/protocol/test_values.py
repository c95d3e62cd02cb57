"""Values cross exactly; objects that lie, nest or grow become opaque; hostile bytes become one ProtocolError."""

from __future__ import annotations

import collections
import enum
import io
import itertools
import math
import struct
import sys
import uuid
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from fractions import Fraction
from pathlib import PurePosixPath
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import pytest

from safeexec.errors import ProtocolError
from safeexec.protocol.values import MAX_NODES, Clock, Encoded, Formula, Opaque, decode, encode
from safeexec.protocol.values.format import CONTAINER, PART
from safeexec.results.jsonable import jsonable

MODULUS = (1 << 61) - 1
"""Numbers that differ by a multiple of it have one hash."""


def written(value: Any, *, max_bytes: int = 1 << 20, max_depth: int = 64, arrays: bool = False) -> Encoded:
    return encode(value, max_bytes=max_bytes, max_depth=max_depth, arrays=arrays)


def crossed(value: Any, **budgets: Any) -> Any:
    return decode(written(value, **budgets).data, arrays=budgets.get("arrays", False))


EXACT = [
    None, True, False, 0, -1, 2**63 - 1, -(2**63), 2**63, -(2**70000), 10**5000,
    1.5, -0.0, math.inf, -math.inf, 1e-323,
    "", "text", "é" * 300, "lone \ud800 surrogate", "\0", b"", b"\xff\x00", bytearray(b"mutable"),
    1 + 2j, complex(-0.0, math.inf),
    [], [1, "two", 3.0, None, True], [2**80, 1], ["\udfff"], (), (1,), (1, [2, (3, {4})]),
    set(), {1, 2}, {"a", b"a", None, 1.5}, frozenset({frozenset({1}), (2, "x")}),
    {}, {"a": 1}, {"a": [1, {"b": ()}]}, {1: "x", (1, 2): "y", None: "z", 1.5: "w", b"k": "v"},
    {f"k{i}": i for i in range(100)}, {i: i for i in range(2000)}, [[float(i)] * 3 for i in range(50)],
    Decimal("1.50"), Decimal("-0"), Decimal("Infinity"), Decimal("1e999999999"), Decimal("-1.2E-400"),
    Fraction(-1, 3), Fraction(10**5000, 7), range(0), range(10**5000, -5, -7),
    date.min, date(2024, 2, 29), time(23, 59, 59, 999999, fold=1), time(1, tzinfo=UTC),
    datetime.max, datetime(2024, 10, 27, 2, 30, fold=1, tzinfo=ZoneInfo("Europe/Rome")),
    datetime(2024, 1, 1, tzinfo=timezone(timedelta(hours=-5, minutes=-30), "EST?")),
    timedelta.max, timedelta(days=-1, microseconds=1), uuid.UUID(int=2**128 - 1),
    Opaque("Point", "Point(1, 2)"),
]  # fmt: skip


@pytest.mark.parametrize("value", EXACT, ids=lambda value: type(value).__name__)
def test_value_crosses_as_itself(value: Any) -> None:
    encoded = written(value)
    back = decode(encoded.data)
    assert (type(back), back, encoded.truncated) == (type(value), value, False)


UNSEEN = [
    -0.0, Decimal("-0"), Decimal("sNaN12"), Decimal("1.500"), {"x": -0.0}, [math.nan], {"b": 1, "a": 2, 0: 3},
    time(2, fold=1), datetime(2024, 10, 27, 2, 30, fold=1, tzinfo=ZoneInfo("Europe/Rome")),
]  # fmt: skip


@pytest.mark.parametrize("value", UNSEEN, ids=repr)
def test_what_equality_does_not_see_is_kept(value: Any) -> None:
    assert repr(crossed(value)) == repr(value)


class Pair(NamedTuple):
    x: int
    y: str


class Metres(float):
    pass


class Colour(enum.IntEnum):
    RED = 1


def test_subclasses_cross_as_their_base() -> None:
    ordered = collections.OrderedDict(a=1, b=2)
    ordered.move_to_end("a")
    values = [Pair(1, "z"), Metres(2.5), collections.Counter("aab"), collections.defaultdict(list, {1: [2]})]
    back = crossed([*values, ordered])
    assert [type(item) for item in back] == [tuple, float, dict, dict, dict]
    assert back == [(1, "z"), 2.5, {"a": 2, "b": 1}, {1: [2]}, {"b": 2, "a": 1}]
    assert list(back[-1]) == ["b", "a"]


@dataclass
class Sized:
    size: int


class Third:
    """As a number of sympy is."""

    def __float__(self) -> float:
        return 1 / 3


def test_what_does_not_cross_says_why_and_what_would() -> None:
    """Each reason by the kind of the value, and through a second crossing."""
    endless: list[Any] = []
    endless.append(endless)
    reasons = {
        "its `value`": Colour.RED,
        "functions, classes and modules": crossed(len),
        "functions, classes": Colour,
        "make a list": iter([1]),
        "return `list(x)`": collections.deque([1]),
        "return `str(path)`": PurePosixPath("a"),
        "`dataclasses.asdict(x)`": Sized(1),
        "or its text, `str(x)`": Third(),
        "an object of this class": Liar(),
        "holds itself": endless,
    }
    for reason, value in reasons.items():
        held = crossed(crossed([value]))
        while type(held) is list:
            held = held[0]
        assert reason in held.reason, (reason, held)
    assert "limits.value_kb" in crossed("x" * 2000, max_bytes=1000).reason
    assert "limits.value_kb" in crossed([1, "x" * 2000], max_bytes=1000)[1].reason
    assert "limits.value_depth" in crossed([[1]], max_depth=1)[0].reason


class Liar:
    """Claims to be an int, has no length, and its repr ends the process."""

    __class__ = int  # type: ignore[assignment]

    def __repr__(self) -> str:
        raise SystemExit("out")

    def __reduce__(self) -> Any:
        raise AssertionError("asked for its pickle")

    def __len__(self) -> int:
        return -1


class LyingList(list):  # type: ignore[type-arg]
    def __iter__(self) -> Any:
        raise AssertionError("asked for its items")

    def __len__(self) -> int:
        return 1 << 60

    def __hash__(self) -> int:  # type: ignore[override]
        return 1


class LyingMeta(type):
    def __hash__(cls) -> int:
        raise ZeroDivisionError

    def __eq__(cls, other: object) -> bool:
        return True


class OddlyTyped(metaclass=LyingMeta):
    def __repr__(self) -> str:
        return "odd"


def test_objects_that_lie_are_not_asked() -> None:
    assert crossed(Liar()).repr.endswith("its repr failed: SystemExit: out>")
    assert crossed(LyingList([1, 2])) == [1, 2]
    assert crossed({LyingList([1]): "a list as a key"}).popitem()[1] == "a list as a key"
    assert crossed(OddlyTyped()).repr == "odd"
    assert type(crossed([1, OddlyTyped()])) in (list, Opaque)


def test_cycles_and_shared_parts() -> None:
    cycle: list[Any] = [1]
    cycle.append(cycle)
    encoded = written(cycle)
    back = decode(encoded.data)
    assert (back[0], type(back[1]), encoded.truncated) == (1, Opaque, True)
    itself = LyingList()
    list.append(itself, itself)
    assert [type(item) for item in crossed(itself)] == [Opaque]
    shared = [1]
    assert (crossed([shared, shared]), written([shared, shared]).truncated) == ([[1], [1]], False)


class Elsewhere(tzinfo):
    def utcoffset(self, moment: datetime | None) -> timedelta:
        return timedelta(0)


def oddly_made() -> list[Any]:
    """Values of Python's own types, made of what those types are not made of."""
    fraction = Fraction(1, 3)
    fraction._numerator = Metres(1.0)  # type: ignore[attr-defined]
    file = io.BytesIO(b"TZif" + bytes(16) + struct.pack(">6I", 0, 0, 0, 0, 1, 4) + bytes(6) + b"UTC\0")
    return [fraction, time(1, tzinfo=Elsewhere()), datetime(2024, 1, 1, tzinfo=ZoneInfo.from_file(file))]


@pytest.mark.parametrize("value", oddly_made(), ids=lambda value: type(value).__name__)
def test_values_that_are_oddly_made_are_opaque(value: Any) -> None:
    before, held, after = crossed([1, value, 2])
    assert (before, type(held), after) == (1, Opaque, 2)


class Key(tuple[Any, ...]):
    """A key of a dict, whatever it holds."""

    def __hash__(self) -> int:
        return 1


@pytest.mark.parametrize("part", [bytearray(b"x"), [1], {1}, {"a": 1}], ids=lambda part: type(part).__name__)
def test_a_key_that_lies_holds_nothing_unhashable(part: Any) -> None:
    ((key, value),) = crossed({Key((1, part)): "value"}).items()
    assert (key[0], type(key[1]), value) == (1, Opaque, "value")


@pytest.mark.parametrize(
    "number", [1 << 100_000, Decimal("1" * 10_000), Fraction(1, 1 << 100_000)], ids=lambda number: type(number).__name__
)
def test_a_number_too_long_for_a_key_is_opaque(number: Any) -> None:
    encoded = written({number: 1})
    assert encoded.truncated and [type(key) for key in decode(encoded.data)] == [Opaque]


@pytest.mark.parametrize("value", [[[[]]], (((),),), {1: {1: {}}}, frozenset({frozenset({frozenset()})})], ids=repr)
def test_every_container_ends_at_the_same_depth(value: Any) -> None:
    assert not written(value, max_depth=3).truncated
    assert written(value, max_depth=2).truncated


def test_depth_beyond_the_budget_is_opaque() -> None:
    deep: Any = "bottom"
    for _ in range(100_000):
        deep = [deep]
    encoded = written(deep, max_depth=5)
    assert encoded.truncated
    back = decode(encoded.data, max_depth=6)
    for _ in range(5):
        (back,) = back
    assert type(back) is Opaque


def test_bytes_beyond_the_budget_are_opaque_and_the_rest_stays() -> None:
    encoded = written({"big": "x" * 10_000, "small": 1}, max_bytes=4000)
    back = decode(encoded.data)
    assert (type(back["big"]), back["small"], encoded.truncated) == (Opaque, 1, True)
    for value in ("x" * 5000, b"x" * 5000, [1.5] * 5000, set(range(5000)), 1 << 50_000, {i: i for i in range(5000)}):
        encoded = written(value, max_bytes=1000)
        assert (type(decode(encoded.data)), encoded.truncated) == (Opaque, True)
        assert len(encoded.data) < 2000


def asked(value: Any, **budgets: Any) -> Encoded:
    """A value with its arrays, within bounds of which only `budgets` are narrow."""
    return encode(value, **{"max_bytes": 1 << 20, "max_depth": 20, "arrays": True, **budgets})


def test_no_array_suffers_from_its_neighbour() -> None:
    """Arrays together take `array_bytes`: one that is too large says so, and those beside it cross whole."""
    numpy, pandas = pytest.importorskip("numpy"), pytest.importorskip("pandas")
    large, small = numpy.arange(3000.0), numpy.array([1, 2])
    text = pandas.DataFrame({"a": ["x" * 3000, "y" * 3000, "z"]})
    ones = numpy.empty(50_000, dtype=object)
    masked, frame = numpy.ma.masked_array([1, 2], [False, True]), pandas.DataFrame({"a": [1]})
    value = {"log": "x" * 20_000, "large": [large] * 200, "text": text, "ones": ones, "small": [small, masked, frame]}
    encoded = asked(value, array_bytes=4096)
    back = decode(encoded.data)
    assert (back["log"], back["small"], encoded.truncated) == ("x" * 20_000, [[1, 2], [1, None], {"a": [1]}], True)
    for part in (*back["large"], back["text"], back["ones"]):
        assert type(part) is Opaque and "at most 4 KiB" in part.reason and "session.get" in part.reason
    alone = asked(large, array_bytes=4096)
    assert (alone.truncated, decode(alone.data).type) == (True, "numpy.ndarray")
    assert decode(asked([large]).data) == [large.tolist()]
    too_deep, beside = decode(asked([masked, 7], max_depth=1).data)
    assert (type(too_deep), beside) == (Opaque, 7)


def test_columns_of_one_name_stay_apart_and_each_name_is_numbered_once() -> None:
    pandas = pytest.importorskip("pandas")
    for rows in ([[1, 2, 3, 4]], [[1, "b", 3, 4]]):
        frame = pandas.DataFrame(rows, columns=["a", "a", "a.1", "a"])
        wanted = zip(["a", "a.2", "a.1", "a.3"], ([item] for item in rows[0]), strict=True)
        assert decode(asked(frame).data) == dict(wanted)
    # Looking for the number of each anew would take minutes.
    names = ["a"] * 50_000 + ["a.2", 1, True, "1"]
    frame = pandas.DataFrame([range(len(names))], columns=names)
    apart = decode(written(frame, arrays=True, max_bytes=1 << 24).data)
    assert list(apart)[:3] == ["a", "a.1", "a.3"] and list(apart)[-5:] == ["a.50000", "a.2", 1, "True.1", "1"]
    assert [row for (row,) in apart.values()] == list(range(len(names)))


def test_repeated_parts_do_not_multiply_the_work() -> None:
    part = [["x" * 1000] * 1000]
    encoded = written([part] * 1_000_000, max_bytes=1 << 20)
    assert (type(decode(encoded.data)), encoded.truncated) == (Opaque, True)
    doubling: Any = [0]
    for _ in range(60):
        doubling = [doubling, doubling]
    assert written(doubling, max_bytes=1 << 18).truncated


def numbers(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}I", *values)


HOSTILE = {
    "nothing": b"",
    "unknown tag": b"\x00",
    "left over": b"NN",
    "announced but missing": b"s" + numbers(4_000_000_000),
    "a list of four billion": b"lG" + numbers(4_000_000_000),
    "msgpack of four billion": b"lM" + numbers(5) + b"\xdd\xff\xff\xff\xff",
    "msgpack map for a list": b"lM" + numbers(1) + b"\x80",
    "msgpack extension": b"lM" + numbers(4) + b"\x91\xd4\x05\x00",
    "unhashable key": b"dG" + numbers(1) + b"lG" + numbers(0) + b"G" + numbers(1) + b"N",
    "keys without values": b"dG" + numbers(1) + b"N" + b"G" + numbers(0),
    "an int too long for a key": b"eG" + numbers(1) + b"I" + numbers(5000) + bytes(5000),
    "bad utf-8": b"s" + numbers(1) + b"\xff",
    "depth": b"lG\x01\x00\x00\x00" * 100_000 + b"N",
    "signalling NaN as a key": b"eG" + numbers(1) + b"D" + numbers(4) + b"sNaN",
    "Decimal of code": b"D" + numbers(6) + b"__im__",
    "Decimal beyond its exponent": b"D" + numbers(22) + b"1E99999999999999999999",
    "Fraction over zero": b"Q" + b"i" + bytes(8) + b"i" + bytes(8),
    "range without step": b"r" + (b"i" + bytes(8)) * 3,
    "range of text": b"rs" + numbers(0),
    "thirteenth month": b"y" + struct.pack("<HBB", 2024, 13, 1),
    "year zero": b"y" + struct.pack("<HBB", 0, 1, 1),
    "timedelta overflow": b"x" + struct.pack("<iii", 2**31 - 1, 0, 0),
    "offset of two days": b"h" + bytes(8) + b"1" + struct.pack("<iii", 2, 0, 0),
    "zone as a path": b"h" + bytes(8) + b"3" + numbers(16) + b"../../etc/passwd",
    "absolute zone": b"h" + bytes(8) + b"3" + numbers(11) + b"/etc/passwd",
    "object dtype": b"A\x03|O8\x01" + struct.pack("<q", 1) + numbers(8) + bytes(8),
    "impossible shape": b"A\x03<f8\x02" + struct.pack("<qq", 1 << 39, 1 << 39) + numbers(0),
    "negative shape": b"A\x03<f8\x01" + struct.pack("<q", -1) + numbers(0),
    "scalar of no dtype": b"n\x03<V8" + bytes(8),
}


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE)
def test_hostile_bytes_are_a_protocol_error(data: bytes) -> None:
    for arrays in (False, True):
        with pytest.raises(ProtocolError):
            decode(data, arrays=arrays)


def test_a_zone_that_this_machine_lacks_is_opaque() -> None:
    data = written(datetime(2024, 1, 1, tzinfo=ZoneInfo("Europe/Rome"))).data.replace(b"Europe/Rome", b"Europe/Nome")
    assert decode(data) == Opaque("datetime.datetime", "2024-01-01T00:00:00 Europe/Nome")


def colliding(first: int, width: int) -> frozenset[int]:
    return frozenset(7 + MODULUS * number for number in range(first, first + width))


@pytest.mark.parametrize(
    "keys",
    [
        [1 + number * MODULUS for number in range(2000)],
        [Decimal(1 + number * MODULUS) for number in range(100)],
        [Fraction(1 + number * MODULUS) for number in range(100)],
        [(1, (2 + number * MODULUS,)) for number in range(1000)],
        [uuid.UUID(int=1 + number * MODULUS) for number in range(100)],
        [colliding(0, 700), colliding(700, 700)],
        [frozenset({colliding(0, 700), 1}), frozenset({colliding(700, 700), 1})],
    ],
    ids=lambda keys: type(keys[-1]).__name__,
)
def test_keys_that_would_be_compared_for_long_are_refused(keys: list[Any]) -> None:
    for value in (dict.fromkeys(keys), set(keys), frozenset(keys), {"deep": [set(keys)]}):
        with pytest.raises(ProtocolError, match="one hash"):
            decode(written(value).data)


def test_honest_keys_of_one_hash_cross() -> None:
    grid = set(itertools.product((-2, -1, 0, 1), repeat=5))
    powers: list[Any] = [{2**power: power for power in range(2000)}, {2.0**power for power in range(-1074, 1024)}]
    for value in (*powers, {Decimal(2) ** power for power in range(500)}, grid, {frozenset(key) for key in grid}):
        assert crossed(value) == value


def test_values_of_one_message_share_a_clock() -> None:
    clock = Clock()
    decode(written({1, 2}).data, clock=clock)
    clock.end = -1.0
    for value in ({1, 2}, {1: 2}, frozenset({1.5}), Fraction(10**200, 7)):
        with pytest.raises(ProtocolError, match="CPU time"):
            decode(written(value).data, clock=clock)


@pytest.mark.parametrize("count", [PART, PART + 1, 3 * PART])
def test_many_items_cross_in_parts(count: int) -> None:
    """No call of C reads more than `PART` of them: other threads run in between."""
    numbers, texts = list(range(count)), [str(number) for number in range(count)]
    for value in (numbers, tuple(texts), set(texts), dict(zip(texts, numbers, strict=True)), frozenset(numbers)):
        assert crossed(value) == value
    with pytest.raises(ProtocolError, match=r"one part|truncated"):
        decode(b"lp" + struct.pack("<I", count) + struct.pack("<I", 5) + b"\xdd" + struct.pack(">I", count))


@pytest.mark.parametrize(
    "item",
    [
        *(Decimal(7), Fraction(1, 7), datetime(2020, 1, 1, tzinfo=UTC), uuid.UUID(int=7), {7}, [7], timedelta(1)),
        *(range(3), Formula("Symbol", "x", "", "x")),
    ],
    ids=lambda item: type(item).__name__,
)
def test_what_is_dear_to_make_counts_more(item: Any) -> None:
    """The sender counts as the reader does: what one of them refuses, the other does not send."""
    most = 10_000
    few, many = [item] * (most // 10), [item] * (most // 5)
    assert crossed(few) == few
    with pytest.raises(ProtocolError, match="too many parts"):
        decode(written(many).data, max_nodes=most)
    assert written([item] * (MAX_NODES // 5), max_bytes=1 << 27).truncated


def test_a_container_counts_more_than_what_it_holds() -> None:
    """A million empty sets are 6 MB on the wire and 220 in memory."""
    empties: list[set[int]] = [set() for _ in range(MAX_NODES // CONTAINER)]
    assert written(empties, max_bytes=1 << 26).truncated
    with pytest.raises(ProtocolError, match="too many parts"):
        decode(b"lG" + numbers(len(empties)) + (b"eG" + numbers(0)) * len(empties))
    with pytest.raises(ProtocolError, match="too many parts"):
        decode(written(list(range(1000))).data, max_nodes=999)


def header(tag: bytes, dtype: bytes, *shape: int) -> bytes:
    """How an array begins."""
    return tag + bytes((len(dtype),)) + dtype + bytes((len(shape),)) + struct.pack(f"<{len(shape)}q", *shape)


def followed(head: bytes, *arrays: Any) -> bytes:
    """The arrays behind `head`, each where it must begin."""
    for array in arrays:
        head += header(b"A", array.dtype.str.encode(), *array.shape) + numbers(array.nbytes)
        head += bytes(-len(head) % 16) + array.tobytes()
    return head


class TestNumpy:
    numpy = pytest.importorskip("numpy")

    @pytest.mark.parametrize(
        "dtype",
        ["?", "i1", "u2", "i4", "u8", ">i4", "f2", "f4", "f8", "c8", "c16", "M8[ns]", "M8[D]", "m8[s]", "U3", "S4"],
    )
    def test_array_crosses_by_content(self, dtype: str) -> None:
        array = self.numpy.arange(6).astype(dtype).reshape(2, 3)
        for value in (array, array.T, array[:, ::2], array[:0]):
            back = crossed(value, arrays=True)
            assert back.dtype == value.dtype and back.shape == value.shape and (back == value).all()
            assert back.flags.writeable

    def test_objects_in_an_array_are_values(self) -> None:
        back = crossed(self.numpy.array([1, "a", [2], len], dtype=object), arrays=True)
        assert back.dtype == object and list(back[:3]) == [1, "a", [2]] and type(back[3]) is Opaque

    def test_scalars(self) -> None:
        np = self.numpy
        moment = np.datetime64("2024-01-02T03:04:05", "ns")
        for value in (np.float64(1.5), np.int8(-3), np.bool_(True), np.complex64(1j), moment):
            back = crossed(value)
            assert type(back) is type(value) and back == value
        assert crossed(np.str_("x")) == "x" and type(crossed(np.str_("x"))) is str
        assert type(crossed(np.longdouble(1.5))) is float

    def test_scalars_are_plain_without_numpy(self, monkeypatch: pytest.MonkeyPatch) -> None:
        np = self.numpy
        values = [np.float32(1.5), np.int64(7), np.bool_(True), np.complex128(2j), np.datetime64("2024-01-02"),
                  np.datetime64("2024-01-02T03:04:05", "ns"), np.timedelta64(90, "s"), np.datetime64("NaT", "s"),
                  np.datetime64("2024-03")]  # fmt: skip
        data = written(values).data
        monkeypatch.delitem(sys.modules, "numpy")
        days = date(2024, 1, 2), datetime(2024, 1, 2, 3, 4, 5)
        assert decode(data) == [1.5, 7, True, 2j, *days, timedelta(seconds=90), None, date(2024, 3, 1)]

    def test_records_and_masked_arrays(self) -> None:
        np = self.numpy
        plain = np.array([(1, 2.5, "x"), (2, math.inf, "yz")], dtype=[("n", ">i2"), ("f", "f8"), ("s", "U3")])
        nested = np.zeros((2, 3), dtype=[("where", [("x", "f4"), ("y", "f4")]), ("colour", "u1", (3,))])
        nested["colour"][1, 2] = 7
        for value in (plain, plain[::-1], plain[:0], nested, plain[["n", "s"]]):
            back = crossed(value, arrays=True)
            assert back.shape == value.shape and back.dtype.names == value.dtype.names and (back == value).all()
        assert crossed(plain[0]) == (1, 2.5, "x")
        masked = np.ma.array([[1, 2], [3, 4]], mask=[[0, 1], [0, 0]], fill_value=-1)
        back = crossed(masked, arrays=True)
        assert type(back) is type(masked) and back.fill_value == -1 and back.mask.tolist() == masked.mask.tolist()
        assert back.compressed().tolist() == [1, 3, 4]
        assert decode(written(masked, arrays=True).data) == [[1, None], [3, 4]]

    def test_zero_dimensions_signs_and_nans(self) -> None:
        np = self.numpy
        odd = ([-0.0, math.nan, math.inf], 2.5, "text", None)
        for value in (*map(np.array, odd), np.zeros((0, 3))):
            back = crossed(value, arrays=True)
            assert (back.dtype, back.shape, back.tobytes()) == (value.dtype, value.shape, value.tobytes())

    def test_the_buffer_of_the_caller_becomes_the_array(self) -> None:
        """Only one that may be written to, and only an array that is most of it."""
        np = self.numpy
        large, small = np.arange(100.0), np.arange(2.0)
        buffer = bytearray(written([large, small], arrays=True).data)
        first, second = decode(buffer, arrays=True)
        assert (first == large).all() and (second == small).all()
        memory = np.frombuffer(buffer, dtype="u1")
        assert np.shares_memory(first, memory) and not np.shares_memory(second, memory)
        assert first.flags.writeable and first.flags.aligned
        again = decode(memoryview(buffer).toreadonly(), arrays=True)
        assert not np.shares_memory(again[0], memory) and again[0].flags.writeable

    @pytest.mark.parametrize(
        ("dtype", "item", "plain"),
        [
            ("M8[Y]", "2024", date(2024, 1, 1)),
            ("M8[M]", "1969-11", date(1969, 11, 1)),
            ("M8[W]", "2024-01-04", date(2024, 1, 4)),
            ("M8[ns]", "2024-01-01T00:00:00.000001", datetime(2024, 1, 1, microsecond=1)),
            ("M8[ns]", 1, 1),
            ("M8[s]", 1 << 60, 1 << 60),
            ("m8[h]", 3, timedelta(hours=3)),
            ("m8[D]", "NaT", None),
            (">i4", 7, 7),
            ("c8", 2j, 2j),
            (">U2", "é", "é"),
            ("S3", b"ab", b"ab"),
        ],
    )
    def test_items_are_plain_where_no_array_is_asked_for(self, dtype: str, item: Any, plain: Any) -> None:
        array = self.numpy.array([item, item], dtype=dtype)
        for value, expected in ((array, [plain, plain]), (array.reshape(2, 1), [[plain]] * 2), (array[:0], [])):
            assert decode(written(value, arrays=True).data) == expected
        assert decode(written(array[:1].reshape(()), arrays=True).data) == plain

    def test_records_are_a_dict_of_fields_where_no_array_is_asked_for(self) -> None:
        records = self.numpy.array([(1, "x")], dtype=[("n", "i2"), ("s", "U3")])
        assert decode(written(records, arrays=True).data) == {"n": [1], "s": ["x"]}
        assert decode(written(self.numpy.array([[1, "a"]], dtype=object), arrays=True).data) == [[1, "a"]]

    def test_what_has_no_bytes_of_its_own_is_opaque(self) -> None:
        np = self.numpy
        for value in (np.void(b"ab"), np.timedelta64(1, "as"), np.array([b"ab"], "V2"), np.array([1], "M8[as]")):
            assert [type(part) for part in crossed([value], arrays=True)] == [Opaque]
        assert crossed(np.clongdouble(2j)) == 2j
        masked, records = np.ma.array([1], mask=[1]), np.zeros(1, dtype=[("n", "i4")])
        assert type(crossed(masked)) is Opaque
        for value in (masked, records, np.array([None], dtype=object)):
            assert written([value], arrays=True, max_depth=1).truncated

    def test_forged_arrays_are_a_protocol_error(self) -> None:
        np = self.numpy
        names, one = written(["a"]).data, written([1]).data
        forged = {
            "objects of another dtype": header(b"O", b"<f8", 1) + one[1:],
            "more objects than there are": header(b"O", b"|O", 2) + one[1:],
            "too many dimensions": header(b"O", b"|O", *[1] * 33) + one[1:],
            "records of another dtype": header(b"R", b"<f8", 1) + names,
            "records without names": header(b"R", b"|V", 1) + one,
            "fields of another length": followed(header(b"R", b"|V", 2) + names, np.arange(3)),
            "a mask of lists": b"K" + one + one + b"N",
            "a mask of another shape": followed(b"K", np.arange(2), np.array([True])) + b"N",
            "too deep": b"lG" + numbers(1) + header(b"O", b"|O", 1) + one[1:],
        }
        for name, data in forged.items():
            with pytest.raises(ProtocolError):
                pytest.fail(f"{name}: {decode(data, arrays=True, max_depth=1 if name == 'too deep' else 64)!r}")

    def test_forged_truth_values_and_characters(self) -> None:
        forged = written(self.numpy.array([True, False]), arrays=True).data[:-2] + b"\x07\x00"
        assert decode(forged, arrays=True).view("u1").tolist() == [1, 0]
        with pytest.raises(ProtocolError):
            decode(written(self.numpy.array(["a"]), arrays=True).data[:-4] + b"\xff\xff\xff\x7f", arrays=True)


class TestPandas:
    pandas = pytest.importorskip("pandas")

    def test_timestamps_cross_as_datetimes_and_scalars_of_its_own_as_themselves(self) -> None:
        pd = self.pandas
        back = crossed([pd.Timestamp("2024-01-02 03:04", tz="UTC"), pd.Timedelta("1s"), pd.NaT])
        assert back[:2] == [datetime(2024, 1, 2, 3, 4, tzinfo=UTC), timedelta(seconds=1)]
        assert [type(item) for item in back] == [datetime, timedelta, type(pd.NaT)]
        values = [
            pd.NA, pd.NaT, pd.Timestamp(1_700_000_000_123_456_789), pd.Timestamp(1, tz="Europe/Rome"), pd.Timedelta(7),
            pd.Period("2024-03", "M"), pd.Period("2024Q4"), pd.Interval(0, 1.5, closed="both"),
        ]  # fmt: skip
        for value, back in zip(values, crossed(values), strict=True):
            assert type(back) is type(value) and (back is value or back == value)

    def columns(self) -> dict[str, Any]:
        """One column of each kind, with something missing in it."""
        pd = self.pandas
        days = pd.date_range("2024-01-01", periods=3, freq="D")
        return {
            "objects": pd.Series([1, None, math.nan], dtype=object),
            "mixed": pd.Series(["a", 1.5, (1, 2)], dtype=object),
            "str": pd.Series(["a", None, "ü"], dtype="str"),
            "string": pd.Series(["a", None, "c"], dtype="string"),
            "string[python]": pd.Series(["a", None, "c"], dtype="string[python]"),
            "days as categories": pd.Series(pd.Categorical([days[0], None, days[1]])),
            "numbers as categories": pd.Series(pd.Categorical([3, 1, None], categories=[3, 1, 2], ordered=True)),
            "bands": pd.cut(pd.Series([1, 5, 9]), [0, 4, 8, 12]),
            "quarters": pd.Series(pd.PeriodIndex(["2024Q1", "NaT", "2024Q3"], freq="Q")),
            "intervals": pd.Series(pd.arrays.IntervalArray.from_tuples([(0, 1), (1, 2), None], closed="left")),
            "boolean": pd.Series([True, None, False], dtype="boolean"),
            "Float32": pd.Series([1.5, None, math.inf], dtype="Float32"),
            "seconds": pd.Series(pd.to_datetime(["2024-01-01", None, "1850-01-01"]).astype("M8[s]")),
            "zoned": pd.Series(days.tz_localize("Asia/Tokyo")),
            "spans": pd.Series(pd.to_timedelta(["1D", None, "3ns"])),
            "sparse": pd.Series(pd.arrays.SparseArray([0.0, 0.0, 1.0])),
            "complex": pd.Series([1j, 2, math.nan]),
            "uint8": pd.Series([1, 2, 255], dtype="uint8"),
        }

    def test_every_kind_of_column(self) -> None:
        pd = self.pandas
        frame = pd.DataFrame(self.columns())
        for part in (frame, frame.iloc[:0], frame.set_index("str"), pd.DataFrame()):
            pd.testing.assert_frame_equal(crossed(part, arrays=True), part, check_index_type=True)
        for column in frame:
            pd.testing.assert_series_equal(crossed(frame[column], arrays=True), frame[column])
            back = pd.Series(crossed(frame[column].array, arrays=True)).array
            pd.testing.assert_extension_array_equal(back, frame[column].array)

    def test_arrow_columns(self) -> None:
        pytest.importorskip("pyarrow")
        pd = self.pandas
        frame = pd.DataFrame({kind: pd.Series([1, None, 3], dtype=f"{kind}[pyarrow]") for kind in ("int64", "double")})
        frame["text"] = pd.Series(["a", None, "c"], dtype="string[pyarrow]")
        pd.testing.assert_frame_equal(crossed(frame, arrays=True), frame)

    def test_every_kind_of_index(self) -> None:
        pd = self.pandas
        days = pd.date_range("2024-01-01", periods=3, freq="D", name="day")
        indexes = [
            pd.RangeIndex(3, 9, 2, name="r"), pd.Index([3, 1, 2]), pd.Index([1.5, math.nan]), pd.Index(["a", None]),
            pd.Index([(1, 2), "x"], tupleize_cols=False), days, days.tz_localize("Europe/Rome"), pd.Index([]),
            days.to_period("D"), pd.interval_range(0, 3), pd.CategoricalIndex(["u", "v", "u"]), days - days[0],
            pd.MultiIndex.from_product([days, ["a", "b"]], names=["when", None]),
            pd.MultiIndex.from_tuples([(1, math.nan), (2, "x")]), pd.MultiIndex.from_tuples([], names=["a", "b"]),
        ]  # fmt: skip
        for index in indexes:
            back, series = crossed(index, arrays=True), pd.Series(range(len(index)), index=index)
            pd.testing.assert_index_equal(back, index)
            assert getattr(back, "freq", None) == getattr(index, "freq", None)
            pd.testing.assert_series_equal(crossed(series, arrays=True), series)

    def test_a_frequency_that_its_name_does_not_tell_or_that_takes_long_to_check_is_left_out(self) -> None:
        pd, offsets = self.pandas, self.pandas.offsets
        kept = ("D", "-36h", "5us", "B", "W-WED", "ME", "BMS", "SME-15", "QS-FEB", "BYE-JUN")
        left_out = (
            "CBMS", "C", "bh", "WOM-1MON", pd.DateOffset(months=1), offsets.CustomBusinessDay(holidays=["2024-01-04"]),
            offsets.BusinessHour(start="10:00"), offsets.Week(), offsets.FY5253Quarter(startingMonth=1, weekday=1),
        )  # fmt: skip
        for freq in (*kept, *left_out):
            index = pd.date_range("2024-01-03", periods=5, freq=freq)
            for dates in (index, index.tz_localize("Europe/Rome")):
                back = crossed(dates, arrays=True)
                assert back.equals(dates) and back.freq == (dates.freq if freq in kept else None)
        assert crossed(pd.date_range("1000", periods=70_000, freq="B", unit="s"), arrays=True).freq is None
        custom = written(pd.date_range("2024-01-01", periods=3, freq="MS"), arrays=True).data.replace(b"MS", b"CB")
        with pytest.raises(ProtocolError, match="bad frequency"):
            decode(custom, arrays=True)

    def test_tables_of_pandas_are_not_asked_whether_labels_differ(self, monkeypatch: pytest.MonkeyPatch) -> None:
        pd = self.pandas
        both = pd.MultiIndex.from_product([[3, 1, 2], ["b", "a"], pd.interval_range(0, 2)])
        frame = pd.DataFrame(self.columns() | {"big": pd.Categorical([1, None, 2**62], categories=[2**62, 1])})
        data = [written(part, arrays=True).data for part in (both, frame, pd.Series(range(12), index=both))]
        with monkeypatch.context() as patched:
            patched.setattr(pd.Index, "is_unique", property(lambda index: pytest.fail("a table was built")))
            back = [decode(part, arrays=True) for part in data]
        assert back[0].equals(both) and back[2].index.equals(both)
        pd.testing.assert_frame_equal(back[1], frame)

    def test_columns_of_one_kind_cross_as_one_array(self) -> None:
        pd = self.pandas
        grid = pd.DataFrame([[1.0, math.nan, 3.0], [4.0, 5.0, 6.0]], columns=["a", "b", "a"], index=[5, 3])
        for frame in (grid, grid[["b"]], grid.iloc[::-1, ::-1], grid.iloc[:, [2, 0]], grid.T, grid.iloc[:0], grid > 2):
            pd.testing.assert_frame_equal(crossed(frame, arrays=True), frame)
        back = crossed(grid.reset_index(), arrays=True)
        back.loc[0, "b"] = 9.0
        back["b"] += 1
        assert back["b"].tolist() == [10.0, 6.0], "what comes back can be changed"
        told = decode(written(grid[["a"]].set_axis(["x", "y"], axis=1), arrays=True).data)
        assert repr(told) == "{'index': [5, 3], 'x': [1.0, 4.0], 'y': [3.0, 6.0]}"

    @pytest.mark.parametrize("missing", [False, True])
    def test_a_column_is_a_list_where_no_frame_is_asked_for(self, missing: bool, monkeypatch: Any) -> None:
        """Nor where one is, and this program has no pandas."""
        frame = self.pandas.DataFrame(self.columns())
        data, zoned = written(frame, arrays=True).data, written(frame["zoned"], arrays=True).data
        if missing:
            monkeypatch.setitem(sys.modules, "pandas", None)
        back = decode(data, arrays=missing)
        assert {type(column) for column in back.values()} == {list}
        assert list(back) == list(frame) and {len(column) for column in back.values()} == {3}
        told = {name: back[name] for name in ("str", "intervals", "boolean", "numbers as categories", "seconds")}
        assert told == {
            "str": ["a", None, "ü"], "intervals": [(0.0, 1.0), (1.0, 2.0), (told["intervals"][2])],
            "boolean": [True, None, False], "numbers as categories": [3, 1, None],
            "seconds": [datetime(2024, 1, 1), None, datetime(1850, 1, 1)],
        }  # fmt: skip
        assert decode(zoned, arrays=missing)[0] == datetime(2023, 12, 31, 15, tzinfo=UTC)

    def test_labels_that_say_more_than_the_position_are_kept(self) -> None:
        pd = self.pandas
        frame = pd.DataFrame({"a": ["x", "y", "x"], "b": [1, 1, 2], "v": [1.5, 2.0, 3.0]})

        def plain(value: Any, **options: Any) -> Any:
            return decode(written(value, arrays=True).data, **options)

        assert plain(frame.groupby("a")["v"].sum()) == {"x": 4.5, "y": 2.0}
        assert plain(frame.groupby(["a", "b"])["v"].sum()) == {("x", 1): 1.5, ("x", 2): 3.0, ("y", 1): 2.0}
        assert plain(frame["v"]) == [1.5, 2.0, 3.0]
        chosen = frame[frame["v"] > 1.5]
        assert (plain(chosen["v"]), plain(chosen["v"], labels=False)) == ({1: 2.0, 2: 3.0}, [2.0, 3.0])
        assert plain(chosen) == {"index": [1, 2], "a": ["y", "x"], "b": [1, 2], "v": [2.0, 3.0]}
        assert plain(frame.set_index("a")["b"]) == [("x", 1), ("y", 1), ("x", 2)]
        assert plain(frame.groupby(["a", "b"]).sum()) == {"a": ["x", "x", "y"], "b": [1, 2, 1], "v": [1.5, 3.0, 2.0]}
        unnamed = pd.DataFrame({"v": [1, 2]}, index=pd.MultiIndex.from_tuples([("p", 1), ("q", 2)]))
        assert plain(unnamed) == {"level_0": ["p", "q"], "level_1": [1, 2], "v": [1, 2]}
        months = pd.Series([1, 2], index=pd.period_range("2024-01", periods=2, freq="M"))
        assert plain(months) == {"2024-01": 1, "2024-02": 2}
        both = self.pandas.MultiIndex.from_tuples([("a", 1), ("b", 2)])
        assert decode(written(both, arrays=True).data) == [("a", 1), ("b", 2)]

    def test_its_scalars_say_the_same_where_it_is_not_loaded(self, monkeypatch: pytest.MonkeyPatch) -> None:
        pd = self.pandas
        values = [pd.NaT, pd.Period("2024-03", "M"), pd.Interval(0, 1), pd.Timedelta(7), pd.Timestamp(1)]
        data = written(values).data
        monkeypatch.delitem(sys.modules, "pandas")
        told = (Opaque("pandas.Timedelta", "7 ns"), Opaque("pandas.Timestamp", "1 ns since 1970"))
        assert decode(data) == [None, "2024-03", (0, 1), *told]

    def test_frames_are_opaque_unless_asked_for(self) -> None:
        frame = self.pandas.DataFrame({"a": [1]})
        for value in (frame, frame["a"], frame.columns, frame["a"].astype("Int64").array):
            assert type(crossed(value)) is Opaque
            assert [type(part) for part in crossed([value], arrays=True, max_depth=1)] == [Opaque]

    @pytest.mark.parametrize(
        "column",
        [
            1,
            ("unknown", None, []),
            ("array", None, [1]),
            ("range", None, [1]),
            ("range", None, range(1 << 50)),
            ("interval", "left", [("range", None, range(1 << 30)), ("range", None, range(1 << 30))]),
            ("category", False, [[0], ("range", None, range(1 << 30))]),
            ("category", False, [[0], ("objects", None, ["a", "a"])]),
            ("category", False, [[0], ("objects", None, ["a", None])]),
            ("category", False, [[2], ("objects", None, ["a", "b"])]),
            ("category", False, [[0], ("objects", None, [(number * MODULUS,) for number in range(1000)])]),
            ("levels", None, [[("objects", None, ["a", "a"])], [[0]]]),
            ("levels", None, [[("objects", None, ["a", "b"])], [[2]]]),
            ("levels", None, [[("objects", None, ["a"]), ("objects", None, ["a"])], [[0], [0, 0]]]),
            ("levels", None, [[], []]),
            ("text", ("str", "python"), 1),
            ("text", ("other", "python"), ["a"]),
            ("objects", None, 1),
            ("arrow", 1, []),
            ("zoned", ("s", "UTC"), []),
            ("zoned", ("s", "UTC", None), [1]),
            ("category", 1, [[0], ("objects", None, ["a"])]),
            ("category", True, [1]),
            ("nullable", "Int8", [[1], [True, False]]),
            ("period", "M", [1]),
            ("interval", "middle", [("objects", None, [1]), ("objects", None, [2])]),
        ],
        ids=str,
    )
    def test_a_forged_column_is_a_protocol_error(self, column: Any) -> None:
        with pytest.raises(ProtocolError):
            decode(b"X" + written([None]).data + written(column).data, arrays=True)

    def test_forged_frames_are_a_protocol_error(self) -> None:
        np = pytest.importorskip("numpy")
        index, column = (written(part).data for part in ([None], ("range", None, range(3))))
        forged = {
            "an index without names": b"X" + written(1).data + column,
            "an index of more names than levels": b"X" + written([None, None]).data + column,
            "more columns than bytes": b"P" + (index + column) * 2 + numbers(1 << 30),
            "fewer columns than names": b"P" + (index + column) * 2 + numbers(1) + column,
            "a block of another shape": followed(b"P" + (index + column) * 2 + numbers(3), np.zeros((3, 2))),
            "a series of another length": b"S" + index + column + b"N" + written(("objects", None, [1])).data,
            "a range as a column": b"S" + index + column + b"N" + written(("range", None, range(3))).data,
            "a frequency that is none": followed(b"X" + index + b"tG" + numbers(3), np.zeros(1, "M8[ns]")),
        }
        scalars = (1, ("interval", 1), ("period", (1, "M", 1)), ("period", (1, "../M", "x")), ("timestamp", 1))
        for name, data in (*forged.items(), *((repr(pair), b"q" + written(pair).data) for pair in scalars)):
            with pytest.raises(ProtocolError):
                pytest.fail(f"{name}: {decode(data, arrays=True)!r}")


class TestSympy:
    sympy = pytest.importorskip("sympy")

    def test_numbers_that_are_plain_cross_and_others_stay(self) -> None:
        sp, mp = self.sympy, pytest.importorskip("mpmath")
        values = [sp.Integer(3), sp.Rational(1, 3), sp.Float(0.5), sp.true, sp.false]
        values += [mp.mpf(-2.5), mp.mpf(0), mp.mpf("-inf")]
        plain = [3, Fraction(1, 3), 0.5, True, False, -2.5, 0.0, -math.inf]
        back = [crossed(value) for value in values]
        assert (back, [*map(type, back)]) == (plain, [*map(type, plain)])
        assert math.isnan(crossed(mp.mpf("nan")))
        forged = sp.Rational(2, 7)
        forged.p = Metres(2.0)
        assert type(crossed(mp.ldexp(1, 5000))) is Opaque
        for value in (sp.pi, sp.Float(1, 30) / 3, forged):
            assert isinstance(crossed(value), Opaque)

    def test_a_formula_crosses_as_its_text_and_the_first_ones_of_a_value_as_latex_too(self) -> None:
        sp = self.sympy
        x = sp.Symbol("x")
        for value in (sp.sqrt(2) / 2, sp.oo, sp.Matrix([[x, 1]]), sp.Eq(x, 2), sp.FiniteSet(1, x), sp.Float(1, 30) / 3):
            back = crossed(value)
            assert type(back) is Formula
            assert (str(back), repr(back), back.latex) == (str(value), str(value), sp.latex(value))
        assert str(crossed([-sp.sqrt(2), sp.sqrt(2)])) == "[-sqrt(2), sqrt(2)]"
        assert crossed({sp.pi: 1}) == {crossed(sp.pi): 1}
        assert crossed(crossed(sp.pi)) == crossed(sp.pi)
        assert type(crossed(sum(x**n for n in range(2000)))) is Opaque
        assert encode([sp.pi] * 200, max_bytes=1 << 20, max_depth=2, max_nodes=1000).truncated
        back = crossed([self.sympy.Symbol(f"x{n}") for n in range(500)])
        assert back[499].repr == "x499" and back[0].latex == "x_{0}" and not back[499].latex

    def test_a_formula_in_json_has_both_forms(self) -> None:
        told = jsonable(crossed(self.sympy.sqrt(2)))
        assert told == {"type": "sympy.core.power.Pow", "repr": "sqrt(2)", "latex": "\\sqrt{2}"}
