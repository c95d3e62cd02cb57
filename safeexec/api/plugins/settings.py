"""The settings of a plugin: which there are, by its manifest, and what the host gave for each.

    settings:
      rate: {type: float, default: 0.2, minimum: 0, description: what is added}
      currency: {choices: [EUR, USD]}

The plugin's modules find them as a dict, by the name ``settings``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from msgspec import UNSET, Struct

from safeexec.common.matching import suggestion
from safeexec.common.text import short_repr, shorten
from safeexec.protocol.values import encode
from safeexec.results import PluginError

if TYPE_CHECKING:
    from safeexec.engine.policy.settings import Limits

_TYPES: dict[str, Any] = {"str": str, "int": int, "float": float, "bool": bool, "list": list, "dict": dict}
_SHOWN = 80


class Setting(Struct, forbid_unknown_fields=True, frozen=True):
    """One setting. Without a default the host must give it."""

    type: Literal["str", "int", "float", "bool", "list", "dict"] = "str"
    default: Any = UNSET
    choices: list[Any] | None = None
    minimum: float | None = None
    maximum: float | None = None
    description: str = ""

    def __str__(self) -> str:
        """Return it in words: ``float from 0 to 1 = 0.2 (what is added)``."""
        kind = self.type if self.choices is None else " | ".join(map(repr, self.choices))
        default = "" if self.default is UNSET else f" = {short_repr(self.default, _SHOWN)}"
        meaning = f" ({shorten(self.description, _SHOWN)})" if self.description else ""
        low = "" if self.minimum is None else f" from {self.minimum:g}"
        high = "" if self.maximum is None else f" to {self.maximum:g}"
        return f"{kind}{low}{high}{default}{meaning}"

    def problem(self, value: Any) -> str:
        """Return what is wrong with a value, or an empty string."""
        kind = _TYPES[self.type]
        if type(value) is not kind and not (kind is float and type(value) is int):
            return f"expected {self.type}, got {type(value).__name__} {short_repr(value, _SHOWN)}"
        if kind is float:
            try:
                float(value)
            except OverflowError:
                return f"{short_repr(value, _SHOWN)} is too large for a float"
        if self.choices is not None and value not in self.choices:
            return f"{short_repr(value, _SHOWN)} is not one of {', '.join(map(repr, self.choices))}"
        if isinstance(value, int | float):
            if self.minimum is not None and value < self.minimum:
                return f"{value!r} is less than {self.minimum:g}"
            if self.maximum is not None and value > self.maximum:
                return f"{value!r} is more than {self.maximum:g}"
        return ""


def _values(plugin: str, settings: Mapping[str, Setting], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return each setting with its value. Raises `PluginError` with all that is wrong, and which settings there are."""
    wrong = [f"no setting {name!r}{suggestion(str(name), settings)}" for name in given if name not in settings]
    found = {}
    for name, setting in settings.items():
        value = given.get(name, setting.default)
        if value is UNSET:
            wrong.append(f"{name!r} must be given")
        elif problem := setting.problem(value):
            wrong.append(f"{name}: {problem}")
        else:
            found[name] = float(value) if setting.type == "float" else value
    if not wrong:
        return found
    known = "; ".join(f"{name}: {setting}" for name, setting in settings.items()) or "it has none"
    raise PluginError(f"the settings of {plugin} are wrong: {'; '.join(wrong)} (its settings: {known})")


def encoded(plugin: str, settings: Mapping[str, Setting], given: Mapping[str, Any], limits: Limits) -> bytes:
    """Return the settings for the child, b"" for none. Raises `PluginError`, also for what cannot cross."""
    found = _values(plugin, settings, given)
    if not found:
        return b""
    written = encode(found, max_bytes=limits.value_kb << 10, max_depth=limits.value_depth)
    if written.opaque:
        raise PluginError("the settings of a plugin are plain values: numbers, text, lists and dicts")
    return written.data
