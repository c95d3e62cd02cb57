"""The safe versions do what the real ones do, and not what the real ones must not do."""

from __future__ import annotations

import dataclasses
import importlib
import io
import json
import os
import platform
import struct
import sys
from collections.abc import Callable
from typing import Any

import pytest

from safeexec import Sandbox
from safeexec.facades.replacements.classes import run_methods_of_libraries

Guest = Callable[..., dict[str, Any]]


def test_attrgetter_and_methodcaller(guest: Guest) -> None:
    names = guest(
        "from operator import attrgetter, methodcaller\n"
        "one = attrgetter('real')(3 + 4j)\n"
        "two = attrgetter('real', 'imag')(3 + 4j)\n"
        "upper = methodcaller('replace', 'a', 'b')('aa')\n",
        "operator",
    )
    assert (names["one"], names["two"], names["upper"]) == (3.0, (3.0, 4.0), "bb")


@pytest.mark.parametrize(
    ("module", "expression"),
    [
        ("operator", "operator.attrgetter('__globals__')(function)"),
        ("operator", "operator.attrgetter('__class__.__base__')(function)"),
        ("operator", "operator.methodcaller('__subclasses__')(object)"),
        ("string", "string.Formatter().format('{0.__globals__}', function)"),
        ("functools", "functools.update_wrapper(Catch(), function, ('__globals__',), ())"),
        ("functools", "functools.wraps(function, assigned=('__globals__',))(Catch())"),
        ("ast", "dict(ast.iter_fields(Fields()))['__class__']"),
        ("copy", "copy.copy(Reduced())"),
    ],
)
def test_no_attribute_by_a_name_that_is_refused(guest: Guest, module: str, expression: str) -> None:
    with pytest.raises((AttributeError, KeyError)):
        guest(
            f"import {module}\n"
            "def function(): pass\n"
            "class Catch:\n    def __setattr__(self, name, value): raise AssertionError(name)\n"
            "class Fields:\n    _fields = ('__class__',)\n"
            "class Reduced:\n"
            "    def __reduce_ex__(self, protocol): return (Fields, (), (None, {'__class__': Catch}))\n"
            f"{expression}\n",
            module,
        )


def test_a_subclass_cannot_reach_the_real_method(guest: Guest) -> None:
    with pytest.raises(AttributeError):
        guest(
            "import string\n"
            "class Mine(string.Formatter):\n"
            "    def get_field(self, *rest): return super(string.Formatter, self).get_field(*rest)\n"
            "Mine().format('{0.__class__}', 1)\n",
            "string",
        )


def test_annotations_as_text_are_resolved_and_not_run(guest: Guest) -> None:
    names = guest(
        "from typing import get_type_hints, Optional, List\n"
        "class Node:\n    left: 'Optional[Node]'\n    kids: List['Node']\n    size: 'dict[str, int | None]'\n"
        "hints = get_type_hints(Node)\n",
        "typing",
    )
    node = names["Node"]
    assert names["hints"]["left"] == names["Optional"][node]
    assert names["hints"]["kids"] == names["List"][node]
    assert names["hints"]["size"] == dict[str, int | None]
    with pytest.raises(TypeError, match="may not contain"):
        guest("import typing\ndef f(a: 'print(1)'): pass\ntyping.get_type_hints(f)", "typing")


@pytest.mark.parametrize(
    "source",
    [
        "import json\njson.dumps.__annotations__['x'] = '__builtins__'\nget_type_hints(json.dumps)",
        "class C:\n    x: 'attrgetter'\nC.__module__ = 'operator'\nget_type_hints(C)",
        "def f(x: '__builtins__'): pass\nget_type_hints(f)",
        "class C:\n    x: '__builtins__'\nget_type_hints(C)",
        "import inspect, json\ndef f(x): pass\nf.__annotations__ = {'x': 'codecs'}\nf.__wrapped__ = json.dumps\n"
        "f.__signature__ = inspect.signature(f, follow_wrapped=False)\ninspect.signature(f, eval_str=True)",
        "import inspect, json\ndef f(x): pass\nf.__annotations__ = {'x': 'codecs'}\nf.__wrapped__ = json.dumps\n"
        "inspect.get_annotations(f, eval_str=True)",
    ],
)
def test_annotations_name_nothing_of_a_library_or_the_interpreter(
    guest: Guest, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json.dumps, "__annotations__", {})
    with pytest.raises(NameError):
        guest("from typing import get_type_hints\n" + source, "typing", "json", "inspect")


def test_singledispatch_does_not_run_annotations() -> None:
    """It is functools' own, which asks `typing`: in a child, what stands for `get_type_hints` there."""
    source = (
        "from functools import singledispatch\n"
        "@singledispatch\ndef kind(x): return 'any'\n"
        "@kind.register\ndef _(x: 'int'): return 'int'\n"
        "kind(1), kind('')\n"
    )
    with Sandbox("standard") as sandbox:
        assert sandbox.run(source).value == ("int", "any")
        error = sandbox.run(source.replace("'int')", "'print(1) or int')")).error
        assert error is not None and error.type == "TypeError" and "may not contain" in error.message


def test_dataclasses(guest: Guest) -> None:
    names = guest(
        "from dataclasses import dataclass, make_dataclass, field, asdict\n"
        "@dataclass(order=True)\nclass Point:\n    x: int\n    y: list = field(default_factory=list)\n"
        "@dataclass\nclass Point3(Point):\n    z: int = 0\n"
        "Made = make_dataclass('Made', ['a', ('b', int, 3)])\n"
        "shown = repr(Point3(1)), repr(Made(1)), asdict(Point(1))\n",
        "dataclasses",
    )
    assert names["shown"] == ("Point3(x=1, y=[], z=0)", "Made(a=1, b=3)", {"x": 1, "y": []})


@pytest.mark.parametrize(
    "source",
    [
        "class C: pass\nC.__annotations__ = {'x=print(1)': int}\ndataclasses.dataclass(C)",
        "class S(str):\n    def isidentifier(self): return True\ndataclasses.make_dataclass('C', [S('x=print(1)')])",
        "class F:\n    name = 'x=print(1)'\nclass B:\n    __dataclass_fields__ = {'x': F()}\n"
        "class C(B): pass\ndataclasses.dataclass(C)",
    ],
)
def test_a_dataclass_is_not_built_from_text_that_is_no_name(guest: Guest, source: str) -> None:
    with pytest.raises(TypeError):
        guest(f"import dataclasses\n{source}", "dataclasses")


META = """
from dataclasses import *
@dataclass
class Pattern:
    a: int = 0
field_of_a = Pattern.__dataclass_fields__["a"]
"""


@pytest.mark.parametrize(
    "source",
    [
        # fields that name what a metaclass inherits from type: read by the module, or by methods that it writes
        "field_of_a.name = '__subclasses__'\n"
        "class Meta(type):\n    __dataclass_fields__ = {'a': field_of_a}\nreplace(Meta('M', (type,), {}))",
        "@dataclass(init=False)\nclass Meta(type):\n    __subclasses__: object",
        "@dataclass\nclass Any:\n    gi_frame: object",
        # text for a name, given after the names have been looked at
        "class Late:\n    def __get__(self, value, cls):\n        field_of_a.name = 'a.__globals__'\n"
        "@dataclass(init=False)\nclass C(Pattern):\n    b: int = Late()",
        "class Late:\n    def __get__(self, value, cls):\n        field_of_a.name = 'a or print'\n"
        "@dataclass(init=False)\nclass C(Pattern):\n    b: int = Late()",
    ],
)
def test_fields_lead_to_nothing_that_code_may_not_read(guest: Guest, source: str) -> None:
    with pytest.raises((AttributeError, TypeError), match=r"refused|valid identifiers"):
        guest(META + source, "dataclasses")


def test_a_star_binds_identifiers_only(guest: Guest) -> None:
    with pytest.raises(AttributeError, match="modules are read-only"):
        guest("import json\njson.__all__ += ('__dict__', '_match_class_', '__getattr__')", "json")
    names = guest("from json import *\nfrom math import *\nfound = dumps([1]), sqrt(4)", "json", "math")
    assert names["found"] == ("[1]", 2.0)
    assert {name for name in names if name[:1] in "_<"} == {
        *("__name__", "__doc__", "__package__", "__loader__", "__spec__", "__builtins__")
    }


def test_types_that_may_only_be_asked_about(guest: Guest) -> None:
    names = guest(
        "import types, math\n"
        "asked = [isinstance(v, t) for v in (lambda: 0, math, 1) for t in (types.FunctionType, types.ModuleType)]\n",
        "types",
        "math",
    )
    assert names["asked"] == [True, False, False, True, False, False]
    with pytest.raises(TypeError, match="cannot create 'module' instances"):
        guest("import types\ntypes.ModuleType('m')", "types")


def test_output_can_be_redirected_and_put_back(guest: Guest, capsys: pytest.CaptureFixture[str]) -> None:
    names = guest(
        "import sys, io, contextlib\n"
        "with contextlib.redirect_stdout(io.StringIO()) as first:\n    print('one')\n"
        "old = sys.stdout\nsys.stdout = second = io.StringIO()\nprint('two')\nseen = sys.stdout is second\n"
        "sys.stdout = old\nprint('three')\nsys.stdout.write('four\\n')\n",
        "sys",
        "io",
        "contextlib",
    )
    assert (names["first"].getvalue(), names["second"].getvalue(), names["seen"]) == ("one\n", "two\n", True)
    assert capsys.readouterr().out == "three\nfour\n"
    assert not hasattr(names["old"], "raw") and not hasattr(names["old"].buffer, "raw")


def test_redirection_sets_no_other_attribute_of_sys(guest: Guest) -> None:
    guest(
        "import contextlib\nclass R(contextlib.redirect_stdout):\n    _stream = 'modules'\nwith R(None): pass\n",
        "contextlib",
    )
    assert isinstance(sys.modules, dict)


def test_sys_is_small(guest: Guest) -> None:
    names = guest("import sys\nsys.setrecursionlimit(10**9)\nlimit = sys.getrecursionlimit()", "sys")
    try:
        assert names["limit"] <= 300_000
    finally:
        sys.setrecursionlimit(1000)
    for name in ("_getframe", "settrace", "meta_path", "prefix"):
        assert not hasattr(names["sys"], name)
    assert names["sys"].executable == "" and "posix" not in names["sys"].modules
    assert names["sys"].path is not sys.path  # the program's own
    assert names["sys"].argv is sys.argv  # which the child sets for each step


def test_caught_warnings(guest: Guest) -> None:
    names = guest(
        "import warnings\n"
        "with warnings.catch_warnings(record=True) as caught:\n"
        "    warnings.simplefilter('always')\n    warnings.warn('careful')\n"
        "manager = warnings.catch_warnings()\n",
        "warnings",
    )
    assert [str(item.message) for item in names["caught"]] == ["careful"]
    assert not hasattr(names["manager"], "_module")


def test_tracebacks_show_guest_frames_only(guest: Guest) -> None:
    names = guest(
        "import traceback, json\n"
        "try:\n    json.loads('[')\nexcept ValueError as error:\n    text = traceback.format_exc()\n"
        "    entries = traceback.extract_tb(error.__traceback__)\n",
        "traceback",
        "json",
    )
    assert 'File "<step 1>", line 3' in names["text"]
    assert "decoder.py" not in names["text"]
    assert [entry.lineno for entry in names["entries"]] == [3]


def test_logging_is_the_guests_own(guest: Guest) -> None:
    names = guest(
        "import logging, io\n"
        "stream = io.StringIO()\n"
        "logging.basicConfig(stream=stream, style='{', format='{levelname}:{message}', level=logging.INFO)\n"
        "logging.getLogger('a').info('hello %s', 3)\n",
        "logging",
        "io",
    )
    import logging

    assert names["stream"].getvalue() == "INFO:hello 3\n"
    assert "a" not in logging.root.manager.loggerDict


def test_the_environment_is_the_guests_own(guest: Guest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAFEEXEC_TEST_VALUE", "of the process")
    names = guest(
        "import os\n"
        "before = dict(os.environ)\n"
        "os.environ['SAFEEXEC_TEST_OTHER'] = 'of the guest'\n"
        "after = dict(os.environ), os.getenv('SAFEEXEC_TEST_OTHER'), os.getenv('SAFEEXEC_TEST_VALUE', 'default')\n"
        "os.environ.clear()\n",
        "os",
    )
    assert names["before"] == {}
    assert names["after"] == ({"SAFEEXEC_TEST_OTHER": "of the guest"}, "of the guest", "default")
    assert os.environ["SAFEEXEC_TEST_VALUE"] == "of the process"
    assert "SAFEEXEC_TEST_OTHER" not in os.environ


def test_members_that_a_predicate_of_inspect_picks_out(guest: Guest) -> None:
    """A slot of Python's own stays none of the program's functions; a predicate of the program's own sees no slot."""
    names = guest(
        "import inspect\n"
        "class Kind:\n    def method(self): pass\n"
        "seen = []\n"
        "class Any:\n"
        "    def __eq__(self, other): return True\n"
        "    def __call__(self, value): seen.append(value)\n"
        "functions = inspect.getmembers(Kind, inspect.isfunction)\n"
        "inspect.getmembers(Kind, Any())\n",
        "inspect",
    )
    assert [name for name, _ in names["functions"]] == ["method"]
    assert not any(value is object.__setattr__ or value is object.__getattribute__ for value in names["seen"])


@pytest.mark.parametrize("name", ["timeit", "doctest", "unittest.mock", "pickle"])
def test_what_has_a_version_for_sessions_is_nowhere_else(
    name: str, guest: Guest, monkeypatch: pytest.MonkeyPatch
) -> None:
    from safeexec.facades import build

    monkeypatch.setattr(build, "_load", build._of_no_session)
    with pytest.raises(ImportError, match="only in a session"):
        guest(f"import {name}", *{name, name.partition(".")[0]})


def test_event_loops_run_tasks_and_nothing_else(guest: Guest) -> None:
    names = guest(
        "import asyncio\n"
        "refused = []\n"
        "async def main():\n"
        "    loop = asyncio.get_running_loop()\n"
        "    for call in (loop.create_connection, loop.subprocess_exec, loop.add_reader, loop.add_signal_handler):\n"
        "        try: await call(None)\n"
        "        except PermissionError as error: refused.append(str(error))\n"
        "    for base in type(loop).__mro__[1:4]:\n"
        "        try: await base.subprocess_shell(loop, asyncio.Queue, 'true')\n"
        "        except PermissionError as error: refused.append(str(error))\n"
        "    return await asyncio.gather(asyncio.sleep(0, 1), asyncio.to_thread(lambda: 2))\n"
        "found = asyncio.run(main())\n",
        "asyncio",
    )
    assert names["found"] == [1, 2]
    assert len(names["refused"]) == 4 + 3


def test_numpy_load_never_unpickles(guest: Guest) -> None:
    numpy = pytest.importorskip("numpy")
    stream = io.BytesIO()
    numpy.savez(stream, a=numpy.arange(3))
    stream.seek(0)
    from safeexec.facades.replacements.arrays import load

    with load(stream) as archive:
        assert archive["a"].tolist() == [0, 1, 2] and archive.files == ["a"]
    with pytest.raises(ValueError, match="refused"):
        load(stream, allow_pickle=True)


def test_copy_works(guest: Guest) -> None:
    names = guest(
        "import copy\n"
        "class Node:\n    __slots__ = ('value', 'next')\n"
        "    def __init__(self, value): self.value, self.next = value, self\n"
        "made = copy.deepcopy([Node(1)])\n"
        "shallow = copy.copy({1: [2]})\n",
        "copy",
    )
    assert names["made"][0].next is names["made"][0] and names["shallow"] == {1: [2]}


def test_hints_given_as_text_are_what_typing_takes_for_hints(guest: Guest) -> None:
    names = guest(
        "import typing\nfrom typing import ClassVar, Final\n"
        "class C:\n    a: 'ClassVar[int]'\n    b: 'Final[int]'\n"
        "kept = sorted(typing.get_type_hints(C))\n"
        "def first(a: 'ClassVar[int]'): pass\ndef second(a: 'int | ClassVar'): pass\n"
        "no = []\nfor f in first, second:\n"
        "    try: typing.get_type_hints(f)\n    except TypeError as error: no.append(str(error))\n"
        "@typing.no_type_check\nclass D:\n    a: 'nothing'\n    def m(self) -> 'nowhere': pass\n"
        "none = typing.get_type_hints(D), typing.get_type_hints(D.m)\n",
        "typing",
    )
    assert names["kept"] == ["a", "b"] and names["none"] == ({}, {})
    assert names["no"][0] == "typing.ClassVar[int] is not valid as type argument" and len(names["no"]) == 2


def test_there_is_one_locale_and_no_machine(guest: Guest) -> None:
    names = guest(
        "import locale, mimetypes, platform\nis_c = locale.setlocale(locale.LC_ALL, '') == 'C'\n"
        "try: locale.setlocale(locale.LC_ALL, 'de_DE.UTF-8')\nexcept locale.Error as error: told = str(error)\n"
        "kind = mimetypes.guess_type('a.tar.gz')\nversion = platform.python_version(), platform.system()\n",
        "locale",
        "mimetypes",
        "platform",
    )
    assert (names["is_c"], names["told"]) == (True, "unsupported locale setting")
    assert names["kind"] == ("application/x-tar", "gzip")
    assert names["version"] == (platform.python_version(), platform.system())
    for module, name in ("platform", "node"), ("platform", "os"), ("mimetypes", "MimeTypes"), ("locale", "sys"):
        assert not hasattr(names[module], name)


FORGED = {
    "text that ends beyond its bytes": "(pa.large_string(), 1, 0, 0, [None, ints(0, 1 << 40), ints(0)], [], None)",
    "text without bytes": "(pa.large_string(), 1, 0, 0, [None, ints(0, 1), None], [], None)",
    "a buffer less": "(pa.large_string(), 1, 0, 0, [None, ints(0, 1)], [], None)",
    "more items than there are": "(pa.int64(), 1 << 40, 0, 0, [None, ints(0)], [], None)",
    "fewer than none": "(pa.int64(), -1, 0, 0, [None, ints(0)], [], None)",
    "items before the first": "(pa.int64(), 1, 0, -100, [None, ints(0)], [], None)",
    "items behind the last": "(pa.int64(), 1, 0, 1 << 62, [None, ints(0)], [], None)",
    "a code that the dictionary lacks":
        "(pa.dictionary(pa.int64(), pa.null()), 1, 0, 0, [None, ints(9)], [], (pa.null(), 1, 1, 0, [None], [], None))",
    "a child less": "(pa.struct([('a', pa.int64())]), 1, 0, 0, [None], [], None)",
    "children that are too short":
        "(pa.struct([('a', pa.null())]), 5, 0, 0, [None], [(pa.null(), 1, 1, 0, [None], [], None)], None)",
}  # fmt: skip


@pytest.mark.modules("pyarrow")
@pytest.mark.parametrize("data", FORGED.values(), ids=FORGED.keys())
def test_an_array_of_arrow_reads_no_memory_beyond_its_buffers(data: str) -> None:
    from safeexec.facades.replacements.arrow import py_buffer, restore_array

    pa: Any = importlib.import_module("pyarrow")

    def ints(*values: int) -> Any:
        return py_buffer(struct.pack(f"<{len(values)}q", *values))

    with pytest.raises((ValueError, IndexError)):
        restore_array(eval(data, {"pa": pa, "ints": ints}))


@pytest.mark.modules("pyarrow")
def test_a_buffer_of_arrow_is_not_changed_any_more() -> None:
    from safeexec.facades.replacements.arrow import py_buffer

    data = bytearray(b"as it was")
    held = py_buffer(data)
    data[:2] = b"--"
    assert held.to_pybytes() == b"as it was"
    with pytest.raises(TypeError):
        py_buffer(memoryview(data))


AROUND = "def __create_fn__(_type_x):\n def __init__(self,x:_type_x):\n  self.x=x\n{}\n return __init__"


@pytest.mark.parametrize(
    "text",
    [
        AROUND.format(" print(1)"),
        AROUND.format(" def g(self): pass"),
        AROUND.format(" def __eq__(self,y=print(1)): pass"),
        AROUND.format(" def __eq__(print,other): pass\n def __lt__(self,y=print(1)): pass"),
        AROUND.format(" def __eq__(__import__,other): return __import__('os')"),
        AROUND.format(" def __eq__(self,other):\n  def __lt__(self): pass"),
        AROUND.format(" def __eq__(self,other): return self.__init__.__globals__"),
        AROUND.format(" def __eq__(self,other): return [print for print in other]"),
        AROUND.replace("return __init__", "return __init__(1)").format(""),
        AROUND.replace("(_type_x)", "(_type_x=print(1))").format(""),
        *(
            AROUND.replace("self.x=x", line).format("")
            for line in (
                "__dataclass_builtins_object__.__setattr__(x,'y',1)",
                "__dataclass_builtins_object__.__setattr__(self,x,1)",
                "__dataclass_builtins_object__.__delattr__(self,'x')",
                "self.x=__dataclass_builtins_object__.__setattr__",
                "super(cls, x).__setattr__(self, x)",
                "self.x=super(cls, self).__setattr__",
            )
        ),
        "print(1)",
    ],
)
def test_what_is_no_method_of_a_dataclass_is_not_run(text: str) -> None:
    with pytest.raises(TypeError, match="Field names must be valid identifiers"):
        run_methods_of_libraries(text, {"__builtins__": {}}, {})


def test_dataclasses_of_libraries_are_made_as_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(vars(dataclasses), "exec", run_methods_of_libraries)

    @dataclasses.dataclass(frozen=True, order=True, kw_only=True)
    class Frozen:
        x: int = 1
        self: int = 2
        z: dataclasses.InitVar[int] = 3

        def __post_init__(self, z: int) -> None:
            object.__setattr__(self, "x", self.x + z)

    @dataclasses.dataclass(unsafe_hash=True, slots=True)
    class Listed:
        x: int
        y: list[int] = dataclasses.field(default_factory=list, repr=False, compare=False)

    assert repr(Frozen(x=4)) == f"{Frozen.__qualname__}(x=7, self=2)" and Frozen(x=1) < Frozen(x=2)
    with pytest.raises(dataclasses.FrozenInstanceError):
        Frozen().x = 2  # type: ignore[misc]
    assert Listed(1, [2]) == Listed(1) and hash(Listed(1)) == hash(Listed(1)) and Listed(1).y == []
