"""Compares two policies, setting by setting, in the words of a policy file."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import msgspec

from safeexec.engine.policy.access import WORDS, module_access, parents
from safeexec.engine.policy.edit import document
from safeexec.engine.policy.plans import language_plan
from safeexec.engine.policy.settings import Attributes, LanguageLayer, PolicyData

_SPOKEN = {"both": "wider and narrower", "unknown": "neither wider nor narrower for certain"}


class Difference(NamedTuple):
    """One setting: `before` and `after` as a policy file spells them, None where a policy says nothing."""

    path: str
    before: Any
    after: Any
    rule: str
    """The place where the second policy says so (``mine.yaml:7``), or the empty string."""
    direction: Literal["wider", "narrower", "both", "other", "unknown"] = "other"
    """`wider` where the second policy allows more there, `narrower` where less, `other` where neither, `unknown` where
    that cannot be known.
    """

    @property
    def allows_more(self) -> bool:
        """Return whether the second policy allows there what the first does not, or that cannot be known."""
        return self.direction not in ("narrower", "other")

    @property
    def change(self) -> str:
        """Return what comes and goes of a list (``-eval +open``), else the value before and after (``128 → 256``)."""
        if isinstance(self.before, list) and isinstance(self.after, list):
            gone = [f"-{name}" for name in self.before if name not in self.after]
            come = [f"+{name}" for name in self.after if name not in self.before]
            return " ".join(gone + come)
        return f"{_short(self.before)} → {_short(self.after)}"

    def __str__(self) -> str:
        where = f"   ({self.rule})" if self.rule else ""
        if self.direction != "other":
            where = f"   [{_SPOKEN.get(self.direction, self.direction)}]{where}"
        return f"{self.path}: {self.change}{where}"


def differences(before: PolicyData, after: PolicyData) -> list[Difference]:
    """Return every setting that differs, in the order of the policy language. A module of which one has a line, and
    which the other opens by the word `stdlib` or `any`, is neither lost nor gained; nor is the approval of a tool that
    cannot be called any more. Of two of which one has no language layer, that is the difference: what such a layer
    allows is less than everything.
    """
    found: list[Difference] = []
    old, new = _comparable(before, after, after), _comparable(after, before, after)
    _compare(document(old), document(new), "", after, found)
    return found


def _comparable(policy: PolicyData, other: PolicyData, after: PolicyData) -> PolicyData:
    """Return the policy without the lines of `imports` for modules that the other opens without a line, or without
    any setting of the language layer where one of them has none; and with the approvals alone of tools that the second
    one allows.
    """
    approval = tuple(name for name in policy.tools.approval if name == "*" or name in after.tools.allow)
    tools = msgspec.structs.replace(policy.tools, approval=approval)
    if policy.language.mode != other.language.mode:
        language = LanguageLayer(mode=policy.language.mode, functions=policy.language.functions)
        return msgspec.structs.replace(
            policy, language=language, builtins=(), imports={}, attributes=Attributes(), tools=tools
        )
    plan = language_plan(other)
    imports = {
        module: chosen
        for module, chosen in policy.imports.items()
        if module in WORDS
        or not other.imports.keys().isdisjoint(parents(module))
        or not module_access(module, plan).allowed
    }
    return msgspec.structs.replace(policy, imports=imports, tools=tools)


def _compare(old: dict[str, Any], new: dict[str, Any], path: str, policy: PolicyData, found: list[Difference]) -> None:
    for key in [*old, *(key for key in new if key not in old)]:
        where = f"{path}.{key}" if path else key
        one, other = old.get(key), new.get(key)
        if one == other or (isinstance(one, list) and isinstance(other, list) and set(one) == set(other)):
            continue
        if isinstance(one, dict) and isinstance(other, dict) and "except" not in {*one, *other}:
            _compare(one, other, where, policy, found)
        else:
            changed = sorted({*_listed(one)} ^ {*_listed(other)}) or [""]
            rule = policy.origin(f"{where}.{changed[0]}")
            found.append(Difference(where, one, other, rule, direction_of(where, one, other)))


_MORE_IS_LESS = frozenset({"require", "tools.approval", "attributes.refuse"})
"""Settings that list, or turn on, what holds a program."""
_RANKED: dict[str, tuple[Any, ...]] = {
    "language.mode": ("restricted", "python"),
    "filesystem.workspace": ("none", "read-only", "read-write"),
}
"""Settings of a few words, from the narrowest to the widest."""


_NEITHER = ("description", "hints", "determinism", "checkpoints", "on_error")
"""Settings that allow no more and no less."""


def direction_of(path: str, before: Any, after: Any) -> Literal["wider", "narrower", "both", "other", "unknown"]:
    """Return which way a setting moves. Modules, builtins, numbers of `limits` and settings that are on allow more."""
    turned = path in _MORE_IS_LESS or path.startswith("language.constructs.except")
    if (ranks := _RANKED.get(path)) and before in ranks and after in ranks:
        return "wider" if ranks.index(after) > ranks.index(before) else "narrower"
    if path.partition(".")[0] in _NEITHER:
        return "other"
    if path.startswith("limits.") and (before is None or after is None):
        return "wider" if after is None else "narrower"
    more, less = _moves(before, after)
    if turned:
        more, less = less, more
    return "both" if more and less else "wider" if more else "narrower" if less else "unknown"


def _moves(before: Any, after: Any) -> tuple[bool, bool]:
    """Return whether there is more than before, and whether there is less."""
    nothing: tuple[Any, ...] = (None, "none", False, [], {})
    if before in nothing or after in nothing:
        return after not in nothing, before not in nothing
    if before == "all" or after == "all":
        return after == "all", before == "all"
    if isinstance(before, dict) and isinstance(after, dict):
        if {*before} == {*after} == {"except"}:
            less, more = _moves(before["except"] or None, after["except"] or None)
            return more, less
        moved = [
            _moves(before.get(key), after.get(key)) for key in {*before, *after} if before.get(key) != after.get(key)
        ]
        return any(more for more, _ in moved), any(less for _, less in moved)
    if isinstance(before, dict) or isinstance(after, dict):
        return True, True  # a list of names against all but some: nobody has counted them here
    if isinstance(before, list) and isinstance(after, list):
        return bool({*map(str, after)} - {*map(str, before)}), bool({*map(str, before)} - {*map(str, after)})
    if isinstance(before, int | float) and isinstance(after, int | float):
        return after > before, after < before
    return False, False


def _listed(value: Any) -> list[str]:
    """Return the names that a setting lists, or excepts."""
    named = value.get("except", ()) if isinstance(value, dict) else value
    return list(named) if isinstance(named, list) else []


def _short(value: Any) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, dict):
        return ", ".join(f"{key} {_short(item)}" for key, item in value.items())
    if isinstance(value, list):
        return f"[{', '.join(map(str, value))}]"
    return str(value).lower() if isinstance(value, bool) else str(value)
