"""The JSON Schema of a policy file, for editors: generated from the types of the settings and their docstrings.

Write `policies/schema.json` with ``python -m safeexec.engine.policy.schema``; a test shows that it is current.
"""

from __future__ import annotations

import ast
import inspect
import json
import os
from typing import Any

import msgspec

from safeexec.engine.policy import document, settings
from safeexec.engine.policy.access import WORDS
from safeexec.engine.policy.checks import BUILTINS
from safeexec.engine.policy.names import CONSTRUCTS
from safeexec.engine.policy.places import shipped_directory

FILE = "schema.json"
_MODULES = (
    *("asyncio", "collections", "csv", "datetime", "decimal", "fractions", "json", "math", "os", "pathlib", "random"),
    *("re", "sqlite3", "statistics", "string", "time", "numpy", "pandas", "scipy", "sklearn", "matplotlib", "sympy"),
)
"""The names that an editor offers to complete; any other may be written, too."""


def descriptions() -> dict[str, dict[str, str]]:
    """Return class → setting → the docstring under it in the source."""
    found: dict[str, dict[str, str]] = {}
    for module in (settings, document):
        for node in ast.parse(inspect.getsource(module)).body:
            if isinstance(node, ast.ClassDef):
                found[node.name] = dict(_documented(node))
    return {**found, "Document": found["PolicyData"] | found["FileKeys"]}


def _documented(node: ast.ClassDef) -> list[tuple[str, str]]:
    pairs = zip(node.body, node.body[1:], strict=False)
    return [
        (before.target.id.rstrip("_"), " ".join(after.value.value.split()))
        for before, after in pairs
        if isinstance(before, ast.AnnAssign)
        and isinstance(before.target, ast.Name)
        and isinstance(after, ast.Expr)
        and isinstance(after.value, ast.Constant)
        and isinstance(after.value.value, str)
    ]


def schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a policy file."""
    parts = msgspec.json.schema(document.Document)["$defs"]
    texts = descriptions()
    for name, part in parts.items():
        # No key is required, and a default belongs to the profile that is extended, not to the file.
        part.pop("required", None)
        for key, setting in part.get("properties", {}).items():
            setting.pop("default", None)
            if text := texts[name].get(key):
                part["properties"][key] = {"description": text, **setting}
    for (name, key), choice in _choices().items():
        properties = parts[name]["properties"]
        properties[key] = _choosing(properties[key], choice, parts)
    root = parts.pop("Document")
    root["properties"]["imports"]["propertyNames"] = {
        "anyOf": [{"enum": [*WORDS, *_MODULES]}, {"pattern": r"^[^\W\d]\w*(\.[^\W\d]\w*)*$"}]
    }
    del root["title"]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "safeexec policy",
        **root,
        "$defs": parts,
    }


def _choices() -> dict[tuple[str, str], dict[str, Any]]:
    """Return section and setting → what its names may be, for editors to complete."""
    one = "|".join(settings.PROTECTIONS)
    return {
        ("LanguageLayer", "constructs"): {"enum": sorted(CONSTRUCTS)},
        ("Document", "builtins"): {
            "anyOf": [
                {"enum": sorted(name for name in BUILTINS if name[0] != "_")},
                {"type": "string", "pattern": "^_"},
            ]
        },
        ("Document", "require"): {
            "anyOf": [{"enum": list(settings.PROTECTIONS)}, {"type": "string", "pattern": f"^({one})( +or +({one}))+$"}]
        },
    }


def _choosing(part: Any, choice: dict[str, Any], parts: dict[str, Any]) -> Any:
    """Return the schema of a setting with `choice` for each of its names."""
    if isinstance(part, list):
        return [_choosing(item, choice, parts) for item in part]
    if not isinstance(part, dict):
        return part
    if "$ref" in part:
        part = parts[part["$ref"].rpartition("/")[2]]
    if part.get("type") == "array":
        return {**part, "items": choice}
    return {key: _choosing(item, choice, parts) for key, item in part.items() if key != "title"}


def text() -> str:
    """Return the file as it is shipped."""
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    with open(os.path.join(shipped_directory(), FILE), "w", encoding="utf-8") as written:
        written.write(text())
