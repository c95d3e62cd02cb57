"""The namespace as bytes, and back: pickled inside the child that holds it, unpickled inside another one, never in the
host.

cloudpickle carries functions, classes and closures by value. What belongs to the sandbox (facades, guarded builtins,
host tools, the namespace itself) travels as a name and is this child's own again at the other end; a function is bound
to the namespace that it is restored into, with the builtins of the policy and no others.
"""

from __future__ import annotations

import dataclasses
import functools
import io
import pickle
import sys
from _random import Random
from collections.abc import Callable, Mapping
from types import CodeType, FunctionType, ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import cloudpickle
import cloudpickle.cloudpickle as engine

from safeexec.child.process.salvage import Salvager
from safeexec.child.process.state_names import Inert, Untouched, find, judge, variables
from safeexec.facades.build import facade, recorded
from safeexec.identity import identity
from safeexec.protocol import messages as m
from safeexec.protocol.plan import LanguagePlan

if TYPE_CHECKING:
    from safeexec.child.step.execute import Guest

PROTOCOL = 5
_REASON = 200
_Cached = type(functools.lru_cache(int))
_OF_CLOUDPICKLE = "cloudpickle.cloudpickle"


def restore_special(kind: str, name: str) -> Any:
    """Stands in a pickle for an object of the sandbox; `_StateUnpickler` resolves it."""
    raise pickle.UnpicklingError(f"{kind} {name!r} can be restored in a sandbox only")


def restore_function(code: Any, name: str, closure: Any) -> Any:
    """Stands in a pickle for a function of the guest; `_StateUnpickler` resolves it."""
    raise pickle.UnpicklingError(f"function {name!r} can be restored in a sandbox only")


def restore_cached(function: Any, parameters: dict[str, Any]) -> Any:
    """A function with `functools.lru_cache`, its cache empty."""
    return functools.lru_cache(**parameters)(function)


def restore_repr(function: Any) -> Any:
    """The `__repr__` of a dataclass, as Python 3.11 and 3.12 make it: a function of a module that has `_thread`."""
    return dataclasses._recursive_repr(function)  # type: ignore[attr-defined]


def set_function_state(function: FunctionType, state: tuple[dict[str, Any], dict[str, Any]]) -> None:
    """What cloudpickle does for a function, short of touching its globals: the namespace is restored by itself."""
    attributes, slots = state
    function.__dict__.update(attributes)
    for cell, saved in zip(function.__closure__ or (), slots.pop("__closure__") or (), strict=False):
        try:
            cell.cell_contents = saved.cell_contents
        except ValueError:  # the cell was empty
            continue
    # Spelled, as what a function does is stored by code that does so.
    function.__defaults__, function.__kwdefaults__ = slots.pop("__defaults__", None), slots.pop("__kwdefaults__", None)
    for name, value in slots.items():
        setattr(function, name, value)


def set_foreign_state(function: FunctionType, state: tuple[dict[str, Any], dict[str, Any]]) -> None:
    """The same for a function of another namespace, which has the guest's builtins and keeps them."""
    _, slots = state
    space = slots.pop("__globals__", {})
    space.pop("__builtins__", None)
    slots.pop("_cloudpickle_submodules", None)
    function.__globals__.update(space)
    set_function_state(function, state)


def _type_of_python(name: str) -> Any:
    """As `_builtin_type` of cloudpickle, with a function for the type of code: code is made by who spells it."""
    return _make_code if name == "CodeType" else engine._builtin_type(name)


def _make_code(*arguments: Any) -> CodeType:
    return CodeType(*arguments)


class _ByIdentity:
    """A table whose keys are classes. A metaclass of the program says what its classes are equal to: a dict would hand
    it those of the table, of which code objects are made.
    """

    def __init__(self, table: Mapping[Any, Any]) -> None:
        self._values = {identity(key): value for key, value in table.items()}

    def __contains__(self, key: Any) -> bool:
        return identity(key) in self._values

    def __getitem__(self, key: Any) -> Any:
        return self._values[identity(key)]


engine._BUILTIN_TYPE_NAMES = _ByIdentity(engine._BUILTIN_TYPE_NAMES)


def _name_of_class() -> Any:
    """A random name for a class in a state. Not by `uuid`: a save would take it from the program's next random numbers,
    which `determinism` of the policy fixes.
    """
    return SimpleNamespace(hex=f"{Random().getrandbits(128):032x}")


engine.uuid = SimpleNamespace(uuid4=_name_of_class)


class _Dumper(cloudpickle.Pickler):  # type: ignore[misc]
    def __init__(
        self, file: Any, namespace: dict[str, Any], specials: Mapping[int, tuple[str, str]], plan: LanguagePlan
    ) -> None:
        self.dispatch_table = _ByIdentity(cloudpickle.Pickler.dispatch_table)  # read once, by what follows
        super().__init__(file, protocol=PROTOCOL)
        self._namespace = namespace
        self._specials = specials
        self._plan = plan

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
        if (
            type(obj) is FunctionType
            and obj.__globals__.get("__name__") == "dataclasses"
            and obj.__code__.co_qualname == "_recursive_repr.<locals>.wrapper"
        ):
            return restore_repr, (vars(obj)["__wrapped__"],)
        if self._plan.mode == "restricted" and type(obj) is ModuleType:
            facade(obj.__name__, self._plan)  # what cannot be had again is told now
        # An object that says that it is a function would be asked for its code, and that compared with code of others.
        if type(obj) is FunctionType or issubclass(type(obj), type):
            return super().reducer_override(obj)
        return NotImplemented


class _StateUnpickler(pickle.Unpickler):
    def __init__(
        self, file: Any, namespace: dict[str, Any], specials: Mapping[tuple[str, str], Any], plan: LanguagePlan
    ) -> None:
        super().__init__(file)
        self._namespace = namespace
        self._specials = specials
        self._plan = plan

    def find_class(self, module: str, name: str) -> Any:
        own = self._own(module, name)
        if own is not None:
            return own
        if self._plan.mode != "restricted":
            return super().find_class(module, name)
        if module == "builtins" and ("builtin", name) in self._specials:
            return self._special("builtin", name)
        return find(module, name, self._plan)

    def _own(self, module: str, name: str) -> Any:
        """What stands in a pickle for the sandbox's own, and what cloudpickle would make with the real builtins."""
        if module == __name__:
            return {
                "restore_special": self._special,
                "restore_function": self._function,
                "restore_cached": restore_cached,
                "restore_repr": restore_repr,
                "set_function_state": set_function_state,
            }[name]
        if module == _OF_CLOUDPICKLE and self._plan.mode == "restricted":
            return {
                "_builtin_type": _type_of_python,
                "subimport": functools.partial(self._special, "facade"),
                "_make_function": self._foreign_function,
                "_function_setstate": set_foreign_state,
            }.get(name)
        return None

    def _foreign_function(
        self, code: Any, space: dict[str, Any] | None, name: str, defaults: Any, closure: Any
    ) -> FunctionType:
        """A function of another namespace than the guest's: one that a text was run in, or a library made."""
        space = {} if type(space) is not dict else space
        space["__builtins__"] = self._namespace["__builtins__"]
        return FunctionType(code, space, name, defaults, closure)

    def _special(self, kind: str, name: str) -> Any:
        if kind == "facade":
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
    """What belongs to the sandbox, by kind and name. ``_``, the last value, is the guest's."""
    found = {("builtin", name): value for name, value in builtins.items() if not isinstance(value, type)}
    found.pop(("builtin", "_"), None)
    found |= {("sandbox", name): namespace[name] for name in hidden if name in namespace}
    found["sandbox", "namespace"] = namespace
    # Values that every process has anyway travel by value.
    return {key: value for key, value in found.items() if value is not None and not isinstance(value, (str, bool, int))}


NO_FILE = "no descriptor came with the request"


def save(fd: int | None, guest: Guest) -> m.Saved:
    """Write the guest's variables to a file."""
    if fd is None:
        return m.Saved(0, [], {}, {}, NO_FILE)
    names = guest.names()[: m.MANY]
    own = specials(guest.namespace, guest.language.builtins, guest.hidden)
    with open(fd, "w+b") as file:
        try:
            failed = dump(file, names, guest.namespace, own, guest.language.plan)
            file.flush()
        except Exception as error:
            return m.Saved(0, [], {}, {}, problem(error))
        saved = [name for name in names if name not in failed]
        return m.Saved(file.tell(), saved, failed, libraries())


def load(fd: int | None, guest: Guest) -> m.Done:
    """Bind what `save` wrote."""
    if fd is None:
        return m.Done(problem=NO_FILE)
    own = specials(guest.namespace, guest.language.builtins, guest.hidden)
    with open(fd, "rb") as file:
        try:
            restored, lost = undump(file, guest.namespace, own, guest.language.plan)
        except BaseException as error:
            return m.Done(problem=problem(error))
    guest.namespace.update({name: value for name, value in restored.items() if name not in guest.hidden})
    notes = [f"{name!r} was not restored: {reason}"[: m.NOTE_CHARACTERS] for name, reason in lost.items()]
    return m.Done(notes=notes[: m.FEW])


def dump(
    file: Any, names: list[str], namespace: dict[str, Any], own: Mapping[tuple[str, str], Any], plan: LanguagePlan
) -> dict[str, str]:
    """Pickle the variables `names` into `file`. Returns the names that could not be saved, with the reason.

    The list of them comes first, then one pickle for each, with one memo: what two variables share stays shared. Only
    if that fails is each tried by itself, to find the ones that cannot go. Raises PicklingError.
    """
    by_id = {id(value): key for key, value in own.items()}
    if plan.mode == "restricted":
        by_id |= {id(made): ("facade", name) for made, name in recorded()}

    def attempt(chosen: list[str], target: Any) -> str:
        # What others are made of comes first: a variable that fails later takes with it what only it has described.
        ordered = sorted(chosen, key=lambda name: not issubclass(type(namespace[name]), (type, FunctionType)))
        try:
            dumper = _Dumper(target, namespace, by_id, plan)
            for part in (ordered, *(namespace[name] for name in ordered)):
                dumper.dump(part)
        except Exception as error:
            return problem(error, _REASON)
        return ""

    start = file.tell()
    if not attempt(names, file) and not _problem_of_names(file, start, own, plan):
        return {}
    failed: dict[str, str] = {}
    sizes: dict[str, int] = {}
    for name in names:
        sink = _Sink()
        reason = attempt([name], sink)
        file.seek(start)
        if not reason and not attempt([name], file):  # else it is too large for the file, which is told below
            reason = _problem_of_names(file, start, own, plan)
        if reason:
            failed[name] = reason
        else:
            sizes[name] = sink.size
    file.seek(start)
    reason = attempt(list(sizes), file) or _problem_of_names(file, start, own, plan)
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


def _problem_of_names(file: Any, start: int, own: Mapping[tuple[str, str], Any], plan: LanguagePlan) -> str:
    """Why what was just written could not be loaded: a name in it that is not on the list; or nothing."""
    if plan.mode != "restricted":
        return ""
    end = file.tell()
    file.seek(start)
    try:
        judge_names(file, {}, own, plan, Inert)
    except Exception as error:
        return problem(error, _REASON)
    finally:
        file.seek(end)
    return ""


def judge_names(
    file: Any, namespace: dict[str, Any], own: Mapping[tuple[str, str], Any], plan: LanguagePlan, made: type[Inert]
) -> None:
    """Look at every name in the pickle that begins here, and run nothing of it. Raises UnpicklingError."""
    judge(file, _StateUnpickler(io.BytesIO(), namespace, own, plan).find_class, made)


def problem(error: BaseException, length: int = 500) -> str:
    """An exception in one line that any message can carry."""
    told = f"{type(error).__name__}: {error}".removesuffix(": ")[:length]
    return told.encode("utf-8", "backslashreplace").decode()[: m.PROBLEM_CHARACTERS]


def libraries() -> dict[str, str]:
    """Versions of the libraries that are loaded and whose pickles change between versions."""
    found = {}
    for name in ("numpy", "pandas", "scipy", "sklearn", "sympy", "matplotlib"):
        module = sys.modules.get(name)
        if module is not None:
            found[name] = str(getattr(module, "__version__", ""))[:40]
    return found


def undump(
    file: Any, namespace: dict[str, Any], own: Mapping[tuple[str, str], Any], plan: LanguagePlan
) -> tuple[dict[str, Any], dict[str, str]]:
    """The variables that `dump` wrote, and those that cannot be restored, with the reason. Runs what the pickles say:
    only ever in a locked-down child. Raises what the last one raised if none can be restored.
    """
    start = file.tell()
    try:
        if plan.mode == "restricted":
            judge_names(file, namespace, own, plan, Untouched)
            file.seek(start)
        unpickler = _StateUnpickler(file, namespace, own, plan)
        return {name: unpickler.load() for name in variables(unpickler)}, {}
    except Exception:
        file.seek(start)
    return _salvaged(file, _StateUnpickler(io.BytesIO(), namespace, own, plan).find_class)


def _salvaged(file: Any, find_class: Callable[[str, str], Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """As `undump`, by an unpickler that goes on where one variable fails, and judges what is set of an object."""
    salvager = Salvager(file, find_class)
    restored: dict[str, Any] = {}
    lost: dict[str, Exception] = {}
    for name in variables(salvager):
        value = salvager.load()
        if salvager.errors:
            lost[name] = salvager.errors[0]
        else:
            restored[name] = value
    if lost and not restored:
        raise lost.popitem()[1]
    return restored, {name: problem(error, _REASON) for name, error in lost.items()}
