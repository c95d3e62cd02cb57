"""Which policies may be evaluated in the host's own process: those that allow expressions and nothing else."""

from __future__ import annotations

from functools import lru_cache

from safeexec.errors import PolicyError
from safeexec.inline.functions import MODULES
from safeexec.policy.model import Policy

_MODULES = frozenset(MODULES) | {"cmath", "datetime", "decimal", "fractions"}
_CONSTRUCTS = frozenset({"attribute", "comprehension"})


@lru_cache(maxsize=64)
def require_expressions_only(policy: str | Policy) -> None:
    """Raises `PolicyError` with the first reason why code of this policy must not run in the process of the host."""
    loaded = Policy.load(policy)
    for path, reason in _reasons(loaded):
        rule = loaded.origin(path)
        raise PolicyError(
            f"evaluate runs in your own process and takes policies for expressions only; {loaded.name!r} {reason}"
            f"{f' ({rule})' if rule else ''}. Run its code with Sandbox({loaded.name!r}), or leave policy= out."
        )


def _reasons(policy: Policy) -> list[tuple[str, str]]:
    """What the policy allows beyond expressions: dotted path of the setting, and a clause that says it."""
    reasons = []
    if policy.language.mode != "restricted":
        reasons.append(("language.mode", f"allows the language mode {policy.language.mode!r}"))
    if policy.language.constructs.names is None:
        reasons.append(("language.constructs", "allows all constructs of the language"))
    else:
        extra = sorted(set(policy.language.constructs.names) - _CONSTRUCTS)
        if extra:
            reasons.append(("language.constructs", f"allows {', '.join(extra[:4])}"))
    for module in sorted(set(policy.imports) - _MODULES):
        reasons.append((f"imports.{module}", f"allows the module {module}"))
    if policy.filesystem.workspace != "none" or policy.filesystem.read:
        reasons.append(("filesystem", "gives access to files"))
    return reasons
