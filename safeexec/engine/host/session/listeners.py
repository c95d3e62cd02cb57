"""The listeners of a running step: functions of the caller, for its output, its displays and its progress bars."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from safeexec.results import Display

if TYPE_CHECKING:
    from safeexec.engine.host.session.output import OnOutput, OutputFile, SessionOutput

    Streams = tuple[tuple[OutputFile, tuple[OnOutput, ...]], ...]

OnDisplay = Callable[[Display], object]
OnProgress = Callable[[str, float, "float | None"], object]
"""Gets description, how much is done, and of how much (None: unknown), as the guest's progress bars move."""


class Listeners(NamedTuple):
    """`output` hears of both streams, in whole lines; `stdout` and `stderr` of one each."""

    output: OnOutput | None = None
    stdout: OnOutput | None = None
    stderr: OnOutput | None = None
    display: OnDisplay | None = None
    progress: OnProgress | None = None

    def streams(self, printed: SessionOutput) -> Streams:
        """Return the streams that somebody listens to, and who."""
        heard = ((printed.stdout, (self.stdout, self.output)), (printed.stderr, (self.stderr, self.output)))
        kept = ((file, tuple(hear for hear in ears if hear is not None)) for file, ears in heard)
        return tuple((file, ears) for file, ears in kept if ears)


NOBODY = Listeners()


def listening(callbacks: Callbacks) -> Listeners:
    """Return the listeners of a step. Raises TypeError for one that cannot be called, and for a coroutine function:
    what a call of that gives would have to be awaited, and the step does not wait.
    """
    for name, hear in zip(Listeners._fields, callbacks, strict=True):
        if hear is not None and not callable(hear):
            raise TypeError(f"on_{name} is a function, not {type(hear).__name__}")
        if getattr(getattr(hear, "__code__", None), "co_flags", 0) & _CO_COROUTINE:
            raise TypeError(f"on_{name} is called while the step runs, not awaited: give a plain function")
    return Listeners(*callbacks)


_CO_COROUTINE = 0x80
"""A flag of code objects, from `inspect`, which is not imported for it."""
Callbacks = tuple["OnOutput | None", "OnOutput | None", "OnOutput | None", "OnDisplay | None", "OnProgress | None"]
"""The fields of `Listeners`, in their order."""
