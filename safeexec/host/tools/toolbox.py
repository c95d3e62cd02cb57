"""Host tools: functions of the host that guest code may call. Every call is checked here, on the trusted side.

A call that comes from a child is hostile input: the name must be a tool's, the arguments must bind to its signature and
convert to its type hints (msgspec), and nothing of the host's traceback goes back.
"""

from __future__ import annotations

import builtins
import inspect
import sys
import types
from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any
from uuid import UUID

import msgspec

from safeexec.errors import ProtocolError, ToolError
from safeexec.host.tools.approvals import Approval, Deny, decision
from safeexec.host.waiting import CallTool, Core
from safeexec.protocol import messages as m
from safeexec.protocol.arguments import decode_call
from safeexec.protocol.values import Opaque, encode
from safeexec.results import ToolCallRecord
from safeexec.text import default_text, short_repr

if TYPE_CHECKING:
    from typing import Protocol

    from safeexec.host.session.kept import ToolLog
    from safeexec.policy.model import Policy

    class Caller(Protocol):
        """A session, as its tools see it."""

        step: int
        calls_of_step: int
        tool_records: ToolLog


EFFECT_ATTRIBUTE = "__safeexec_effect__"
"""Where `effects.tool` leaves what becomes of the effect of one tool."""
TIMEOUT_ATTRIBUTE = "__safeexec_timeout__"
"""Where `toolkit.limited` leaves the deadline of one tool, seconds."""
_KINDS = {
    inspect.Parameter.POSITIONAL_ONLY: "positional",
    inspect.Parameter.POSITIONAL_OR_KEYWORD: "either",
    inspect.Parameter.VAR_POSITIONAL: "args",
    inspect.Parameter.KEYWORD_ONLY: "keyword",
    inspect.Parameter.VAR_KEYWORD: "kwargs",
}
_PLAIN = (bytes, bytearray, datetime, date, time, timedelta, UUID, Decimal)
"""What crosses as itself, and would be text in JSON."""
_MESSAGE = 2000


class PendingCall(msgspec.Struct, frozen=True):
    """A deferred call of a host tool that has not been carried out."""

    tool: str
    arguments: dict[str, Any]
    step: int
    key: str


class Tool:
    """One function of the host, with what a call of it is checked against."""

    __slots__ = (
        "_convert",
        "_declares",
        "_hints",
        "deferred",
        "effect",
        "function",
        "is_async",
        "name",
        "signature",
        "timeout",
    )

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        if not name.isidentifier():
            raise ToolError(f"{name!r} cannot be the name of a tool: guest code could not call it")
        if not callable(function):
            raise ToolError(f"the tool {name!r} is not callable: {type(function).__name__}")
        self.name = name
        self.function = function
        self._declares = hasattr(function, "__signature__") or hasattr(function, "__wrapped__")
        self.timeout: float | None = getattr(function, TIMEOUT_ATTRIBUTE, None)
        self.effect: Any = getattr(function, EFFECT_ATTRIBUTE, None)
        """What becomes of its effect (`effects.EffectRule`), if that was declared."""
        self.deferred = False
        """Whether a call of it is written down and carried out later, when all of them are approved together."""
        self.is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
            getattr(function, "__call__", None)  # noqa: B004  (an object whose __call__ is a coroutine function)
        )
        try:
            self.signature = inspect.signature(function)
        except (TypeError, ValueError) as error:
            raise ToolError(f"the tool {name!r} has no signature that can be read: {error}") from None
        from safeexec.host.tools import type_hints as tool_hints

        self._convert = tool_hints.convert
        hints = tool_hints.checked(name, function)
        self._hints = {parameter: hint for parameter, hint in hints.items() if parameter in self.signature.parameters}

    @property
    def checked(self) -> bool:
        """Whether arguments are bound here: to be checked against type hints, or because the function takes more than
        it declares. Else Python's own binding says all there is to say.
        """
        return bool(self._hints) or self._declares

    def described(self) -> m.ToolSignature:
        """The tool as guest code sees it."""
        from safeexec.host.tools.type_hints import legend, shown

        empty = inspect.Parameter.empty
        return m.ToolSignature(
            self.name,
            [
                (
                    parameter.name,
                    _KINDS[parameter.kind],
                    annotation,
                    "" if parameter.default is empty else default_text(parameter.default, annotation),
                )
                for parameter in self.signature.parameters.values()
                for annotation in ("" if parameter.annotation is empty else shown(parameter.annotation),)
            ],
            "" if self.signature.return_annotation is empty else shown(self.signature.return_annotation),
            "\n\n".join(filter(None, (inspect.getdoc(self.function), legend(self._hints.values())))),
        )

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> inspect.BoundArguments:
        """The arguments, checked and converted. Raises TypeError that names parameter, what was expected and what
        came.
        """
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError as error:
            from safeexec.host.tools.type_hints import signature

            raise TypeError(f"{self.name}() {error}; it is {self.name}{signature(self.signature)}") from None
        convert, call, arguments = self._convert, f"{self.name}()", bound.arguments
        for parameter, hint in self._hints.items():
            if parameter not in arguments:
                continue
            given, kind = arguments[parameter], self.signature.parameters[parameter].kind
            if kind is inspect.Parameter.VAR_POSITIONAL:
                arguments[parameter] = tuple(
                    convert(call, f"{parameter}[{number}]", hint, one) for number, one in enumerate(given)
                )
            elif kind is inspect.Parameter.VAR_KEYWORD:
                arguments[parameter] = {name: convert(call, name, hint, one) for name, one in given.items()}
            else:
                arguments[parameter] = convert(call, parameter, hint, given)
        return bound

    def call(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call the function, or give what is to be awaited. Raises what it raises, as far as that is an error of it."""
        return contained(f"{self.name}()", self.function, *args, **kwargs)

    def parameter(self, index: int) -> str:
        """The name of the parameter that a positional argument lands in, for messages."""
        names = [
            name
            for name, one in self.signature.parameters.items()
            if one.kind not in (one.KEYWORD_ONLY, one.VAR_KEYWORD)
        ]
        return repr(names[min(index, len(names) - 1)]) if names else f"number {index + 1}"


def tools_from(tools: Iterable[Callable[..., Any]] | Mapping[str, Callable[..., Any]] | None) -> dict[str, Tool]:
    """The tools that a caller gave, by name. Raises `ToolError`."""
    if not tools:
        return {}
    if isinstance(tools, Mapping):
        pairs = list(tools.items())
    else:
        pairs = [(getattr(tool, "__name__", type(tool).__name__), tool) for tool in tools]
    found: dict[str, Tool] = {}
    for name, function in pairs:
        if name in found:
            raise ToolError(f"two tools are called {name!r}")
        found[name] = Tool(name, function)
    return found


_NOT_PASSED_ON = (StopIteration, StopAsyncIteration, GeneratorExit, SystemExit)
"""What a function of the host may raise and must not reach the core: guest code, or a generator, would take the first
three for the end of a loop; SystemExit (argparse raises it) would end the host.
"""


def contained(told: str, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """`function(...)`, or what is to be awaited. Raises `ToolError` for an exception that would end more than the
    call.
    """
    try:
        value = function(*args, **kwargs)
    except _NOT_PASSED_ON as error:
        raise ToolError(f"{told}: {type(error).__name__}: {_text(error)}") from None
    return _awaited(told, value) if hasattr(type(value), "__await__") else value


async def _awaited(told: str, value: Awaitable[Any]) -> Any:
    return await _steps(told, value)


@types.coroutine
def _steps(told: str, value: Awaitable[Any]) -> Generator[Any, Any, Any]:
    """`await value`, contained. By hand, for what the event loop throws in (a cancellation, the end of the loop) is to
    be told from what the function raises of its own.
    """
    steps = value.__await__()
    answer, thrown = None, None
    while True:
        try:
            waiting = steps.send(answer) if thrown is None else steps.throw(thrown)
        except StopIteration as end:
            return end.value
        except _NOT_PASSED_ON as error:
            if error is thrown:
                raise
            raise ToolError(f"{told}: {type(error).__name__}: {_text(error)}") from None
        answer = thrown = None
        try:
            answer = yield waiting
        except BaseException as error:
            thrown = error


class Toolbox:
    """All tools of a sandbox or of one plugin, and the rules for calling them."""

    def __init__(self, tools: dict[str, Tool], policy: Policy, approval: Approval | None) -> None:
        refused = [name for name in tools if name not in policy.tools.allow]
        if refused:
            raise ToolError(
                f"the policy {policy.name!r} does not allow the tool {refused[0]!r} ({policy.origin('tools.allow')})"
            )
        self.tools = tools
        self._policy = policy
        self._rules = policy.tools
        self._asks = bool(policy.tools.approval)
        self.approval = approval
        self.has_effects = any(tool.effect is not None for tool in tools.values())
        self._max_bytes = policy.limits.value_kb << 10
        self._max_depth = policy.limits.value_depth

    def signatures(self) -> tuple[m.ToolSignature, ...]:
        return tuple(tool.described() for tool in self.tools.values())

    def close(self) -> None:
        """No more calls: what was kept for asynchronous tools ends."""
        if (calls := sys.modules.get("safeexec.host.tools.calls")) is not None:
            calls.release(self)

    def answer(self, call: m.ToolRequest, session: Caller, deadline: float | None = None) -> Core[m.ToolReply]:
        """Run one call and give the reply for the guest. Raises `ProtocolError` for a call that no honest child makes.

        `deadline` (monotonic seconds) is the step's own, where its clock goes on while tools run.
        """
        tool = self.tools.get(call.tool)
        if tool is None:
            raise ProtocolError(f"a tool {call.tool[:100]!r} was called that does not exist")
        args, kwargs, held = decode_call(
            call.arguments, max_bytes=self._max_bytes, max_depth=self._max_depth, arrays="numpy" in sys.modules
        )
        started = monotonic()
        message = ""
        outcome: Any = "ok"
        try:
            value = yield from self._call(tool, args, kwargs, held, session, deadline)
            reply = m.ToolReply(call.call, self._encoded(tool, value))
        except ProtocolError:
            raise
        except Exception as error:
            outcome = "refused" if isinstance(error, RefusedCall) else "error"
            reply = _failure(call.call, tool.name, error)
            message = reply.error
        # Of the calls beyond the limit the first one is told: a guest may make them by the hundred thousand.
        if session.calls_of_step <= self._rules.max_calls + 1:
            milliseconds = (monotonic() - started) * 1e3
            session.tool_records.append(ToolCallRecord(tool.name, session.step, outcome, message, milliseconds))
        return reply

    def _call(
        self,
        tool: Tool,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        held: Opaque | None,
        session: Caller,
        deadline: float | None,
    ) -> Core[Any]:
        """What the tool returns. `held`: an object that stayed in the child and stands somewhere in the arguments."""
        rules = self._rules
        session.calls_of_step += 1
        if session.calls_of_step > rules.max_calls:
            raise RefusedCall(f"{tool.name}(): more than {rules.max_calls} tool calls in one step (tools.max_calls)")
        if held is not None:
            raise TypeError(_cannot_cross(tool, _place(tool, args, kwargs), held))
        if tool.effect is not None:
            # Where effects follow the steps, another tool that notes the call stands in its place.
            raise RefusedCall(
                f"{tool.name}() has an effect that follows the steps of a session: a template has none yet"
            )
        asks = self._asks and not tool.deferred and rules.needs_approval(tool.name)
        if asks or tool.checked:
            bound = tool.bind(args, kwargs)
            if asks:
                yield from self._approve(tool, bound)
            args, kwargs = bound.args, bound.kwargs
        timeout = rules.timeout_seconds if tool.timeout is None else min(tool.timeout, rules.timeout_seconds)
        if deadline is not None:
            timeout = max(0.0, min(timeout, deadline - monotonic()))
        started = monotonic()
        try:
            value = yield CallTool(
                partial(tool.call, *args, **kwargs),
                timeout,
                is_async=tool.is_async,
                in_thread=tool.timeout is not None and not tool.is_async,
                owner=self,
            )
        except TimeoutError:
            if monotonic() - started < timeout:
                raise
            raise TimeoutError(f"{tool.name}() took more than {timeout:g} s") from None
        if monotonic() - started > timeout:
            # It ran in the caller's own thread, where nothing can interrupt it.
            raise TimeoutError(f"{tool.name}() took more than {timeout:g} s")
        return value

    def _encoded(self, tool: Tool, value: Any) -> bytes:
        """What a tool returned, as it crosses. Raises TypeError or ValueError when it cannot."""
        payload = encode(value, max_bytes=self._max_bytes, max_depth=self._max_depth, arrays=True)
        if payload.opaque and not payload.truncated:
            try:
                # dataclasses, msgspec and attrs objects, enums, and containers of them
                plain = msgspec.to_builtins(value, builtin_types=_PLAIN)
            except Exception:
                plain = value
            payload = encode(plain, max_bytes=self._max_bytes, max_depth=self._max_depth, arrays=True)
            if payload.opaque and not payload.truncated:
                # Its repr would tell guest code of the host: addresses, and what is in it.
                raise TypeError(
                    f"{tool.name}() returned an object of type {type(value).__name__} that cannot cross into the "
                    "sandbox: it is, or holds, something that is no value"
                )
        if payload.truncated:
            raise ValueError(
                f"{tool.name}() returned a value that is too large or nests too deeply to cross "
                f"(limits.value_kb is {self._max_bytes >> 10}, limits.value_depth {self._max_depth})"
            )
        return payload.data

    def _approve(self, tool: Tool, bound: inspect.BoundArguments) -> Core[None]:
        approval = self.approval
        if approval is None:
            raise RefusedCall(f"{tool.name}() needs approval and the host has nobody to ask")
        shown = dict(bound.arguments)
        answer = yield CallTool(
            partial(contained, f"the approval of {tool.name}()", approval, tool.name, shown),
            self._rules.timeout_seconds,
            is_async=inspect.iscoroutinefunction(approval),
            owner=self,
        )
        decided = decision(answer, f"{tool.name}()")
        if isinstance(decided, Deny):
            raise RefusedCall(f"{tool.name}(): {decided.reason}")
        for name, value in decided.arguments.items():
            if name not in tool.signature.parameters:
                raise RefusedCall(f"{tool.name}() was edited into a call that does not exist: {name!r}")
            bound.arguments[name] = value


class RefusedCall(PermissionError):
    """A call that the rules, or the host's approval, did not let happen."""


def _place(tool: Tool, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """The argument that is such an object itself; else it is inside one of them."""
    for index, value in enumerate(args):
        if type(value) is Opaque:
            return f"argument {tool.parameter(index)}"
    return next((f"argument {name!r}" for name, value in kwargs.items() if type(value) is Opaque), "inside an argument")


def _cannot_cross(tool: Tool, place: str, value: Opaque) -> str:
    if value.type in ("function", "method", "builtin_function_or_method", "type", "functools.partial"):
        return f"{tool.name}() {place}: a tool cannot call back into the sandbox; pass data, not a function"
    return (
        f"{tool.name}() {place}: a value of type {value.type} cannot cross to the host; "
        "pass numbers, text, lists or dicts"
    )


def _failure(call: int, tool: str, error: Exception) -> m.ToolReply:
    """An exception of the host as the guest sees it: its builtin type and its message, never its traceback."""
    for kind in type(error).__mro__:
        if kind in (Exception, object):
            break
        # The Unicode errors cannot be made from a message alone: their base, ValueError, can.
        if getattr(builtins, kind.__name__, None) is kind and not issubclass(kind, UnicodeError):
            told = error.args[0] if isinstance(error, KeyError) and len(error.args) == 1 else error
            return m.ToolReply(call, error_type=kind.__name__, error=_text(told))
    told = error if isinstance(error, ToolError) else f"{tool}(): {type(error).__name__}: {_text(error)}"
    return m.ToolReply(call, error_type="ToolError", error=_text(told))


def _text(value: object) -> str:
    """`value` as text that crosses: short, and without lone surrogates. Whatever its `__str__` does."""
    try:
        text = str(value)
    except KeyboardInterrupt:
        raise
    except BaseException:  # an int of more than 4300 digits in a KeyError, a `__str__` that raises or returns no text
        text = short_repr(value.args if isinstance(value, BaseException) else value, _MESSAGE)
    return text[:_MESSAGE].encode("utf-8", "replace").decode()
