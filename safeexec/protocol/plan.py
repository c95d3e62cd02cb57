"""The plan that the host has zygote and child enforce: numbers, names and paths; no YAML, no policy objects.

The host decides (`policy.plans`), the zygote and the child apply. All here is plain data that crosses by msgspec.
"""

from __future__ import annotations

from functools import cached_property
from typing import Literal

import msgspec

OUTPUT_CEILING = 16
"""Times `output_bytes` that a step may print, or raise as a message, before it is ended."""


class ImportPlan(msgspec.Struct, frozen=True, array_like=True):
    """The names of one module that guest code may write. `names` None means all, but for those of
    `engine.policy.refusals`; `refused` names are taken away from either. `rule` is where the policy says so
    (``profile.yaml:12``).
    """

    names: frozenset[str] | None = None
    refused: frozenset[str] = frozenset()
    rule: str = ""


class LanguagePlan(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """The language layer as data: what the compiler, the builtins and the importer refuse in a child.

    `mode` ``python`` compiles any source with the real builtins and the real import (kernel confinement only).
    """

    mode: Literal["restricted", "python"] = "restricted"
    profile: str = ""
    refused_constructs: dict[str, str] = {}
    """Language construct (see `engine.policy.names.CONSTRUCTS`) → rule (``profile.yaml:7``)."""
    builtins: frozenset[str] = frozenset()
    """Names of the builtins that guest code may use."""
    imports: dict[str, ImportPlan] = {}
    """Module name (dotted), or a word of `engine.policy.access` for many modules → its names."""
    allowed_attributes: frozenset[str] = frozenset()
    """Attribute names that the compiler refuses by default and this policy allows."""
    refused_attributes: dict[str, str] = {}
    """Further attribute names (or ``module.name``) that this policy refuses → rule."""
    hints: dict[str, str] = {}
    """The policy's own hint per refused name (module, ``module.name``, builtin, attribute, construct)."""
    rules: dict[str, str] = {}
    """The line of each part of the policy: dotted path (``imports``, ``builtins`` …) → ``profile.yaml:12``."""
    tools: tuple[str, ...] = ()
    """Names of the host tools, for hints (`requests` → the tool that fetches)."""
    workspace: Literal["none", "read-only", "read-write"] = "none"
    read: tuple[str, ...] = ()
    """Absolute paths that can be read beside the workspace."""
    stdin: bool = False
    """True if the step has a standard input: then `input`, `sys.stdin` and `open(0)` are there."""

    @cached_property
    def above(self) -> dict[str, str]:
        """Package → the first line of `imports` for a module below it, which opens the way down."""
        found: dict[str, str] = {}
        for name in self.imports:
            package = name.rpartition(".")[0]
            while package and package not in found:  # else those above it are there, too
                found[package] = name
                package = package.rpartition(".")[0]
        return found

    @property
    def has_files(self) -> bool:
        """Return whether the policy names any files."""
        return self.workspace != "none" or bool(self.read)

    @property
    def has_sql(self) -> bool:
        """Return whether guest code has `sql`: where it may have DataFrames."""
        return self.mode == "python" or "pandas" in self.imports or "any" in self.imports


class LimitsPlan(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers a child is held to. Bytes and seconds, never kilobytes or minutes."""

    memory_bytes: int
    cpu_seconds: int
    output_bytes: int
    processes: int
    threads: int
    value_bytes: int
    value_depth: int
