"""What a policy makes of the tables: which modules and names a `LanguagePlan` really opens. Nothing is imported here.

The importer, the compiler's checks and `policy why` all ask these functions, so that they cannot disagree.

An entry of `plan.imports` covers its own module and the reviewed submodules below it (``numpy`` covers
``numpy.random``, ``numpy.random`` covers nothing of ``numpy``). An entry with a list of names covers the submodules it
lists. A package above an allowed module is importable, and then holds only the way down.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

from safeexec.facades import tables
from safeexec.facades.tables.groups import RUN_TEXT
from safeexec.facades.tables.reasons import EVALUATES, NEEDS_WORKSPACE, UNDERSCORE, Tag
from safeexec.protocol.plan import ImportPlan, LanguagePlan

_UNREVIEWED_COST = (
    "nobody has reviewed it: whatever its functions open, run or import is in reach of guest code, as far as the "
    "kernel lets it"
)
_NOT_LISTED = "the policy does not list it"
_BY_POLICY = "the policy takes it away"
_NONE = "the policy says `none` there"
_ONLY_NAMES = "the policy lists other names of this module"


class Access(NamedTuple):
    """May guest code use this module or name under this plan?

    `reason` is a sentence, at least when it may not; `rule` is the line of the profile (``standard.yaml:12``);
    `tag` is the kind of access or danger (``files``, ``pickle``, ``process``, ``network``, ``evaluates`` …).
    """

    allowed: bool
    reason: str = ""
    rule: str = ""
    tag: Tag = ""


class _Grant(NamedTuple):
    """The entry of a policy's `imports` that covers a module. `own`: it is the module's, not that of a package above.
    `passage`: it is that of a module below, and opens only the way down to it.
    """

    entry: ImportPlan
    own: bool
    passage: bool


def _remainder(module: str, ancestor: str) -> str:
    """``random.mtrand`` of ``numpy.random.mtrand`` below ``numpy``."""
    return module[len(ancestor) + 1 :]


def _grant(module: str, plan: LanguagePlan) -> _Grant | None:
    """The entry of the module itself, else of the nearest package above that has one, where that leaves the module
    open, else of one below."""
    entry = plan.imports.get(module)
    if entry is not None:
        return _Grant(entry, own=True, passage=False)
    ancestor = module.rpartition(".")[0]
    while ancestor:
        entry = plan.imports.get(ancestor)
        if entry is not None:
            path = _remainder(module, ancestor).split(".")
            steps = {".".join(path[: i + 1]) for i in range(len(path))}
            listed = entry.names is None or bool(steps & entry.names)
            if listed and not steps & entry.refused:
                return _Grant(entry, own=False, passage=False)
            break
        ancestor = ancestor.rpartition(".")[0]
    below = next((name for name in plan.imports if name.startswith(module + ".")), None)
    if below is not None:
        return _Grant(plan.imports[below], own=False, passage=True)
    return None


def _written(module: str, plan: LanguagePlan) -> tuple[str, str]:
    """The line for a module that no entry covers, and what it says: `none` (or of a package above it), or nothing."""
    while module:
        if rule := plan.rules.get(f"imports.{module}"):
            return rule, _NONE
        module = module.rpartition(".")[0]
    return plan.rules.get("imports", ""), _NOT_LISTED


def is_unreviewed(module: str, plan: LanguagePlan) -> bool:
    """Does the plan open this module although nobody has reviewed it (`danger_allow_modules`)?"""
    grant = _grant(module, plan)
    return grant is not None and grant.entry.unreviewed and not grant.passage


def unreviewed_cost(module: str) -> str:
    """What it costs to open a module that nobody has reviewed."""
    return f"{_UNREVIEWED_COST}; {EVALUATES.text}" if runs_text(module) else _UNREVIEWED_COST


def runs_text(module: str) -> bool:
    """Is this module part of a package that is known to run the text that it is given?"""
    return module.partition(".")[0] in RUN_TEXT


def module_access(module: str, plan: LanguagePlan) -> Access:
    """May guest code import this module (a dotted name)?"""
    grant = _grant(module, plan)
    rule, written = _written(module, plan)
    if grant is None:
        reason = tables.module_reason(module)
        if tables.table(module) is not None or not reason.tag:
            return Access(False, written, rule)
        return Access(False, f"{written}, and {reason.text}", rule, reason.tag)
    if is_unreviewed(module, plan):
        if any(part[:1] == "_" for part in module.split(".")):
            return Access(False, UNDERSCORE.text, grant.entry.rule or rule)
        return Access(True, unreviewed_cost(module), grant.entry.rule or rule)
    if not grant.passage and tables.table(module) is None and not tables.submodules(module):
        reason = tables.module_reason(module)
        return Access(False, reason.text, grant.entry.rule or rule, reason.tag)
    return Access(True, rule=grant.entry.rule or rule)


def name_access(module: str, name: str, plan: LanguagePlan) -> Access:
    """May guest code use this name of this module? Answers for submodules as names too."""
    whole = module_access(module, plan)
    if not whole.allowed:
        return whole
    submodule = tables.submodules(module).get(name)
    if submodule is not None:
        return module_access(submodule, plan)
    grant = _grant(module, plan)
    if is_unreviewed(module, plan):
        return Access(True, whole.reason, whole.rule) if name[:1] != "_" else Access(False, UNDERSCORE.text, whole.rule)
    verdict = tables.judge(module, name)
    if not verdict.allowed and not (plan.stdin and (module, name) == ("sys", "stdin")):
        return Access(False, verdict.reason, whole.rule, verdict.tag)
    if grant is None or grant.passage:
        return Access(False, _NOT_LISTED, whole.rule)
    if verdict.tag == "files" and plan.workspace == "none":
        return Access(False, NEEDS_WORKSPACE.text, whole.rule, "files")
    if grant.own and grant.entry.names is not None and name not in grant.entry.names:
        return Access(False, _ONLY_NAMES, whole.rule, verdict.tag)
    if name in _taken(module, grant, plan) or f"{module}.{name}" in plan.refused_attributes:
        rule = plan.refused_attributes.get(f"{module}.{name}", whole.rule)
        return Access(False, _BY_POLICY, rule, verdict.tag)
    return Access(True, rule=whole.rule, tag=verdict.tag)


def _taken(module: str, grant: _Grant, plan: LanguagePlan) -> frozenset[str]:
    """The names of this module that the covering entry refuses (``random.seed`` in an entry for ``numpy``)."""
    if grant.own:
        return grant.entry.refused
    prefixes = [_remainder(module, name) + "." for name in plan.imports if module.startswith(name + ".")]
    return frozenset(
        refused[len(prefix) :] for refused in grant.entry.refused for prefix in prefixes if refused.startswith(prefix)
    )


def allowed_names(module: str, plan: LanguagePlan) -> frozenset[str]:
    """The reviewed names of a module that this plan opens, submodules not included; also names of other versions.

    Of a module that nobody has reviewed its public names, once it is imported.
    """
    reviewed = tables.table(module)
    grant = _grant(module, plan)
    if is_unreviewed(module, plan):
        return _own_names(module)
    if reviewed is None or grant is None or grant.passage:
        return frozenset()
    names = set(reviewed.allowed)
    if plan.workspace == "none":
        names -= {name for name, tag in reviewed.allowed.items() if tag == "files"}
    if grant.own and grant.entry.names is not None:
        names &= grant.entry.names
    names -= _taken(module, grant, plan)
    if plan.refused_attributes:
        names = {name for name in names if f"{module}.{name}" not in plan.refused_attributes}
    return frozenset(names)


def allowed_submodules(module: str, plan: LanguagePlan) -> dict[str, str]:
    """The attributes of a module that are modules which this plan opens → their dotted names."""
    if is_unreviewed(module, plan):
        return _loaded_below(module)
    return {name: dotted for name, dotted in tables.submodules(module).items() if module_access(dotted, plan).allowed}


def _own_names(module: str) -> frozenset[str]:
    """The public names of an unreviewed module that is imported: what it lists, or has defined. What it has imported
    from elsewhere for itself is none of its own.
    """
    found = vars(sys.modules[module]) if module in sys.modules else {}
    listed = found.get("__all__", ())
    top = module.partition(".")[0]
    own = {name for name, value in found.items() if _defined_in(value, top)}
    return frozenset(name for name in own.union(listed) if type(name) is str and name[:1] != "_")


def _defined_in(value: object, top: str) -> bool:
    home = getattr(value, "__module__", None)
    return home is None or (type(home) is str and home.partition(".")[0] == top)


def _loaded_below(module: str) -> dict[str, str]:
    """The submodules of an unreviewed package that have been imported. Other modules that it holds are not its own."""
    prefix = module + "."
    names = [name for name in list(sys.modules) if name.startswith(prefix) and "." not in name[len(prefix) :]]
    return {name[len(prefix) :]: name for name in names if name[len(prefix)] != "_"}
