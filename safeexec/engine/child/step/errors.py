"""An exception of guest code as an `ErrorReport`: where, what, the guest's own traceback, and a hint.

Nothing here trusts the exception: see `tracebacks` for how its facts are read. Nothing of the frames outlives the call.
"""

from __future__ import annotations

from importlib.machinery import PathFinder
from types import ModuleType
from typing import TYPE_CHECKING, Any

from safeexec.common.identity import class_name, instance_dict
from safeexec.engine import advice
from safeexec.engine.child.step import tracebacks
from safeexec.engine.child.step.changes import variables
from safeexec.engine.child.step.violations import NO_NETWORK, explain, is_out_of_memory
from safeexec.engine.policy.names import GUARD_NAMES
from safeexec.protocol.messages import ErrorReport, FrameData

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping

    from safeexec.protocol.plan import LanguagePlan

MAX_HINT = 600
FRAMES, FRAME_VARIABLES = 30, 100
"""Functions, and variables of each, in an error."""
FUNCTION = 0x02
"""`inspect.CO_NEWLOCALS`: the code of a function, and not of a module."""
PLUGIN = "<plugin "
"""How the names begin that a plugin's modules have in tracebacks."""


def report(
    exc: BaseException,
    *,
    sources: Mapping[str, str],
    namespace: dict[str, Any],
    plan: LanguagePlan,
    lost_names: Container[str] = (),
    workspace_files: Callable[[], list[str]] | None = None,
    shadowed: Callable[[str], str | None] | None = None,
) -> ErrorReport:
    """Describe what ended a step.

    sources          file name of a step (``<step 3>``) → its source: frames of those files are the guest's
    lost_names       names that a restore took away
    workspace_files  lists the relative paths that there are
    shadowed         hints at a library's module whose name a file has

    `line` and the columns are those of the innermost frame in the step that was running. A refusal by the kernel is
    shown as what it is, with its rule. Never raises: what cannot be said is left empty.
    """
    left_out = tracebacks.cut(exc)
    lines = tracebacks.SourceLines(sources)
    frames = tracebacks.guest_frames(exc, sources)
    filename, position = _place(exc, frames, lines, sources)
    message = _not_imported(exc) or tracebacks.message_of(exc)
    text = _text_or_empty(lambda: tracebacks.TracebackFormatter(sources, left_out).format(exc))
    hint = _said_on(exc, "hint")
    if hint is None:
        facts = {
            "sources": sources,
            "namespace": namespace,
            "plan": plan,
            "lost_names": lost_names,
            "workspace_files": workspace_files or list,
        }
        hint = _text_or_empty(lambda: _hint(exc, message, frames, lines, shadowed, facts))
    kind, rule = class_name(type(exc)), _said_on(exc, "rule")
    if (refusal := explain(exc)) is not None:
        last_line = f"{kind}: {message}\n"
        message, rule, hint = refusal
        hint = (advice.network_hint(plan) or "") if hint == NO_NETWORK else hint
        kind = "PermissionError"
        if text.endswith(last_line):
            text = f"{text.removesuffix(last_line)}{kind}: {message}\n"
    source_line = lines.line(filename, position.line) if position else ""
    return ErrorReport(
        type=kind,
        message=_encode(message),
        line=position and position.line,
        column=position and position.column,
        end_line=position and position.end_line,
        end_column=position and position.end_column,
        source_line=_encode(tracebacks.without_middle(source_line, tracebacks.MAX_LINE)),
        traceback=_encode(text),
        rule=rule,
        hint=_encode(tracebacks.without_middle(hint, MAX_HINT)) if hint else None,
        file=filename,
    )


def running_functions(exc: BaseException, sources: Mapping[str, str]) -> list[FrameData]:
    """Return the functions that were running, with their variables. Asks the guest's `__repr__`."""
    return [
        FrameData(
            one.code.co_name,
            one.filename,
            one.line,
            variables({k: v for k, v in one.frame.f_locals.items() if k not in GUARD_NAMES})[:FRAME_VARIABLES],
        )
        for one in tracebacks.guest_frames(exc, sources)[-FRAMES:]
        if one.code.co_flags & FUNCTION
    ]


def _not_imported(exc: BaseException) -> str:
    """Return what to say of a submodule that nothing has imported: CPython says that there is no such attribute."""
    if type(exc) is not AttributeError or type(exc.obj) is not ModuleType or type(exc.name) is not str:
        return ""
    path = vars(exc.obj).get("__path__")
    try:
        found = PathFinder.find_spec(f"{exc.obj.__name__}.{exc.name}", path) if path else None
    except (ImportError, ValueError, OSError):
        return ""
    return f"{exc.obj.__name__}.{exc.name} is a module that has not been imported" if found is not None else ""


def _said_on(exc: BaseException, name: str) -> str | None:
    """Return what whoever raised the exception wrote onto it: the ``rule`` that refused, a ``hint``. None: nothing; an
    empty hint: none is to be looked for.
    """
    found = instance_dict(exc).get(name)
    return found if type(found) is str else None


def _place(
    exc: BaseException, frames: list[tracebacks.GuestFrame], lines: tracebacks.SourceLines, sources: Mapping[str, str]
) -> tuple[str, tracebacks.Position | None]:
    """Return file and position to show: in the step that was running, as deep in it as the exception came from; of a
    plugin, in the module that raised, or that cannot be read.
    """
    if frames:
        filename = frames[0].filename
        if filename.startswith(PLUGIN):
            return tracebacks.syntax_position(exc, sources) or (frames[-1].filename, lines.position(frames[-1]))
        innermost = next(frame for frame in reversed(frames) if frame.filename == filename)
        return filename, lines.position(innermost)
    return tracebacks.syntax_position(exc, sources) or ("", None)


def _hint(
    exc: BaseException,
    message: str,
    frames: list[tracebacks.GuestFrame],
    lines: tracebacks.SourceLines,
    shadowed: Callable[[str], str | None] | None,
    facts: dict[str, Any],
) -> str:
    """Return what to do instead, or nothing. `frames` are those of the guest; `facts` as for `advice.runtime_hint`."""
    sources, plan = facts["sources"], facts["plan"]
    refused = instance_dict(exc).get("refused")  # a guard of the language wrote kind and name onto the exception
    found = advice.refusal_hint(*refused, plan) if type(refused) is tuple and len(refused) == 2 else None
    if not found and shadowed is not None and type(exc) is AttributeError and type(exc.obj) is ModuleType:
        found = shadowed(exc.obj.__name__)  # a file may have the name of the library's module
    if found:
        return found
    where = tracebacks.syntax_position(exc, sources)
    if where is not None and (not frames or where[0] != frames[-1].filename):
        return advice.syntax_hint(exc, sources[where[0]]) or ""
    if is_out_of_memory(exc):
        return advice.limit_hint("memory" if issubclass(type(exc), MemoryError) else "memory of a library") or ""
    inner = tracebacks.only_member(exc)
    if inner is not None:
        inside = tracebacks.guest_frames(inner, sources)
        return _hint(inner, tracebacks.message_of(inner), inside, lines, shadowed, facts)
    segment, rest = lines.expression(frames[-1]) if frames else ("", "")
    found = advice.runtime_hint(
        (frames[-1].frame, frames[-1].filename, frames[-1].line) if frames else None,
        exc=exc,
        message=message,
        segment=segment,
        rest_of_line=rest,
        libraries=tracebacks.library_frames(exc, sources) if frames else [],
        **facts,
    )
    return found or ""


def _text_or_empty(make: Callable[[], str]) -> str:
    """Return `make()`, or nothing if it fails: a report may lack a part, but no child dies of reporting."""
    try:
        return make()
    except BaseException:  # code of the guest's
        return ""


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
