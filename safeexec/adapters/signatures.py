"""Signatures of tools, as frameworks declare them to a model and as Python spells them."""

from __future__ import annotations

import functools
import inspect
import operator
from typing import Any

_TYPES: dict[str, Any] = {
    "string": str,
    "integer": int,
    "number": int | float,
    "boolean": bool,
    "array": list,
    "object": dict,
    "null": None,
}


def hint(declared: dict[str, Any] | bool) -> Any:
    """Return what ``{"type": "integer", "nullable": True}`` means in Python. Any where nothing can be checked, as of
    ``True``, a schema that anything fits.
    """
    if isinstance(declared, bool):
        return Any
    kinds = declared.get("type", "any")
    found = [_TYPES.get(kind, Any) for kind in ([kinds] if isinstance(kinds, str) else kinds)]
    if Any in found:
        return Any
    return functools.reduce(operator.or_, [*found, *([None] if declared.get("nullable") else [])])


def from_schema(schema: dict[str, Any]) -> inspect.Signature:
    """Return the signature of a tool whose arguments are the properties of a JSON schema. Required ones come first."""
    required = schema.get("required", ())
    names = sorted(schema.get("properties", {}), key=lambda name: name not in required)
    return inspect.Signature(
        [
            inspect.Parameter(
                name,
                inspect.Parameter.POSITIONAL_OR_KEYWORD,
                default=inspect.Parameter.empty if name in required else None,
                annotation=hint(schema["properties"][name]) if name in required else Any,
            )
            for name in names
            if name.isidentifier()
        ]
    )
