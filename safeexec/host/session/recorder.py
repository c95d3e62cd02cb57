"""What a session tells its recording: each operation by its name, before it begins and after it has ended.

`OPERATIONS` says what is written of which operation of `SessionCore`; those that change nothing are not in it. A
session without a recorder never comes here.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import count
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from safeexec.errors import WorkspaceError
from safeexec.host.session.standard_input import pieces_of
from safeexec.host.waiting import Core, Work
from safeexec.protocol import messages as m
from safeexec.recordings import format as form
from safeexec.recordings import forms
from safeexec.recordings.reader import Recording
from safeexec.recordings.tape import RecordOptions, Tape, numbered
from safeexec.recordings.timeline import Timeline
from safeexec.text import shorten

if TYPE_CHECKING:
    from safeexec.host.session.home import RecordsSession, ToolAnswers
    from safeexec.host.session.session import SessionCore
    from safeexec.policy.model import Policy
    from safeexec.results import Result

Operation = Callable[..., Core[Any]]
DISTRIBUTIONS = {"sklearn": "scikit-learn", "PIL": "pillow", "yaml": "PyYAML", "bs4": "beautifulsoup4"}
"""Libraries that are installed under another name."""
USUAL = ("numpy", "pandas", "scipy", "sklearn", "matplotlib")
"""What is looked for where a policy does not name its imports."""


def record(session: SessionCore, options: Any, state: bytes | None = None) -> None:
    """Record a session that has just been opened, with the `state` that it goes on from. `options`: a path, True (in
    memory), or `RecordOptions`. Raises `RecordingError`.
    """
    if options is True:
        options = RecordOptions()
    if not isinstance(options, RecordOptions):
        options = RecordOptions(path=options)
    recording = RecordedLineage(Tape(options))
    hidden, started = recording.tape.hidden, datetime.now(UTC).isoformat()
    files = _files(session) if state is None else {}
    shapes = session.sandbox.toolbox.signatures

    def heading(n: int, at: float) -> form.Heading:
        held = forms.contents(files, hidden)
        goes_on = None if state is None else forms.content(state, hidden)
        return _heading(session, shapes(), held, goes_on, sorted(hidden.names), started)

    recording.tape.add(heading)
    recording.join(session)
    session.toolbox = RecordedTools(session.toolbox, recording)


def _files(session: SessionCore) -> dict[str, bytes]:
    try:
        return {name: session.read_file(name) for name in session.list_files()}
    except WorkspaceError:
        return {}


def _heading(
    session: SessionCore,
    shapes: Iterable[m.ToolSignature],
    files: dict[str, form.Content],
    state: form.Content | None,
    redacted: list[str],
    started: str,
) -> form.Heading:
    policy = session.policy
    fixed = policy.determinism
    return form.Heading(
        format=form.FORMAT,
        safeexec=vars(sys.modules["safeexec"])["__version__"],
        python=platform.python_version(),
        machine=f"{platform.system()} {platform.release()} {platform.machine()}",
        libraries=libraries(policy),
        environment={"TZ": "UTC"} | ({} if fixed is None else {"PYTHONHASHSEED": str(fixed.hash_seed)}),
        started=started,
        policy=policy.name,
        digest=policy.digest,
        yaml=policy.to_yaml(),
        origins=dict(policy.origins),
        label=session.label,
        tools=[form.ToolShape(one.name, one.parameters, one.returns, one.doc) for one in shapes],
        files=files,
        state=state,
        redacted=redacted,
    )


def libraries(policy: Policy) -> dict[str, str]:
    """The versions of the libraries that guest code may import and that are there."""
    from importlib.metadata import PackageNotFoundError, version

    tops = {name.partition(".")[0] for name in policy.imports} - sys.stdlib_module_names
    found = {}
    for name in sorted(tops or USUAL):
        try:
            found[name] = version(DISTRIBUTIONS.get(name, name))
        except (PackageNotFoundError, ValueError):
            continue
    return found


class RecordedLineage:
    """One recording: a session and its branches."""

    def __init__(self, tape: Tape) -> None:
        self.tape = tape
        self.calls = count(1)
        self._numbers = count(1)
        self._open = 0

    def join(self, session: SessionCore) -> int:
        """Record this session, too. Returns its number."""
        number = next(self._numbers)
        recorder = Recorder(self, number)
        if session.recorder is None:
            session.recorder = recorder
        else:
            session.recorder.inner = recorder
        self._open += 1
        return number

    def leave(self) -> None:
        """One session less; with the last one the recording ends."""
        self._open -= 1
        if not self._open:
            self.tape.close()


class Recorder:
    """What one session tells."""

    __slots__ = ("_told", "call", "inner", "number", "recording")

    def __init__(self, recording: RecordedLineage, number: int) -> None:
        self.recording = recording
        self.number = number
        self.call = 0
        """The number of the tool call that is made."""
        self.inner: RecordsSession | None = None
        self._told = False
        """Whether the caller knows that the recording has stopped."""

    def follow(
        self, operation: Operation, session: SessionCore, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Core[Any]:
        """Do an operation of the session, and write down what it was and what came of it."""
        how = OPERATIONS.get(operation.__name__)
        if how is None:
            return operation(session, *args, **kwargs)
        return how(self, operation, session, args, kwargs)

    def history(self) -> Timeline:
        """Of this session and those that it has branched into, or came from."""
        tape = self.recording.tape
        tape.flush()
        return Timeline(Recording(tape.path), self.number)

    def closed(self, session: SessionCore) -> None:
        """The session is over."""
        self.tell(form.Closed(session=self.number, step=session.step))
        self.recording.leave()

    def note(self, session: SessionCore, text: str, score: float | None) -> None:
        """What the host has to say of the session as it is now."""
        self.tell(form.Note(session=self.number, step=session.step, text=text[:2000], score=score))

    def pending(self) -> list[Any]:
        """No call waits here."""
        return []

    def carry_out(self) -> Core[list[str]]:
        """Nothing waits."""
        yield from ()
        return []

    def secured(self, *, intent: bool = False) -> Core[None]:
        """What was told is on the disk, where that is asked for; an intent is written in any case."""
        if intent or self.recording.tape.options.durable:
            yield Work(self.recording.tape.flush)

    def tell(self, record: form.Record) -> None:
        self.recording.tape.add(numbered(record))

    # Steps

    def _run(self, operation: Operation, session: SessionCore, args: Any, kwargs: dict[str, Any]) -> Core[Any]:
        tape, hidden = self.recording.tape, self.recording.tape.hidden
        source, given = args[0], kwargs.get("stdin")
        heard: list[bytes] | None = None
        whole = None
        if isinstance(given, str | bytes | bytearray | memoryview):
            whole = given.encode() if isinstance(given, str) else bytes(given)
        elif given is not None:
            heard = []
            kwargs["stdin"] = _overheard(pieces_of(given), heard)
        values = {
            name: None if name in hidden.names else forms.encoded(value)
            for name, value in (kwargs.get("namespace") or {}).items()
        }
        for name in hidden.names & values.keys():
            hidden.learn(kwargs["namespace"][name])
        argv = kwargs.get("argv")
        argv = None if argv is None else [str(item) for item in argv]
        said: dict[str, Any] = {"timeout": kwargs.get("timeout"), "atomic": bool(kwargs.get("atomic"))}
        number, step = self.number, session.step + 1

        def begun(n: int, at: float) -> form.Run:
            return form.Run(
                n=n,
                at=at,
                session=number,
                step=step,
                source=source,
                argv=argv,
                stdin=None if whole is None else forms.content(whole, hidden),
                streamed=heard is not None,
                namespace={
                    name: forms.hidden_value() if data is None else forms.packed(data, forms.short_text(data), hidden)
                    for name, data in values.items()
                },
                **said,
            )

        if not isinstance(source, str):
            return (yield from operation(session, *args, **kwargs))
        tape.add(begun, len(source) + len(whole or b"") + sum(len(values[name] or b"") for name in values))
        return (yield from self._to_its_end(operation(session, *args, **kwargs), session, heard))

    def _perform(self, operation: Operation, session: SessionCore, args: Any, kwargs: dict[str, Any]) -> Core[Any]:
        (make,) = args
        number, timeout = self.number, kwargs.get("timeout")

        def making(step: int) -> Any:
            request = make(step)
            if isinstance(request, m.Query):
                query, name = request.query.decode("utf-8", "surrogatepass"), request.name
                self.tell(form.Queried(session=number, step=step, query=query, name=name, timeout=timeout))
            return request

        return (yield from self._to_its_end(operation(session, making, **kwargs), session, None))

    def _to_its_end(self, work: Core[Result], session: SessionCore, heard: list[bytes] | None) -> Core[Result]:
        """Do a step and write down its end. A recording that has stopped is told in its notes, once."""
        tape = self.recording.tape
        try:
            result = yield from work
        except BaseException as error:
            self.tell(form.Ended(**self._where(session), problem=_told(error)))
            raise
        where, hidden, value = self._where(session), tape.hidden, forms.encoded(result.value)

        def ended(n: int, at: float) -> form.Ended:
            stdin = None if heard is None else forms.content(b"".join(heard), hidden)
            return forms.ended(result, value, hidden, n=n, at=at, stdin=stdin, **where)

        tape.add(ended, len(value) + _size(result) + sum(map(len, heard or ())))
        if tape.options.durable:
            yield from self.secured()
        if tape.problem and not self._told:
            self._told = True
            return replace(result, notes=(*result.notes, f"the recording of this session has stopped: {tape.problem}"))
        return result

    def _where(self, session: SessionCore) -> dict[str, Any]:
        return {"session": self.number, "step": session.step, "now": session.line.history.current.step}

    # Other operations: one line each, when they are over

    @contextmanager
    def _line(self, session: SessionCore, make: Callable[..., form.Record], size: int = 0) -> Iterator[dict[str, Any]]:
        """Write the line that `make` makes of what is known at the end; it holds `size` bytes till then."""
        known: dict[str, Any] = {}
        try:
            yield known
        except BaseException as error:
            known["problem"] = _told(error)
            raise
        finally:
            where = self._where(session) | known
            self.recording.tape.add(lambda n, at: make(n=n, at=at, **where), size)

    def _change(self, operation: Operation, session: SessionCore, args: Any, kwargs: dict[str, Any]) -> Core[Any]:
        (request,) = args
        hidden = self.recording.tape.hidden
        if isinstance(request, m.Remove):
            with self._line(session, lambda **fields: form.Deleted(name=request.name, **fields)):
                return (yield from operation(session, *args, **kwargs))
        redacted = request.name in hidden.names
        if redacted:
            hidden.learn(forms.value_of(forms.packed(request.value)))

        def bound(**fields: Any) -> form.Set:
            data = request.value
            value = forms.hidden_value() if redacted else forms.packed(data, forms.short_text(data), hidden)
            return form.Set(name=request.name, value=value, **fields)

        with self._line(session, bound, len(request.value)):
            return (yield from operation(session, *args, **kwargs))

    def _file(self, operation: Operation, session: SessionCore, args: Any, kwargs: dict[str, Any]) -> Core[Any]:
        name, data = args[0], bytes(args[1])
        hidden = self.recording.tape.hidden
        made = lambda **fields: form.Written(name=name, content=forms.content(data, hidden), **fields)  # noqa: E731
        with self._line(session, made, len(data)):
            return (yield from operation(session, *args, **kwargs))

    def _command(self, operation: Operation, session: SessionCore, args: Any, kwargs: dict[str, Any]) -> Core[Any]:
        argv, directory, timeout = args
        given = list(argv)
        made = lambda **fields: form.Command(argv=given, cwd=directory, timeout=timeout, **fields)  # noqa: E731
        with self._line(session, made) as known:
            result = yield from operation(session, *args, **kwargs)
            known |= {"status": result.returncode, "stdout": result.stdout, "stderr": result.stderr}
        return result

    def _by_name(self, operation: Operation, session: SessionCore, args: Any, kwargs: dict[str, Any]) -> Core[Any]:
        kind = NAMED[operation.__name__]
        with self._line(session, lambda **fields: kind(name=args[0], **fields)):
            return (yield from operation(session, *args, **kwargs))

    def _branch(self, operation: Operation, session: SessionCore, args: Any, kwargs: dict[str, Any]) -> Core[Any]:
        with self._line(session, form.Branched) as known:
            branches = yield from operation(session, *args, **kwargs)
            known["branches"] = [self.recording.join(branch) for branch in branches]
        return branches


Follow = Callable[[Recorder, Operation, "SessionCore", Any, dict[str, Any]], Core[Any]]
OPERATIONS: dict[str, Follow] = {
    "run": Recorder._run,
    "perform": Recorder._perform,
    "_change": Recorder._change,
    "_write_file": Recorder._file,
    "command": Recorder._command,
    "checkpoint": Recorder._by_name,
    "rollback": Recorder._by_name,
    "_drop": Recorder._by_name,
    "branch": Recorder._branch,
}
"""Operation of `SessionCore` → how it is written down."""
NAMED: dict[str, Callable[..., form.Record]] = {
    "checkpoint": form.Named,
    "rollback": form.RolledBack,
    "_drop": form.Dropped,
}


def _told(error: BaseException) -> str:
    return shorten(f"{type(error).__name__}: {error}", 1000)


def _size(result: Result) -> int:
    """About how many bytes it holds."""
    size = len(result.stdout) + len(result.stderr) + len(result.text)
    for display in result.displays:
        size += sum(map(len, display.values()))
    return size


def _overheard(pieces: Iterator[bytes], heard: list[bytes]) -> Iterator[bytes]:
    """The pieces of a standard input, as they are read; what a line can hold of them is kept."""
    room = forms.CONTENT_BYTES + 1
    for piece in pieces:
        if room > 0:
            heard.append(piece[:room])
            room -= len(piece)
        yield piece


class RecordedTools:
    """The tools of a recorded session: each call is written down before it is made, and what came of it after."""

    def __init__(self, tools: ToolAnswers, recording: RecordedLineage) -> None:
        self._tools = tools
        self.recording = recording

    def answer(self, call: m.ToolRequest, session: Any, deadline: float | None = None) -> Core[m.ToolReply]:
        """As `Toolbox.answer`."""
        recording, hidden = self.recording, self.recording.tape.hidden
        if session.calls_of_step > session.policy.tools.max_calls:
            # A guest may make them by the hundred thousand; the first one that is refused was told.
            return (yield from self._tools.answer(call, session, deadline))
        number = next(recording.calls)
        where: dict[str, Any] = {"session": session.recorder.number, "step": session.step, "call": number}
        redacted = call.tool in hidden.names
        shape = session.sandbox.toolbox.tools.get(call.tool)
        rule = getattr(shape, "effect", None)
        session.recorder.call = number
        self._intend(call, where, redacted, "deferred" if rule is not None and rule.deferred else "at-once")
        yield from session.recorder.secured(intent=rule is not None)
        calls = len(session.tool_records)
        reply = yield from self._tools.answer(call, session, deadline)
        self._answered(reply, session.tool_records.since(calls), where, redacted)
        return reply

    def _intend(self, call: m.ToolRequest, where: dict[str, Any], redacted: bool, effect: Any) -> None:
        tape, data = self.recording.tape, call.arguments
        hidden = tape.hidden

        def called(n: int, at: float) -> form.Called:
            arguments = forms.hidden_value() if redacted else forms.packed(data, forms.call_text(data), hidden)
            return form.Called(n=n, at=at, tool=call.tool[:200], arguments=arguments, effect=effect, **where)

        if redacted:
            hidden.learn(forms.arguments_of(forms.packed(data)))
        tape.add(called, len(data))

    def _answered(self, reply: m.ToolReply, records: Any, where: dict[str, Any], redacted: bool) -> None:
        tape, data = self.recording.tape, reply.value
        hidden = tape.hidden
        outcome: Any = records[-1].outcome if records else ("error" if reply.error_type else "ok")
        spent = records[-1].wall_ms if records else 0.0

        def answered(n: int, at: float) -> form.Answered:
            value = None if data is None else forms.packed(data, forms.short_text(data), hidden)
            return form.Answered(
                n=n,
                at=at,
                outcome=outcome,
                value=forms.hidden_value() if redacted and value is not None else value,
                error_type=reply.error_type,
                error=reply.error,
                wall_ms=spent,
                **where,
            )

        if redacted and data is not None:
            hidden.learn(forms.value_of(forms.packed(data)))
        tape.add(answered, len(data or b""))
