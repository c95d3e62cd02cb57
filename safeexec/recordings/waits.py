"""Steps that wait: a call of a tool was put off, the step is undone, and runs again when the answer is there.

What waits is one closed record (`recordings.format.Waiting`): the source and what it was given, the calls with their
answers before the one that waits, and that one. In the second run these calls are answered from the record, as in a
replay; none is made twice. A program that asks otherwise is stopped before the answer counts, and the step still waits.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from time import time
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from safeexec.common.text import one_line, shorten
from safeexec.engine.approvals import Allow, Deny, Later, decision
from safeexec.engine.host.session.step import SECURE_SECONDS
from safeexec.engine.host.session.tool_calls import KEPT_BYTES
from safeexec.engine.host.tools.answers import Given, PutOff
from safeexec.engine.host.tools.tool import by_names
from safeexec.engine.host.waiting import Core, apart
from safeexec.engine.host.watch.verdict import Verdict
from safeexec.errors import RecordingError, StepWaiting
from safeexec.protocol import messages as m
from safeexec.protocol.arguments import encode_arguments
from safeexec.recordings import format as form
from safeexec.recordings import forms
from safeexec.recordings.forms import line_of
from safeexec.recordings.reader import parse
from safeexec.recordings.served import key_of, note_repeated, recorded_key, reply_of
from safeexec.recordings.store.interface import WAITS_BYTES
from safeexec.results import ToolCallRecord, WaitingCall

if TYPE_CHECKING:
    from safeexec.engine.host.session.steps import Steps
    from safeexec.engine.host.session.tool_calls import StepCalls
    from safeexec.engine.host.tools.toolbox import Toolbox
    from safeexec.recordings.store.interface import StoredSession

DAY = 86400.0
NOTE = 2000
"""Characters of what an approval or a tool says to whoever is to answer."""


def put_off(steps: Steps, call: m.ToolRequest, later: PutOff) -> Core[str]:
    """Have the step that runs end, to wait for the answer to this call. Returns why it cannot wait, or ""."""
    calls, step = steps.calls, steps.supervisor.doing
    if calls is None or step is None:
        return "this is no step of a session (Session.run)"
    if steps.policy.checkpoints == "off":
        return 'the step cannot be undone with checkpoints="off", nor in Sandbox.run: use a session'
    if not (days := steps.policy.tools.wait_days):
        return "the policy allows none to wait (tools.wait_days is 0)"
    if calls.size > KEPT_BYTES:
        return f"the calls before it hold more than {KEPT_BYTES >> 20} MiB, which are the most that is kept"
    if calls.stdin is not None and not isinstance(calls.stdin, str | bytes | bytearray | memoryview):
        return "its standard input is a stream, which cannot be read again: give it as a text"
    yield from step.secure(SECURE_SECONDS)
    history = steps.supervisor.processes.history
    if not history.can_be_had(history.current):
        return "the state before this step has no checkpoint to go back to"
    seconds = min(days * DAY, later.answer.seconds or float("inf"))
    size = calls.size + len(call.arguments) + len(calls.stdin or "")
    waiting = yield from apart(size, partial(_record, steps, calls, call, later, seconds))
    if large := _left_out(waiting):
        return f"{large} too large to be kept"
    calls.waiting = waiting
    step.hand_in(Verdict("waiting", in_words(waiting)))
    return ""


def _record(steps: Steps, calls: StepCalls, call: m.ToolRequest, later: PutOff, seconds: float) -> form.Waiting:
    now = time()
    where: dict[str, Any] = {"step": steps.number}
    made = [
        form.Exchange(
            forms.called(one, call=number, **more, **where), forms.answered(reply, outcome, call=number, **where)
        )
        for number, (one, reply, outcome, more) in enumerate(calls.made, 1)
    ]
    given: Any = calls.stdin.encode() if isinstance(calls.stdin, str) else calls.stdin
    run = form.Run(
        source=calls.source,
        timeout=calls.timeout,
        atomic=calls.atomic,
        argv=None if calls.argv is None else list(calls.argv),
        stdin=None if given is None else forms.content(bytes(given)),
        **where,
    )
    return form.Waiting(
        run=run,
        calls=made,
        call=forms.called(call, call=len(calls.made) + 1, key=steps.call_key, **where),
        asked=later.asked,
        note=shorten(later.answer.note, NOTE),
        entropy=steps.supervisor.processes.entropy.hex(),
        since=now,
        until=now + seconds,
        **where,
    )


def _left_out(waiting: form.Waiting) -> str:
    """Return what of it could not be written down, in words."""
    if waiting.run.stdin is not None and waiting.run.stdin.left_out:
        return "its standard input is"
    return "a call that it has made is" if any(value.left_out for value in _values(waiting)) else ""


def _values(waiting: form.Waiting) -> Iterator[form.Value]:
    """Yield the arguments and the answers of its calls."""
    yield waiting.call.arguments
    for one in waiting.calls:
        yield one.call.arguments
        if one.answer is not None and one.answer.value is not None:
            yield one.answer.value


def size_of(waiting: form.Waiting) -> int:
    """Return how many bytes its source and values have."""
    return len(waiting.run.source) + sum(value.size for value in _values(waiting))


def stdin_of(run: form.Run) -> bytes | None:
    """Return what the step reads."""
    return None if run.stdin is None else forms.bytes_of(run.stdin)


def in_words(waiting: form.Waiting) -> str:
    """Return what waits, for whom, and until when."""
    whom = "an approval" if waiting.asked == "approval" else "the answer of the tool"
    note = f" ({one_line(waiting.note)})" if waiting.note else ""
    return f"{waiting.call.text} waits for {whom}{note}, until {_instant(waiting.until):%Y-%m-%d %H:%M} UTC"


def _instant(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def call_of(waiting: form.Waiting, toolbox: Toolbox, label: str | None) -> WaitingCall:
    """Return the call that waits, for people: its arguments by the names of the tool's parameters."""
    arguments = by_names(toolbox.tools.get(waiting.call.tool), *forms.arguments_of(waiting.call.arguments))
    since, until = _instant(waiting.since), _instant(waiting.until)
    return WaitingCall(
        waiting.call.tool, arguments, waiting.asked, since, until, waiting.note, waiting.step, label=label
    )


def listed(waiting: form.Waiting) -> bytes:
    """Return what a list shows of it, as a line that `read` takes: the call alone, without its arguments if they
    are large.
    """
    shown = replace(waiting, calls=[], run=form.Run(step=waiting.step, source=""), entropy="")
    if len(line := line_of(shown)) > WAITS_BYTES:
        none = forms.packed(encode_arguments((), {}, max_bytes=64, max_depth=1).data)
        line = line_of(replace(shown, call=replace(shown.call, arguments=none)))
    return line


def of_rows(rows: Iterable[StoredSession], others: Container[str | None], toolbox: Toolbox) -> list[WaitingCall]:
    """Return what stored sessions wait for, but for those of the `others`. Anybody may have written it."""
    found = []
    for row in rows:
        if row.waits and row.label not in others:
            with suppress(RecordingError, ValueError):
                if (waiting := read(row.waits)).until > time():
                    found.append(call_of(waiting, toolbox, row.label))
    return found


def records_of(waiting: form.Waiting) -> list[ToolCallRecord]:
    """Return the calls that the step had made before."""
    answers = ((one.call.tool, one.answer) for one in waiting.calls if one.answer is not None)
    return [ToolCallRecord(tool, it.step, "error" if it.error_type else "ok", it.error) for tool, it in answers]


def check_may_begin(waiting: form.Waiting | None, again: Any) -> None:
    """Check that a step may begin, or the state be changed: only to answer the one that waits. Raises `StepWaiting`."""
    if again is None and waiting is not None:
        raise StepWaiting(
            f"step {waiting.step} of this session waits: {in_words(waiting)}; `answer` has it go on, `cancel_waiting` "
            "gives it up"
        )
    if again is not None and (waiting is None or again.waiting.since != waiting.since):
        if again.waiting.until <= time():
            raise StepWaiting(f"the answer comes too late: {in_words(again.waiting)}; run the step again")
        raise StepWaiting(f"no answer to {again.waiting.call.text} is waited for any more")


class Again:
    """Answers the calls of a step that runs again, in the order in which they were made."""

    def __init__(self, waiting: form.Waiting, answer: object, toolbox: Toolbox) -> None:
        """Raises TypeError or ValueError for an answer that cannot be given, `StepWaiting` where no tool is there."""
        self.waiting = waiting
        self.mismatch = ""
        """The first difference from the first run of the step, in words; "" while there is none."""
        self._decided = _decided(waiting, answer, toolbox)
        self.reached = False
        """True once the call that waited was made again: from then on the answer counts, and nothing waits any more."""
        self._next = iter([*waiting.calls, form.Exchange(waiting.call)])
        self._expected = next(self._next)

    unsure = False

    def key_of(self, call: m.ToolRequest) -> str:
        """Return the key of the call which is expected next, where it had one."""
        return "" if self.reached else self._expected.call.key

    def turn(self, call: m.ToolRequest, steps: Any) -> tuple[m.ToolReply | None, Allow | Deny | Given | None]:
        """Return the answer that this call got before, or what is decided of the one that waited. Neither: make it."""
        if self.reached:
            return None, None
        expected = self._expected
        if self.mismatch or key_of(call.tool, call.arguments) != recorded_key(expected.call):
            text = forms.call_text(call.arguments)
            self._differ(f"it called {one_line(call.tool)}({one_line(text, 400)}), where it had called", steps)
            return m.ToolReply(call.call), None
        if expected.call is self.waiting.call:
            self.reached = True
            steps.waits.end("answered")
            return None, self._decided
        self._expected = next(self._next)
        if expected.call.effect == "deferred":
            return None, None  # nothing came of it but that it is carried out after the step
        answer = expected.answer
        assert answer is not None
        reply = reply_of(call, answer)
        note_repeated(steps, call, reply, expected.call, answer.outcome)
        return reply, None

    def unmade(self) -> Verdict | None:
        """Return the verdict on a step that has ended without the call that waited."""
        return None if self.reached else self._verdict("it ended without its call")

    def _differ(self, what: str, steps: Any) -> None:
        if steps.supervisor.doing is not None:
            steps.supervisor.doing.hand_in(self._verdict(what))

    def _verdict(self, what: str) -> Verdict:
        self.mismatch = self.mismatch or (
            f"the step did not do the same again: {what} {self._expected.call.text}. It still waits, and nothing was "
            "carried out; what depends on the time or on chance may differ: `cancel_waiting` gives the step up"
        )
        return Verdict("cancelled", self.mismatch)


def _decided(waiting: form.Waiting, answer: object, toolbox: Toolbox) -> Allow | Deny | Given:
    tool = toolbox.tools.get(waiting.call.tool)
    if tool is None:
        raise StepWaiting(f"there is no tool {one_line(waiting.call.tool)!r} here, for which the step waits")
    if isinstance(answer, Later):
        raise TypeError("a step that waits goes on with an answer; Later is none")
    if isinstance(answer, Deny):
        return answer
    if isinstance(answer, Allow):
        if unknown := [name for name in answer.arguments if name not in tool.signature.parameters]:
            raise TypeError(f"{tool.name}() has no argument {unknown[0]!r} that could be replaced")
        if answer.source is not None:
            raise TypeError("Allow(source=...) is for the code of an agent; a call has arguments")
        return answer
    if waiting.asked == "tool":
        toolbox.encoded(tool, answer)
        return Given(answer)
    if isinstance(answer, bool):
        return decision(answer, "the answer")
    raise TypeError(
        f"an approval is answered with Allow(...) or Deny(reason), not with an object of type {type(answer).__name__}"
    )


def read(line: bytes) -> form.Waiting:
    """Return a record that a stranger may have written. Raises `RecordingError`."""
    found = parse(line, "the step that waits")
    if not isinstance(found, form.Waiting):
        raise RecordingError("the step that waits is not whole")
    return checked(found)


def checked(found: form.Waiting) -> form.Waiting:
    """Return a record that was parsed already, once its parts are checked. Raises `RecordingError`."""
    try:
        forms.arguments_of(found.call.arguments)
        for one in found.calls:
            forms.arguments_of(one.call.arguments)
            if one.answer is None:
                raise ValueError("a call that came before has no answer")
            if one.answer.value is not None:
                forms.value_of(one.answer.value)
        stdin_of(found.run)
    except ValueError as error:
        raise RecordingError(f"the step that waits is not whole: {error}") from None
    since = min(found.since, time())
    note = shorten(found.note, NOTE)
    return replace(found, since=since, until=min(found.until, since + 3650 * DAY), note=note)
