"""Replacement fields of `str.format` templates: the attribute names hidden in a string."""

from __future__ import annotations

import _string  # type: ignore[import-not-found]  # what str.format itself parses with
from typing import Final

from safeexec.compiler import names
from safeexec.compiler.rules import PLAIN, Rules

_DEPTH: Final = 3  # CPython itself expands a specification once


def refused_field(template: str, rules: Rules, depth: int = 0) -> str | None:
    """The first attribute name in `template` that a replacement field may not look up, or None.

    A template that is not well formed has none: formatting it raises ValueError before anything is looked up there.
    """
    try:
        for _, field, spec, _ in _string.formatter_parser(template):
            if field:
                for is_attribute, part in _string.formatter_field_name_split(field)[1]:
                    if is_attribute and not _may_look_up(part, rules):
                        return str(part)
            if spec and "{" in spec and depth < _DEPTH:
                found = refused_field(spec, rules, depth + 1)
                if found is not None:
                    return found
    except ValueError:
        return None
    return None


def _may_look_up(name: str, rules: Rules) -> bool:
    if names.is_dunder(name):
        return name in names.FORMAT_FIELD_DUNDERS
    return rules.attribute(name) == PLAIN or name in ("format", "format_map")
