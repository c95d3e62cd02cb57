"""May the caller do that? Asked when a class is changed, and when what leads away from a program is read or stored.

Compiled code does these things without a call of `guards`; classes and attributes ask here (`facades/judged.py`). The
answer comes from the frames that stand above: code of a library may do what it spells, a program what its policy
allows.
"""

from __future__ import annotations

import sys
from collections.abc import Container, Mapping
from types import CodeType, FrameType, ModuleType
from typing import Any, Final

from safeexec.child.language import guards
from safeexec.child.language.guards import refusal
from safeexec.child.language.program import OF_PYBIND11, GuestProgram, is_of_program
from safeexec.child.language.spelling import spells
from safeexec.compiler.rules import PLAIN, Rules
from safeexec.facades.judged import Ask, Judge
from safeexec.facades.layout import write_to_class
from safeexec.facades.sealing import SEALED_LIBRARIES, WRITE_TO_THEMSELVES
from safeexec.identity import class_name, dict_of, dict_of_module, identity, mro_of, qualname_of


def judge_of_class_stores(own: GuestProgram) -> Judge:
    """Who may set and delete attributes of a class: the program those of its own classes. Of a library's class, these:

    1. The function that stores, if it is one of a library that changes this class of itself (`means`). What Python's
       own modules store they store for who has called them (`functools.total_ordering`, a metaclass' ``__setattr__``),
       so they may change classes of the same module alone.
    2. A module that is being loaded, and code of the class's library that it runs. Not what these call: an
       ``isinstance`` of theirs may be answered by a metaclass of the program.
    3. The library of the class while it makes it, with whatever stands in between. A thread, a finalizer or a callback
       has no caller: in its name nothing else changes.

    Python's own classes are immutable, except those that write to themselves. A descriptor of C that is called by name
    stores in the name of any frame: in a class of the program alone.
    """

    methods: dict[tuple[int, int], tuple[bool, CodeType, type]] = {}
    """Identities of the code of a function and of a class → whether it is a method of the class, and both."""

    def means(frame: FrameType, cls: type, name: Any) -> bool:
        """Tell whether a function of a library changes this class of itself: it is a method of the class, or spells its
        name, or is a method of an object of it. A class among its arguments was given to it
        (``Scaler.__init__(DataFrame)``), and one in another variable by what it called. What the class has under this
        name may take itself away: it is asked once.
        """
        code = frame.f_code
        found = frame.f_locals
        variables = [found.get(name) for name in (*code.co_varnames, *code.co_cellvars)]
        given = variables[: code.co_argcount + code.co_kwonlyargcount]
        first = given[0] if given else None
        if first is not None and type(name) is str and dict_of(cls).get(name) is first:
            return True
        if all(item is not cls for item in given):
            own_name = class_name(cls)
            is_spelt = any(own_name in spelt for spelt in (code.co_names, code.co_varnames, code.co_freevars))
            if is_spelt and all(item is not cls for item in variables):
                return True
            # A method of an object of the program may have given the class: ``copy`` of a frame, the frame's class.
            if any(own.has_class(type(item)) for item in given):
                return False
            return any(base is cls for base in mro_of(type(first)))
        key = identity(code), identity(cls)
        if key not in methods:
            methods[key] = _is_method(frame, cls), code, cls
        return first is cls and methods[key][0]

    def judge(cls: type, name: Any, is_called: bool = False) -> None:
        home: Any = dict_of(cls).get("__module__")
        if type(home) is not str or own.has(home):  # without a module: what `sympy.Function("f")` makes
            return
        library = home.partition(".")[0]
        if library in SEALED_LIBRARIES:
            # Immutable soon, if it is one that a library has loaded in the middle of a step: by us, too.
            is_ours = sys._getframe(2).f_code is write_to_class.__code__
            if (home, class_name(cls)) not in WRITE_TO_THEMSELVES and (is_ours or not _is_found(cls, home)):
                return
        elif library not in sys.modules and library != OF_PYBIND11:
            return
        frame: FrameType | None = None if is_called else sys._getframe()
        is_direct = is_own_code = True
        while frame is not None and not is_of_program(frame):
            storing = str(frame.f_globals.get("__name__"))
            root = storing.partition(".")[0]
            if root != "safeexec":
                if is_direct and (root not in SEALED_LIBRARIES or storing == home) and means(frame, cls, name):
                    return  # 1
                is_loader = storing == "importlib._bootstrap"
                if is_loader and is_own_code:
                    return  # 2
                if (root == library or (is_loader and _is_loading(home))) and not _is_found(cls, home):
                    return  # 3
                is_direct, is_own_code = False, is_own_code and root in (library, *_STORE_FOR_OTHERS)
            frame = frame.f_back
        raise TypeError(f"cannot set {name!r} attribute of immutable type {class_name(cls)!r}")

    return judge


def _is_method(frame: FrameType, cls: type) -> bool:
    """Tell whether a function that has this class as its first argument is a method of classes, and of this one."""
    code = frame.f_code
    owner: Any = None
    found: Any = None
    space: Any = frame.f_globals
    for part in code.co_qualname.split("."):
        owner, found = found, space.get(part)
        space = dict_of(found) if issubclass(type(found), type) else {}
    if not issubclass(type(owner), type):
        return False
    of_class = type(found) is classmethod or code.co_name in _OF_CLASSES
    return any(base is owner for base in mro_of(cls if of_class else type(cls)))


_OF_CLASSES: Final = ("__new__", "__init_subclass__", "__class_getitem__")
"""Methods that are given the class, and that no decorator says so of."""


def _is_found(cls: type, home: str) -> bool:
    """Tell whether a module has the class under its name: not one that is just being made."""
    module = sys.modules.get(home)
    space: Any = dict_of_module(module) if isinstance(module, ModuleType) else {}
    found: Any = None
    for part in qualname_of(cls).split("."):
        found = space.get(part)
        space = dict_of(found) if issubclass(type(found), type) else {}
    return found is cls


_STORE_FOR_OTHERS: Final = ("dataclasses", "enum")
"""Modules of Python that store into a class for the library that has it, with no call in between that would be answered
by a program.
"""


def _is_loading(home: str) -> bool:
    """Tell whether a module is being loaded: one of C, which has no frame that the loader would stand behind."""
    module = sys.modules.get(home)
    spec: Any = dict_of_module(module).get("__spec__") if isinstance(module, ModuleType) else None
    return bool(getattr(spec, "_initializing", module is None))


def judges_of_attributes(rules: Rules) -> tuple[Ask, Ask, Ask]:
    """Who may read what leads away from a program, who may store what says what a function does, and who may call a
    descriptor of C by name.

    Code of Python and of libraries may read and store what it spells; what it was told it does not spell. A descriptor
    of a name that is not plain is called by nobody but `inspect`, and modules that are being loaded.

    Compiled code asks in the name of the frame that has called it, also what a program has that frame call.
    """

    def reads(frame: FrameType, name: str) -> None:
        if name == "__code__" and _is_place(frame, _CALL_FORTRAN):
            return
        if not _spells(frame, name, rules):
            raise refusal(rules, "attribute", name, AttributeError)

    def stores(frame: FrameType, name: str) -> None:
        if not _spells(frame, name, rules):
            raise refusal(rules, "attribute", name, AttributeError)

    def calls(frame: FrameType, name: str) -> None:
        if rules.attribute(name) == PLAIN:
            return
        if name != "__dict__" or not (_is_place(frame, _LOOK_STATICALLY) or _is_body(frame)):
            raise refusal(rules, "attribute", name, AttributeError)

    return reads, stores, calls


_CALL_FORTRAN: Final = {
    "scipy.integrate._ode": ("run",),
    "scipy.linalg._decomp_qz": ("_qz",),
    "scipy.linalg._decomp_schur": ("schur",),
    "scipy.optimize._cobyla_py": ("_minimize_cobyla",),  # the older ones
}
"""Modules and their functions that give functions to Fortran, which looks into the code for the number of arguments."""
_LOOK_STATICALLY: Final = {"inspect": ("_shadowed_dict", "_shadowed_dict_from_weakref_mro_tuple")}
"""The same of those that read the dict of a class past its metaclass."""


def _is_place(frame: FrameType, places: Mapping[str, Container[str]]) -> bool:
    module: Any = frame.f_globals.get("__name__")
    return type(module) is str and frame.f_code.co_name in places.get(module, ()) and not is_of_program(frame)


def _is_body(frame: FrameType) -> bool:
    """Tell the code of a library's module that is being loaded."""
    home: Any = frame.f_globals.get("__name__")
    module = sys.modules.get(home) if type(home) is str else None
    if not isinstance(module, ModuleType) or dict_of_module(module) is not frame.f_globals:
        return False
    return frame.f_code.co_name == "<module>" and _is_loading(home) and not is_of_program(frame)


def _spells(frame: FrameType, name: str, rules: Rules) -> bool:
    """Tell whether the code of a frame spells the name of an attribute; that of a program, whether its policy allows
    it. Reads and stores of libraries that are guarded stand for those who call them.
    """
    if frame.f_globals is vars(guards) and (asked := _GUARDS.get(frame.f_code.co_qualname)) is not None:
        return bool(frame.f_locals[asked] == name)  # what it gives is judged there
    while _stands_for_caller(frame):
        assert frame.f_back is not None
        frame = frame.f_back
    if is_of_program(frame):
        return rules.attribute(name) == PLAIN
    return spells(frame, name)


def _stands_for_caller(frame: FrameType) -> bool:
    """Tell whether it is one of the guarded reads and stores of libraries. A program calls its own functions, and
    itself, what it likes.
    """
    if is_of_program(frame) or frame.f_code.co_qualname not in _FOR_LIBRARIES:
        return False
    return frame.f_globals.get("__name__") == _LIBRARY_READS


# A frame tells its function by name and module alone. Rename these together with the functions, in `guards` and in
# `libraries.reads`.
_GUARDS: Final = {"attribute_guards.<locals>.read": "name", "_by_name.<locals>.guarded": "wanted"}
"""Functions of `guards` that read what they judge then → their variable that has the name."""
_LIBRARY_READS: Final = "safeexec.child.language.libraries.reads"
_FOR_LIBRARIES: Final = frozenset(
    {"library_getattr.<locals>.getattr", "library_setters.<locals>.setattr", "library_setters.<locals>.delattr"}
)
