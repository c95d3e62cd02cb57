"""Host tools as guest code sees them: functions that look local, ask the host, and wait for its answer."""

from __future__ import annotations

import _thread
import builtins
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from safeexec.engine.child.link import Link
from safeexec.protocol import messages as m
from safeexec.protocol.arguments import CALL_NODES, encode_arguments
from safeexec.protocol.plan import LimitsPlan
from safeexec.protocol.values import decode


class GuestToolError(Exception):
    """A host tool failed with an exception that has no builtin name. Guest code sees it as `safeexec.ToolError`."""


GuestToolError.__name__ = GuestToolError.__qualname__ = "ToolError"
GuestToolError.__module__ = "safeexec"


class ToolCaller:
    """Carries calls to the host, one at a time, and only while a step runs."""

    def __init__(self, link: Link, limits: LimitsPlan, names: Iterable[str]) -> None:
        self.link = link
        self.names = frozenset(names)
        self.limits = limits
        self._lock = _thread.allocate_lock()
        self.is_open = False
        """True while a step runs: only then calls may be made."""
        self._calls = 0

    @property
    def waiting(self) -> bool:
        """Return whether a call is under way: the socket is its own until the host has answered."""
        return self._lock.locked()

    def close(self) -> None:
        """End the step: a call that is under way is finished first, later ones are refused."""
        with self._lock:
            self.is_open = False

    def call(self, tool: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Ask the host to run `tool` and wait. Raises in guest code what the host answered with."""
        limits = self.limits
        payload = encode_arguments(
            args, kwargs, max_bytes=limits.value_bytes, max_depth=limits.value_depth, max_nodes=CALL_NODES
        )
        if payload.truncated:
            raise ValueError(
                f"an argument of {tool}() is too large or nests too deeply to cross to the host; {CALL_NODES:,} items "
                "are the most (a list, a date or a Decimal counts for 8): pass a part of it, an array, or a file"
            )
        with self._lock:
            if not self.is_open:
                raise RuntimeError(f"{tool}() can be called only while a step runs")
            self._calls += 1
            data = payload.data
            if len(data) <= m.INLINE_BYTES:
                self.link.send(m.ToolRequest(self._calls, tool, data))
            else:
                self.link.send(m.ToolRequest(self._calls, tool, b"", len(data)))
            while type(reply := self.link.receive()) is m.Deliver:
                self.link.send(self.link.deliver(data))
        if reply.error_type:
            error = _exception(reply.error_type, reply.error)
            if reply.inside:
                error.__dict__["hint"] = ""  # nothing of it is a mistake of this code
            raise error
        return decode(reply.value, arrays=True)


def _exception(kind: str, message: str) -> Exception:
    found = getattr(builtins, kind, None)
    if isinstance(found, type) and issubclass(found, Exception):
        try:
            return found(message)
        except TypeError:
            pass  # a builtin that is not made from a message alone
    return GuestToolError(message)


def tool_functions(caller: ToolCaller, signatures: Sequence[m.ToolSignature]) -> dict[str, Callable[..., Any]]:
    """Return a function per tool, with the name, signature and docstring of the host's own."""
    return {signature.name: _function(caller, signature) for signature in signatures}


def _function(caller: ToolCaller, signature: m.ToolSignature) -> Callable[..., Any]:
    call, name = caller.call, signature.name

    def tool(*args: Any, **kwargs: Any) -> Any:
        return call(name, args, kwargs)

    tool.__name__ = tool.__qualname__ = name
    tool.__doc__ = signature.doc or None
    tool.__module__ = "host"
    tool.__signature__ = m.python_signature(signature)  # type: ignore[attr-defined]
    return tool


def show_help(value: Any = None) -> None:
    """Print signature and docstring of tools and of the guest's functions and classes: `help` of guest code, without a
    pager, and without a web of modules to read.
    """
    text = str(getattr(value, "__name__", type(value).__name__))
    try:
        from inspect import getdoc, signature

        text += str(signature(value)) if callable(value) else ""
        text += "\n\n    " + (getdoc(value) or "(no docstring)").replace("\n", "\n    ")
    except Exception:  # of the guest's
        pass
    print(text if value is not None else "help(tool) shows how a tool is called")


show_help.__name__ = show_help.__qualname__ = "help"
