"""A search for ways past the language layer. Programs run in real sessions; what they find is looked at in the child.

    python -m tests.search.search --seconds 3600 --profile standard --profile data-analysis

Two searches take turns. The grammar joins every route from a text to an attribute with every refused and guarded name
and every carrier of objects, and every form of binding with every name of the interpreter's own. The walk starts at
what the facades of a profile give, follows each attribute that the guards allow, and calls what can be called with
harmless arguments, two calls deep. All objects of a facade that take attributes are given a function of the program in
each of them, before others are used. Where a library reads a name in a module of its own, each name is tried that its
facade does not have. What takes a function of the program is given one that looks at what it is called with. Each ends
with an oracle: a real module, a frame, a code object or the builtins in a variable of the program is a way out, and is
printed with the program that has it.
"""

from __future__ import annotations

import argparse
import builtins
import importlib.util
import itertools
import random
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from time import monotonic

from safeexec import Policy, Sandbox, SandboxError, Session
from safeexec.compiler import names
from safeexec.facades.access import module_access
from safeexec.facades.build import known_names
from safeexec.policy.plans import language_plan

ORACLE = """
def _is_out(x):
    kind = type(x)
    if kind is dict:
        if type(x.get("__dict__")).__name__ == "getset_descriptor":
            return True  # that of a class itself, which `vars` shows by a proxy of a copy
        return "__import__" in x or "__builtins__" in x or "__loader__" in x and "__spec__" in x
    if kind.__name__ == "module":  # a facade tells no place
        return " from " in repr(x) or "(frozen)" in repr(x) or "(built-in)" in repr(x)
    if kind.__name__ == "frame" and kind.__module__ == "builtins" or kind.__name__ == "code" and _is_code(kind):
        return True
    if kind is type:
        return x.__name__ == "frame" and x.__module__ == "builtins" or x.__name__ == "code" and _is_code(x)
    if kind.__name__ in ("method_descriptor", "wrapper_descriptor", "getset_descriptor", "method-wrapper"):
        return x.__name__ in _RAW  # what a program gets of them by name is a guard
    if kind.__name__ == "builtin_function_or_method":
        return repr(x) in _POWERS or repr(x).startswith("<built-in method __subclasses__ of type")
    return False
_NO = ("nvalid window", "nknown window", "nvalid win_type", "not understood", "invalid signature", "is not callable",
       "is not a valid function", "is not a supported function", "refused",
       "__getattr__() missing")  # by a guard, which judges the name that is missing here
def _is_refusal(error):  # what a library raises instead has it as its cause
    while error is not None:
        if isinstance(error, (AttributeError, NameError, ImportError)) or any(word in str(error) for word in _NO):
            return True
        error = error.__cause__
    return False
def _is_harmless(x):
    return type(x).__name__ in ("Symbol", "NoneType", "str") or type(x) is tuple and all(type(i) is str for i in x)
def _is_code(kind):  # what `compile` gives to a program is called so, too
    return "mere mortals" in (kind.__doc__ or "")
_RAW = {"__subclasses__", "__getattribute__", "__globals__", "__code__", "gi_frame", "cr_frame", "tb_frame",
        "__reduce__", "__reduce_ex__"}
_POWERS = {f"<built-in function {n}>" for n in ("eval", "exec", "compile", "__import__", "open", "getattr", "vars")}
def _look(x, path, depth=2):
    if _is_out(x):
        print("way out:", path)  # at once: a step that is stopped has no variables
    elif depth and type(x) in (list, tuple, set, frozenset):
        for item in list(x)[:50]:
            _look(item, path + "[...]", depth - 1)
    elif depth and type(x) is dict:
        for item in list(x.values())[:200]:
            _look(item, path + "[...]", depth - 1)
"""

CARRIERS = {
    "a function of a library": "import json\nt = json.dumps",
    "a function of the program": "def t(a=1): return a",
    "a generator": "def g(): yield 1\nt = g()\nnext(t)",
    "a coroutine": "async def g(): pass\nt = g()",
    "an exception of a library": "import math\ntry: math.nothing\nexcept AttributeError as e: t = e",
    "a traceback": "try: 1 / 0\nexcept ZeroDivisionError as e: t = e.__traceback__",
    "an exception group": "t = ExceptionGroup('g', [AttributeError(obj=len)])",
    "a note": "t = ValueError(); t.add_note('n')",
    "a builtin": "t = len",
    "a method of a value": "t = [].append",
    "a class of a library": "import json\nt = json.JSONEncoder",
    "a class": "class t:\n    x: int = 1",
    "a metaclass' class": "class M(type): pass\nclass t(metaclass=M): pass",
    "a facade": "import collections.abc\nt = collections",
    "a partial": "import functools\nt = functools.partial(len)",
    "a partialmethod's result": (
        "import functools\nclass G:\n    def __get__(s, o, c=None): return len\n    def __call__(s): pass\n"
        "t = functools.partialmethod(G()).__get__(1)"
    ),
    "a property": "t = property(len)",
    "a cached property": "import functools\nt = functools.cached_property(len)",
    "a typing alias": "import typing, json\nt = proxy(json.dumps)",
    "a typing alias of an exception": (
        "import typing, math\ntry: math.nothing\nexcept AttributeError as e: t = proxy(e)"
    ),
    "an alias of a function": ("import types, json\nt = types.GenericAlias(json.dumps, int)"),
    "an alias of a class": ("import types\nt = types.GenericAlias(object, int)"),
    "a task with slots": (
        "import asyncio\nclass T(asyncio.Task): __slotnames__ = [NAME]\nasync def g(): await asyncio.sleep(9)\n"
        "loop = asyncio.new_event_loop()\nt = T(g(), loop=loop)\nloop.run_until_complete(asyncio.sleep(0))"
    ),
    "an object that takes its state": (
        "class t:\n    __slotnames__ = [NAME]\n    def __setstate__(self, state): self.got = state\nt = t()"
    ),
    "a weak proxy": "import weakref, json\nt = weakref.proxy(json.JSONEncoder)",
    "an enum member": "import enum\nclass E(enum.Enum): A = 1\nt = E.A",
    "an enum property": (
        "import enum, json\nt = enum.property(None)\nt._attr_type = 'attr'; t._cls_type = json.dumps\nt.name = NAME"
    ),
    "a dataclass field": "import dataclasses\nt = dataclasses.field()",
    "a named tuple": "import collections\nt = collections.namedtuple('N', 'a')(1)",
    "a slot": "class S:\n    __slots__ = ('a',)\nt = S.__dict__['a'] if 'a' in S.__dict__ else S.a",
    "a closure": "def f():\n    n = len\n    def g(): return n\n    return g\nt = f()",
    "a cell": (
        "class M(type):\n    def __new__(m, n, b, s):\n        global t\n        t = type(s['__classcell__'])()\n"
        "        type.__new__(m, n, b, {**s, '__classdictcell__': t})\n        return type.__new__(m, n, b, s)\n"
        "class K(metaclass=M):\n    def f(self): super()"
    ),
    "an annotation": "def f(a: 'len'): pass\nt = f.__annotations__",
    "a context manager": "import contextlib\n@contextlib.contextmanager\ndef f(): yield\nt = f()",
    "a wrapped function": "import functools\nt = functools.lru_cache(len)",
    "an exit stack": "import contextlib\nt = contextlib.ExitStack()\nt.push(len)",
    "a task": (
        "import asyncio\nasync def g(): await asyncio.sleep(9)\nloop = asyncio.new_event_loop()\n"
        "t = loop.create_task(g())\nloop.run_until_complete(asyncio.sleep(0))"
    ),
    "a loop": "import asyncio\nt = asyncio.new_event_loop()",
    "a warning": "import warnings\nwith warnings.catch_warnings(record=True) as t: warnings.warn('x')",
    "a log record": "import logging\nt = logging.LogRecord('n', 1, 'p', 1, 'm', (), None)",
}
ROUTES = {
    "getattr": "getattr(t, NAME)",
    "getattr with a default": "getattr(t, NAME, None)",
    "object.__getattribute__": "object.__getattribute__(t, NAME)",
    "type.__getattribute__": "type.__getattribute__(t, NAME)",
    "its own __getattribute__": "t.__getattribute__(NAME)",
    "attrgetter": "operator.attrgetter(NAME)(t)",
    "methodcaller": "operator.methodcaller('__getattribute__', NAME)(t)",
    "map": "list(map(getattr, [t], [NAME]))",
    "reduce": "functools.reduce(getattr, [NAME], t)",
    "partial": "functools.partial(object.__getattribute__, t)(NAME)",
    "vars": "vars(t)[NAME]",
    "__dict__": "t.__dict__[NAME]",
    "the class's dict": "type(t).__dict__[NAME].__get__(t)",
    "the dict of the class itself": "vars(type(t))[NAME]",
    "super": "super(type(t), t).__getattribute__(NAME)",
    "get_field": "string.Formatter().get_field('0.' + NAME, (t,), {})[0]",
    "getmembers": "dict(inspect.getmembers(t))[NAME]",
    "a descriptor": "t.__get__(None, int)",
    "a call of it": "getattr(t, NAME)()",
    "iter_fields": "dict(ast.iter_fields(types.SimpleNamespace(_fields=[NAME])))",
    "a dict of vars": "list(vars(t).values())",
    "args": "t.args",
    "its state": "object.__getstate__(t)[1][NAME]",
    "a call of what is in its state": "object.__getstate__(t)[1][NAME]()",
    "a copy that was given its state": "copy.copy(t).got[1][NAME]",
    "a weak proxy": "getattr(weakref.proxy(t), NAME)",
    "a typing proxy": "getattr(proxy(t), NAME)",
    "a wrapper that is given it": "given(lambda w: functools.update_wrapper(w, t, (NAME,), ()))",
    "a wrapper that is given a dict": "given(lambda w: functools.update_wrapper(w, t, (), (NAME, '__dict__')))",
    "the fields of a dataclass, compared": "compared(dataclasses.make_dataclass('D', [NAME]), t, NAME)",
    "the fields of a dataclass, given on": "dataclasses.asdict(with_fields(t, NAME))",
    "a frozen dataclass, set": "dataclasses.make_dataclass('D', [NAME], frozen=True, repr=False).__init__(t, 1)",
    "the memo of a deep copy": "(memo := {}, tried(lambda: copy.deepcopy(t, memo)), list(memo.values()))",
    "a memo that says what stands for it": "copy.deepcopy([].__len__, Memo(t, NAME))",
    "a copy by a library": "tried(lambda: collections.UserDict.__copy__(t))",
    "a mixin that is compared": "mixed(NAME)",
    "compared with one of its kind": "likened(t)",
    "a property of an enum": "property_of(t, NAME)",
    "the default of a parameter": "list(inspect.signature(t).parameters.values())[0].default",
    "printed by its fields": "printed(with_fields(t, NAME))",
    "in another thread": "list(futures.ThreadPoolExecutor(1).map(getattr, [t], [NAME]))",
    "the fields of a tree": "list(ast.iter_child_nodes(types.SimpleNamespace(_fields=[NAME])))",
    "written": "setattr(t, NAME, 1)",
}
OF_A_MODULE = {
    "the text of a signature": ("os", "inspect.signature(Signed('(x=os.' + NAME + ')'))"),
    "a function of a table": ("numpy", "pandas.Series([1.0]).agg(NAME)"),
    "a function of each column": ("numpy", "pandas.DataFrame({'a': [1.0]}).transform(NAME)"),
    "a function of groups": ("numpy", "pandas.Series([1.0]).groupby([1]).agg(NAME)"),
    "a window": ("scipy.signal", "scipy.signal.get_window(NAME, 3)"),
    "a rolling window": ("scipy.signal", "pandas.Series([1.0, 2]).rolling(2, win_type=NAME)._scipy_weight_generator"),
    "a distribution": ("scipy.stats", "scipy.stats.kstest([1.0, 2], NAME)"),
    "a kind of number": ("numpy", "numpy.dtype(NAME)"),
    "a module's text that is run": ("sympy", "sympy.sympify(NAME)"),
    "text that is parsed": ("sympy", "sympy.parsing.sympy_parser.parse_expr(NAME)"),
    "a function that is made of text": ("numpy", "sympy.lambdify(x, sympy.Function(NAME)(x), 'numpy')(1)"),
    "the same with mathematics": ("math", "sympy.lambdify(x, sympy.Function(NAME)(x), 'math')(1)"),
    "the same with scipy": ("scipy", "sympy.lambdify(x, sympy.Function(NAME)(x), 'scipy')(1)"),
    "the same with sympy": ("sympy", "sympy.lambdify(x, sympy.Function(NAME)(x), 'sympy')(1)"),
    "the same with mpmath": ("mpmath", "sympy.lambdify(x, sympy.Function(NAME)(x), 'mpmath')(1)"),
    "a constant that is searched for": ("mpmath", "mpmath.identify(1.5, [NAME])"),
    "a table's expression": ("numpy", "pandas.DataFrame({'a': [1.0]}).eval(NAME + '(a)')"),
}
"""Where a library reads a name that a text gives in a module of its own, or runs text among the names that it has
imported: what → that module, and an expression. A name that the facade of the module does not have leads nowhere.
"""
PRELUDE = """
import operator, functools, string, types, typing, copy, collections, dataclasses, enum, pprint, io
try: import inspect, ast, weakref
except ImportError: pass
try: from concurrent import futures
except ImportError: pass
def proxy(t):
    return type(typing.List[int])(t, (int,), name="p")
def tried(f):
    try: return f()
    except Exception as error: return error
def given(f):
    got = []
    class U:
        def update(self, it): got.append(it)
    class W:
        __dict__ = property(lambda self: U())
        def __getattr__(self, name): return U()
        def __setattr__(self, name, value): got.append(value)
    tried(lambda: f(W()))
    return got
class Spy:
    def __init__(self): self.got = []
    def __eq__(self, other): self.got.append(other)
def compared(cls, t, name):
    spy = Spy()
    other = type("O", (), {"__class__": property(lambda self: type(t)), name: spy})()
    tried(lambda: cls.__eq__(t, other))
    return spy.got
def likened(t):
    spy = Spy()
    for other in (lambda: type(t)(spy), lambda: spy):
        tried(lambda: t == other())
    return spy.got
def with_fields(it, name):
    field = dataclasses.fields(dataclasses.make_dataclass("D", ["a"]))[0]
    field.name = name
    it.__dataclass_fields__ = {"a": field}
    it.__dataclass_params__ = field
    return it
def printed(it):
    class P(pprint.PrettyPrinter):
        def _format_namespace_items(self, items, *rest): got.extend(items)
    got = []
    tried(lambda: P()._pprint_dataclass(it, io.StringIO(), 0, 0, {}, 0))
    return got
class Memo(dict):
    def __init__(self, t, name): self.answers = [None, t, name]
    def get(self, key, default=None): return (self.answers.pop(0) if self.answers else None) or default
def mixed(name):
    spy = Spy()
    tried(lambda: enum.EnumType("E", (type("Mix", (), {name: spy}), enum.Enum), enum.EnumType.__prepare__("E", ())))
    return spy.got
def property_of(t, name):
    p = enum.property(None)
    p._attr_type, p._cls_type, p.name = "attr", t, name
    return p.__get__(1, int)
class Signed:
    __name__ = "f"
    def __init__(self, text): self.__text_signature__ = text
    def __get__(self, a, b=None): return self
    def __call__(self): pass
"""
BINDINGS = (
    "NAME = 1", "(NAME := 1)", "for NAME in [1]: pass", "with open('x') as NAME: pass",
    "try: 1/0\nexcept Exception as NAME: pass", "match 1:\n    case NAME: pass", "match [1]:\n    case [*NAME]: pass",
    "match {}:\n    case {**NAME}: pass", "import math as NAME", "from math import pi as NAME", "def NAME(): pass",
    "class NAME: pass", "def f(NAME): pass", "def f(NAME, /): pass", "def f(*NAME): pass", "def f(**NAME): pass",
    "def f(*, NAME): pass", "lambda NAME: 1", "lambda NAME, /: 1", "del NAME",
    "def f():\n    global NAME\n    NAME = 1",
    "[0 for NAME in [1]]", "NAME: int = 1", "NAME += 1", "*NAME, a = [1]", "async def NAME(): pass",
    "def f():\n    x = 1\n    def g():\n        nonlocal NAME",
)  # fmt: skip

WALK = """
import collections, itertools
try: import inspect
except ImportError: pass
_seen = set()
_keep = []
def _walk(x, path, depth, calls):
    waiting = collections.deque([(x, path, depth, calls)])
    def wait(value, *more):
        if id_of(value) not in _seen and type(value) not in (int, str, float, bool, bytes, complex, NoneType):
            _seen.add(id_of(value)); _keep.append(value); waiting.append((value, *more))
    while waiting and len(_keep) <= LIMIT:
        x, path, depth, calls = waiting.popleft()
        _look(x, path)
        try:
            found = dir(x) if depth else ()
        except BaseException:
            continue
        for name in found:
            try:
                value = getattr(x, name)
            except BaseException:
                continue
            _look(value, path + "." + name)
            wait(value, path + "." + name, depth - 1, calls)
            if calls and callable(value) and name not in _SKIP:
                for arguments in ((), (1,), ("a",), ([1.0, 2.0],), (type,)):
                    try:
                        made = value(*arguments)
                    except BaseException:
                        continue
                    _look(made, path + "." + name + "()")
                    wait(made, path + "." + name + repr(arguments), min(depth, 2), calls - 1)
                    break
_given = []
def _callback(*arguments, **options):
    _given.extend((*arguments, *options.values()))
    return arguments[0] if arguments else 1
def _call_back(of, path, firsts):
    for name in sorted(set(dir(of)) - _SKIP):
        try:
            function = getattr(of, name)
            parameters = list(inspect.signature(function).parameters.values())
        except BaseException:
            continue
        parameters = [item for item in parameters if item.kind not in (item.VAR_POSITIONAL, item.VAR_KEYWORD)]
        asked = [item for item in parameters if item.default is item.empty and item.kind is not item.KEYWORD_ONLY]
        for item, given, first in itertools.product(parameters, (_callback, (_callback,), {"x": _callback}), firsts):
            try:
                function(*[given if one is item else first for one in asked],
                         **({} if item in asked else {item.name: given}))
            except BaseException:
                pass
            for value in _given:
                _look(value, f"{path}.{name}({item.name}=)")
            _given.clear()
def _watcher(path):
    def watch(*arguments, **options):
        for value in (*arguments, *options.values()):
            _look(value, path + "()")
        return watch
    return watch
def _write_to(of, path, turn):  # every other attribute: what uses them stays
    count = 0
    for name in sorted(set(dir(of)) - _SKIP - {"stdout", "stderr", "print"}):
        try:
            x = getattr(of, name)
            found = [] if isinstance(x, type) else [*dir(x), "copy_with", "register", "__wrapped__", "__signature__"]
        except BaseException:
            continue
        for attribute in sorted(found)[turn::2]:
            try:
                setattr(x, attribute, _watcher(path + "." + name + "." + attribute))
                count += 1
            except BaseException:
                pass
    return count
def _call_all(of):
    for name, arguments in itertools.product(sorted(set(dir(of)) - _SKIP), ((), (1,), ("a",), ([1.0, 2.0],), (int,))):
        try:
            getattr(of, name)(*arguments)
        except BaseException:
            pass
class _Equal(type):  # its classes, and what is made of them, are equal to all that they are compared with
    def __eq__(self, other): _given.append(other); return True
    __hash__ = type.__hash__
class _Any(metaclass=_Equal):
    def __eq__(self, other): _given.append(other); return True
    __hash__ = object.__hash__
def _stored_in(kind):  # a class of the program that is told what the methods of a library's store
    class Stored(kind):
        def __setattr__(self, name, value): _given.append(value); super().__setattr__(name, value)
    return Stored
def _spy(of, path):
    for name in sorted(set(dir(of)) - _SKIP):
        try:
            x = getattr(of, name)
            makers = [x, _stored_in(x)] if isinstance(x, type) else [x]
        except BaseException:
            makers = [x]
        for maker, arguments in itertools.product(makers, ((), (1,), ("a",), (_callback,), (_Any,), (_Any(), _Any))):
            try:
                made = maker(*arguments)
                for method in sorted(set(dir(made)) - _SKIP) if maker is not x else ():
                    try:
                        getattr(made, method)()
                    except BaseException:
                        pass
            except BaseException:
                pass
            for value in _given:
                _look(value, f"{path}.{name}")
            _given.clear()
NoneType = type(None)
_SKIP = {"exit", "quit", "input", "breakpoint", "sleep", "show", "pause", "run_forever", "wait", "acquire", "join",
         "get", "main", "serve_forever", "abort", "kill", "run", "rmtree"}
_id = object.__hash__
def id_of(x):
    try:
        return _id(x)
    except TypeError:
        return 0
"""


def programs(seed: int) -> Iterator[tuple[str, str]]:
    """(what it joins, its source), in an order of its own for each seed; never ends before all have come."""
    refused = sorted(names.REFUSED_PLAIN_NAMES | names.GUARDED | set(names.RESERVED) | _DUNDERS)
    joined = list(itertools.product(CARRIERS, ROUTES, refused))
    random.Random(seed).shuffle(joined)
    for carrier, route, name in joined:
        source = CARRIERS[carrier].replace("NAME", repr(name))
        expression = ROUTES[route].replace("NAME", "''.join(" + repr(list(name)) + ")")
        yield f"{carrier}, {route}, {name}", f"{source}\nfound = {expression}\n_look(found, 'found')"


_DUNDERS = {
    "__globals__", "__code__", "__closure__", "__builtins__", "__self__", "__func__", "__wrapped__", "__subclasses__",
    "__reduce__", "__reduce_ex__", "__loader__", "__spec__", "__dict__", "__init_subclass__", "__objclass__",
    "__mro__", "__bases__", "__class__", "__getattribute__", "__thisclass__", "__self_class__",
}  # fmt: skip


def readings(profile: str) -> Iterator[tuple[str, str]]:
    """(what it joins, its source) for each name that a module has and its facade has not: who calls it has found it."""
    plan = language_plan(Policy.load(profile))
    for told, (module, expression) in OF_A_MODULE.items():
        libraries = {name for name in LIBRARIES if name in f"{module}.{expression}"}
        if not all(name in plan.imports and importlib.util.find_spec(name) for name in libraries):
            continue
        real = importlib.import_module(module)
        given = known_names(module, plan) if module_access(module, plan).allowed else frozenset()
        if "pandas" in libraries:  # a text names a method of the table first
            given |= {name for kind in _tables() for name in dir(kind) if not name.startswith("_")}
        for name in sorted({*dir(real), *_DUNDERS} - given):
            if name.isidentifier() and not hasattr(builtins, name):
                source = "".join(f"import {item}\n" for item in sorted(libraries))
                source += "import sympy.parsing.sympy_parser\nx = sympy.Symbol('x')\n" if "sympy" in libraries else ""
                yield f"{told}, {name}", source + READING.format(expression.replace("NAME", repr(name)), name=name)


def _tables() -> tuple[type, ...]:
    pandas = importlib.import_module("pandas")
    return pandas.DataFrame, pandas.Series


LIBRARIES = ("numpy", "pandas", "scipy", "sympy", "mpmath")
READING = """
try: found = {}
except (AttributeError, NameError, ImportError, ValueError, TypeError, SyntaxError) as error:
    if not _is_refusal(error): print("way out: called,", repr(error))
else:
    _look(found, "found")
    if not _is_harmless(found): print("way out: found", type(found), repr(found)[:200])
"""


def bindings() -> Iterator[str]:
    """Each form of binding with each name that no program may bind."""
    for form, name in itertools.product(BINDINGS, sorted(names.RESERVED)):
        yield form.replace("NAME", name)


def run_programs(session: Session, chosen: list[tuple[str, str]]) -> list[str]:
    """What of these programs has something that is outside."""
    return [
        f"{told}: {way}\n{source}"
        for told, source in chosen
        for way in ways_out(session.run(source, timeout=5.0).stdout)
    ]


def ways_out(printed: str) -> list[str]:
    """What the oracle has told, also in a step that was stopped."""
    return [line.removeprefix("way out: ") for line in printed.splitlines() if line.startswith("way out: ")]


def walk(session: Session, module: str, *, depth: int, calls: int, limit: int, timeout: float) -> list[str]:
    """The paths from this module's facade that lead to something outside."""
    if not session.run(f"import {module} as _start").ok:
        return []
    session.run("_seen.clear(); _keep.clear()").check()
    result = session.run(f"LIMIT = {limit}\n_walk(_start, {module!r}, {depth}, {calls})", timeout=timeout)
    if not result.ok and result.outcome not in ("timeout", "memory", "crashed"):  # compiled code of a library may crash
        return [f"{module}: the walk ended with {result.error or result.outcome}"]
    return [f"{module}: {path}" for path in ways_out(result.stdout)]


def call_back(session: Session, module: str, *, timeout: float) -> list[str]:
    """What the functions of this module's facade give to a callback of the program, where that is outside."""
    if not session.run(f"import {module} as _start").ok:
        return []
    result = session.run(f"_call_back(_start, {module!r}, ['x', 1.0, [1.0, 2.0]])", timeout=timeout)
    return [f"{module}: {path}" for path in ways_out(result.stdout)]


def spy(session: Session, module: str, *, timeout: float) -> list[str]:
    """What the classes and functions of this module's facade store in objects of classes that the program has derived
    from them, and what they compare its classes with, where that is outside.
    """
    if not session.run(f"import {module} as _start").ok:
        return []
    return [f"{module}: {way}" for way in ways_out(session.run(f"_spy(_start, {module!r})", timeout=timeout).stdout)]


def write(session: Session, module: str, late: Iterable[str], *, timeout: float) -> list[str]:
    """What meets a function of the program that it has put into all attributes of all objects of this module's facade:
    its functions are called, modules are imported behind it, and a step fails.
    """
    if not session.run(f"import {module} as _start").ok:
        return []
    ways = []
    session.checkpoint("unwritten")
    for turn in (0, 1):
        steps = (f"_write_to(_start, {module!r}, {turn})", "_call_all(_start)", *(f"import {name}" for name in late))
        for step in (*steps, "1 / 0", "nosuch"):
            ways += [f"{module}: {way}" for way in ways_out(session.run(step, timeout=timeout).stdout)]
        session.rollback("unwritten")
    return ways


def prepare(session: Session) -> None:
    """Give the session the oracle and the walk."""
    session.run(ORACLE).check()
    session.run(PRELUDE).check()
    session.run("_POWERS.discard(repr(open))")  # rejected where the profile gives none
    session.run(WALK).check()


def importable(profile: str) -> list[str]:
    """The modules of a profile whose facades hold something."""
    plan = language_plan(Policy.load(profile))
    found = []
    for name in sorted(plan.imports):
        try:
            if known_names(name, plan):
                found.append(name)
        except ImportError:
            continue
    return found


def main() -> int:
    """Search for as long as is asked. Returns 1 when something was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--profile", action="append")
    options = parser.parse_args()
    deadline = monotonic() + options.seconds
    count = 0
    profiles = options.profile or ["standard"]
    for profile in profiles:
        until = min(deadline, monotonic() + options.seconds / len(profiles))
        with Sandbox(profile) as sandbox:
            for way in search(sandbox, profile, options.seed, until):
                count += 1
                print(way, end="\n\n", flush=True)  # at once: nobody knows how the search ends
    print(f"{count} ways out")
    return 1 if count else 0


def search(sandbox: Sandbox, profile: str, seed: int, until: float) -> Iterator[str]:
    """What is found until then. The walk calls whatever it meets: the programs run in other sessions."""
    modules, asked = importable(profile), list(readings(profile))
    random.Random(seed).shuffle(modules)
    random.Random(seed).shuffle(asked)
    yield from found(sandbox, (partial(_look_at, module=module) for module in modules), (monotonic() + until) / 2)
    some = random.Random(seed)
    writing = (partial(_written, module=module, late=some.sample(modules, min(4, len(modules)))) for module in modules)
    yield from found(sandbox, writing, (3 * monotonic() + until) / 4)
    joined = (partial(run_programs, chosen=[program]) for program in _in_turns(asked, programs(seed)))
    yield from found(sandbox, joined, until)


def _look_at(session: Session, module: str) -> list[str]:
    paths = walk(session, module, depth=3, calls=2, limit=20_000, timeout=30.0)
    return paths + call_back(session, module, timeout=30.0) + spy(session, module, timeout=30.0)


def _written(session: Session, module: str, late: list[str]) -> list[str]:
    return write(session, module, late, timeout=30.0)


def found(sandbox: Sandbox, tries: Iterable[Callable[[Session], list[str]]], until: float) -> Iterator[str]:
    """What these find until then. An error of the host is a find, too, and a session begins with the next try."""
    session, number = sandbox.session(), 0
    for number, attempt in enumerate(tries, 1):
        if monotonic() >= until:
            break
        ended = number % 200 == 0
        try:
            if not session.run("_seen").ok:  # a step that was killed may have taken it along
                prepare(session)
            yield from attempt(session)
        except SandboxError as error:
            yield f"the host, at {attempt}: {error!r}"
            ended = True
        if ended:
            session.close()
            session = sandbox.session()
    session.close()
    print(f"{number} tries", file=sys.stderr)


def _in_turns(*of: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    return (item for turn in itertools.zip_longest(*of) for item in turn if item is not None)


if __name__ == "__main__":
    sys.exit(main())
