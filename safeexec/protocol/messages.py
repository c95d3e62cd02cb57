"""Every message that crosses between host, zygote and child: a closed set of msgspec structs.

Text that guest code produced crosses as `bytes` in UTF-8 with ``surrogatepass``: Python strings may hold lone
surrogates, msgpack strings may not. Values cross as the payload of `protocol.values`.

What a child sends is bounded in number as well as in bytes: a part that takes two bytes in a frame takes a hundred as
an object (a frame full of displays held the host for 77 s and took 3.5 GB). msgspec compares a length with its bound
before it reads the first item.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from safeexec.common.text import Source
from safeexec.protocol.confinement import ChildConfinement, Mechanism, ZygoteConfinement
from safeexec.protocol.plan import LanguagePlan, LimitsPlan
from safeexec.protocol.printed import EVERYWHERE

if TYPE_CHECKING:
    import inspect
    from collections.abc import Callable

MANY = 100_000
"""Names in a message of a child. A child leaves out what is beyond."""
SOME = 10_000
"""Variables that are described in one."""
FEW = 1000
"""Parts that hold further ones: refusals, displays, names with their descriptions."""
FRAMES, FRAME_VARIABLES = 100, 200
"""Functions that were running, and variables of each."""
CHILD_FRAME_BYTES = 24 << 20
"""The most bytes of one message of a child: 16 MiB of displays, and texts. Values are no part of it but for small ones.
"""
INLINE_BYTES = 64 << 10
"""The most bytes of a value, or a call's arguments, in a message. `Deliver` fetches what is larger and announced."""
NAME_CHARACTERS = 100
"""The most characters of the name of a variable, or of its type. A child cuts what is longer."""
DESCRIPTION_CHARACTERS = 200
"""The most characters of the description of a variable that a step created or changed."""
NOTE_CHARACTERS = 500
"""The most characters of a note. A child cuts what is longer, as it does a problem."""
PROBLEM_CHARACTERS = 2000
"""The most characters of the reason why a request failed."""
OUT_OF_MEMORY = 72
"""The exit status of a child whose own code, between steps or around one, gets no memory: the guest holds it all."""
ENTROPY_BYTES = 16
"""The number of bytes that the random numbers of a session come from."""
StepOutcome = Literal["ok", "error", "rejected", "violation", "memory", "output"]
"""The end of a step, in the words of its child. What the host ends has others: timeout, cpu, crashed, waiting."""
_MANY, _SOME, _FEW = (msgspec.Meta(max_length=most) for most in (MANY, SOME, FEW))
_Name = Annotated[str, msgspec.Meta(max_length=NAME_CHARACTERS)]
_Notes = Annotated[list[Annotated[str, msgspec.Meta(max_length=NOTE_CHARACTERS)]], _FEW]
_Problem = Annotated[str, msgspec.Meta(max_length=PROBLEM_CHARACTERS)]


class Refusal(msgspec.Struct, array_like=True, kw_only=True):
    """One thing that was refused, or went wrong. Mirrors `results.ErrorInfo`; lines and columns count from 1."""

    type: str
    message: bytes = b""
    line: int | None = None
    column: int | None = None
    end_line: int | None = None
    end_column: int | None = None
    source_line: bytes = b""
    traceback: bytes = b""
    rule: str | None = None
    hint: bytes | None = None
    file: str = ""


class ErrorReport(Refusal, array_like=True, kw_only=True):
    """The error with which a step failed, as the child reports it."""

    diagnostics: Annotated[list[Refusal], _FEW] = []


class DisplayData(msgspec.Struct, array_like=True):
    """One rich result: MIME type → data (text as UTF-8)."""

    data: Annotated[dict[str, bytes], msgspec.Meta(max_length=64)]
    truncated: bool = False
    display_id: Annotated[str, msgspec.Meta(max_length=200)] | None = None
    """The name by which the guest updates it."""
    update: bool = False
    """True if it takes the place of those that were shown with the same id."""


class ChangesReport(msgspec.Struct, array_like=True):
    """Names that a step created, changed, deleted, and a description (``DataFrame 891x12``) per living name.
    A child leaves out what is beyond the bounds here.
    """

    created: Annotated[list[_Name], _FEW] = []
    changed: Annotated[list[_Name], _FEW] = []
    deleted: Annotated[list[_Name], _FEW] = []
    descriptions: Annotated[dict[_Name, Annotated[str, msgspec.Meta(max_length=DESCRIPTION_CHARACTERS)]], _FEW] = {}


PARAMETER_KINDS = ("positional", "either", "args", "keyword", "kwargs")
"""The names of the kinds of parameters here, in the order of `inspect.Parameter.kind`."""
Parameters = list[tuple[str, str, str, str]]
"""Name, one of `PARAMETER_KINDS`, annotation, default as text."""


class ToolSignature(msgspec.Struct, array_like=True):
    """A host tool as guest code sees it: name, signature (``(city: str, days: int = 1) -> dict``), docstring."""

    name: str
    parameters: Parameters = []
    returns: str = ""
    doc: str = ""


class Export(msgspec.Struct, kw_only=True):
    """One export of a plugin, as its child describes it. Hostile: it is shown and compared, nothing depends on it."""

    name: str
    kind: Literal["function", "class", "other", "missing"]
    line: int | None = None
    parameters: Parameters = []
    returns: str = ""


def parameters_of(
    signature: inspect.Signature, annotated: Callable[[Any], str], default: Callable[[Any, str], str]
) -> tuple[Parameters, str]:
    """Return the parameters of a function, and what it returns, as they cross. `annotated` and `default` make texts of
    an annotation, and of a default beside the text of its annotation.
    """
    empty, found = signature.empty, []
    for one in signature.parameters.values():
        hint = "" if one.annotation is empty else annotated(one.annotation)
        value = "" if one.default is empty else default(one.default, hint)
        found.append((one.name, PARAMETER_KINDS[one.kind], hint, value))
    returns = signature.return_annotation
    return found, "" if returns is empty else annotated(returns)


def python_signature(described: ToolSignature | Export) -> inspect.Signature:
    """Return what `inspect.signature` gives for a function that is described so. ValueError: no function has that."""
    from inspect import Parameter, Signature  # for tools and plugins alone

    def text(given: str) -> Any:
        return Source(given) if given else Parameter.empty

    parameters: list[Any] = [
        Parameter(name, PARAMETER_KINDS.index(kind), default=text(default), annotation=text(annotation))  # type: ignore[arg-type]
        for name, kind, annotation, default in described.parameters
    ]
    return Signature(parameters, return_annotation=text(described.returns))


class VariableData(msgspec.Struct, array_like=True):
    """One name of a session's namespace without its value. `size` is in bytes, as far as it is cheaply known."""

    name: _Name
    type: _Name
    shape: _Name = ""
    size: int | None = None
    text: bytes = b""


class FrameData(msgspec.Struct, array_like=True):
    """A function of guest code that was running when a step raised, and its variables, described."""

    function: str
    file: str
    line: int
    variables: Annotated[list[VariableData], msgspec.Meta(max_length=FRAME_VARIABLES)] = []


# Host → zygote


class Configure(msgspec.Struct, tag="configure", kw_only=True):
    """The first message: everything a zygote needs before it may fork."""

    language: LanguagePlan
    limits: LimitsPlan
    confinement: ZygoteConfinement
    child: ChildConfinement
    command: ChildConfinement | None = None
    """The confinement of the processes of commands, where the policy allows any."""
    preload: tuple[str, ...] = ()
    font_cache: str | None = None
    """Directory with matplotlib's font cache, which can be read and not written."""
    seed: int | None = None
    clock: str = "real"
    tools: tuple[ToolSignature, ...] = ()
    packages: str | None = None
    """Directory of the packages that the policy required: on the path of locked children, never of the zygote."""
    token: bytes = b""
    """The first bytes of each message of a child."""


class Spawn(msgspec.Struct, tag="spawn", kw_only=True):
    """Fork a child. Its control socket, stdout and stderr travel with the message as descriptors."""

    number: int
    workspace: str | None = None
    """The session's directory; the child starts in it."""
    home: str | None = None
    """The lineage's directory, which holds those of all its branches: what the kernel lets the child reach."""
    idle: bool = True
    """True if checkpoints are made in think time, and not only when the next step arrives."""
    warm_up: bool = False
    """True if the child runs an empty step before it says Ready, so that its first real one finds its pages touched."""
    lowered: list[tuple[int, int]] = []
    """Resource limits (RLIMIT_*) of a session that is held tighter than its sandbox, and by how much."""
    threads: int | None = None
    """Threads that its guest code may start; None: as many as the sandbox's."""
    value: tuple[int, int] | None = None
    """Bytes and depth of a value, where they are less than the sandbox's."""


class RunCommand(msgspec.Struct, tag="run-command", kw_only=True):
    """Fork a process that runs one program. The same descriptors travel with it as with `Spawn`."""

    number: int
    argv: list[str]
    program: str
    directory: str
    home: str
    environment: dict[str, str] = {}


GivenByZygote = Literal["commands", "gate", "proc"]
"""A descriptor that only the zygote has: where commands are asked for, where forks wait, its children's ``/proc``."""


class ZygoteReady(msgspec.Struct, tag="zygote-ready"):
    """The zygote is confined and preloaded. `mechanisms`: what holds it, and what will hold each child."""

    mechanisms: list[Mechanism]
    sent: list[GivenByZygote] = []
    """The descriptors that travel with it."""
    boot_seconds: float = 0.0
    """The time to import what every zygote needs: how slow this machine is."""


class ZygoteFailed(msgspec.Struct, tag="zygote-failed"):
    """The zygote could not prepare itself as configured; it exits after this."""

    message: str


class SpawnFailed(msgspec.Struct, tag="spawn-failed"):
    """No child could be forked for request `number`."""

    number: int
    message: str


# Host → child


class Execute(msgspec.Struct, tag="execute", array_like=True):
    """Run one step. The descriptors that travel with it: first its standard input, if it has one, then the control
    socket of the next checkpoint, if the child has none. It keeps that until a checkpoint is due.
    """

    step: int
    source: bytes
    stdin: bool = False
    argv: list[str] | None = None
    """`sys.argv` while the step runs."""
    shows: bool = False
    """True if its displays are sent as they come (`Shown`), besides in its answer; its value is in the answer alone."""
    frames: bool = False
    """True if an error holds the variables of the functions that were running."""
    copied: bool = False
    """True if a checkpoint is to be made after it in any case."""
    judged: bool = True
    """True if its answer says whether it can be repeated."""


class Invoke(msgspec.Struct, tag="invoke", array_like=True):
    """Call an object of the namespace with values of the host; answered like a step."""

    step: int
    path: str
    arguments: bytes
    by_fields: bool = False
    """True if objects come back as their plain data: the host has classes for them."""
    held: int = 0
    """The call whose result `path` is looked up in; 0: the namespace."""
    hold: bool = False
    """True if a result that cannot cross is kept, under the number of this call."""
    release: Annotated[list[int], _MANY] = []
    """Results that nobody needs any more."""
    objects: list[tuple[int | str, int]] = []
    """Arguments that are kept results: place or keyword, and the call; `arguments` have None there."""


class Install(msgspec.Struct, tag="install", array_like=True):
    """Load a plugin: its main module runs in the session's namespace, the others when they are imported. Answered like
    a step.

    The value of the answer is a list of dicts, one `Export` each.
    """

    step: int
    name: str
    modules: list[tuple[str, bytes]]
    """Module name (dotted) and source; the first one is the main module."""
    exports: list[str] | None = None
    """Names (dotted) to describe; None: every public function and class that the main module defines."""
    tools: tuple[ToolSignature, ...] = ()
    """Tools of this plugin alone."""
    settings: bytes = b""
    """A dict that its modules find as ``settings``; empty: there are none."""


class Proceed(msgspec.Struct, tag="proceed", array_like=True):
    """The next item of the generator that the last `Invoke` returned; answered like a step."""

    step: int
    close: bool = False
    """End the generator instead."""


class Query(msgspec.Struct, tag="query", array_like=True):
    """Run one SQL query over the session's frames and files, and bind its result to `name`; answered like a step."""

    step: int
    query: bytes
    name: str | None


class Compile(msgspec.Struct, tag="compile", array_like=True):
    """Compile a source and run nothing; answered like a step. `stdin`: as a step that has a standard input."""

    source: bytes
    stdin: bool = False


class Fetch(msgspec.Struct, tag="fetch", array_like=True):
    """The value of one name."""

    name: str
    arrays: bool = False


class Assign(msgspec.Struct, tag="assign", array_like=True):
    """Bind one name to a value of the host."""

    name: str
    value: bytes
    copied: bool = False
    """True if a checkpoint is to be made after it."""


class Remove(msgspec.Struct, tag="remove", array_like=True):
    """Unbind one name."""

    name: str
    copied: bool = False
    """True if a checkpoint is to be made after it."""


class JournalEntry(msgspec.Struct, frozen=True, array_like=True):
    """A step, or a change by the host, that can be repeated."""

    request: Execute | Assign | Remove
    did: int
    """A number for what it did, as in `did`: doing it once more must give the same."""


def did(answer: StepDone | Done) -> int:
    """Return a number for what came of a request: of a step the checksum, of a change 1 if it was refused."""
    if isinstance(answer, StepDone):
        return answer.did
    return 1 if answer.problem else 0


class Repeat(msgspec.Struct, tag="repeat", array_like=True):
    """Do these once more, in a process that is in the state before them. Nothing is reported of what they print or
    show. The answer is `Names`, or `Done` with a problem where one has done something else than before, or all of them.
    """

    entries: list[JournalEntry]
    entropy: bytes = b""
    """The bytes that the random numbers of the session's first child come from, where this is another one."""
    digest: int = 0
    """The number that the variables must come to, as `Names` gave it; 0: not known."""


class ListNames(msgspec.Struct, tag="names", array_like=True):
    """The names of the namespace that guest code bound."""

    digest: bool = False
    """True if the answer has a number for all that they hold, too."""


class Describe(msgspec.Struct, tag="describe", array_like=True):
    """All variables, described."""


class Freeze(msgspec.Struct, tag="freeze", array_like=True):
    """Make a checkpoint now, on the control socket that travels with the message."""


class Save(msgspec.Struct, tag="save", array_like=True):
    """Pickle the variables into the file that travels with the message."""

    lasting: bool = False
    """True if steps will be repeated from what is saved, and no longer from a new child."""


class Load(msgspec.Struct, tag="load", array_like=True):
    """Unpickle variables from the file that travels with the message."""

    foreign: bool = False
    """True if another minor version of Python has written it, whose bytecode differs: code in it is left out."""


class SelfTest(msgspec.Struct, tag="self-test", array_like=True):
    """Try what must not be possible, and report what happened."""

    processes: int = 0
    """The number that guest code may start: one that is started then proves nothing."""


class ToolReply(msgspec.Struct, tag="tool-reply", array_like=True):
    """The answer to a `ToolRequest`: a value, or the exception that the guest sees."""

    call: int
    value: bytes | None = None
    error_type: str = ""
    error: str = ""
    inside: bool = False
    """The function of the host raised it while it ran: the call of it was valid."""


class Deliver(msgspec.Struct, tag="deliver", array_like=True):
    """Write the payload that was announced into the memfd that travels with the message."""


class Resume(msgspec.Struct, tag="resume", array_like=True):
    """To a frozen checkpoint: fork a runner. Its control socket travels with the message; on it comes `Wake`."""


class Wake(msgspec.Struct, tag="wake", array_like=True):
    """To a runner that was resumed: go on. For a branch stdout and stderr travel with the message."""

    branch: bool = False
    """True if another session made the copy: this one has its own stdout and stderr."""
    workspace: str | None = None
    """The directory of the session's files."""
    lost: list[str] = []
    """Names that an undone step had bound: a NameError about one of them says so."""
    layered: bool = False
    """True if a ruleset of Landlock is the last descriptor, to be entered before anything else."""
    idle: bool = False
    """For a branch: true if checkpoints are made in think time."""


# Child → host


class Ready(msgspec.Struct, tag="ready", array_like=True):
    """A child or a resumed runner is locked down and waits."""

    notes: _Notes = []
    """The parts that could not be carried over."""
    names: Annotated[list[_Name], _FEW] = []
    """For a resumed runner, its first variables, without those of longer names."""
    entropy: Annotated[bytes, msgspec.Meta(max_length=ENTROPY_BYTES)] = b""
    """For a new child, what its generators of random numbers are seeded with."""


class Exited(msgspec.Struct, tag="exited", array_like=True):
    """A command has ended: its exit status, or minus the number of the signal that ended it."""

    status: int


class Frozen(msgspec.Struct, tag="frozen", array_like=True):
    """A checkpoint waits on its control socket."""

    step: int


class StepDone(msgspec.Struct, tag="done", array_like=True):
    """The end of a step, as the child says it. A value over the inline limit is announced by `pending`, its size in
    bytes, and fetched by `Deliver`.
    """

    outcome: StepOutcome
    value: bytes = b""
    text: bytes = b""
    error: ErrorReport | None = None
    truncated: bool = False
    peak_kb: int = 0
    changes: ChangesReport | None = None
    displays: Annotated[list[DisplayData], _FEW] = []
    notes: _Notes = []
    pending: int = 0
    refusals: Annotated[list[Refusal], _FEW] = []
    more: bool = False
    """The value is an item of a generator (for `Invoke`: there is one, and no value yet), which `Proceed` continues."""
    step: int = 0
    """The request's number. The host refuses any other: such an answer was sent for another step, or too early."""
    held: bool = False
    """True if the value, which is opaque, is kept under the number of this call."""
    exit_status: Annotated[int, msgspec.Meta(ge=0, le=255)] | None = None
    """The status with which the program ended itself (SystemExit); None when it ran to its end, or was ended."""
    frames: Annotated[list[FrameData], msgspec.Meta(max_length=FRAMES)] = []
    """The functions that were running at an error, where that was asked for, the outermost first."""
    threads: bool = False
    """True if threads ran in it."""
    due: bool = True
    """True if a checkpoint is made of the state after it: the step cannot be repeated, or one is to be made anyway."""
    did: int = 0
    """The number for what it did to the variables, and gave: repeated it must be the same."""
    repeatable: bool = False
    """True if it can be repeated, exactly, in another process."""


class ToolRequest(msgspec.Struct, tag="tool-request", array_like=True):
    """Guest code calls a host tool and waits."""

    call: int
    tool: str
    arguments: bytes
    pending: int = 0
    """The size of the arguments where they are not here: `Deliver` fetches them."""


class Progress(msgspec.Struct, tag="progress", array_like=True):
    """A progress bar of the guest moved."""

    description: str
    done: float
    total: float | None = None


class Shown(msgspec.Struct, tag="shown", array_like=True):
    """The guest displayed something; the answer of the step will hold it, too. Without data it clears: the displays of
    the step so far are taken away, also from its answer; with `update`, only when something else is shown.
    """

    display: DisplayData
    printed: tuple[int, int, int] = EVERYWHERE
    """The text that was printed by then: where the two areas of standard output and standard error ended."""


class Fetched(msgspec.Struct, tag="fetched", array_like=True):
    """The answer to `Fetch`. `found` is False when there is no such name."""

    found: bool
    value: bytes = b""
    pending: int = 0


class Names(msgspec.Struct, tag="name-list", array_like=True):
    """The answer to `ListNames`."""

    names: Annotated[list[str], _MANY]
    digest: int = 0
    """A number that is equal in two processes that have come to the same state in the same way; 0: not asked for."""


class Described(msgspec.Struct, tag="described", array_like=True):
    """The answer to `Describe`."""

    variables: Annotated[list[VariableData], _SOME]


class Saved(msgspec.Struct, tag="saved", array_like=True):
    """The answer to `Save`: what was saved, what could not be and why, and the versions of the libraries in use."""

    size: int
    names: Annotated[list[str], _MANY]
    failed: Annotated[dict[str, str], _MANY]
    libraries: Annotated[dict[str, str], _FEW]
    problem: _Problem = ""


class Tested(msgspec.Struct, tag="tested", array_like=True):
    """The answer to `SelfTest`."""

    rows: Annotated[list[Mechanism], _FEW]


class Done(msgspec.Struct, tag="ok", array_like=True):
    """The answer to a request that has no other; `problem` says why it failed."""

    problem: _Problem = ""
    notes: _Notes = []
    repeated: int = 0
    """Of a `Repeat` that failed, the entries before the one that did something else."""


ToZygote = Configure | Spawn | RunCommand
FromZygote = ZygoteReady | ZygoteFailed | SpawnFailed
ToChild = (
    Execute | Query | Invoke | Install | Proceed | Compile | Fetch | Assign | Remove | Repeat | ListNames | Describe
    | Freeze | Save | Load | SelfTest | ToolReply | Deliver | Resume | Wake
)  # fmt: skip
FromChild = (
    Ready | Exited | Frozen | StepDone | ToolRequest | Progress | Shown | Fetched | Names | Described | Saved | Tested
    | Done
)  # fmt: skip
