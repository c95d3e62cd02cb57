"""A session whose steps may wait for an answer, and that may be recorded: what the engine's own sessions leave out."""

from __future__ import annotations

from functools import partial
from time import time
from typing import TYPE_CHECKING, Any, Literal

from safeexec.common.identity import weight
from safeexec.engine.host.session.listeners import NOBODY
from safeexec.engine.host.session.session import SessionCore
from safeexec.engine.host.session.tool_calls import Waits
from safeexec.engine.host.session.turns import exclusive
from safeexec.engine.host.waiting import Core, Work, apart
from safeexec.errors import RecordingError, StateFileError, StepWaiting
from safeexec.results import Result, ToolCallRecord

if TYPE_CHECKING:
    from safeexec.engine.host.session.listeners import Callbacks
    from safeexec.engine.host.session.steps import SessionName, Steps
    from safeexec.engine.host.session.supervisor import Supervisor
    from safeexec.engine.host.session.tool_calls import AnswersAgain, StepCalls
    from safeexec.engine.host.session.turns import Turns
    from safeexec.engine.host.tools.answers import PutOff
    from safeexec.engine.host.tools.toolbox import PendingCall, Toolbox
    from safeexec.protocol import messages as m
    from safeexec.recordings.format import Waiting
    from safeexec.recordings.timeline import Timeline
    from safeexec.results.outcomes import WaitingCall


def _waits() -> Any:
    from safeexec.recordings import waits  # with the modules of recordings, which few sessions need

    return waits


NONE_WAITS = "no step of this session waits for an answer"


class WaitingStep(Waits):
    """The step of one session that waits for an answer: how it waits, is shown, and is given up."""

    def __init__(self, name: SessionName, turns: Turns, supervisor: Supervisor, toolbox: Toolbox) -> None:
        self.turns = turns
        self._name = name
        self._supervisor = supervisor
        self._toolbox = toolbox
        self.waiting: Waiting | None = None
        """The step, until it has its answer or the time for that is over: ask `current`."""
        self._shown: tuple[Waiting, WaitingCall] | None = None
        """The step, for people."""

    def current(self) -> Waiting | None:
        """Return what the session waits for. Once the time for the answer is over, nothing: the next result says so."""
        waiting = self.waiting
        if waiting is not None and waiting.until <= time():
            self.end("late")
            self._supervisor.notes_next.append(f"nobody answered in time: {_waits().in_words(waiting)}")
        return self.waiting

    def is_asking(self) -> bool:
        return self.waiting is not None and self.waiting.until > time()

    def check(self, earlier_answers: AnswersAgain | None = None) -> None:
        if self.waiting is not None or earlier_answers is not None:
            _waits().check_may_begin(self.current(), earlier_answers)

    def shown(self) -> Core[WaitingCall | None]:
        """Return the same as `call`, which may be large."""
        size = 0 if self.waiting is None else self.waiting.call.arguments.size
        return (yield from apart(size, self.call))

    def call(self) -> WaitingCall | None:
        """Return what the session waits for, for people."""
        if (waiting := self.current()) is None:
            return None
        if self._shown is None or self._shown[0] is not waiting:
            self._shown = waiting, _waits().call_of(waiting, self._toolbox, self._name.label)
        return self._shown[1]

    @exclusive("cancel_waiting")
    def cancel_waiting(self) -> Core[list[ToolCallRecord]]:
        """Give up the step that waits. Returns the calls that it had made. Raises `StepWaiting` where there is none."""
        yield from ()
        if (waiting := self.current()) is None:
            raise StepWaiting(NONE_WAITS)
        self.end("cancelled")
        return _waits().records_of(waiting)  # type: ignore[no-any-return]

    def end(self, became: Literal["answered", "cancelled", "late"]) -> None:
        """Note that nothing waits any more."""
        waiting, self.waiting = self.waiting, None
        if waiting is not None and (recorder := self.turns.recorder) is not None:
            recorder.write(_waits().form.WaitOver(session=recorder.number, step=waiting.step, became=became))

    # The interface of the steps

    def put_off(self, call: m.ToolRequest, later: PutOff, steps: Steps) -> Core[str]:
        return _waits().put_off(steps, call, later)  # type: ignore[no-any-return]

    def begin(self, calls: StepCalls, calls_before: int) -> Core[WaitingCall | None]:
        self.waiting, self.calls_before = calls.waiting, calls_before
        return (yield from apart(calls.size, self.call))

    # In a saved state

    def written(self) -> Core[bytes]:
        if (waiting := self.current()) is None:
            return b""
        written: bytes = yield from apart(_waits().size_of(waiting), partial(_waits().line_of, waiting))
        return written

    def wait_again(self, written: bytes) -> Core[None]:
        self.waiting = waiting = yield Work(partial(_waits().read, written))
        supervisor = self._supervisor
        entropy = bytes.fromhex(waiting.entropy) if supervisor.processes.policy.determinism is None else b""
        if entropy and not (yield from supervisor.restorer.repeat_stored([], entropy)):
            raise StateFileError("the process died before it restored the state")


class RecordedSession(SessionCore):
    """One lineage of guest state that may be recorded, kept in a store, and wait for answers."""

    waits: WaitingStep

    def new_waits(self) -> WaitingStep:
        return WaitingStep(self.name, self.turns, self.supervisor, self.sandbox.toolbox)

    def answer(self, answer: object, callbacks: Callbacks = NOBODY) -> Core[Result]:
        """Run the step that waits again, which gets this answer for the call that was put off. Raises `StepWaiting`,
        TypeError and ValueError.
        """
        waiting, waits = self.waits.waiting, _waits()
        if waiting is None:
            raise StepWaiting(NONE_WAITS)
        run, begin = waiting.run, partial(waits.Again, waiting, answer, self.sandbox.toolbox)
        again = yield from apart(waits.size_of(waiting) + weight(answer), begin)
        return (
            yield from self.steps.run(
                run.source,
                timeout=run.timeout,
                atomic=run.atomic,
                callbacks=callbacks,
                stdin=waits.stdin_of(run),
                argv=run.argv,
                earlier_answers=again,
            )
        )

    # Effects of its tools

    @property
    def effects(self) -> Any:
        """`effects.Effects`, or None."""
        return self.turns.effects

    def pending(self) -> list[PendingCall]:
        """Return the deferred calls of host tools that have not been carried out, in order."""
        return [] if self.effects is None else self.effects.pending()

    @exclusive("carry_out")
    def carry_out(self) -> Core[list[str]]:
        """Carry them out. Returns what went wrong, in words."""
        return [] if self.effects is None else (yield from self.effects.carry_out())

    # The recording

    def note(self, text: str, score: float | None) -> None:
        """Add a remark to the recording. Raises `RecordingError` where there is none."""
        self._recorder().note(self, text, score)

    def history(self) -> Timeline:
        """Return what is recorded of this session and its branches. Raises `RecordingError` where there is none."""
        return self._recorder().history()  # type: ignore[no-any-return]

    def _recorder(self) -> Any:
        if self.turns.recorder is None:
            raise RecordingError("this session is not recorded: open it with session(record=True), or with a path")
        return self.turns.recorder
