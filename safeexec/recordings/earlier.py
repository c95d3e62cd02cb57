"""The calls of steps that were undone: who runs the same step again gets the answers that it had, and its keys."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

from msgspec.structs import replace

from safeexec.protocol import messages as m
from safeexec.protocol.values import encode
from safeexec.recordings import format as form
from safeexec.recordings.forms import bytes_of
from safeexec.recordings.served import reply_of
from safeexec.recordings.store.recovery import MadeCall, Undone


class EarlierCall:
    """A call that an earlier run of the same step has made."""

    def __init__(self, call: MadeCall) -> None:
        self.key = call.called.key
        self.unknown = call.unknown
        self._call = call

    def reply(self, call: m.ToolRequest, rule: Any) -> m.ToolReply | None:
        """Return what it got then. None where the call is to be made now, with the same key."""
        answer, again = self._call.answer, rule is not None and rule.idempotent
        if self._call.called.effect == "deferred":
            if self._call.effect is None or self._call.effect.became == "dropped" or (self.unknown and again):
                return None
            return m.ToolReply(call.call, encode(None, max_bytes=64, max_depth=1).data)
        if answer is None:
            if again:
                return None
            error = f"{call.tool}() was begun when the host ended, and nobody knows what became of it: not called again"
            return m.ToolReply(call.call, error_type="ToolError", error=error)
        try:
            return reply_of(call, answer)
        except ValueError as error:
            text = f"{call.tool}() was called already, and what it returned is not in the store: {error}"
            return m.ToolReply(call.call, error_type="ToolError", error=text)


class EarlierSteps:
    """The steps of a stored session that were undone, in their order. One is run again if its source comes next; any
    other source is a new step, with which they are forgotten: nobody could tell a repeat from a second payment.
    """

    def __init__(self, undone: Iterable[Undone] = ()) -> None:
        self._undone = deque(undone)
        self._repeats = False
        """Whether the running step is the first of them once more."""
        self._before: deque[MadeCall] = deque()
        """The calls that it is to make."""

    def begin(self, source: str) -> None:
        """Note that a step begins."""
        self._before.clear()
        self._repeats = bool(self._undone) and self._undone[0].run.source == source
        if self._repeats:
            self._before.extend(self._undone[0].made)
        else:
            self._undone.clear()

    def ended(self, *, part: bool) -> None:
        """Note that it has ended. `part`: as part of the session; if not, its calls are still to be answered."""
        if self._repeats and part:
            self._undone.popleft()
        self._repeats = False

    def same(self, call: m.ToolRequest) -> EarlierCall | None:
        """Return this call, where an earlier run of the step has made it."""
        if not self._before:
            return None
        made = self._before.popleft()
        try:
            if made.called.tool == call.tool and bytes_of(made.called.arguments) == call.arguments:
                return EarlierCall(made)
        except ValueError:
            pass  # too large to be kept: nobody knows whether it is the same
        self._before.clear()
        return None

    def records(self) -> Iterator[form.Record]:
        """Yield what a part of a store that begins anew is to say of them."""
        for run, made in self._undone:
            yield replace(run, undone=True)
            for one in made:
                yield from (record for record in one if isinstance(record, form.Record))
