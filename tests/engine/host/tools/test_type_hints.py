"""What an argument is converted to by the type hints of a tool, and what a wrong one is told."""

from __future__ import annotations

import datetime
import enum
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, Optional, TypedDict, Union

import pytest
from msgspec import Meta, to_builtins

from safeexec import ToolError
from safeexec.engine.host.tools.tool import Tool
from safeexec.engine.host.tools.type_hints import convert, made, names_class
from safeexec.protocol.arguments import decode_call, encode_arguments


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Point:
    x: int
    y: int = 0
    tags: list[str] = field(default_factory=list)


class Movie(TypedDict):
    name: str
    year: NotRequired[int]


class Pair(NamedTuple):
    left: int
    right: Color


POINT = "Point, a dict with x: int, y: int = 0, tags: list[str] (optional)"


@pytest.mark.parametrize(
    ("hint", "given", "value"),
    [
        (int, 2**70, 2**70),
        (float, 1, 1.0),
        (Optional[int], None, None),  # noqa: UP045  (both spellings)
        (Union[int, str], "x", "x"),  # noqa: UP007
        (list[list[int]], [(1,), [2]], [[1], [2]]),
        (tuple[int, ...], [1, 2], (1, 2)),
        (Color, "red", Color.RED),
        (Point, {"x": 1}, Point(1)),
        (Movie, {"name": "M"}, {"name": "M"}),
        (Pair, [1, "red"], Pair(1, Color.RED)),
        (datetime.date, "2025-01-31", datetime.date(2025, 1, 31)),
        (datetime.timedelta, "PT1H", datetime.timedelta(hours=1)),
        (Annotated[int, Meta(ge=1)], 1, 1),
    ],
)
def test_conversion(hint: Any, given: Any, value: Any) -> None:
    converted = convert("f()", "x", hint, given)
    assert (converted, type(converted)) == (value, type(value))


@pytest.mark.parametrize(
    ("hint", "given", "message"),
    [
        (int, True, "expected int, got bool True"),
        (str, [10**5000], "expected str, got list [<int of about 5001 digits>]"),
        (int | None, "x", "expected int | None, got str 'x'"),
        (
            list[list[int]],
            [[1], [2, "x"]],
            "expected list[list[int]], got list [[1], [2, 'x']]: x[1][1] is str, not int",
        ),
        (dict[str, int], {1: 1}, "expected dict[str, int], got dict {1: 1}: a key of x is int, not str"),
        (Annotated[int, Meta(ge=3)], 2, "expected int, got int 2: x must be int >= 3"),
        (Literal["r", "w"], "x", "expected Literal['r', 'w'], got str 'x'"),
        (Color, "green", "expected one of 'red', 'blue', got str 'green'"),
        (Point, {"y": 1}, f"expected {POINT}, got dict {{'y': 1}}: x lacks 'x'"),
        (
            Point,
            {"x": 1, "tags": [1]},
            f"expected {POINT}, got dict {{'x': 1, 'tags': [1]}}: x['tags'][0] is int, not str",
        ),
        (Point, {"x": 1, "z": 1}, f"unknown key 'z'; expected {POINT}"),
        (Movie, 3, "expected Movie, a dict with name: str, year: int (optional), got int 3"),
        (datetime.date, "soon", "expected datetime.date, got str 'soon': x is an invalid RFC3339 encoded date"),
    ],
)
def test_a_wrong_argument_is_told_parameter_expected_and_given(hint: Any, given: Any, message: str) -> None:
    with pytest.raises(TypeError) as caught:
        convert("f()", "x", hint, given)
    told = str(caught.value)
    assert told.startswith(f"f() argument 'x': {message}")
    assert told.count("expected") == 1


@pytest.mark.parametrize("hint", [Point, Annotated[Point, {}]])
def test_the_defaults_of_a_dataclass_are_its_own(hint: Any) -> None:
    """Whoever writes or copies the object looks there."""
    (point,) = made("it", "points", list[hint], [{"x": 1}])
    assert vars(point) == {"x": 1, "y": 0, "tags": []}
    assert to_builtins(point) == {"x": 1, "y": 0, "tags": []}


@dataclass
class Node:
    rest: Optional[Node] = None  # noqa: UP045


@dataclass
class Unknown:
    x: Missing  # type: ignore[name-defined]  # noqa: F821


class Called:
    def __call__(self, node: Node) -> int:
        return 2 if node.rest else 1


def test_a_class_and_an_object_with_call_are_tools() -> None:
    assert Tool("called", Called()).bind(({"rest": {}},), {}).args == (Node(Node()),)
    assert Tool("Node", Node).bind((), {"rest": {"rest": None}}).args == (Node(),)
    described = Tool("Node", Node).described()
    assert described.doc.splitlines()[-1] in (
        "Node: a dict with rest: Optional[Node] = None",
        "Node: a dict with rest: Node | None = None",  # as Python writes it from 3.14 on
    )
    with pytest.raises(TypeError, match="unknown key 'x'"):
        Tool("called", Called()).bind(({"x": 1},), {})


@pytest.mark.parametrize("hint", [Any, object])
def test_a_parameter_that_takes_anything_is_given_what_came(hint: Any) -> None:
    def f(x: Any) -> None: ...

    f.__annotations__["x"] = hint
    given = [3 + 4j, {1, 2}]
    assert Tool("f", f).bind((given,), {}).arguments["x"] is given


@pytest.mark.parametrize(
    ("hint", "told"),
    [
        ("Missing", "type hints of the tool 'f' cannot be read: name 'Missing' is not defined"),
        (Unknown, r"f\(x\): values cannot be checked against its type hint: name 'Missing' is not defined"),
        (complex, r"f\(x\): values cannot be checked against its type hint: Type complex is not supported"),
    ],
)
def test_a_hint_that_nothing_can_be_checked_against(hint: Any, told: str) -> None:
    def f(x: Any) -> None: ...

    f.__annotations__ = {"x": hint}
    with pytest.raises(ToolError, match=told):
        Tool("f", f)
    assert not names_class(hint)


def test_an_array_is_taken_as_it_is_and_told_as_it_came() -> None:
    numpy = pytest.importorskip("numpy")
    array = numpy.zeros(3)
    assert convert("f()", "x", numpy.ndarray, array) is array
    with pytest.raises(TypeError, match=r"f\(\) argument 'x': expected ndarray, got list \[0\]"):
        convert("f()", "x", numpy.ndarray, [0])
    with pytest.raises(TypeError, match=r"expected list\[int\], got numpy\.ndarray"):
        convert("f()", "x", list[int], numpy.array([1.5]))


def test_arguments_of_any_number_are_checked_one_by_one() -> None:
    def tool(*numbers: int, **rates: float) -> None: ...

    checked = Tool("tool", tool).bind((1, 2), {"a": 1})
    assert (checked.args, checked.kwargs) == ((1, 2), {"a": 1.0})
    for args, kwargs, told in (((1, "x"), {}, "'numbers[1]': expected int"), ((), {"b": "x"}, "'b': expected float")):
        with pytest.raises(TypeError, match=r"tool\(\) argument ") as caught:
            Tool("tool", tool).bind(args, kwargs)
        assert told in str(caught.value)


def test_classes_of_the_host_are_described_to_guest_code() -> None:

    def draw(points: list[Point], *, colors: dict[str, Color] | None = None, movie: Movie, pair: Pair) -> Point:
        """Draw."""
        raise NotImplementedError

    draw.__annotations__ = {
        "points": list[Point], "colors": dict[str, Color] | None, "movie": Movie, "pair": Pair, "return": Point,
    }  # fmt: skip
    described = Tool("draw", draw).described()
    assert [annotation for _, _, annotation, _ in described.parameters] == [
        "list[Point]",
        "dict[str, Color] | None",
        "Movie",
        "Pair",
    ]
    assert described.returns == "Point"
    assert described.doc.splitlines() == [
        "Draw.",
        "",
        "Point: a dict with x: int, y: int = 0, tags: list[str] (optional)",
        "Color: one of 'red', 'blue'",
        "Movie: a dict with name: str, year: int (optional)",
        "Pair: a tuple of left: int, right: Color",
    ]


@dataclass
class Fussy:
    """A class of the host whose maker raises what no reader of values does."""

    x: int

    def __post_init__(self) -> None:
        raise {1: KeyError(10**5000), 2: ZeroDivisionError("x" * 10_000)}.get(self.x, StopIteration())


@pytest.mark.parametrize("x", [1, 2, 3])
def test_whatever_a_class_of_the_host_raises_is_a_type_error(x: int) -> None:
    with pytest.raises(TypeError, match="made returned another type: expected Fussy") as caught:
        made("made returned another type", "value", Fussy, {"x": x})
    assert len(str(caught.value)) < 2000


def test_an_unknown_key_is_told_in_short() -> None:
    @dataclass
    class Loose:
        x: int = 0

    with pytest.raises(TypeError, match="unknown key") as caught:
        made("it", "value", Loose, {"x": 1, "y" * 100_000: 2})
    assert len(str(caught.value)) < 500


LABELLED = [
    (list[int], "pd.Series([3, 1], index=['x', 'y'])", [3, 1]),
    (dict[str, int], "pd.Series([3, 1], index=['x', 'y'])", {"x": 3, "y": 1}),
    (dict[int, int], "pd.Series([3, 1])", {0: 3, 1: 1}),
    (dict[str, dict[str, float]], "{'n': pd.Series({'a': 1.5})}", {"n": {"a": 1.5}}),
    (list[dict[str, int]], "pd.DataFrame({'a': [1, 2], 'b': [3, 4]})", [{"a": 1, "b": 3}, {"a": 2, "b": 4}]),
    (dict[str, list[int]], "pd.DataFrame({'a': [1, 2]})", {"a": [1, 2]}),
]


class TestNumpyInTheHost:
    """A host that has imported numpy gets its scalars and arrays: hints of plain types take them all the same."""

    np = pytest.importorskip("numpy")
    pd = pytest.importorskip("pandas")

    @pytest.mark.parametrize(
        ("hint", "source", "value"),
        [
            (int, "np.int64(3)", 3),
            (float, "np.float32(0.5)", 0.5),
            (list[float], "np.array([1.5, 2.0])", [1.5, 2.0]),
            (list[list[int]], "np.eye(2, dtype=int)", [[1, 0], [0, 1]]),
            (dict[int, int], "{np.int64(1): np.int64(2)}", {1: 2}),
            (Point, "{'x': np.int64(1), 'tags': np.array(['a'])}", Point(1, tags=["a"])),
            *LABELLED,
        ],
    )
    def test_plain_hints_take_its_values(self, hint: Any, source: str, value: Any) -> None:
        found = convert("f()", "x", hint, eval(source, {"np": self.np, "pd": self.pd}))
        assert found == value and type(found) is type(value)
        if isinstance(found, list):
            assert [type(one) for one in found] == [type(one) for one in value]

    @pytest.mark.parametrize(("hint", "source", "value"), LABELLED)
    def test_they_are_what_a_hint_wants_where_the_host_has_neither(self, hint: Any, source: str, value: Any) -> None:
        data = encode_arguments((eval(source, {"np": self.np, "pd": self.pd}),), {}, max_bytes=10_000, max_depth=8).data
        ((given,), _, _) = decode_call(data, max_bytes=10_000, max_depth=8, arrays=False, labels=None)
        assert convert("f()", "x", hint, given) == value
        with pytest.raises(TypeError, match=r"got (Series|DataFrame|dict) "):
            convert("f()", "x", set[bytes], given)
