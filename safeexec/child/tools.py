"""Host tools as guest code sees them: functions that look local, ask the host, and wait for its answer."""

from __future__ import annotations

import _thread
import builtins
from collections.abc import Callable, Sequence
from typing import Any

from safeexec.child.link import Link
from safeexec.protocol import messages as m
from safeexec.protocol.plan import LimitsPlan
from safeexec.protocol.values import decode, encode


class ToolError(Exception):
    """A host tool failed with an exception that has no builtin name."""


class ToolCaller:
    """Carries calls to the host, one at a time, and only while a step runs."""

    __slots__ = ("_calls", "_limits", "_lock", "_open", "link", "names")

    def __init__(self, link: Link, limits: LimitsPlan, names: Sequence[str]) -> None:
        self.link = link
        self.names = frozenset(names)
        self._limits = limits
        self._lock = _thread.allocate_lock()
        self._open = False
        self._calls = 0

    def open(self) -> None:
        """A step begins: calls may be made."""
        self._open = True

    def close(self) -> None:
        """The step ends: a call that is under way is finished first, later ones are refused."""
        with self._lock:
            self._open = False

    def call(self, tool: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Ask the host to run `tool` and wait. Raises in guest code what the host answered with."""
        payload = encode((args, kwargs), max_bytes=self._limits.value_bytes, max_depth=self._limits.value_depth)
        if payload.truncated:
            raise ValueError(f"an argument of {tool}() is too large, or of a type that cannot cross to the host")
        with self._lock:
            if not self._open:
                raise RuntimeError(f"{tool}() can be called only while a step runs")
            self._calls += 1
            self.link.send(m.ToolCall(self._calls, tool, payload.data))
            reply = self.link.receive()
        if reply.error_type:
            kind = getattr(builtins, reply.error_type, None)
            if not (isinstance(kind, type) and issubclass(kind, Exception)):
                kind = ToolError
            raise kind(reply.error)
        return decode(reply.value)


def tool_functions(caller: ToolCaller, signatures: Sequence[m.ToolSignature]) -> dict[str, Callable[..., Any]]:
    """A function per tool, with the name, signature and docstring of the host's own."""
    return {signature.name: _function(caller, signature) for signature in signatures}


def _function(caller: ToolCaller, signature: m.ToolSignature) -> Callable[..., Any]:
    call, name = caller.call, signature.name

    def tool(*args: Any, **kwargs: Any) -> Any:
        return call(name, args, kwargs)

    tool.__name__ = tool.__qualname__ = name
    tool.__doc__ = signature.doc
    tool.__module__ = "host"
    return tool
