"""PolicyData → plan: what the child has to enforce."""

from __future__ import annotations

from collections.abc import Collection
from math import ceil
from typing import TYPE_CHECKING

from safeexec.protocol.plan import ImportPlan, LanguagePlan, LimitsPlan

if TYPE_CHECKING:
    from safeexec.engine.policy.settings import Limits, PolicyData

MB = 1 << 20
KB = 1 << 10
NEVER = frozenset({"__loader__", "__spec__", "breakpoint", "help", "copyright", "credits", "license"})
"""Builtins that no policy can give to restricted code: they are the interpreter's, or for a person at a prompt."""


def language_plan(policy: PolicyData, tools: Collection[str] = ()) -> LanguagePlan:
    """Return the language layer as data. `tools`: names of the host tools this sandbox has."""
    chosen, refused = policy.language.constructs, dict[str, str]()
    if chosen.names is not None or chosen.refused:
        from safeexec.engine.policy.names import CONSTRUCTS  # for the policies that refuse some

        refused = {name: policy.origin(f"language.constructs.{name}") for name in CONSTRUCTS if name not in chosen}
    return LanguagePlan(
        mode=policy.language.mode,
        profile=policy.name,
        refused_constructs=refused,
        builtins=frozenset(policy.builtins) - NEVER,
        imports={
            module: ImportPlan(
                names=None if chosen.names is None else frozenset(chosen.names),
                refused=frozenset(chosen.refused),
                rule=policy.origin(f"imports.{module}"),
            )
            for module, chosen in policy.imports.items()
        },
        allowed_attributes=frozenset(policy.attributes.danger_allow),
        refused_attributes={name: policy.origin(f"attributes.refuse.{name}") for name in policy.attributes.refuse},
        hints=dict(policy.hints),
        rules=dict(policy.origins),
        tools=tuple(name for name in tools if name in policy.tools.allow),
        workspace=policy.filesystem.workspace,
        read=tuple(policy.filesystem.read),
    )


def limits_plan(limits: Limits) -> LimitsPlan:
    """Return the numbers of a child, in bytes and seconds."""
    return LimitsPlan(
        memory_bytes=limits.memory_mb * MB,
        cpu_seconds=ceil(limits.cpu_seconds),
        output_bytes=limits.output_kb * KB,
        processes=limits.processes,
        threads=limits.threads,
        value_bytes=limits.value_kb * KB,
        value_depth=limits.value_depth,
    )
