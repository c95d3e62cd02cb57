"""Reads a plugin: its sources, its manifest, and the interface that its host expects. Nothing of it runs here.

A plugin is a text, a file, a directory of modules with an optional ``plugin.yaml``, or a dict of module names to
sources:

    name: prices
    version: 1.2.0
    policy: plugin
    main: prices            # the module whose names are exported
    exports: [price, Rule]
    api: 1                  # the version of the host's interface that it was written for
    settings:               # what the host may choose; its modules find them as a dict, `settings`
      rate: {type: float, default: 0.2, minimum: 0}
"""

from __future__ import annotations

import inspect
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import UNSET, Struct, convert
from msgspec.structs import replace

from safeexec.api.plugins.interface import Hints, Wanted, wanted_of
from safeexec.api.plugins.settings import Setting
from safeexec.common.text import one_line
from safeexec.engine.policy import places
from safeexec.engine.policy.loader import Mistake, PolicyFile, checked
from safeexec.errors import PolicyError
from safeexec.protocol.messages import Export
from safeexec.results import PluginError
from safeexec.untrusted.below import opened, read_file, read_named, walk
from safeexec.untrusted.yaml_text import read_yaml

MANIFESTS = ("plugin.yaml", "plugin.yml")
MAIN = ("main", "plugin", "__init__")
MAX_SOURCE = 16 << 20
"""Bytes of all modules together."""
MAX_MANIFEST = 1 << 20
"""Bytes of a manifest."""
MAX_ENTRIES = 20_000
"""Files and directories of a plugin."""
MAX_PROBLEMS = 20
"""Mistakes of a manifest that one error lists."""

_KINDS = inspect.Parameter
_STARS: dict[Any, str] = {_KINDS.VAR_POSITIONAL: "*", _KINDS.VAR_KEYWORD: "**"}
_TAKEN_BY: dict[Any, Any] = {_KINDS.POSITIONAL_ONLY: _KINDS.VAR_POSITIONAL, _KINDS.KEYWORD_ONLY: _KINDS.VAR_KEYWORD}
"""Kind of parameter → the kind that takes it where it is not declared."""

Source = str | os.PathLike[str] | Mapping[str, str]
Exports = Iterable[str] | type | Mapping[str, Callable[..., Any] | inspect.Signature | None]


class Manifest(Struct, forbid_unknown_fields=True, frozen=True):
    """The manifest of a plugin."""

    name: str = ""
    version: str = ""
    policy: str | None = None
    """The name of the profile that the plugin was written for, never a path; the sandbox must have it."""
    exports: list[str] | None = None
    main: str | None = None
    description: str = ""
    api: int | None = None
    """The version of the host's interface for plugins that it was written for; the host says which it has."""
    settings: dict[str, Setting] = {}


class Definition(NamedTuple):
    """One plugin, read."""

    manifest: Manifest
    modules: tuple[tuple[str, str], ...]
    """Name and source, the main module first."""
    exports: tuple[str, ...] | None
    wanted: Mapping[str, Wanted]
    """Export → its interface, where one is asked for."""
    paths: Mapping[str, str]
    """Module → its file, of a plugin that was read from files."""

    @property
    def name(self) -> str:
        return self.manifest.name or self.modules[0][0]

    @property
    def title(self) -> str:
        """The plugin in a sentence; a text without a name is called `plugin`."""
        return "the plugin" if self.name == "plugin" else f"the plugin {self.name}"


def define(source: Source, *, exports: Exports | None, name: str | None, find_policy: bool = False) -> Definition:
    """Read a plugin. Raises `PluginError` for one that cannot be read, an invalid manifest, an invalid interface."""
    manifest, modules, paths = _read(source, find_policy)
    if name is not None:
        manifest = replace(manifest, name=name)
    if not modules:
        raise PluginError("the plugin has no module")
    for module, text in modules.items():
        if isinstance(module, str) and module.endswith(".py"):
            named = module.removesuffix(".py").replace("/", ".")
            raise PluginError(f"{module!r} names a file: give the module's name, as `import` writes it, {named!r}")
        if not _is_dotted(module) or not isinstance(text, str):
            raise PluginError(f"{module!r} is not a module's name and source")
    if not any(text.strip() for text in modules.values()):
        raise PluginError("the plugin's source is empty")
    if sum(len(text) for text in modules.values()) > MAX_SOURCE:
        raise PluginError(f"the plugin's sources have more than {MAX_SOURCE >> 20} MiB")
    main = _main(manifest, modules)
    ordered = ((main, modules[main]), *((module, text) for module, text in modules.items() if module != main))
    names, functions = _interface(exports if exports is not None else manifest.exports)
    wanted = {name: wanted_of(one, is_method=isinstance(exports, type)) for name, one in functions.items()}
    return Definition(manifest, tuple(ordered), names, wanted, paths)


def plugin_manifest(source: Source, *, find_policy: bool = False) -> Manifest:
    """Return what a plugin says of itself, with defaults where it says nothing. It is read, and nothing of it runs.
    Raises `PluginError`; with `find_policy` also where there is no policy of the name that the manifest gives.
    """
    return define(source, exports=None, name=None, find_policy=find_policy).manifest


def _main(manifest: Manifest, modules: Mapping[str, str]) -> str:
    if manifest.main is not None:
        return manifest.main
    named = [module for module in (manifest.name, *MAIN) if module in modules]
    if not named:  # there may be but one, or a package and what is in it
        tops = [module for module in modules if "." not in module] or [*modules]
        if len(tops) > 1:
            raise PluginError(
                f"which of the modules {', '.join(sorted(tops))} is the one whose names are exported? Call it `main`, "
                f"give the plugin its name, plugin(…, name={tops[0]!r}), or write `main: {tops[0]}` into plugin.yaml"
            )
        named = tops
    return named[0]


def _read(source: Source, find_policy: bool) -> tuple[Manifest, dict[str, str], dict[str, str]]:
    """Return the manifest, and of each module its source and, if it was read from one, its file."""
    if isinstance(source, Mapping):
        texts = {name: text.removeprefix("\ufeff") if isinstance(text, str) else text for name, text in source.items()}
        return Manifest(), texts, {}
    if isinstance(source, str) and not _is_path(source):
        return Manifest(), {"plugin": source.removeprefix("\ufeff")}, {}
    if not isinstance(source, str | os.PathLike):
        raise TypeError(
            f"a plugin is a source (str), a path, or a mapping of module names to sources, not {type(source).__name__}"
        )
    path = Path(source)
    try:
        if path.is_dir():
            with opened(path) as top:
                return _read_directory(top, path, find_policy)
        text = _decoded(read_named(path, max_bytes=MAX_SOURCE), str(path))
        return Manifest(name=_name_for(path.stem)), {"plugin": text}, {"plugin": os.path.abspath(path)}
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it cannot be the name of a file"
        raise PluginError(f"the plugin cannot be read: {one_line(str(path))}: {reason}") from None


def _decoded(data: bytes, name: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        problem = f"{one_line(name)} is not UTF-8 text: byte {error.start}, in line {line}, is {data[error.start]:#04x}"
        raise PluginError(f"the plugin cannot be read: {problem}") from None


def _name_for(word: str) -> str:
    return word if word.isidentifier() else "plugin"


def _is_path(text: str) -> bool:
    """Return whether a str names a file rather than being a source: one line that exists, ends in .py, is an absolute
    path or one from here, or is a single word, which as a source would define nothing.
    """
    if "\n" in text or not 0 < len(text) < 4096:
        return False
    looks = text.endswith(".py") or text.startswith(("/", "./", "../", "~")) or not {*text} & {*" \t=("}
    return looks or os.path.exists(text)


def _read_directory(top: int, path: Path, find_policy: bool) -> tuple[Manifest, dict[str, str], dict[str, str]]:
    """Read a directory that whoever wrote the plugin filled: each file below its descriptor, no link is followed."""
    name = _name_for(path.name)
    written: tuple[str, str] | None = None
    modules: dict[str, str] = {}
    paths: dict[str, str] = {}
    left = MAX_SOURCE

    def is_no_part(directory: int, name: str) -> bool:
        return not name.removesuffix(".py").isidentifier() and name not in MANIFESTS

    for found in walk(top, max_entries=MAX_ENTRIES, leave_out=is_no_part):
        is_manifest = found.path in MANIFESTS
        if stat.S_ISDIR(found.mode) or not (is_manifest or found.name.endswith(".py")):
            continue
        try:
            data = read_file(found.directory, found.name, max_bytes=MAX_MANIFEST if is_manifest else left)
        except OSError as error:
            raise PluginError(f"the plugin cannot be read: {found.path}: {error.strerror}") from None
        text = _decoded(data, found.path)
        if is_manifest:
            written = text, str(path / found.path)
        else:
            left -= len(data)
            parts = found.path.removesuffix(".py").split("/")
            module = ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)
            modules[module], paths[module] = text, os.path.abspath(path / found.path)
    manifest = Manifest(name=name) if written is None else read_manifest(*written, name, modules, find_policy)
    if manifest.main != "__main__" and len(modules) > 1:
        modules.pop("__main__", None)  # for a run by hand, as what stands below `if __name__ == "__main__"`
    return manifest, modules, paths


def read_manifest(
    text: str, filename: str = "plugin.yaml", name: str = "", modules: Iterable[str] = (), find_policy: bool = False
) -> Manifest:
    """Return the manifest of a plugin, from YAML. Raises `PluginError` with file, line and field of each mistake."""
    read = read_yaml(text, "a manifest")
    source = PolicyFile(
        filename, filename, read.content, read.marks, [Mistake(filename, *problem) for problem in read.problems]
    )
    content = source.content
    content.setdefault("name", name)
    if isinstance(content.get("version"), int | float):
        content["version"] = str(content["version"])
    manifest = convert(checked(source, Manifest).content, Manifest)
    if manifest.policy is not None and places.is_path(manifest.policy):
        # By its name alone: a path could lead to a file that came with the plugin.
        problem = "expected the name of a profile, found a path: whoever hosts the plugin says where a policy lies"
        source.mistakes.append(source.mistake("policy", problem))
    elif manifest.policy is not None and find_policy:
        try:
            places.find(manifest.policy)
        except PolicyError as error:
            source.mistakes.append(source.mistake("policy", str(error)))
    for setting, of in manifest.settings.items():
        if of.default is not UNSET and (problem := of.problem(of.default)):
            source.mistakes.append(source.mistake(f"settings.{setting}.default", problem))
    if manifest.main is not None and manifest.main not in modules:
        there = ", ".join(modules) or "none"
        source.mistakes.append(source.mistake("main", f"there is no module {manifest.main!r}; the modules are {there}"))
    if source.mistakes:
        raise PluginError("\n".join(map(str, source.mistakes[:MAX_PROBLEMS])))
    return manifest


# The interface


def _interface(
    exports: Exports | None,
) -> tuple[tuple[str, ...] | None, dict[str, Callable[..., Any] | inspect.Signature]]:
    """Return the exports by name, and the functions or signatures that some must be like."""
    if exports is None:
        return None, {}
    if isinstance(exports, str):
        raise PluginError(
            f"exports={exports!r}: a list of names, a mapping of names to signatures, or a Protocol class"
        )
    if isinstance(exports, type):
        methods: dict[str, Callable[..., Any] | inspect.Signature] = {
            name: member
            for base in reversed(exports.__mro__)
            for name, member in vars(base).items()
            if inspect.isfunction(member) and not name.startswith("_")
        }
        if not methods:
            raise PluginError(f"{exports.__name__} declares no public method")
        return tuple(methods), methods
    names = tuple(exports)
    for name in names:
        if not _is_dotted(name):
            raise PluginError(f"{name!r} cannot be an export: a name, or Class.method")
    given = exports if isinstance(exports, Mapping) else {}
    return names, {name: wanted for name, wanted in given.items() if wanted is not None}


def _is_dotted(name: object) -> bool:
    """Return whether it is a name, or names with a dot between them."""
    return isinstance(name, str) and all(part.isidentifier() for part in name.split("."))


def objections(
    definition: Definition, found: Mapping[str, Export], signatures: Mapping[str, inspect.Signature]
) -> list[str]:
    """Return what is wrong with the exports of a loaded plugin, a sentence each, with its line where there is one."""
    wrong = []
    for name in definition.exports or ():
        export = found.get(name)
        if export is None or export.kind == "missing":
            wrong.append(f"{definition.name} does not define {name!r}")
        elif export.kind == "other":
            wrong.append(f"{name!r} is neither a function nor a class")
        elif name in definition.wanted:
            place = "" if export.line is None else f"line {export.line}: "
            one = definition.wanted[name]
            problems = _mismatches(one.signature, signatures[name], one.hints)
            wrong += [f"{place}{name}(){problem}" for problem in problems]
    return wrong


def _mismatches(wanted: inspect.Signature, found: inspect.Signature, classes: Hints) -> Iterator[str]:
    """Yield how a function cannot be called as the interface says, or says that it gives something else. What it says
    in the place of one of the host's `classes` is free: it gets a dict, and has no other name for it.
    """
    theirs = found.parameters
    kinds = {one.kind for one in theirs.values()}
    positions = [one.name for one in theirs.values() if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    for index, one in enumerate(wanted.parameters.values()):
        if one.kind in _STARS:
            if one.kind not in kinds:
                yield f" does not take {_STARS[one.kind]}{one.name}"
        elif one.name in theirs:
            hint = one.empty if one.name in classes else one.annotation
            yield from _parameter_mismatches(one.replace(annotation=hint), theirs[one.name], positions, index)
        elif _TAKEN_BY.get(one.kind) not in kinds:
            yield f" lacks the parameter {one.name!r}: expected {_shown(wanted)}"
    for name, one in theirs.items():
        if name not in wanted.parameters and one.default is one.empty and one.kind not in _STARS:
            yield f" requires the parameter {name!r}, which no caller gives: expected {_shown(wanted)}"
    returns = wanted.empty if "return" in classes else wanted.return_annotation
    if wanted.empty not in (returns, found.return_annotation) and not _same(returns, found.return_annotation):
        yield f" returns {found.return_annotation}, expected {_text(returns)}"


def _parameter_mismatches(
    wanted: inspect.Parameter, found: inspect.Parameter, positions: list[str], index: int
) -> Iterator[str]:
    if wanted.kind is not wanted.KEYWORD_ONLY and positions[index : index + 1] != [wanted.name]:
        yield f" does not take {wanted.name!r} at position {index + 1}"
    if wanted.kind is wanted.KEYWORD_ONLY and found.kind is found.POSITIONAL_ONLY:
        yield f" does not take {wanted.name!r} by keyword"
    if wanted.default is not wanted.empty and found.default is found.empty:
        yield f" needs a default for {wanted.name!r}"
    if wanted.empty not in (wanted.annotation, found.annotation) and not _same(wanted.annotation, found.annotation):
        yield f" takes {wanted.name!r} as {found.annotation}, expected {_text(wanted.annotation)}"


def _text(annotation: Any) -> str:
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


def _shown(signature: inspect.Signature) -> str:
    return str(signature).replace("'", "")


def _same(wanted: Any, given: str) -> bool:
    """Return whether two annotations read the same, spaces and the module names of typing apart."""

    def plain(text: str) -> str:
        for part in (" ", "typing.", "collections.abc.", "'", '"'):
            text = text.replace(part, "")
        return text

    return plain(_text(wanted)) == plain(given)
