"""Replacement fields of `str.format` templates: the attribute names that are hidden in a text."""

from __future__ import annotations

import re
from string import Formatter
from typing import Final

from safeexec.engine.policy.names import REFUSED_ATTRIBUTES
from safeexec.language.rules import Rules

_MENTIONS: Final = re.compile("|".join(sorted(map(re.escape, REFUSED_ATTRIBUTES))))
_DEPTH: Final = 3  # CPython itself expands a specification once


def refused_field(template: str, rules: Rules) -> str | None:
    """Return the first attribute name in `template` that a replacement field may not look up, or None. Linear.

    A template that is not well formed has none: formatting it raises ValueError before anything is looked up there.
    """
    if _MENTIONS.search(template) is None and not any(name in template for name in rules.own_refused):
        return None
    return _search(template, rules, 0)


def _search(template: str, rules: Rules, depth: int) -> str | None:
    try:
        for _, field, spec, _ in Formatter().parse(template):
            for part in re.findall(r"\.(\w+)", field or ""):
                if rules.refuses(part):
                    return str(part)
            if spec and "{" in spec and depth < _DEPTH and (found := _search(spec, rules, depth + 1)) is not None:
                return found
    except ValueError:
        pass
    return None
