"""The shape of a policy file: what a person may write, before `extends` is applied.

Lists: a plain list replaces what a parent says; ``{add: […], remove: […]}`` changes it. Sections and mappings merge key
by key. Each file is validated against these types, and the JSON Schema is generated from them and their docstrings.
"""

from __future__ import annotations

from typing import Literal, TypeAlias, TypeVar

from msgspec import UNSET, Struct, UnsetType, field

from safeexec.engine.policy.settings import (
    Checkpoints,
    Count,
    Days,
    Determinism,
    Functions,
    Limits,
    Mode,
    OnError,
    Seconds,
    Workspace,
)

T = TypeVar("T")
Maybe: TypeAlias = T | UnsetType
"""A key that may be left out."""


class Edit(Struct, forbid_unknown_fields=True):
    """Changes an inherited list; a plain list replaces it."""

    add: Maybe[list[str]] = UNSET
    """Names that come on top of the inherited ones."""
    remove: Maybe[list[str]] = UNSET
    """Names that are taken from the inherited ones."""

    def __post_init__(self) -> None:
        _one_meaning(self.add, self.remove)


class Choice(Struct, forbid_unknown_fields=True):
    """Some names of a set: everything but (`except`), or changes to the inherited choice (`add`, `remove`)."""

    except_: Maybe[list[str]] = field(default=UNSET, name="except")
    """Everything but these names."""
    add: Maybe[list[str]] = UNSET
    """Names that come on top of the inherited ones."""
    remove: Maybe[list[str]] = UNSET
    """Names that are taken from the inherited ones."""

    def __post_init__(self) -> None:
        if self.except_ is UNSET:
            _one_meaning(self.add, self.remove)
        elif self.add is not UNSET or self.remove is not UNSET:
            raise ValueError("except replaces what is inherited, add and remove change it: write one or the other")


def _one_meaning(add: Maybe[list[str]], remove: Maybe[list[str]]) -> None:
    if add is UNSET and remove is UNSET:
        raise ValueError("expected names to add or to remove; a plain list replaces what is inherited")
    if both := {*(add or ())} & {*(remove or ())}:
        raise ValueError(f"{', '.join(sorted(both))} cannot be both added and removed")


Names: TypeAlias = list[str] | Edit
Chosen: TypeAlias = Literal["all", "none"] | list[str] | Choice


class LanguageSection(Struct, forbid_unknown_fields=True):
    """The language layer."""

    mode: Maybe[Mode] = UNSET
    """`restricted`, or `python`: no language layer, kernel confinement only."""
    constructs: Maybe[Chosen] = UNSET
    """Language constructs that may be written: `all`, `none`, a list, or all `except` some."""
    functions: Maybe[Functions] = UNSET
    """`mathematics`: `evaluate` knows the functions and constants of `math` by bare names. Steps import them."""


class AttributesSection(Struct, forbid_unknown_fields=True):
    """Attribute names, on whatever object."""

    danger_allow: Maybe[Names] = UNSET
    """Attribute names that are refused by default and allowed here; each may lead out of the language layer."""
    refuse: Maybe[Names] = UNSET
    """Further attribute names, or `module.name`, that are refused."""


class FilesystemSection(Struct, forbid_unknown_fields=True):
    """Files. Everything that is not named here does not exist for guest code."""

    workspace: Maybe[Workspace] = UNSET
    """The session's own directory: `none`, `read-only` or `read-write`."""
    read: Maybe[Names] = UNSET
    """Further absolute paths of the host that guest code may read."""


class ToolsSection(Struct, forbid_unknown_fields=True):
    """The host's tools: which guest code may call, and how often."""

    allow: Maybe[Chosen] = UNSET
    """Tools that may be called: `all`, `none`, a list, or all `except` some."""
    max_calls: Maybe[Count] = UNSET
    """Tool calls of one step."""
    timeout_seconds: Maybe[Seconds] = UNSET
    """Deadline of one tool call, seconds."""
    approval: Maybe[Names] = UNSET
    """Tools whose every call the host's `approval` callback must allow; `*`: all of them."""
    wait_days: Maybe[Days] = UNSET
    """How long a call that an approval or a tool has put off may wait for its answer; 0: none may be put off."""
    clock: Maybe[Literal["stops", "runs"]] = UNSET
    """Whether the step's deadline stands still while a tool runs in the host."""


class Document(Struct, forbid_unknown_fields=True):
    """A policy of safeexec."""

    description: Maybe[str] = UNSET
    """One or two sentences: what the profile is for."""
    extends: Maybe[str] = UNSET
    """The profile this one changes: a name, or a path relative to this file."""
    only_narrower: Maybe[bool] = UNSET
    """Whatever this file allows beyond what it extends is a mistake."""
    language: Maybe[LanguageSection] = UNSET
    builtins: Maybe[Names] = UNSET
    """Builtin names that guest code may use."""
    imports: Maybe[dict[str, Chosen]] = UNSET
    """Module → `all` its names, `none`, a list of names, or all `except` some. `stdlib` stands for every module of the
    standard library, `any` for every module that is installed. Lines that name a module have it loaded with the
    sandbox."""
    attributes: Maybe[AttributesSection] = UNSET
    limits: Maybe[Limits] = UNSET
    filesystem: Maybe[FilesystemSection] = UNSET
    checkpoints: Maybe[Checkpoints] = UNSET
    """When the state is saved, so that a step can be undone: `idle` (after each), `before-step`, `off`."""
    on_error: Maybe[OnError] = UNSET
    """A step that raises keeps what it did (`keep`, as a notebook) or is undone (`restore`)."""
    determinism: Maybe[Determinism | None] = UNSET
    """Two runs of a program print the same bytes. `null`: not promised."""
    tools: Maybe[ToolsSection] = UNSET
    require: Maybe[Names] = UNSET
    """Kernel mechanisms without which no sandbox starts; `a or b` is met by either. `[]` needs seccomp alone."""
    hints: Maybe[dict[str, str]] = UNSET
    """Refused name → one sentence that tells the model what to do instead."""
    socketpair: Maybe[bool] = UNSET
    """Socket pairs inside the process, which asyncio's event loop needs."""
    danger_allow_executable_mappings: Maybe[bool] = UNSET
    """Has no effect any more: older policies say so."""
    danger_allow_commands: Maybe[Names] = UNSET
    """Programs that `sandbox.command` may run."""
    danger_allow_modules: Maybe[Names] = UNSET
    """How files of before 0.10 spell lines of `imports`: `[humanize]` is `imports: {humanize: all}`."""
    requirements: Maybe[Names] = UNSET
    """Packages that are fetched as wheels when a sandbox starts, each a name and versions (`humanize==4.9.0`): guest
    code may import them."""
