"""The calls of one policy of a server. Each is a method of the server's table; while one is under way the server tells
of output, and calls host tools of this program.

Generators like those of `host`, which the same API drives. What comes back is checked against the table's shape; a
server that answers anything else is a `ProtocolError`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from inspect import Parameter, Signature
from time import monotonic
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict, replace

from safeexec.common.identity import weight
from safeexec.engine.approvals import Allow
from safeexec.engine.host.session.listeners import NOBODY, Listeners
from safeexec.engine.host.session.tool_calls import ToolLog
from safeexec.engine.host.tools.answers import PutOff, RelayedAnswer
from safeexec.engine.host.tools.tool import by_names
from safeexec.engine.host.tools.toolbox import Toolbox
from safeexec.engine.host.waiting import Core, Wait, apart, drive, ending, given_up
from safeexec.engine.host.watch.bill import Bill
from safeexec.engine.policy.model import Policy
from safeexec.errors import ProtocolError, SandboxClosed
from safeexec.protocol.arguments import encode_payload
from safeexec.protocol.messages import ToolReply, ToolRequest
from safeexec.recordings.forms import arguments_of, packed
from safeexec.remote.crossing import converted, display_of, field_of, result_of, shaped, source_of
from safeexec.remote.methods import EVENTS, StepCall, StepDisplay, StepOutput, StepProgress
from safeexec.remote.wire import RemoteCall, Wire
from safeexec.results import Display, Result, WaitingCall
from safeexec.results.jsonable import jsonable
from safeexec.results.marked import marked

if TYPE_CHECKING:
    from safeexec.api.audit import Observer
    from safeexec.engine.host.tools.tool import Tool

PATIENCE_SECONDS = 60.0
"""Time that a server may take to answer beyond that of the step."""
STOP_SECONDS = 0.05
"""Time between attempts to stop a step that nobody waits for any more: one that just begins cannot be stopped yet."""


def method_of(verb: str, *names: str, at_once: bool = False) -> Callable[..., Any]:
    """Return a method that is one call of the server: its arguments by their names there, and the one field of the
    answer. `at_once`: it drives the call itself.
    """

    def method(self: Any, *given: Any) -> Any:
        called = self.call_for_field(verb, **dict(zip(names, given, strict=True)))
        return drive(called) if at_once else called

    taken = [Parameter(name, Parameter.POSITIONAL_ONLY) for name in ("self", *names)]
    method.__signature__ = Signature(taken)  # type: ignore[attr-defined]
    return method


class PolicyCalls:
    """One policy of a server, as a sandbox and its sessions call it."""

    observer: Observer | None = None
    _which: dict[str, str] = {}
    """The parameter of each call that names the policy; none: the server's default."""
    _wire: Wire
    policy: Policy
    toolbox: Toolbox
    """The host tools of this program, which steps there may call."""

    @property
    def alive(self) -> bool:
        """True if the server may still answer."""
        return self._wire.alive

    def values(self, namespace: Mapping[str, Any] | None) -> dict[str, dict[str, str]]:
        """Return variables as they cross. Raises TypeError and ValueError for what is not a variable."""
        given = namespace or {}
        bounds = {"value_kb": self.policy.limits.value_kb, "value_depth": self.policy.limits.value_depth}
        return {name: marked(encode_payload(name, given[name], **bounds), "encoded") for name in given}

    def check(self, source: str, stdin: bool) -> Core[Result]:
        """Return what the policy refuses in `source`; nothing runs."""
        return result_of((yield from self._call("check", {"source": source_of(source), "stdin": stdin})))

    def _call(self, verb: str, params: Mapping[str, Any] = {}, **how: Any) -> Core[Any]:
        """Return the answer to a call about this policy. `how`: as for `call`."""
        return self.call(f"sandbox.{verb}", {**self._which, **params}, **how)

    def call_for_field(self, verb: str, /, **params: Any) -> Core[Any]:
        """Return the one field of the answer to a call about this policy."""
        return field_of((yield from self._call(verb, params)))

    def call(
        self,
        method: str,
        params: dict[str, Any],
        *,
        listeners: Listeners = NOBODY,
        caller: RemoteCaller | None = None,
        seconds: float = 0.0,
        within: float | None = None,
        stop: Callable[[], Core[object]] | None = None,
        undo: Callable[[Any], Core[None]] | None = None,
    ) -> Core[Any]:
        """Return the answer of the server to one call, in the shape that the table says; for a step the plain dict.

        `listeners` hear of a step that runs meanwhile, and `caller` makes its calls of host tools. It may take
        `seconds` and `PATIENCE_SECONDS` longer than its `timeout`, or than any step, if it has no such parameter; or as
        long as `within` says. When whoever waits is interrupted the server finishes: `stop` is done until it has, and
        `undo` with what it answered.
        """
        # Large ones are written as JSON, and taken from the pipe, beside an event loop: a server may read slowly.
        pending = yield from apart(weight(params), partial(self._wire.begin, method, params))
        if within is None:
            limits = self.policy.limits
            within, timeout = limits.max_wall_seconds, params.get("timeout", limits.max_wall_seconds)
            if timeout is None:
                timeout = limits.wall_seconds
            if isinstance(timeout, int | float) and 0 < timeout < within:  # the server refuses all others
                within = timeout
            within += seconds + PATIENCE_SECONDS
        try:
            try:
                yield from self._until_over(pending, monotonic() + within, listeners, caller)
            except BaseException:
                ending = self._wait_for_end(pending, stop, undo, method)
                drive(ending) if given_up() else (yield from ending)
                raise
            return shaped(method, pending.answer())
        finally:
            pending.close()

    def _until_over(
        self, pending: RemoteCall, deadline: float, listeners: Listeners = NOBODY, caller: RemoteCaller | None = None
    ) -> Core[None]:
        """Take in what comes on the way, until there is an answer, or the deadline is over: then the call fails."""
        while True:
            events, over = pending.take_events()
            for name, params in events:
                if name == "session.tool":
                    deadline += yield from self._answer_tool(params, caller)
                else:
                    _notify(listeners, name, params)
            if over:
                return
            # Looked at here, too: of a server that never stops talking, the signal is always set.
            if monotonic() >= deadline or not (yield Wait((), deadline, signal=pending.signal)):
                late = SandboxClosed("the server has not answered in time")
                self._wire.lose(late)
                pending.fail(late)

    def _answer_tool(self, params: Any, caller: RemoteCaller | None) -> Core[float]:
        """Answer a call of a host tool. Returns the seconds that it took here, for which the step has more time; 0 for
        one that is beyond the limit.
        """
        most = (self.policy.limits.value_kb << 10) * 4 // 3 + 4
        if isinstance(params, dict) and len(str(params.get("arguments", ""))) > most:
            raise ProtocolError("the server tells of a call with more than limits.value_kb")
        sent = converted(params, StepCall)
        if caller is None or sent.tool not in self.toolbox.tools or sent.session != caller.session:
            raise ProtocolError(f"the server tells of a call of {sent.tool[:100]!r}, which this step cannot make")
        yield from caller.begin(sent, self.toolbox.tools[sent.tool])
        started = monotonic()
        deadline = None if sent.seconds is None else started + sent.seconds
        answer = RelayedAnswer("broken", error="the host was interrupted")  # and the step ends
        try:
            reply = yield from self.toolbox.answer(ToolRequest(sent.call, sent.tool, sent.arguments), caller, deadline)
            answer = RelayedAnswer(caller.outcome, reply.value, reply.error_type, reply.error, reply.inside)
            if (later := caller.later) is not None:
                answer = replace(answer, note=later.answer.note, seconds=later.answer.seconds, asked=later.asked)
        except ProtocolError as error:  # as in a session here, that ends the step
            answer = RelayedAnswer("broken", error=str(error))
        finally:
            fields = asdict(answer) | {"value": None if answer.value is None else marked(answer.value)}
            params = {"session": sent.session, "call": sent.call, **fields}
            replied = yield from ending(weight(params), partial(self._wire.begin, "session.reply", params))
        spent = monotonic() - started if caller.calls_of_step <= self.policy.tools.max_calls else 0.0
        try:
            yield from self._until_over(replied, monotonic() + PATIENCE_SECONDS)
            shaped("session.reply", replied.answer())
        finally:
            replied.close()
        return spent

    def _wait_for_end(
        self,
        pending: RemoteCall,
        stop: Callable[[], Core[object]] | None,
        undo: Callable[[Any], Core[None]] | None,
        method: str,
    ) -> Core[None]:
        """Wait for the end of a call whose answer nobody wants any more; `stop` and `undo` as for `call`."""
        pending.wanted = False
        deadline = monotonic() + PATIENCE_SECONDS
        while not pending.over and monotonic() < deadline and self.alive:
            if stop is not None:
                yield from stop()
            yield Wait((), monotonic() + STOP_SECONDS, signal=pending.signal)
            pending.take_events()
        if undo is not None and pending.over:
            try:
                answer = shaped(method, pending.answer())
            except Exception:
                return
            yield from undo(answer)


class RemoteCaller:
    """A step of a session elsewhere, as the host tools here see it: a `tools.answers.Caller`. What waits and what is
    written down is the server's.
    """

    def __init__(self, session: str, answer: Allow | None = None, waits: WaitingCall | None = None) -> None:
        """`answer`: to the call that `waits`, which comes once more."""
        self.session = session
        self._answer, self._waits = answer, waits
        self._decided: Allow | None = None
        """The answer that was given, if it is for the call which is made now."""
        self.later: PutOff | None = None
        """The reason why the call that is made now is put off."""
        self.outcome: Any = ""
        """The outcome of it."""
        self.number = 0
        self.calls_of_step = 0
        self.tool_records = ToolLog()
        self.bill = Bill()

    def begin(self, sent: StepCall, tool: Tool) -> Core[None]:
        """Take a call of the server. An answer counts once, for the very call that was shown: a server may lie."""
        self.number, self.later, self._decided = sent.step, None, None
        self.outcome = "refused"  # as one is that is so far beyond the limit that nobody keeps its answer
        waits = self._waits
        if sent.allowed and waits is not None and waits.tool == sent.tool:
            arguments = packed(sent.arguments)
            made = yield from apart(len(sent.arguments), lambda: jsonable(by_names(tool, *arguments_of(arguments))))
            if made == jsonable(waits.arguments):
                self._decided, self._waits = self._answer, None

    def earlier_answer(self, call: ToolRequest) -> tuple[None, Allow | None]:
        """Return what is decided about a call."""
        return None, self._decided

    def keep_answer(self, call: ToolRequest, reply: ToolReply, outcome: str, *, deferred: bool) -> None:
        """Keep what became of the call: the server keeps what its step was answered."""
        self.outcome = outcome

    def put_off(self, call: ToolRequest, later: PutOff) -> Core[str]:
        """Leave it to the server to wait, or to refuse that."""
        yield from ()
        self.later = later
        return ""

    def secured(self) -> Core[None]:
        """Write nothing down."""
        yield from ()


def _notify(listeners: Listeners, name: str, params: Any) -> None:
    """Let the caller's functions hear what came on the way, in the caller's own thread."""
    event = converted(params, EVENTS[name]) if name in EVENTS else None
    if isinstance(event, StepOutput):
        for hear in (listeners.stdout if event.stream == "stdout" else listeners.stderr, listeners.output):
            if hear is not None:
                hear(event.text)
    elif isinstance(event, StepDisplay) and listeners.display is not None:
        listeners.display(display_of(Display, params))
    elif isinstance(event, StepProgress) and listeners.progress is not None:
        listeners.progress(event.description, event.done, event.total)
