"""The namespace as bytes, and back: pickled inside the child that holds it, unpickled inside another one, never in the
host.

cloudpickle carries functions, classes and closures by value. What belongs to the sandbox (guarded builtins, host tools,
the namespace itself) travels as a name and is this child's own again at the other end; a function is bound to the
namespace that it is restored into. Whoever restores a state runs what it says: held by the kernel, under the policy of
the sandbox that it is restored in.
"""

from __future__ import annotations

import functools
import io
import pickle
import random
import reprlib
import sys
from collections.abc import Mapping
from importlib import import_module
from types import CellType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

import cloudpickle

from safeexec.engine.child.process import determinism
from safeexec.engine.child.process.salvage import Salvager, variables
from safeexec.protocol import messages as m

if TYPE_CHECKING:
    from safeexec.engine.child.step.guest import Guest

PROTOCOL = 5
_REASON = 200
_Cached = type(functools.lru_cache(int))
_OF_FUNCTION = (
    *("__qualname__", "__module__", "__doc__", "__defaults__", "__kwdefaults__", "__type_params__"),
    "__annotate__" if hasattr(FunctionType, "__annotate__") else "__annotations__",
)
"""The parts of a function besides its code and its closure. From 3.14 on its annotations are made when asked for."""
_MOVED = (
    *("operator", "functools", "dataclasses", "enum", "typing", "types", "inspect", "string", "copy", "ast"),
    *("contextlib", "warnings", "traceback", "logging", "asyncio", "pyarrow", "pyarrow.lib"),
)
"""Modules of which states of before 0.10 name substitutes."""
_SUBSTITUTES = "safeexec.facades.replacements."
_OF_0_9 = "safeexec.child.process.state"
"""The name that this module had then."""


def restore_special(kind: str, name: str) -> Any:
    """Stand in a pickle for an object of the sandbox; `_StateUnpickler` resolves it."""
    raise pickle.UnpicklingError(f"{kind} {name!r} can be restored in a sandbox only")


def restore_function(code: Any, name: str, closure: Any) -> Any:
    """Stand in a pickle for a function of the guest; `_StateUnpickler` resolves it."""
    raise pickle.UnpicklingError(f"function {name!r} can be restored in a sandbox only")


def restore_function_elsewhere(code: Any, globals: dict[str, Any], *parts: Any) -> Any:
    """Stand in a pickle for a function with globals of its own; `_StateUnpickler` resolves it."""
    raise pickle.UnpicklingError("a function with globals of its own can be restored in a sandbox only")


def restore_cached(function: Any, parameters: dict[str, Any]) -> Any:
    """Return a function with `functools.lru_cache`, its cache empty."""
    return functools.lru_cache(**parameters)(function)


def set_function_state(function: FunctionType, state: tuple[dict[str, Any], dict[str, Any]]) -> None:
    """Give a restored function its attributes and the contents of its closure. Its namespace is restored by itself."""
    attributes, parts = state
    function.__dict__.update(attributes)
    for cell, saved in zip(function.__closure__ or (), parts.pop("__closure__", None) or (), strict=False):
        try:
            cell.cell_contents = saved.cell_contents
        except ValueError:  # the cell was empty
            continue
    for name, value in parts.items():
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
            empty = None if obj.__closure__ is None else tuple(CellType() for _ in obj.__closure__)
            parts = {name: getattr(obj, name) for name in _OF_FUNCTION if hasattr(obj, name)}
            state = dict(obj.__dict__), {**parts, "__closure__": obj.__closure__}
            return restore_function, (obj.__code__, obj.__name__, empty), state, None, None, set_function_state
        if type(obj) is _Cached:
            # Its own reduction is a reference to __main__, which does not hold it yet when it is read back.
            return restore_cached, (obj.__wrapped__, obj.cache_parameters())
        if type(obj) is ModuleType and sys.modules.get(obj.__name__) is obj:
            # Not by a function of cloudpickle: another version of Python takes none of those.
            return import_module, (obj.__name__,)
        reduced = super().reducer_override(obj)
        if type(obj) is FunctionType and isinstance(reduced, tuple):
            # cloudpickle would make it with the real builtins.
            return (restore_function_elsewhere, *reduced[1:])
        return reduced


class _StateUnpickler(pickle.Unpickler):
    def __init__(self, file: Any, namespace: dict[str, Any], specials: Mapping[tuple[str, str], Any]) -> None:
        super().__init__(file)
        self._namespace = namespace
        self._specials = specials

    def find_class(self, module: str, name: str) -> Any:
        own = {
            "restore_special": self._special,
            "restore_function": self._function,
            "restore_function_elsewhere": self._function_elsewhere,
        }
        if module == _OF_0_9:
            module = __name__
        if module == __name__ and name in own:
            return own[name]
        if module.startswith(_SUBSTITUTES):
            module = next(home for home in _MOVED if hasattr(import_module(home), name))
        if (module, name) == (__name__, "restore_repr"):  # of before 0.10: the `__repr__` of a dataclass
            return reprlib.recursive_repr()
        found = import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
        return found

    def _special(self, kind: str, name: str) -> Any:
        if kind == "facade":  # of before 0.10: what stood for a module
            return import_module(name)
        try:
            return self._specials[kind, name]
        except KeyError:
            raise pickle.UnpicklingError(f"{kind} {name!r} does not exist in this sandbox") from None

    def _function(self, code: Any, name: str, closure: Any) -> FunctionType:
        # Created in the namespace, so that its builtins are those that the policy gives.
        return FunctionType(code, self._namespace, name, None, closure)

    def _function_elsewhere(self, code: Any, globals: dict[str, Any], *parts: Any) -> FunctionType:
        globals["__builtins__"] = self._namespace["__builtins__"]
        return FunctionType(code, globals, *parts)


def specials(guest: Guest) -> dict[tuple[str, str], Any]:
    """Return what belongs to the sandbox, by kind and name. ``_``, the last value, is the guest's."""
    namespace, builtins = guest.namespace, guest.language.builtins
    found = {("builtin", name): value for name, value in builtins.items() if not isinstance(value, type)}
    found.pop(("builtin", "_"), None)
    found |= {("sandbox", name): namespace[name] for name in guest.hidden if name in namespace}
    found["sandbox", "namespace"] = namespace
    # Values that every process has anyway travel by value.
    return {key: value for key, value in found.items() if value is not None and not isinstance(value, (str, bool, int))}


NO_FILE = "no descriptor came with the request"


def save(fd: int | None, guest: Guest, lasting: bool = False) -> m.Saved:
    """Write the guest's variables to a file; for a `lasting` state also the random numbers to come, and what is known
    of the steps so far, so that the steps after it can be repeated from there.
    """
    if fd is None:
        return m.Saved(0, [], {}, {}, NO_FILE)
    names = guest.names()[: m.MANY]
    own = specials(guest)
    with open(fd, "w+b") as file:
        try:
            with determinism.paused():  # names of classes are random, and no numbers of the program's
                failed = dump(file, names, guest.namespace, own)
                if lasting:
                    numpy: Any = sys.modules.get("numpy.random")
                    numbers = {"random": random.getstate(), "numpy": None if numpy is None else numpy.get_state()}
                    pickle.dump((guest.repeatable.known(), numbers), file, PROTOCOL)
            file.flush()
        except Exception as error:
            return m.Saved(0, [], {}, {}, problem(error))
        saved = [name for name in names if name not in failed]
        return m.Saved(file.tell(), saved, failed, libraries())


def load(fd: int | None, guest: Guest, foreign: bool = False) -> m.Done:
    """Bind what `save` wrote; no code, if it is `foreign`."""
    guest.repeatable.seen.unpredictable = True  # whatever it loads, no step has named
    if fd is None:
        return m.Done(problem=NO_FILE)
    own = specials(guest)
    rest: Any = None
    with open(fd, "rb") as file:
        try:
            restored, lost = undump(file, guest.namespace, own, foreign)
            if not lost and file.peek(1):
                rest = pickle.load(file)
        except BaseException as error:
            return m.Done(problem=problem(error))
    guest.namespace.update({name: value for name, value in restored.items() if name not in guest.hidden})
    notes = [f"{name!r} was not restored: {reason}"[: m.NOTE_CHARACTERS] for name, reason in lost.items()]
    if rest is not None:
        known, numbers = rest
        guest.repeatable.know(known)
        random.setstate(numbers["random"])
        numpy: Any = sys.modules.get("numpy.random")
        if numpy is not None and numbers["numpy"] is not None:
            numpy.set_state(numbers["numpy"])
    return m.Done(notes=notes[: m.FEW])


def dump(file: Any, names: list[str], namespace: dict[str, Any], own: Mapping[tuple[str, str], Any]) -> dict[str, str]:
    """Pickle the variables `names` into `file`. Returns the names that could not be saved, with the reason.

    The list of them comes first, then one pickle for each, with one memo: what two variables share stays shared. Only
    if that fails is each tried by itself, to find the ones that cannot go. Raises PicklingError.
    """
    by_id = {id(value): key for key, value in own.items()}

    def attempt(chosen: list[str], target: Any) -> str:
        # What others are made of comes first: a variable that fails later takes with it what only it has described.
        ordered = sorted(chosen, key=lambda name: not issubclass(type(namespace[name]), (type, FunctionType)))
        try:
            dumper = _Dumper(target, namespace, by_id)
            for part in (ordered, *(namespace[name] for name in ordered)):
                dumper.dump(part)
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
        reason = attempt([name], sink)
        file.seek(start)
        if reason:
            failed[name] = reason
        else:
            sizes[name] = sink.size
    file.seek(start)
    reason = attempt(list(sizes), file)
    if reason:
        largest = sorted(sizes, key=lambda name: sizes[name], reverse=True)[:3]
        listed = ", ".join(f"{name} ({sizes[name] >> 20} MiB)" for name in largest)
        raise pickle.PicklingError(f"{reason}; the largest variables: {listed}")
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
    """Return an exception in one line that any message can carry."""
    text = f"{type(error).__name__}: {error}".removesuffix(": ")[:length]
    return text.encode("utf-8", "backslashreplace").decode()[: m.PROBLEM_CHARACTERS]


def libraries() -> dict[str, str]:
    """Return the versions of the libraries that are loaded and whose pickles change between versions."""
    names = ("numpy", "pandas", "scipy", "sklearn", "sympy", "matplotlib")
    return {name: str(getattr(sys.modules[name], "__version__", ""))[:40] for name in names if name in sys.modules}


def undump(
    file: Any, namespace: dict[str, Any], own: Mapping[tuple[str, str], Any], foreign: bool
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the variables that `dump` wrote, and those that cannot be restored, with the reason. Runs what the pickles
    say: only ever in a locked-down child. Raises what the last one raised if none can be restored. `foreign`: what
    holds code is not restored.
    """
    start, find = file.tell(), _StateUnpickler(io.BytesIO(), namespace, own).find_class

    def find_no_code(module: str, name: str) -> Any:
        if module.startswith("cloudpickle") or name in ("CodeType", "restore_function", "restore_function_elsewhere"):
            raise pickle.UnpicklingError("it is code, and another minor version of Python has saved it")
        return find(module, name)

    if foreign:
        return _salvaged(file, find_no_code)
    try:
        unpickler = _StateUnpickler(file, namespace, own)
        first = unpickler.load()
        if type(first) is dict:  # of 0.9, which made one pickle of all
            return first, {}
        return {name: unpickler.load() for name in variables(first)}, {}
    except Exception:
        file.seek(start)
    return _salvaged(file, find)


def _salvaged(file: Any, find_class: Any) -> tuple[dict[str, Any], dict[str, str]]:
    """Return what `undump` does, by an unpickler that goes on where one variable fails."""
    salvager = Salvager(file, find_class)
    first = salvager.load()
    if type(first) is dict and not salvager.errors:  # of 0.9, as above
        return first, {}
    restored: dict[str, Any] = {}
    lost: dict[str, Exception] = {}
    for name in variables(first):
        value = salvager.load()
        if salvager.errors:
            lost[name] = salvager.errors[0]
        else:
            restored[name] = value
    if lost and not restored:
        raise lost.popitem()[1]
    return restored, {name: problem(error, _REASON) for name, error in lost.items()}
