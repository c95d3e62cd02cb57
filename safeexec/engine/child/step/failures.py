"""Reports of a step that did not end well, as far as they need no late import: the rest is in `errors`."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from safeexec.common.identity import args_of, chained, class_name, entries_of
from safeexec.common.own import contextlib
from safeexec.engine.child.step.program import Diagnostic, Rejection
from safeexec.engine.child.step.value_text import TEXT_CHARACTERS
from safeexec.engine.child.step.violations import explain, is_out_of_memory
from safeexec.protocol import messages as m

EXIT_CODE: Callable[[SystemExit], Any] = SystemExit.__dict__["code"].__get__
"""A subclass of the guest's may have an attribute `code` of its own."""
_LONG = range(-(1 << 63), 1 << 63)
_GENERATOR_FLAGS = 0x20 | 0x80 | 0x200
"""`inspect.CO_GENERATOR`, `CO_COROUTINE` and `CO_ASYNC_GENERATOR`."""


def exit_status(code: object) -> int:
    """Return the exit status that CPython on Linux makes of a SystemExit's code: 0 to 255.

    None is 0, a whole number its last eight bits (255 for one that no C long holds), anything else a message and 1.
    """
    if code is None:
        return 0
    if not issubclass(type(code), int):
        return 1
    number = int.__index__(code)  # type: ignore[arg-type]  # `isinstance` would ask its `__class__`
    return number & 0xFF if number in _LONG else 255


def outcome_of(error: BaseException) -> m.StepOutcome:
    """Return the outcome word for an exception that the guest did not catch."""
    if is_out_of_memory(error):
        return "memory"
    # Any type: a library may say it in its own words, "can't start new thread" or "failed to map segment".
    return "violation" if explain(error) is not None else "error"


def brief_report(error: BaseException) -> m.ErrorReport:
    """Return type, message and line, without the modules that report the rest. Runs no code of the exception's own."""
    words = " ".join(part for part in args_of(error) if type(part) is str)
    if type(error) is OSError:
        with contextlib.suppress(BaseException):  # what it was made with may be the guest's
            words = str(error)
    lines = (one.tb_lineno for one in entries_of(error) if one.tb_frame.f_code.co_filename.startswith("<step "))
    message = words.encode("utf-8", "surrogatepass")[:TEXT_CHARACTERS]
    return m.ErrorReport(type=class_name(type(error)), message=message, line=next(lines, None))


def release_frames(error: BaseException) -> None:
    """Drop the local variables that the frames of an exception, and of what it is chained to, hold: who keeps the
    exception, be it a frame of its own, keeps no more than that.

    Generators and coroutines are left alone: one that caught the exception may still be waiting to go on. Warnings
    are off meanwhile: the coroutines that die here unawaited would be reported with a line of this file.
    """
    # The program may have taken the module from `sys.modules`, or have replaced what is in it.
    with contextlib.suppress(Exception), warnings.catch_warnings(module=warnings):
        warnings.simplefilter("ignore")
        for one in chained(error, 1000):
            for entry in entries_of(one):
                if not entry.tb_frame.f_code.co_flags & _GENERATOR_FLAGS:
                    with contextlib.suppress(RuntimeError):  # still running: ours
                        entry.tb_frame.clear()


def rejection_report(rejection: Rejection, hint_of: Callable[[str, str], str | None]) -> m.ErrorReport:
    """Return all diagnostics of a rejection as one report, the first one first. `hint_of`: kind and name to hint."""

    def report(d: Diagnostic) -> dict[str, Any]:
        hint = hint_of(d.kind, d.name)
        return {
            "type": "PolicyViolation",
            "message": d.message.encode("utf-8", "surrogatepass"),
            "line": d.line,
            "column": d.column,
            "end_line": d.end_line,
            "end_column": d.end_column,
            "source_line": d.caret.partition("\n")[0].encode("utf-8", "surrogatepass"),
            "traceback": d.caret.encode("utf-8", "surrogatepass"),
            "rule": d.rule,
            "hint": None if hint is None else hint.encode("utf-8", "surrogatepass"),
        }

    diagnostics = rejection.diagnostics[: m.FEW]
    return m.ErrorReport(**report(diagnostics[0]), diagnostics=[m.Refusal(**report(d)) for d in diagnostics])
