"""Effects of host tools that follow the session: carried out when a step is kept, undone when it is rolled back.

    @safeexec.tool(effect="deferred")            # written down; carried out after a step that ends ok
    def send(to: str, text: str) -> None: ...

    @safeexec.tool(undo=cancel)                  # carried out at once; `cancel(result, …)` runs on a rollback
    def book(seat: str) -> str: ...

Each call has the number of tool calls that the session had made before it. A state of the session knows how many there
had been: calls beyond that belong to no state any more, whichever way the session went back. In a branch, deferred
calls wait until the branch is adopted.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Any, Literal, TypeVar, overload

from msgspec import Struct
from msgspec.structs import replace

from safeexec.common.text import short_repr, shorten
from safeexec.engine.approvals import Deny, Later, decision
from safeexec.engine.host.session.turns import OperationName
from safeexec.engine.host.tools.tool import EFFECT_ATTRIBUTE, Tool, contained
from safeexec.engine.host.tools.toolbox import PendingCall, Toolbox
from safeexec.engine.host.waiting import CallTool, Core
from safeexec.errors import ToolError
from safeexec.protocol.arguments import encode_arguments
from safeexec.recordings import format as form
from safeexec.recordings.forms import arguments_of, call_text, packed
from safeexec.recordings.recorder import RecordedTools
from safeexec.results import Result

F = TypeVar("F", bound=Callable[..., Any])
KEY = "effect_key"
"""The parameter by which an idempotent tool gets its key. Guest code does not see it."""
PENDING = "pending"
"""The name under which an approval gets all deferred calls together."""


class EffectRule(Struct, frozen=True):
    """Declares how the effect of a tool follows the session."""

    deferred: bool = False
    undo: Callable[..., Any] | None = None
    idempotent: bool = False


@overload
def tool(function: F, /) -> F: ...
@overload
def tool(
    *, effect: Literal["at-once", "deferred"] = ..., undo: Callable[..., Any] | None = ..., idempotent: bool = ...
) -> Callable[[F], F]: ...
def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    effect: Literal["at-once", "deferred"] = "at-once",
    undo: Callable[..., Any] | None = None,
    idempotent: bool = False,
) -> Any:
    """Say what becomes of the effect of a host tool.

    ``deferred``: guest code gets None, and the call is carried out when its step, or after one that raised the next,
    has ended ok (in a branch: when it is adopted); a rollback before that drops it. `undo` is called with what the tool
    returned and its arguments when the session is rolled back behind the call. With `idempotent` the function takes a
    keyword `effect_key`, and a deferred call whose outcome is unknown is repeated once, with the same key.
    Bare, as ``@tool``, it says what holds for any function: the call is carried out at once.

    Raises `ToolError` for a declaration that cannot be.
    """
    if effect not in ("at-once", "deferred"):
        raise ToolError(f"effect={effect!r}: it is 'at-once' or 'deferred'")
    if undo is not None and not callable(undo):
        raise ToolError(f"undo= is no function: {type(undo).__name__}")

    def declare(function: F) -> F:
        if not callable(function) or not hasattr(function, "__dict__"):
            raise ToolError(
                f"tool() decorates a function of Python, and its settings have names; found {function!r:.80}"
            )
        if idempotent:
            parameters = inspect.signature(function).parameters
            if KEY not in parameters:
                raise ToolError(f"an idempotent tool takes a keyword {KEY!r}, by which its calls are told apart")
            shown = [one for name, one in parameters.items() if name != KEY]
            vars(function)["__signature__"] = inspect.signature(function).replace(parameters=shown)
        vars(function)[EFFECT_ATTRIBUTE] = EffectRule(effect == "deferred", undo, idempotent)
        return function

    return declare if function is None else declare(function)


class _Entry(Struct, eq=False):
    """One call of a tool with a rule."""

    call: int
    number: int
    """Tool calls of the session before it."""
    step: int
    tool: Tool
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    key: str
    pending: bool
    """True until a deferred call is carried out."""
    value: Any = None

    @property
    def rule(self) -> EffectRule:
        rule: EffectRule = self.tool.effect
        return rule

    @property
    def title(self) -> str:
        shown = [*map(short_repr, self.args), *(f"{name}={short_repr(value)}" for name, value in self.kwargs.items())]
        return shorten(f"{self.tool.name}({', '.join(shown)})", 300)

    def arguments(self) -> dict[str, Any]:
        return dict(self.tool.signature.bind(*self.args, **self.kwargs).arguments)


def follow_effects(session: Any, toolbox: Toolbox, *, branch: bool = False) -> None:
    """Have the effects of a session's tools follow it. `branch`: deferred calls wait until it is adopted."""
    effects = session.turns.effects = Effects(session, toolbox, branch)
    if isinstance(recorded := session.steps.toolbox, RecordedTools):
        session.steps.toolbox = RecordedTools(effects.tools, recorded.recording)
    else:
        session.steps.toolbox = effects.tools


class Effects:
    """The calls of one session whose effects follow it."""

    def __init__(self, session: Any, toolbox: Toolbox, branch: bool) -> None:
        self._session = session
        self._toolbox = toolbox
        self._waits = branch
        self._entries: list[_Entry] = []
        self._undone: set[int] = set()
        """The numbers of the calls of which no effect is left."""
        self._calls = count(1)
        self._notes: list[str] = []
        self.tools = toolbox.with_tools({name: self._noting(tool) for name, tool in toolbox.tools.items()})
        """The tools of the session: the ones with a rule note their calls."""

    def _noting(self, tool: Tool) -> Tool:
        rule: EffectRule | None = tool.effect
        if rule is None:
            return tool
        noting = copy.copy(tool)
        noting.function = partial(self._defer if rule.deferred else self._at_once, tool)
        noting.effect = None
        noting.deferred = rule.deferred
        noting.is_async = tool.is_async and not rule.deferred
        return noting

    def _entry(self, tool: Tool, args: Any, kwargs: Any, *, pending: bool) -> _Entry:
        steps, call = self._session.steps, next(self._calls)
        if steps.turns.recorder is not None:
            call = steps.turns.recorder.call
        number, key = len(steps.tool_records), steps.call_key or steps.next_key()
        self._undone.discard(number)  # of a step that has waited, and makes the call again
        return _Entry(call, number, steps.number, tool, args, kwargs, key, pending)

    def _defer(self, tool: Tool, /, *args: Any, **kwargs: Any) -> None:
        tool.signature.bind(*args, **kwargs)  # a call that cannot be made is refused now
        self._entries.append(self._entry(tool, args, kwargs, pending=True))

    def _at_once(self, tool: Tool, /, *args: Any, **kwargs: Any) -> Any:
        entry = self._entry(tool, args, kwargs, pending=False)
        value = self._function(entry)(*args, **kwargs)
        if not hasattr(type(value), "__await__"):
            return self._done(entry, value)

        async def when_done() -> Any:
            return self._done(entry, await value)

        return when_done()

    def _done(self, entry: _Entry, value: Any) -> Any:
        if isinstance(value, Later):
            return value
        entry.value = value
        if entry.rule.undo is not None:
            self._entries.append(entry)
        return value

    def _function(self, entry: _Entry) -> Callable[..., Any]:
        return partial(entry.tool.function, effect_key=entry.key) if entry.rule.idempotent else entry.tool.function

    def come_back(self) -> None:
        """Forget what waits here: the session is what its store has, and `resume` brings the rest."""
        self._entries = [entry for entry in self._entries if not entry.pending]

    def resume(self, called: form.Called, *, again: bool = False) -> bool:
        """Take in a deferred call of an earlier process, which waits to be carried out, or (`again`) may have been
        begun: then it is carried out only if that is harmless, with the same key. Returns whether it will be.
        """
        tool = self._toolbox.tools.get(called.tool)
        rule: EffectRule | None = None if tool is None else tool.effect
        if tool is None or rule is None or called.effect != "deferred" or (again and not rule.idempotent):
            return False
        try:
            args, kwargs = arguments_of(called.arguments)
            tool.signature.bind(*args, **kwargs)
        except (ValueError, TypeError):
            return False
        before = self._session.steps.tool_records.total - 1
        self._entries.append(_Entry(called.call, before, called.step, tool, args, kwargs, called.key, pending=True))
        return True

    def unfinished(self) -> list[form.Called]:
        """Return the deferred calls that wait, as they were written down, for a new segment of a stored session. Those
        of no state any more are about to be dropped: a host that comes after is not to carry them out.
        """
        limits, found = self._session.policy.limits, []
        most = {"max_bytes": limits.value_kb << 10, "max_depth": limits.value_depth}
        reached = self._session.processes.history.current.tool_calls
        for entry in (one for one in self._pending() if one.number < reached):
            data = encode_arguments(entry.args, entry.kwargs, **most).data
            found.append(form.Called(arguments=packed(data, call_text(data)), effect="deferred", **self._known(entry)))
        return found

    def _known(self, entry: _Entry) -> dict[str, Any]:
        """Return what each line about a call says."""
        where = {"session": self._session.turns.recorder.number, "step": entry.step, "call": entry.call}
        return {**where, "tool": entry.tool.name, "key": entry.key}

    def _pending(self) -> list[_Entry]:
        return [entry for entry in self._entries if entry.pending]

    def pending(self) -> list[PendingCall]:
        """Return the deferred calls that wait, in order."""
        return [PendingCall(one.tool.name, one.arguments(), one.step, one.key) for one in self._pending()]

    def follow(self, name: OperationName, work: Core[Any]) -> Core[Any]:
        """Do an operation of the session, then what follows from where the session is."""
        session = self._session
        cancelled = session.waits.waiting if name == "cancel_waiting" else None
        # First: a state that is lost would take no call with it once the next step is part of the session.
        yield from session.supervisor.ensure_ready()
        yield from self._go_back()
        try:
            result = yield from work
        except GeneratorExit:
            raise  # nothing can be waited for; whoever uses the session next goes back
        except BaseException:
            yield from self._go_back()
            raise
        yield from self._go_back()
        if name == "branch":
            for one in result:
                follow_effects(one, self._toolbox, branch=True)
                one.turns.effects._undone |= self._undone
        elif name in ("rollback", "cancel_waiting"):
            total = len(session.steps.tool_records)
            first = total - len(result) if name == "rollback" else session.waits.calls_before
            gone = self._undone
            if cancelled is not None:  # what an earlier process has deferred was never carried out
                made = enumerate(cancelled.calls, first)
                gone = gone.union(at for at, one in made if one.call.effect == "deferred")
            return [record for number, record in enumerate(result, first) if number not in gone]
        elif isinstance(result, Result) and name != "check":
            if result.ok and not self._waits:
                try:
                    self._notes += yield from self.carry_out()
                except BaseException:
                    session.supervisor.note_untold(result)
                    raise
            notes, self._notes = self._notes, []
            return replace(result, notes=(*result.notes, *notes)) if notes else result
        return result

    def closed(self) -> None:
        """Drop what waits: the session is over."""
        for entry in self._pending():
            self._report(entry, "dropped", "the session was closed")
        self._entries.clear()

    def _report(self, entry: _Entry, became: Any, message: str = "") -> None:
        if (recorder := self._session.turns.recorder) is not None:
            recorder.write(form.Effect(became=became, message=message[:1000], **self._known(entry)))

    # After a step

    def _go_back(self) -> Core[None]:
        """Drop and undo the calls that belong to no state any more, the last one first. Those of a step that waits are
        kept: it goes on from them.
        """
        reached = self._session.processes.history.current.tool_calls
        waits = self._session.waits
        still = waits.current() is not None
        for entry in [entry for entry in reversed(self._entries) if entry.number >= reached]:
            if still and not entry.pending and entry.number >= waits.calls_before:
                continue
            # One by one: whoever is interrupted leaves the others to the next use.
            self._entries.remove(entry)
            if entry.pending:
                self._report(entry, "dropped")
                self._undone.add(entry.number)
            elif (yield from self._undo(entry)):
                self._undone.add(entry.number)

    def _undo(self, entry: _Entry) -> Core[bool]:
        undo, title = entry.rule.undo, entry.title
        assert undo is not None
        try:
            args = (entry.value, *entry.args)
            _, problem, known = yield from self._attempt(entry, "undoing", undo, f"undo of {title}", args)
        except BaseException:
            self._notes.append(f"{title}: nobody knows whether it was undone")
            raise
        if known:
            self._report(entry, "not-undone" if problem else "undone", problem)
        if problem:
            self._notes.append(f"{title} could not be undone: {problem}")
        return not problem

    def carry_out(self) -> Core[list[str]]:
        """Carry out what is pending, in order. Returns what went wrong, in words."""
        waiting, self._waits = self._pending(), False
        if not waiting:
            return []
        try:
            refusal = yield from self._refusal(waiting)
        except Later as later:
            return [f"{len(waiting)} deferred calls wait for their approval ({later}); session.adopt() asks again"]
        problems = [f"{len(waiting)} deferred calls were not approved: {refusal}"] if refusal else []
        for entry in waiting:
            if refusal:
                self._entries.remove(entry)
                self._report(entry, "dropped", refusal)
                self._undone.add(entry.number)
            else:
                problems += yield from self._carry_out(entry)
        return problems

    def _carry_out(self, entry: _Entry) -> Core[list[str]]:
        function, title = self._function(entry), entry.title
        for _ in range(2 if entry.rule.idempotent else 1):
            try:
                entry.value, problem, known = yield from self._attempt(entry, "begun", function, title, entry.args)
            except BaseException:
                if not entry.rule.idempotent:  # once more only where that is harmless
                    self._entries.remove(entry)
                    self._notes.append(f"{title}: nobody knows whether it was carried out")
                raise
            if known:
                break
        if isinstance(later := entry.value, Later):
            self._report(entry, "failed", f"put off: {later}")
            return [f"{title} was put off ({later}); session.adopt() carries it out"]
        entry.pending = False
        if problem or entry.rule.undo is None:
            self._entries.remove(entry)
        if not known:
            return [f"{title}: {problem}"]
        self._report(entry, "failed" if problem else "done", problem)
        return [f"{title} failed: {problem}"] if problem else []

    def _attempt(
        self, entry: _Entry, began: Any, function: Callable[..., Any], title: str, args: tuple[Any, ...]
    ) -> Core[tuple[Any, str, bool]]:
        """Call a function of the host within the time of the entry's tool. Returns what it returned, what it raised,
        in words, and whether it is known what became of it.
        """
        longest, own = self._session.policy.tools.timeout_seconds, entry.tool.timeout
        timeout, is_async = longest if own is None else min(longest, own), inspect.iscoroutinefunction(function)
        self._report(entry, began)
        try:
            yield from self._session.steps.secured()
            value = yield CallTool(
                partial(contained, title, function, *args, **entry.kwargs),
                timeout,
                is_async=is_async,
                in_thread=own is not None and not is_async,
                owner=self._toolbox,
            )
            return value, "", True
        except TimeoutError as error:
            late = str(error) or f"it took more than {timeout:g} s"
            self._report(entry, "unknown", late)
            return None, f"nobody knows what became of it ({late})", False
        except Later as later:
            return later, "", True
        except Exception as error:
            return None, f"{type(error).__name__}: {error}"[:500], True
        except BaseException as error:  # Ctrl-C, a cancelled task: it may have been done
            self._report(entry, "unknown", type(error).__name__)
            raise

    def _refusal(self, waiting: list[_Entry]) -> Core[str]:
        """Return why the deferred calls may not be carried out; "" if they may. An approval sees them all at once."""
        rules, approval = self._session.policy.tools, self._toolbox.approval
        if not any(rules.needs_approval(entry.tool.name) for entry in waiting):
            return ""
        if approval is None:
            return "the host has nobody to ask"
        calls = [{"tool": entry.tool.name, "arguments": entry.arguments()} for entry in waiting]
        try:
            answer = yield CallTool(
                partial(contained, "the approval of deferred calls", approval, PENDING, {"calls": calls}),
                rules.timeout_seconds,
                is_async=inspect.iscoroutinefunction(approval),
                owner=self._toolbox,
            )
        except Later:
            raise
        except Exception as error:
            return f"the approval raised {type(error).__name__}: {error}"[:500]
        if isinstance(answer, Later):
            raise answer
        decided = decision(answer, "the approval of deferred calls")
        if isinstance(decided, Deny):
            return decided.reason
        return "the approval edited their arguments, which only one of a single call may" if decided.arguments else ""
