"""Host tools: functions of the host that guest code may call. Every call is checked here, on the trusted side.

A call that comes from a child is hostile input: the name must be a tool's, the arguments must bind to its signature and
convert to its type hints (msgspec), and nothing of the host's traceback goes back.
"""

from __future__ import annotations

import builtins
import inspect
import typing
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any

import msgspec

from safeexec.errors import ProtocolError, ToolError
from safeexec.host.waiting import CallTool, Core
from safeexec.protocol import messages as m
from safeexec.protocol.values import decode, encode
from safeexec.results import ToolCallRecord

if TYPE_CHECKING:
    from safeexec.host.session import SessionCore
    from safeexec.policy.model import Policy

Approval = Callable[[str, dict[str, Any]], "bool | str | dict[str, Any] | Awaitable[bool | str | dict[str, Any]]"]
"""Sees tool and arguments; True allows, a dict replaces the arguments, False or a str (the reason) refuses."""
_KINDS = {
    inspect.Parameter.POSITIONAL_ONLY: "positional",
    inspect.Parameter.POSITIONAL_OR_KEYWORD: "either",
    inspect.Parameter.VAR_POSITIONAL: "args",
    inspect.Parameter.KEYWORD_ONLY: "keyword",
    inspect.Parameter.VAR_KEYWORD: "kwargs",
}
_MESSAGE = 2000


class Tool:
    """One function of the host, with what a call of it is checked against."""

    __slots__ = ("_hints", "_returns_nothing", "function", "name", "signature")

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        if not name.isidentifier():
            raise ToolError(f"{name!r} cannot be the name of a tool: guest code could not call it")
        if not callable(function):
            raise ToolError(f"the tool {name!r} is not callable: {type(function).__name__}")
        self.name = name
        self.function = function
        try:
            self.signature = inspect.signature(function)
        except (TypeError, ValueError) as error:
            raise ToolError(f"the tool {name!r} has no signature that can be read: {error}") from None
        try:
            hints = typing.get_type_hints(function) if not isinstance(function, type) else {}
        except Exception as error:
            raise ToolError(f"the type hints of the tool {name!r} cannot be read: {error}") from None
        hints.pop("return", None)
        for parameter, hint in hints.items():
            if typing.get_origin(hint) is Callable or hint is Callable or hint is typing.get_origin(Callable[[], int]):
                raise ToolError(f"{name}({parameter}): a tool cannot take a function of the guest; pass data instead")
        self._hints = {parameter: hint for parameter, hint in hints.items() if hint is not Any}

    @property
    def checked(self) -> bool:
        """Whether arguments are checked against type hints; without any, Python's own binding says all there is to say."""
        return bool(self._hints)

    def described(self) -> m.ToolSignature:
        """The tool as guest code sees it."""
        empty = inspect.Parameter.empty
        return m.ToolSignature(
            self.name,
            [
                (
                    parameter.name,
                    _KINDS[parameter.kind],
                    "" if parameter.annotation is empty else inspect.formatannotation(parameter.annotation),
                    "" if parameter.default is empty else repr(parameter.default)[:200],
                )
                for parameter in self.signature.parameters.values()
            ],
            "" if self.signature.return_annotation is empty else inspect.formatannotation(self.signature.return_annotation),
            inspect.getdoc(self.function) or "",
        )

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> inspect.BoundArguments:
        """The arguments, checked and converted. Raises TypeError that names parameter, what was expected and what came."""
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{self.name}() {error}") from None
        for parameter, hint in self._hints.items():
            if parameter in bound.arguments:
                try:
                    bound.arguments[parameter] = msgspec.convert(bound.arguments[parameter], hint)
                except (msgspec.ValidationError, TypeError) as error:
                    given = bound.arguments[parameter]
                    raise TypeError(
                        f"{self.name}() argument {parameter!r}: expected {inspect.formatannotation(hint)}, "
                        f"got {type(given).__name__} ({error})"
                    ) from None
        return bound


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
    """All tools of a sandbox, and the rules for calling them."""

    def __init__(self, tools: dict[str, Tool], policy: Policy, approval: Approval | None) -> None:
        refused = [name for name in tools if name not in policy.tools.allow]
        if refused:
            raise ToolError(f"the policy {policy.name!r} does not allow the tool {refused[0]!r} ({policy.origin('tools.allow')})")
        self.tools = tools
        self._policy = policy
        self._asks = bool(policy.tools.approval)
        self._approval = approval

    def signatures(self) -> tuple[m.ToolSignature, ...]:
        return tuple(tool.described() for tool in self.tools.values())

    def answer(self, call: m.ToolCall, session: SessionCore) -> Core[m.ToolReply]:
        """Run one call and give the reply for the guest. Raises `ProtocolError` for a call that no honest child makes."""
        tool = self.tools.get(call.tool)
        if tool is None:
            raise ProtocolError(f"a tool {call.tool[:100]!r} was called that does not exist")
        started = monotonic()
        rules = self._policy.tools
        outcome: Any = "ok"
        try:
            args, kwargs = _arguments(call.arguments, session)
            if session.calls_of_step >= rules.max_calls:
                raise PermissionError(f"{tool.name}() was called more than {rules.max_calls} times in one step (tools.max_calls)")
            session.calls_of_step += 1
            asks = self._asks and rules.needs_approval(tool.name)
            if asks or tool.checked:
                bound = tool.bind(args, kwargs)
                if asks:
                    yield from self._approve(tool, bound)
                args, kwargs = bound.args, bound.kwargs
            value = yield CallTool(partial(tool.function, *args, **kwargs), rules.timeout_seconds)
            limits = session.policy.limits
            payload = encode(value, max_bytes=limits.value_kb << 10, max_depth=limits.value_depth, arrays=True)
            reply = m.ToolReply(call.call, payload.data)
        except ProtocolError:
            raise
        except Exception as error:
            outcome = "refused" if isinstance(error, PermissionError) else "error"
            reply = _failure(call.call, tool.name, error)
        session.tool_records.append(
            ToolCallRecord(tool.name, session.step, outcome, reply.error, (monotonic() - started) * 1e3)
        )
        return reply

    def _approve(self, tool: Tool, bound: inspect.BoundArguments) -> Core[None]:
        approval = self._approval
        if approval is None:
            raise PermissionError(f"{tool.name}() needs approval and the host has nobody to ask")
        shown = dict(bound.arguments)
        verdict = yield CallTool(lambda: approval(tool.name, shown), self._policy.tools.timeout_seconds)
        if isinstance(verdict, dict):
            for name, value in verdict.items():
                if name not in tool.signature.parameters:
                    raise PermissionError(f"{tool.name}() was edited into a call that does not exist: {name!r}")
                bound.arguments[name] = value
        elif verdict is not True:
            reason = verdict if isinstance(verdict, str) else "the host refused this call"
            raise PermissionError(f"{tool.name}(): {reason}")


def _arguments(payload: bytes, session: SessionCore) -> tuple[tuple[Any, ...], dict[str, Any]]:
    value = decode(payload, max_depth=session.policy.limits.value_depth + 4)
    if not (isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], tuple) and isinstance(value[1], dict)):
        raise ProtocolError("the arguments of a tool call are not arguments")
    args, kwargs = value
    if not all(isinstance(name, str) for name in kwargs):
        raise ProtocolError("a tool was called with a keyword that is not a name")
    return args, kwargs


def _failure(call: int, tool: str, error: Exception) -> m.ToolReply:
    """An exception of the host as the guest sees it: its builtin type and its message, never its traceback."""
    kind = next((t.__name__ for t in type(error).__mro__ if getattr(builtins, t.__name__, None) is t), "Exception")
    if kind in ("Exception", "object"):
        return m.ToolReply(call, error_type="ToolError", error=f"{tool}(): {type(error).__name__}: {error}"[:_MESSAGE])
    return m.ToolReply(call, error_type=kind, error=str(error)[:_MESSAGE])
