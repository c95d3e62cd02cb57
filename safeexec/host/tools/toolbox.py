"""Host tools: functions of the host that guest code may call. Every call is checked here, on the trusted side.

A call that comes from a child is hostile input: the name must be a tool's, the arguments must bind to its signature and
convert to its type hints (msgspec), and nothing of the host's traceback goes back.
"""

from __future__ import annotations

import builtins
import inspect
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any
from uuid import UUID

import msgspec

from safeexec.errors import ProtocolError, ToolError
from safeexec.host.waiting import CallTool, Core
from safeexec.protocol import messages as m
from safeexec.protocol.arguments import decode_arguments
from safeexec.protocol.values import Opaque, encode
from safeexec.results import ToolCallRecord

if TYPE_CHECKING:
    from safeexec.host.session.runner import Running
    from safeexec.policy.model import Policy

Approval = Callable[[str, dict[str, Any]], "bool | str | dict[str, Any] | Awaitable[bool | str | dict[str, Any]]"]
"""Sees tool and arguments; True allows, a dict replaces the arguments it names, False or a str (the reason) refuses."""
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


class Tool:
    """One function of the host, with what a call of it is checked against."""

    __slots__ = ("_convert", "_hints", "function", "is_async", "name", "signature", "timeout")

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        if not name.isidentifier():
            raise ToolError(f"{name!r} cannot be the name of a tool: guest code could not call it")
        if not callable(function):
            raise ToolError(f"the tool {name!r} is not callable: {type(function).__name__}")
        self.name = name
        self.function = function
        self.timeout: float | None = getattr(function, TIMEOUT_ATTRIBUTE, None)
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
        """Whether arguments are checked against type hints; without any, Python's own binding says all there is to
        say.
        """
        return bool(self._hints)

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
                    "" if parameter.annotation is empty else shown(parameter.annotation),
                    "" if parameter.default is empty else repr(parameter.default)[:200],
                )
                for parameter in self.signature.parameters.values()
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
        self._max_bytes = policy.limits.value_kb << 10
        self._max_depth = policy.limits.value_depth

    def signatures(self) -> tuple[m.ToolSignature, ...]:
        return tuple(tool.described() for tool in self.tools.values())

    def close(self) -> None:
        """No more calls: what was kept for asynchronous tools ends."""
        if (calls := sys.modules.get("safeexec.host.tools.calls")) is not None:
            calls.release(self)

    def answer(self, call: m.ToolCall, session: Running, deadline: float | None = None) -> Core[m.ToolReply]:
        """Run one call and give the reply for the guest. Raises `ProtocolError` for a call that no honest child makes.

        `deadline` (monotonic seconds) is the step's own, where its clock goes on while tools run.
        """
        tool = self.tools.get(call.tool)
        if tool is None:
            raise ProtocolError(f"a tool {call.tool[:100]!r} was called that does not exist")
        args, kwargs = decode_arguments(
            call.arguments, max_bytes=self._max_bytes, max_depth=self._max_depth, arrays="numpy" in sys.modules
        )
        started = monotonic()
        message = ""
        outcome: Any = "ok"
        try:
            value = yield from self._call(tool, args, kwargs, session, deadline)
            reply = m.ToolReply(call.call, self._encoded(tool, value))
        except ProtocolError:
            raise
        except Exception as error:
            outcome = "refused" if isinstance(error, Refused) else "error"
            reply = _failure(call.call, tool.name, error)
            message = reply.error
        session.tool_records.append(
            ToolCallRecord(tool.name, session.step, outcome, message, (monotonic() - started) * 1e3)
        )
        return reply

    def _call(
        self, tool: Tool, args: tuple[Any, ...], kwargs: dict[str, Any], session: Running, deadline: float | None
    ) -> Core[Any]:
        rules = self._rules
        if session.calls_of_step >= rules.max_calls:
            raise Refused(f"{tool.name}(): more than {rules.max_calls} tool calls in one step (tools.max_calls)")
        session.calls_of_step += 1
        _refuse_opaque(tool, args, kwargs)
        asks = self._asks and rules.needs_approval(tool.name)
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
                partial(tool.function, *args, **kwargs),
                timeout,
                is_async=tool.is_async,
                in_thread=tool.timeout is not None and not tool.is_async,
                owner=self,
            )
        except (StopIteration, StopAsyncIteration) as error:
            # Guest code would take them for the end of a loop, and a generator of the host cannot pass them on.
            raise ToolError(f"{tool.name}(): {type(error).__name__}: {error}") from None
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
            raise Refused(f"{tool.name}() needs approval and the host has nobody to ask")
        shown = dict(bound.arguments)
        verdict = yield CallTool(
            lambda: approval(tool.name, shown),
            self._rules.timeout_seconds,
            is_async=inspect.iscoroutinefunction(approval),
            owner=self,
        )
        if isinstance(verdict, dict):
            for name, value in verdict.items():
                if name not in tool.signature.parameters:
                    raise Refused(f"{tool.name}() was edited into a call that does not exist: {name!r}")
                bound.arguments[name] = value
        elif verdict is not True:
            reason = verdict if isinstance(verdict, str) else "the host refused this call"
            raise Refused(f"{tool.name}(): {reason}")


class Refused(PermissionError):
    """A call that the rules, or the host's approval, did not let happen."""


def _refuse_opaque(tool: Tool, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raises TypeError when an argument is something that stayed in the child."""
    for index, value in enumerate(args):
        if type(value) is Opaque:
            raise TypeError(_cannot_cross(tool, tool.parameter(index), value))
    for name, value in kwargs.items():
        if type(value) is Opaque:
            raise TypeError(_cannot_cross(tool, repr(name), value))


def _cannot_cross(tool: Tool, parameter: str, value: Opaque) -> str:
    if value.type in ("function", "method", "builtin_function_or_method", "type", "functools.partial"):
        return (
            f"{tool.name}() argument {parameter}: a tool cannot call back into the sandbox; pass data, not a function"
        )
    return (
        f"{tool.name}() argument {parameter}: a value of type {value.type} cannot cross to the host; "
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
    told = error if isinstance(error, ToolError) else f"{tool}(): {type(error).__name__}: {error}"
    return m.ToolReply(call, error_type="ToolError", error=_text(told))


def _text(value: object) -> str:
    """`value` as text that crosses: short, and without lone surrogates."""
    return str(value)[:_MESSAGE].encode("utf-8", "replace").decode()
