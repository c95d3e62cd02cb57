"""`lxml` without functions that it finds by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from safeexec.facades.replacements.checked import checked_getattr


def Extension(
    module: Any, function_mapping: Mapping[str, str] | Iterable[str] | None = None, *, ns: str | None = None
) -> dict[tuple[str | None, str], Any]:
    """The extension functions of an object, for `XPath` and `XSLT`, read through the checked getattr."""
    if function_mapping is None:
        function_mapping = [name for name in dir(module) if not name.startswith("_")]
    if isinstance(function_mapping, Mapping):
        names = {name: str(shown) for name, shown in function_mapping.items()}
    else:
        names = {name: name for name in function_mapping}
    return {(ns, shown): checked_getattr(module, name) for name, shown in names.items()}


REPLACEMENTS: dict[str, Any] = {"lxml.etree.Extension": Extension}
