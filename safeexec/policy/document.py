"""The shape of a policy file: what a person may write, before `extends` is applied.

Lists: a plain list replaces what a parent says; ``{add: […], remove: […]}`` changes it. Sections and mappings merge key by key.
The JSON Schema that editors use is generated from these types, and each file is validated against them.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias, TypeVar, Union

from msgspec import UNSET, Meta, Struct, UnsetType, field

from safeexec.policy.model import Checkpoints, Determinism, Limits, Mode, OnError, Workspace

T = TypeVar("T")
Maybe: TypeAlias = Union[T, UnsetType]
"""A key that may be left out."""


class Edit(Struct, forbid_unknown_fields=True):
    """Changes an inherited list; a plain list replaces it."""

    add: Maybe[Annotated[list[str], Meta(description="Names that come on top of the inherited ones.")]] = UNSET
    remove: Maybe[Annotated[list[str], Meta(description="Names that are taken from the inherited ones.")]] = UNSET


class Choice(Struct, forbid_unknown_fields=True):
    """Some names of a set: everything but (`except`), or changes to the inherited choice (`add`, `remove`)."""

    except_: Maybe[Annotated[list[str], Meta(description="Everything but these names.")]] = field(default=UNSET, name="except")
    add: Maybe[Annotated[list[str], Meta(description="Names that come on top of the inherited ones.")]] = UNSET
    remove: Maybe[Annotated[list[str], Meta(description="Names that are taken from the inherited ones.")]] = UNSET


class ModuleChoice(Struct, forbid_unknown_fields=True):
    """Some public names of a module, and its submodules."""

    except_: Maybe[Annotated[list[str], Meta(description="Every public name but these.")]] = field(default=UNSET, name="except")
    add: Maybe[Annotated[list[str], Meta(description="Names that come on top of the inherited ones.")]] = UNSET
    remove: Maybe[Annotated[list[str], Meta(description="Names that are taken from the inherited ones.")]] = UNSET
    submodules: Maybe[
        Annotated[list[str], Meta(description="Submodules whose public names are allowed too, as `linalg` under `numpy`.")]
    ] = UNSET


Names: TypeAlias = Union[list[str], Edit]
Names_of_a_module: TypeAlias = Union[Literal["all", "none"], list[str], ModuleChoice]
Chosen: TypeAlias = Union[Literal["all", "none"], list[str], Choice]


class LanguageSection(Struct, forbid_unknown_fields=True):
    """The language layer."""

    mode: Maybe[Annotated[Mode, Meta(description="`restricted`, or `python`: no language layer, kernel confinement only.")]] = UNSET
    constructs: Maybe[
        Annotated[Chosen, Meta(description="Language constructs that may be written: `all`, `none`, a list, or all `except` some.")]
    ] = UNSET


class AttributesSection(Struct, forbid_unknown_fields=True):
    """Attribute names, on whatever object."""

    allow: Maybe[Annotated[Names, Meta(description="Attribute names that are refused by default and allowed here.")]] = UNSET
    refuse: Maybe[Annotated[Names, Meta(description="Further attribute names, or `module.name`, that are refused.")]] = UNSET


class FilesystemSection(Struct, forbid_unknown_fields=True):
    """Files. Everything that is not named here does not exist for guest code."""

    workspace: Maybe[
        Annotated[Workspace, Meta(description="The session's own directory: `none`, `read-only` or `read-write`.")]
    ] = UNSET
    read: Maybe[Annotated[Names, Meta(description="Further absolute paths of the host that guest code may read.")]] = UNSET


class ToolsSection(Struct, forbid_unknown_fields=True):
    """The host's tools: which guest code may call, and how often."""

    allow: Maybe[Annotated[Chosen, Meta(description="Tools that may be called: `all`, `none`, a list, or all `except` some.")]] = UNSET
    max_calls: Maybe[Annotated[int, Meta(ge=0, le=1_000_000, description="Tool calls of one step.")]] = UNSET
    timeout_seconds: Maybe[Annotated[float, Meta(gt=0, le=86400, description="Deadline of one tool call, seconds.")]] = UNSET
    approval: Maybe[
        Annotated[Names, Meta(description="Tools whose every call the host's `approval` callback must allow; `*`: all of them.")]
    ] = UNSET
    clock: Maybe[
        Annotated[
            Literal["stops", "runs"], Meta(description="Whether the step's deadline stands still while a tool runs in the host.")
        ]
    ] = UNSET


class Document(Struct, forbid_unknown_fields=True):
    """A policy of safeexec."""

    description: Maybe[Annotated[str, Meta(description="One or two sentences: what the profile is for.")]] = UNSET
    extends: Maybe[Annotated[str, Meta(description="The profile this one changes: a name, or a path relative to this file.")]] = UNSET
    language: Maybe[LanguageSection] = UNSET
    builtins: Maybe[Annotated[Names, Meta(description="Builtin names that guest code may use.")]] = UNSET
    imports: Maybe[
        Annotated[
            dict[str, Names_of_a_module],
            Meta(description="Module → `all` its public names, `none`, a list of names, or all `except` some."),
        ]
    ] = UNSET
    attributes: Maybe[AttributesSection] = UNSET
    limits: Maybe[Limits] = UNSET
    filesystem: Maybe[FilesystemSection] = UNSET
    checkpoints: Maybe[
        Annotated[
            Checkpoints, Meta(description="When the state is saved, so that a step can be undone: `idle` (after each), `before-step`, `off`.")
        ]
    ] = UNSET
    on_error: Maybe[
        Annotated[OnError, Meta(description="A step that raises keeps what it did (`keep`, as a notebook) or is undone (`restore`).")]
    ] = UNSET
    determinism: Maybe[
        Annotated[Determinism | None, Meta(description="Two runs of a program print the same bytes. `null`: not promised.")]
    ] = UNSET
    tools: Maybe[ToolsSection] = UNSET
    require: Maybe[
        Annotated[Names, Meta(description="Kernel mechanisms without which no sandbox starts; `a or b` is met by either.")]
    ] = UNSET
    hints: Maybe[
        Annotated[dict[str, str], Meta(description="Refused name → one sentence that tells the model what to do instead.")]
    ] = UNSET
    socketpair: Maybe[
        Annotated[bool, Meta(description="Socket pairs inside the process, which asyncio's event loop needs.")]
    ] = UNSET
    danger_allow_executable_mappings: Maybe[
        Annotated[bool, Meta(description="Executable memory mappings, which extension modules that are imported late need.")]
    ] = UNSET
    danger_allow_commands: Maybe[
        Annotated[Names, Meta(description="Programs that `sandbox.command` may run.")]
    ] = UNSET
