"""Tools of a program that is elsewhere: each call is carried to it as the guest made it, and it checks and answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from inspect import Signature
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct
from msgspec.structs import astuple

from safeexec.engine.approvals import Deny, Later
from safeexec.engine.host.tools.toolbox import Given, PutOff
from safeexec.engine.host.waiting import CallTool, Core
from safeexec.errors import ProtocolError, ToolError
from safeexec.protocol import messages as m
from safeexec.protocol.values import encode
from safeexec.recordings.format import ToolShape
from safeexec.recordings.served import python_signature, signature_of
from safeexec.results import ToolCallRecord

if TYPE_CHECKING:
    from safeexec.engine.host.tools.toolbox import Caller
    from safeexec.engine.policy.model import Policy

ANSWER_SECONDS = 3600.0
"""How long an answer may take: an approval may ask a person. Who is gone is noticed before, by whoever carries."""


class RelayedAnswer(Struct, frozen=True):
    """What became of a call: a value as it crosses, or what the guest sees raised."""

    outcome: Literal["ok", "error", "refused", "broken", "waiting"]
    """``broken``: no honest child makes such a call, and the step ends; ``waiting``: it was put off."""
    value: bytes | None = None
    error_type: str = ""
    error: str = ""
    inside: bool = False
    note: str = ""
    """Of a call that was put off, as the two below."""
    seconds: float | None = None
    asked: Literal["approval", "tool"] = "tool"


Carry = Callable[[int, m.ToolRequest, "float | None", bool], Awaitable[RelayedAnswer]]
"""Takes the number of the step, the call, the seconds that the step has left, if its clock goes on, and whether it was
allowed after it had been put off.
"""


class RelayedTool(ToolShape, frozen=True):
    """A tool of a program elsewhere."""

    @property
    def signature(self) -> Signature:
        return python_signature(self)


class RelayedTools:
    """Stands where a `Toolbox` does: as `tools=` of a sandbox. `carry` is awaited in the task that runs the step."""

    has_effects = False
    approval = None

    def __init__(self, shapes: Sequence[ToolShape], policy: Policy, carry: Carry) -> None:
        """Raises `ToolError` for a tool that the policy does not allow, or that nobody could call."""
        self.tools = {shape.name: RelayedTool(*astuple(shape)) for shape in shapes}
        for shape in shapes:
            if shape.name not in policy.tools.allow:
                where = policy.origin("tools.allow")
                raise ToolError(f"the policy {policy.name!r} does not allow the tool {shape.name[:100]!r} ({where})")
        try:
            self._signatures = tuple(map(signature_of, self.tools.values()))
        except ValueError as error:
            raise ToolError(str(error)) from None
        self._rules = policy.tools
        self._most = policy.limits.value_kb << 10
        self._carry = carry

    def __iter__(self) -> Iterator[ToolShape]:
        return iter(self.tools.values())

    def signatures(self) -> tuple[m.ToolSignature, ...]:
        """Name and parameters of each tool, for the child."""
        return self._signatures

    def close(self) -> None:
        """There is nothing to end here."""

    def answer(self, call: m.ToolRequest, session: Caller, deadline: float | None) -> Core[m.ToolReply]:
        """As `Toolbox.answer`. Nothing of the arguments is read here."""
        if call.tool not in self.tools:
            raise ProtocolError(f"a tool {call.tool[:100]!r} was called that does not exist")
        calls, decided = session.calls, None
        if calls is not None and calls.again is not None:
            known, decided = calls.again.turn(call, session)
            if known is not None:
                return known
        session.calls_of_step += 1
        most, started = self._rules.max_calls, monotonic()
        if session.calls_of_step > most + 1:  # the first one beyond the limit is refused, and recorded, over there
            text = f"{call.tool}(): more than {most} tool calls in one step (tools.max_calls)"
            return m.ToolReply(call.call, error_type="PermissionError", error=text)
        if decided is not None:
            yield from session.secured()  # as in a toolbox
        if isinstance(decided, Given):
            given = RelayedAnswer("ok", self.encoded(self.tools[call.tool], decided.value))
        elif isinstance(decided, Deny):
            text = f"{call.tool}(): {decided.reason}"
            given = RelayedAnswer("refused", error_type="PermissionError", error=text)
        else:
            given = yield from self._carried(call, session.step, deadline, decided is not None)
        if given.outcome == "broken":
            raise ProtocolError(given.error or f"{call.tool}() was called with what cannot be read")
        if given.outcome == "waiting":
            given = yield from self._put_off(call, session, given)
        spent = (monotonic() - started) * 1e3
        outcome: Any = given.outcome
        session.tool_records.append(ToolCallRecord(call.tool, session.step, outcome, given.error or given.note, spent))
        reply = m.ToolReply(call.call, given.value, given.error_type, given.error, given.inside)
        if calls is not None:
            calls.note(call, reply, outcome, session.call_key)
        return reply

    def _put_off(self, call: m.ToolRequest, session: Caller, given: RelayedAnswer) -> Core[RelayedAnswer]:
        seconds = given.seconds if given.seconds is not None and given.seconds > 0 else None
        refused = yield from session.put_off(call, PutOff(given.asked, Later(given.note, seconds)))
        if not refused:
            return given
        text = f"{call.tool}() was put off, and cannot wait here: {refused}"
        return RelayedAnswer("refused", error_type="PermissionError", error=text)

    def encoded(self, tool: RelayedTool, value: Any) -> bytes:
        """Return a value that is given in the place of a tool, as it crosses. Raises TypeError where it cannot."""
        payload = encode(value, max_bytes=self._most, max_depth=64)
        if payload.opaque or payload.truncated:
            raise TypeError(f"{tool.name}() cannot be answered with an object of type {type(value).__name__}: it is "
                            "too large, or no value")  # fmt: skip
        return payload.data

    def _carried(self, call: m.ToolRequest, step: int, deadline: float | None, allowed: bool) -> Core[RelayedAnswer]:
        left = None if deadline is None else max(0.0, deadline - monotonic())
        try:
            given: RelayedAnswer = yield CallTool(
                partial(self._carry, step, call, left, allowed), ANSWER_SECONDS, is_async=True, owner=self
            )
        except ProtocolError:
            raise
        except Exception as error:
            text = f"{call.tool}(): {error or type(error).__name__}"[:2000]
            return RelayedAnswer("error", error_type="ToolError", error=text)
        if given.value is not None and len(given.value) > self._most:
            text = f"{call.tool}() returned a value that is too large (limits.value_kb)"
            return RelayedAnswer("error", error_type="ValueError", error=text)
        return given
