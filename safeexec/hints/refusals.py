# ruff: noqa: E501 (one sentence, one line)
"""What a model can do instead: one sentence for a refusal, a syntax error or a limit.

The tables are data, split by meaning; each is imported when a hint of its kind is asked for. Hints of the policy win
over ours, and no hint recommends what the policy does not have.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from safeexec.hints.matching import TYPING_ERRORS, nearest, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from safeexec.protocol.plan import LanguagePlan

Kind = Literal["module", "builtin", "attribute", "construct", "name", "syntax"]

__all__ = ["Kind", "hint_for", "missing_in_module"]


def hint_for(kind: str, name: str, plan: LanguagePlan, **context: Any) -> str | None:
    """What to do instead of `name`, which a policy refuses or does not have; None if there is nothing to recommend.

    `kind` says what `name` is: a ``module`` (dotted), a ``builtin``, an ``attribute`` (``name``, or ``module.name``),
    a language ``construct``, a ``name`` that is not defined, or ``syntax``. `context` may hold `candidates`: the names
    that exist instead.
    """
    if plan.hints and (own := _own(kind, name, plan)):
        return own
    candidates: Iterable[str] = context.get("candidates") or ()
    match kind:
        case "module":
            return _module(name, plan)
        case "builtin":
            return _builtin(name, plan)
        case "attribute":
            return _attribute(name, plan, candidates)
        case "construct" | "syntax":
            return _construct(name, plan)
        case "name":
            return _builtin(name, plan) or _did_you_mean(name, candidates)
    raise ValueError(f"unknown kind of hint {kind!r}")


def _own(kind: str, name: str, plan: LanguagePlan) -> str | None:
    """The policy's own hint; one for a module holds for what lies below it."""
    own = plan.hints.get(name)
    while own is None and kind == "module" and "." in name:
        name = name.rpartition(".")[0]
        own = plan.hints.get(name)
    return own


def _module(name: str, plan: LanguagePlan) -> str:
    from safeexec.facades.access import module_access
    from safeexec.hints.needs import choose, importable
    from safeexec.hints.tables.libraries import REMOVED
    from safeexec.hints.tables.modules import ALIASES, MODULES, SYNONYMS

    if name in REMOVED:
        return REMOVED[name]
    head = name.partition(".")[0]
    parent = name
    while parent and not (parent != name and importable(head, plan)):
        if parent in MODULES and (text := choose(MODULES[parent], plan)):
            return text
        parent = parent.rpartition(".")[0]
    meant = SYNONYMS.get(name) or ALIASES.get(name) or next(iter(nearest(name, plan.imports, worst=TYPING_ERRORS)), "")
    if meant and importable(meant, plan):
        return f"Did you mean `import {meant}`?"
    if head in plan.imports and "." in name:
        from safeexec.facades.access import allowed_submodules

        owner, _, last = name.rpartition(".")
        found = nearest(last, allowed_submodules(owner, plan))
        if found:
            return f"Did you mean `import {owner}.{found[0]}`?"
    if head in plan.imports:
        whole = name.rpartition(".")[0]
        while "." in whole and not module_access(whole, plan).allowed:
            whole = whole.rpartition(".")[0]
        return (
            f"This part of `{whole}` cannot be imported; its names are in `{whole}` itself: `from {whole} import ...`."
        )
    if not plan.imports or "import" in plan.refused_constructs:
        return "Nothing can be imported here; use the builtins."
    return f"Nothing can be installed; these modules can be imported: {_available(plan)}."


def _available(plan: LanguagePlan) -> str:
    """The modules of the policy, those that programs use most first."""
    tops = sorted({module.partition(".")[0] for module in plan.imports})
    first = [name for name in _COMMON if name in tops]
    return quoted([*first, *(name for name in tops if name not in first)], 12)


_COMMON = (
    "math",
    "statistics",
    "json",
    "re",
    "datetime",
    "collections",
    "itertools",
    "random",
    "numpy",
    "pandas",
    "sklearn",
    "matplotlib",
)


def _builtin(name: str, plan: LanguagePlan) -> str | None:
    from safeexec.hints.needs import choose
    from safeexec.hints.tables.builtins import BUILTINS
    from safeexec.hints.tables.foreign import NAMES

    for table in (BUILTINS, NAMES):
        if name in table:
            return choose(table[name], plan)
    return _did_you_mean(name, plan.builtins, worst=TYPING_ERRORS)


def _attribute(name: str, plan: LanguagePlan, candidates: Iterable[str]) -> str | None:
    from safeexec.hints.needs import choose
    from safeexec.hints.tables.attributes import ATTRIBUTES

    module, _, attribute = name.rpartition(".")
    if module and (text := missing_in_module(module, attribute, plan, candidates)):
        return text
    if attribute in ATTRIBUTES:
        return choose(ATTRIBUTES[attribute], plan)
    if not module and (text := _did_you_mean(attribute, candidates)):
        return text
    if attribute.startswith("__") and attribute.endswith("__"):
        return "Special attributes are out of reach; use the builtin or the operator for it (`len(x)`, `str(x)`, `x + y`), or a method of your own class."
    if attribute.startswith("_"):
        return "Names that begin with `_` belong to the inside of an object; use its public methods."
    return None


def missing_in_module(module: str, name: str, plan: LanguagePlan, candidates: Iterable[str] = ()) -> str | None:
    """What to use instead of ``module.name``, which does not exist or is refused; `candidates` are the module's names."""
    from safeexec.facades.tables import judge
    from safeexec.hints.needs import choose, provided
    from safeexec.hints.tables.attributes import MODULE_ATTRIBUTES
    from safeexec.hints.tables.libraries import REMOVED

    full = f"{module}.{name}"
    if own := plan.hints.get(full):
        return own
    if full in REMOVED:
        return REMOVED[full]
    if full in MODULE_ATTRIBUTES and (text := choose(MODULE_ATTRIBUTES[full], plan)):
        return text
    if full in plan.imports:
        return f"Import it first: `import {full}`."
    if judge(module, name).tag not in ("", "internal"):
        return None  # it is what the program means, and refused for what it does
    names = [candidate for candidate in candidates if not candidate.startswith("_")]
    found = nearest(name, provided(module, names, plan), 2)
    if found:
        return f"Did you mean {' or '.join(f'`{module}.{candidate}`' for candidate in found)}?"
    return None


def _construct(name: str, plan: LanguagePlan) -> str | None:
    from safeexec.hints.needs import choose
    from safeexec.hints.tables.constructs import CONSTRUCTS

    for key in (name, name.lower(), name.lower().replace("_", "-").replace(" ", "-")):
        if key in CONSTRUCTS:
            return choose(CONSTRUCTS[key], plan)
    return None


def _did_you_mean(name: str, candidates: Iterable[str], worst: int = 99) -> str | None:
    found = nearest(name, candidates, 2, worst=worst)
    return f"Did you mean {' or '.join(f'`{candidate}`' for candidate in found)}?" if found else None
