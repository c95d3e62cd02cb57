"""Lists the methods of the servers. Data: the pipe, HTTP and the client all read it.

A method that begins with ``sandbox.`` takes the name of a policy that the server offers, one with ``session.`` the id
of an open session. Otherwise names and parameters are those of `AsyncSandbox` and `AsyncSession`. All shapes are
closed. Nothing here is a path or a setting of the server.

Two marked forms stand for what JSON has no word for: ``{"type": "bytes", "base64": …}``, also for a source that is no
text (it is refused as Python refuses it), and, where a client says
``exact``, ``{"type": "encoded", "base64": …}`` for a value in the sandbox's own format (`safeexec.results.marked`).

Over HTTP each method is a POST to its `path`, its parameters (without `session`) the body, its answer the body of the
answer; an error is ``{"code": status, "type": class, "message": text}``. A step with ``stream`` is answered by
server-sent events: what comes on the way under its own name (``session.output`` …), then one ``result`` with the
answer, or one ``error``.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Callable
from itertools import chain
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import Meta, Raw, Struct

from safeexec.engine.policy.model import Limits
from safeexec.recordings.format import DisplayText, ToolShape
from safeexec.results import CheckpointInfo, CommandResult, Result, TemplateInfo
from safeexec.results.outcomes import ToolCallRecord, Variable, WaitingCall

MAX_MESSAGE = 64 << 20
"""Bytes of one request or answer."""
MAX_TOOL_PARAMETERS, MAX_TOOL_TEXT = 4000, 1 << 20
"""Parameters, and characters, of all tools together that a client declares at once."""
MAX_FILE = MAX_MESSAGE // 4 * 3 - 4096
"""Bytes of a file, of an input or of a state, which fit into one message as base64."""

PARSE, REQUEST, METHOD, PARAMETERS, INTERNAL, OURS = -32700, -32600, -32601, -32602, -32603, -32000
"""The error codes of JSON-RPC; `OURS` is an exception of safeexec, whose class is in the error."""


class Bytes(Struct, frozen=True, tag="bytes", forbid_unknown_fields=True):
    """Bytes as JSON: ``{"type": "bytes", "base64": "…"}``."""

    base64: bytes


class Method(NamedTuple):
    """One row. `parameters`, `body` and `answer` are msgspec structs, which check what arrives and describe themselves
    as JSON Schema; the answer of a step is a `Result` in the form of `Result.to_dict()`. `body` are the parameters over
    HTTP: the session is in the path, and each call may have a `request_id`.
    """

    name: str
    about: str
    parameters: type[Struct]
    body: type[Struct]
    answer: type[Struct]

    @property
    def path(self) -> str:
        """The path over HTTP: ``/v1/run``, ``/v1/sessions``, ``/v1/sessions/{session}/NAME``."""
        kind, _, verb = self.name.partition(".")
        if kind == "session":
            return f"/v1/sessions/{{session}}/{verb}"
        return "/v1/sessions" if verb == "session" else f"/v1/{verb}"


LABELLED = "~"
"""The first character of the id of a session of the store."""
TIGHTENED = ("checkpoints", "on_error", *Limits.__struct_fields__)
"""Settings that a client may tighten for a session of its own; the policy says which values are possible."""
Data = str | Bytes
Seconds = float | None
Arguments = Annotated[list[str], Meta(max_length=10_000)]
Name = Annotated[str, Meta(max_length=1000)]
Files = Annotated[dict[Name, Data], Meta(max_length=10_000)]

Values = Annotated[dict[Name, Raw], Meta(max_length=10_000)]
"""Values stay the text that they came as until the call is known to be right."""

_SANDBOX: dict[str, Any] = {"policy": (Name | None, None)}
_LABEL: dict[str, Any] = {"label": (Name | None, None)}
_SESSION: dict[str, Any] = {"session": Name}
_REQUEST: dict[str, Any] = {"request_id": (Annotated[str, Meta(min_length=1, max_length=200)] | None, None)}
_STEP: dict[str, Any] = {"timeout": (Seconds, None), "exact": (bool, False)}
_ATTENDED: dict[str, Any] = {"wait": (Seconds, None), "stream": (bool, False)}
_NAMESPACE: dict[str, Any] = {"namespace": (Values, {})}
_PROGRAM: dict[str, Any] = {"stdin": (Data | None, None), "argv": (Arguments | None, None), **_NAMESPACE}
_MODE = Literal["idle", "before-step", "off"] | None
_TIGHTENED: dict[str, Any] = dict.fromkeys(TIGHTENED, (int | float | str | None, None)) | {"checkpoints": (_MODE, None)}
_OPENING: dict[str, Any] = {
    "files": (Files, {}),
    **_NAMESPACE,
    "queue_seconds": (Seconds, None),
    "template": (Name | None, None),
    **_TIGHTENED,
}
"""The parameters with which any session is opened."""


def about_label(label: str) -> str:
    """Return the first part of the id of a session of the store: the same for the same label."""
    return LABELLED + urlsafe_b64encode(label.encode("utf-8", "surrogatepass")).decode().rstrip("=")


def _method(name: str, about: str, parameters: dict[str, Any], answer: type[Struct] | dict[str, Any]) -> Method:
    words = "".join(part.title() for part in name.replace("_", ".").split("."))
    base = _SANDBOX if name.startswith("sandbox.") else _SESSION
    in_body = _SANDBOX if name.startswith("sandbox.") else {}
    check = _CHECKS.get(name)
    return Method(
        name,
        about,
        _shape(f"{words}Parameters", base | parameters, check),
        _shape(f"{words}Body", in_body | parameters | _REQUEST, check),
        _shape(f"{words}Answer", answer) if isinstance(answer, dict) else answer,
    )


def _shape(name: str, fields: dict[str, Any], check: Callable[[Any], None] | None = None) -> type[Struct]:
    """Return a closed struct. For what `check` raises a ValueError about, a message does not fit."""
    given = [(field, *kind) if isinstance(kind, tuple) else (field, kind) for field, kind in fields.items()]
    own = None if check is None else {"__post_init__": check}
    return msgspec.defstruct(name, given, namespace=own, kw_only=True, frozen=True, forbid_unknown_fields=True)


def _check_tools(declared: Any) -> None:
    """Refuse tools that are too large together: a signature is made of them, and a hash, while others wait. What one
    may have (`Meta`) would say nothing of a thousand.
    """
    tools: list[ToolShape] = declared.tools
    if (count := sum(len(tool.parameters) for tool in tools)) > MAX_TOOL_PARAMETERS:
        raise ValueError(f"the tools have {count} parameters, and {MAX_TOOL_PARAMETERS} are the most of all together")
    texts = (text for tool in tools for text in (tool.name, tool.returns, tool.doc, *chain(*tool.parameters)))
    if (size := sum(map(len, texts))) > MAX_TOOL_TEXT:
        raise ValueError(
            f"the names, types, defaults and docs of the tools have {size} characters, and {MAX_TOOL_TEXT} are the "
            "most of all together"
        )


_CHECKS: dict[str, Callable[[Any], None]] = {"sandbox.tools": _check_tools}
"""Checks of a method's parameters beside their shapes."""


class Protection(Struct, frozen=True):
    """A row of `protection`."""

    name: str
    active: bool
    detail: str = ""


class StoredRow(Struct, frozen=True):
    """A row of `stored`."""

    label: str
    bytes: int
    used: float


class Brought(Struct, frozen=True, forbid_unknown_fields=True):
    """A policy as its YAML, with the lines that it comes from, and how its sandbox is to be opened."""

    name: str
    yaml: str
    origins: dict[str, str]
    options: dict[str, int | float | None] = {}


class StepOutput(Struct, frozen=True):
    """A step has printed whole lines."""

    text: str
    stream: Literal["stdout", "stderr"]
    session: str


class StepDisplay(DisplayText, frozen=True, forbid_unknown_fields=False):
    """A step has displayed something: in the form in which a recording has it."""

    session: str = ""


class StepCall(Struct, frozen=True):
    """A step calls a host tool, and waits until `session.reply` says what became of it. `arguments` are as the guest
    wrote them (base64); `seconds` are what the step has left, where its clock goes on meanwhile. `allowed`: it was put
    off before, and `session.answer` has allowed it: nobody is asked again.
    """

    call: int
    tool: str
    step: int
    arguments: bytes
    seconds: float | None
    session: str
    allowed: bool = False


class StepProgress(Struct, frozen=True):
    """A progress bar of a step has moved. Nobody may know of how much (`total`)."""

    description: str
    done: float
    total: float | None
    session: str


EVENTS: dict[str, type[Struct]] = {
    "session.output": StepOutput,
    "session.display": StepDisplay,
    "session.progress": StepProgress,
    "session.tool": StepCall,
}
"""The events of a step that runs with `stream`, by name."""

METHODS = {
    row.name: row
    for row in (
        _method(
            "sandbox.run",
            "Run one program in a session of its own.",
            {"source": Data, **_STEP, **_PROGRAM, "files": (Files, {}), **_LABEL},
            Result,
        ),
        _method(
            "sandbox.check",
            "Return what the policy refuses in a source. Nothing runs.",
            {"source": Data, "stdin": (bool, False)},
            Result,
        ),
        _method(
            "sandbox.session",
            "Open a session. A limit of the policy can be tightened here; `files` are put into its workspace; `stored` "
            "is the label of one in the server's store, which goes on or is made.",
            {**_LABEL, "stored": (Name | None, None), **_OPENING},
            {"session": str},
        ),
        _method("sandbox.stored", "List the sessions in the server's store.", {}, {"sessions": list[StoredRow]}),
        _method("sandbox.forget", "Remove a session from the server's store for good.", {"label": Name}, {}),
        _method(
            "sandbox.restore",
            "Open a session that goes on from a state that `session.save` gave.",
            {"state": Bytes, "trust": (str, ""), "timeout": (Seconds, None)},
            {"session": str},
        ),
        _method("sandbox.waiting", "List what the sessions of a client wait for.", {}, {"waiting": list[WaitingCall]}),
        _method(
            "sandbox.tools",
            "Declare host tools of the client. Answers the name of the policy with them; its steps need `stream`.",
            {"tools": Annotated[list[ToolShape], Meta(max_length=1000)]},
            {"policy": str},
        ),
        _method("sandbox.policy", "Return what the policy says.", {}, {"policy": dict[str, Any]}),
        _method(
            "sandbox.protection", "Return what the kernel does for every session.", {}, {"protection": list[Protection]}
        ),
        _method(
            "session.run",
            "Run one step. With `stream` its output is sent while it runs.",
            {"source": Data, **_STEP, **_PROGRAM, "atomic": (bool, False), **_ATTENDED},
            Result,
        ),
        _method(
            "session.sql",
            "Run one SQL query over the session's frames and files.",
            {"query": str, "name": (Name | None, None), **_STEP},
            Result,
        ),
        _method(
            "session.answer",
            "Answer the call for which a step waits: `allow` true or false, with other `arguments` or a `reason`; or "
            "the `value` that a tool gives which has put itself off. The step runs again, to its end.",
            {
                "allow": (bool | None, None),
                "arguments": (Values, {}),
                "reason": (str, ""),
                "value": (Raw, msgspec.field(default_factory=Raw)),
                "exact": (bool, False),
                **_ATTENDED,
            },
            Result,
        ),
        _method(
            "session.waiting_for", "Return the call that a step waits for.", {}, {"waiting_for": WaitingCall | None}
        ),
        _method(
            "session.cancel_waiting",
            "Give up the step that waits. Returns the host-tool calls that it had made.",
            {},
            {"tool_calls": list[ToolCallRecord]},
        ),
        _method(
            "session.reply",
            "Say what became of a tool call of the step that runs; `waiting`: it is put off. `taken` says whether the "
            "step has waited for it.",
            {
                "call": int,
                "outcome": Literal["ok", "error", "refused", "broken", "waiting"],
                "value": (Bytes | None, None),
                "error_type": (Name, ""),
                "error": (str, ""),
                "inside": (bool, False),
                "note": (str, ""),
                "seconds": (float | None, None),
                "asked": (Literal["approval", "tool"], "tool"),
            },
            {"taken": bool},
        ),
        _method("session.cancel", "Stop the running step. Its state is restored.", {}, {"cancelled": bool}),
        _method(
            "session.get",
            "Get the value of a variable; `found` says whether there is one.",
            {"name": Name, "exact": (bool, False)},
            {"found": bool, "value": Any},
        ),
        _method("session.set", "Bind a variable to a value.", {"name": Name, "value": Raw}, {}),
        _method("session.remove", "Unbind a variable.", {"name": Name}, {}),
        _method("session.names", "List the names that the session's steps have bound.", {}, {"names": list[str]}),
        _method("session.variables", "Describe every variable.", {}, {"variables": list[Variable]}),
        _method("session.checkpoint", "Keep the state as it is now under a name.", {"name": Name}, {}),
        _method(
            "session.rollback",
            "Go back to a checkpoint, or to before the last steps. Returns the host-tool calls made since then.",
            {"name": (Name | None, None), "steps": (int, 1)},
            {"tool_calls": list[ToolCallRecord]},
        ),
        _method(
            "session.checkpoints", "List the checkpoints of the session.", {}, {"checkpoints": list[CheckpointInfo]}
        ),
        _method("session.drop", "Give up a checkpoint.", {"name": Name}, {}),
        _method(
            "session.branch",
            "Open new sessions that go on from the state as it is now.",
            {"n": (int, 1), "checkpoints": (_MODE, None)},
            {"sessions": list[str]},
        ),
        _method(
            "session.command",
            "Run a program that the policy lists in the session's workspace; `cwd` is a directory in it.",
            {"argv": Arguments, "cwd": (Name, "."), "timeout": (Seconds, None)},
            {"command": CommandResult},
        ),
        _method(
            "session.read_file",
            "Read a file of the workspace, which has at most `max_bytes` bytes.",
            {"name": Name, "max_bytes": (int | None, None)},
            {"data": Bytes},
        ),
        _method("session.write_file", "Put a file into the workspace.", {"name": Name, "data": Data}, {}),
        _method("session.list_files", "List the names of the workspace's files.", {}, {"files": list[str]}),
        _method(
            "session.save",
            "Give the variables and files as bytes; `unsaved` are names that are not in it, and why.",
            {"timeout": (Seconds, None), "wait": (Seconds, None)},
            {"state": Bytes, "unsaved": dict[str, str]},
        ),
        _method(
            "session.card",
            "Describe the policy, for a model's prompt.",
            {"format": (Literal["text", "markdown", "json"], "text")},
            {"card": str},
        ),
        _method("session.policy", "Return what the policy of this session says.", {}, {"policy": dict[str, Any]}),
        _method(
            "session.protection",
            "Return what the kernel does for this very session.",
            {},
            {"protection": list[Protection]},
        ),
        _method("session.close", "End the session and remove its files.", {}, {}),
    )
}

PIPED = {
    row.name: row
    for row in (
        _method(
            "sandbox.template",
            "Prepare a state, by a program and files, for sessions to begin in (`template` of `sandbox.session`).",
            {
                "name": Name,
                "prepare": (str | None, None),
                "files": (Files, {}),
                "timeout": (Seconds, None),
                **_TIGHTENED,
            },
            {"template": TemplateInfo},
        ),
        _method("sandbox.templates", "List the templates.", {}, {"templates": list[TemplateInfo]}),
        _method("sandbox.drop_template", "Give up a template. Its sessions go on.", {"name": Name}, {}),
        _method(
            "sandbox.session_for",
            "Find the open session of a label; where there is none and `new` is true, a new one: from a saved `state`, "
            "if one is given, else with `files` in its workspace.",
            {"label": Name, "new": (bool, True), "state": (Bytes | None, None), **_OPENING},
            {"session": str},
        ),
        _method(
            "sandbox.stats",
            "Count how many sessions are open, busy, idle, queued and restored now; `labels` has the same by label.",
            {},
            {"stats": dict[str, Any], "labels": list[Any]},
        ),
    )
}
"""The methods over a pipe alone, whose one client pays for all of it: a template is a session in no quota."""

OWNED = {
    row.name: row
    for row in (
        _method(
            "sandbox.bring",
            "Take a policy of the client's own. Answers its name here, and the version of the server.",
            {"version": str, "brought": Raw},
            {"policy": str, "version": str},
        ),
        _method("sandbox.drop", "Close the sandbox of a policy that was brought.", {}, {}),
    )
}
"""The methods over a pipe to a server whose client has started it for itself, in a container: it may as well have
opened the sandbox where it runs.
"""

EVERY = METHODS | PIPED | OWNED
