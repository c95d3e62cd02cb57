"""The typed keywords by which a call changes a policy: only type checkers read this file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from safeexec.engine.policy.settings import (
    Attributes,
    Checkpoints,
    Determinism,
    Filesystem,
    LanguageLayer,
    Limits,
    OnError,
    Selection,
    Tools,
)

Section = Mapping[str, Any]
"""A part of a policy as a file spells it."""


class LimitChanges(TypedDict, total=False):
    """Each of `Limits` by its name, but for `checkpoints`, which is the mode where it is a text."""

    wall_seconds: float
    max_wall_seconds: float
    cpu_seconds: float
    memory_mb: int
    output_kb: int
    processes: int
    threads: int
    open_files: int
    workspace_mb: int
    workspace_files: int
    step_source_kb: int
    value_kb: int
    value_depth: int
    checkpoint_memory_mb: int
    branches: int


class PluginChanges(LimitChanges, total=False):
    """The keywords that tighten the policy: of `Sandbox.plugin`, which has a `name` and `tools` of its own, of
    `Sandbox.session` and `Sandbox.template`.
    """

    language: LanguageLayer | Section
    builtins: Sequence[str] | Section
    imports: Mapping[str, Selection | str | Sequence[str] | Section]
    attributes: Attributes | Section
    limits: Limits | Section
    filesystem: Filesystem | Section
    checkpoints: Checkpoints | int
    on_error: OnError
    determinism: Determinism | Section | None
    require: Sequence[str] | Section
    hints: Mapping[str, str]
    socketpair: bool
    danger_allow_executable_mappings: bool
    danger_allow_commands: Sequence[str] | Section
    requirements: Sequence[str] | Section


class PolicyChanges(PluginChanges, total=False):
    """The keywords of `Policy.replace`."""

    name: str
    description: str
    tools: Tools | Section
