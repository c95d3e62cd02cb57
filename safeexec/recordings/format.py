"""The format of a recording: one JSON object per line, one kind of record each. This table is all there is to it.

    {"kind": "recording", "n": 0, "format": 1, "policy": "standard", …}       the first line
    {"kind": "run", "n": 1, "at": 0.01, "session": 1, "step": 1, "source": "x = 2\\nx * 3"}
    {"kind": "result", "n": 2, "at": 0.02, "session": 1, "step": 1, "now": 1, "outcome": "ok", "text": "6", …}

Writer, reader, replay and whatever shows a recording work from these classes. Fields that have their default are left
out of a line. Text is what guest code wrote: hostile, it may hold anything, lone surrogates too (the JSON is ASCII).

`n` counts the lines from 0, so that a missing one is noticed. `at` is seconds since the recording began, by the host's
clock. `session` is 1 for the session that is recorded; branches get the next numbers in the order they are made.
What enters is written before it takes effect (`run`, `query`, `tool-call`), what came of it after (`result`,
`tool-result`); every other operation is one line, written when it is over, with `problem` where it raised.

A transcript of an agent is lines of the kinds in `TRANSCRIPT`, a task first, without a heading and without numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal, get_args

from msgspec import Meta, Struct, field

from safeexec.common.text import one_line, shorten
from safeexec.protocol.messages import ENTROPY_BYTES
from safeexec.results.outcomes import Changes, ErrorInfo, FileChange, Outcome, State, ToolCallRecord, Usage

FORMAT = 2
"""The format of the recordings that are written; a reader refuses newer ones."""
LINE_BYTES = 32 << 20
"""The most bytes of one line. A value, a file or a text that would not fit is left out, and its record says so."""

Number = Annotated[int, Meta(ge=0, le=1 << 53)]
Seconds = Annotated[float, Meta(ge=0, le=1e12)]
Entropy = Annotated[str, Meta(pattern=f"^([0-9a-f]{{2}}){{0,{ENTROPY_BYTES}}}$")]
"""Bytes in hexadecimal digits."""


class Content(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The bytes of a file, or of a standard input; in a line as base64."""

    data: bytes | None = None
    left_out: Literal["large", "redacted"] | None = None
    """The reason why there is no `data`."""
    size: Number = 0
    """Bytes of the data, left out or not."""
    sha256: str = ""
    """The hash of data that is left out because it is large."""


class Value(Content, frozen=True):
    """One value that crossed the boundary. `data` has the format of `safeexec.protocol.values` (of
    `safeexec.protocol.arguments` for the arguments of a tool): exact, for a replay. `text` is a short repr to show.
    """

    text: str = ""


class DisplayText(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One display of a step: MIME type → text; base64 unless `safeexec.results.outcomes.is_text` takes it."""

    data: dict[str, str]
    truncated: bool = False
    display_id: str | None = None
    update: bool = False


class ToolShape(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A host tool as guest code saw it. A parameter is name, kind, annotation and default, each as text."""

    name: str
    parameters: list[tuple[str, str, str, str]] = []
    returns: str = ""
    doc: str = ""


class Record(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, tag_field="kind"):
    """Any line."""

    n: Number = 0
    at: Seconds = 0.0


class OfSession(Record, frozen=True, kw_only=True):
    """A line about one session. `step` is the last step that it had begun."""

    session: Number = 1
    step: Number = 0


class Operation(OfSession, frozen=True, kw_only=True):
    """The end of an operation of the host, or of a step: written when it is over."""

    now: Number = 0
    """The step whose state the session is in afterwards; 0: that of a new session."""
    problem: str = ""
    """The exception that the caller got, ``CheckpointError: no checkpoint 'x'``; "" where it went well."""
    state_number: Number | None = field(default=None, name="moment")
    """The number of the state that a stored session is in afterwards: each new one of the session has its own.
    (``moment`` in the line, as in stores that are there already.)
    """
    since: Number | None = None
    """The state from which that one is had by doing this once more. None: only a saved state leads there."""
    did: Number = 0
    """A number for all that a step changed: repeated, it must be the same."""


# The first line, and the last


class Heading(Record, frozen=True, kw_only=True, tag="recording"):
    """The first line: policy, versions, tools and files of the session, and the state that it begins in."""

    format: Number
    safeexec: str
    python: str
    """``3.12.1``."""
    machine: str = ""
    """``Linux 6.8.0 x86_64``."""
    libraries: dict[str, str] = {}
    """Top-level name of each library outside the standard one that the policy names and that is installed → version."""
    environment: dict[str, str] = {}
    """Environment variables that a program may notice: ``TZ``, ``PYTHONHASHSEED``."""
    started: str = ""
    """ISO 8601 instant, UTC."""
    policy: str = ""
    """The name of the session's policy."""
    digest: str = ""
    """SHA-256 of what it says."""
    yaml: str = ""
    """The whole policy, as `Policy.from_yaml` reads it."""
    origins: dict[str, str] = {}
    """Places of its settings: dotted path of a setting → ``standard.yaml:41``, as in a refusal's rule."""
    label: str | None = None
    tools: list[ToolShape] = []
    files: dict[str, Content] = {}
    """Files in the workspace when the session began."""
    state: Content | None = None
    """The file of `Session.save` that the session goes on from; its files are not in `files`."""
    redacted: list[str] = []
    """The names of variables and tools whose values are not in here."""
    identity: str = ""
    """Prefix of the keys of a stored session's calls of tools."""
    step: Number = 0
    """The last step that the session had begun before."""
    now: Number = 0
    """The step whose state it begins in."""
    state_number: Number = field(default=0, name="moment")
    """The number of that state, as `Operation.state_number`."""
    entropy: Entropy = ""
    """Seed of the random numbers of its process; nothing where the state has them."""
    follows: Number | None = None
    """Bytes of the segment before. Where that has more, its owner has gone on there: it never heard that this one was
    written.
    """


class Stop(Record, frozen=True, kw_only=True, tag="stop"):
    """Nothing more was recorded. A recording whose host was killed has no such line."""

    reason: Literal["closed", "full"]


class Resumed(Operation, frozen=True, kw_only=True, tag="resume", forbid_unknown_fields=False):
    """Another process goes on with the session, from its store. `now` says where; what came after that is lost.

    Stores that are there already have fields in it that nobody reads any more.
    """


class FromTemplate(Operation, frozen=True, kw_only=True, tag="template"):
    """End of the preparation of a template, in the session of that number. From here on the session is a branch of it,
    which has the state under the template's name.
    """

    name: str


# Steps


class Begun(OfSession, frozen=True, kw_only=True):
    """A step begins."""

    source: str
    """A program, or a query."""
    timeout: Seconds | None = None


class Run(Begun, frozen=True, kw_only=True, tag="run"):
    """A step begins: what was given to `Session.run`."""

    atomic: bool = False
    argv: list[str] | None = None
    stdin: Content | None = None
    """Given as text or bytes; of a stream the `result` has what was read."""
    streamed: bool = False
    """True if the standard input is a stream."""
    namespace: dict[str, Value] = {}
    """Variables that were set first."""
    undone: bool = False
    """True for a step that was undone before this segment of a stored session began, and does not run here: the calls
    that it made follow.
    """


class Queried(Begun, frozen=True, kw_only=True, tag="query"):
    """A step begins: what was given to `Session.sql`."""

    source: str = field(name="query")
    name: str | None = None


class Ended(Operation, frozen=True, kw_only=True, tag="result"):
    """A step has ended: its `Result`, field by field. With a `problem` there is none: the caller was interrupted, and
    the step is undone."""

    outcome: Outcome = "cancelled"
    value: Value | None = None
    text: str = ""
    stdout: str = ""
    stderr: str = ""
    error: ErrorInfo | None = None
    changes: Changes = Changes()
    usage: Usage = Usage()
    state: State = "kept"
    displays: list[DisplayText] = []
    truncated: bool = False
    tool_calls: list[ToolCallRecord] = []
    files: list[FileChange] = []
    refusals: list[ErrorInfo] = []
    notes: list[str] = []
    remaining: list[str] = []
    exit_status: Number | None = None
    stdin: Content | None = None
    """The bytes that were read from a stream."""


# Host tools


class Called(OfSession, frozen=True, kw_only=True, tag="tool-call"):
    """Guest code calls a host tool, which has not run yet. `call` counts the calls of the recording, from 1."""

    call: Number
    tool: str
    arguments: Value
    effect: Literal["at-once", "deferred"] = "at-once"
    key: str = ""
    """A key that is equal whenever the call is made once more: for an idempotent tool, the same effect."""

    @property
    def text(self) -> str:
        """Return it as it would be written, in one line of 400 characters at most."""
        return shorten(f"{one_line(self.tool)}({one_line(self.arguments.text, 400)})", 400)


class Answered(OfSession, frozen=True, kw_only=True, tag="tool-result"):
    """The answer to a call: a value, or an exception of that type."""

    call: Number
    outcome: Literal["ok", "error", "refused", "deferred", "waiting"] = "ok"
    value: Value | None = None
    error_type: str = ""
    error: str = ""
    inside: bool = False
    wall_ms: Seconds = 0.0


class Effect(OfSession, frozen=True, kw_only=True, tag="effect"):
    """Progress of the effect of a call. `begun` is written before it is carried out or undone; without a later line
    nobody knows what came of it.
    """

    call: Number
    tool: str
    became: Literal["begun", "done", "failed", "dropped", "undoing", "undone", "not-undone", "unknown"]
    key: str = ""
    message: str = ""


OPEN = ("begun", "undoing", "unknown")
"""The states of an effect that was begun, and of which nobody knows whether it has happened."""


class Exchange(Struct, omit_defaults=True, forbid_unknown_fields=True):
    """A recorded call of a host tool, and what came of it."""

    call: Called
    answer: Answered | None = None
    """None: nobody knows what came of it, if it was made at once."""
    effect: Effect | None = None
    """The last line about its effect, of a deferred call or one that can be undone."""

    @property
    def unknown(self) -> bool:
        """Return whether nobody knows if it was made, or undone."""
        if self.effect is not None:
            return self.effect.became in OPEN
        return self.answer is None and self.call.effect == "at-once"

    @property
    def undone(self) -> bool:
        """Return whether nothing is left of it, as it was undone or put off: made again, it is another one."""
        put_off = self.answer is not None and self.answer.outcome == "waiting"
        return put_off or (self.effect is not None and self.effect.became == "undone")


class Waiting(OfSession, frozen=True, kw_only=True, tag="waiting"):
    """A call was put off, and its step undone. All that is needed to run it again in the state before it: `calls` are
    those that came before, answered, in their order, `call` is the one that waits.
    """

    run: Run
    calls: list[Exchange] = []
    call: Called
    asked: Literal["approval", "tool"]
    note: str = ""
    entropy: Entropy = ""
    """Seed of the random numbers of the session."""
    since: Seconds
    """Seconds of the epoch, as is `until`."""
    until: Seconds


class WaitOver(OfSession, frozen=True, kw_only=True, tag="wait-over"):
    """Nothing waits any more: the call that waited is about to be decided, or the step was given up, or nobody answered
    in time.
    """

    became: Literal["answered", "cancelled", "late"]


# What the host does between steps


class Set(Operation, frozen=True, kw_only=True, tag="set"):
    """A variable was bound to a value of the host."""

    name: str
    value: Value


class Deleted(Operation, frozen=True, kw_only=True, tag="delete"):
    """A variable was unbound by the host."""

    name: str


class Written(Operation, frozen=True, kw_only=True, tag="file"):
    """The host put a file into the workspace."""

    name: str
    content: Content


class Command(Operation, frozen=True, kw_only=True, tag="command"):
    """A program ran in the workspace."""

    argv: list[str]
    cwd: str = ""
    timeout: Seconds | None = None
    status: int | None = None
    """Its exit status."""
    stdout: str = ""
    stderr: str = ""


class StateSaved(Operation, frozen=True, kw_only=True, tag="save"):
    """The session was saved to a file, for which guest code may have run."""

    failed: dict[str, str] = {}
    """The variables that are not in it, and why."""


class Named(Operation, frozen=True, kw_only=True, tag="checkpoint"):
    """The state was given a name."""

    name: str


class Dropped(Operation, frozen=True, kw_only=True, tag="drop"):
    """A named checkpoint was given up."""

    name: str


class RolledBack(Operation, frozen=True, kw_only=True, tag="rollback"):
    """The session went back to a checkpoint, or (no name) to before its last `steps` steps. `now` says where it is."""

    name: str | None = None
    steps: int = 1


class Branched(Operation, frozen=True, kw_only=True, tag="branch"):
    """New sessions go on from the state as it is."""

    branches: list[Number] = []
    """Their numbers."""


class Note(OfSession, frozen=True, kw_only=True, tag="note"):
    """A remark of the host about a session: how a search scores its state."""

    text: str = ""
    score: float | None = None


class Closed(OfSession, frozen=True, kw_only=True, tag="close"):
    """A session was closed."""


# An agent's transcript


class TranscriptEntry(Struct, frozen=True, kw_only=True, tag_field="kind"):
    """Any line of a transcript. Fields that are not in its class are passed over: others may have added them."""


class ToolCall(Struct, frozen=True):
    """A native call that a model asks for. `arguments` is the JSON text as it came."""

    id: str
    name: str
    arguments: str


class TokenUsage(Struct, frozen=True):
    """Tokens of one reply; `estimated` where the server did not count them (four characters a token)."""

    prompt: int = 0
    completion: int = 0
    estimated: bool = False

    @property
    def total(self) -> int:
        return self.prompt + self.completion


class Task(TranscriptEntry, frozen=True, kw_only=True, tag="task"):
    """The task of an agent."""

    task: str
    model: str | None = None
    policy: str | None = None


class Replied(TranscriptEntry, frozen=True, kw_only=True, tag="reply"):
    """The reply of a model."""

    text: str
    tool_calls: list[ToolCall] = []
    usage: TokenUsage | None = None
    finish: str | None = None
    model: str | None = None


class Tried(TranscriptEntry, frozen=True, kw_only=True, tag="step"):
    """A step that an agent ran, and the observation that its model got."""

    source: str
    outcome: str
    observation: str
    state: str | None = None
    call: str | None = None
    verdict: str | None = None
    """Fate of its changes outside of the session: ``committed``, ``rolled back`` …"""
    pictures: list[str] = []
    """Pictures that it showed, as ``data:`` URLs."""


class Unanswered(TranscriptEntry, frozen=True, kw_only=True, tag="unanswered"):
    """A native call that was not run, and why."""

    text: str
    call: str


class Notice(TranscriptEntry, frozen=True, kw_only=True, tag="notice"):
    """A notice of the loop to the model."""

    text: str


class End(TranscriptEntry, frozen=True, kw_only=True, tag="end"):
    """The end of an agent's run."""

    stop: str
    reason: str
    answer: str | None = None


Transcribed = Task | Replied | Tried | Unanswered | Notice | End


def _kinds(parent: type[Record]) -> Iterator[tuple[str, type[Record]]]:
    """Yield each kind of line below one, by its word."""
    for kind in parent.__subclasses__():
        if kind.__struct_config__.tag != kind.__name__:
            yield str(kind.__struct_config__.tag), kind
        yield from _kinds(kind)


KINDS: dict[str, type[Record]] = dict(_kinds(Record))
"""The closed set of what a recording holds."""
TRANSCRIPT: dict[str, type[TranscriptEntry]] = {str(kind.__struct_config__.tag): kind for kind in get_args(Transcribed)}
STOPPED: frozenset[str] = frozenset({"timeout", "cpu", "memory", "output", "cancelled", "crashed", "waiting"})
"""Outcomes that the host decided by time or memory, that a process died of, or whose answer was put off: a replay takes
them as recorded where the state was restored."""
