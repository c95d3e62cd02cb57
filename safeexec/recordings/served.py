"""Answers calls that were made already: of a replay, whose tools are not called, and of a stored step that is run
again, which gets the answers that it had, and its keys.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from safeexec.common.text import can_be_name
from safeexec.engine.host.waiting import Core
from safeexec.errors import RecordingError
from safeexec.protocol import messages as m
from safeexec.protocol.values import encode
from safeexec.recordings.format import Answered, Called, Exchange, Record, Run, ToolShape
from safeexec.recordings.forms import arguments_of, bytes_of, call_text, packed, value_of
from safeexec.results import ToolCallRecord

if TYPE_CHECKING:
    from safeexec.engine.host.tools.toolbox import Toolbox


class Undone(Struct):
    """A step that is no part of the state, and the calls that it made."""

    run: Run
    made: list[Exchange] = []


class ServedTools:
    """Stands where a `Toolbox` does. `live` answers what was not recorded, if there is one."""

    has_effects = False
    """Whatever was carried out once is not carried out again."""

    def __init__(self, shapes: Sequence[ToolShape], live: Toolbox | None) -> None:
        self.tools = {shape.name: shape for shape in shapes}
        self.mismatch = ""
        """The first call that was not recorded so, in words."""
        self._live = live
        self._left: dict[int, Exchange] = {}
        """The calls of the step that have not been made, by their numbers."""
        self._waiting: dict[tuple[str, str | bytes | None], deque[Exchange]] = {}
        """The same, by what they ask; those that were made with another answer, too."""
        self.signatures()

    def signatures(self) -> tuple[m.ToolSignature, ...]:
        """Return them as the guest saw them. Raises `RecordingError` for what no tool can be called, or take."""
        try:
            return tuple(map(signature_of, self.tools.values()))
        except ValueError as error:
            raise RecordingError(f"in the recording {error}") from None

    def close(self) -> None:
        """End what is live, if anything is."""
        if self._live is not None:
            self._live.close()

    def begin(self, script: list[Exchange]) -> None:
        """Note that a step begins, whose calls are in `script`."""
        self._left, self.mismatch = {one.call.call: one for one in script}, ""
        self._waiting = {}
        for exchange in script:
            self._waiting.setdefault(recorded_key(exchange.call), deque()).append(exchange)

    def left(self) -> list[Exchange]:
        """Return the calls that the step has not made."""
        return [*self._left.values()]

    def answer(self, call: m.ToolRequest, steps: Any, deadline: float | None) -> Core[m.ToolReply]:
        """Return the recorded answer to this very call; of several in turn."""
        yield from ()
        steps.calls_of_step += 1
        # A recording may hold a million calls, so none is looked at twice.
        waiting = self._waiting.get(key_of(call.tool, call.arguments)) or self._waiting.get((call.tool, None))
        answer = waiting[0].answer if waiting else None
        if waiting and answer is not None:
            exchange = waiting.popleft()
            self._left.pop(exchange.call.call, None)
            if self._live is None or answer.value is None or not answer.value.left_out:
                return self._serve(call, answer, steps)
        if self._live is not None:
            steps.calls_of_step -= 1
            return (yield from self._live.answer(call, steps, deadline))
        limit = steps.policy.tools.max_calls
        text = f"{call.tool[:100]}({call_text(call.arguments)})"
        if steps.calls_of_step > limit:
            refused = f"{call.tool[:100]}(): more than {limit} tool calls in one step (tools.max_calls)"
            return m.ToolReply(call.call, error_type="PermissionError", error=refused)
        if not self.mismatch:
            expected = next((one.call.text for one in self._left.values()), "")
            instead = f"where {expected} was recorded" if expected else "which was not recorded"
            self.mismatch = f"the step called {text}, {instead}"
        steps.tool_records.append(ToolCallRecord(call.tool[:200], steps.number, "error", "not in the recording"))
        return m.ToolReply(call.call, error_type="ToolError", error=f"{text}: the recording has no answer to this call")

    def _serve(self, call: m.ToolRequest, answer: Answered, steps: Any) -> m.ToolReply:
        """Return the answer that a call got when it was recorded."""
        outcome: Any = "ok" if answer.outcome == "deferred" else answer.outcome
        steps.tool_records.append(ToolCallRecord(call.tool, steps.number, outcome, answer.error))
        try:
            if answer.value is not None:
                value_of(answer.value)
            return reply_of(call, answer)
        except ValueError as error:
            text = f"the answer to {call.tool[:100]}({call_text(call.arguments)}) is needed: {error}"
            self.mismatch = self.mismatch or text
            return m.ToolReply(call.call, error_type="ToolError", error=text)


def earlier_reply(made: Exchange, call: m.ToolRequest, rule: Any) -> m.ToolReply | None:
    """Return what a call got that an earlier run of the same step has made. None where it is to be made now, with the
    same key.
    """
    answer, effect, again = made.answer, made.effect, rule is not None and rule.idempotent
    if made.call.effect == "deferred":
        if effect is None or effect.became == "dropped" or (made.unknown and again):
            return None
        return m.ToolReply(call.call, encode(None, max_bytes=64, max_depth=1).data)
    if answer is None:
        if again:
            return None
        error = f"{call.tool}() was begun when the host ended, and nobody knows what became of it: not called again"
        return m.ToolReply(call.call, error_type="ToolError", error=error)
    if made.unknown:
        error = f"{call.tool}() was called already, and nobody knows whether it was undone: not called again"
        return m.ToolReply(call.call, error_type="ToolError", error=error)
    try:
        return reply_of(call, answer)
    except ValueError as error:
        text = f"{call.tool}() was called already, and what it returned is not in the store: {error}"
        return m.ToolReply(call.call, error_type="ToolError", error=text)


class EarlierSteps:
    """The steps of a stored session that were undone, in their order. One is run again if its source comes next; any
    other source is a new step, with which they are forgotten: nobody could tell a repeat from a second payment.
    """

    def __init__(self, undone: Iterable[Undone] = ()) -> None:
        self.undone = deque(undone)
        self._repeated: Undone | None = None
        """The first of them, while a step repeats it."""
        self._before: deque[Exchange] = deque()
        """The calls that it is to make."""
        self._made: Exchange | None = None
        """The call that is made, as it was made before."""
        self.unsure = False
        """True if nobody knows what came of that call, and it is not made again."""

    def begin(self, source: str | None) -> Undone | None:
        """Note that a step begins, which is no program without `source`. Returns the one that it repeats."""
        self._made = self._repeated = None
        if self.undone and self.undone[0].run.source == source:
            self._repeated = self.undone.popleft()
        else:
            self.undone.clear()
        self._before = deque(() if self._repeated is None else self._repeated.made)
        return self._repeated

    def ended(self, *, part: bool) -> bool:
        """Note that it has ended. `part`: as part of the session; if not, its calls are still to be answered. Returns
        whether it repeated one.
        """
        repeated, self._repeated = self._repeated, None
        if repeated is not None and not part:
            self.undone.appendleft(repeated)
        return repeated is not None

    def key_of(self, call: m.ToolRequest) -> str:
        """Return the key that this call had in an earlier run of the step; "" where that has not made it, or has undone
        it. Arguments that were too large to be kept are not known to be the same.
        """
        self._made = self._before.popleft() if self._before else None
        if self._made is not None and recorded_key(self._made.call) != key_of(call.tool, call.arguments):
            self._made = None
            self._before.clear()
        if self._made is not None and self._made.undone:
            self._made = None
        return "" if self._made is None else self._made.call.key

    def turn(self, call: m.ToolRequest, steps: Any) -> tuple[m.ToolReply | None, None]:
        """Return what the earlier run got for this call. None: it is made."""
        made, self._made, self.unsure = self._made, None, False
        rule = getattr(steps.sandbox.toolbox.tools.get(call.tool), "effect", None)
        reply = None if made is None else earlier_reply(made, call, rule)
        if made is not None and reply is not None:
            self.unsure = made.unknown and bool(reply.error_type)
            note_repeated(steps, call, reply, made.call, "error" if reply.error_type else "ok")
        return reply, None

    def unmade(self) -> None:
        """Say that a step may end without a call that it made before."""

    def records(self) -> Iterator[Record]:
        """Yield what a new segment of a stored session is to say of them."""
        for one in self.undone:
            yield replace(one.run, undone=True)
            for made in one.made:
                # Also a call to which a repeat of its step had not come: its own step is none that a reader knows.
                called = replace(made.call, step=one.run.step)
                yield from filter(None, (called, made.answer, made.effect))


def reply_of(call: m.ToolRequest, answer: Answered) -> m.ToolReply:
    """Return what a call got when it was recorded. Raises ValueError where its value was left out."""
    value = None if answer.value is None else bytes_of(answer.value)
    return m.ToolReply(call.call, value, answer.error_type, answer.error, answer.inside)


def note_repeated(steps: Any, call: m.ToolRequest, reply: m.ToolReply, before: Called, outcome: Any) -> None:
    """Count and record a call that a step made before, and that gets its earlier answer."""
    steps.calls_of_step += 1
    steps.tool_records.append(ToolCallRecord(call.tool, steps.number, outcome, reply.error))
    steps.calls.note(call, reply, outcome, before.key, deferred=before.effect == "deferred")


def signature_of(shape: ToolShape) -> m.ToolSignature:
    """Return a tool as the guest sees it. Raises ValueError for what no tool can be called, or take."""
    try:
        if not can_be_name(shape.name):
            raise ValueError("guest code could not call it")
        if odd := {kind for _, kind, _, _ in shape.parameters} - {*m.PARAMETER_KINDS}:
            raise ValueError(f"{min(odd)[:100]!r} is no kind of parameter")
        signature = m.ToolSignature(shape.name, shape.parameters, shape.returns, shape.doc)
        m.python_signature(signature)
    except ValueError as error:
        raise ValueError(f"there is an invalid tool {shape.name[:100]!r}: {error}") from None
    return signature


def recorded_key(recorded: Called) -> tuple[str, str | bytes | None]:
    """Return the key of a recorded call (`key_of`), with None for arguments that were left out: any match them."""
    if recorded.arguments.left_out:
        return recorded.tool, None
    try:
        return key_of(recorded.tool, bytes_of(recorded.arguments))
    except ValueError:
        return recorded.tool, b""


def key_of(tool: str, arguments: bytes) -> tuple[str, str | bytes]:
    """Return a key, equal for calls of a tool with equal arguments, whose bytes may differ where a set is in them."""
    try:
        return tool, _canonical(arguments_of(packed(arguments)))
    except Exception:  # what cannot be read or shown is equal by its bytes
        return tool, arguments


def _canonical(value: Any) -> str:
    """Return a text that is equal for equal values, whatever the order of their sets and keys."""
    kind = type(value).__name__
    if isinstance(value, set | frozenset):
        return f"{kind}({','.join(sorted(map(_canonical, value)))})"
    if isinstance(value, dict):
        return f"{kind}({','.join(sorted(f'{_canonical(key)}:{_canonical(item)}' for key, item in value.items()))})"
    if isinstance(value, list | tuple):
        return f"{kind}({','.join(map(_canonical, value))})"
    return repr(value)
