"""Nothing is written into a facade, by whatever road: that of Python code, and those of C and of libraries."""

from __future__ import annotations

import copy
import dataclasses
import functools
import gc
import subprocess
import sys
import weakref
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import pytest

from safeexec import Sandbox
from safeexec.facades.layout import write_to_class
from safeexec.facades.sealed import Facade, names_of, replace_name, sealed


class Counted:
    """Something that can be looked for after it has gone."""


class Evil:
    """A class of the same layout, whose instances claim to be another module."""

    __slots__ = ()
    __name__ = "os"


@dataclasses.dataclass(frozen=True)
class Frozen:
    """Its ``__init__`` writes with ``object.__setattr__``."""

    pi: int


@pytest.fixture
def facade() -> Any:
    """A facade of two names, one of which is made when it is read."""

    def resolve(name: str) -> int:
        if name == "late":
            return 7
        raise AttributeError(f"no {name}")

    return sealed("sample", {"pi": 3}, later=["late"], resolve=resolve)


def _cached_property(facade: Any) -> None:
    descriptor = functools.cached_property(lambda _: 4)
    descriptor.attrname = "other"
    descriptor.__get__(facade)


ROADS: dict[str, Callable[[Any], object]] = {
    "the statement": lambda facade: setattr(facade, "pi", 4),
    "a name that it has not": lambda facade: setattr(facade, "other", 4),
    "its class": lambda facade: setattr(facade, "__class__", Evil),
    "deletion": lambda facade: delattr(facade, "pi"),
    "object.__setattr__": lambda facade: object.__setattr__(facade, "pi", 4),
    "object.__delattr__": lambda facade: object.__delattr__(facade, "pi"),
    "object.__setattr__ of the class": lambda facade: object.__setattr__(facade, "__class__", Evil),
    "the slot": lambda facade: type(facade).pi.__set__(facade, 4),
    "the empty slot": lambda facade: type(facade).late.__set__(facade, 4),
    "deletion by the slot": lambda facade: type(facade).pi.__delete__(facade),
    "the class's attribute": lambda facade: setattr(type(facade), "pi", 4),
    "type.__setattr__": lambda facade: type.__setattr__(type(facade), "__getattr__", print),
    "the base class": lambda facade: setattr(Facade, "__setattr__", object.__setattr__),
    "the bases": lambda facade: setattr(type(facade), "__bases__", (Evil,)),
    "the dict": lambda facade: vars(facade).update(pi=4),
    "a weak proxy": lambda facade: weakref.proxy(facade),
    "cached_property": _cached_property,
    "a frozen dataclass": lambda facade: Frozen.__init__(facade, 4),
    "a copy": copy.copy,
    "another instance": lambda facade: type(facade)(),
    "a subclass": lambda facade: type("Sub", (type(facade),), {}),
    "a subclass of the base class": lambda facade: type("Sub", (Facade,), {}),
}


@pytest.mark.parametrize("road", ROADS)
def test_a_facade_refuses_every_store(facade: Any, road: str) -> None:
    with pytest.raises((AttributeError, TypeError)):
        ROADS[road](facade)
    assert (facade.pi, facade.late, facade.__name__) == (3, 7, "sample")
    assert type(facade).__bases__ == (Facade,)


@pytest.mark.parametrize("names", [{"pi": 3}, {"no name": 3}])
@pytest.mark.parametrize("collects", [True, False])
def test_no_class_is_derived_after_one_was_made_or_could_not_be(names: dict[str, int], collects: bool) -> None:
    (gc.enable if collects else gc.disable)()
    try:
        if "pi" in names:
            sealed("sample", names)
        else:
            with pytest.raises(TypeError, match="identifiers"):
                sealed("sample", names)
        assert gc.isenabled() == collects
    finally:
        gc.enable()
    with pytest.raises(TypeError, match="not an acceptable base type"):
        type("Sub", (Facade,), {})


def test_what_is_made_when_it_is_read_is_made_once() -> None:
    asked: list[str] = []
    made: Any = sealed("sample", {}, later=["late"], resolve=lambda name: asked.append(name) or object())
    assert made.late is made.late
    assert asked == ["late"]


def test_a_facade_holds_what_is_made_late_or_put_in_its_place() -> None:
    made: Any = sealed("sample", {"pi": 3}, later=["late"], resolve=lambda name: Counted())
    late, put = weakref.ref(made.late), Counted()
    assert late() is made.late
    replace_name(made, "late", put)
    assert late() is None and sys.getrefcount(put) == 3
    replace_name(made, "late", None)
    assert sys.getrefcount(put) == 2


@pytest.mark.parametrize("name", ["absent", "__name__", "__class__", "late"])
def test_no_name_is_put_where_there_is_none(facade: Any, name: str) -> None:
    with pytest.raises(AttributeError, match=r"absent|cannot be replaced|late"):
        replace_name(facade, name, 1)


def test_the_names_are_read_past_everything(facade: Any) -> None:
    assert names_of(facade) == {"__name__": "sample", "pi": 3}
    assert type(vars(facade)) is MappingProxyType and vars(facade) == names_of(facade)
    assert dir(facade) == ["late", "pi"]


def test_what_may_be_assigned_goes_through_its_property() -> None:
    seen: list[object] = []
    made: Any = sealed(
        "sample", {}, properties={"stream": property(lambda _: seen, lambda _, value: seen.append(value))}
    )
    made.stream = 5
    assert made.stream == [5]


@pytest.mark.skipif(sys.version_info < (3, 12), reason="before 3.12 the store has an effect")
def test_a_store_into_a_static_type_is_an_error_and_not_without_effect() -> None:
    with pytest.raises(TypeError, match="'int' is a static type"):
        write_to_class(int, "halved", 1)
    assert not hasattr(int, "halved")


def test_classes_are_sealed_also_where_one_module_came_and_another_went() -> None:
    source = (
        "import sys, base64, time, heapq, itertools, threading\nfrom safeexec.facades.sealing import seal_classes\n"
        "seal_classes()\nbefore = len(sys.modules)\ndel sys.modules['base64']\nimport graphlib\n"
        "assert len(sys.modules) == before, sys.modules\nseal_classes()\ngraphlib.TopologicalSorter.done = None"
    )
    found = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, timeout=60, check=False)
    assert "cannot set 'done' attribute of immutable type 'TopologicalSorter'" in found.stderr


_HANDED_OUT = """
import _abc, io, pkgutil, sys, types
import safeexec.child, safeexec.compiler, safeexec.facades
from importlib import import_module
from safeexec.facades.sealing import seal_classes
for package in (safeexec.child, safeexec.compiler, safeexec.facades):
    for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        import_module(found.name)
seal_classes()
KEPT = {types.CodeType, types.FrameType, types.ModuleType, types.CellType, io.FileIO}
for name, module in sorted(sys.modules.items()):
    for item, value in vars(module).items() if name.startswith("safeexec") else ():
        if isinstance(value, (dict, set, frozenset)) and not KEPT.isdisjoint(value):
            print(name, item)
for item, value in vars(io).items():
    if isinstance(value, type(io.IOBase)):
        registered, kept, refused, _ = _abc._get_dump(value)
        if not KEPT.isdisjoint(found() for found in registered | kept):
            print("io", item)
assert isinstance(io.FileIO(0, closefd=False), io.RawIOBase) and not isinstance(io.BytesIO(), io.RawIOBase)
"""


@pytest.mark.modules("numpy", "pandas", "sympy", "sklearn", "scipy", "matplotlib", "cloudpickle")
def test_no_table_is_asked_for_a_class_that_holds_one_of_frames_code_modules_or_files() -> None:
    """A metaclass of the program says what its classes are equal to, and is given what they are compared with."""
    found = subprocess.run([sys.executable, "-c", _HANDED_OUT], capture_output=True, text=True, timeout=60, check=False)
    assert (found.stdout, found.stderr) == ("", "")


def test_a_step_that_finds_no_new_module_lets_abstract_classes_remember() -> None:
    """To forget costs the step 8 us, and each ``isinstance(x, Mapping)`` in it is asked anew. The token tells."""
    with Sandbox("standard") as sandbox, sandbox.session() as session:
        session.run("import abc\ntoken = abc.get_cache_token()").check()
        session.run("x = 1").check()
        assert session.run("abc.get_cache_token() - token").check().value == 0


def test_no_module_that_is_a_key_is_handed_to_what_is_compared_with_it() -> None:
    """`pathlib` keeps `posixpath` in a cache, libraries of arrays ask whether a namespace is in a set of modules."""
    source = (
        "import os, sys, types\nfrom safeexec.facades.sealing import seal_classes\nseal_classes()\ngot = []\n"
        "class Late(types.ModuleType): pass\nlate = Late('late')\n"
        "class E:\n"
        "    def __init__(self, module): self.hash = hash(module)\n"
        "    def __hash__(self): return self.hash\n"
        "    def __eq__(self, other): got.append(other)\n"
        "for module in (os, late):\n"
        "    assert E(module) not in {module} and (E(module), 1) not in {(module, 1)} and E(module) not in [module]\n"
        "    assert module == module and not module != module and module != sys and module in {module, sys}\n"
        "print(got)"
    )
    found = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, timeout=60, check=False)
    assert (found.stdout, found.stderr) == ("[]\n", "")


def test_a_view_of_the_dict_of_a_class_is_compared_as_programs_see_it() -> None:
    """A library may compare the `vars` of two objects: of a class as well, and with a dict that a program has made."""
    source = (
        "import sys, types\nfrom safeexec.facades.sealing import seal_classes\nseal_classes()\ngot = []\n"
        "class D(dict):\n"
        "    def __eq__(self, other): got.append(other)\n"
        "    def __ror__(self, other): got.append(other)\n"
        "class Held:\n    module, number = sys, 1\n"
        "class Spy:\n    def __eq__(self, other): got.append({'given': other})\n"
        "vars(Held) == D(), vars(Held) != D(), vars(Held) | D(), types.MappingProxyType({'a': sys, 'b': 1}) == D()\n"
        "vars(Held) == {**vars(Held), 'module': Spy()}\n"
        "print([sorted(name for name in found if name[:2] != '__') for found in got])\n"
        "print(vars(Held) == dict(vars(Held)), vars(Held) == vars(Held), (vars(Held) | {'b': 1})['module'] is sys)\n"
        "print(types.MappingProxyType({'__class__': 1}) == {'__class__': 1})"
    )
    found = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, timeout=60, check=False)
    assert found.stderr == ""
    assert found.stdout.splitlines() == ["[['number'], ['number'], ['b']]", "True True True", "True"]


_OF_LIBRARY = """
import abc, dataclasses, enum, functools
class Plain:
    made = 0
    def __init__(self): Plain.made += 1
    def mark_it(self): self.mark = True
    def mark_kind(self):
        kind = type(self)
        kind.mark = True
    @classmethod
    def mark_own(cls): cls.mark = True
class Listed(enum.Enum): ONE = 1
class Abstract(abc.ABC):
    def __lt__(self, other): return True
def mark(): Plain.mark = True
def mark_any(cls): cls.mark = True
def mark_made(call):
    made = call()
    made.mark = True
    return Plain, Listed, Abstract
def call(function, *given): return function(*given)
def make():
    class Made(abc.ABC):
        x: int = 0
        def __lt__(self, other): return True
    return dataclasses.dataclass(functools.total_ordering(Made)), enum.Enum("Kind", "A B", module=__name__)
"""
_OF_PROGRAM = """
import abc, dataclasses, enum, functools, library, weakref
from concurrent.futures import ThreadPoolExecutor
def wrap(c): return functools.partial(functools.update_wrapper, c, store, ("__name__",), ())
class Bare(type): pass
def store(c): c.x = 1
def delete(c): del c.__module__
def derive(c): c.__bases__ = (int,)
def change(c): c.__class__ = abc.ABCMeta
ways = [store, delete, derive, change, lambda c: setattr(c, "x", 1), lambda c: delattr(c, "__module__"),
        lambda c: [*map(setattr, [c], ["x"], [1])], lambda c: type(c).__setattr__(c, "x", 1),
        lambda c: type.__setattr__(c, "x", 1), lambda c: type.__delattr__(c, "__module__"),
        lambda c: library.mark_any(c), lambda c: library.mark_made(lambda: c),
        lambda c: library.Plain.mark_it(c), lambda c: library.Plain.mark_kind(c),
        lambda c: super(Bare, Bare).__module__.__set__(c, "__main__"),
        lambda c: vars(object)["__class__"].__set__(c, Bare),
        lambda c: object.__setattr__(c, "x", 1), lambda c: wrap(c)(), lambda c: library.call(wrap(c)),
        lambda c: ThreadPoolExecutor().submit(wrap(c)).result()]
based = type("object", (), {"__module__": "pybind11_builtins"})  # its real one is in no module
for c in (library.Plain, library.Listed, library.Abstract, dict, enum.Enum, weakref.finalize, based):
    for way in ways:
        try: way(c)
        except TypeError: continue
        raise AssertionError((c, way))
for decorate, c in ((functools.total_ordering, library.Abstract), (dataclasses.dataclass, library.Plain)):
    try: decorate(c)
    except TypeError: continue
    raise AssertionError(decorate)
class Items(type):
    def __setitem__(cls, key, value): store(cls)
class Own(library.Plain, metaclass=Items): pass
class Other(library.Abstract, metaclass=type("Meta", (abc.ABCMeta,), {})): pass
class Last(metaclass=Bare): pass
class Kinds(enum.Enum): A = 1
for c in (Own, Other, Last, Kinds, dataclasses.make_dataclass("P", ["a"])):
    c.y = 2
    assert c.y == 2
    del c.y
    c.__call__ = lambda self: 3
    assert not hasattr(c, "__setitem__") or c is Own
Own["key"] = 1
assert Own.x == 1 and Own()() == 3
for c in (Last, Other, library.Plain):
    try: c["key"] = 1
    except TypeError: continue
    raise AssertionError(c)
library.mark()
library.Plain.mark_own()
library.Plain().mark_kind()
library.make()
weakref.finalize(library.Plain, int)
assert library.Plain.mark and library.Plain.made == 2
"""
_STORING = f"""
import builtins, ctypes, gc, sys, types
from safeexec.child.language.callers import judge_of_class_stores
from safeexec.child.language.program import GuestProgram
from safeexec.facades.sealing import seal_classes
from safeexec.facades.judged import judge_class_stores
sys.modules["library"] = types.ModuleType("library")
exec({_OF_LIBRARY!r}, vars(sys.modules["library"]))
program = {{"__name__": "__main__", "__builtins__": vars(builtins) | {{"_getattr_": None}}}}
for _ in range(2):
    judge_class_stores(judge_of_class_stores(GuestProgram("__main__", program)))
seal_classes()
exec({_OF_PROGRAM!r}, program)
class Structure(ctypes.Structure): _fields_ = [("a", ctypes.c_int)]
assert Structure(3).a == 3
gc.collect()
"""


def test_classes_of_libraries_are_changed_by_libraries_alone_and_those_of_the_program_by_all() -> None:
    found = subprocess.run([sys.executable, "-c", _STORING], capture_output=True, text=True, timeout=60, check=False)
    assert (found.stdout, found.stderr) == ("", "")


_ASKED = """
import builtins, functools, sys, types
from safeexec import Policy
from safeexec.child.language.callers import judges_of_attributes
from safeexec.compiler.rules import rules_of
from safeexec.facades.judged import judge_attributes
judge_attributes(*judges_of_attributes(rules_of(Policy.load("calculator").language_plan())))
class L:
    def call(self, function): return function(self), self.__dict__, self.__code__, self.__globals__
library = types.ModuleType("library")
exec("def call(f): return f()\\ndef called(f): f.__code__, f.__defaults__ = f.__code__, (1,)\\n"
     "def spelled(f, *names): return f() if names else f.__globals__, f.__dict__, f.__code__", vars(library))
d, of_function = type.__dict__["__dict__"], dict(types.FunctionType.__dict__)
f = lambda a: a
program = {"__name__": "__main__", "__builtins__": vars(builtins) | {"_getattr_": None}, "library": library}
exec(PROGRAM, program | {"d": d, "of_function": of_function, "of_type": dict(type.__dict__), "f": f})
library.called(f)
assert f() == 1
import inspect
assert inspect.getattr_static(L, "call") is L.call and inspect.signature(f).parameters["a"].default == 1
"""
_DESCRIPTORS = """
import abc, functools, types
later = lambda function, *given: functools.partial(next, map(function, *([item] * 9 for item in given)))
class L:
    cached = functools.cached_property(list)
    def __iter__(self): return map(of_function["__code__"].__get__, [f])
class Meta(abc.ABCMeta): pass
found = []
class Asked(metaclass=Meta): pass
def ask_abstract():
    Meta.__subclasses__ = functools.partial(found.extend, map(of_type["__subclasses__"].__get__, [object]))
    return issubclass(int, Asked) or found
ways = {
    "a call": lambda: d.__get__(object),
    "by its type": lambda: type(d).__get__(d, object),
    "in a class method": lambda: classmethod(d).__get__(None, object),
    "in two": lambda: classmethod(classmethod(d)).__get__(None, object),
    "by a library": lambda: library.call(later(d.__get__, object)),
    "by one that spells the name": lambda: library.spelled(later(d.__get__, object), 1),
    "its class method": lambda: library.spelled(later(classmethod(d).__get__, None, object), 1),
    "of a function": lambda: of_function["__globals__"].__get__(f),
    "of its code": lambda: library.call(later(of_function["__code__"].__get__, f)),
    "of its code, by one that spells the name": lambda: library.spelled(later(of_function["__code__"].__get__, f), 1),
    "of all classes": lambda: library.spelled(later(of_type["__subclasses__"].__get__, object), 1),
    "by the class": lambda: type(of_function["__code__"]).__get__(of_function["__code__"], f),
    "of a cached property": lambda: L().cached,
    "of an abstract class": ask_abstract,
    "by what it calls": lambda: of_function["__code__"].fget,
    "by a member": lambda: d.__get__(type(of_function["__closure__"])),
}
for what, way in ways.items():
    try: got = way()
    except AttributeError: continue
    assert type(got) is types.MethodType, (what, got)  # from 3.13 on a class method calls nothing
"""


def test_a_descriptor_gives_nobody_what_its_attribute_would_not() -> None:
    program = f"PROGRAM = {_DESCRIPTORS!r}\n{_ASKED}"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (found.stdout, found.stderr) == ("", "")
