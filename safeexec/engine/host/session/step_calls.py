"""The calls of tools that the running step has made, kept so that it can be run again should one be put off."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from safeexec.protocol import messages as m

if TYPE_CHECKING:
    from typing import Protocol

    from safeexec.engine.host.session.given import Given
    from safeexec.engine.host.watch.verdict import Verdict

    class AnswersAgain(Protocol):
        """Answers the calls of a step that runs again."""

        waiting: Any

        @property
        def key(self) -> str:
            """That of the call which is expected next, where it had one."""

        def turn(self, call: m.ToolRequest, session: Any) -> tuple[m.ToolReply | None, Any]:
            """The answer that this call got before, or what is decided about it; neither: it is made."""

        def unmade(self) -> Verdict | None:
            """The verdict on a step that has ended without the call that waited."""


KEPT_BYTES = 8 << 20
"""Of the calls of one step, with what a record takes for each: they fit into a saved state."""


class StepCalls:
    """What one step was given, and its calls with their answers."""

    __slots__ = ("again", "argv", "atomic", "made", "size", "source", "stdin", "timeout", "waiting")

    def __init__(
        self,
        source: str,
        timeout: float | None,
        atomic: bool,
        stdin: Given | None,
        argv: Sequence[str] | None,
        again: AnswersAgain | None,
    ) -> None:
        self.source = source
        self.timeout = timeout
        self.atomic = atomic
        self.stdin = stdin
        self.argv = argv
        self.again = again
        """Answers the calls of a step that had waited."""
        self.made: list[tuple[m.ToolRequest, m.ToolReply, Any, dict[str, Any]]] = []
        """Each call, what it got, its outcome, and what else its record says."""
        self.size = 0
        """Bytes of arguments and answers; beyond what a step may keep to wait, none is kept."""
        self.waiting: Any = None
        """What the step is to wait for."""

    def note(
        self, call: m.ToolRequest, reply: m.ToolReply, outcome: Any, key: str = "", *, deferred: bool = False
    ) -> None:
        """A call was answered. `deferred`: it is carried out after the step."""
        self.size += len(call.arguments) + len(reply.value or b"") + 500
        if self.size <= KEPT_BYTES:
            self.made.append((call, reply, outcome, {"key": key, "effect": "deferred" if deferred else "at-once"}))
