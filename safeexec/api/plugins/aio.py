"""A loaded plugin for event loops: `AsyncPlugin`."""

from __future__ import annotations

from typing import Any

from safeexec.api.loops import awaited, drive
from safeexec.api.plugins.plugin import Handle, Plugin, PluginAPI
from safeexec.results import PluginError


class AsyncPlugin(PluginAPI):
    """A loaded plugin for event loops: ``await plugin.call("price", 3)``, ``async for … in plugin.iterate(…)``."""

    async def __aenter__(self) -> AsyncPlugin:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def call(self, name: str, /, *args: Any, **kwargs: Any) -> Any:
        """Call an export as `Plugin.call` does; of a generator give all items, as a list. Cancelling stops the call."""
        return await self._called(name, args, kwargs, None)

    async def _called(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], held: Handle | None) -> Any:
        result, items = await drive(self._core.invoke(name, args, kwargs, None, held))
        value = self._value(name, result)
        return [item async for item in self._items(name, items)] if items else value

    invoke = awaited(Plugin.invoke)

    async def iterate(self, name: str, /, *args: Any, **kwargs: Any) -> Any:
        """Yield the items of a generator, one by one."""
        result, items = await drive(self._core.invoke(name, args, kwargs, None))
        self._value(name, result)
        if not items:
            raise PluginError(f"{self.name}.{name}() returned a value, no generator")
        async for item in self._items(name, items):
            yield item

    async def _items(self, name: str, items: int) -> Any:
        more = True
        try:
            while True:
                result, more = await drive(self._core.proceed(items, name, close=False))
                value = self._value(name, result)
                if not more:
                    return
                yield value
        finally:
            if more:
                await drive(self._core.proceed(items, name, close=True))

    reload = awaited(Plugin.reload)
    close = awaited(Plugin.close, undo=False)
