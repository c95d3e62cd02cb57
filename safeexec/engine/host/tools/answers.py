"""Answers the calls of host tools: one way for functions of this program, and for those of a program elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from safeexec.engine.approvals import Allow, Deny, Later
from safeexec.engine.host.waiting import Core
from safeexec.errors import ProtocolError
from safeexec.protocol import messages as m
from safeexec.results import ToolCallRecord

if TYPE_CHECKING:
    from typing import Protocol

    from safeexec.engine.host.session.tool_calls import ToolLog
    from safeexec.engine.host.watch.bill import Bill
    from safeexec.engine.policy.settings import Tools

    class Caller(Protocol):
        """The steps of a session, as its tools see them."""

        number: int
        calls_of_step: int

        @property
        def tool_records(self) -> ToolLog: ...
        @property
        def bill(self) -> Bill: ...
        def earlier_answer(self, call: m.ToolRequest) -> tuple[m.ToolReply | None, Decided]: ...
        def keep_answer(self, call: m.ToolRequest, reply: m.ToolReply, outcome: Any, *, deferred: bool) -> None: ...
        def put_off(self, call: m.ToolRequest, later: PutOff) -> Core[str]: ...
        def secured(self) -> Core[None]: ...


class Given(Struct, frozen=True):
    """The value that a person gives in the place of a tool that has put itself off."""

    value: Any


Decided = Allow | Deny | Given | None
"""The answer to this very call, which had been put off."""


class RelayedAnswer(Struct, frozen=True):
    """The outcome of a call: a value as it crosses, or what the guest sees raised."""

    outcome: Literal["ok", "error", "refused", "broken", "waiting"]
    """``broken``: no honest child makes such a call, and the step ends; ``waiting``: it was put off."""
    value: bytes | None = None
    error_type: str = ""
    error: str = ""
    inside: bool = False
    """True if the function itself raised the error."""
    note: str = ""
    """The note of a call that was put off; the two below are of such a call, too."""
    seconds: float | None = None
    asked: Literal["approval", "tool"] = "tool"


class PutOff(Exception):
    """An approval or a tool has put its answer off."""

    def __init__(self, asked: Literal["approval", "tool"], answer: Later) -> None:
        super().__init__(asked, answer)
        self.asked = asked
        self.answer = answer


class AnswersCalls:
    """Has the calls of one sandbox, or of one plugin, answered by the rules of its policy."""

    tools: Mapping[str, Any]
    _rules: Tools

    def answer(self, call: m.ToolRequest, steps: Caller, deadline: float | None) -> Core[m.ToolReply]:
        """Run one call and give the reply for the guest. Raises `ProtocolError` for a call that no honest child makes.

        `deadline` (monotonic seconds) is the step's own, where its clock goes on while tools run.
        """
        tool = self.tools.get(call.tool)
        if tool is None:
            raise ProtocolError(f"a tool {call.tool[:100]!r} was called that does not exist")
        started = monotonic()
        known, decided = steps.earlier_answer(call)
        if known is not None:
            return known
        steps.calls_of_step += 1
        try:
            given = yield from self.outcome(tool, call, steps, deadline, decided)
        except PutOff as later:
            given = RelayedAnswer("waiting", note=later.answer.note)
            if refused := (yield from steps.put_off(call, later)):
                given = refusal(f"{call.tool}() was put off, and cannot wait here: {refused}")
        reply = m.ToolReply(call.call, given.value, given.error_type, given.error, given.inside)
        # Of the calls beyond the limit only the first is recorded: a guest may make a hundred thousand of them.
        if steps.calls_of_step <= self._rules.max_calls + 1:
            outcome: Any = given.outcome
            problem, spent = given.error or given.note, (monotonic() - started) * 1e3
            steps.tool_records.append(ToolCallRecord(call.tool, steps.number, outcome, problem, spent))
            steps.keep_answer(call, reply, outcome, deferred=tool.deferred)
        return reply

    def outcome(
        self, tool: Any, call: m.ToolRequest, steps: Caller, deadline: float | None, decided: Decided
    ) -> Core[RelayedAnswer]:
        """Say what becomes of a call. Raises `ProtocolError`, and `PutOff` where its answer is put off."""
        raise NotImplementedError


def refusal(text: str) -> RelayedAnswer:
    """Return the answer to a call that the rules, or the host's approval, did not let happen."""
    return RelayedAnswer("refused", error_type="PermissionError", error=text)
