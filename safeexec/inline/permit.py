"""Decides which policies may be evaluated in the host's own process: those that allow expressions and nothing else."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from safeexec.engine.policy.model import Policy
from safeexec.errors import PolicyError
from safeexec.inline.functions import BUILTINS, MODULES

if TYPE_CHECKING:
    from collections.abc import Iterator

_CONSTRUCTS = frozenset({"attribute", "comprehension"})


@lru_cache(maxsize=64)
def permitted(policy: str | Policy) -> tuple[frozenset[str], bool]:
    """Return the functions (`pow`, `math.factorial`) that the profile `expression` gives and this policy does not; and
    whether those of `math` are called by their bare names.

    Raises `PolicyError` with the first reason why code of this policy must not run in the process of the host.
    """
    loaded, base = Policy.load(policy), Policy.load("expression")
    for path, reason in _excesses(loaded, base):
        rule = loaded.origin(path)
        raise PolicyError(
            f"evaluate runs in your own process and takes policies for expressions only; {loaded.name!r} {reason}"
            f"{f' ({rule})' if rule else ''}. Run its code with Sandbox({loaded.name!r}), or leave policy= out."
        )
    refused = set(base.builtins) - set(loaded.builtins)
    for module, names in MODULES.items():
        refused |= {f"{module}.{name}" for name in names if not _allows(loaded, module, name)}

    known = {*BUILTINS, *(f"{module}.{name}" for module in MODULES for name in MODULES[module])}
    return frozenset(refused & known), loaded.language.functions == "mathematics"


def _allows(policy: Policy, module: str, name: str) -> bool:
    return module in policy.imports and name in policy.imports[module]


def _excesses(policy: Policy, base: Policy) -> Iterator[tuple[str, str]]:
    """Yield what the policy allows beyond expressions: dotted path of the setting, and a clause that says it."""
    if policy.language.mode != "restricted":
        yield "language.mode", f"allows the language mode {policy.language.mode!r}"
    if policy.language.constructs.names is None:
        yield "language.constructs", "allows all constructs of the language"
    else:
        extra = sorted(set(policy.language.constructs.names) - _CONSTRUCTS)
        if extra:
            yield "language.constructs", f"allows {', '.join(extra[:4])}"
    for module in sorted(set(policy.imports) - set(base.imports)):
        yield f"imports.{module}", f"allows the module {module}"
    for name in sorted(set(policy.builtins) - set(base.builtins) - set(BUILTINS)):
        yield "builtins", f"allows the builtin {name}"
    if policy.filesystem.workspace != "none":
        yield "filesystem.workspace", "gives access to files"
    if policy.filesystem.read:
        yield "filesystem.read", "gives access to files"
