"""Builds facades, and is the ``import`` statement of guest code.

A facade is a plain module object whose dict holds the allowed names, so that reading one is what it is for any module:
no check, and CPython's own specialised instruction (8 ns; a subclass of ModuleType would cost 70). Only a module that
has something lazy or something documented that is refused gets a module-level ``__getattr__`` (21 ns). The state of a
facade is in closures, not in attributes: guest code can read every attribute.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from importlib import import_module
from types import ModuleType
from typing import Any

from safeexec.facades import access, tables
from safeexec.identity import identity
from safeexec.protocol.plan import LanguagePlan

__all__ = [
    "RefusedImport",
    "RefusedModule",
    "facade",
    "importer",
    "installed",
    "is_facade",
    "known_names",
    "modules",
    "prebuild",
]

_BUILT: dict[int, tuple[LanguagePlan, dict[str, ModuleType]]] = {}
_FACADES: dict[int, ModuleType] = {}


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


def modules() -> frozenset[str]:
    """The dotted names of all modules that have a table. Loads every table, imports nothing else."""
    return tables.modules()


def installed(name: str) -> bool:
    """Is the top-level module of this dotted name here, in this interpreter? Imports nothing."""
    from importlib.util import find_spec

    top = name.partition(".")[0]
    try:
        return top in sys.modules or find_spec(top) is not None
    except (ImportError, ValueError):
        return False


def is_facade(value: object) -> bool:
    """Was this object built here? A module that is not a facade must not reach guest code."""
    return _FACADES.get(identity(value)) is value


def known_names(name: str, plan: LanguagePlan) -> frozenset[str]:
    """The names that the facade of this module has, submodules included: for checks, hints and ``import *``.

    Imports the real module and builds nothing. Raises `RefusedImport` and `ModuleNotFoundError` as `facade` does.
    """
    _check_importable(name, plan)
    real = import_module(name)
    present = {item for item in access.allowed_names(name, plan) if _has(real, item)}
    return frozenset(present | access.allowed_submodules(name, plan).keys())


def prebuild(plan: LanguagePlan, names: Iterable[str]) -> list[str]:
    """Build these facades now (in the zygote, before it forks). Returns the names that are not installed."""
    missing = []
    for name in names:
        try:
            facade(name, plan)
        except ModuleNotFoundError:
            missing.append(name)
    return missing


def facade(name: str, plan: LanguagePlan) -> ModuleType:
    """The facade of a module (a dotted name): the same object each time, for one plan in one process.

    Raises `RefusedImport` when the plan does not open the module, `ModuleNotFoundError` with CPython's message when
    it is not installed, and whatever importing the real module raises.
    """
    built = _built(plan)
    found = built.get(name)
    if found is None:
        _check_importable(name, plan)
        found = _build(name, import_module(name), plan)
        built[name] = found
        _FACADES[identity(found)] = found
    return found


def importer(plan: LanguagePlan) -> Callable[..., ModuleType]:
    """The ``__import__`` of guest code under this plan: the same contract as CPython's, with facades.

    C code that imports for itself (`datetime.strptime` imports ``_strptime``, ``str`` of an array ``numpy._core``)
    calls the ``__import__`` of the frame that called it. `PyImport_Import` gives an empty list as `fromlist`, where the
    import statement gives None or a tuple, and takes the module from `sys.modules` whatever is returned (3.11 to 3.13):
    such an import is the library's own and is done, and an empty module is returned.
    """

    def __import__(
        name: str, globals: object = None, locals: object = None, fromlist: Any = (), level: int = 0
    ) -> ModuleType:
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
                if item == "*":
                    return _starred(leaf)
                _require(leaf, name, item, plan)
            return leaf
        return top

    return __import__


def _built(plan: LanguagePlan) -> dict[str, ModuleType]:
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


def _walk(name: str, plan: LanguagePlan) -> ModuleType:
    """Build a dotted module and each package above it, each an attribute of the one before; returns the topmost."""
    parts = name.split(".")
    top = parent = facade(parts[0], plan)
    for depth in range(1, len(parts)):
        child = facade(".".join(parts[: depth + 1]), plan)
        # Set again if the guest deleted it: IMPORT_FROM falls back on sys.modules, which holds the real module.
        vars(parent).setdefault(parts[depth], child)
        parent = child
    return top


def _require(leaf: ModuleType, module: str, item: str, plan: LanguagePlan) -> None:
    """Make sure that ``from module import item`` finds the item in the facade's own dict.

    Otherwise IMPORT_FROM would look for ``{module.__name__}.{item}`` in sys.modules and hand out the real submodule.
    """
    if item in vars(leaf):
        return
    try:
        value = getattr(leaf, item)
    except AttributeError:
        submodule = access.allowed_submodules(module, plan).get(item)
        if submodule is not None:
            value = facade(submodule, plan)
        else:
            raise _no_such_name(leaf, module, item, plan) from None
    if type(leaf) is ModuleType:
        vars(leaf)[item] = value


def _starred(leaf: ModuleType) -> ModuleType:
    """What ``from module import *`` reads: the names as they are now, and none that source could not bind.

    ``__all__`` is a list of the guest's: it could name a guard of the compiler, or the facade's own ``__dict__``.
    """
    names = vars(leaf)
    listed = names.get("__all__")
    chosen = listed if type(listed) is list or type(listed) is tuple else [item for item in names if item[:1] != "_"]
    made = ModuleType(leaf.__name__)
    items = [item for item in tuple(chosen) if type(item) is str and item.isidentifier() and item[:2] != "__"]
    vars(made).update((item, getattr(leaf, item)) for item in items)
    vars(made)["__all__"] = tuple(items)
    return made


def _no_such_name(leaf: ModuleType, module: str, item: str, plan: LanguagePlan) -> ImportError:
    verdict = access.name_access(module, item, plan)
    if verdict.allowed or not (item in tables.refusals(module) or _exists(module, item)):
        return ImportError(f"cannot import name {item!r} from {module!r} (unknown location)", name=module)
    return RefusedImport(module, item, verdict.rule, verdict.reason)


def _exists(module: str, item: str) -> bool:
    """Does the real module have it, as an attribute or as a submodule that is loaded?"""
    return _has(sys.modules[module], item) or f"{module}.{item}" in sys.modules


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


def _build(name: str, real: ModuleType, plan: LanguagePlan) -> ModuleType:
    source = vars(real)
    reviewed = tables.table(name)
    names = access.allowed_names(name, plan)
    children = access.allowed_submodules(name, plan)
    made = ModuleType(name, real.__doc__)
    target = vars(made)
    replaced = names & reviewed.replaced if reviewed is not None else frozenset()
    if replaced:
        from safeexec.facades.replacements import prepare, replacement

        made = prepare(name, made)
        target = vars(made)
    lazy = set()
    # A package may have a function and a submodule of one name: sympy.simplify is the function.
    children = {item: dotted for item, dotted in children.items() if isinstance(source.get(item, real), ModuleType)}
    for attribute in names - children.keys():
        if attribute in replaced:
            value = replacement(name, attribute)
            if value is not None:
                target[attribute] = value
        elif attribute in source:
            value = source[attribute]
            if not isinstance(value, ModuleType):
                target[attribute] = value
        else:
            lazy.add(attribute)
    _finish(made, real, plan, lazy if "__getattr__" in source else set(), children)
    return made


def _finish(made: ModuleType, real: ModuleType, plan: LanguagePlan, lazy: set[str], children: dict[str, str]) -> None:
    """Set the dunder names of a facade, and a ``__getattr__`` if there is something to resolve or to refuse."""
    name, target, source = made.__name__, vars(made), vars(real)
    version = source.get("__version__")
    if type(version) is str:
        target["__version__"] = version
    listed = source.get("__all__")
    if listed is not None:
        target["__all__"] = [item for item in listed if item in target or item in lazy]
    refused = _refused_names(name, plan, source)
    if lazy or children or refused:
        target["__getattr__"] = _resolver(made, real, plan, lazy, children)
        target["__dir__"] = lambda: sorted({item for item in target if not item.startswith("__")} | lazy)


def _refused_names(name: str, plan: LanguagePlan, source: dict[str, Any]) -> bool:
    """Is there a documented name of this module whose refusal deserves a sentence of its own?"""
    reviewed = tables.table(name)
    if reviewed is None:
        return False
    makes_names = "__getattr__" in source  # when they are read: concurrent.futures.ProcessPoolExecutor
    documented = any(makes_names or item in source for item in tables.refusals(name))
    return documented or len(access.allowed_names(name, plan)) < len(reviewed.allowed)


def _resolver(
    made: ModuleType, real: ModuleType, plan: LanguagePlan, lazy: set[str], children: dict[str, str]
) -> Callable[[str], Any]:
    name, target = made.__name__, vars(made)
    refused = tables.refusals(name)

    def __getattr__(attribute: str) -> Any:
        if attribute in children and hasattr(real, attribute):
            value: Any = facade(children[attribute], plan)
        elif attribute in lazy and hasattr(real, attribute):
            value = getattr(real, attribute)
        elif attribute in refused:
            raise _refused_attribute(name, attribute, plan)
        elif attribute.startswith("__"):
            raise AttributeError(f"module {name!r} has no attribute {attribute!r}", name=attribute, obj=made)
        elif (absence := _absence(real, attribute)) is not None:
            raise AttributeError(absence, name=attribute, obj=made)
        else:
            raise _refused_attribute(name, attribute, plan)
        if isinstance(value, ModuleType) and not is_facade(value):
            raise AttributeError(f"module {name!r} has no attribute {attribute!r}")
        target[attribute] = value
        return value

    return __getattr__


def _refused_attribute(module: str, item: str, plan: LanguagePlan) -> AttributeError:
    verdict = access.name_access(module, item, plan)
    by = f" by {verdict.rule}" if verdict.rule else ""
    refusal: Any = AttributeError(f"{module}.{item} is refused{by}: {verdict.reason or 'it is not available here'}")
    refusal.rule = verdict.rule
    return refusal  # type: ignore[no-any-return]
