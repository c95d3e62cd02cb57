"""What only a closer look at a policy finds: names that the installed modules or their review do not have."""

from __future__ import annotations

from importlib.util import find_spec

import msgspec

from safeexec.policy.mistakes import nearest
from safeexec.policy.model import Policy


class Finding(msgspec.Struct, frozen=True):
    """One thing to know about a policy. A harmless one changes nothing: a module that is allowed, but not installed."""

    rule: str
    path: str
    text: str
    harmless: bool = False

    def __str__(self) -> str:
        return f"{self.rule}: {self.path}: {self.text}{' (harmless)' if self.harmless else ''}"


def review(policy: Policy) -> list[Finding]:
    """Modules and names that the policy mentions and that it cannot open, or need not close."""
    from safeexec.facades import tables

    found: list[Finding] = []
    for module, chosen in policy.imports.items():
        path, rule = f"imports.{module}", policy.origin(f"imports.{module}")
        if find_spec(module.partition(".")[0]) is None:
            found.append(Finding(rule, path, "the module is not installed", harmless=True))
        reviewed = tables.table(module)
        if reviewed is None and not tables.submodules(module):
            hint = nearest(module, tables.submodules(module.rpartition(".")[0]))
            found.append(Finding(rule, path, f"it stays refused: {tables.module_reason(module).text}{hint}"))
            continue
        known = {*(reviewed.allowed if reviewed else ()), *tables.submodules(module)}
        for name in (*(chosen.names or ()), *chosen.refused):
            # A submodule's own names may be taken away in the line of its package: `numpy: {except: [random.seed]}`.
            owner, _, leaf = f"{module}.{name}".rpartition(".")
            verdict = tables.judge(owner, leaf)
            if verdict.allowed:
                continue
            where = policy.origin(f"{path}.{name}")
            if name in chosen.refused and reviewed is not None and leaf in reviewed.refused:
                found.append(Finding(where, f"{path}.{name}", "it is refused in any case", harmless=True))
            elif reviewed is not None and leaf in reviewed.refused:
                found.append(Finding(where, f"{path}.{name}", f"it stays refused: {verdict.reason}"))
            else:
                found.append(Finding(where, f"{path}.{name}", f"{module} has no such name{nearest(name, known)}"))
    return found
