"""The reviewed data: for every module that guest code may ever import, its documented names and the verdict on each.

One file per group of modules, loaded when a module of the group is asked for. A module without a table, and a name that
no table lists, is refused: a new Python or library version brings nothing in by itself. What a module has imported for
itself, or leaves out of its ``__all__``, needs no entry.
"""

from __future__ import annotations

from importlib import import_module
from typing import NamedTuple

from safeexec.facades.tables.groups import GROUPS, REFUSED_MODULES
from safeexec.facades.tables.notation import Table
from safeexec.facades.tables.reasons import MODULE, UNDERSCORE, UNLISTED, UNREVIEWED, Reason, Tag

__all__ = ["Ruling", "Table", "judge", "module_reason", "modules", "refusals", "submodules", "table"]

_LIBRARY = {module: group for group, names in GROUPS.items() for module in names.split()}
_LOADED: dict[str, dict[str, Table]] = {}


class Ruling(NamedTuple):
    """What the review says of a name: `reason` is a sentence when it is refused, `tag` the kind of access or danger."""

    allowed: bool
    reason: str = ""
    tag: Tag = ""


def _group(module: str) -> dict[str, Table]:
    group = _LIBRARY.get(module.partition(".")[0])
    if group is None:
        return {}
    tables = _LOADED.get(group)
    if tables is None:
        tables = _LOADED[group] = import_module(f"{__name__}.{group}").TABLES
    return tables


def table(module: str) -> Table | None:
    """The table of a module by its dotted name, or None if nobody reviewed the module."""
    return _group(module).get(module)


def modules() -> frozenset[str]:
    """The dotted names of all reviewed modules. Loads every group."""
    return frozenset(name for module in _LIBRARY for name in _group(module) if name.partition(".")[0] == module)


def submodules(module: str) -> dict[str, str]:
    """The attributes of a module that are reviewed modules themselves → dotted name: ``stats`` → ``scipy.stats``."""
    prefix = module + "."
    tables = _group(module)
    steps = {name[len(prefix) :].partition(".")[0] for name in tables if name.startswith(prefix)}
    found = {step: prefix + step for step in steps}
    if module in tables:
        found |= tables[module].aliases
    return found


def module_reason(module: str) -> Reason:
    """Why a module has no table: the reason that the review gives, or that nobody reviewed it."""
    while module:
        if module in REFUSED_MODULES:
            return REFUSED_MODULES[module]
        module = module.rpartition(".")[0]
    return UNREVIEWED


def judge(module: str, name: str) -> Ruling:
    """The review's verdict on one name of one module, whatever the policy. Unknown modules and names are refused."""
    reviewed = table(module)
    if name in submodules(module):
        return Ruling(True)
    if reviewed is None:
        reason = module_reason(module)
        return Ruling(False, reason.text, reason.tag)
    tag = reviewed.allowed.get(name)
    if tag is not None:
        return Ruling(True, tag=tag)
    why = reviewed.refused.get(name) or _unjudged(module, name)
    return Ruling(False, why.text, why.tag)


def refusals(module: str) -> frozenset[str]:
    """The documented names of a module that the review refuses."""
    reviewed = table(module)
    return reviewed.refusals if reviewed is not None else frozenset()


def _unjudged(module: str, name: str) -> Reason:
    """Why a name that no table lists is refused."""
    if name.startswith("_"):
        return UNDERSCORE
    return REFUSED_MODULES.get(f"{module}.{name}") or (MODULE if name in _LIBRARY else UNLISTED)
