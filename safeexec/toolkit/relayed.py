"""Tools of a program that is elsewhere: each call is carried to it as the guest made it, and it checks and answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from inspect import Signature
from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar

from msgspec.structs import astuple

from safeexec.engine.approvals import Deny, Later
from safeexec.engine.host.tools.answers import AnswersCalls, Given, PutOff, RelayedAnswer, refusal
from safeexec.engine.host.waiting import CallTool, Core
from safeexec.errors import ProtocolError, ToolError
from safeexec.protocol import messages as m
from safeexec.protocol.values import encode
from safeexec.recordings.format import ToolShape
from safeexec.recordings.served import signature_of

if TYPE_CHECKING:
    from safeexec.engine.host.tools.answers import Caller, Decided
    from safeexec.engine.policy.model import Policy

ANSWER_SECONDS = 3600.0
"""Seconds that an answer may take: an approval may ask a person. `carry` notices earlier that a program has gone."""


Carry = Callable[[int, m.ToolRequest, "float | None", bool], Awaitable[RelayedAnswer]]
"""Takes the number of the step, the call, the seconds that the step has left, if its clock goes on, and whether it was
allowed after it had been put off.
"""


class RelayedTool(ToolShape, frozen=True):
    """A tool of a program elsewhere."""

    deferred: ClassVar[bool] = False

    @property
    def signature(self) -> Signature:
        return m.python_signature(signature_of(self))


class RelayedTools(AnswersCalls):
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
        """Return name and parameters of each tool, for the child."""
        return self._signatures

    def close(self) -> None:
        """Do nothing: there is nothing to end here."""

    def outcome(
        self, tool: RelayedTool, call: m.ToolRequest, steps: Caller, deadline: float | None, decided: Decided
    ) -> Core[RelayedAnswer]:
        """Have the call made where the tool is. Nothing of the arguments is read here."""
        most = self._rules.max_calls
        if steps.calls_of_step > most + 1:  # the first one beyond the limit is refused, and recorded, over there
            return refusal(f"{call.tool}(): more than {most} tool calls in one step (tools.max_calls)")
        if decided is not None:
            yield from steps.secured()  # as in a toolbox
        if isinstance(decided, Given):
            return RelayedAnswer("ok", self.encoded(tool, decided.value))
        if isinstance(decided, Deny):
            return refusal(f"{call.tool}(): {decided.reason}")
        given = yield from self._carried(call, steps.number, deadline, decided is not None)
        if given.outcome == "broken":
            raise ProtocolError(given.error or f"{call.tool}() was called with what cannot be read")
        if given.outcome == "waiting":
            seconds = given.seconds if given.seconds is not None and given.seconds > 0 else None
            raise PutOff(given.asked, Later(given.note, seconds))
        return given

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
