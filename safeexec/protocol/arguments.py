"""The arguments of one call, between two processes: of a host tool by guest code, of an export of a plugin by the host.

Plain calls, scalars only, are one msgpack array that msgspec writes and reads at once (0.6 us each way, 7 us as
values); all others are the value ``(args, kwargs)`` of `protocol.values`. The first byte says which.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Annotated, Any

import msgspec

from safeexec.common.text import can_be_name, type_name
from safeexec.errors import ProtocolError
from safeexec.protocol.conversation import TooMuch
from safeexec.protocol.values import MAX_DEPTH, MAX_NODES, ByFields, Encoded, Opaque, decode, encode
from safeexec.protocol.values.format import Scalar
from safeexec.protocol.values.objects import plain_of
from safeexec.protocol.values.writer import CYCLE, SCALARS, TOO_DEEP, TOO_LARGE, packed_bytes

CALL_NODES = 500_000
"""Items in the arguments of one call of a host tool, by their price in `values`: they are held against type hints,
which is one call of C.
"""
_few = msgspec.Meta(max_length=1000)
_unpack = msgspec.msgpack.Decoder(tuple[Annotated[tuple[Scalar, ...], _few], Annotated[dict[str, Scalar], _few]]).decode


def encode_arguments(
    args: tuple[Any, ...], kwargs: dict[str, Any], *, max_bytes: int, max_depth: int, max_nodes: int = MAX_NODES
) -> Encoded:
    """Return the arguments as bytes; `truncated` when one of them does not fit or nests too deeply."""
    few = len(args) <= _few.max_length and len(kwargs) <= _few.max_length  # type: ignore[operator]
    if few and SCALARS.issuperset(map(type, args)) and (not kwargs or SCALARS.issuperset(map(type, kwargs.values()))):
        data = packed_bytes((args, kwargs))
        if data is not None and len(data) <= max_bytes:
            return Encoded(data)
    return encode((args, kwargs), max_bytes=max_bytes, max_depth=max_depth + 2, max_nodes=max_nodes, arrays=True)


def decode_call(
    data: bytes,
    *,
    max_bytes: int,
    max_depth: int,
    arrays: bool,
    max_nodes: int = MAX_NODES,
    labels: bool | None = False,
) -> tuple[tuple[Any, ...], dict[str, Any], Opaque | None]:
    """Return the arguments in `data`, which a hostile process may have written, and the first `Opaque` in them, however
    deep it stands. `arrays` and `labels` are those of `decode`. Raises `ProtocolError`.
    """
    if len(data) > max_bytes + 1024:
        raise TooMuch(f"arguments of {len(data)} bytes; {max_bytes} are allowed")
    if data[:1] == b"\x92":
        try:
            return *_unpack(data), None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise ProtocolError(f"arguments that cannot be read: {error}") from None
    opaque: list[Opaque] = []
    # A Series is a list: the parameter is `list[float]`, whatever rows a program has chosen before.
    depth = max_depth + 4
    value = decode(data, max_depth=depth, max_nodes=max_nodes, arrays=arrays, labels=labels, opaque=opaque)
    if not (type(value) is tuple and len(value) == 2 and type(value[0]) is tuple and type(value[1]) is dict):
        raise ProtocolError("the arguments of a call are not arguments")
    if not all(type(name) is str for name in value[1]):
        raise ProtocolError("a call with a keyword that is not a name")
    return *value, opaque[0] if opaque else None


def exceeded(refused: Encoded, *, value_kb: int, value_depth: int) -> str:
    """Return which limit a value that was just refused does not keep, in words; "" where it is something else."""
    words = {
        TOO_LARGE: f"it is larger than limits.value_kb ({value_kb} KiB)",
        TOO_DEEP: f"it is nested deeper than limits.value_depth ({value_depth})",
        CYCLE: "it holds itself",
    }
    return words.get(refused.reason, "") if refused.truncated else ""


def foreign(args: tuple[Any, ...], kwargs: dict[str, Any], *, max_depth: int) -> str:
    """Return which object of the host, in arguments that were refused, is no value: its place, type, and what to do."""
    for place, value in (*((f"argument {n}", one) for n, one in enumerate(args, 1)), *kwargs.items()):
        if problem := foreign_in(value.value if type(value) is ByFields else value, place, max_depth, to_plugin=True):
            return problem
    return "it is, or holds, an object that is no value"


def foreign_in(value: Any, place: str, max_depth: int, *, to_plugin: bool = False) -> str:
    """Return which object in one value is no value, as `foreign`; "" where there is none."""
    if (found := _foreign(value, place, max_depth)) is None:
        return ""
    where, held = found
    problem = f"of type {type_name(type(held))}; {_remedy(held, to_plugin)}"
    return f"{where} is, or holds, an object that is no value, {problem}"


def _foreign(value: Any, place: str, depth: int) -> tuple[str, Any] | None:
    parts: Iterable[tuple[str, Any]] = ()
    found: tuple[str, Any] | None = None
    if depth > 0 and isinstance(value, dict):
        parts = (
            part for key, one in value.items() for part in ((f"a key of {place}", key), (f"{place}[{key!r}]", one))
        )
    elif depth > 0 and isinstance(value, list | tuple):
        parts = ((f"{place}[{index}]", one) for index, one in enumerate(value))
    elif depth > 0 and isinstance(value, set | frozenset):
        parts = ((f"an item of {place}", one) for one in value)
    elif encode(value, max_bytes=_ENOUGH, max_depth=MAX_DEPTH, arrays=True).opaque:
        parts, found = _cells(value, place), (place, value)
    return next((inner for name, one in parts if (inner := _foreign(one, name, depth - 1)) is not None), found)


def _cells(value: Any, place: str) -> Iterator[tuple[str, Any]]:
    """Yield the objects in the columns of a DataFrame, or in a Series, each with its place."""
    pandas = sys.modules.get("pandas")
    columns = []
    if pandas is not None and isinstance(value, pandas.DataFrame):
        columns = [(f"{place}[{label!r}]", value.iloc[:, number]) for number, label in enumerate(value.columns)]
    elif pandas is not None and isinstance(value, pandas.Series):
        columns = [(place, value)]
    for where, column in columns:
        if column.dtype == object:
            yield from ((f"{where}[{label!r}]", one) for label, one in zip(column.index, column, strict=True))


_ENOUGH = 1 << 62


def _remedy(value: Any, to_plugin: bool) -> str:
    if isinstance(value, Opaque):
        return "it stands for an object that never left its sandbox: use it there" + (
            ', or load the plugin with state="keep", which gives a handle for it' if to_plugin else ""
        )
    plain = plain_of(type(value))
    if plain is not None:
        data = "pass its data (`dataclasses.asdict`, `model_dump()`, the `value` of a member, a path as str)"
        return data + (
            ", or name its class in the interface that the plugin must have (`exports`)" if to_plugin else ""
        )
    if hasattr(type(value), "call") and type(value).__module__.startswith("safeexec."):
        return "give the handle as an argument of a call of its plugin, by itself, not inside another value"
    if callable(value):
        return "give a function as one of the tools (`tools`)"
    return "pass its data as numbers, text, lists or dicts"


def encode_payload(name: str, value: Any, *, value_kb: int, value_depth: int) -> bytes:
    """Return a value of the host that becomes the variable `name`. Raises ValueError for an invalid name, and TypeError
    for a value that cannot cross.
    """
    if not can_be_name(name):
        raise ValueError(f"{name!r} is not a variable name")
    payload = encode(value, max_bytes=value_kb << 10, max_depth=value_depth, arrays=True)
    if payload.opaque:
        reason = exceeded(payload, value_kb=value_kb, value_depth=value_depth)
        reason = reason or foreign_in(value, "it", value_depth)
        raise TypeError(f"the {type(value).__name__} for {name!r} cannot cross into the sandbox: {reason}")
    return payload.data
