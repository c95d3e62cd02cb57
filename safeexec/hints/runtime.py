"""The hint for an exception at run time: what a model should write instead, in one sentence.

A hint is found from the kind of the exception, its message, the source text of the failing expression and the objects
that its names stand for.
"""

from __future__ import annotations

from safeexec.common.identity import class_name
from safeexec.hints import attributes, calls, columns, contents, facts, files, keys, names, values
from safeexec.hints.failure import ErrorPlace, Failure
from safeexec.hints.rules import HintRules
from safeexec.hints.tables import messages

__all__ = ["RULES", "ErrorPlace", "Failure", "runtime_hint"]

_OF_OBJECTS = (names, attributes, calls, values, columns, keys, files, contents, facts)
RULES = HintRules([*(rule for module in (*_OF_OBJECTS, messages) for rule in module.RULES), *facts.LAST])
"""Rules that look at the objects, then those that follow from the message alone, last the facts alone."""


def runtime_hint(failure: Failure) -> str | None:
    """Return one sentence that says what to do instead, or None where nothing certain can be said.

    An exception that the guest's own code raised on purpose (a ``raise`` statement) gets no hint.
    """
    ended = issubclass(failure.kind, SystemExit) or class_name(failure.kind) == "BdbQuit"
    mistaken = ended or "must derive from BaseException" in failure.message
    segment = failure.segment
    raised = segment.startswith(("raise ", "raise(")) or (not segment and failure.place is None)
    if raised and not failure.libraries and not mistaken:
        return None
    found = RULES.answer(failure)
    return found[1] if found else None
