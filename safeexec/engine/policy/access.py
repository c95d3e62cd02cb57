"""May guest code import this module, use this name? The one answer that compiler, importer, `policy why` and hints
give.

Nothing is imported here. The nearest line of a policy's `imports` decides:

numpy: all          the module, with everything below it
numpy.random: all   that module; of numpy itself only the way down to it
socket: none        refused, whatever a broader line says
stdlib: all         the standard library, but for what `refusals.MODULES` names
http: all           that package; not `http.client`, which is a row of its own, and is opened by its own name
any: all            every module that is installed

A list (``statistics: [NormalDist]``) says which names may be written. The rows of `refusals.NAMES` hold below every
line but one that lists the name itself.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import lru_cache
from importlib.machinery import ModuleSpec, PathFinder
from typing import Final, NamedTuple

from safeexec.engine.policy import refusals
from safeexec.engine.policy.refusals import Tag
from safeexec.protocol.plan import ImportPlan, LanguagePlan

STDLIB: Final = "stdlib"
ANY: Final = "any"
WORDS: Final = (ANY, STDLIB)
"""The words that `imports` may name besides modules, the broadest first."""
PROGRAM: Final = "__main__"
"""The program itself as a module, which every policy leaves to it."""

_ITS_OWN: Final = "it is the program itself"
_NOT_LISTED: Final = "the policy does not list it"
_BY_POLICY: Final = "the policy takes it away"
_NONE: Final = "the policy says `none` there"
_ONLY_NAMES: Final = "the policy lists other names of this module"


class Access(NamedTuple):
    """An answer. `reason` is half a sentence where it is no, and about the program itself; `rule` is the line of the
    profile (``standard.yaml:12``); `tag` is the kind of what the tables refuse.
    """

    allowed: bool
    reason: str = ""
    rule: str = ""
    tag: Tag = ""


class _Ruling(NamedTuple):
    """The ruling about a module: the answer and the line. `own`: it is the module's own; `passage`: of one below."""

    access: Access
    entry: ImportPlan = ImportPlan()
    own: bool = False
    passage: bool = False


def parents(module: str) -> Iterator[str]:
    """Yield the module, then the packages above it, the nearest first."""
    while module:
        yield module
        module = module.rpartition(".")[0]


def is_here(module: str) -> bool:
    """Return whether the package of this module is installed here. A policy's word for many modules does not say so."""
    top = module.partition(".")[0]
    return top in sys.stdlib_module_names or top == PROGRAM or _spec_of(top) is not None


def _spec_of(top: str) -> ModuleSpec | None:
    """Return where a module at the top is had from, or None where it is not installed."""
    from importlib.util import find_spec  # 2 ms of a start that looks for none

    try:
        return find_spec(top)
    except (ImportError, ValueError):
        return None


@lru_cache(maxsize=1024)
def module_of(name: str) -> tuple[str, str, tuple[str, ...]]:
    """Return the longest part of a dotted name that is a module, the rest, and the folders of that module. Nothing is
    imported: the folders of a package are listed.
    """
    parts = name.split(".")
    if len(parts) == 1 or name in refusals.MODULES or name in refusals.NAMES:
        return name, "", ()
    folders: tuple[str, ...] = ()
    for depth, part in enumerate(parts):
        above = ".".join(parts[: depth + 1])
        spec = PathFinder.find_spec(part, folders) if depth else _spec_of(above)
        # Some modules are in no file: `os.path`, and from 3.15 on `collections.abc`.
        known = any(above in modules for modules in (refusals.MODULES, refusals.NAMES, sys.modules))
        if depth and spec is None and not known:
            return ".".join(parts[:depth]), ".".join(parts[depth:]), folders
        folders = tuple(spec.submodule_search_locations or ()) if spec is not None else ()
    return name, "", ()


def module_access(module: str, plan: LanguagePlan) -> Access:
    """Return whether guest code may import this module (a dotted name), and why not."""
    return _line(module, plan).access


def is_passage(module: str, plan: LanguagePlan) -> bool:
    """Return whether a module is open only as the way down to one below it."""
    return _line(module, plan).passage


def _line(module: str, plan: LanguagePlan) -> _Ruling:
    if module == PROGRAM:
        return _Ruling(Access(True, _ITS_OWN))
    if plan.mode == "python" or module == "__future__":
        return _Ruling(Access(True))
    module = refusals.canonical(module)
    for name in parents(module):
        entry = plan.imports.get(name)
        if entry is not None and name not in WORDS:
            if len(name) < len(refusals.row_of(module)):
                return _Ruling(_by_word(module, plan))  # a row is about a module below the one that the line names
            part = module[len(name) + 1 :]
            if not part or _covers(entry, part):
                return _Ruling(Access(True, rule=entry.rule), entry, own=not part)
            reason = _ONLY_NAMES if entry.names is not None else _BY_POLICY
            return _Ruling(Access(False, reason, plan.rules.get(f"imports.{module}") or entry.rule))
    if (below := plan.above.get(module)) is not None:
        return _Ruling(Access(True, rule=plan.imports[below].rule), passage=not _by_word(module, plan).allowed)
    for name in parents(module):
        if rule := plan.rules.get(f"imports.{name}"):
            return _Ruling(Access(False, _NONE, rule))
    return _Ruling(_by_word(module, plan))


def _by_word(module: str, plan: LanguagePlan) -> Access:
    """Return what the words `any` and `stdlib` say of a module that no line names."""
    standard = module.partition(".")[0] in sys.stdlib_module_names
    row = refusals.of_module(module)
    refused: Access | None = None
    for word in WORDS:
        entry = plan.imports.get(word)
        if entry is None or (word == STDLIB and not standard):
            continue
        if not _covers(entry, module):
            refused = refused or Access(False, _BY_POLICY, entry.rule)
        elif module == "urllib.request" and refusals.FETCHES in plan.tools:
            return Access(True, rule=entry.rule)
        elif row is not None and (word == STDLIB or row.tag == "display"):
            refused = refused or Access(False, row.text, entry.rule, row.tag)
        else:
            return Access(True, rule=entry.rule)
    if refused is not None:
        return refused
    reason = f"{_NOT_LISTED}, and {row.text}" if row is not None else _NOT_LISTED
    return Access(False, reason, plan.rules.get("imports", ""), row.tag if row is not None else "")


def _covers(entry: ImportPlan, part: str) -> bool:
    """Return whether a line covers what lies below its module at ``part``."""
    steps = set(parents(part))
    return (entry.names is None or bool(steps & entry.names)) and not steps & entry.refused


def name_access(module: str, name: str, plan: LanguagePlan) -> Access:
    """Return whether guest code may write this name of this module, a submodule's too, and why not."""
    module = refusals.canonical(module)
    grant = _line(module, plan)
    whole = grant.access
    if not whole.allowed or plan.mode == "python" or module in (PROGRAM, "__future__"):
        return whole
    dotted = f"{module}.{name}"
    if dotted in plan.refused_attributes:
        return Access(False, _BY_POLICY, plan.refused_attributes[dotted])
    if dotted in plan.imports or dotted in plan.above:
        return module_access(dotted, plan)
    if rule := plan.rules.get(f"imports.{dotted}"):
        entry = plan.imports.get(module)
        taken_away = not _is_left(module, name, plan) if entry is None else name in entry.refused
        if taken_away or (entry is not None and name not in (entry.names or (name,))):
            return Access(False, _BY_POLICY, rule)
    if grant.passage:
        return Access(False, _NOT_LISTED, whole.rule)
    if word := next(
        (plan.imports[word] for word in WORDS if word in plan.imports and dotted in plan.imports[word].refused), None
    ):
        return Access(False, _BY_POLICY, word.rule)
    if grant.own and grant.entry.names is not None:
        if name not in grant.entry.names:
            return Access(False, _ONLY_NAMES, whole.rule)
    elif not _is_left(module, name, plan):
        return Access(False, _BY_POLICY, whole.rule)
    elif (row := refusals.of_name(module, name)) is not None and (row.tag != "files" or not plan.has_files):
        return Access(False, row.text, whole.rule, row.tag)
    elif dotted in refusals.MODULES:
        return module_access(dotted, plan)
    if grant.own and name in grant.entry.refused:
        return Access(False, _BY_POLICY, whole.rule)
    return Access(True, rule=whole.rule)


def _is_left(module: str, name: str, plan: LanguagePlan) -> bool:
    """Return whether no line takes the name away: its module's, a package's (``numpy: {except: [random.seed]}``)."""
    dotted = f"{module}.{name}"
    for above in parents(module):
        entry = plan.imports.get(above)
        if entry is not None and above not in WORDS and dotted[len(above) + 1 :] in entry.refused:
            return False
    return True


def refused_names(plan: LanguagePlan) -> dict[str, frozenset[str]]:
    """Return each open module of which some row or line refuses names, with these names."""
    found = {module: set(rows) for module, rows in refusals.NAMES.items()}
    for module, _, name in (path.rpartition(".") for path in taken(plan)):
        if module not in found:
            found[module] = set(refusals.NAMES.get(refusals.canonical(module), ()))
        found[module].add(name)
    refused = {
        module: frozenset(name for name in names if not name_access(module, name, plan).allowed)
        for module, names in found.items()
        if module and module_access(module, plan).allowed
    }
    return {module: names for module, names in refused.items() if names}


def taken(plan: LanguagePlan) -> Iterator[str]:
    """Yield each ``module.name`` that a line of the policy takes away."""
    yield from (name for name in plan.refused_attributes if "." in name)
    for module, entry in plan.imports.items():
        prefix = "" if module in WORDS else f"{module}."
        yield from (f"{prefix}{name}" for name in entry.refused)
    yield from (path.removeprefix("imports.") for path in plan.rules if path.startswith("imports."))


def allowed_names(module: str, plan: LanguagePlan) -> frozenset[str]:
    """Return the public names that guest code may write of a module that is loaded here; of another, those listed."""
    if not module_access(module, plan).allowed:
        return frozenset()
    entry = plan.imports.get(module)
    if entry is not None and entry.names is not None:
        return frozenset(entry.names - entry.refused)
    loaded = sys.modules.get(module)
    names = vars(loaded) if loaded is not None else {}
    return frozenset(name for name in names if name[:1] != "_" and name_access(module, name, plan).allowed)
