"""The JSON of calls and answers: read within bounds, written for strict readers; values of guests in it, both ways."""

from __future__ import annotations

import re
from codecs import utf_8_decode
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

import msgspec
from msgspec.structs import replace

from safeexec import Policy, Result, SandboxError
from safeexec.common.identity import LARGE, weight
from safeexec.remote.methods import INTERNAL, MAX_MESSAGE, OURS, PARAMETERS, Bytes, Values
from safeexec.results.jsonable import jsonable, pieces_of
from safeexec.results.marked import exact as exactly
from safeexec.results.marked import unmarked
from safeexec.servers.account import apart, made
from safeexec.untrusted.json_shapes import check_parts, shaped
from safeexec.untrusted.json_text import loads

T = TypeVar("T")
Answer = dict[str, Any]
MAX_VALUE = MAX_MESSAGE // 2
"""Bytes of one value in an answer, before base64."""
MAX_ITEMS = 100_000
"""Lists, dicts, items and keys in the JSON of one call, beside values of guests."""
MAX_SPELLED = 8
"""Bytes of JSON for one byte of a value as it crosses: `false, ` is one."""
MAX_PARTS = 400_000
"""Parts of a message with values of guests. Larger ones come as `safeexec.results.marked` writes them, which `remote`
asks for.
"""


class CallProblem(NamedTuple):
    """The reason why a call failed: a code of JSON-RPC, the name of the exception's class, and what it says."""

    code: int
    type: str
    message: str


class BadCall(Exception):
    """The call itself is wrong; `code` is one of JSON-RPC's."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def problem_of(error: BaseException) -> CallProblem:
    """Return the message for a client. Of an error that is not ours, nothing but that there was one."""
    name, text = type(error).__name__, str(error)
    if isinstance(error, BadCall):
        return CallProblem(error.code, "InvalidRequest", text)
    if isinstance(error, SandboxError):
        return CallProblem(OURS, name, text)
    if isinstance(error, KeyError):
        return CallProblem(PARAMETERS, name, str(error.args[0]) if error.args else "")
    if isinstance(error, ValueError | TypeError):
        return CallProblem(PARAMETERS, name, text)
    return CallProblem(INTERNAL, "InternalError", "internal error")


async def parse(name: str, data: bytes | bytearray | msgspec.Raw, shape: type[T]) -> T:
    """Return JSON as `shape`. Raises `BadCall`, which says what `name` takes."""
    return await apart(memoryview(data).nbytes, _parse, name, data, shape)


def _parse(name: str, data: bytes | bytearray | msgspec.Raw, shape: type[T]) -> T:
    try:
        holds_values = {msgspec.Raw, Values} & {*shape.__annotations__.values()}
        check_parts(
            data if isinstance(data, bytes | bytearray) else bytes(data), MAX_PARTS if holds_values else MAX_ITEMS
        )
        return shaped(data, shape)
    except ValueError as error:
        takes = ", ".join(getattr(shape, "__struct_fields__", ()))
        raise BadCall(PARAMETERS, f"{name}: {error}; it takes {takes}") from None


def strictly(text: str) -> bytes:
    """Return JSON of `json.dumps` as every reader takes it: half of a character, which a guest can print, is a question
    mark.

    It is escaped like all that is not ASCII. Strict readers refuse the whole answer for it.
    """
    if "\\ud" not in text:  # nor whole characters beyond U+FFFF, which are two halves
        return text.encode("ascii")
    # A backslash that is escaped is no NUL, which JSON escapes too: what is left begins an escape.
    return _HALF.sub("?", text.replace(r"\\", "\0")).replace("\0", r"\\").encode("ascii")


_HALF = re.compile(r"\\ud(?:[89ab]..(?!\\ud[c-f])|[c-f]..(?<!\\ud[89ab]..\\ud[c-f]..))")
"""The escape of half a character. A call of C goes through so many of a `TEXT_PART` in 12 ms."""


def encode(message: Any) -> bytes:
    """Return JSON on one line, in ASCII. Raises SandboxError for more than `MAX_MESSAGE` bytes."""
    data = bytearray()
    for piece in pieces_of(message):
        data += strictly(piece)
        if len(data) > MAX_MESSAGE:
            raise SandboxError(f"the answer is larger than {MAX_MESSAGE} bytes, which are the most that is sent")
    return bytes(data)


async def encode_apart(message: Any) -> bytes:
    """Return `encode(message)`, made when and where `account.made` says."""
    return await made(weight(message), encode, message)


def plain(value: Any) -> Any:
    """Return what a sandbox or session has returned, structs and all, as JSON takes it."""
    if isinstance(value, Policy):
        return value.content()
    if isinstance(value, msgspec.Struct):
        return {name: plain(item) for name, item in msgspec.structs.asdict(value).items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return jsonable(value)


def _answer_of(result: Result, exact: bool) -> Answer:
    """Return a result as JSON; with `exact` its value keeps its types (`safeexec.results.marked`)."""
    answer = replace(result, value=None).to_dict() if exact else result.to_dict()
    if exact:
        answer["value"] = exactly(result.value, MAX_VALUE)
    return answer


async def answer_of(result: Result, exact: bool) -> Answer:
    """Return a result as a client gets it (`_answer_of`), made in a thread where that may hold the event loop."""
    shown = sum(len(data) for display in result.displays for data in display.values())
    return await apart(shown + weight(result.value), _answer_of, result, exact)


async def decode(given: Mapping[str, Any], policy: Policy) -> dict[str, Any]:
    """Return parameters as a session takes them: bytes, texts and values in the place of their forms in JSON. Raises as
    `_values`.
    """
    taken: dict[str, Any] = {}
    for name, value in given.items():
        if name == "source" and isinstance(value, Bytes):
            # The session refuses a source that is too long, whatever its end: a MB of half characters takes 0.1 s.
            begin = value.base64[: (policy.limits.step_source_kb << 10) + 8]
            taken[name], _ = utf_8_decode(begin, "surrogatepass", len(begin) == len(value.base64))
        elif isinstance(value, Bytes):
            taken[name] = value.base64
        elif name == "files":
            # Bytes alone: a text would be the path of a file of this machine, to whom files of the host may be named.
            taken[name] = {path: one.base64 if isinstance(one, Bytes) else one.encode() for path, one in value.items()}
        elif name in ("namespace", "arguments"):
            taken[name] = await _values(value, policy)
        elif not isinstance(value, msgspec.Raw):
            taken[name] = value
        elif memoryview(value).nbytes:  # none where it was left out
            key = given.get("name", name)
            taken[name] = (await _values({key: value}, policy))[key]
    return taken


async def _values(sent: Mapping[str, msgspec.Raw], policy: Policy) -> dict[str, Any]:
    """Return names with the values that a client sent for them. Raises ValueError, and TypeError for one that the
    policy does not let in.
    """
    return await apart(LARGE if sent else 0, _read, sent, policy)  # to read the first frame imports pandas: 0.4 s


def _read(sent: Mapping[str, msgspec.Raw], policy: Policy) -> dict[str, Any]:
    """Read values. None is built before it is weighed, nor of more parts than the whole call may have."""
    most = policy.limits.value_kb << 10
    texts = {name: bytes(value) for name, value in sent.items()}
    for name, text in texts.items():
        parts = sum(map(text.count, (b",", b"[", b"{")))  # each is at least one byte of the value that crosses
        if len(text) > MAX_SPELLED * most or parts > most:
            raise TypeError(
                f"the value for {name!r} cannot cross into the sandbox: it is larger than limits.value_kb "
                f"({policy.limits.value_kb} KiB)"
            )
    read = []
    for name, text in texts.items():
        try:
            read.append(loads(text.decode()))
        except ValueError as error:
            raise ValueError(f"the value for {name!r} cannot be read: {error}") from None
    return dict(zip(texts, unmarked(read), strict=True))
