"""Plugins: somebody's code, loaded once, called many times with the host's values; each call under its own limits.

``state="keep"``: the calls share one process, and what a call changes stays. ``state="fresh"``: every call runs in a
copy of the plugin as it was loaded; the copies for the next calls are made while the host is busy with this one, so a
call costs little more than a kept one. A call that hangs, floods, forks or dies costs that call.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from safeexec.api.plugins.interface import Wanted, given, returned
from safeexec.api.plugins.process import Loaded
from safeexec.api.plugins.settings import encoded
from safeexec.api.plugins.source import Definition, Exports, Manifest, Source, define, objections
from safeexec.common.text import printable
from safeexec.engine.host.queue import OneAtATime
from safeexec.engine.host.session.decode import may_be_bound
from safeexec.engine.host.session.session import SessionCore
from safeexec.engine.host.tools.tool import tools_from
from safeexec.engine.host.tools.toolbox import Toolbox
from safeexec.engine.host.waiting import Core, Work, blocking, drive
from safeexec.errors import PolicyError, ProtocolError, RecordingError, ToolError
from safeexec.protocol import messages as m
from safeexec.protocol.values import Opaque
from safeexec.results import PluginError, Result, in_words

if TYPE_CHECKING:
    import inspect

    from safeexec.engine.host.sandbox import SandboxCore

State = Literal["keep", "fresh"]
Tools = Iterable[Callable[..., Any]] | Mapping[str, Callable[..., Any]] | None
OBJECTIONS = 20
"""The most differences of a plugin from the wanted interface that an error lists."""
TURN_SECONDS = 3600.0


class PluginOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The keywords of `Sandbox.plugin`."""

    exports: Exports | None
    tools: Tools
    state: State
    timeout: float | None
    name: str | None
    settings: Mapping[str, Any] | None
    api: int | None
    limits: Mapping[str, Any]


class Handle:
    """An object of a plugin that no value can be made of: it stays there, and the host calls its methods.

        counter = plugin.call("make")
        counter.call("add", 1)

    `type` and `repr` are as the plugin says. It lives as long as the handle, and no longer than the plugin, which
    loses it when it is loaded again. It may be an argument of a call of the same plugin. Of an `AsyncPlugin` the calls
    are awaited.
    """

    __slots__ = ("_call", "_place", "_released", "reason", "repr", "type")

    def __init__(self, loaded: Loaded, number: int, released: deque[tuple[Loaded, int]], opaque: Opaque) -> None:
        """The object is in this loading of the plugin, by the number of the call that gave it, which no other has. The
        next call sends what is `released`.
        """
        self._place = loaded, number
        self._released = released
        self._call: Callable[[str, tuple[Any, ...], dict[str, Any], Handle], Any]
        self.type = opaque.type
        self.repr = opaque.repr
        self.reason = opaque.reason

    def call(self, name: str, /, *args: Any, **kwargs: Any) -> Any:
        """Call a method with values of the host; give what it returns, as `Plugin.call` does."""
        return self._call(name, args, kwargs, self)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"a handle has no attribute {name!r}: call a method of the object by handle.call({name!r}, …); "
            "its other attributes stay in the plugin"
        )

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call the object itself: a function that the plugin returned."""
        return self._call("", args, kwargs, self)

    def __del__(self) -> None:
        self._released.append(self._place)

    def __repr__(self) -> str:
        return f"<handle of {self.repr}>"


class PluginCore:
    """One plugin without its I/O."""

    def __init__(self, sandbox: SandboxCore, source: Source, options: PluginOptions) -> None:
        if options.state not in ("keep", "fresh"):
            raise PluginError(f"state={options.state!r}: a plugin's state is 'keep' or 'fresh'")
        if options.limits.get("record") not in (None, False):
            raise RecordingError("calls of a plugin are not recorded: leave out `record`")
        self._sandbox = sandbox
        self._source = source
        self._options = options
        self._tools = tools_from(options.tools)
        self._settings = dict(options.settings or {})
        self._turn = OneAtATime()
        self.state: State = options.state
        self._released: deque[tuple[Loaded, int]] = deque()
        """Objects whose handles the host has given up, from any thread: the next call sends them to the plugin."""
        self.definition = self._defined(source)
        self.exports: dict[str, inspect.Signature] = {}
        self._loaded: Loaded | None = None
        self._items = 0
        """The number of the last call: only its generator can go on."""
        self._streaming = False
        self._wanted: Wanted | None = None
        """The interface of the export that was called last."""

    def _defined(self, source: Source) -> Definition:
        definition = define(source, exports=self._options.exports, name=self._options.name)
        manifest, api = definition.manifest, self._options.api
        if api is not None and manifest.api is not None and manifest.api != api:
            raise PluginError(f"{definition.title} is written for api {manifest.api}; this host has {api}")
        wanted = manifest.policy
        if wanted is not None and wanted != self._sandbox.policy.name:
            raise PolicyError(
                f"{definition.title} is written for the policy {wanted!r}, and this sandbox has "
                f"{self._sandbox.policy.name!r}: open Sandbox({wanted!r}) for it"
            )
        return definition

    def load(self) -> Core[None]:
        """Run the plugin's main module. Raises `PluginError`; what was loaded before stays in service then."""
        fresh = self.state == "fresh"
        limits = {"label": self.definition.name, **self._options.limits, **({"checkpoints": "off"} if fresh else {})}
        loaded = Loaded((yield from self._sandbox.new_session(**limits)), fresh=fresh)
        try:
            exports = yield from self._install(loaded.core)
            if fresh:
                yield from loaded.freeze()
        except BaseException:
            yield from loaded.close()
            raise
        old, self._loaded = self._loaded, loaded
        self.exports = exports
        if old is not None:
            yield from old.close()

    def _install(self, core: SessionCore) -> Core[dict[str, inspect.Signature]]:
        definition = self.definition
        settings = encoded(definition.title, definition.manifest.settings, self._settings, core.policy.limits)
        shared = self._sandbox.toolbox
        core.steps.toolbox = own = Toolbox({**shared.tools, **self._tools}, core.policy, shared.approval, shared)
        if own.has_effects:
            raise ToolError(
                "tools with an effect follow the steps of a session: a plugin cannot have them; open a sandbox without "
                f"{', '.join(name for name, tool in own.tools.items() if tool.effect is not None)} for plugins"
            )
        modules = [(name, source.encode("utf-8", "surrogatepass")) for name, source in definition.modules]
        names = None if definition.exports is None else list(definition.exports)
        tools = tuple(tool.described() for tool in self._tools.values())
        core.supervisor.sources.add_plugin(definition.name, definition.modules)
        core.steps.plugin_source = b"\n".join(source for _, source in modules)
        result = yield from core.steps.perform(
            lambda step: m.Install(step, definition.name, modules, names, tools, settings),
            timeout=self._options.timeout,
        )
        result = self._with_path(result)
        if not result.ok:
            raise failed(f"{definition.title} could not be loaded", result)
        try:  # not on an event loop: of 100 exports with 85 parameters each it takes 30 ms
            found, signatures = yield Work(partial(_described, result.value))
        except (msgspec.ValidationError, ValueError) as error:
            raise ProtocolError(f"the plugin's exports are not described: {error}") from None
        if wrong := objections(definition, found, signatures):
            more = [f"and {len(wrong) - OBJECTIONS} more"] if len(wrong) > OBJECTIONS else []
            mismatches = printable("; ".join([*wrong[:OBJECTIONS], *more]))
            raise PluginError(f"{definition.title} does not have the interface that is asked for: {mismatches}")
        return {name: one for name, one in signatures.items() if found[name].kind in ("function", "class")}

    def reload(self, source: Source | None) -> Core[None]:
        """Load the plugin again, from the same place or from `source`; on an error the old one stays."""
        before = self.definition
        yield from self._enter()
        try:
            self.definition = self._defined(self._source if source is None else source)
            self._items += 1
            yield from self.load()
        except BaseException:
            self.definition = before
            raise
        finally:
            self._turn.leave()
        if source is not None:
            self._source = source

    def invoke(
        self,
        name: str,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        timeout: float | None,
        held: Handle | None = None,
    ) -> Core[tuple[Result, int]]:
        """Call one export, or a method of what an earlier call returned (`held`). Returns the result and, if it is a
        generator, its number.
        """
        if not isinstance(args, (tuple, list)):
            raise TypeError(f"args is a tuple of arguments, ({args!r:.60},) for one; found {type(args).__name__}")
        if held is None and name not in self.exports:
            raise PluginError(
                f"{self.definition.name} does not export {name!r}; it exports {', '.join(self.exports) or 'nothing'}"
            )
        if held is not None and not may_be_bound(name):
            raise PluginError(f"{name!r} is not the name of a method")
        if held is not None and name.startswith("_"):
            raise PluginError(f"{name!r} cannot be called from outside: its name begins with an underscore")
        yield from self._enter()
        try:
            wanted = self._wanted = self.definition.wanted.get(name) if held is None else None
            if self._streaming and self._loaded is not None:
                yield from self._loaded.leave()
            self._streaming = False
            self._items += 1
            loaded = yield from self._living()
            if held is not None and held._place[0] is not loaded:
                raise PluginError(f"this object of {self.definition.name} is gone: the plugin was loaded again")
            args, kwargs, objects = self._objects(loaded, name, args, kwargs)
            if wanted is not None and wanted.hints:
                args, kwargs = given(wanted.hints, wanted.signature, args, kwargs)
            result = yield from loaded.core.steps.invoke(
                name,
                args,
                kwargs,
                timeout=self._options.timeout if timeout is None else timeout,
                by_fields=wanted is not None and "return" in wanted.hints,
                held=held._place[1] if held is not None else 0,
                hold=self.state == "keep",
                release=self._to_release(loaded),
                objects=objects,
            )
            if loaded.core.steps.generator_goes_on and result.ok:
                self._streaming = True
                return result, self._items
            return self._with_path(self._received((yield from loaded.after(result)), loaded, name)), 0
        finally:
            self._turn.leave()

    def _objects(
        self, loaded: Loaded, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any], list[tuple[int | str, int]]]:
        """Return the arguments with None for each handle, and place or keyword and number of these. Raises
        `PluginError` for an object that is not in `loaded`.
        """
        objects: list[tuple[int | str, int]] = []
        places: Iterable[tuple[int | str, Any]] = (*enumerate(args), *kwargs.items())
        for place, one in places:
            if type(one) is not Handle:
                continue
            where, number = one._place
            if where is not loaded:
                shown = place + 1 if isinstance(place, int) else repr(place)
                raise PluginError(
                    f"argument {shown} of {name or 'the object'}() is an object of another plugin, or of "
                    f"{self.definition.name} before it was loaded again"
                )
            objects.append((place, number))
        without = tuple(None if type(one) is Handle else one for one in args)
        return without, {word: None if type(one) is Handle else one for word, one in kwargs.items()}, objects

    def _received(self, result: Result, loaded: Loaded, name: str) -> Result:
        """Return the result of a call; its value is an object of the interface's class, or a `Handle` if it stayed."""
        if result.ok and self._wanted is not None and self._wanted.returns is not Any:
            return returned(self._wanted.returns, f"{self.definition.name}.{name}()", result)
        if result.ok and loaded.core.steps.held and isinstance(result.value, Opaque):
            handle = Handle(loaded, loaded.core.steps.number, self._released, result.value)
            return msgspec.structs.replace(result, value=handle)
        return result

    def _with_path(self, result: Result) -> Result:
        """Return the result, its error with the path of the host's file where the module was read from one."""
        error, definition = result.error, self.definition
        if error is None or not definition.paths:
            return result
        module = error.file.removeprefix(f"<plugin {definition.name}").removesuffix(">")
        path = definition.paths.get(module.removeprefix(":") or definition.modules[0][0])
        if path is None:
            return result
        return msgspec.structs.replace(result, error=msgspec.structs.replace(error, file=path))

    def _to_release(self, loaded: Loaded) -> list[int]:
        numbers: list[int] = []
        while self._released and len(numbers) < m.MANY:
            where, number = self._released.popleft()
            if where is loaded:
                numbers.append(number)
        return numbers

    def proceed(self, number: int, name: str, *, close: bool) -> Core[tuple[Result, bool]]:
        """Return the next item of generator `number`, which the function `name` gave, and whether there is one."""
        yield from self._enter()
        try:
            if number != self._items or self._loaded is None:
                if close:
                    return Result(outcome="ok"), False
                raise PluginError(
                    f"the generator of {self.definition.name}.{name}() ended when another call was made: take all "
                    f"of its items first, as with list(plugin.{name}(…))"
                )
            loaded = self._loaded
            proceed = partial(m.Proceed, close=close)
            result = yield from loaded.core.steps.perform(proceed, timeout=self._options.timeout)
            if loaded.core.steps.generator_goes_on and result.ok:
                return self._received(result, loaded, "item"), True
            self._streaming = False
            return self._with_path((yield from loaded.after(result))), False
        finally:
            self._turn.leave()

    def _enter(self) -> Core[None]:
        """Wait for the turn of a call: threads and tasks that call one plugin wait for each other, first come first
        served. Raises `PluginError`.

        A tool that calls the plugin which called it would wait for itself.
        """
        if self._turn.would_wait_for_itself:
            raise PluginError(
                f"{self.definition.name} is waiting for the tool that calls it now: a plugin cannot be called from its "
                "own tools; load it a second time for that"
            )
        if not (yield from self._turn.enter(TURN_SECONDS)):
            raise PluginError(f"{self.definition.name} was busy for {TURN_SECONDS:.0f} s")

    def _living(self) -> Core[Loaded]:
        """Return the plugin with a process for the next call; load it again if that has gone. Raises `PluginError`."""
        if self._loaded is None:
            raise PluginError(f"{self.definition.title} is closed")
        if self._loaded.core.closed or not (yield from self._loaded.ready()):
            # What the copies are made from is gone (memory, an operator's kill): load it again.
            yield from self.load()
            if not (yield from self._loaded.ready()):
                raise PluginError(f"no process could be made for {self.definition.name}")
        if self._loaded.started_over:
            # A call was killed, and there was no checkpoint to go back to: the process is a fresh one.
            self.exports = yield from self._install(self._loaded.core)
            self._loaded.installed()
        return self._loaded

    def close(self) -> Core[None]:
        """End the plugin's processes."""
        loaded, self._loaded = self._loaded, None
        if loaded is not None:
            yield from loaded.close()


def _described(exports: Any) -> tuple[dict[str, m.Export], dict[str, inspect.Signature]]:
    """Return the exports that a child reported, and their signatures, by name. Raises ValueError for anything else."""
    found = {export.name: export for export in msgspec.convert(exports, list[m.Export])}
    return found, {name: m.python_signature(export) for name, export in found.items()}


def failed(what: str, result: Result) -> PluginError:
    """Return the exception for a result that is not ok."""
    error = result.error
    why = result.outcome if error is None else in_words(error)
    return PluginError(f"{what}: {why}", traceback="" if error is None else error.traceback, result=result)


class PluginAPI:
    """The base of `Plugin` and `AsyncPlugin`."""

    call: Callable[..., Any]
    """Call an export."""
    _called: Callable[[str, tuple[Any, ...], dict[str, Any], Handle | None], Any]
    """Call an export, or a method of an object that stays in the plugin, and give what it returns."""

    def __init__(self, core: PluginCore) -> None:
        self._core = core

    @property
    def name(self) -> str:
        """The plugin's name: of its manifest, or given by the host."""
        return self._core.definition.name

    @property
    def manifest(self) -> Manifest:
        """The manifest, with defaults where there is none."""
        return self._core.definition.manifest

    @property
    def exports(self) -> dict[str, str]:
        """The functions and classes that may be called: name → signature, as the plugin says."""
        return {name: str(signature) for name, signature in self._core.exports.items()}

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_") or name not in self._core.exports:
            raise AttributeError(
                f"{self.name} does not export {name!r}; it exports {', '.join(self._core.exports) or 'nothing'}"
            )
        return partial(self.call, name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *(name for name in self._core.exports if name.isidentifier())]

    def _of(self, result: Result) -> Result:
        """Return the result as the caller gets it: the calls of a handle are made by this API."""
        if type(result.value) is Handle:
            result.value._call = self._called
        return result

    def _value(self, name: str, result: Result) -> Any:
        """Return what a call of the export, or the next item of its generator, gave. Raises `PluginError`."""
        if not result.ok:
            raise failed(f"{self.name}.{name}()", result)
        return self._of(result).value

    def __repr__(self) -> str:
        return f"<plugin {self.name}: {', '.join(self.exports)}>"


class Plugin(PluginAPI):
    """A loaded plugin. ``plugin.call("price", 3)`` or ``plugin.price(3)``; made by `Sandbox.plugin`.

    Threads may share one: their calls take turns.
    """

    def __enter__(self) -> Plugin:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def call(self, name: str, /, *args: Any, **kwargs: Any) -> Any:
        """Call one export with values of the host; give what it returns. A generator gives an iterator.

        An object that cannot cross, of which no interface gives the class, stays in a plugin that keeps its state, and
        a `Handle` stands for it. Raises `PluginError` with the guest's traceback when the call fails or is stopped,
        TypeError for an argument that cannot cross.
        """
        return self._called(name, args, kwargs, None)

    def _called(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], held: Handle | None) -> Any:
        result, items = drive(self._core.invoke(name, args, kwargs, None, held))
        value = self._value(name, result)
        return self._iterate(name, items) if items else value

    @blocking
    def invoke(
        self,
        name: str,
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
    ) -> Core[Result]:
        """Call an export, and give the whole `Result` (output, usage, tool calls), also of a call that fails."""
        result, items = yield from self._core.invoke(name, args, dict(kwargs or {}), timeout)
        if items:
            yield from self._core.proceed(items, name, close=True)
        return self._of(result)

    def _iterate(self, name: str, items: int) -> Iterator[Any]:
        more = True
        try:
            while True:
                result, more = drive(self._core.proceed(items, name, close=False))
                value = self._value(name, result)
                if not more:
                    return
                yield value
        finally:
            if more:
                drive(self._core.proceed(items, name, close=True))

    @blocking
    def reload(self, source: Source | None = None) -> Core[None]:
        """Load again, from the same place or from `source`. On a `PluginError` the old plugin stays in service."""
        return self._core.reload(source)

    @blocking
    def close(self) -> Core[None]:
        """End the plugin's processes. Harmless when closed already."""
        return self._core.close()
