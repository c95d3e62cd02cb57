"""Builds facades, and is the ``import`` statement of guest code.

A facade holds the allowed names of a module and nothing else; `safeexec.facades.sealed` tells what it is made of. It
has each imported name before IMPORT_FROM asks for it, and cannot lose it. So IMPORT_FROM never falls back on
`sys.modules`, where the real modules are.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

from safeexec.facades import access, tables
from safeexec.facades.replacements import properties, replacement
from safeexec.facades.sealed import Facade, sealed
from safeexec.facades.tables.groups import OF_SESSIONS
from safeexec.identity import identity
from safeexec.protocol.plan import LanguagePlan

__all__ = [
    "RefusedImport",
    "RefusedModule",
    "facade",
    "facade_name",
    "imported",
    "importer",
    "installed",
    "known_names",
    "recorded",
    "set_loader",
]

_BUILT: dict[int, tuple[LanguagePlan, dict[str, Facade]]] = {}
_FACADES: dict[int, tuple[Facade, str]] = {}
"""Identity of a facade → itself, and its name."""


def _of_no_session(name: str) -> ModuleType | None:
    if name.partition(".")[0] in OF_SESSIONS:
        raise ImportError(f"{name} is there only in a session", name=name)
    return None


def _nothing() -> None: ...


_load: Callable[[str], ModuleType | None] = _of_no_session
_loaded: Callable[[], None] = _nothing


def set_loader(load: Callable[[str], ModuleType | None], loaded: Callable[[], None] = _nothing) -> None:
    """Ask `load` for the module behind a facade first: some of the standard library run as guest code in a child.

    `loaded` is called when modules may have been loaded, before guest code has anything of them.
    """
    global _load, _loaded
    _load, _loaded = load, loaded


class RefusedImport(ImportError):
    """The policy does not let guest code import this module or name."""

    def __init__(self, module: str, attribute: str, rule: str, reason: str) -> None:
        self.module = module
        """The module that was asked for (dotted)."""
        self.attribute = attribute
        """The name of it that was asked for, or ``""`` for the module itself."""
        self.rule = rule
        """The line of the profile that decides (``standard.yaml:12``), or ``""``."""
        self.reason = reason
        """Why, as half a sentence."""
        what = f"import of {module}" if not attribute else f"import of {attribute} from {module}"
        by = f" by {rule}" if rule else " by the policy"
        super().__init__(f"{what} is refused{by}: {reason}", name=module)


class RefusedModule(RefusedImport, ModuleNotFoundError):
    """The policy has no such module: what a program with a fallback catches is either of CPython's two exceptions."""


for _kind, _usual in (RefusedImport, ImportError), (RefusedModule, ModuleNotFoundError):
    _kind.__name__ = _kind.__qualname__ = _usual.__name__  # what a program prints of it, and its report
    _kind.__module__ = "builtins"


def installed(name: str) -> bool:
    """Is the top-level module of this dotted name here, in this interpreter? Imports nothing."""
    from importlib.util import find_spec

    top = name.partition(".")[0]
    try:
        return top in sys.modules or find_spec(top) is not None
    except (ImportError, ValueError):
        return False


def facade_name(value: object) -> str | None:
    """The dotted name of the module that this facade stands for; None for what was not built here."""
    found = _FACADES.get(identity(value))
    return None if found is None or found[0] is not value else found[1]


def recorded() -> list[tuple[Facade, str]]:
    """The facades of this process, and the name of each."""
    return list(_FACADES.values())


def known_names(name: str, plan: LanguagePlan) -> frozenset[str]:
    """The names that the facade of this module has, submodules included: for checks, hints and ``import *``.

    Imports the real module and builds nothing. Raises `RefusedImport` and `ModuleNotFoundError` as `facade` does.
    """
    _check_importable(name, plan)
    real = import_module(name)
    present = {item for item in access.allowed_names(name, plan) if _has(real, item)}
    return frozenset(present | access.allowed_submodules(name, plan).keys())


def facade(name: str, plan: LanguagePlan) -> Facade:
    """The facade of a module (a dotted name): the same object each time, for one plan in one process.

    Raises `RefusedImport` when the plan does not open the module, `ModuleNotFoundError` with CPython's message when
    it is not installed, and whatever importing the real module raises.
    """
    built = _built(plan)
    found = built.get(name)
    if found is None:
        _check_importable(name, plan)
        found = _build(name, _load(name) or import_module(name), plan)
        built[name] = found
        _loaded()
        _FACADES[identity(found)] = found, name
    return found


def imported(plan: LanguagePlan) -> dict[str, Facade]:
    """The facades that were made for this plan, by the names of their modules."""
    return dict(_built(plan))


def importer(plan: LanguagePlan) -> Callable[..., Any]:
    """The ``__import__`` of guest code under this plan: the same contract as CPython's, with facades.

    C code that imports for itself (`datetime.strptime` imports ``_strptime``, ``str`` of an array ``numpy._core``)
    calls the ``__import__`` of the frame that called it. `PyImport_Import` gives an empty list as `fromlist`, where the
    import statement gives None or a tuple, and takes the module from `sys.modules` whatever is returned (3.11 to 3.13):
    such an import is the library's own and is done, and an empty module is returned.
    """

    def __import__(name: str, globals: object = None, locals: object = None, fromlist: Any = (), level: int = 0) -> Any:
        if type(name) is not str:
            raise TypeError("module name must be a str")
        if type(fromlist) is list:
            import_module(name)
            return ModuleType(name)
        if level:
            raise ImportError("attempted relative import with no known parent package")
        top = leaf = facade(name.partition(".")[0], plan) if "." not in name else _walk(name, plan)
        if fromlist:
            if "." in name:
                leaf = facade(name, plan)
            for item in fromlist:
                if item != "*":
                    _require(leaf, name, item, plan)
            return leaf
        return top

    return __import__


def _built(plan: LanguagePlan) -> dict[str, Facade]:
    entry = _BUILT.get(identity(plan))
    if entry is None:
        entry = _BUILT[identity(plan)] = (plan, {})
    return entry[1]


def _check_importable(name: str, plan: LanguagePlan) -> None:
    verdict = access.module_access(name, plan)
    if verdict.allowed:
        return
    if not installed(name) and not tables.module_reason(name).tag:
        raise ModuleNotFoundError(f"No module named {name.partition('.')[0]!r}", name=name)
    raise RefusedModule(name, "", verdict.rule, verdict.reason)


def _walk(name: str, plan: LanguagePlan) -> Facade:
    """Build a dotted module and each package above it, each an attribute of the one before; returns the topmost."""
    parts = name.split(".")
    for depth in range(1, len(parts) + 1):
        facade(".".join(parts[:depth]), plan)
    return facade(parts[0], plan)


def _require(leaf: Facade, module: str, item: str, plan: LanguagePlan) -> None:
    """Make sure that ``from module import item`` finds the item in the facade itself.

    Otherwise IMPORT_FROM would look for ``{module.__name__}.{item}`` in sys.modules and hand out the real submodule.
    """
    if not hasattr(leaf, item):
        submodule = access.allowed_submodules(module, plan).get(item)
        if submodule is None and access.is_unreviewed(module, plan) and item[:1] != "_" and _is_found(module, item):
            submodule = f"{module}.{item}"
        if submodule is not None:
            facade(submodule, plan)
        if not hasattr(leaf, item):
            raise _no_such_name(leaf, module, item, plan)


def _is_found(module: str, item: str) -> bool:
    """Is there a submodule of this name that has not been imported?"""
    from importlib.util import find_spec

    try:
        return find_spec(f"{module}.{item}") is not None
    except (ImportError, ValueError):
        return False


def _no_such_name(leaf: Facade, module: str, item: str, plan: LanguagePlan) -> ImportError:
    verdict = access.name_access(module, item, plan)
    if verdict.allowed or not (item in tables.refusals(module) or _exists(module, item)):
        return ImportError(f"cannot import name {item!r} from {module!r} (unknown location)", name=module)
    return RefusedImport(module, item, verdict.rule, verdict.reason)


def _exists(module: str, item: str) -> bool:
    """Does the real module have it, as an attribute or as a submodule that is loaded?"""
    real = _load(module) or sys.modules[module]
    return _has(real, item) or f"{module}.{item}" in sys.modules


def _has(real: ModuleType, item: str) -> bool:
    """Does the real module have it? Some lazy names answer with an ImportError that says what to do first."""
    try:
        return hasattr(real, item)
    except ImportError:
        return True


def _absence(real: ModuleType, item: str) -> str | None:
    """What reading a name says that the real module does not have: some tell what took its place (``np.float``)."""
    try:
        getattr(real, item)
    except AttributeError as error:
        return str(error)
    return None


def _build(name: str, real: ModuleType, plan: LanguagePlan) -> Facade:
    source = vars(real)
    reviewed = tables.table(name)
    names = access.allowed_names(name, plan)
    children = _children(name, real, plan)
    replaced = names & reviewed.replaced if reviewed is not None else frozenset()
    values: dict[str, Any] = {"__doc__": real.__doc__}
    later = set(children)
    for attribute in names - children.keys():
        if attribute in replaced:
            if (value := replacement(name, attribute)) is not None:
                values[attribute] = value
        elif attribute in source:
            if not isinstance(source[attribute], ModuleType):
                values[attribute] = source[attribute]
        elif "__getattr__" in source:  # the library makes the name when it is first read
            later.add(attribute)
    if type(version := source.get("__version__")) is str:
        values["__version__"] = version
    elif "__getattr__" in source:  # matplotlib makes it when it is first read
        later.add("__version__")
    if (listed := source.get("__all__")) is not None:
        values["__all__"] = tuple(item for item in listed if item in values or item in later - children.keys())
    resolve = _resolver(name, real, plan, frozenset(later), children)
    return sealed(name, values, later=later, resolve=resolve, properties=properties(name) if replaced else {})


def _children(name: str, real: ModuleType, plan: LanguagePlan) -> dict[str, str]:
    """The submodules that are attributes of the facade → their dotted names.

    A package may have a function and a submodule of one name: sympy.simplify is the function.
    """
    found = access.allowed_submodules(name, plan)
    return {item: dotted for item, dotted in found.items() if isinstance(vars(real).get(item, real), ModuleType)}


def _resolver(
    name: str, real: ModuleType, plan: LanguagePlan, later: frozenset[str], children: dict[str, str]
) -> Callable[[str], Any]:
    """What a facade asks for a name that it does not hold."""
    refused = tables.refusals(name)

    def resolve(attribute: str) -> Any:
        if attribute in children and hasattr(real, attribute):
            return facade(children[attribute], plan)
        if access.is_unreviewed(name, plan) and (below := access.allowed_submodules(name, plan).get(attribute)):
            return facade(below, plan)  # it has been imported since
        if attribute in later and attribute not in children and hasattr(real, attribute):
            value = getattr(real, attribute)
            _loaded()
            if not isinstance(value, ModuleType):
                return value
        if attribute not in refused:
            if attribute[:2] == "__":
                raise AttributeError(f"module {name!r} has no attribute {attribute!r}")
            if (absence := _absence(real, attribute)) is not None:
                raise AttributeError(absence)
        raise _refused_attribute(name, attribute, plan)

    return resolve


def _refused_attribute(module: str, item: str, plan: LanguagePlan) -> AttributeError:
    verdict = access.name_access(module, item, plan)
    by = f" by {verdict.rule}" if verdict.rule else ""
    refusal: Any = AttributeError(f"{module}.{item} is refused{by}: {verdict.reason or 'it is not available here'}")
    refusal.rule = verdict.rule
    return refusal  # type: ignore[no-any-return]
