"""The cores of a sandbox and of sessions elsewhere: generators like those of `host`, which the same API drives.

Each method is one call of the server's table. What comes back is checked against the table's shape; a server that
answers anything else is a `ProtocolError`.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from inspect import Parameter, Signature
from itertools import count
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import astuple, replace

from safeexec.common.text import as_bytes
from safeexec.engine.approvals import Allow, Approval, Deny
from safeexec.engine.host.session.listeners import NOBODY, Callbacks, Listeners, listening
from safeexec.engine.host.session.standard_input import Given, checked_arguments, encoded, pieces_of
from safeexec.engine.host.session.tool_calls import ToolLog
from safeexec.engine.host.tools.answers import PutOff
from safeexec.engine.host.tools.tool import by_names, tools_from
from safeexec.engine.host.tools.toolbox import Toolbox
from safeexec.engine.host.waiting import Core, Wait, Work, apart, drive
from safeexec.engine.host.watch.bill import Bill
from safeexec.engine.policy.model import Policy
from safeexec.errors import ProtocolError, RecordingError, SandboxClosed, SandboxError, SessionClosed, ToolError
from safeexec.protocol.arguments import encode_payload
from safeexec.protocol.confinement import Mechanism
from safeexec.protocol.messages import ToolReply, ToolRequest
from safeexec.recordings.forms import arguments_of, packed, shapes_of
from safeexec.recordings.store.interface import StoredSession
from safeexec.remote.calls import RemoteCall, Wire
from safeexec.remote.methods import (
    EVENTS,
    EVERY,
    MAX_FILE,
    Protection,
    StepCall,
    StepDisplay,
    StepOutput,
    StepProgress,
)
from safeexec.results import (
    CommandResult,
    Display,
    Result,
    TemplateInfo,
    WaitingCall,
)
from safeexec.results.jsonable import jsonable
from safeexec.results.marked import marked, unmarked
from safeexec.results.outcomes import is_text
from safeexec.results.stats import SandboxStats, SessionCounts

if TYPE_CHECKING:
    from safeexec.api.audit import Observer
    from safeexec.engine.host.children import Files
    from safeexec.engine.host.sandbox import Tools
    from safeexec.engine.host.tools.tool import Tool

R = TypeVar("R")
PATIENCE_SECONDS = 60.0
"""How much longer than a step may take a server may take to answer."""
STOP_SECONDS = 0.05
"""How often a step is stopped that nobody waits for any more: one that just begins cannot be stopped yet."""
EFFECTS = "a tool whose effect follows the steps of a session (safeexec.tool) is called where the session is, alone"
UNRECORDED = (
    "sessions are recorded where they run: a server does so with `safeexec serve --record DIR`, a container does not"
)


def method_of(verb: str, *names: str, at_once: bool = False) -> Callable[..., Any]:
    """Return a method that is one call of the server: its arguments by their names there, and the one field of the
    answer. `at_once`: it drives the call itself.
    """

    def method(self: RemoteSandboxCore | RemoteSessionCore, *given: Any) -> Any:
        called = self.call_for_field(verb, **dict(zip(names, given, strict=True)))
        return drive(called) if at_once else called

    taken = [Parameter(name, Parameter.POSITIONAL_ONLY) for name in ("self", *names)]
    method.__signature__ = Signature(taken)  # type: ignore[attr-defined]
    return method


def _field_of(answer: Struct) -> Any:
    """Return the one field of an answer, or None where it has none."""
    (field,) = astuple(answer) or (None,)  # a method whose answer has more of them is no `call_for_field`
    return field


class RemoteSandboxCore:
    """One policy of a server."""

    without_plugins = (
        "plugins are not offered over a connection or in a container: run the source as a step of a session, and then "
        "its functions, as session.run('transform(value)', namespace={'value': 3})"
    )
    begun = False
    """Whether it was opened, be it in vain: who opens the sandbox once more makes another core."""
    queue_seconds = 0.0
    """How long it may take until there is room for a session, where its opening does not say."""
    observer: Observer | None = None
    protection: Sequence[Mechanism] = ()
    _which: dict[str, str] = {}
    """The parameter of each call that names the policy; none: the server's default."""

    def __init__(self, wire: Wire, policy: str | None, tools: Tools = None, approval: Approval | None = None) -> None:
        self._wire = wire
        if policy is not None:
            self._which = {"policy": policy}
        self.policy = Policy()
        self._given = tools, approval
        self.toolbox = Toolbox({}, self.policy, None)

    @property
    def alive(self) -> bool:
        return self._wire.alive

    def open(self, launched: None = None) -> Core[None]:
        """Ask what the server's policy says, and what holds its sessions."""
        self.begun = True
        try:
            self.policy = _converted((yield from self.call_for_field("policy")), Policy)
            self.toolbox = toolbox_of(*self._given, self.policy)
            yield from self.declare()
        except BaseException:
            yield from self.close()
            raise

    def declare(self) -> Core[None]:
        """Tell the server of the host tools, and ask what holds its sessions."""
        if self.toolbox.tools:
            declared = msgspec.to_builtins(shapes_of(self.toolbox.signatures()))
            self._which = {"policy": (yield from self.call_for_field("tools", tools=declared))}
        self.protection = _mechanisms((yield from self.call_for_field("protection")))

    def close(self) -> Core[None]:
        self.toolbox.close()
        yield Work(self._wire.close)

    def new_session(self, **given: Any) -> Core[RemoteSessionCore]:
        params = self.beginning(**given)
        return (yield from self._opened("session", params, params.get("queue_seconds", self.queue_seconds)))

    def beginning(
        self, namespace: Mapping[str, Any] | None = None, record: object = None, **others: Any
    ) -> dict[str, Any]:
        """Return the keywords of a new session, as the server takes them."""
        _unrecorded(record)
        if "files" in others:
            raise SandboxError("over a connection files are put into a session that is open: session.write_file()")
        params = {name: value for name, value in others.items() if value is not None}
        if namespace:
            params["namespace"] = self.values(namespace)
        return params

    def session_for(
        self, label: str, state: object, keywords: dict[str, Any], new: bool = True
    ) -> Core[RemoteSessionCore]:
        """Return the session of that label in the server's store. Raises `SandboxError` where it has none."""
        if not new:
            raise SandboxError("over a connection session_for() takes no `new`: stored() says which sessions there are")
        if state is not None:
            raise SandboxError("over a connection a session begins with a state by restore(), and not by its label")
        return self.new_session(**keywords, stored=label)

    remove_stored = method_of("forget", "label")
    waiting = method_of("waiting")
    templates = method_of("templates", at_once=True)
    drop_template = method_of("drop_template", "name")

    def stored(self) -> Core[list[StoredSession]]:
        return [StoredSession(row.label, row.bytes, row.used) for row in (yield from self.call_for_field("stored"))]

    def stats(self) -> SandboxStats:
        """Return what the server counts. Raises `SandboxError` over HTTP."""
        answer = drive(self._call("stats"))
        counted: SandboxStats = _converted(answer.stats, SandboxStats)
        labels = _converted(answer.labels, list[tuple[str | None, SessionCounts]])
        return replace(counted, by_label=dict(labels))

    def new_template(
        self,
        name: str,
        prepare: object,
        files: Files | None,
        timeout: float | None,
        tightened: Mapping[str, Any],
        api: object,
    ) -> Core[TemplateInfo]:
        if not isinstance(prepare, str | None):
            raise SandboxError("a template elsewhere is prepared by a program: prepare= is its text")
        held = {path: marked(data) for path, data in (yield Work(partial(contents_of, files or {})))}
        given = {"name": name, "prepare": prepare, "files": held, "timeout": timeout, **tightened}
        row: TemplateInfo = yield from self.call_for_field("template", **given)
        return row

    def restore(
        self, path: str | os.PathLike[str], timeout: float | None, record: object = None
    ) -> Core[RemoteSessionCore]:
        _unrecorded(record)
        state = marked((yield Work(partial(read_file, path))))
        return (yield from self._opened("restore", {"state": state, "timeout": timeout}))

    def values(self, namespace: Mapping[str, Any] | None) -> dict[str, dict[str, str]]:
        """Return variables as they cross. Raises TypeError and ValueError for what is not a variable."""
        given = namespace or {}
        bounds = {"value_kb": self.policy.limits.value_kb, "value_depth": self.policy.limits.value_depth}
        return {name: marked(encode_payload(name, given[name], **bounds), "encoded") for name in given}

    def _opened(self, verb: str, params: dict[str, Any], seconds: float = 0.0) -> Core[RemoteSessionCore]:
        def undo(answer: Any) -> Core[None]:
            yield from RemoteSessionCore(self, answer.session).close()

        answer = yield from self._call(verb, params, seconds=seconds, undo=undo)
        return RemoteSessionCore(self, answer.session, params.get("label"))

    def command(self, argv: object, directory: object, timeout: object) -> Core[CommandResult]:
        yield from ()
        raise SandboxError("over a connection, programs run in the workspace of a session: session.command()")

    def check(self, source: str, stdin: bool) -> Core[Result]:
        return _result((yield from self._call("check", {"source": _source(source), "stdin": stdin})))

    # Calls

    def _call(self, verb: str, params: Mapping[str, Any] = {}, **how: Any) -> Core[Any]:
        """Return the answer to a call about this policy. `how`: as for `call`."""
        return self.call(f"sandbox.{verb}", {**self._which, **params}, **how)

    def call_for_field(self, verb: str, /, **params: Any) -> Core[Any]:
        """Return the one field of the answer to a call about this policy."""
        return _field_of((yield from self._call(verb, params)))

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
        `seconds` longer than any step, or as long as `within` says. When whoever waits is interrupted the server
        finishes: `stop` is done until it has, and `undo` with what it answered.
        """
        pending = self._wire.begin(method, params)
        if within is None:
            within = self.policy.limits.max_wall_seconds + seconds + PATIENCE_SECONDS
        try:
            try:
                yield from self._until_over(pending, monotonic() + within, listeners, caller)
            except BaseException as problem:
                ending = self._given_up(pending, stop, undo, method)
                if isinstance(problem, GeneratorExit):
                    drive(ending)
                else:
                    yield from ending
                raise
            return _shaped(method, pending.answer())
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
        told = _converted(params, StepCall)
        if caller is None or told.tool not in self.toolbox.tools or told.session != caller.session:
            raise ProtocolError(f"the server tells of a call of {told.tool[:100]!r}, which this step cannot make")
        yield from caller.begin(told, self.toolbox.tools[told.tool])
        started = monotonic()
        deadline = None if told.seconds is None else started + told.seconds
        which: dict[str, Any] = {"session": told.session, "call": told.call}
        answer: dict[str, Any] = {"outcome": "broken", "error": "the host was interrupted"}  # and the step ends
        try:
            reply = yield from self.toolbox.answer(ToolRequest(told.call, told.tool, told.arguments), caller, deadline)
            answer = {"value": None if reply.value is None else marked(reply.value), "error_type": reply.error_type}
            answer |= {"error": reply.error, "inside": reply.inside, "outcome": caller.outcome}
            if (later := caller.later) is not None:
                answer |= {"note": later.answer.note, "seconds": later.answer.seconds, "asked": later.asked}
        except ProtocolError as error:  # as in a session here, that ends the step
            answer = {"outcome": "broken", "error": str(error)}
        finally:
            replied = self._wire.begin("session.reply", which | answer)
        spent = monotonic() - started if caller.calls_of_step <= self.policy.tools.max_calls else 0.0
        try:
            yield from self._until_over(replied, monotonic() + PATIENCE_SECONDS)
            _shaped("session.reply", replied.answer())
        finally:
            replied.close()
        return spent

    def _given_up(
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
                answer = _shaped(method, pending.answer())
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
        """Why the call that is made now is put off."""
        self.outcome = ""
        """What became of it."""
        self.number = 0
        self.calls_of_step = 0
        self.tool_records = ToolLog()
        self.bill = Bill()

    def begin(self, told: StepCall, tool: Tool) -> Core[None]:
        """Take a call of the server. What was answered counts once, and for no other call than the caller was shown: a
        server may lie.
        """
        self.number, self.later, self._decided = told.step, None, None
        self.outcome = "refused"  # as one is that is so far beyond the limit that nobody keeps its answer
        waits = self._waits
        if told.allowed and waits is not None and waits.tool == told.tool:
            arguments = packed(told.arguments)
            made = yield from apart(len(told.arguments), lambda: jsonable(by_names(tool, *arguments_of(arguments))))
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


_numbers = count(1)


class RemoteSessionCore:
    """A session of a server."""

    turns = supervisor = steps = variables = files = way_back = waits = property(lambda self: self)
    """The parts by which the APIs reach what they call (`SessionCore`). A session elsewhere has none: each of them is
    the session itself, by a property, as an attribute would keep it when nobody has it any more.
    """
    workspace = None
    """Its files are the server's: `read_file`, `write_file` and `list_files` reach them."""

    def __init__(self, sandbox: RemoteSandboxCore, identity: str, label: str | None = None) -> None:
        self._sandbox = sandbox
        self.identity = identity
        self.number = next(_numbers)
        self.label = label
        self._waits: WaitingCall | None = None
        """The call that the caller was shown last that it waits for."""

    def _call(self, verb: str, params: Mapping[str, Any], **how: Any) -> Core[Any]:
        """Return the answer to a call about this session. `how`: as for `RemoteSandboxCore.call`."""
        return self._sandbox.call(f"session.{verb}", {"session": self.identity, **params}, **how)

    def call_for_field(self, verb: str, /, **params: Any) -> Core[Any]:
        """Return the one field of the answer to a call about this session."""
        return _field_of((yield from self._call(verb, params)))

    @property
    def summary(self) -> str:
        """The session in a few words."""
        return f"of {self._sandbox.policy.name!r}, over a connection"

    @property
    def untold_cpu(self) -> float:
        raise SandboxError("over a connection only the server knows what a session uses between its steps")

    def take(self) -> None:
        """Count no callers: the server closes what nobody uses."""

    abandon = take

    def close(self) -> Core[None]:
        if self._sandbox.alive:
            try:
                yield from self.call_for_field("close")
            except (SessionClosed, SandboxClosed):
                pass

    # Steps

    def run(
        self,
        source: str,
        *,
        timeout: float | None,
        atomic: bool,
        callbacks: Callbacks,
        stdin: Given | None = None,
        argv: Sequence[str] | None = None,
        namespace: Mapping[str, Any] | None = None,
        wait: float | None = None,
    ) -> Core[Result]:
        caller = RemoteCaller(self.identity) if self._sandbox.toolbox.tools else None
        params = {
            "source": _source(source),
            "timeout": timeout,
            "atomic": atomic,
            "stdin": _input(stdin),
            "argv": None if argv is None else checked_arguments(argv),
            "namespace": self._sandbox.values(namespace),
        }
        result = yield from self._step("run", params, callbacks, caller, wait)
        if caller is not None and caller.later is None:
            result = replace(result, tool_calls=caller.tool_records.since(0))
        return self._told(source, result)

    def _step(
        self, verb: str, params: dict[str, Any], callbacks: Callbacks, caller: RemoteCaller | None, wait: float | None
    ) -> Core[Result]:
        """Run a step, or go on with one. `wait`: for how long until it begins."""
        listeners = listening(callbacks) if any(callbacks) else NOBODY  # most steps have none: those cost nothing
        params |= {"wait": wait, "stream": listeners is not NOBODY or caller is not None, "exact": True}
        answer = yield from self._call(
            verb, params, listeners=listeners, caller=caller, seconds=wait or 0.0, stop=self._stop
        )
        result = _result(answer)
        self._waits = result.waiting_for
        return result

    def _told(self, source: str, result: Result) -> Result:
        """Return the result of a step, after the observer here has seen it."""
        if (observer := self._sandbox.observer) is not None:
            observer.step_done(self, source.encode("utf-8", "surrogatepass"), result)
        return result

    def answer(self, answer: object, callbacks: Callbacks, wait: float | None = None) -> Core[Result]:
        caller = None
        if self._sandbox.toolbox.tools:
            waits = self._waits or (yield from self.shown())
            allows = Allow() if answer is True else answer if isinstance(answer, Allow) else None
            caller = RemoteCaller(self.identity, allows, waits)
        if isinstance(answer, Allow):
            params = {"allow": True, "arguments": self._sandbox.values(answer.arguments)}
        elif isinstance(answer, Deny):
            params = {"allow": False, "reason": answer.reason}
        else:
            params = {"value": self._sandbox.values({"value": answer})["value"]}
        return (yield from self._step("answer", params, callbacks, caller, wait))

    def shown(self) -> Core[WaitingCall | None]:
        self._waits = yield from self.call_for_field("waiting_for")
        return self._waits

    cancel_waiting = method_of("cancel_waiting")

    def check_free(self) -> None:
        """Check nothing: the server says so when the step begins."""

    def patiently(self, seconds: float, operation: Callable[..., Core[R]]) -> Core[R]:
        """Leave it to the server to wait until the session is free."""
        return operation(wait=seconds)

    def sql(self, query: str, name: str | None, timeout: float | None) -> Core[Result]:
        params = {"query": query, "name": name, "timeout": timeout, "exact": True}
        return self._told(query, _result((yield from self._call("sql", params, stop=self._stop))))

    def check(self, source: str, stdin: bool) -> Core[Result]:
        return self._sandbox.check(source, stdin)

    def _stop(self) -> Core[bool]:
        try:
            return bool((yield from self.call_for_field("cancel")))
        except (SessionClosed, SandboxClosed):
            return False

    def cancel(self) -> bool:
        return drive(self._stop())

    # State

    @property
    def policy(self) -> Policy:
        found: Policy = _converted(drive(self.call_for_field("policy")), Policy)
        return found

    def card(self, format: Literal["text", "markdown", "json"]) -> str:
        return self.policy.card(format, tools=self._sandbox.toolbox.tools.values())

    def fetch(self, name: str, *, arrays: bool = False) -> Core[tuple[bool, Any]]:
        answer = yield from self._call("get", {"name": name, "exact": True})
        return answer.found, _value(answer.value)

    def assign(self, name: str, value: Any) -> Core[None]:
        yield from self.call_for_field("set", name=name, value=self._sandbox.values({name: value})[name])

    remove = method_of("remove", "name")
    names = method_of("names")
    described = method_of("variables")

    # Checkpoints

    checkpoint = method_of("checkpoint", "name")
    rollback = method_of("rollback", "name", "steps")
    rows = method_of("checkpoints", at_once=True)
    drop = method_of("drop", "name")

    def note(self, text: str, score: float | None) -> None:
        """Record nothing over a connection."""

    def pending(self) -> NoReturn:
        raise SandboxError("deferred calls are carried out where the tools are: over a connection that is the server")

    def carry_out(self) -> Core[NoReturn]:
        yield from ()
        self.pending()

    def history(self) -> NoReturn:
        raise RecordingError(UNRECORDED)

    def branch(self, count: int, checkpoints: str | None = None) -> Core[list[RemoteSessionCore]]:
        def undo(answer: Any) -> Core[None]:
            for identity in answer.sessions:
                yield from RemoteSessionCore(self._sandbox, identity).close()

        answer = yield from self._call("branch", {"n": count, "checkpoints": checkpoints}, undo=undo)
        return [RemoteSessionCore(self._sandbox, identity, self.label) for identity in answer.sessions]

    def save(
        self, path: str | os.PathLike[str], timeout: float | None, *, wait: float | None = None
    ) -> Core[dict[str, str]]:
        params = {"timeout": timeout, "wait": wait}
        answer = yield from self._call("save", params, seconds=wait or 0.0, stop=self._stop)
        yield Work(partial(_write_file, path, answer.state.base64))
        return dict(answer.unsaved)

    # Files and protection

    def command(self, argv: Sequence[str], directory: str, timeout: float | None) -> Core[CommandResult]:
        return self.call_for_field("command", argv=list(argv), cwd=directory, timeout=timeout)

    def read_file(self, name: str, max_bytes: int | None = None) -> bytes:
        return bytes(drive(self.call_for_field("read_file", name=name, max_bytes=max_bytes)).base64)

    def write_file(self, name: str, data: bytes | str) -> None:
        drive(self.put(name, as_bytes(data)))

    def put(self, name: str, data: bytes) -> Core[None]:
        """Put a file as `write_file` does, for a loop."""
        yield from self.call_for_field("write_file", name=name, data=marked(_fitting(data)))

    list_files = method_of("list_files", at_once=True)

    def protection(self) -> Core[tuple[Mechanism, ...]]:
        return tuple(_mechanisms((yield from self.call_for_field("protection"))))


# What goes


def toolbox_of(tools: Tools, approval: Approval | None, policy: Policy) -> Toolbox:
    """Return the host tools for a sandbox elsewhere. Raises `ToolError`."""
    toolbox = Toolbox(tools_from(tools), policy, approval)
    if toolbox.has_effects:
        raise ToolError(EFFECTS)
    return toolbox


def _unrecorded(record: object) -> None:
    if record is not None and record is not False:
        raise RecordingError(UNRECORDED)


def _fitting(data: bytes) -> bytes:
    if len(data) > MAX_FILE:
        raise SandboxError(f"{len(data)} bytes are more than the {MAX_FILE} that fit into one message")
    return data


def _source(text: str) -> dict[str, str] | str:
    """Return a source as it crosses: as text, or where it holds half of a character, which JSON cannot carry, as its
    bytes.
    """
    if not isinstance(text, str):
        raise TypeError(f"source must be str, not {type(text).__name__}")
    try:
        text.encode()
    except UnicodeEncodeError:
        return marked(text.encode("utf-8", "surrogatepass"))
    return text


def _input(given: Given | None) -> dict[str, str] | str | None:
    """Return standard input as a whole: over a connection it is sent before the step begins."""
    if given is None:
        return None
    if isinstance(given, str):
        encoded(given, "stdin")
        return given
    if isinstance(given, bytes | bytearray | memoryview):
        return marked(_fitting(bytes(given)))
    pieces, size = [], 0
    for piece in pieces_of(given):
        pieces.append(piece)
        size += len(piece)
        if size > MAX_FILE:
            break
    return marked(_fitting(b"".join(pieces)))


def contents_of(files: Mapping[str, Any]) -> list[tuple[str, bytes]]:
    """Return the bytes of what is given for sessions to begin with; of a directory, of each regular file in it."""
    found: list[tuple[str, bytes]] = []
    for name, content in files.items():
        if isinstance(content, bytes):
            found.append((name, content))
        elif os.path.isdir(content):
            top = Path(content)
            paths = sorted(path for path in top.rglob("*") if path.is_file() and not path.is_symlink())
            found += [(f"{name}/{path.relative_to(top).as_posix()}", read_file(path)) for path in paths]
        else:
            found.append((name, read_file(content)))
    return found


def read_file(path: str | os.PathLike[str]) -> bytes:
    with open(path, "rb") as file:
        return _fitting(file.read(MAX_FILE + 1))


def _write_file(path: str | os.PathLike[str], data: bytes) -> None:
    with open(path, "wb", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
        file.write(data)


# What comes back


def _shaped(method: str, answer: Any) -> Any:
    shape = EVERY[method].answer
    return answer if shape is Result else _converted(answer, shape)


def _converted(answer: Any, shape: Any) -> Any:
    try:
        return msgspec.convert(answer, shape, dec_hook=_display)
    except (msgspec.ValidationError, ValueError, TypeError) as error:
        raise ProtocolError(f"the server's answer has not the shape that was agreed: {error}") from None


def _result(answer: Any) -> Result:
    value = answer.pop("value", None) if isinstance(answer, dict) else None
    result: Result = _converted(answer, Result)
    return replace(result, value=_value(value))


def _value(value: Any) -> Any:
    try:
        return unmarked(value)
    except ValueError as error:
        raise ProtocolError(f"a value cannot be read: {error}") from None


def _display(_: type, given: Any) -> Display:
    """Return a display, the one type in a result that msgspec does not know."""
    shown = msgspec.convert(given, StepDisplay)
    data = {mime: item if is_text(mime) else base64.b64decode(item, validate=True) for mime, item in shown.data.items()}
    return Display(data, shown.truncated, shown.display_id, shown.update)


def _mechanisms(rows: list[Protection]) -> list[Mechanism]:
    return [Mechanism(row.name, row.active, row.detail) for row in rows]


def _notify(listeners: Listeners, name: str, params: Any) -> None:
    """Let the caller's functions hear what came on the way, in the caller's own thread."""
    event = _converted(params, EVENTS[name]) if name in EVENTS else None
    if isinstance(event, StepOutput):
        for hear in (listeners.stdout if event.stream == "stdout" else listeners.stderr, listeners.output):
            if hear is not None:
                hear(event.text)
    elif isinstance(event, StepDisplay) and listeners.display is not None:
        listeners.display(_display(Display, params))
    elif isinstance(event, StepProgress) and listeners.progress is not None:
        listeners.progress(event.description, event.done, event.total)
