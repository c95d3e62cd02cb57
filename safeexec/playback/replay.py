"""Runs a recording again in a fresh sandbox, to any point, and compares what comes out.

Steps that the host stopped, or whose process died, are taken as recorded: the state before them is the one that they
left. Everything else is run; tools answer from the recording. Under `determinism` nothing differs, but what threads do:
nobody records their order, so that a step with threads that ends otherwise is taken as recorded, too.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal, Self

from msgspec.structs import replace as copied

from safeexec.api.blocking import Sandbox, Session
from safeexec.common.text import one_line, shorten
from safeexec.engine.host.tools.tool import tools_from
from safeexec.engine.host.tools.toolbox import Toolbox
from safeexec.engine.host.waiting import drive
from safeexec.engine.policy import places
from safeexec.engine.policy.model import Limits, Policy
from safeexec.errors import PolicyError, RecordingError, SandboxError, StateFileError, ToolError
from safeexec.playback.compare import Deviation, differing
from safeexec.recordings import format as form
from safeexec.recordings.forms import Redaction, bytes_of, encoded, ended, libraries, line_of, value_of
from safeexec.recordings.reader import Recording, parse
from safeexec.recordings.served import ServedTools

if TYPE_CHECKING:
    from safeexec.results import Result
    from safeexec.results.outcomes import Frame

Place = tuple[int, int]
"""A step: the number of its session, and its own."""
LIBRARIES_NAMED = 5
PROGRAM = "a program of this machine depends on more than is recorded: its version, the clock, other files"
OWN = (
    "the recording, or a step depends on what is not recorded (processes, threads, the times of files, the kernel, the "
    "addresses of objects, which order a set of functions or classes)"
)


def replay(
    recording: str | os.PathLike[str] | Recording,
    *,
    to: int | Place | None = None,
    policy: str | Policy | os.PathLike[str] | None = None,
    set: Mapping[str, Any] | None = None,
    replace: Mapping[int | Place, str] | None = None,
    files: Mapping[str, bytes | os.PathLike[str]] | None = None,
    state: str | os.PathLike[str] | None = None,
    tools: Iterable[Callable[..., Any]] | Mapping[str, Callable[..., Any]] | None = None,
    trust: bool = False,
    on_difference: Literal["stop", "go on"] = "stop",
) -> Replay:
    """Run a recording again, as far as the step `to` (a step of the first session, or session and step).

    It stops at the first `difference`, unless `on_difference` is ``go on``. `policy` is another one than the recorded;
    `set` are other values for variables that the host has set; `replace` are other sources for steps; `files`, and
    `state` for a session that was restored, are what the recording left out. `tools` answer the calls that are not in
    it.

    The policy of a recording is taken where it is that of a profile here, or grants nothing that could harm: else it
    takes a `policy` of yours, or `trust`. Raises `RecordingError`, `PolicyError`.

        with safeexec.replay("run.jsonl", to=7) as replayed:
            replayed.difference, replayed.session.get("total")
    """
    if on_difference not in ("stop", "go on"):
        raise ValueError(f"on_difference={on_difference!r}: it is 'stop' or 'go on'")
    if not isinstance(recording, Recording):
        path = one_line(os.fspath(recording))
        try:
            recording = Recording(recording)
        except OSError as error:
            raise RecordingError(f"the recording {path!r} cannot be read: {error.strerror or error}") from None
    chosen = Policy.load(policy) if policy is not None else recorded_policy(recording, trust)
    changes = {_place(key): source for key, source in (replace or {}).items()}
    replayed = Replay(recording, chosen, dict(set or {}), changes, dict(files or {}), tools, policy is not None)
    try:
        replayed.begin(state)
        replayed.session._core.waits.waiting = None  # its answer is in the recording, if it came
        replayed.run(None if to is None else _place(to), keep_going=on_difference == "go on")
    except BaseException:
        replayed.close()
        raise
    return replayed


def _place(step: int | Place) -> Place:
    return (1, step) if isinstance(step, int) else step


def recorded_policy(recording: Recording, trust: bool = False) -> Policy:
    """Return the policy of a recording. Raises `RecordingError` for one that a stranger should not choose."""
    heading = recording.heading
    # By its name alone: a path could lead to a file that came with the recording.
    here = Policy.load(heading.policy) if heading.policy in places.names() else None
    if here is not None and here.digest == heading.digest:
        return here
    try:
        policy = Policy.from_yaml(heading.yaml, name=one_line(heading.policy, 200), filename=str(recording.path))
    except PolicyError as error:
        raise RecordingError(f"{recording.path}: its policy cannot be read: {error}") from None
    if not trust and (grants := _harm(policy, here or Policy())):
        named = shorten(policy.name, 100)
        raise RecordingError(
            f"{recording.path}: this machine does not have its policy {named!r}, and it {grants}: give a policy "
            "of yours (--policy), or take it as it is (--trust)"
        )
    if not trust and (more := [entry for entry in (here or Policy()).require if entry not in policy.require]):
        policy = policy.replace(require=[*policy.require, *more])  # what a release has added, or a stranger left out
    return copied(policy, origins=heading.origins)


def _harm(policy: Policy, here: Policy) -> str:
    """Return what a policy of a stranger grants that the one of its name here does not; "" if nothing."""
    checks = (
        ("opens files of the host", bool({*policy.filesystem.read} - {*here.filesystem.read})),
        ("runs programs", bool({*policy.danger_allow_commands} - {*here.danger_allow_commands})),
        ("fetches packages", bool({*policy.requirements} - {*here.requirements})),
    )
    if grant := next((grant for grant, found in checks if found), ""):
        return grant
    more = next((n for n in Limits.__struct_fields__ if getattr(policy.limits, n) > getattr(here.limits, n)), "")
    return f"allows more of limits.{more}" if more else ""


class Replay:
    """A recording that was run again. `session` is the first session as it is now: go on from there."""

    def __init__(
        self,
        recording: Recording,
        policy: Policy,
        values: dict[str, Any],
        sources: dict[Place, str],
        files: dict[str, Any],
        tools: Any,
        policy_is_given: bool,
    ) -> None:
        heading = recording.heading
        self.recording = recording
        self.policy = policy
        self.differences: list[Deviation] = []
        self.taken: list[str] = []
        """Steps that were taken as recorded, with the reason."""
        self.steps = 0
        """Number of steps that were run."""
        self.results: dict[Place, Result] = {}
        """The results of the steps that were run, by session and step."""
        self._values = values
        self._sources = sources
        self._policy_is_given = policy_is_given
        self._changed = ""
        """The first change to the recording, in words; "" where there is none."""
        self._files = files
        self._hidden = Redaction(frozenset(heading.redacted))
        self._sessions: dict[int, Session] = {}
        self._begun: dict[int, form.Begun] = {}
        self._threads: dict[int, str] = {}
        """By session, the first step whose threads made it end otherwise than recorded."""
        self._calls: dict[int, dict[int, form.Exchange]] = {}
        """By session, the calls of the step that runs, by their numbers."""
        self._templates: list[Session] = []
        """The sessions that prepared a template."""
        self._tools, self._sandbox = self._opened(tools)

    def _opened(self, tools: Any) -> tuple[ServedTools, Sandbox]:
        """Return a sandbox that has the recorded files, and whose tools are the recorded ones."""
        heading = self.recording.heading
        live = Toolbox(tools_from(tools), self.policy, None) if tools else None
        if live is not None and live.has_effects:
            raise ToolError("a tool with an effect does not answer in a replay: it would have its effect")
        served = ServedTools([shape for shape in heading.tools if shape.name in self.policy.tools.allow], live)
        held = {name: self._content(name, content) for name, content in heading.files.items()}
        sandbox = Sandbox(self.policy, files=held, spare=0)
        core = sandbox._opened = sandbox._new_core()
        core.toolbox = served  # type: ignore[assignment]
        sandbox.open()
        return served, sandbox

    def _content(self, name: str, content: form.Content) -> bytes | os.PathLike[str]:
        try:
            return self._files[name] if name in self._files else bytes_of(content)
        except ValueError as error:
            given = "files={name: path} or --file NAME=PATH"
            raise RecordingError(f"the file {name[:200]!r} is needed: {error} ({given} gives it)") from None

    def begin(self, given: str | os.PathLike[str] | None) -> None:
        """Open the first session. `given`: the state that it goes on from, if not the recorded one."""
        recorded = self.recording.heading.state
        if recorded is None:
            if given is not None:
                raise RecordingError(f"{self.recording.path}: the session was not restored from a state")
            self._sessions[1] = self._new_session()
            return
        if given is not None:
            self._sessions[1] = self._sandbox.restore(given)
            return
        try:
            data = bytes_of(recorded)
        except ValueError as error:
            raise RecordingError(
                f"the state that the session goes on from is needed: {error} (state= or --state gives it)"
            ) from None
        with NamedTemporaryFile(prefix="safeexec-state-") as file:
            file.write(data)
            file.flush()
            try:
                self._sessions[1] = self._sandbox.restore(file.name)
            except StateFileError as error:
                raise StateFileError(str(error).replace(file.name, "the state that the session goes on from")) from None

    def _new_session(self) -> Session:
        return Session(drive(self._sandbox._core.new_session()))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the sandbox."""
        self._sandbox.close()

    def frames(self, session: int = 1) -> list[Frame]:
        """Return the functions that were running when the last step of a session raised, the outermost first, each with
        its variables as they were.
        """
        return list(self.session_of(session)._core.steps.frames)

    @property
    def difference(self) -> Deviation | None:
        """The first difference; None where there is none."""
        return self.differences[0] if self.differences else None

    @property
    def session(self) -> Session:
        """The first session, in the state that the replay has come to."""
        return self.session_of(1)

    def session_of(self, number: int) -> Session:
        """Return a session by its number in the recording. Raises `RecordingError`."""
        try:
            return self._sessions[number]
        except KeyError:
            raise RecordingError(f"the recording has no session {number} that is open here") from None

    # The order of things

    def run(self, to: Place | None, *, keep_going: bool) -> None:
        """Run the records in turn: to the end, to the step `to`, or to the first difference."""
        self._check_given()
        for record in self.recording:
            self._do(record)
            if self.differences and not keep_going:
                return
            if isinstance(record, form.Ended) and to == (record.session, record.step):
                return
        if to is not None:
            raise RecordingError(f"{self.recording.path}: there is no step {to[1]} of session {to[0]}")

    def _check_given(self) -> None:
        """Check that the recording has the files and steps that are given; set the variables that it never sets."""
        if not (self._files or self._sources or self._values):
            return
        files, steps, names = {*self.recording.heading.files}, set[Place](), set[str]()
        for record in self.recording:
            match record:
                case form.Written(name=name):
                    files.add(name)
                case form.Set(name=name):
                    names.add(name)
                case form.Run(session=session, step=step, namespace=namespace):
                    steps.add((session, step))
                    names.update(namespace)
        if unknown := next((name for name in self._files if name not in files), None):
            raise RecordingError(f"no file {unknown!r} is in the recording")
        for session, step in self._sources.keys() - steps:
            raise RecordingError(f"{self.recording.path}: replace: there is no step {step} of session {session}")
        for name in self._values.keys() - names:
            self._changed = self._changed or f"{name} was set"
            self.session.set(name, self._values[name])

    def _do(self, record: form.Record) -> None:
        match record:
            case form.Begun(session=session):
                self._begun[session], self._calls[session] = record, {}
            case form.Called(session=session, call=call):
                self._calls.setdefault(session, {})[call] = form.Exchange(record)
            case form.Answered(session=session, call=call):
                if (exchange := self._calls.get(session, {}).get(call)) is not None:
                    exchange.answer = record
            case form.Ended():
                self._replay_step(record)
            case form.Closed(session=session):
                if session != 1:
                    self.session_of(session).close()
            case form.Operation():
                self._operate(record)

    def _replay_step(self, recorded: form.Ended) -> None:
        begun = self._begun.pop(recorded.session, None)
        if begun is None:
            raise RecordingError(f"{self.recording.path}: step {recorded.step} ends and has not begun")
        session = self.session_of(recorded.session)
        stopped = recorded.outcome in form.STOPPED and recorded.state != "kept"
        if (recorded.problem or stopped) and not self._replaced(begun):
            self._take_as_recorded(session, begun, recorded)
            return
        session._core.steps.tells_frames = True
        self._tools.begin([*self._calls.pop(recorded.session, {}).values()])
        try:
            result = self._again(session, begun, recorded)
        except RecordingError:  # what is needed to run it was left out
            raise
        except (SandboxError, ValueError, TypeError) as error:
            if not recorded.problem:
                self._differ(recorded, "outcome", recorded.outcome, f"{type(error).__name__}: {error}")
            return
        self.steps += 1
        self.results[recorded.session, recorded.step] = result
        differences = len(self.differences)
        self._compare(recorded, result, self._replaced(begun))
        if len(self.differences) == differences:
            self._arrived(recorded, session)
        elif session._core.steps.threads and not self._changed:
            found = self.differences.pop()
            self.taken.append(f"threads ran in {found}: taken as recorded")
            self._threads.setdefault(recorded.session, f"step {recorded.step}")

    def _compare(self, recorded: form.Ended, result: Result, replaced: bool) -> None:
        """Note what differs. What a step does otherwise that was replaced is what it was replaced for: it is reported,
        and the replay goes on to what comes of it.
        """
        now = ended(result, encoded(result.value))
        if self._hidden.names:  # as it would stand in a recording
            now = parse(line_of(self._hidden.of(now))[:-1], "the replay")
        if self._tools.mismatch and now.outcome == recorded.outcome == "ok":
            self._differ(recorded, "tool call", "another", "this one", self._tools.mismatch)
        elif (found := differing(recorded, now)) is not None and replaced and not self._tools.mismatch:
            what, was, became = found
            self.taken.append(f"step {recorded.step} was replaced: {what} was {was}, and is {became}")
        elif found is not None:
            self._differ(recorded, *found, result=result)
        elif left := self._tools.left():
            self._differ(recorded, "tool call", left[0].call.text, "not made")

    def _replaced(self, begun: form.Begun) -> bool:
        return (begun.session, begun.step) in self._sources

    def _again(self, session: Session, begun: form.Begun, recorded: form.Ended) -> Result:
        """Return the step, with as much time as there is: it was not stopped when it was recorded."""
        longest = self.policy.limits.max_wall_seconds
        if isinstance(begun, form.Queried):
            return session.sql(begun.source, name=begun.name, timeout=longest)
        assert isinstance(begun, form.Run)
        source = self._sources.get((begun.session, begun.step), begun.source)
        if self._replaced(begun):
            self._changed = self._changed or f"step {begun.step} was replaced"
        given = begun.stdin or recorded.stdin
        try:
            stdin = None if given is None else bytes_of(given)
        except ValueError as error:
            raise RecordingError(f"the standard input of step {begun.step} is needed: {error}") from None
        values = {name: self._value(name, value) for name, value in begun.namespace.items()}
        return session.run(
            source, timeout=longest, atomic=begun.atomic, argv=begun.argv, stdin=stdin, namespace=values or None
        )

    def _value(self, name: str, value: form.Value) -> Any:
        if name in self._values:
            self._changed = self._changed or f"{name} was set to another value"
            chosen = self._values[name]
            if name in self._hidden.names:
                self._hidden.learn(chosen)
            return chosen
        try:
            return value_of(value)
        except ValueError as error:
            shown = one_line(name, 100)
            given = f"set={{{shown!r}: …}} or --set {shown}=…"
            raise RecordingError(f"the value of {shown!r} is needed: {error} ({given} gives it)") from None

    def _take_as_recorded(self, session: Session, begun: form.Begun, recorded: form.Ended) -> None:
        """Take a step that was stopped as recorded: the session is where it was, unless more was lost."""
        core = session._core
        happened = recorded.step > core.steps.number
        history = core.processes.history
        why = f"interrupted ({one_line(recorded.problem)})" if recorded.problem else f"stopped ({recorded.outcome})"
        self.taken.append(f"step {recorded.step} was {why}: taken as recorded")
        if not happened:
            return
        core.steps.number = recorded.step - 1
        if core.policy.checkpoints != "off" or any(history.ways_back()):
            # What fails in its first line goes back as a step does that is stopped: as far, and hints speak of what
            # it would have bound.
            session.run(f"0 / 0\n{begun.source}", atomic=True)
        core.steps.number = recorded.step
        if history.current.step == recorded.now:
            return
        if recorded.now == 0 and core.processes.workspace is None and self.recording.heading.state is None:
            fresh = self._new_session()
            fresh._core.steps.number = core.steps.number
            self._sessions[recorded.session] = fresh
            session.close()
            return
        lost = f"the state of step {recorded.now}, as more was lost than the step"
        self._differ(recorded, "state", lost, f"that of step {history.current.step}")

    def _operate(self, record: form.Operation) -> None:
        """Do what the host did between steps."""
        session = self.session_of(record.session)
        if isinstance(record, form.Branched) and record.problem:
            self.taken.append(f"branches could not be made ({one_line(record.problem)}): taken as recorded")
            return
        try:
            self._act(session, record)
            problem = ""
        except RecordingError:
            raise
        except (SandboxError, ValueError, TypeError, KeyError) as error:
            problem = f"{type(error).__name__}: {error}"
        if problem.partition(":")[0] != record.problem.partition(":")[0]:
            kind = str(type(record).__struct_config__.tag)
            self._differ(record, f"operation {kind!r}", one_line(record.problem or "done"), one_line(problem or "done"))
        elif not problem:
            self._arrived(record, session)

    def _act(self, session: Session, record: form.Operation) -> None:
        match record:
            case form.Set(name=name, value=value):
                session.set(name, self._value(name, value))
            case form.Deleted(name=name):
                del session.namespace[name]
            case form.Written(name=name):
                content = self._content(name, record.content)
                session.write_file(name, content if isinstance(content, bytes) else Path(content).read_bytes())
            case form.Command():
                self._command(session, record)
            case form.StateSaved(failed=recorded):
                with TemporaryDirectory(prefix="safeexec-state-") as directory:
                    failed = session.save(os.path.join(directory, "state"))
                if failed != recorded:
                    self._differ(record, "what cannot be saved", repr(recorded)[:300], repr(failed)[:300])
            case form.FromTemplate(name=name):
                self._templates.append(session)
                (began,) = session.branch()
                began.checkpoint(name)
                self._sessions[record.session] = began
            case form.Named(name=name):
                session.checkpoint(name)
            case form.Dropped(name=name):
                session.drop(name)
            case form.RolledBack(name=to, steps=steps):
                session.rollback(to, steps=steps)
            case form.Branched(branches=numbers):
                for number, branch in zip(numbers, session.branch(len(numbers)), strict=True):
                    self._sessions[number] = branch
                    if record.session in self._threads:
                        self._threads[number] = self._threads[record.session]
            case form.Resumed(step=number, now=now):
                while session._core.processes.history.current.step > now:  # what came after was lost
                    session.rollback()
                session._core.steps.number = max(session._core.steps.number, number)
            case _:
                raise AssertionError(f"{type(record).__name__} is replayed elsewhere")

    def _command(self, session: Session, record: form.Command) -> None:
        """Run a program again, and note that what it does is not recorded."""
        self.taken.append(f"the program {' '.join(record.argv)[:100]!r} is run again: what it does is not recorded")
        result = session.command(record.argv, cwd=record.cwd, timeout=record.timeout)
        if (before := (record.status, record.stdout)) != (after := (result.returncode, result.stdout)):
            cause = self._changed and f"because {self._changed}"
            self._differ(record, "command", repr(before)[:300], repr(after)[:300], cause or PROGRAM)

    def _arrived(self, record: form.Operation, session: Session) -> None:
        now = self._sessions.get(record.session, session)._core.processes.history.current.step
        if now != record.now and not record.problem:
            self._differ(record, "state", f"that of step {record.now}", f"that of step {now}")

    # Why

    def _differ(
        self, record: form.Operation, what: str, was: str, now: str, cause: str = "", result: Result | None = None
    ) -> None:
        cause = cause or self._tools.mismatch or self._cause(record, result)
        self.differences.append(
            Deviation(session=record.session, step=record.step, what=what, recorded=was, now=now, cause=cause)
        )

    def _cause(self, record: form.Operation, result: Result | None) -> str:
        """Return the likeliest reason, the surest first."""
        heading, error = self.recording.heading, None if result is None else result.error
        chance = ""
        if self.policy.determinism is None and result is not None:
            chance = "the policy has no `determinism`: random numbers, the clock and the order of sets differ"
        if self._changed:
            return f"because {self._changed}" + (chance and f", or by chance: {chance}")
        if threads := self._threads.get(record.session):
            return f"threads ran in {threads}, which ended otherwise than recorded"
        if self._policy_is_given and error is not None and error.rule:
            return f"because of the policy {self.policy.name!r}: {error.rule}"
        if result is not None and result.outcome in form.STOPPED and result.state != "kept":
            return "the step was stopped here: this machine is slower, or gives it less"
        if (python := platform.python_version()) != heading.python:
            return f"it was recorded under Python {one_line(heading.python)}, and this is {python}"
        here = libraries(self.policy.imports)
        moved = {name: had for name, had in heading.libraries.items() if here.get(name) != had}
        if moved:
            # Which of them it was nobody knows. Those of another version before those that are missing.
            names = sorted(moved, key=lambda name: (name not in here, name))[:LIBRARIES_NAMED]
            had, have = (", ".join(f"{name} {of.get(name, 'none')}" for name in names) for of in (moved, here))
            return f"it was recorded with {one_line(had)}, and here is {one_line(have)}"
        other = f"because of the policy {self.policy.name!r}" if self._policy_is_given else ""
        return (
            ", or by chance: ".join(filter(None, (other, chance))) or f"the cause is not known: somebody changed {OWN}"
        )
