"""An object of a plugin that no value can be made of: it stays there, and the host calls its methods.

counter = plugin.call("make")
counter.call("add", 1)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from safeexec.protocol.values import Opaque

Call = Callable[[str, tuple[Any, ...], dict[str, Any]], Any]


class HeldPlace(NamedTuple):
    """Where an object is: in which loading of the plugin, and under which number. That is the number of a call, so no
    other object ever gets it.
    """

    loaded: object
    number: int


class Handle:
    """One such object: `type` and `repr` as the plugin tells them. It lives as long as the handle, and no longer than
    the plugin, which loses it when it is loaded again.

    It may be an argument of a call of the same plugin. Of an `AsyncPlugin` the calls are awaited.
    """

    __slots__ = ("_call", "_place", "_release", "reason", "repr", "type")

    def __init__(self, place: HeldPlace, call: Call, release: Callable[[], None], opaque: Opaque) -> None:
        """`call` calls a method of the object, by its name; with an empty name the object itself."""
        self._place = place
        self._call = call
        self._release = release
        self.type = opaque.type
        self.repr = opaque.repr
        self.reason = opaque.reason

    def call(self, name: str, /, *args: Any, **kwargs: Any) -> Any:
        """Call a method with values of the host; give what it returns, as `Plugin.call` does."""
        return self._call(name, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"a handle has no attribute {name!r}: call a method of the object by handle.call({name!r}, …); "
            "its other attributes stay in the plugin"
        )

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call the object itself: a function that the plugin returned."""
        return self._call("", args, kwargs)

    def __del__(self) -> None:
        self._release()

    def __repr__(self) -> str:
        return f"<handle of {self.repr}>"


def places_of(args: Iterable[Any], kwargs: Mapping[str, Any]) -> list[tuple[int | str, HeldPlace]]:
    """Return the arguments that are handles: place or keyword, and where the object is."""
    every: Iterable[tuple[int | str, Any]] = (*enumerate(args), *kwargs.items())
    return [(place, one._place) for place, one in every if type(one) is Handle]
