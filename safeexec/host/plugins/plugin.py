"""Plugins: somebody's code, loaded once, called many times with the host's values; each call under its own limits.

``state="keep"``: the calls share one process, and what a call changes stays. ``state="fresh"``: every call runs in a
copy of the plugin as it was loaded; the copies for the next calls are made while the host is busy with this one, so a
call costs little more than a kept one. A call that hangs, floods, forks or dies costs that call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from safeexec.errors import PluginError, PolicyError, ProtocolError
from safeexec.host.plugins.process import Loaded
from safeexec.host.plugins.source import Definition, Exports, Manifest, Source, define, objections
from safeexec.host.queue import Turnstile
from safeexec.host.session.session import SessionCore
from safeexec.host.tools.toolbox import Tool, Toolbox
from safeexec.host.waiting import Core
from safeexec.protocol import messages as m
from safeexec.text import printable

if TYPE_CHECKING:
    from safeexec.host.sandbox import SandboxCore
    from safeexec.results import Result

State = Literal["keep", "fresh"]
OBJECTIONS = 20
"""What an error lists of the ways in which a plugin is not what was asked for."""
TURN_SECONDS = 3600.0


class _PluginCall:
    """One call under way. `plugin` is None when it is over."""

    __slots__ = ("plugin",)

    def __init__(self, plugin: PluginCore) -> None:
        self.plugin: PluginCore | None = plugin


_inside: ContextVar[tuple[_PluginCall, ...]] = ContextVar("safeexec_calls", default=())
"""The calls for which this thread or task waits, or a tool that one of them made. Some may be over: a call that is
cancelled ends in another task."""


class PluginCore:
    """One plugin without its I/O."""

    def __init__(
        self,
        sandbox: SandboxCore,
        source: Source,
        *,
        exports: Exports | None,
        tools: Mapping[str, Tool],
        state: State,
        timeout: float | None,
        name: str | None,
        limits: Mapping[str, Any],
    ) -> None:
        if state not in ("keep", "fresh"):
            raise PluginError(f"state={state!r}: a plugin's state is 'keep' or 'fresh'")
        self._sandbox = sandbox
        self._source = source
        self._wanted = exports
        self._name = name
        self._tools = dict(tools)
        self._limits = {**limits, **({"checkpoints": "off"} if state == "fresh" else {})}
        self._timeout = timeout
        self._turnstile = Turnstile(1)
        self.state = state
        self.definition = self._defined(source)
        self.exports: dict[str, m.Export] = {}
        self._session: Loaded | None = None
        self._items = 0
        """Counts the calls: only the generator of the newest one can go on."""
        self._streaming = False

    def _defined(self, source: Source) -> Definition:
        definition = define(source, exports=self._wanted, name=self._name)
        wanted = definition.manifest.policy
        if wanted is not None and wanted != self._sandbox.policy.name:
            raise PolicyError(
                f"the plugin {definition.name} is written for the policy {wanted!r}, and this sandbox has "
                f"{self._sandbox.policy.name!r}: open Sandbox({wanted!r}) for it"
            )
        return definition

    def load(self) -> Core[None]:
        """Run the plugin's main module. Raises `PluginError`; what was loaded before stays in service then."""
        loaded = Loaded(
            (yield from self._sandbox.new_session(**{"label": self.definition.name, **self._limits})),
            fresh=self.state == "fresh",
        )
        try:
            exports = yield from self._install(loaded.core)
            if self.state == "fresh":
                yield from loaded.park()
        except BaseException:
            yield from loaded.close()
            raise
        old, self._session = self._session, loaded
        self.exports = exports
        if old is not None:
            yield from old.close()

    def _install(self, core: SessionCore) -> Core[dict[str, m.Export]]:
        definition = self.definition
        shared = self._sandbox.toolbox
        core.toolbox = Toolbox({**shared.tools, **self._tools}, core.policy, shared.approval)
        modules = [(name, source.encode("utf-8", "surrogatepass")) for name, source in definition.modules]
        names = None if definition.exports is None else list(definition.exports)
        tools = tuple(tool.described() for tool in self._tools.values())
        core.add_sources(definition.name, definition.modules)
        core.code = b"\n".join(source for _, source in modules)
        result = yield from core.perform(
            lambda step: m.Install(step, definition.name, modules, names, tools), timeout=self._timeout
        )
        if not result.ok:
            raise failed(f"the plugin {definition.name} could not be loaded", result)
        try:
            found = {export.name: export for export in msgspec.convert(result.value, list[m.Export])}
        except msgspec.ValidationError as error:
            raise ProtocolError(f"the plugin's exports are not described: {error}") from None
        if wrong := objections(definition, found):
            more = [f"and {len(wrong) - OBJECTIONS} more"] if len(wrong) > OBJECTIONS else []
            told = printable("; ".join([*wrong[:OBJECTIONS], *more]))
            raise PluginError(f"the plugin {definition.name} does not have the interface that is asked for: {told}")
        return {name: export for name, export in found.items() if export.kind in ("function", "class")}

    def reload(self, source: Source | None) -> Core[None]:
        """Load the plugin again, from the same place or from `source`; on an error the old one stays."""
        before = self.definition
        call = yield from self._turn()
        try:
            self.definition = self._defined(self._source if source is None else source)
            self._items += 1
            yield from self.load()
        except BaseException:
            self.definition = before
            raise
        finally:
            self._leave(call)
        if source is not None:
            self._source = source

    def invoke(
        self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], timeout: float | None
    ) -> Core[tuple[Result, int]]:
        """Call one export. Returns the result and, if it is a generator, its number."""
        if name not in self.exports:
            raise PluginError(
                f"{self.definition.name} does not export {name!r}; it exports {', '.join(self.exports) or 'nothing'}"
            )
        call = yield from self._turn()
        try:
            if self._streaming and self._session is not None:
                yield from self._session.leave()
            self._streaming = False
            self._items += 1
            session = yield from self._living()
            limit = self._timeout if timeout is None else timeout
            result = yield from session.core.invoke(name, args, kwargs, timeout=limit)
            if session.core.more and result.ok:
                self._streaming = True
                return result, self._items
            return (yield from session.after(result)), 0
        finally:
            self._leave(call)

    def proceed(self, number: int, *, close: bool) -> Core[tuple[Result | None, bool]]:
        """The next item of generator `number`, and whether there is one."""
        call = yield from self._turn()
        try:
            if number != self._items or self._session is None:
                if close:
                    return None, False
                raise PluginError(f"the generator of {self.definition.name} ended when another call was made")
            session = self._session
            result = yield from session.core.perform(lambda step: m.Proceed(step, close), timeout=self._timeout)
            if session.core.more and result.ok:
                return result, True
            self._streaming = False
            return (yield from session.after(result)), False
        finally:
            self._leave(call)

    def _turn(self) -> Core[_PluginCall]:
        """One call at a time: threads and tasks that call one plugin wait for each other, first come first served.

        A tool that calls the plugin which called it would wait for itself.
        """
        under_way = [call for call in _inside.get() if call.plugin is not None]
        if any(call.plugin is self for call in under_way):
            raise PluginError(
                f"{self.definition.name} is waiting for the tool that calls it now: a plugin cannot be called from its "
                "own tools; load it a second time for that"
            )
        if not (yield from self._turnstile.enter(monotonic() + TURN_SECONDS)):
            raise PluginError(f"{self.definition.name} was busy for {TURN_SECONDS:.0f} s")
        call = _PluginCall(self)
        _inside.set((*under_way, call))
        return call

    def _leave(self, call: _PluginCall) -> None:
        call.plugin = None
        self._turnstile.leave()

    def _living(self) -> Core[Loaded]:
        if self._session is None:
            raise PluginError(f"the plugin {self.definition.name} is closed")
        if self._session.core.closed or not (yield from self._session.ready()):
            # What the copies are made from is gone (memory, an operator's kill): load it again.
            yield from self.load()
            if not (yield from self._session.ready()):
                raise PluginError(f"no process could be made for {self.definition.name}")
        if self._session.started_over:
            # A call was killed, and there was no checkpoint to go back to: the process is a fresh one.
            self.exports = yield from self._install(self._session.core)
            self._session.installed()
        return self._session

    def close(self) -> Core[None]:
        """End the plugin's processes."""
        session, self._session = self._session, None
        if session is not None:
            yield from session.close()


def failed(what: str, result: Result) -> PluginError:
    """The exception for a result that is not ok."""
    error = result.error
    told = result.outcome if error is None else f"{error.type}: {error.message}"
    if error is not None and error.line is not None and "line " not in error.message[:20]:
        told += f" (line {error.line})"
    return PluginError(f"{what}: {printable(told)}", traceback="" if error is None else error.traceback, result=result)


class _Face:
    """What both faces of a plugin show."""

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
        """What may be called: name → signature, as the plugin tells it."""
        return {name: signature(export) for name, export in self._core.exports.items()}

    def __repr__(self) -> str:
        return f"<plugin {self.name}: {', '.join(self.exports)}>"


def signature(export: m.Export) -> str:
    """The signature of an export as text."""
    parts: list[str] = []
    kinds = [kind for _, kind, _, _ in export.parameters]
    for index, (name, kind, annotation, default) in enumerate(export.parameters):
        if kind == "keyword" and not {"args", "keyword"} & set(kinds[:index]):
            parts.append("*")
        mark = {"args": "*", "kwargs": "**"}.get(kind, "")
        hint = f": {annotation}" if annotation else ""
        value = f"{' = ' if annotation else '='}{default}" if default else ""
        parts.append(f"{mark}{name}{hint}{value}")
        if kind == "positional" and (index + 1 == len(kinds) or kinds[index + 1] != "positional"):
            parts.append("/")
    return f"({', '.join(parts)})" + (f" -> {export.returns}" if export.returns else "")


class Plugin(_Face):
    """A loaded plugin. ``plugin.call("price", 3)`` or ``plugin.price(3)``; made by `Sandbox.plugin`.

    Threads may share one: their calls take turns.
    """

    def __init__(self, core: PluginCore, drive: Callable[[Core[Any]], Any]) -> None:
        super().__init__(core)
        self._drive = drive

    def __enter__(self) -> Plugin:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def call(self, name: str, /, *args: Any, **kwargs: Any) -> Any:
        """Call one export with values of the host; give what it returns. A generator gives an iterator.

        Raises `PluginError` with the guest's traceback when the call fails or is stopped, TypeError for an argument
        that cannot cross.
        """
        result, items = self._drive(self._core.invoke(name, args, kwargs, None))
        if not result.ok:
            raise failed(f"{self.name}.{name}()", result)
        return self._iterate(name, items) if items else result.value

    def invoke(
        self,
        name: str,
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
    ) -> Result:
        """As `call`, but gives the whole `Result` (output, usage, tool calls) and raises nothing for what the plugin
        does.
        """
        result, items = self._drive(self._core.invoke(name, args, dict(kwargs or {}), timeout))
        if items:
            self._drive(self._core.proceed(items, close=True))
        return result  # type: ignore[no-any-return]

    def _iterate(self, name: str, items: int) -> Iterator[Any]:
        more = True
        try:
            while True:
                result, more = self._drive(self._core.proceed(items, close=False))
                if not result.ok:
                    raise failed(f"{self.name}.{name}()", result)
                if not more:
                    return
                yield result.value
        finally:
            if more:
                self._drive(self._core.proceed(items, close=True))

    def reload(self, source: Source | None = None) -> None:
        """Load again, from the same place or from `source`. On an error (`PluginError`) the old plugin stays in
        service.
        """
        self._drive(self._core.reload(source))

    def close(self) -> None:
        """End the plugin's processes. Harmless when closed already."""
        self._drive(self._core.close())

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_") or name not in self._core.exports:
            raise AttributeError(
                f"{self.name} does not export {name!r}; it exports {', '.join(self._core.exports) or 'nothing'}"
            )
        return lambda *args, **kwargs: self.call(name, *args, **kwargs)


class AsyncPlugin(_Face):
    """A loaded plugin, for event loops: ``await plugin.call("price", 3)``; generators with ``async for … in
    plugin.iterate(…)``.
    """

    async def __aenter__(self) -> AsyncPlugin:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def call(self, name: str, /, *args: Any, **kwargs: Any) -> Any:
        """As `Plugin.call`. Cancelling the task stops the call. For a generator all its items, as a list."""
        result, items = await self._invoke(name, args, kwargs, None)
        if not result.ok:
            raise failed(f"{self.name}.{name}()", result)
        return [item async for item in self._items(name, items)] if items else result.value

    async def invoke(
        self,
        name: str,
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
    ) -> Result:
        """As `Plugin.invoke`."""
        result, items = await self._invoke(name, args, dict(kwargs or {}), timeout)
        if items:
            await self._proceed(items, close=True)
        return result

    async def iterate(self, name: str, /, *args: Any, **kwargs: Any) -> Any:
        """The items of a generator, one by one."""
        result, items = await self._invoke(name, args, kwargs, None)
        if not result.ok:
            raise failed(f"{self.name}.{name}()", result)
        if not items:
            raise PluginError(f"{self.name}.{name}() returned a value, no generator")
        async for item in self._items(name, items):
            yield item

    async def _items(self, name: str, items: int) -> Any:
        more = True
        try:
            while True:
                result, more = await self._proceed(items, close=False)
                assert result is not None
                if not result.ok:
                    raise failed(f"{self.name}.{name}()", result)
                if not more:
                    return
                yield result.value
        finally:
            if more:
                await self._proceed(items, close=True)

    async def _invoke(
        self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], timeout: float | None
    ) -> tuple[Result, int]:
        from safeexec.host.faces.loops import drive

        return await drive(self._core.invoke(name, args, kwargs, timeout))

    async def _proceed(self, items: int, *, close: bool) -> tuple[Result | None, bool]:
        from safeexec.host.faces.loops import drive

        return await drive(self._core.proceed(items, close=close))

    async def reload(self, source: Source | None = None) -> None:
        """As `Plugin.reload`."""
        from safeexec.host.faces.loops import drive

        await drive(self._core.reload(source))

    async def close(self) -> None:
        """End the plugin's processes. Harmless when closed already."""
        from safeexec.host.faces.loops import drive

        await drive(self._core.close(), undo=False)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_") or name not in self._core.exports:
            raise AttributeError(
                f"{self.name} does not export {name!r}; it exports {', '.join(self._core.exports) or 'nothing'}"
            )
        return lambda *args, **kwargs: self.call(name, *args, **kwargs)
