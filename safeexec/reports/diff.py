"""What two policies say differently, setting by setting, in the words of a policy file."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from safeexec.language.access import WORDS, module_access
from safeexec.policy.edit import document
from safeexec.policy.plans import language_plan
from safeexec.policy.settings import PolicyData


class Difference(NamedTuple):
    """One setting: `before` and `after` as a policy file spells them, None where a policy says nothing."""

    path: str
    before: Any
    after: Any
    rule: str
    """Where the second policy says so (``mine.yaml:7``), or the empty string."""

    def __str__(self) -> str:
        where = f"   ({self.rule})" if self.rule else ""
        if isinstance(self.before, list) and isinstance(self.after, list):
            gone = [f"-{name}" for name in self.before if name not in self.after]
            come = [f"+{name}" for name in self.after if name not in self.before]
            return f"{self.path}: {' '.join(gone + come)}{where}"
        return f"{self.path}: {_short(self.before)} → {_short(self.after)}{where}"


def differences(before: PolicyData, after: PolicyData) -> list[Difference]:
    """Every setting that differs, in the order of the policy language. A module of which one has a line, and which the
    other opens by the word `stdlib` or `any`, is neither lost nor gained.
    """
    found: list[Difference] = []
    _compare(document(_alone(before, after)), document(_alone(after, before)), "", after, found)
    return found


def _alone(policy: PolicyData, other: PolicyData) -> PolicyData:
    """The policy without the lines of `imports` for modules that the other opens without a line."""
    plan = language_plan(other)
    imports = {
        module: chosen
        for module, chosen in policy.imports.items()
        if module in WORDS or module in other.imports or not module_access(module, plan).allowed
    }
    return msgspec.structs.replace(policy, imports=imports)


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
            found.append(Difference(where, one, other, policy.origin(f"{where}.{changed[0]}")))


def _listed(value: Any) -> list[str]:
    """The names that a setting lists, or excepts."""
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
