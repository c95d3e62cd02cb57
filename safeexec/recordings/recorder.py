"""Records the operations of a session, each by its name, before it begins and after it has ended.

`LINES` and `OPERATIONS` say what is written of which operation of a session and its parts. A session without a recorder
never comes here.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from safeexec.common.identity import LARGE, weight
from safeexec.common.text import shorten
from safeexec.common.version import VERSION
from safeexec.engine.host.session.standard_input import pieces_of
from safeexec.engine.host.session.turns import OperationName
from safeexec.engine.host.startup.launch import environment
from safeexec.engine.host.waiting import Core, Work, apart, worked
from safeexec.errors import RecordingError, StoreError, WorkspaceError
from safeexec.protocol import messages as m
from safeexec.recordings import format as form
from safeexec.recordings import forms
from safeexec.recordings.reader import Recording
from safeexec.recordings.served import EarlierSteps
from safeexec.recordings.timeline import Timeline
from safeexec.recordings.writer import RecordOptions, RecordWriter

if TYPE_CHECKING:
    from safeexec.engine.host.session.interfaces import ToolAnswers
    from safeexec.recordings.session import RecordedSession
    from safeexec.results import Result

SessionMethod = Callable[..., Core[Any]]
TOO_MANY_VARIABLES = 1 << 30
"""Stands for how many variables are set before a step whose values have no room in a line."""


class TemplateRecord(NamedTuple):
    """The recording of the preparation of a template."""

    name: str
    problem: str
    """The reason why it stopped before its end; "" if it did not."""
    records: list[Any]
    """All that there is, the heading first."""


def record(
    session: RecordedSession, options: Any, state: bytes | None = None, prepared: TemplateRecord | None = None
) -> SessionRecording:
    """Record a session that has just been opened, with the `state` that it goes on from, or how its template was
    `prepared`. `options`: a path, True (in memory), `RecordOptions`, or a function that returns what keeps the session
    in a store. Raises `RecordingError`.
    """
    if prepared is not None and prepared.problem:
        message = f"how the template {prepared.name!r} was prepared could not be recorded: {prepared.problem}"
        raise RecordingError(message)
    if callable(options):
        recording: SessionRecording = options(session, saved=state is not None)
    else:
        given = RecordOptions() if options is True else options
        given = given if isinstance(given, RecordOptions) else RecordOptions(path=given)
        recording = SessionRecording(RecordWriter(given))
    started = datetime.now(UTC).isoformat()
    files: dict[str, bytes] = {}
    if state is None and prepared is None:
        with suppress(WorkspaceError):  # its policy gives it no workspace
            files = {name: session.files.read_file(name) for name in session.files.list_files()}

    def heading(n: int, at: float) -> form.Heading:
        policy = session.policy
        recording.heading = made = form.Heading(
            n=n,
            at=at,
            format=form.FORMAT,
            safeexec=VERSION,
            python=platform.python_version(),
            machine=f"{platform.system()} {platform.release()} {platform.machine()}",
            libraries=forms.libraries(policy.imports),
            environment={"TZ": "UTC"} | environment(policy, stored=recording.stored),
            started=started,
            policy=policy.name,
            digest=policy.digest,
            yaml=policy.to_yaml(),
            origins=dict(policy.origins),
            label=session.label,
            tools=forms.shapes_of(session.sandbox.toolbox.signatures()),
            files=forms.contents(files) if prepared is None else prepared.records[0].files,
            state=None if state is None else forms.content(state),
            redacted=sorted(recording.writer.options.redact),
            identity=recording.identity,
            entropy=recording.entropy.hex(),
        )
        return made

    recording.attach(session)  # before the thread that writes is there: whoever closes the session ends it
    recording.writer.add(heading)
    if prepared is not None:
        recording.begin_with(prepared, session)
    return recording


def preparation(session: RecordedSession, recording: SessionRecording, name: str) -> TemplateRecord:
    """Return what was recorded of a session that has prepared a template; nothing more is."""
    session.turns.recorder, session.steps.toolbox = None, session.sandbox.toolbox
    writer = recording.writer
    writer.flush()
    try:
        return TemplateRecord(name, writer.problem, [] if writer.problem else list(recording.records()))
    finally:
        writer.close()


class SessionRecording:
    """One recording: a session and its branches. That of a stored session, `Durable`, does more: see
    "What a stored session does otherwise" below.
    """

    writer: RecordWriter
    heading: form.Heading
    stored = False
    """True if another process may go on with it. The branches of a stored session end with their host."""
    identity = ""
    entropy = b""
    """Seed of the random numbers of its first process, where that is to be written down."""

    def __init__(self, writer: RecordWriter | None = None) -> None:
        """`writer`: None where there is none yet."""
        if writer is not None:
            self.writer = writer
        self.calls = count(1)
        self._numbers: Iterator[int] = count(1)
        self.sessions = 0
        """Number of open sessions: with the last one the recording ends."""
        self.earlier = EarlierSteps()
        """Answers the calls of steps that were undone and run again."""
        self.variables = self.size = 0
        """Number of variables that were set before the step that runs, and the bytes of its source."""

    # What a stored session does otherwise

    def records(self) -> Recording:
        """Return what is written."""
        assert self.writer.file is not None
        return Recording(self.writer.file.path)

    def take_transition(self, session: RecordedSession) -> dict[str, Any]:
        """Take in which state an operation has led to, and how. Returns fields of its line."""
        return {}

    def check(self) -> None:
        """Raise `StoreError` where nothing more can be written."""

    def after(self, session: Any, result: Result) -> Core[Result]:
        """See to it that a step that has ended is kept. Returns its result. That the recording has stopped is said in
        its notes, once.
        """
        writer = self.writer
        if writer.options.durable:
            yield from worked(writer.flush)
        if writer.problem and not session.turns.recorder.stop_noted:
            session.turns.recorder.stop_noted = True
            stopped = f"the recording of this session has stopped: {writer.problem}"
            return replace(result, notes=(*result.notes, stopped))
        return result

    def changed(self, session: Any) -> Core[None]:
        """See to it that what the host has set, or gone back to, is kept. Raises `StoreError`: then it is undone."""
        yield from ()

    def closed(self) -> None:
        """End it: its last session is over."""
        self.writer.close()

    # Its sessions

    def begin_with(self, prepared: TemplateRecord, session: RecordedSession) -> None:
        """Begin with how the template of a session was prepared. Its number, 1, is the session's, too."""
        calls, sessions = 0, 1
        for one in prepared.records[1:]:
            self.writer.add(one)
            if isinstance(one, form.Called):
                calls = one.call
            elif isinstance(one, form.Branched):
                sessions = max(sessions, *one.branches, 0)
        now = session.processes.history.current.step
        self.writer.add(form.FromTemplate(session=1, step=session.steps.number, now=now, name=prepared.name))
        self.calls, self._numbers = count(calls + 1), count(sessions + 1)

    def attach(self, session: RecordedSession) -> None:
        """Record this session and the calls of its tools."""
        self.join(session)
        session.steps.toolbox = RecordedTools(session.steps.toolbox, self)

    def join(self, session: RecordedSession) -> int:
        """Record this session, too. Returns its number."""
        number = next(self._numbers)
        session.turns.recorder = Recorder(self, number)
        self.sessions += 1
        return number


class Recorder:
    """Records one session."""

    __slots__ = ("call", "number", "recording", "stop_noted")

    def __init__(self, recording: SessionRecording, number: int) -> None:
        self.recording = recording
        self.number = number
        self.call = 0
        """The number of the tool call that is made."""
        self.stop_noted = False
        """True once a result has said that the recording has stopped."""

    def perform(
        self, name: OperationName, operation: SessionMethod, session: RecordedSession, args: Any, kwargs: dict[str, Any]
    ) -> Core[Any]:
        """Do an operation of the session, and write down what it was and what came of it."""
        if name in UNRECORDED:
            return operation(*args, **kwargs)
        if name in LINES:
            return self._one_line(LINES[name], operation, session, args, kwargs)
        return OPERATIONS[name](self, operation, session, args, kwargs)

    def history(self) -> Timeline:
        """Return the history of this session and of those that it has branched into, or came from."""
        self.recording.writer.flush()
        return Timeline(self.recording.records(), self.number)

    def closed(self, session: RecordedSession) -> None:
        """Write that the session is over."""
        if not self.recording.stored:
            self.write(form.Closed(session=self.number, step=session.steps.number))
        self.recording.sessions -= 1
        if self.recording.stored or not self.recording.sessions:
            self.recording.closed()

    def note(self, session: RecordedSession, text: str, score: float | None) -> None:
        """Write down what the host has to say of the session as it is now."""
        self.write(form.Note(session=self.number, step=session.steps.number, text=text[:2000], score=score))

    def secured(self, *, intent: bool = False, written: bool = False) -> Core[None]:
        """Wait until the records are on the disk, where the options say so: an `intent` of a stored session always is.
        `written`: at least until it outlives this process.
        """
        recording = self.recording
        if intent or written or recording.writer.options.durable:
            yield Work(partial(recording.writer.flush, disk=intent and recording.stored))
            recording.check()

    def write(self, record: form.Record) -> None:
        self.recording.writer.add(record)

    # Steps

    def _run(self, operation: SessionMethod, session: RecordedSession, args: Any, kwargs: dict[str, Any]) -> Core[Any]:
        writer = self.recording.writer
        source, given = args[0], kwargs.get("stdin")
        copied: list[bytes] | None = None
        whole = None
        if given is None:
            pass  # as most steps: the tests below take time
        elif isinstance(given, str | bytes | bytearray | memoryview):
            whole = yield from apart(len(given), given.encode if isinstance(given, str) else partial(bytes, given))
        else:
            copied = []
            kwargs["stdin"] = _copying(pieces_of(given), copied)
        values: dict[str, bytes] = {}
        if namespace := kwargs.get("namespace"):
            for name, value in dict(namespace).items():
                values[name] = yield from apart(weight(value), partial(forms.encoded, value))
        argv = kwargs.get("argv")
        argv = None if argv is None else [str(item) for item in argv]
        said: dict[str, Any] = {"timeout": kwargs.get("timeout"), "atomic": bool(kwargs.get("atomic"))}
        number, step = self.number, session.steps.number + 1

        def begun(n: int, at: float) -> form.Run:
            return form.Run(
                n=n,
                at=at,
                session=number,
                step=step,
                source=source,
                argv=argv,
                stdin=None if whole is None else forms.content(whole),
                streamed=copied is not None,
                namespace={name: forms.packed(data, forms.short_text(data)) for name, data in values.items()},
                **said,
            )

        if not isinstance(source, str):
            return (yield from operation(*args, **kwargs))
        fits = all(len(data) <= forms.VALUE_BYTES for data in values.values())
        self.recording.variables, self.recording.size = len(values) if fits else TOO_MANY_VARIABLES, len(source)
        self.recording.earlier.begin(source)
        writer.add(begun, len(source) + len(whole or b"") + sum(map(len, values.values())))
        return (yield from self._to_its_end(operation(*args, **kwargs), session, copied))

    def _perform(self, operation: SessionMethod, session: RecordedSession, args: Any, kwargs: Any) -> Core[Any]:
        (make,) = args
        where: dict[str, Any] = {"session": self.number, "timeout": kwargs.get("timeout")}

        def making(step: int) -> m.Query:
            request: m.Query = make(step)
            text = request.query.decode("utf-8", "surrogatepass")
            self.write(form.Queried(source=text, name=request.name, step=step, **where))
            return request

        return (yield from self._to_its_end(operation(making, **kwargs), session, None))

    def _to_its_end(self, work: Core[Result], session: RecordedSession, copied: list[bytes] | None) -> Core[Result]:
        """Do a step and write down its end."""
        recording = self.recording
        try:
            result = yield from work
        except BaseException as error:
            self.write(form.Ended(**self._where(session), problem=_problem_of(error)))
            recording.earlier.ended(part=False)
            raise
        where = self._where(session)
        value, cancelled = b"", None
        if type(result.value) in (bool, int, float, str):
            value = forms.encoded(result.value)
        elif result.value is not None:  # how much it is, nobody knows before
            reading = partial(forms.encoded, result.value)
            try:
                value = yield from session.processes.bill.reading(LARGE, reading)
            except BaseException as error:  # the step is part of the session all the same: its line says so
                cancelled = error

        def ended(n: int, at: float) -> form.Ended:
            stdin = None if copied is None else forms.content(b"".join(copied))
            return forms.ended(result, value, n=n, at=at, stdin=stdin, **where)

        recording.earlier.ended(part=where["now"] == where["step"])
        shown = (item for display in result.displays for item in display.values())
        held = (value, result.stdout, result.stderr, result.text, *shown, *(copied or ()))
        recording.writer.add(ended, sum(map(len, held)))
        if (waiting := session.waits.waiting) is not None and result.outcome == "waiting":
            self.write(replace(waiting, session=self.number))
        try:
            if cancelled is not None:
                raise cancelled
            return (yield from recording.after(session, result))
        except BaseException:
            session.supervisor.note_untold(result)
            raise

    def _where(self, session: RecordedSession) -> dict[str, Any]:
        where = {"session": self.number, "step": session.steps.number, "now": session.processes.history.current.step}
        return where if self.number != 1 else where | self.recording.take_transition(session)

    # Other operations

    def _one_line(
        self, line: Line, operation: SessionMethod, session: RecordedSession, args: Any, kwargs: dict[str, Any]
    ) -> Core[Any]:
        """Do an operation, and write the one line of it when it is over."""
        make, size = line.make(*args)
        if size > forms.VALUE_BYTES and line.changes:
            self.recording.variables = TOO_MANY_VARIABLES
        known: dict[str, Any] = {}
        try:
            result = yield from operation(*args, **kwargs)
            if line.outcome is not None:
                known = line.outcome(self, result)
        except BaseException as error:
            known = {"problem": _problem_of(error)}
            raise
        finally:
            self.recording.writer.add(partial(make, **self._where(session), **known), size)
        if line.changes:
            yield from self.recording.changed(session)
        return result

    def _files(self, operation: SessionMethod, session: RecordedSession, args: Any, kwargs: Any) -> Core[Any]:
        files = session.files
        before = set(files.list_files())
        yield from operation(*args, **kwargs)
        (given,) = args
        for name in files.list_files():
            if name not in before or any(name == one or name.startswith(f"{one}/") for one in given):
                content = yield Work(lambda name=name: forms.content(files.read_file(name)))  # type: ignore[misc]
                self.write(form.Written(name=name, content=content, **self._where(session)))

    def _branched(self, branches: list[RecordedSession]) -> dict[str, Any]:
        return {} if self.recording.stored else {"branches": [self.recording.join(branch) for branch in branches]}


def _changed(request: m.Assign | m.Remove) -> RecordLine:
    if isinstance(request, m.Remove):
        return partial(form.Deleted, name=request.name), 0
    name, data = request.name, request.value
    return lambda **at: form.Set(name=name, value=forms.packed(data, forms.short_text(data)), **at), len(data)


def _written(name: str, given: Any) -> RecordLine:
    data = bytes(given)
    return lambda **at: form.Written(name=name, content=forms.content(data), **at), len(data)


RecordLine = tuple[Callable[..., form.Record], int]
"""Makes a record of what is known at the end; with the bytes that it holds till then."""


class Line(NamedTuple):
    """How an operation becomes one line of the recording."""

    make: Callable[..., RecordLine]
    """Returns the line, by the positional arguments of the operation."""
    outcome: Callable[[Recorder, Any], dict[str, Any]] | None = None
    """Returns what the line says of what the operation returned."""
    changes: bool = False
    """True if it leads to another state, which a store keeps."""


LINES: dict[str, Line] = {
    "set": Line(_changed, changes=True),
    "write": Line(_written),
    "save": Line(lambda *_: (form.StateSaved, 0), lambda _, failed: {"failed": failed}),
    "command": Line(
        lambda argv, cwd, timeout: (partial(form.Command, argv=list(argv), cwd=cwd, timeout=timeout), 0),
        lambda _, done: {"status": done.returncode, "stdout": done.stdout, "stderr": done.stderr},
    ),
    "checkpoint": Line(lambda name: (partial(form.Named, name=name), 0)),
    "rollback": Line(lambda name, steps: (partial(form.RolledBack, name=name, steps=steps), 0), changes=True),
    "drop": Line(lambda name: (partial(form.Dropped, name=name), 0)),
    "branch": Line(lambda *_: (form.Branched, 0), Recorder._branched),
}
"""Operations that are one line each."""
OPERATIONS = {"run": Recorder._run, "perform": Recorder._perform, "put_files": Recorder._files}
"""Operations that are several lines → how they are written down."""
UNRECORDED = frozenset({"check", "ask", "load", "protection", "resume", "carry_out", "cancel_waiting"})
"""Operations that change nothing, or write down themselves what they do. One that no table has is a KeyError."""


def _problem_of(error: BaseException) -> str:
    return shorten(f"{type(error).__name__}: {error}", 1000)


def _copying(pieces: Iterator[bytes], copied: list[bytes]) -> Iterator[bytes]:
    """Yield the pieces of a standard input, as they are read; what a line can hold of them is kept."""
    room = forms.CONTENT_BYTES + 1
    for piece in pieces:
        if room > 0:
            copied.append(piece[:room])
            room -= len(piece)
        yield piece


class RecordedTools:
    """The tools of a recorded session: each call is written down before it is made, and what came of it after."""

    def __init__(self, tools: ToolAnswers, recording: SessionRecording) -> None:
        self._tools = tools
        self.recording = recording

    def answer(self, call: m.ToolRequest, steps: Any, deadline: float | None) -> Core[m.ToolReply]:
        """Run one call, as `Toolbox.answer` does, and write it down."""
        recording, recorder = self.recording, steps.turns.recorder
        if steps.calls_of_step > steps.policy.tools.max_calls:
            # A guest may make a hundred thousand of them. The first one that was refused is in the recording.
            return (yield from self._tools.answer(call, steps, deadline))
        number, calls, again = next(recording.calls), steps.calls, None
        if calls is not None:
            calls.earlier_answers = again = calls.earlier_answers or recording.earlier
        where: dict[str, Any] = {"session": recorder.number, "step": steps.number, "call": number}
        rule = getattr(steps.sandbox.toolbox.tools.get(call.tool), "effect", None)
        recorder.call = number
        steps.call_key = (again.key_of(call) if again is not None else "") or steps.next_key()
        effect = "deferred" if rule is not None and rule.deferred else "at-once"
        called = partial(forms.called, call, effect=effect, key=steps.call_key, **where)
        recording.writer.add(called, len(call.arguments))
        before = len(steps.tool_records)
        # Written down before it is made: if this host dies meanwhile, the next one knows that it may have been made.
        try:
            yield from recorder.secured(intent=rule is not None, written=recording.stored)
        except StoreError as error:
            # What cannot be written down is not done.
            return m.ToolReply(call.call, error_type="ToolError", error=f"{call.tool}(): {error}"[:2000])
        reply = yield from self._tools.answer(call, steps, deadline)
        if again is not None and again.unsure:
            return reply  # it is as unknown as it was
        records = steps.tool_records.since(before)
        outcome: Any = records[-1].outcome if records else ("error" if reply.error_type else "ok")
        spent = records[-1].wall_ms if records else 0.0
        recording.writer.add(partial(forms.answered, reply, outcome, wall_ms=spent, **where), len(reply.value or b""))
        if recording.stored:
            with suppress(StoreError):  # the end of the step says so
                yield from recorder.secured(written=recording.writer.options.durable)
        return reply
