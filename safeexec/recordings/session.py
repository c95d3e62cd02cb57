"""A session whose steps may wait for an answer: how it waits, is told of, answered, and given up."""

from __future__ import annotations

from functools import partial
from time import time
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from safeexec.engine.host.session.listeners import NOBODY
from safeexec.engine.host.session.processes import SessionProcesses
from safeexec.engine.host.session.session import SessionCore, exclusive
from safeexec.engine.host.session.supervisor import Supervisor
from safeexec.engine.host.waiting import Core, Work, apart, weight
from safeexec.errors import StateFileError, StepWaiting
from safeexec.results import Result, ToolCallRecord

if TYPE_CHECKING:
    from safeexec.engine.host.session.listeners import Callbacks
    from safeexec.engine.host.session.step import Step
    from safeexec.engine.host.session.tool_calls import AnswersAgain
    from safeexec.engine.host.tools.answers import PutOff
    from safeexec.engine.host.watch.clock import Place
    from safeexec.engine.host.watch.verdict import Verdict
    from safeexec.protocol import messages as m
    from safeexec.recordings.format import Waiting
    from safeexec.results.outcomes import WaitingCall


def _waits() -> Any:
    from safeexec.recordings import waits  # with the modules of recordings, which few sessions need

    return waits


class RecordedSession(SessionCore):
    """One lineage of guest state that may be recorded, kept in a store, and wait for answers."""

    waiting: Waiting | None
    """The step that waits, until it has its answer or the time for that is over: ask `still_waiting`."""
    effects: Any
    """`effects.Effects`, or None."""
    _shown: tuple[Waiting, WaitingCall] | None = None
    """The step that waits, for people."""

    def begin_anew(self) -> Core[None]:
        """Get another child, in the place of processes that are gone. What is known of calls of tools stays."""
        records, children = self.supervisor.tool_records, self.sandbox.children
        self.processes = SessionProcesses(children, self.policy, children.spare_for(self.policy))
        self.supervisor = Supervisor(self.processes)
        self.supervisor.tool_records = records
        yield from self.processes.begin()
        self.mechanisms = children.mechanisms
        self.supervisor.arrived()

    def put_off(self, call: m.ToolRequest, later: PutOff) -> Core[str]:
        return _waits().put_off(self, call, later)  # type: ignore[no-any-return]

    def still_waiting(self) -> Waiting | None:
        """Return what the session waits for. Once the time for the answer is over, nothing: the next result says so."""
        waiting = self.waiting
        if waiting is not None and waiting.until <= time():
            _waits().end_wait(self, "late")
            self.supervisor.notes_next.append(f"nobody answered in time: {_waits().in_words(waiting)}")
        return self.waiting

    def check_waiting(self, earlier_answers: AnswersAgain | None = None) -> None:
        if self.waiting is not None or earlier_answers is not None:
            _waits().check_may_begin(self, earlier_answers)

    def waits_for(self) -> Core[WaitingCall | None]:
        """Return the same as `waiting_call`, which may be large."""
        size = 0 if self.waiting is None else self.waiting.call.arguments.size
        return (yield from apart(size, self.waiting_call))

    def waiting_call(self) -> WaitingCall | None:
        """Return what the session waits for, for people."""
        if (waiting := self.still_waiting()) is None:
            return None
        if self._shown is None or self._shown[0] is not waiting:
            self._shown = waiting, _waits().call_of(waiting, self.sandbox.toolbox, self.label)
        return self._shown[1]

    def answer(self, answer: object, callbacks: Callbacks = NOBODY) -> Core[Result]:
        """Run the step that waits again, which gets this answer for the call that was put off. Raises `StepWaiting`,
        TypeError and ValueError.
        """
        waiting, waits = self.waiting, _waits()
        if waiting is None:
            raise StepWaiting("no step of this session waits for an answer")
        run, begin = waiting.run, partial(waits.Again, waiting, answer, self.sandbox.toolbox)
        again = yield from apart(waits.size_of(waiting) + weight(answer), begin)
        return (
            yield from self.run(
                run.source,
                timeout=run.timeout,
                atomic=run.atomic,
                callbacks=callbacks,
                stdin=waits.stdin_of(run),
                argv=run.argv,
                earlier_answers=again,
            )
        )

    @exclusive
    def cancel_waiting(self) -> Core[list[ToolCallRecord]]:
        """Give up the step that waits. Returns the calls that it had made. Raises `StepWaiting` where there is none."""
        yield from ()
        if (waiting := self.still_waiting()) is None:
            raise StepWaiting("no step of this session waits for an answer")
        _waits().end_wait(self, "cancelled")
        return _waits().records_of(waiting)  # type: ignore[no-any-return]

    def close_if_idle(self, seconds: float) -> Core[None]:
        waiting = self.waiting
        if self.durable is None and waiting is not None and waiting.until > time() and not self.unowned:
            return  # somebody is asked, who may take longer
        yield from super().close_if_idle(seconds)

    def _ended(self, step: Step, verdict: Verdict, place: Place, calls_before: int) -> Core[Result]:
        before = self.processes.history.current.memory
        result = yield from super()._ended(step, verdict, place, calls_before)
        if verdict.outcome != "waiting" or self.calls is None:
            return result
        if self.processes.history.current.memory is not before:
            return replace(result, outcome="crashed")  # it cannot run again from where it began
        self.waiting, self.calls_before_waiting = self.calls.waiting, calls_before
        return replace(result, waiting_for=(yield from apart(self.calls.size, self.waiting_call)))

    # In a saved state

    def written_wait(self) -> Core[bytes]:
        if (waiting := self.still_waiting()) is None:
            return b""
        written: bytes = yield from apart(_waits().size_of(waiting), partial(_waits().line_of, waiting))
        return written

    def wait_again(self, written: bytes) -> Core[None]:
        waiting = yield Work(partial(_waits().read, written))
        self.waiting = waiting
        entropy = bytes.fromhex(waiting.entropy) if self.policy.determinism is None else b""
        if entropy and not (yield from self.processes.repeat([], entropy)):
            raise StateFileError("the process died before it restored the state")
