"""The settings of a policy, as frozen objects: what guest code may do, and the limits that hold it.

It is fully resolved: `extends` is already applied. Every number says its unit in its name. This is the one table of
settings: what a file may say (`document`) follows from their types, the JSON Schema and the reference in
`policies/README.md` from their docstrings.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from types import MappingProxyType
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct

Mode = Literal["restricted", "python"]
Functions = Literal["builtins", "mathematics"]
Workspace = Literal["none", "read-only", "read-write"]
Checkpoints = Literal["idle", "before-step", "off"]
OnError = Literal["keep", "restore"]

Seconds = Annotated[float, Meta(gt=0, le=86400)]
Days = Annotated[float, Meta(ge=0, le=3650)]
Count = Annotated[int, Meta(ge=0, le=1 << 20)]
Size = Annotated[int, Meta(ge=1, le=1 << 20)]

PROTECTIONS = (
    "rlimits", "no-new-privs", "seccomp", "landlock", "fork-gate", "user-namespace", "mount-namespace", "pid-namespace",
    "network-namespace", "ipc-namespace", "uts-namespace", "cgroup-namespace", "session-user-namespace",
    "unprivileged-user", "cgroup", "cgroup-core", "separate-files",
)  # fmt: skip
"""The kernel mechanisms that `require` may name. ``a or b`` is met by either."""
REQUIRED = ("rlimits", "no-new-privs", "seccomp", "landlock or mount-namespace", "separate-files")
"""The mechanisms that a silent policy requires: without these nothing but the language layer holds guest code."""


class Limits(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Numbers that hold for a whole session (all its processes together), unless the name says otherwise."""

    wall_seconds: Seconds = 5.0
    """Default deadline of one step, seconds by the host's clock."""
    max_wall_seconds: Seconds = 60.0
    """The largest `timeout=` a caller may ask for, seconds."""
    cpu_seconds: Seconds = 60.0
    """CPU time of one step, seconds, all threads together."""
    memory_mb: Annotated[int, Meta(ge=16, le=1 << 20)] = 256
    """Memory beyond what the preloaded modules use, MiB. The host looks every 50 ms: for less, a step may hold more."""
    output_kb: Size = 256
    """stdout and stderr kept per step, each, KiB. Sixteen times as much ends the step."""
    processes: Annotated[int, Meta(ge=0, le=256)] = 0
    """Processes that guest code itself may have alive, beside its session's own. Where the kernel can (`fork-gate`), a
    fork waits until the host allows it, and one too many ends the step; elsewhere they are counted with threads,
    checkpoints and branches, and ended when they are found."""
    threads: Annotated[int, Meta(ge=0, le=256)] = 0
    """Threads that guest code may have alive at once."""
    open_files: Annotated[int, Meta(ge=16, le=4096)] = 64
    """Open file descriptors."""
    workspace_mb: Count = 64
    """Bytes of all files in the workspace, MiB."""
    workspace_files: Count = 1000
    """Files and directories in the workspace."""
    step_source_kb: Annotated[int, Meta(ge=1, le=16384)] = 256
    """Source text of one step as UTF-8, KiB."""
    value_kb: Size = 16384
    """One value that crosses to the host, KiB; larger ones arrive opaque."""
    value_depth: Annotated[int, Meta(ge=1, le=256)] = 64
    """Nesting of one value that crosses to the host."""
    checkpoints: Count = 16
    """Named checkpoints of one session."""
    checkpoint_memory_mb: Count = 1024
    """Memory of all checkpoints of one session, MiB."""
    branches: Count = 32
    """Living branches of one session."""


class Selection(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Some names of a larger set: all of them (`names` None) or those in `names`, without those in `refused`."""

    names: tuple[str, ...] | None = None
    refused: tuple[str, ...] = ()

    def __contains__(self, name: object) -> bool:
        return (self.names is None or name in self.names) and name not in self.refused


ALL = Selection()


class LanguageLayer(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The language layer. Mode `python` switches it off: any source, real builtins and imports, the kernel alone."""

    mode: Mode = "restricted"
    """`restricted`, or `python`: no language layer, kernel confinement only."""
    constructs: Selection = ALL
    """Language constructs that may be written: `all`, `none`, a list, or all `except` some."""
    functions: Functions = "builtins"
    """`mathematics`: `evaluate` knows the functions and constants of `math` by bare names. Steps import them."""


class Attributes(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Attribute names, on whatever object."""

    danger_allow: tuple[str, ...] = ()
    """Attribute names that are refused by default and allowed here; each may lead out of the language layer."""
    refuse: tuple[str, ...] = ()
    """Further attribute names, or `module.name`, that are refused."""


class Filesystem(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Files. Everything that is not named here does not exist for guest code."""

    workspace: Workspace = "none"
    """The session's own directory: `none`, `read-only` or `read-write`."""
    read: tuple[str, ...] = ()
    """Further absolute paths of the host that guest code may read."""


class Determinism(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Two runs of a program print the same bytes."""

    seed: Annotated[int, Meta(ge=0, le=(1 << 63) - 1)] = 0
    """Seed of `random`, numpy's generators, `uuid4` and `secrets`."""
    clock: str = "real"
    """`real`, or the ISO 8601 instant at which the clock stands, as `2025-01-01T00:00:00+00:00`."""
    hash_seed: Annotated[int, Meta(ge=0, le=4294967295)] = 0
    """PYTHONHASHSEED: the order of sets of strings."""


class Tools(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The host's tools: which guest code may call, and how often."""

    allow: Selection = ALL
    """Tools that may be called: `all`, `none`, a list, or all `except` some."""
    max_calls: Count = 1000
    """Tool calls of one step."""
    timeout_seconds: Seconds = 60.0
    """Deadline of one tool call, seconds."""
    approval: tuple[str, ...] = ()
    """Tools whose every call the host's `approval` callback must allow; `*`: all of them."""
    wait_days: Days = 7.0
    """Days that a call which an approval or a tool has put off may wait for its answer; 0: none may be put off."""
    clock: Literal["stops", "runs"] = "stops"
    """The step's deadline while a tool runs in the host: `stops`, so that it stands still, or `runs`."""

    def needs_approval(self, tool: str) -> bool:
        """Return whether each call of `tool` goes through the host's approval callback."""
        return tool in self.approval or "*" in self.approval


class PolicyData(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, eq=False):
    """One policy, resolved and frozen. Equality, hash and `digest` look at what it says, not at where."""

    name: str = "policy"
    description: str = ""
    """One or two sentences: what the profile is for."""
    language: LanguageLayer = LanguageLayer()
    builtins: tuple[str, ...] = ()
    """Builtin names that guest code may use."""
    imports: Mapping[str, Selection] = {}
    """Module → `all` its names, `none`, a list of names, or all `except` some. `stdlib` stands for every module of the
    standard library, `any` for every module that is installed. Lines that name a module have it loaded with the
    sandbox."""
    attributes: Attributes = Attributes()
    limits: Limits = Limits()
    filesystem: Filesystem = Filesystem()
    checkpoints: Checkpoints = "idle"
    """The time at which the state is saved, to undo a step: `idle` (after each), `before-step`, `off`."""
    on_error: OnError = "keep"
    """A step that raises keeps what it did (`keep`, as a notebook) or is undone (`restore`)."""
    determinism: Determinism | None = None
    """Two runs of a program print the same bytes. `null`: not promised."""
    tools: Tools = Tools()
    require: tuple[str, ...] = REQUIRED
    """Kernel mechanisms without which no sandbox starts; `a or b` is met by either. `[]` needs seccomp alone."""
    hints: Mapping[str, str] = {}
    """Refused name → one sentence for the model: what to do instead."""
    socketpair: bool = False
    """Socket pairs inside the process, which asyncio's event loop needs."""
    danger_allow_executable_mappings: bool = False
    """Has no effect any more: older policies say so."""
    danger_allow_commands: tuple[str, ...] = ()
    """Programs that `sandbox.command` may run."""
    requirements: tuple[str, ...] = ()
    """Packages that are fetched as wheels when a sandbox starts, each a name and versions (`humanize==4.9.0`): guest
    code may import them."""
    origins: Mapping[str, str] = {}
    """Dotted path of a setting → where it is written (``standard.yaml:41``)."""
    files: tuple[str, ...] = ()
    """The YAML files this policy was read from, the most derived one first."""

    def __post_init__(self) -> None:
        for field in ("imports", "hints", "origins"):
            msgspec.structs.force_setattr(self, field, MappingProxyType(dict(getattr(self, field))))
        for field in ("builtins", "require", "danger_allow_commands", "requirements", "files"):
            msgspec.structs.force_setattr(self, field, tuple(getattr(self, field)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PolicyData) and self.content() == other.content()

    def __ne__(self, other: object) -> bool:
        return not self == other  # msgspec has one of its own, which compares where each setting is written, too

    def __hash__(self) -> int:
        return hash(self.digest)

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(msgspec.msgpack.decode, type=type(self)), (msgspec.msgpack.encode(self, enc_hook=plain),)

    def __repr__(self) -> str:
        return f"<Policy {self.name!r} {self.digest[:12]}>"

    def content(self) -> dict[str, Any]:
        """Return what the policy says, as plain JSON types in a stable order: no origins, no file names."""
        content: dict[str, Any] = msgspec.to_builtins(self, enc_hook=plain, order="deterministic")
        for field in ("origins", "files"):
            del content[field]
        for field in ("builtins", "require", "danger_allow_commands", "requirements"):
            content[field] = sorted(content[field])
        return content

    @property
    def digest(self) -> str:
        """Return the SHA-256 (hex) of the resolved content: the same on every machine, whatever the files were."""
        from hashlib import sha256

        content = self.content()
        if not content["requirements"]:
            del content["requirements"]  # younger than states and recordings that name a policy by its digest
        return sha256(msgspec.json.encode(content, order="deterministic")).hexdigest()

    def missing_protection(self, active: Collection[str]) -> tuple[str, ...]:
        """Return the entries of `require` that the mechanisms in `active` do not meet."""
        return tuple(entry for entry in self.require if not any(one.strip() in active for one in entry.split(" or ")))

    def origin(self, path: str) -> str:
        """Return where a dotted path, or the next section above, is written (``standard.yaml:41``); "" if nowhere."""
        while path:
            if found := self.origins.get(path):
                return found
            path = path.rpartition(".")[0]
        return ""


SETTINGS = tuple(field for field in PolicyData.__struct_fields__ if field not in ("name", "origins", "files"))
"""The settings of a policy, in the order of the policy language."""
P = TypeVar("P", bound=PolicyData)
"""The class that a function is to make: `policy.model.Policy`, to which its reader is handed in."""


def plain(value: object) -> object:
    """Return what msgspec's encoders do not know: mapping proxies (their `enc_hook`)."""
    if isinstance(value, MappingProxyType):
        return dict(value)
    raise NotImplementedError(f"{type(value).__name__} is no part of a policy")
