"""JSON-RPC 2.0, one message a line, without I/O: calls out of lines, answers as lines."""

from __future__ import annotations

import sys
from typing import Annotated, Any, Literal

import msgspec

from safeexec import SandboxError
from safeexec.common.text import one_line
from safeexec.remote.methods import INTERNAL, MAX_MESSAGE, PARSE, REQUEST
from safeexec.servers import acts
from safeexec.servers.account import apart
from safeexec.servers.service import Notify, Service
from safeexec.servers.wire import MAX_PARTS, BadCall, encode, encode_apart, problem_of
from safeexec.untrusted.json_shapes import check_parts, shaped

MAX_BATCH = 1000
Identity = Annotated[str, msgspec.Meta(max_length=1000)] | int | float
"""It stands in every answer, also in one that says that the answer is too large."""
NO_PARAMS, NULL = msgspec.Raw(b"{}"), msgspec.Raw(b"null")


class RpcCall(msgspec.Struct):
    """A call as it arrives. Without an `id` nobody waits for its answer."""

    jsonrpc: Literal["2.0"]
    method: str
    params: msgspec.Raw = NO_PARAMS
    id: Identity | msgspec.UnsetType | None = msgspec.UNSET


async def reply(service: Service, line: bytes | None, notify: Notify) -> bytes:
    """Return the line that answers one; nothing for notifications. The calls of a batch run one after the other."""
    try:
        message = await apart(len(line or b""), _message, line)
        if isinstance(message, msgspec.Raw):
            answer = await _answer(service, message, notify)
            return answer and answer + b"\n"
    except BadCall as error:
        return _failure(None, error) + b"\n"
    answers: list[bytes] = []
    room = MAX_MESSAGE
    for call in message:
        if answer := await _answer(service, call, notify, room):
            answers.append(answer)
            room -= len(answer)
    return b"[" + b",".join(answers) + b"]\n" if answers else b""


def _message(line: bytes | None) -> msgspec.Raw | list[msgspec.Raw]:
    """Return one call or a batch of them, still as JSON."""
    if line is None:
        raise BadCall(REQUEST, f"a message has at most {MAX_MESSAGE} bytes")
    try:
        check_parts(line, MAX_PARTS)
        message = shaped(line, msgspec.Raw)
        if bytes(memoryview(message)[:1]) != b"[":
            return message
        batch = shaped(message, list[msgspec.Raw])
    except ValueError as error:
        raise BadCall(PARSE, f"this is no JSON: {error}") from None
    if not 0 < len(batch) <= MAX_BATCH:
        raise BadCall(REQUEST, f"a batch has one to {MAX_BATCH} calls")
    return batch


async def _answer(service: Service, message: msgspec.Raw, notify: Notify, room: int = MAX_MESSAGE) -> bytes:
    """Return the answer to one call; nothing for a notification."""
    try:
        call = await apart(memoryview(message).nbytes, shaped, message, RpcCall)
    except ValueError as error:
        return _failure(None, BadCall(REQUEST, f"this is no call: {error}"))
    identity = None if call.id is msgspec.UNSET else call.id
    try:
        params = NO_PARAMS if call.params == NULL else call.params
        result = await acts.call(service, call.method, params, notify)
        answer = await encode_apart({"jsonrpc": "2.0", "id": identity, "result": result})
        if len(answer) > room:
            raise SandboxError("the answers of this batch are too large together; ask for this one by itself")
    except Exception as error:
        answer = _failure(identity, error)
    return b"" if call.id is msgspec.UNSET else answer


def _failure(identity: Any, error: Exception) -> bytes:
    code, kind, message = problem = problem_of(error)
    if problem.code == INTERNAL:
        print(f"safeexec serve: {type(error).__name__}: {one_line(str(error))}", file=sys.stderr)
    fault = {"code": code, "message": message, "data": {"type": kind}}
    return encode({"jsonrpc": "2.0", "id": identity, "error": fault})
