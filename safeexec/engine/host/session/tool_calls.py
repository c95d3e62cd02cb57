"""The calls of host tools: those that a session remembers, and those of the step that runs, which are kept so that it
can be run again should one be put off.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Self

from msgspec import Struct

from safeexec.engine.host.waiting import Core
from safeexec.errors import RecordingError
from safeexec.protocol import messages as m
from safeexec.results import ToolCallRecord

if TYPE_CHECKING:
    from typing import Protocol

    from safeexec.engine.host.session.standard_input import Given
    from safeexec.engine.host.watch.verdict import Verdict
    from safeexec.results import WaitingCall

    class AnswersAgain(Protocol):
        """Answers the calls of a step that runs again."""

        waiting: Any

        unsure: bool
        """True if nobody knows what came of the call that was answered last."""

        def key_of(self, call: m.ToolRequest) -> str: ...
        def turn(self, call: m.ToolRequest, steps: Any) -> tuple[m.ToolReply | None, Any]: ...
        def unmade(self) -> Verdict | None: ...


KEPT_BYTES = 8 << 20
"""The most bytes of the calls of one step, with what a record takes for each: they fit into a saved state."""


class StepCalls(Struct, eq=False):
    """The input of one step, and its calls with their answers."""

    source: str
    timeout: float | None
    atomic: bool
    stdin: Given | None
    argv: Sequence[str] | None
    earlier_answers: AnswersAgain | None
    """Answers the calls of a step that had waited."""
    made: list[tuple[m.ToolRequest, m.ToolReply, Any, dict[str, Any]]] = []
    """Each call, what it got, its outcome, and what else its record says."""
    size: int = 0
    """Bytes of arguments and answers; beyond what a step may keep to wait, none is kept."""
    waiting: Any = None
    """The record of the call that the step is to wait for."""

    def note(
        self, call: m.ToolRequest, reply: m.ToolReply, outcome: Any, key: str = "", *, deferred: bool = False
    ) -> None:
        """Keep a call that was answered. `deferred`: it is carried out after the step."""
        self.size += len(call.arguments) + len(reply.value or b"") + 500
        if self.size <= KEPT_BYTES:
            self.made.append((call, reply, outcome, {"key": key, "effect": "deferred" if deferred else "at-once"}))


class Waits:
    """Keeps the step of a session that waits for the answer to a call, if one does. Here none can:
    `recordings.session.WaitingStep` keeps them.
    """

    waiting: Any = None
    """The record of the step; None: none waits."""
    calls_before = 0
    """How many calls of tools there had been before it."""

    def check(self, earlier_answers: AnswersAgain | None = None) -> None:
        """Check that a step may begin, or the state change: only to answer the one that waits. Raises `StepWaiting`."""

    def put_off(self, call: m.ToolRequest, later: Any, steps: Any) -> Core[str]:
        """Have the step that runs end, to wait for the answer to this call. Returns why it cannot wait, or ""."""
        yield from ()
        return "nothing here keeps a step that waits"

    def begin(self, calls: StepCalls, calls_before: int) -> Core[WaitingCall | None]:
        """Wait, as the step that was put off has been undone. Returns the call, for people."""
        raise NotImplementedError

    def is_asking(self) -> bool:
        """Return whether somebody may still answer."""
        return False

    def written(self) -> Core[bytes]:
        """Return the step as a saved state keeps it; nothing where none waits."""
        yield from ()
        return b""

    def wait_again(self, written: bytes) -> Core[None]:
        """Wait for what a saved state has written. Raises `RecordingError`."""
        yield from ()
        raise RecordingError("a step of it waits for an answer, and nothing here keeps such steps")


RECORDS = 10_000
"""Tool calls that a session remembers: the newest ones."""


class ToolLog:
    """The tool calls of one session. It counts all of them, and keeps the newest `RECORDS`."""

    __slots__ = ("_kept", "total")

    def __init__(self) -> None:
        self._kept: deque[ToolCallRecord] = deque(maxlen=RECORDS)
        self.total = 0
        """How many calls there have been: a mark for `since`."""

    def append(self, record: ToolCallRecord) -> None:
        self._kept.append(record)
        self.total += 1

    def __len__(self) -> int:
        return self.total

    def forget_since(self, mark: int) -> None:
        """Forget the calls after the first `mark` ones: they are made again."""
        while self.total > mark:
            self.total -= 1
            if self._kept:
                self._kept.pop()

    def since(self, mark: int) -> tuple[ToolCallRecord, ...]:
        """Return the calls after the first `mark` ones, as far as they are kept."""
        return tuple(islice(self._kept, max(0, mark - (self.total - len(self._kept))), None))

    def copy(self) -> Self:
        copied = type(self)()
        copied._kept, copied.total = self._kept.copy(), self.total
        return copied
