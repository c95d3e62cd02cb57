"""One function of the host that guest code may call: its signature, its type hints, and what a call of it raises.

With `type_hints`, which few sandboxes need: a toolbox without tools imports none of it.
"""

from __future__ import annotations

import builtins
import inspect
import types
from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Literal

from safeexec.common.signatures import shown, signature
from safeexec.common.text import can_be_name, default_text, short_repr, spelt
from safeexec.engine.approvals import Approval
from safeexec.engine.host.tools.answers import RelayedAnswer
from safeexec.engine.host.tools.type_hints import checked, convert, legend
from safeexec.engine.host.waiting import CallTool
from safeexec.errors import ToolError
from safeexec.protocol import messages as m

EFFECT_ATTRIBUTE = "__safeexec_effect__"
"""The attribute in which `effects.tool` leaves what becomes of the effect of one tool."""
TIMEOUT_ATTRIBUTE = "__safeexec_timeout__"
"""The attribute in which `toolkit.limited` leaves the deadline of one tool, seconds."""
_MESSAGE = 2000
Failed = Literal["error", "refused"]


class Tool:
    """One function of the host, with what a call of it is checked against."""

    __slots__ = ("_hints", "checked", "deferred", "effect", "function", "is_async", "name", "signature", "timeout")

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        if not can_be_name(name):
            raise ToolError(f"{name!r} cannot be the name of a tool: guest code could not call it")
        if not callable(function):
            raise ToolError(f"the tool {name!r} is not callable: {type(function).__name__}")
        self.name = spelt(name)
        self.function = function
        self.timeout: float | None = getattr(function, TIMEOUT_ATTRIBUTE, None)
        self.effect: Any = getattr(function, EFFECT_ATTRIBUTE, None)
        """The rule of its effect (`effects.EffectRule`), if that was declared."""
        self.deferred = False
        """True if a call of it is written down and carried out later, when all of them are approved together."""
        self.is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
            getattr(function, "__call__", None)  # noqa: B004  (an object whose __call__ is a coroutine function)
        )
        try:
            self.signature = inspect.signature(function)
        except (TypeError, ValueError) as error:
            raise ToolError(f"the tool {name!r} has no signature that can be read: {error}") from None
        hints = checked(name, function)
        self._hints = {parameter: hint for parameter, hint in hints.items() if parameter in self.signature.parameters}
        self.checked = bool(self._hints) or hasattr(function, "__signature__") or hasattr(function, "__wrapped__")
        """True if arguments are bound here: to be checked against type hints, or because the function takes more than
        it declares. Else Python's own binding says all there is to say.
        """

    def described(self) -> m.ToolSignature:
        """Return the tool as guest code sees it."""
        parameters, returns = m.parameters_of(self.signature, shown, default_text)
        doc = "\n\n".join(filter(None, (inspect.getdoc(self.function), self.legend())))
        return m.ToolSignature(self.name, parameters, returns, doc)

    def legend(self) -> str:
        """Return the classes of the host that its hints name, a line each."""
        return legend(self._hints.values())

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> inspect.BoundArguments:
        """Return the arguments, checked and converted. TypeError names the parameter, what it takes and what came."""
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{self.name}() {error}; it is {self.name}{signature(self.signature)}") from None
        call, arguments = f"{self.name}()", bound.arguments
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

    def asks(self, approval: Approval, arguments: dict[str, Any], seconds: float, owner: object) -> CallTool:
        """Return what has `approval` asked about a call, by whoever drives the core."""
        what = f"the approval of {self.name}()"
        ask = partial(contained, what, approval, self.name, arguments)
        return CallTool(ask, seconds, is_async=inspect.iscoroutinefunction(approval), owner=owner)

    def failure(self, error: Exception, outcome: Failed = "error", *, inside: bool = False) -> RelayedAnswer:
        """Return an exception of the host as the guest sees it: its builtin type and its message, never its traceback.
        One that came from `inside` the function is reported as one of this tool.
        """
        is_key = isinstance(error, KeyError) and len(error.args) == 1
        text = _text(short_repr(error.args[0], _MESSAGE) if is_key else error)
        if inside and not text.startswith(f"{self.name}()"):
            text = f"{self.name}(): {text}" if text else f"{self.name}() failed in the host"
        for kind in type(error).__mro__:
            if kind in (Exception, object):
                break
            # The Unicode errors cannot be made from a message alone: their base, ValueError, can.
            if getattr(builtins, kind.__name__, None) is kind and not issubclass(kind, UnicodeError):
                return RelayedAnswer(outcome, None, kind.__name__, text[:_MESSAGE], inside)
        if not isinstance(error, ToolError):
            text = f"{self.name}(): {type(error).__name__}: {_text(error)}"
        return RelayedAnswer(outcome, None, "ToolError", text[:_MESSAGE], inside)

    @staticmethod
    def refuses(error: Exception) -> bool:
        """Return whether Python, or a function in C, raised this for the arguments: no line of a function ran."""
        place = error.__traceback__
        while place is not None and place.tb_next is not None:
            place = place.tb_next
        return place is not None and place.tb_frame.f_code is contained.__code__

    @staticmethod
    def error_text(error: Exception) -> str:
        """Return type and message of an exception of the host."""
        return ": ".join(filter(None, (type(error).__name__, _text(error))))

    def parameter(self, index: int) -> str:
        """Return the name of the parameter that a positional argument lands in, for messages."""
        names = [
            name
            for name, one in self.signature.parameters.items()
            if one.kind not in (one.KEYWORD_ONLY, one.VAR_KEYWORD)
        ]
        return repr(names[min(index, len(names) - 1)]) if names else f"number {index + 1}"


def tools_from(tools: Iterable[Callable[..., Any]] | Mapping[str, Callable[..., Any]] | None) -> dict[str, Tool]:
    """Return the tools that a caller gave, by name. Raises `ToolError`."""
    if not tools:
        return {}
    if isinstance(tools, Mapping):
        pairs = list(tools.items())
    elif callable(tools):
        raise ToolError("tools is a list of functions, or a mapping of names to them; found a function")
    else:
        pairs = [(getattr(tool, "__name__", type(tool).__name__), tool) for tool in tools]
    found: dict[str, Tool] = {}
    for name, function in pairs:
        tool = Tool(name, function)
        if tool.name in found:
            raise ToolError(f"two tools are called {name!r}")
        found[tool.name] = tool
    return found


_NOT_PASSED_ON = (StopIteration, StopAsyncIteration, GeneratorExit, SystemExit)
"""Exceptions of a function of the host that must not reach the core: guest code, or a generator, would take the first
three for the end of a loop; SystemExit (argparse raises it) would end the host.
"""


def contained(what: str, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Return `function(...)`, or what is to be awaited. An exception that would end more is a `ToolError`."""
    try:
        value = function(*args, **kwargs)
    except _NOT_PASSED_ON as error:
        raise _contained(what, error) from None
    return _awaited(what, value) if hasattr(type(value), "__await__") else value


async def _awaited(what: str, value: Awaitable[Any]) -> Any:
    return await _steps(what, value)


@types.coroutine
def _steps(what: str, value: Awaitable[Any]) -> Generator[Any, Any, Any]:
    """Await `value`, contained. By hand, for what the event loop throws in (a cancellation, the end of the loop) is to
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
            raise _contained(what, error) from None
        answer = thrown = None
        try:
            answer = yield waiting
        except BaseException as error:
            thrown = error


def _contained(what: str, error: BaseException) -> ToolError:
    return ToolError(f"{what}: {type(error).__name__}: {_text(error)}")


def _text(value: object) -> str:
    """Return `value` as text that crosses: short, and without lone surrogates. Whatever its `__str__` does."""
    try:
        text = str(value)
    except KeyboardInterrupt:
        raise
    except BaseException:  # an int of more than 4300 digits in a KeyError, a `__str__` that raises or returns no text
        text = short_repr(value.args if isinstance(value, BaseException) else value, _MESSAGE)
    return text[:_MESSAGE].encode("utf-8", "replace").decode()


def by_names(tool: Tool | None, args: Iterable[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call by the names of the tool's parameters; those without one by their place."""
    if tool is not None:
        with suppress(TypeError):  # it has other parameters by now
            return dict(tool.signature.bind(*args, **kwargs).arguments)
    return {**{str(place): value for place, value in enumerate(args)}, **kwargs}
