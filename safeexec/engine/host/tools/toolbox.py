"""Host tools: functions of the host that guest code may call. Every call is checked here, on the trusted side.

A call that comes from a child is hostile input: the name must be a tool's, the arguments must bind to its signature and
convert to its type hints (msgspec), and nothing of the host's traceback goes back.
"""

from __future__ import annotations

import sys
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any
from uuid import UUID

import msgspec

from safeexec.common.identity import weight
from safeexec.engine.approvals import Allow, Approval, Deny, Later, decision
from safeexec.engine.host.tools.answers import AnswersCalls, Given, PutOff, RelayedAnswer
from safeexec.engine.host.waiting import CallTool, Core, apart
from safeexec.errors import ProtocolError, ToolError
from safeexec.protocol import messages as m
from safeexec.protocol.arguments import CALL_NODES, decode_call
from safeexec.protocol.values import Opaque, encode

if TYPE_CHECKING:
    import inspect

    from safeexec.engine.host.tools.answers import Caller, Decided
    from safeexec.engine.host.tools.tool import Tool
    from safeexec.engine.policy.model import Policy

_PLAIN = (bytes, bytearray, datetime, date, time, timedelta, UUID, Decimal)
"""Types whose values cross as themselves, and would be text in JSON."""


class PendingCall(msgspec.Struct, frozen=True):
    """A deferred call of a host tool that has not been carried out."""

    tool: str
    arguments: dict[str, Any]
    step: int
    key: str
    """By which an idempotent tool tells its calls apart."""


class Toolbox(AnswersCalls):
    """All tools of a sandbox or of one plugin, and the rules for calling them."""

    def __init__(
        self, tools: dict[str, Tool], policy: Policy, approval: Approval | None, owner: Toolbox | None = None
    ) -> None:
        """`owner`: where that is another toolbox."""
        refused = [name for name in tools if name not in policy.tools.allow]
        if refused:
            raise ToolError(
                f"the policy {policy.name!r} does not allow the tool {refused[0]!r} ({policy.origin('tools.allow')})"
            )
        _check_spelling(tools, policy)
        self.tools = tools
        self.owner: Toolbox = owner or self
        """With it ends what is kept for asynchronous tools."""
        self._policy = policy
        self._rules = policy.tools
        if approval is not None and not callable(approval):
            raise TypeError(
                "approval= is a function that is asked about a call, approval(tool, arguments), and answers Allow or "
                f"Deny; found {type(approval).__name__}"
            )
        self.approval = approval
        self.has_effects = any(tool.effect is not None for tool in tools.values())

    def with_tools(self, tools: dict[str, Tool]) -> Toolbox:
        """Return a toolbox of the same rules and owner with other tools."""
        import copy  # for tools with effects

        other = copy.copy(self)
        other.tools = tools
        return other

    def signatures(self) -> tuple[m.ToolSignature, ...]:
        """Return name and parameters of each tool, for the child."""
        return tuple(tool.described() for tool in self.tools.values())

    def close(self) -> None:
        """Take no more calls: what was kept for asynchronous tools ends."""
        if (calls := sys.modules.get("safeexec.engine.host.tools.blocking_tools")) is not None:
            calls.release(self)

    def outcome(
        self, tool: Tool, call: m.ToolRequest, steps: Caller, deadline: float | None, decided: Decided
    ) -> Core[RelayedAnswer]:
        try:
            if decided is not None:
                yield from steps.secured()  # that the answer counts: no other host may give it once more
            value = yield from self._call(tool, call.arguments, steps, deadline, decided)
            return RelayedAnswer("ok", (yield from apart(weight(value), partial(self.encoded, tool, value))))
        except (ProtocolError, PutOff):
            raise
        except Raised as raised:
            return tool.failure(raised.error, inside=True)
        except Exception as error:
            return tool.failure(error, "refused" if isinstance(error, RefusedCall) else "error")

    def _call(self, tool: Tool, arguments: bytes, steps: Caller, deadline: float | None, decided: Decided) -> Core[Any]:
        """Return what the tool returns. Of a call beyond the limit nothing is read. Raises `PutOff` where it waits."""
        rules = self._rules
        if steps.calls_of_step > rules.max_calls:
            raise RefusedCall(f"{tool.name}(): more than {rules.max_calls} tool calls in one step (tools.max_calls)")
        asks = not tool.deferred and rules.needs_approval(tool.name)
        read = partial(self._arguments, tool, arguments, bind=asks or tool.checked or decided is not None)
        args, kwargs, bound = yield from steps.bill.reading(len(arguments), read)
        if tool.effect is not None:
            # Where effects follow the steps, another tool that notes the call stands in its place.
            raise RefusedCall(
                f"{tool.name}() has an effect that follows the steps of a session: a template has none yet"
            )
        if isinstance(decided, Given):
            return decided.value
        if bound is not None:
            if asks or decided is not None:
                yield from self._approve(tool, bound, decided)
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
                owner=self.owner,
            )
        except ProtocolError:
            raise
        except Exception as error:
            if isinstance(error, Later):
                raise PutOff("tool", error) from None
            if isinstance(error, TimeoutError) and monotonic() - started >= timeout:
                raise TimeoutError(f"{tool.name}() took more than {timeout:g} s") from None
            if tool.refuses(error):
                raise
            raise Raised(error) from None
        if isinstance(value, Later):
            raise PutOff("tool", value)
        if monotonic() - started > timeout:
            # It ran in the caller's own thread, where nothing can interrupt it.
            raise TimeoutError(f"{tool.name}() took more than {timeout:g} s")
        return value

    def _arguments(
        self, tool: Tool, data: bytes, *, bind: bool
    ) -> tuple[tuple[Any, ...], dict[str, Any], inspect.BoundArguments | None]:
        """Return what a guest passes, and the same held against the tool's type hints, where that is to be done."""
        args, kwargs, held = decode_call(
            data,
            max_bytes=self._policy.limits.value_kb << 10,
            max_depth=self._policy.limits.value_depth,
            max_nodes=CALL_NODES,
            arrays="numpy" in sys.modules,
            labels=None if tool.checked else False,
        )
        if held is not None:  # an object that stayed in the child
            raise TypeError(_cannot_cross(tool, args, kwargs, held))
        return args, kwargs, tool.bind(args, kwargs) if bind and tool.effect is None else None

    def encoded(self, tool: Tool, value: Any) -> bytes:
        """Return what a tool returned, as it crosses. Raises TypeError or ValueError when it cannot."""
        limits = self._policy.limits
        write = partial(encode, max_bytes=limits.value_kb << 10, max_depth=limits.value_depth, arrays=True)
        payload = write(value)
        if payload.opaque and not payload.truncated:
            try:
                # dataclasses, msgspec and attrs objects, enums, and containers of them
                plain = msgspec.to_builtins(value, builtin_types=_PLAIN)
            except Exception:
                plain = value
            payload = write(plain)
            if payload.opaque and not payload.truncated:
                # Its repr would tell guest code of the host: addresses, and what is in it.
                raise TypeError(
                    f"{tool.name}() returned an object of type {type(value).__name__} that cannot cross into the "
                    "sandbox: it is, or holds, something that is no value"
                )
        if payload.truncated:
            raise ValueError(
                f"{tool.name}() returned a value that is too large or nests too deeply to cross "
                f"(limits.value_kb is {limits.value_kb}, limits.value_depth {limits.value_depth})"
            )
        return payload.data

    def _approve(self, tool: Tool, bound: inspect.BoundArguments, decided: Allow | Deny | None) -> Core[None]:
        """Ask the host for this call, unless it has `decided`; edit `bound`. Raises `RefusedCall`, and `PutOff`."""
        if decided is None:
            approval = self.approval
            if approval is None:
                raise RefusedCall(f"{tool.name}() needs approval and the host has nobody to ask")
            shown = dict(bound.arguments)
            try:
                answer = yield tool.asks(approval, shown, self._rules.timeout_seconds, self.owner)
            except ProtocolError:
                raise
            except Later as later:
                answer = later
            except Exception as error:
                raise RefusedCall(f"{tool.name}(): the host's approval raised {tool.error_text(error)}") from None
            if isinstance(answer, Later):
                raise PutOff("approval", answer)
            decided = decision(answer, f"the approval of {tool.name}()")
        if isinstance(decided, Deny):
            raise RefusedCall(f"{tool.name}(): {decided.reason}")
        for name, value in decided.arguments.items():
            if name not in tool.signature.parameters:
                raise RefusedCall(f"{tool.name}() was edited into a call that does not exist: {name!r}")
            bound.arguments[name] = value


class Raised(Exception):
    """An exception that a tool's function raised while it ran."""

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error


class RefusedCall(PermissionError):
    """A call that the rules, or the host's approval, did not let happen."""


def _check_spelling(tools: dict[str, Tool], policy: Policy) -> None:
    """Raise `ToolError` where the policy means to hold a tool and misspells its name, which would leave it open. A
    name that is like none of them is that of another sandbox's tool.
    """
    rules = policy.tools
    held = {
        "tools.approval": () if "*" in rules.approval else rules.approval,
        "tools.allow": rules.allow.refused,
    }
    if not tools or not any(held.values()):
        return
    from safeexec.common.matching import (  # with difflib 2 ms, for policies that hold tools
        TYPING_ERROR,
        misspelt,
        nearest,
    )

    for path, names in held.items():
        others = [name for name in tools if name not in names]
        for name in names:
            # `order_book` and `get_user` are tools beside `order` and `set_user`, no slips of them.
            typed = [other for other in others if other[:1] == name[:1] and not other.startswith(name)]
            meant = misspelt(name, others) or nearest(name, typed, worst=TYPING_ERROR)
            if meant and name not in tools:
                raise ToolError(
                    f"{path} of the policy {policy.name!r} names {name!r}, and there is no such tool; did you mean "
                    f"{meant[0]!r}? ({policy.origin(f'{path}.{name}')})"
                )


def _cannot_cross(tool: Tool, args: tuple[Any, ...], kwargs: dict[str, Any], value: Opaque) -> str:
    """Say that an object stayed in the child, in which argument, and what to pass."""
    named = {tool.parameter(index): one for index, one in enumerate(args) if type(one) is Opaque}
    named |= {repr(name): one for name, one in kwargs.items() if type(one) is Opaque}
    place = f"argument {next(iter(named))}" if named else "inside an argument"
    if value.type in ("function", "method", "builtin_function_or_method", "type", "functools.partial"):
        return f"{tool.name}() {place}: a tool cannot call back into the sandbox; pass data, not a function"
    return (
        f"{tool.name}() {place}: a value of type {value.type} cannot cross to the host; "
        "pass numbers, text, lists or dicts"
    )
