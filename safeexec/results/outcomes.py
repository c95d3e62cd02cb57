"""The parts of a result as plain data. `safeexec.results` makes a `Result` of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Literal, TypeVar

from msgspec import Struct

from safeexec.common.text import from_utf_8, short_repr

Outcome = Literal[
    "ok", "error", "rejected", "violation", "memory", "timeout", "cpu", "output", "cancelled", "crashed", "waiting"
]
State = Literal["kept", "restored", "diverged", "lost"]
"""The fate of the state before a step: `restored` is as it was before; `diverged`: steps before this one came out
otherwise when they were repeated, and are lost; `lost`: there was nothing to go back to.
"""

STATES = {
    "restored": "restored to what it was before this step",
    "diverged": "an older one; steps since then came out otherwise when they were repeated, and are lost",
    "lost": "lost; the session starts empty",
}
STARTS_EMPTY = "the session starts empty"
"""In the notes of a restored result whose session had no checkpoint to go back to."""
NEWEST_LEFT = "is the newest that was left"
"""In the notes of a restored result whose session had no checkpoint of the state before the step."""


class Usage(Struct, frozen=True):
    """The time and memory that one step took. The host measures both times; `peak_memory_mb` is the child's resident
    peak in MiB, with the preloaded modules; 0.0 where its process ended before the host could look. `wake_ms` is no
    part of `wall_ms`: the time before the step to bring the session's process back, after a rest or a loss.
    """

    wall_ms: float = 0.0
    cpu_ms: float = 0.0
    peak_memory_mb: float = 0.0
    output_bytes: int = 0
    wake_ms: float = 0.0


class ErrorInfo(Struct, frozen=True):
    """The reason why a step did not end `ok`. Lines and columns count from 1; `traceback` holds guest frames only.

    `line` is in the step that ran; in a plugin, in the module that raised. `file` is that step or module as the
    traceback names it: ``<step 3>``, ``<plugin shop:parts.sums>``; of a plugin that was read from files, the path of
    the module's file.
    """

    type: str
    message: str
    line: int | None = None
    column: int | None = None
    end_line: int | None = None
    end_column: int | None = None
    source_line: str = ""
    traceback: str = ""
    rule: str | None = None
    hint: str | None = None
    diagnostics: tuple[ErrorInfo, ...] = ()
    """All refusals of a rejected step, the first one included."""
    file: str = ""


class Changes(Struct, frozen=True):
    """Names of the session's namespace that a step touched."""

    created: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    descriptions: Mapping[str, str] = {}
    """Created or changed name → a few words: ``DataFrame 891x12``."""


class Display(Mapping[str, "str | bytes"]):
    """One rich result: MIME type → data, text as str, pictures as bytes. Guest code made it: show it, do not run it.

    With `update` it takes the place of what was shown under its `display_id` before. One that is reported while a step
    runs may be empty: it takes the place of all displays of the step so far.
    """

    __slots__ = ("_data", "display_id", "truncated", "update")

    def __init__(
        self,
        data: Mapping[str, str | bytes],
        truncated: bool = False,
        display_id: str | None = None,
        update: bool = False,
    ) -> None:
        self._data = {mime: _as_text(mime, item) for mime, item in data.items()}
        self.truncated = truncated
        self.display_id = display_id
        self.update = update

    def __getitem__(self, mime: str) -> str | bytes:
        return self._data[mime]

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def __len__(self) -> int:
        return len(self._data)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> Mapping[str, str]:
        """Return what a notebook may show of it: nothing that runs, loads or leads away."""
        from safeexec.results.mimebundle import of_display  # for notebooks

        return of_display(self)

    def __repr__(self) -> str:
        return f"Display({', '.join(f'{mime}: {len(item)}' for mime, item in self._data.items())})"

    def _text(self, mime: str) -> str | None:
        item = self._data.get(mime)
        return item if isinstance(item, str) else None

    @property
    def png(self) -> bytes | None:
        """The bytes of the PNG, or None."""
        item = self._data.get("image/png")
        return item if isinstance(item, bytes) else None

    @property
    def svg(self) -> str | None:
        return self._text("image/svg+xml")

    @property
    def html(self) -> str | None:
        return self._text("text/html")

    @property
    def markdown(self) -> str | None:
        return self._text("text/markdown")

    @property
    def latex(self) -> str | None:
        return self._text("text/latex")

    @property
    def text(self) -> str | None:
        return self._text("text/plain")

    @property
    def json(self) -> str | None:
        """JSON text: of an object's own JSON form, of a plotly or of an altair chart."""
        texts = (item for mime, item in self._data.items() if mime.endswith("json"))
        return next((item for item in texts if isinstance(item, str)), None)


def is_text(mime: str) -> bool:
    """Return whether a display of that type is text, and no bytes."""
    return mime.startswith("text/") or mime.endswith(("json", "xml"))


def _as_text(mime: str, item: str | bytes) -> str | bytes:
    return item if isinstance(item, str) or not is_text(mime) else from_utf_8(item, replace=True)


class FileChange(Struct, frozen=True):
    """A file of the workspace that a step touched. `size` is in bytes, `type` the MIME type that its name suggests."""

    name: str
    change: Literal["created", "changed", "deleted"]
    size: int = 0
    type: str = "application/octet-stream"


class Variable(Struct, frozen=True):
    """One variable of a session. `size` is in bytes, as far as it is cheaply known; `text` is a short repr."""

    name: str
    type: str
    shape: str = ""
    size: int | None = None
    text: str = ""


class Frame(Struct, frozen=True):
    """A function of guest code that was running when a step raised, with its variables as they were."""

    function: str
    file: str
    line: int
    variables: tuple[Variable, ...] = ()


Row = TypeVar("Row", bound=Struct)


class Rows(list[Row]):
    """A list of records, which a notebook shows as a table."""

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> Mapping[str, str]:
        from msgspec.structs import asdict

        from safeexec.results.mimebundle import of_rows  # for notebooks

        rows = [asdict(row) for row in self]
        return of_rows([*rows[0]] if rows else ["nothing"], [[*row.values()] for row in rows])


class ToolCallRecord(Struct, frozen=True):
    """One call of a host tool. `outcome` is `ok`, `error`, `refused`, or `waiting` where it was put off; `wall_ms` is
    the host's own measure.
    """

    tool: str
    step: int
    outcome: Literal["ok", "error", "refused", "waiting"]
    message: str = ""
    wall_ms: float = 0.0


class WaitingCall(Struct, frozen=True):
    """The call of a host tool for which a step waits. Guest code chose the `arguments`, by parameter."""

    tool: str
    arguments: Mapping[str, Any]
    asked: Literal["approval", "tool"]
    """The side that put it off: an approval is answered with `Allow` or `Deny`, a tool also with the value that it
    gives."""
    since: datetime
    until: datetime
    """The time from which it is too late to answer."""
    note: str = ""
    step: int = 0
    label: str | None = None
    """Whose session it is, in the words of the host."""
    session: str = ""
    """The id of the session at a server."""


class StepData(Struct, frozen=True):
    """All that is known of one step that ended. Truthy when it ended `ok`."""

    outcome: Outcome
    value: Any = None
    text: str = ""
    stdout: str = ""
    stderr: str = ""
    error: ErrorInfo | None = None
    changes: Changes = Changes()
    usage: Usage = Usage()
    state: State = "kept"
    step: int = 0
    displays: tuple[Display, ...] = ()
    truncated: bool = False
    """True if anything of value, text, output or displays was cut; the texts say where and how much."""
    tool_calls: tuple[ToolCallRecord, ...] = ()
    """The newest 10,000 of the step; of the calls that `tools.max_calls` refuses, the first."""
    files: tuple[FileChange, ...] = ()
    refusals: tuple[ErrorInfo, ...] = ()
    notes: tuple[str, ...] = ()
    """Notes for the reader: what a restore could not carry, why there is no checkpoint."""
    remaining: tuple[str, ...] = ()
    """After a restore the names of the variables that there are, in their order, 200 at most."""
    exit_status: int | None = None
    """The status that the program ended itself with (0 to 255), by `sys.exit(n)`, or by `os._exit(n)` with its process
    (`crashed`); None when it did not.
    """
    waiting_for: WaitingCall | None = None
    """The call that was put off, where the step waits for its answer."""

    @property
    def ok(self) -> bool:
        return self.outcome == "ok"

    def __bool__(self) -> bool:
        return self.outcome == "ok"

    def __repr__(self) -> str:
        """Return what differs from an empty result, each part shortened: a value may be an int that `repr` refuses."""
        parts = ((name, getattr(self, name)) for name in self.__struct_fields__)
        fields = (f"{name}={short_repr(part)}" for name, part in parts if part is not _DEFAULTS.get(name, self))
        return f"{type(self).__name__}({', '.join(fields)})"


_DEFAULTS = dict(zip(reversed(StepData.__struct_fields__), reversed(StepData.__struct_defaults__), strict=False))
