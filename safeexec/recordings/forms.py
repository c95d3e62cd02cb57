"""From what a session holds to the records of `format`, and back: values, files, results. Pure.

Everything is cut to what a line may hold, and what was redacted never gets here in full.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from msgspec import Struct, to_builtins
from msgspec import json as fast
from msgspec.structs import replace

from safeexec.common.text import head_and_tail, short_repr
from safeexec.errors import ProtocolError
from safeexec.protocol.arguments import decode_call
from safeexec.protocol.values import MAX_DEPTH, decode, encode
from safeexec.recordings import format as form
from safeexec.results.jsonable import display_to_dict
from safeexec.results.outcomes import is_text

if TYPE_CHECKING:
    from safeexec.protocol.messages import ToolReply, ToolRequest, ToolSignature
    from safeexec.results.outcomes import Display, StepData

R = TypeVar("R", bound=form.Record)

VALUE_BYTES = 4 << 20
"""The most bytes of one value that is written down; of a larger one its hash is."""
CONTENT_BYTES = 8 << 20
"""The most bytes of one file that is written down; of a larger one its hash is."""
CONTENTS_BYTES = 12 << 20
"""The most bytes of all files that a workspace begins with: with a state, base64 and quotes they fit into one line."""
TEXT_CHARACTERS = 1 << 20
"""The most characters of one output, and of the text of one display."""
DISTRIBUTIONS = {"sklearn": "scikit-learn", "PIL": "pillow", "yaml": "PyYAML", "bs4": "beautifulsoup4"}
"""Libraries that are installed under another name."""
USUAL = ("numpy", "pandas", "scipy", "sklearn", "matplotlib")
"""Libraries to look for where a policy does not name its imports."""
SHORT = 500
SECRET = 4
"""Characters from which on a redacted text is looked for elsewhere: shorter ones stand in every line by chance."""
SECRETS = 1000
REDACTED = "[redacted]"


class Redaction:
    """Keeps values out of a recording: of variables and tools by name, and their texts wherever they turn up."""

    def __init__(self, names: frozenset[str]) -> None:
        self.names = names
        self._secrets: dict[str, bytes] = {}
        self._calls: set[int] = set()
        """The calls of redacted tools that wait for their answers."""

    def of(self, record: R) -> R:
        """Return the record as it may be written. Records come in their order: what is redacted here is looked for in
        the ones that follow.
        """
        if not self.names:
            return record
        record = self._by_names(record)
        return self._by_text(record) if self._secrets else record

    def _by_names(self, record: R) -> R:
        if isinstance(record, form.Answered) and record.call in self._calls:
            self._calls.discard(record.call)
            return replace(record, value=self._by_name(record.value) if record.value is not None else None)
        if isinstance(record, form.Called) and record.tool in self.names:
            self._calls.add(record.call)
            return replace(record, arguments=self._by_name(record.arguments, arguments_of))
        if isinstance(record, form.Waiting):
            calls = [
                replace(one, call=self._by_names(one.call), answer=one.answer and self._by_names(one.answer))
                for one in record.calls
            ]
            waits = replace(record, run=self._by_names(record.run), calls=calls, call=self._by_names(record.call))
            self._calls.discard(record.call.call)
            return waits
        if isinstance(record, form.Set) and record.name in self.names:
            return replace(record, value=self._by_name(record.value))
        if isinstance(record, form.Run):
            given = {name: self._by_name(it) if name in self.names else it for name, it in record.namespace.items()}
            return replace(record, namespace=given)
        return record

    def _by_name(self, value: form.Value, read: Callable[[form.Value], Any] | None = None) -> form.Value:
        with suppress(ValueError):  # it was too large to be written
            self.learn((read or value_of)(value))
        return form.Value(text=REDACTED, left_out="redacted")

    def _by_text(self, held: Any) -> Any:
        """Take out the texts and the data in which a secret stands. Numbers, names of fields, and what has its words
        from the format remain: a secret stands in them by chance, and without them nobody could read the line.
        """
        if isinstance(held, str):
            for secret in self._secrets:
                held = held.replace(secret, REDACTED)
            return held
        if isinstance(held, list | tuple):
            return type(held)(map(self._by_text, held))
        if isinstance(held, Mapping):
            return {self._by_text(name): self._by_text(item) for name, item in held.items()}
        if isinstance(held, form.Content) and any(secret in (held.data or b"") for secret in self._secrets.values()):
            held = replace(held, data=None, left_out="redacted")
        if isinstance(held, form.DisplayText):
            shown = {mime: self._by_text(item) if is_text(mime) else item for mime, item in held.data.items()}
            return replace(held, data=shown)
        if isinstance(held, Struct):
            return replace(held, **{name: self._by_text(getattr(held, name)) for name in _open_fields(type(held))})
        return held

    def learn(self, value: Any, depth: int = 4) -> None:
        """Keep the texts in a redacted value out of all that is written from now on."""
        if isinstance(value, bytes | bytearray):
            value = value.decode("utf-8", "replace")
        if isinstance(value, str):
            if SECRET <= len(value) <= TEXT_CHARACTERS and len(self._secrets) < SECRETS:
                self._secrets[value] = value.encode("utf-8", "surrogatepass")
        elif depth and isinstance(value, list | tuple | set | frozenset):
            for item in value:
                self.learn(item, depth - 1)
        elif depth and isinstance(value, dict):
            for item in value.values():
                self.learn(item, depth - 1)


@cache
def _open_fields(kind: type[Struct]) -> tuple[str, ...]:
    """Return the fields that may hold any text: none whose words are a closed set, nor what was made from bytes."""
    hints = get_type_hints(kind)
    made = ("data", "sha256") if issubclass(kind, form.Content) else ()
    return tuple(
        name
        for name in kind.__struct_fields__
        if name not in made and not any(get_origin(it) is Literal for it in (hints[name], *get_args(hints[name])))
    )


def packed(data: bytes, text: str = "") -> form.Value:
    """Return a value that is encoded already."""
    if len(data) > VALUE_BYTES:
        return form.Value(text=text, left_out="large", size=len(data), sha256=sha256(data).hexdigest())
    return form.Value(data, size=len(data), text=text)


def encoded(value: Any) -> bytes:
    """Return a value as bytes; now, for its owner may change it later."""
    return encode(value, max_bytes=2 * VALUE_BYTES, max_depth=MAX_DEPTH, arrays=True).data


def content(data: bytes, most: int = CONTENT_BYTES) -> form.Content:
    """Return the bytes of a file; of more than `most` the hash."""
    if len(data) > min(most, CONTENT_BYTES):
        return form.Content(left_out="large", size=len(data), sha256=sha256(data).hexdigest())
    return form.Content(data, size=len(data))


def value_of(held: form.Value) -> Any:
    """Return the value in a record. Raises ValueError when there is none, or none that can be read."""
    return _read(held, _decoded)


def _decoded(data: bytes) -> Any:
    return decode(data, max_depth=MAX_DEPTH, arrays="numpy" in sys.modules)


def arguments_of(held: form.Value) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments of a recorded call. Raises ValueError."""
    return _read(held, _arguments)  # type: ignore[no-any-return]


def _arguments(data: bytes) -> tuple[tuple[Any, ...], dict[str, Any]]:
    args, kwargs, _ = decode_call(data, max_bytes=len(data), max_depth=MAX_DEPTH, arrays="numpy" in sys.modules)
    return args, kwargs


def bytes_of(held: form.Content) -> bytes:
    """Return the bytes in a record. Raises ValueError."""
    if held.data is None:
        raise ValueError(f"it was left out of the recording: it is {held.left_out or 'missing'}")
    return held.data


def contents(files: dict[str, bytes]) -> dict[str, form.Content]:
    """Return the files of a workspace; those that one line has no room for are left out."""
    held, room = {}, CONTENTS_BYTES
    for name, data in files.items():
        held[name] = one = content(data, room)
        room -= one.size if one.data is not None else 0
    return held


def _read(held: form.Value, read: Callable[[bytes], Any]) -> Any:
    try:
        return read(bytes_of(held))
    except ProtocolError as error:
        raise ValueError(f"it cannot be read: {error}") from None


def short_text(data: bytes) -> str:
    """Return a short repr of an encoded value."""
    try:
        return short_repr(_decoded(data), SHORT)
    except ProtocolError:
        return ""


def shapes_of(tools: Iterable[ToolSignature]) -> list[form.ToolShape]:
    """Return the tools that guest code sees, as they are written down and sent elsewhere."""
    return [form.ToolShape(one.name, one.parameters, one.returns, one.doc) for one in tools]


def call_text(data: bytes) -> str:
    """Return the arguments of a call as they would be written: ``'Rome', days=2``."""
    try:
        args, kwargs = _arguments(data)
    except ProtocolError:
        return ""
    shown = [short_repr(item, SHORT) for item in args]
    return ", ".join([*shown, *(f"{name}={short_repr(item, SHORT)}" for name, item in kwargs.items())])[: 4 * SHORT]


def called(request: ToolRequest, /, **where: Any) -> form.Called:
    """Return a call of a tool as a record."""
    data = request.arguments
    return form.Called(tool=request.tool[:200], arguments=packed(data, call_text(data)), **where)


def answered(reply: ToolReply, outcome: Any, /, **where: Any) -> form.Answered:
    """Return what came of it."""
    data = reply.value
    value = None if data is None else packed(data, short_text(data))
    said = {name: getattr(reply, name) for name in ("error_type", "error", "inside")}
    return form.Answered(outcome=outcome, value=value, **said, **where)


def ended(result: StepData, value: bytes, **where: Any) -> form.Ended:
    """Return a result as a record. `value`: its value, encoded."""
    same = {name: getattr(result, name) for name in ("outcome", "error", "changes", "usage", "state", "exit_status")}
    texts = {name: head_and_tail(getattr(result, name), TEXT_CHARACTERS)[0] for name in ("text", "stdout", "stderr")}
    lists = {name: list(getattr(result, name)) for name in ("tool_calls", "files", "refusals", "notes", "remaining")}
    return form.Ended(
        value=packed(value) if result.value is not None else None,
        displays=[_display(one) for one in result.displays],
        truncated=result.truncated,
        **(same | texts | lists | where),
    )


def _display(display: Display) -> form.DisplayText:
    texts = display_to_dict(display)["data"]
    data = {mime: text for mime, text in texts.items() if len(text) <= CONTENT_BYTES}
    truncated = display.truncated or len(data) < len(texts)
    return form.DisplayText(data, truncated, display.display_id, display.update)


def libraries(imports: Iterable[str]) -> dict[str, str]:
    """Return the versions of the libraries among these modules that are installed."""
    from importlib.metadata import PackageNotFoundError, version

    tops = {name.partition(".")[0] for name in imports} - sys.stdlib_module_names
    found = {}
    for name in sorted(tops or USUAL):
        try:
            found[name] = version(DISTRIBUTIONS.get(name, name))
        except (PackageNotFoundError, ValueError):
            continue
    return found


def line_of(record: form.Record | form.TranscriptEntry) -> bytes:
    """Return a record as its line. ASCII: lone surrogates survive."""
    try:
        # 1.3 us for a result, where what follows takes 17; but it leaves text beyond ASCII as it is.
        line = fast.encode(record)
        if line.isascii():
            return line + b"\n"
    except UnicodeEncodeError:
        pass  # a lone surrogate
    return json.dumps(to_builtins(record), ensure_ascii=True, separators=(",", ":")).encode("ascii") + b"\n"
