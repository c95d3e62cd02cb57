"""The reference part of `policies/README.md`, generated from the same schema that checks a policy file.

``python -m safeexec.reports.reference`` writes it into the file; a test shows that it is current.
"""

from __future__ import annotations

from typing import Any

import msgspec

from safeexec.engine.policy.names import CONSTRUCTS
from safeexec.engine.policy.places import shipped_directory
from safeexec.engine.policy.schema import schema
from safeexec.engine.policy.settings import ALL, PROTECTIONS, Determinism, PolicyData

BEGIN, END = "<!-- reference: generated -->\n\n", "\n<!-- end of reference -->\n"


def text() -> str:
    """Return every setting with its form, what it means, and what holds where no profile says anything."""
    whole = schema()
    rows = ["| setting | form | meaning | default |", "| --- | --- | --- | --- |"]
    for key, setting in whole["properties"].items():
        rows += _rows(key, setting, whole["$defs"])
    return "\n".join(
        [
            *rows,
            "",
            f"`language.constructs` may name: {', '.join(f'`{name}`' for name in CONSTRUCTS)}.",
            "",
            f"`require` may name: {', '.join(f'`{name}`' for name in PROTECTIONS)}.\n",
        ]
    )


def _rows(path: str, setting: dict[str, Any], parts: dict[str, Any]) -> list[str]:
    section = next(
        (arm["$ref"].rpartition("/")[2] for arm in [setting, *setting.get("anyOf", ())] if "$ref" in arm), ""
    )
    if section in ("Edit", "Choice", ""):
        return [f"| `{path}` | {_form(setting)} | {setting.get('description', '')} | {_default(path)} |"]
    rows = [f"| `{path}` | section | {setting.get('description') or parts[section]['description']} | |"]
    for key, inner in parts[section]["properties"].items():
        rows += _rows(f"{path}.{key}", inner, parts)
    return rows


def _form(setting: dict[str, Any]) -> str:
    """Return the form of a value in a few words."""
    if "anyOf" in setting:
        return ", or ".join(_form(arm) for arm in setting["anyOf"])
    if "$ref" in setting:
        return "`{add, remove}`" if setting["$ref"].endswith("/Edit") else "`{except, add, remove}`"
    if "enum" in setting:
        return " or ".join(f"`{word}`" for word in setting["enum"])
    if "properties" in setting:
        return f"`{{{', '.join(setting['properties'])}}}`"
    if setting.get("type") == "object":
        return f"mapping of {_form(setting['additionalProperties'])}"
    words = {
        "string": "text",
        "integer": "whole number",
        "number": "number",
        "boolean": "`true` or `false`",
        "array": "list",
    }
    low, high = setting.get("minimum", setting.get("exclusiveMinimum")), setting.get("maximum")
    word = words[setting["type"]]
    return f"{word}, {'above ' if 'exclusiveMinimum' in setting else ''}{low} to {high}" if high is not None else word


def _default(path: str) -> str:
    value: Any = Determinism() if path.startswith("determinism.") else PolicyData()
    for key in path.removeprefix("determinism.").split("."):
        value = getattr(value, key, None)
    if value == ALL:
        return "`all`"
    if path == "extends" or value is None or isinstance(value, msgspec.Struct) or value in ((), "", {}):
        return ""
    if isinstance(value, tuple):
        return f"`[{', '.join(value)}]`"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def write() -> None:
    """Bring `policies/README.md` up to date."""
    from pathlib import Path

    path = Path(shipped_directory(), "README.md")
    before, _, rest = path.read_text(encoding="utf-8").partition(BEGIN)
    path.write_text(before + BEGIN + text() + END + rest.partition(END)[2], encoding="utf-8")


if __name__ == "__main__":
    write()
