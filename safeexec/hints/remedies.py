# ruff: noqa: E501 (one sentence, one line)
"""Hints for names that a policy refuses or does not have.

Hints of the policy win over ours, and no hint recommends what the policy does not have.
"""

from __future__ import annotations

import ast
import builtins
import re
import sys
from collections.abc import Collection, Container, Iterable
from types import ModuleType

from safeexec.common.matching import (
    TYPING_ERROR,
    TYPING_ERRORS,
    did_you_mean,
    misspelt,
    nearest,
    quoted,
    same_name,
    synonyms,
)
from safeexec.engine.policy.access import ANY, STDLIB, WORDS, is_here, module_access, taken
from safeexec.engine.policy.refusals import of_module, of_name
from safeexec.hints.choice import Advice, choose, importable, provided, provides
from safeexec.hints.tables.attributes import ATTRIBUTES, CONSTRUCTS, MODULE_ATTRIBUTES
from safeexec.hints.tables.foreign import NAMES
from safeexec.hints.tables.libraries import METHODS
from safeexec.hints.tables.modules import ALIASES, MODULES, SYNONYMS, TOOLS_OF_OTHERS
from safeexec.hints.tables.origins import ORIGINS
from safeexec.protocol.plan import LanguagePlan

_COMMON = [
    "math", "statistics", "json", "re", "datetime", "collections", "itertools", "random", "numpy", "pandas", "sklearn",
    "matplotlib",
]  # fmt: skip
"""The modules that programs use most."""
MOST_LISTED = 400
"""Characters of names that one sentence lists."""


def hint_for(kind: str, name: str, plan: LanguagePlan, candidates: Iterable[str] = ()) -> str | None:
    """Return what to do instead of `name`, which a policy refuses or does not have; None if there is nothing to
    recommend.

    `kind` says what `name` is: a ``module`` (dotted), a ``builtin``, an ``attribute`` (``name``, or ``module.name``) or
    a language ``construct``; `candidates` are the names that exist instead.
    """
    if own := _own(kind, name, plan):
        return own
    found = _hint(kind, name, plan, candidates)
    if "assignment" in plan.refused_constructs and (_needs_statements(found, plan) if found else kind == "construct"):
        return choose(CONSTRUCTS["assignment"], plan)
    return found


def _needs_statements(hint: str, plan: LanguagePlan) -> bool:
    """Return whether what a hint says to write is more than expressions."""
    for code in re.findall("`([^`]*)`", hint):
        try:
            ast.parse(code, mode="eval")
        except SyntaxError:
            if code not in ("+", "is", "in"):
                return True
    return ("`print(" in hint and "print" not in plan.builtins) or hint.startswith("Assign")


def _hint(kind: str, name: str, plan: LanguagePlan, candidates: Iterable[str]) -> str | None:
    match kind:
        case "module":
            return _module(name, plan)
        case "builtin":
            if name in NAMES:
                return choose(NAMES[name], plan)
            return did_you_mean(nearest(name, plan.builtins, 2, worst=TYPING_ERRORS))
        case "attribute":
            return _attribute(name, plan, candidates)
        case "construct":
            return choose(CONSTRUCTS.get(name, {}), plan)
    raise ValueError(f"unknown kind of hint {kind!r}")


def _own(kind: str, name: str, plan: LanguagePlan) -> str | None:
    """Return the policy's own hint; one for a module holds for what lies below it."""
    own = plan.hints.get(name)
    while own is None and kind == "module" and "." in name:
        name = name.rpartition(".")[0]
        own = plan.hints.get(name)
    return own


def _module(name: str, plan: LanguagePlan) -> str:
    head, parent = name.partition(".")[0], name.rpartition(".")[0]
    if plan.tools and head in (*plan.tools, *TOOLS_OF_OTHERS):
        return f"Tools are called by their plain name, without an import: {quoted(plan.tools)}."
    member = choose(MODULE_ATTRIBUTES.get(name, {}), plan) or ""
    row = None if module_access(name, plan).allowed else of_module(name)
    meant = SYNONYMS.get(name, "")
    found = (
        did_you_mean([f"import {meant}"] if meant and importable(meant, plan) else [])
        or (member if importable(parent, plan) or f"`{parent}." not in member else None)
        or _of_table(name, plan)
        or (choose(_OF_TAGS.get(row.tag, {}), plan) if row is not None else None)
        or _misspelt_module(name, plan)
        or (_of_package(name, plan) if importable(head, plan) and name != head else None)
    )
    if found or not (plan.imports or plan.mode == "python") or "import" in plan.refused_constructs:
        return found or "Nothing can be imported here; use the builtins."
    missing = "The policy does not open it" if is_here(head) else "It is not installed, and nothing can be installed"
    own = "" if plan.workspace == "none" else "; and files of the workspace, `helper.py` by `import helper`"
    return f"{missing}; these modules can be imported: {_available(plan)}{own}."


def _of_package(name: str, plan: LanguagePlan) -> str:
    """Return a hint for a module below one that can be imported: left out by the policy, or not there."""
    head = name.partition(".")[0]
    if not module_access(name, plan).allowed:
        return f"The policy leaves `{name}` out; what is left of `{head}` can be used."
    below = [other for other in (*plan.imports, *sys.modules) if other.startswith(f"{head}.") and "._" not in other]
    near = nearest(name, dict.fromkeys(below), worst=TYPING_ERRORS)
    return (
        f"Did you mean `import {near[0]}`?"
        if near
        else f"`{head}` has no module `{name}`: `import {head}` alone, and use what it has."
    )


def _of_table(name: str, plan: LanguagePlan) -> str | None:
    """Return the advice for the module, or for the package that it is in unless that can be imported."""
    parent = name
    while parent and (parent == name or not importable(name.partition(".")[0], plan)):
        if text := choose(MODULES.get(parent, {}), plan):
            return text
        parent = parent.rpartition(".")[0]
    return None


def _misspelt_module(name: str, plan: LanguagePlan) -> str | None:
    known = [*_COMMON, *(module for module in plan.imports if module not in WORDS)]
    if STDLIB in plan.imports or ANY in plan.imports or plan.mode == "python":
        public = (module for module in sys.stdlib_module_names if module[0] != "_")
        known += [module for module in public if module_access(module, plan).allowed]
    # A library's name is not the nearest of Python's: `pint` is no `pprint`, and `pydot` no `pydoc`.
    near = [ALIASES[name]] if name in ALIASES else misspelt(name, {*known} - {name})[:1]
    near = near or nearest(name, _COMMON, 1, worst=TYPING_ERROR)
    return did_you_mean([f"import {meant}" for meant in near if importable(meant, plan)])


def _available(plan: LanguagePlan) -> str:
    """Return the modules of the policy, those that programs use most first."""
    word = ANY if ANY in plan.imports or plan.mode == "python" else STDLIB
    refused = sorted(plan.imports[word].refused) if word in plan.imports else []
    lacking = f", but {quoted(refused, 12)}" if refused else ""
    if word == ANY:
        return f"every module that is installed{lacking}"
    tops = {module.partition(".")[0] for module in plan.imports if module not in WORDS}
    if STDLIB in plan.imports:
        others = sorted(tops - sys.stdlib_module_names)
        return (
            f"the standard library{lacking}, and {quoted(others, 12)}"
            if others
            else f"those of the standard library{lacking}"
        )
    first = [name for name in _COMMON if name in tops]
    return quoted([*first, *sorted(tops.difference(first))], 12)


def _attribute(name: str, plan: LanguagePlan, candidates: Iterable[str]) -> str | None:
    module, _, attribute = name.rpartition(".")
    grant = plan.imports.get(module)
    if grant is not None and grant.names is not None:  # the policy lists names
        candidates = dict.fromkeys((*candidates, *grant.names))
    if module and (text := hint_for_member(module, attribute, plan, candidates)):
        return text
    if module and (row := of_name(module, attribute)) is not None:
        return choose(_OF_TAGS.get(row.tag, {}), plan)
    if attribute in ATTRIBUTES:
        return choose(ATTRIBUTES[attribute], plan)
    if grant is not None and grant.names:
        return f"The policy gives of `{module}` only {quoted(sorted(grant.names), 12)}."
    if attribute.startswith("__") and attribute.endswith("__"):
        return "Special attributes are out of reach; use the builtin or the operator for it (`len(x)`, `str(x)`, `x + y`), or a method of your own class."
    return None


_OF_TAGS: dict[str, Advice] = {
    "files": {
        "import:io": "There are no files here: keep data in variables; `io.StringIO(text)` and `io.BytesIO(data)` read them as files.",
        "": "There are no files here: keep data in variables.",
    },
    "process": {
        "tool:shell": "Guest code starts no processes; call the tool `{tool}(...)`.",
        "": "Guest code starts no processes and reaches none: do the work in Python, in this one.",
    },
    "network": {
        "tool:fetch": "There is no network here; call the tool `{tool}(...)`.",
        "": "There is no network here, and the host has given no tool that fetches: work with data that is already at hand.",
    },
    "memory": "Memory is out of reach: use the types of Python, or `array` and `struct` for bytes of a fixed layout.",
    "display": "There is no display and nobody at a keyboard: compute, print, and return values.",
}
"""Advice by kind, for a name of `engine.policy.refusals` that has none of its own."""


def without_network(plan: LanguagePlan) -> str | None:
    """Return what to do instead of reaching a network."""
    return choose(_OF_TAGS["network"], plan)


def hint_for_member(module: str, name: str, plan: LanguagePlan, candidates: Iterable[str] = ()) -> str | None:
    """Return what to use instead of ``module.name``, which does not exist or is refused; `candidates` are the module's
    names.
    """
    full = f"{module}.{name}"
    known = plan.hints.get(full) or choose(MODULE_ATTRIBUTES.get(full, {}), plan)
    if known:
        return known
    if full in plan.imports:
        return f"Import it first: `import {full}`."
    if of_name(module, name) is not None or full in taken(plan):
        return None  # it is what the program means, and refused for what it does, or by a line of the policy
    if text := _in_submodule(module, name, plan):
        return text
    for kind, written in _CLASSES.get(module, {}).items():
        if text := METHODS.get(f"{module}.{kind}", {}).get(name):
            return text
        if hasattr(getattr(sys.modules.get(module, builtins), kind, getattr(builtins, kind, None)), name):
            return f"It belongs to a value, or to its class: `{written}.{name}`."
    names = provided(module, [candidate for candidate in candidates if not candidate.startswith("_")], plan)
    same = synonyms(name, names)
    if not same and name in NAMES and (foreign := choose(NAMES[name], plan)):
        return foreign
    top = module.partition(".")[0]
    parts = (one for one in ALIASES.values() if one.partition(".")[0] == top and hasattr(sys.modules.get(one), name))
    home = ORIGINS.get(name) or next(parts, module)
    own = module.rpartition(".")[2]
    begun = [one for one in names if len(one) > 3 and name.startswith(one)]  # math.permutations is `perm`
    # random.random_choice is `choice`, and heapq.push `heappush`
    same = same or [one for one in names if one in (name.removeprefix(f"{own}_"), f"{own.rstrip('q')}{name}")]
    elsewhere = names and home != module and not same and not begun and not same_name(name, names)
    if elsewhere and provides(f"{home}.{name}", plan):
        return f"It is in another module: `from {home} import {name}`."
    return did_you_mean([f"{module}.{found}" for found in same[:2] or nearest(name, names, 2)])


_CLASSES = {
    "numpy": {"ndarray": "a"},
    "pandas": {"DataFrame": "df", "Series": "df['column']"},
    "datetime": {"datetime": "datetime.datetime", "date": "datetime.date"},
    "string": {"str": "text"},
    "cmath": {"complex": "z"},
    "decimal": {"Decimal": "value"},
}
"""Classes whose methods programs take for functions of a module, and how an object of each, or the class, is written."""


def _in_submodule(module: str, name: str, plan: LanguagePlan) -> str | None:
    """Name the module below that has the name: the nearest, and of those the smallest."""
    start = f"{module}."
    public = [one for one in sys.modules if one.startswith(start) and "._" not in one]
    below = [one for one in public if module_access(one, plan).allowed and name in _exported(sys.modules[one])]
    home = min(below, key=lambda one: (one.count("."), len(_exported(sys.modules[one]))), default="")
    return f"It is in a submodule: `from {home} import {name}`." if home else None


def _exported(module: object) -> Collection[str]:
    """Return the names that a module says are its own."""
    names = getattr(module, "__all__", ())
    return names if type(names) in (list, tuple) else ()


def hint_for_missing_member(
    module: str, name: str, names: list[str], builtins: Container[str], plan: LanguagePlan
) -> str:
    """Return what to use instead of a name that a module does not have, whatever the spelling: ``module.name``, or
    ``from module import name``. `names` are those it has.
    """
    full = f"{module}.{name}"
    if ALIASES.get(name) == module:  # from numpy import np
        return f"`{name}` is a name that the program gives: `import {module} as {name}`."
    if name in builtins and full not in MODULE_ATTRIBUTES and full not in plan.hints:
        return f"It is a builtin: use `{name}(...)` as it is."
    if found := edited_since(module, name) or hint_for_member(module, name, plan, names):
        return found
    if name not in sys.stdlib_module_names and importable(name, plan):  # sklearn.externals.joblib
        return f"It is a module of its own: `import {name}`."
    if builtin := builtin_for(name, builtins):
        return f"Use the builtin `{builtin}(...)`."
    below = [other for other in plan.imports if other.rpartition(".")[0] == module]
    near = next((other for other in below if nearest(name, [other.rpartition(".")[2]])), "")
    return f"Import the submodule first: `import {near}`." if near else _no_such_name(module, name, names, plan)


OF_VALUES = {
    **dict.fromkeys(("sum", "max", "min", "sorted", "reversed", "all", "any", "zip", "enumerate"), "__iter__"),
    "len": "__len__",
    "next": "__next__",
    "print": "",
    "abs": "__abs__",
    "round": "__round__",
    "int": "",
    "float": "",
    "str": "",
}
"""Builtins that other languages have as methods → what a value has that they work with."""
_CONVERSION = re.compile(r"^(?:to|as|get)(?:_|(?=[A-Z]))")


def builtin_for(name: str, builtins: Container[str]) -> str:
    """Return the builtin for a method of another language, such as ``size`` or ``toString``; empty if there is none."""
    return next((found for found in synonyms(_CONVERSION.sub("", name), OF_VALUES) if found in builtins), "")


def edited_since(module: str, name: str) -> str | None:
    """Return what to do where the file of a module in the workspace has a name that the imported module lacks."""
    try:
        with open(f"{module.replace('.', '/')}.py", encoding="utf-8", errors="replace") as file:
            has_it = re.search(rf"\b{re.escape(name)}\b", file.read(_MODULE_CHARACTERS))
    except OSError:
        return None
    again = f"`import importlib` and `importlib.reload({module})`"
    return f"The file has `{name}` since `{module}` was imported: {again}." if has_it else None


_MODULE_CHARACTERS = 1 << 20
"""Read of a module's file, at most."""


def _no_such_name(module: str, name: str, candidates: Iterable[str], plan: LanguagePlan) -> str:
    """Return a hint for a name that nothing in the module resembles: what there is to call, or of that what begins
    with the same letter, if it is little.
    """
    loaded = sys.modules.get(module)
    public = sorted(
        other
        for other in provided(module, candidates, plan)
        if not other.startswith("_")
        and not other.isupper()
        and not isinstance(getattr(loaded, other, None), ModuleType)
    )
    of_letter = [other for other in public if other[:1].lower() == name[:1].lower()]
    for kind, listed in (("it has", public), (f"with `{name[:1]}` it has", of_letter)):
        if 0 < len(", ".join(listed)) <= MOST_LISTED:
            return f"`{module}` has no `{name}`: {kind} {quoted(listed, len(listed))}; what is not there is written as a function of your own."
    return f"`{module}` has no `{name}`: use another name of the module, or write it as a function of your own."
