"""The namespace as bytes, and back: pickled inside the child that holds it, unpickled inside another one, never in the
host.

cloudpickle carries functions, classes and closures by value. What belongs to the sandbox (facades, guarded builtins,
host tools, the namespace itself) travels as a name and is this child's own again at the other end; a function is bound
to the namespace that it is restored into, with the builtins of the policy and no others.
"""

from __future__ import annotations

import functools
import io
import pickle
import sys
from collections.abc import Mapping
from types import FunctionType, ModuleType
from typing import Any

import cloudpickle
import cloudpickle.cloudpickle as engine

from safeexec.protocol.plan import LanguagePlan

PROTOCOL = 5
_REASON = 200
_COMPANIONS = {
    "pandas": ("pyarrow", "dateutil", "pytz"),
    "sklearn": ("joblib", "scipy"),
    "matplotlib": ("mpl_toolkits", "kiwisolver", "cycler", "PIL"),
    "sympy": ("mpmath",),
}
"""Packages whose objects those of another package are made of."""
_REPLACEMENTS = "safeexec.facades.replacements."
_Cached = type(functools.lru_cache(int))
_GUARDED_BUILTINS = frozenset(
    [
        "eval",
        "exec",
        "compile",
        "open",
        "input",
        "__import__",
        "getattr",
        "setattr",
        "delattr",
        "vars",
        "globals",
        "locals",
        "breakpoint",
        "help",
        "memoryview",
    ]
)
_COMPANION_NAMES = frozenset({("_thread", "get_ident")})
"""What else a pickle may name: of the __repr__ that dataclasses of 3.13 have."""
_HELPERS = frozenset(("cloudpickle", "copyreg", "_codecs", "functools", "operator", "types", "collections", "builtins"))


def restore_special(kind: str, name: str) -> Any:
    """Stands in a pickle for an object of the sandbox; `_Loader` resolves it."""
    raise pickle.UnpicklingError(f"{kind} {name!r} can be restored in a sandbox only")


def restore_function(code: Any, name: str, closure: Any) -> Any:
    """Stands in a pickle for a function of the guest; `_Loader` resolves it."""
    raise pickle.UnpicklingError(f"function {name!r} can be restored in a sandbox only")


def restore_cached(function: Any, parameters: dict[str, Any]) -> Any:
    """A function with `functools.lru_cache`, its cache empty."""
    return functools.lru_cache(**parameters)(function)


def set_function_state(function: FunctionType, state: tuple[dict[str, Any], dict[str, Any]]) -> None:
    """What cloudpickle does for a function, short of touching its globals: the namespace is restored by itself."""
    attributes, slots = state
    function.__dict__.update(attributes)
    for cell, saved in zip(function.__closure__ or (), slots.pop("__closure__") or (), strict=False):
        try:
            cell.cell_contents = saved.cell_contents
        except ValueError:  # the cell was empty
            continue
    for name, value in slots.items():
        setattr(function, name, value)


class _Dumper(cloudpickle.Pickler):  # type: ignore[misc]
    def __init__(self, file: Any, namespace: dict[str, Any], specials: Mapping[int, tuple[str, str]]) -> None:
        super().__init__(file, protocol=PROTOCOL)
        self._namespace = namespace
        self._specials = specials

    def reducer_override(self, obj: Any) -> Any:
        special = self._specials.get(id(obj))
        if special is not None:
            return restore_special, special
        if type(obj) is FunctionType and obj.__globals__ is self._namespace:
            attributes, slots = engine._function_getstate(obj)
            for key in ("__globals__", "_cloudpickle_submodules"):
                slots.pop(key, None)
            empty = None if obj.__closure__ is None else tuple(engine._make_empty_cell() for _ in obj.__closure__)
            arguments = (obj.__code__, obj.__name__, empty)
            return restore_function, arguments, (attributes, slots), None, None, set_function_state
        if type(obj) is _Cached:
            # Its own reduction is a reference to __main__, which does not hold it yet when it is read back.
            return restore_cached, (obj.__wrapped__, obj.cache_parameters())
        return super().reducer_override(obj)


class _Loader(pickle.Unpickler):
    def __init__(
        self, file: Any, namespace: dict[str, Any], specials: Mapping[tuple[str, str], Any], plan: LanguagePlan
    ) -> None:
        super().__init__(file)
        self._namespace = namespace
        self._specials = specials
        self._plan = plan
        self._packages = _HELPERS | {entry.partition(".")[0] for entry in plan.imports}
        self._packages |= {name for package in self._packages for name in _COMPANIONS.get(package, ())}

    def find_class(self, module: str, name: str) -> Any:
        if module == __name__:
            return {
                "restore_special": self._special,
                "restore_function": self._function,
                "restore_cached": restore_cached,
                "set_function_state": set_function_state,
            }[name]
        if self._plan.mode == "restricted":
            if module == "builtins" and name in _GUARDED_BUILTINS:
                return self._special("builtin", name)
            top = module.partition(".")[0]
            known = module.startswith(_REPLACEMENTS) or (module, name) in _COMPANION_NAMES
            if top not in self._packages and not known:
                raise pickle.UnpicklingError(f"the saved state names {module}.{name}, which the policy does not allow")
        return super().find_class(module, name)

    def _special(self, kind: str, name: str) -> Any:
        if kind == "facade":
            from safeexec.facades.build import facade

            return facade(name, self._plan)
        try:
            return self._specials[kind, name]
        except KeyError:
            raise pickle.UnpicklingError(f"{kind} {name!r} does not exist in this sandbox") from None

    def _function(self, code: Any, name: str, closure: Any) -> FunctionType:
        # Created in the namespace, so that its builtins are those that the policy gives.
        return FunctionType(code, self._namespace, name, None, closure)


def specials(
    namespace: dict[str, Any], builtins: Mapping[str, Any], hidden: frozenset[str]
) -> dict[tuple[str, str], Any]:
    """What belongs to the sandbox, by kind and name."""
    found = {("builtin", name): value for name, value in builtins.items() if not isinstance(value, type)}
    found |= {("sandbox", name): namespace[name] for name in hidden if name in namespace}
    found["sandbox", "namespace"] = namespace
    # Values that every process has anyway travel by value.
    return {key: value for key, value in found.items() if value is not None and not isinstance(value, (str, bool, int))}


def dump(
    file: Any, names: list[str], namespace: dict[str, Any], own: Mapping[tuple[str, str], Any], plan: LanguagePlan
) -> dict[str, str]:
    """Pickle the variables `names` into `file`. Returns the names that could not be saved, with the reason.

    All of them go into one pickle, so that what two variables share stays shared. Only if that fails is each tried by
    itself, to find the ones that cannot go. Raises PicklingError.
    """
    by_id = {id(value): key for key, value in own.items()}
    if plan.mode == "restricted":
        from safeexec.facades.build import is_facade

        _add_facades(by_id, namespace, is_facade)

    def attempt(chosen: list[str], target: Any) -> str:
        try:
            _Dumper(target, namespace, by_id).dump({name: namespace[name] for name in chosen})
        except Exception as error:
            return problem(error, _REASON)
        return ""

    start = file.tell()
    if not attempt(names, file):
        return {}
    failed: dict[str, str] = {}
    sizes: dict[str, int] = {}
    for name in names:
        sink = _Sink()
        if reason := attempt([name], sink):
            failed[name] = reason
        else:
            sizes[name] = sink.size
    file.seek(start)
    reason = attempt(list(sizes), file)
    if reason:
        largest = sorted(sizes, key=lambda name: sizes[name], reverse=True)[:3]
        told = ", ".join(f"{name} ({sizes[name] >> 20} MiB)" for name in largest)
        raise pickle.PicklingError(f"{reason}; the largest variables: {told}")
    return failed


class _Sink(io.RawIOBase):
    """Counts what is written, and keeps nothing of it: a variable may be half of the memory there is."""

    size = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        count = memoryview(data).nbytes
        self.size += count
        return count


def problem(error: BaseException, length: int = 500) -> str:
    """An exception in one line that any message can carry."""
    told = f"{type(error).__name__}: {error}".removesuffix(": ")[:length]
    return told.encode("utf-8", "backslashreplace").decode()


def _add_facades(by_id: dict[int, tuple[str, str]], namespace: dict[str, Any], is_facade: Any) -> None:
    """Facades that variables reach directly or as a submodule: ``np``, ``np.random``."""
    pending = [value for value in namespace.values() if isinstance(value, ModuleType)]
    while pending:
        module = pending.pop()
        if id(module) not in by_id and is_facade(module):
            by_id[id(module)] = ("facade", module.__name__)
            pending += [value for value in vars(module).values() if isinstance(value, ModuleType)]


def libraries() -> dict[str, str]:
    """Versions of the libraries that are loaded and whose pickles change between versions."""
    found = {}
    for name in ("numpy", "pandas", "scipy", "sklearn", "sympy", "matplotlib"):
        module = sys.modules.get(name)
        if module is not None:
            found[name] = str(getattr(module, "__version__", ""))[:40]
    return found


def load(
    file: Any, namespace: dict[str, Any], own: Mapping[tuple[str, str], Any], plan: LanguagePlan
) -> dict[str, Any]:
    """The variables of a pickle that `dump` wrote. Runs what the pickle says: only ever in a locked-down child."""
    restored = _Loader(file, namespace, own, plan).load()
    if type(restored) is not dict or not all(type(name) is str for name in restored):
        raise pickle.UnpicklingError("the saved state holds no variables")
    return restored
