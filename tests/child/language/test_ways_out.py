"""Programs that once got an object past the language layer. Each names the rule that stops it now.

They are grouped by what made them possible. The kernel layer held each of them: see `tests/escapes` for that side.
"""

from __future__ import annotations

import io
import re
import sys
import types
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import pytest

from safeexec import Sandbox
from safeexec.identity import identity

STEP = "# --- next step ---\n"
OBJECTS = (
    "<module 'os'|<module 'builtins'|<module 'posixpath'|<frame |<code object|<built-in function eval>|<class 'frame'>"
    "|FileIO"
)
"""What no program may print."""


class Way(NamedTuple):
    """One program: it ends with an error or prints a caught one, and `reason` is in that text."""

    name: str
    reason: str
    source: str
    profile: str = "standard"
    marks: Sequence[Any] = ()


STORES_INTO_FACADES = [
    Way(
        "a class of the same layout, then an import statement",
        "assignment to 'json.__class__' is refused: modules are read-only",
        "import json\n"
        "class Evil(type(enumerate([]))): pass\n"
        "for m in [json]: m.__class__ = Evil\n"
        "from json import path\nprint(path.os)",
    ),
    Way(
        "a subclass of the facade's type",
        "type 'module' is not an acceptable base type",
        "import json\nclass Evil(type(json)):\n    def __getattribute__(self, name): return 'os'\nm = [json]",
    ),
    Way(
        "import a.b as c after a write into a",
        "assignment to 'xml.etree' is refused: modules are read-only",
        "import xml.etree.ElementTree\nclass Fake: pass\nFake.__name__ = 'xml.etree'\nm = [xml]\nm[0].etree = Fake\n"
        "import xml.etree.ElementTree as ET\nprint(ET.sys.modules['os'])",
        "data-analysis",
    ),
    Way(
        "a method in the place of a library's function",
        "assignment to 'json.dumps' is refused: modules are read-only",
        "import json\nfor o in [json]: o.dumps = lambda *a: 'patched'",
    ),
    Way(
        "a setattr of the program's own class",
        "assignment to 'json.dumps' is refused: modules are read-only",
        "import json\nm = [json]\ndel m[0].dumps",
    ),
    Way(
        "cached_property writes into what it is asked of",
        "for the objects of a class that has it",
        "import functools, json\nc = functools.cached_property(lambda self: 42)\nc.attrname = 'dumpz'\nc.__get__(json)",
    ),
    Way(
        "a frozen dataclass' __init__ writes with object.__setattr__",
        "is no instance of a dataclass",
        "import dataclasses, json\n@dataclasses.dataclass(frozen=True)\nclass A:\n    dumps: int\nA.__init__(json, 1)",
    ),
    Way(
        "a weak proxy shows a dict",
        "cannot create weak reference to 'module' object",
        "import weakref, json\nd = weakref.proxy(json).__dict__\nd['dumps'] = 1",
    ),
]

WHAT_COMES_BACK = [
    Way(
        "partialmethod leaves builtins in a partial's dict",
        "KeyError: '__self__'",
        "import functools\n"
        "class G:\n"
        "    def __get__(self, o, c=None): return len\n"
        "    def __call__(self): pass\n"
        "p = functools.partialmethod(G()).__get__(1)\n"
        "b = vars(p)['__self__']\nprint(b)",
    ),
    Way(
        "the same by __dict__ and by getattr",
        "has no attribute '__self__'",
        "import functools\n"
        "class G:\n"
        "    def __get__(self, o, c=None): return len\n"
        "    def __call__(self): pass\n"
        "p = functools.partialmethod(G()).__get__(1)\n"
        "assert '__self__' not in p.__dict__\nprint(getattr(p, '__self__'))",
    ),
    Way(
        "a typing alias forwards obj",
        "attribute 'obj' is refused",
        "import typing, math\n"
        "try: math.nothing\n"
        "except AttributeError as e: t = type(typing.List[int])(e, (int,), name='p')\n"
        "print(t.obj)",
    ),
    Way(
        "a weak proxy forwards obj",
        "attribute 'obj' is refused",
        "import weakref\nclass E(AttributeError): pass\ne = E(obj=len)\nprint(weakref.proxy(e).obj)",
    ),
    Way(
        "a subclass of a typing alias forwards names that are a library's own",
        "Cannot subclass special typing classes",
        "import typing, asyncio\n"
        "class P(type(typing.List[int])): pass\n"
        "p = P(int, (int,))\np.__origin__ = asyncio.new_event_loop()\nprint(p._ssock)",
    ),
    Way(
        "an error handler of shutil.rmtree is given os.open",
        "os.open is refused, also to an error handler of shutil.rmtree",
        "import os, shutil\nos.mkdir('d')\n"
        "class Gone:\n    asked = 0\n    def __fspath__(self):\n"
        "        Gone.asked += 1\n        return 'd' if Gone.asked == 1 else 'gone'\n"
        "def handler(function, path, error): return function('d', 0)\n"
        "shutil.rmtree(Gone(), onerror=handler)",
        "data-analysis",
    ),
]

ROUTES_TO_FRAMES = [
    Way(
        "a task's stack",
        "attribute 'get_stack' is refused",
        "import asyncio\nasync def co(): return asyncio.current_task().get_stack()\nprint(asyncio.run(co()))",
    ),
    Way(
        "a task's stack, printed",
        "attribute 'print_stack' is refused",
        "import asyncio\nasync def co(): return asyncio.current_task().print_stack()\nprint(asyncio.run(co()))",
    ),
    Way(
        "a task's stack by its class",
        "attribute 'get_stack' is refused",
        "import asyncio\n"
        "async def co(): return getattr(asyncio.Task, 'get_stack')(asyncio.current_task())\nprint(asyncio.run(co()))",
    ),
]

TEXT_BECOMES_A_NAME = [
    Way(
        "a window's type is a name of scipy.signal",
        "attribute '__builtins__' is refused",
        "import pandas as pd\nprint(pd.Series([1.0, 2]).rolling(2, win_type='__builtins__')._scipy_weight_generator)",
        "data-analysis",
    ),
    Way(
        "an estimator's parameter names are the program's",
        "attribute '__globals__' is refused",
        "from sklearn.base import BaseEstimator\nimport dataclasses\nfn = dataclasses.field\n"
        "fn._get_param_names = lambda: ['__globals__']\nprint(BaseEstimator.get_params(fn, deep=False))",
        "data-analysis",
    ),
    Way(
        "a backend is a module",
        "import of os is refused: no library imports what a program names",
        "import io\nimport matplotlib.pyplot as plt\nplt.figure().savefig(io.BytesIO(), backend='module://os')",
        "data-analysis",
    ),
    Way(
        "the templates of a Styler",
        "Styler.env is refused: a jinja2 template runs code",
        "import pandas as pd\nprint(pd.DataFrame({'a': [1]}).style.env.compile_expression('1')())",
        "data-analysis",
    ),
    Way(
        "a template of the workspace",
        "Styler.from_custom_template is refused: a jinja2 template runs code",
        "open('t.tpl', 'w').write('{{ cycler.__init__.__globals__ }}')\nimport pandas as pd\n"
        "pd.DataFrame({'a': [1]}).style.from_custom_template('.', 't.tpl')",
        "data-analysis",
    ),
    Way(
        "an unpickled cache of the workspace",
        "[]",
        "import pathlib\nfrom sklearn.cluster import AgglomerativeClustering\n"
        "AgglomerativeClustering(2, memory='cache').fit([[1., 2], [2, 1], [5, 5]])\n"
        "print(list(pathlib.Path('.').rglob('*.pkl')))",
        "data-analysis",
    ),
    Way(
        "enum.property reads the name that it is given",
        "'__globals__'" if sys.version_info >= (3, 12) else "no attribute",
        "import enum, dataclasses\np = enum.property(None)\n"
        "p._attr_type = 'attr'; p._cls_type = dataclasses.field; p.name = '__globals__'\n"
        "print(p.__get__(None, int)['sys'])\nraise AttributeError('no attribute')",
    ),
]

DATABASES_AND_DOCUMENTS = [
    Way(
        "a database loads machine code",
        "OperationalError: not authorized",
        "import sqlite3\nsqlite3.connect(':memory:').execute(\"select load_extension('x')\")",
        "data-analysis",
    ),
    Way(
        "a connection allows it",
        "AttributeError",
        "import sqlite3\ngetattr(sqlite3.connect(':memory:'), 'enable_load' + '_extension')(True)",
        "data-analysis",
    ),
    Way(
        "a database outside is attached",
        "/etc/passwd",  # in the words of sqlite, or of the kernel's refusal
        "import sqlite3\nsqlite3.connect(':memory:').execute(\"attach '/etc/passwd' as p\")",
        "data-analysis",
    ),
    Way(
        "a tag of yaml is a function",
        "could not determine a constructor",
        "import yaml\nyaml.load('!!python/name:os.system', Loader=yaml.FullLoader)",
        "data-analysis",
    ),
    Way(
        "a loader of yaml is another class",
        "it makes any object that the text names",
        "import yaml\nyaml.load('1', Loader=type('L', (), {}))",
        "data-analysis",
    ),
]

_ADDED = (
    "import ast, json, reprlib\nclass K(str):\n    def __radd__(self, other): return '__getattribute__'\n"
    "    def __contains__(self, other): return False\n"
    "class M(type):\n    __name__ = property(lambda cls: K('x'))\nclass F(metaclass=M): pass\n"
    "f = [json.dumps][0]\nf.generic_visit = 0\n"
)
TEXT_BECOMES_A_NAME += [
    Way(
        f"what is added to the beginning of a name answers with another name: {how}",
        told,
        _ADDED + source,
        profile,
    )
    for how, told, profile, source in (
        (
            "ast.NodeVisitor.visit",
            "attribute '__globals__' is refused",
            "standard",
            "class Node(str): __class__ = property(lambda self: F)\n"
            "print(ast.NodeVisitor.visit(f, Node('__globals__')))",
        ),
        (
            "reprlib.Repr.repr1",
            "takes 0 positional arguments but 1 was given",  # it gives those of the program's class
            "standard",
            "class P(type, metaclass=M): pass\nclass T(type, metaclass=P): pass\n"
            "print(reprlib.Repr.repr1(type, T, '__subclasses__')(object))",
        ),
        (
            "a format of a sparse matrix",
            "Format x is unknown",  # as for any name that is not there
            "data-analysis",
            "from scipy.sparse import csr_array\nclass S(K):\n    def __radd__(self, other): return '__subclasses__'\n"
            "print(csr_array.asformat(str, S('x')))",
        ),
    )
]
TEXT_BECOMES_A_NAME += [
    Way(
        "the text of a signature names what a module has",
        "builtin has invalid signature",
        "import inspect\nclass D:\n    __text_signature__ = '(x=os.environ)'\n    __name__ = 'f'\n"
        "    def __get__(self, a, b=None): return self\n    def __call__(self): pass\nprint(inspect.signature(D()))",
    ),
    Way(
        "a template by which a table's values are formatted",
        "attribute '__globals__' is refused",
        "import json, pandas\nprint(pandas.DataFrame({'a': [json.dumps]}).style.format('{0.__globals__}').to_html())",
        "data-analysis",
    ),
]

_REFUSED = "attribute '__globals__' is refused"
_ANY = "class A:\n    def f(self): pass\n"
_FLOAT = "class F(float):\n    def f(self): pass\n"
TEMPLATES = [
    Way(
        "the bar of a progress bar",
        "attribute '__init__' is refused",
        "from tqdm import tqdm\nprint(tqdm.format_meter(1, 9, 1, bar_format='{bar.__init__.__globals__[sys]}'))",
        "data-analysis",
    ),
    Way(
        "one that the library cuts it out of",
        "attribute '__init__' is refused",
        "from tqdm import tqdm\n"
        "print(tqdm.format_meter(1, 9, 1, bar_format='{bar.__in{desc}: it__.__globals__[sys]}'))",
        "data-analysis",
    ),
    Way(
        "the labels of a table",
        _REFUSED,
        _ANY + "import pandas\ndf = pandas.DataFrame({'a': [1]}, index=[A()])\n"
        "print(df.style.relabel_index(['{0.f.__globals__}']).to_html())",
        "data-analysis",
    ),
    Way(
        "floats of a class of the program's",
        _REFUSED,
        _FLOAT + "import pandas\nx = pandas.Series([F(1.5), 'x'], dtype=object)\n"
        "print(pandas.DataFrame({'a': x}).to_string(float_format='{0.f.__globals__}'))",
        "data-analysis",
    ),
    Way(
        "a message of matplotlib's",
        "attribute '__init__' is refused",
        "import matplotlib.lines\nline = matplotlib.lines.Line2D([], [])\n"
        "line._update_props({'nope': 1}, '{cls.__init__.__globals__[np]}')",
        "data-analysis",
    ),
    Way(
        "the address of a page about a model",
        _REFUSED,
        _ANY + "from sklearn.base import BaseEstimator\n"
        "class E(BaseEstimator):\n    _doc_link_module = '__main__'\n"
        "    @property\n    def _doc_link_template(self): return '{a.f.__globals__}'\n"
        "    def _doc_link_url_param_generator(self): return {'a': A()}\n"
        "E.__module__ = '__main__'\nprint(E()._get_doc_link())",
        "data-analysis",
    ),
    Way(
        "a handler whose formatter is a text",
        "attribute '__globals__' is refused",
        "import logging\nhandler = logging.StreamHandler()\nhandler.formatter = '{0.getMessage.__globals__[sys]}'\n"
        "print(handler.format(logging.makeLogRecord({})))",
    ),
    Way(
        "a formatter whose style is a text",
        _REFUSED,
        "import logging\nformatter = logging.Formatter()\nformatter._style = '{0.getMessage.__globals__[sys]}'\n"
        "print(formatter.formatMessage(logging.makeLogRecord({})))",
    ),
    Way(
        "records whose formatter is a text",
        _REFUSED,
        "import logging\nformatter = logging.BufferingFormatter()\n"
        "formatter.linefmt = '{0.getMessage.__globals__[sys]}'\nprint(formatter.format([logging.makeLogRecord({})]))",
    ),
    Way(
        "the repr of a path in an archive",
        "Path('a.zip', '')",
        "import zipfile\nwith zipfile.ZipFile('a.zip', 'w') as archive: archive.writestr('a', 'b')\n"
        "path = zipfile.Path('a.zip')\npath._Path__repr = '{self.exists.__globals__[sys]}'\nprint(repr(path))",
        "data-analysis",
    ),
]

DATABASES_AND_DOCUMENTS += [
    Way(
        "pandas.read_sql of a database by its address",
        "a connection of sqlite3 alone is read here",
        "import pandas\npandas.read_sql('select 1', 'sqlite:////tmp/x.db')",
        "data-analysis",
    ),
    *(
        Way(
            f"an address of machine code in a query, {how}",
            "not authorized to use function: FTS3_tokenizer",
            f"import sqlite3\nc = {connection}\n{before}\nc.execute('select FTS3_tokenizer(?, ?)', ('x', b'A' * 8))\n"
            "c.execute('create virtual table t using fts3(a, tokenize=x)')",
            "data-analysis",
        )
        for how, connection, before in (
            ("in a connection", "sqlite3.connect(':memory:')", ""),
            ("with no authorizer", "sqlite3.connect(':memory:')", "c.set_authorizer(None)"),
            ("with one of the program", "sqlite3.connect(':memory:')", "c.set_authorizer(lambda *given: 0)"),
            ("in a connection of its own class", "type('C', (sqlite3.Connection,), {})(':memory:')", ""),
        )
    ),
]

WORKBOOKS_AND_GRAPHS = [
    Way(
        "a decorator that writes code",
        "attribute '__argmap__' is refused",
        "import networkx as nx\ngetattr(nx.barabasi_albert_graph, '__arg' + 'map__')",
        "data-analysis",
    ),
    Way(
        "a setting of the whole library",
        "it changes the whole interpreter",
        "import networkx as nx\nnx.config.backends",
        "data-analysis",
    ),
    Way(
        "a backend of any name",
        "'os' backend is not installed",
        "import networkx as nx\nnx.pagerank(nx.path_graph(3), backend='os')",
        "data-analysis",
    ),
    Way(
        "a document names a file",
        "reference to external entity",
        "import networkx as nx\nopen('a.graphml', 'w').write('<!DOCTYPE r [<!ENTITY x SYSTEM \"file:///etc/passwd\">]>'\n"
        "    '<graphml><graph id=\"&x;\"/></graphml>')\nnx.read_graphml('a.graphml')",
        "data-analysis",
    ),
    Way(
        "a proxy of a style reads any name",
        "attribute '__globals__' is refused",
        "import openpyxl\nfont = openpyxl.Workbook().active['A1'].font\ngetattr(font.copy, '__glo' + 'bals__')",
        "data-analysis",
    ),
    Way(
        "a dictionary of dimensions sets any attribute",
        "attribute '__code__' is refused",
        "import openpyxl\nsheet = openpyxl.Workbook().active\ndef f(): pass\n"
        "made = type(sheet.column_dimensions)(sheet, reference='__code__', default_factory=lambda: f)\nmade['x']",
        "data-analysis",
    ),
    Way(
        "a workbook outside", "is refused", "import openpyxl\nopenpyxl.Workbook().save('/tmp/x.xlsx')", "data-analysis"
    ),
    Way(
        "an estimator by name",
        "attribute '__reduce__' is refused",
        "import seaborn as sns, pandas as pd\n"
        "sns.barplot(pd.DataFrame({'a': [1.0, 2]}), x='a', y='a', estimator='__reduce__')",
        "data-analysis",
    ),
    Way(
        "a data set from elsewhere",
        "it uses the network",
        "import seaborn as sns\nsns.load_dataset('tips')",
        "data-analysis",
    ),
]

_FITTED = (
    "import patsy, numpy as np, pandas as pd\nimport statsmodels.api as sm, statsmodels.formula.api as smf\n"
    "df = pd.DataFrame({'x': [1.0, 2, 3, 4, 5], 'y': [2.0, 4, 5, 4, 5]})\nfit = smf.ols('y ~ x', df).fit()\n"
)
MODELS = [
    Way(f"statsmodels: {name}", reason, _FITTED + source, "data-analysis")
    for name, reason, source in (
        (
            "a formula names attributes",
            "'__subclasses__' is refused",
            "smf.ols('y ~ I(().__class__.__base__.__subclasses__())', df)",
        ),
        (
            "a formula names a guard",
            "'_getattr_' is refused",
            "patsy.dmatrix('_getattr_(x, 1)', {'x': [1.0], '_getattr_': print})",
        ),
        ("a formula computes a name", "'__builtins__' is refused", "smf.ols('y ~ getattr(np, \"__builtins__\")', df)"),
        (
            "a formula quotes the interpreter's names",
            "no data named '__builtins__'",
            "patsy.dmatrix('Q(\"__builtins__\")', df)",
        ),
        ("a formula imports", "os.getpid is refused", "smf.ols('y ~ x + __import__(\"os\").getpid()', df)"),
        (
            "the environment of a formula",
            "'__subclasses__' is refused",
            "info, = patsy.dmatrix('x', df).design_info.factor_infos.values()\n"
            "info.state['eval_env'].eval('().__class__.__base__.__subclasses__()')",
        ),
        ("patsy's own environments", "stack frames", "patsy.EvalEnvironment"),
        ("a pickle of results", "could run code", "type(fit._results).load('fit.pkl')"),
        ("a pickle by the facade", "runs any code that the data asks for", "sm.load('fit.pkl')"),
        ("another reader of formulas", "import of 'formulaic' is refused", "import formulaic"),
        ("a data set from elsewhere", "it uses the network", "sm.datasets.get_rdataset('iris')"),
        ("a program of another house", "it starts programs", "sm.tsa.x13_arima_analysis"),
        (
            "results copied from any dict",
            "is for a 'Results' object",
            "from statsmodels.base.model import GenericLikelihoodModelResults as G\nG(fit.model, type)",
        ),
        (
            "what results are asked for",
            "'__globals__' is refused",
            "fit._results = lambda: 0\ngetattr(fit, '__globals__')",
        ),
    )
]

_EVALUATED = (
    "got = []\ndef grab(x): got.append(x); return x\n"
    "def f(a: 'grab(().__class__.__base__.__subclasses__())'): pass\n"
    "inspect.Signature.from_callable(f, eval_str=True)\nprint(got)"
)
WHOSE_CLASS_IT_IS = [
    Way(
        "the program calls itself as a library's module is called",
        "attribute 'from_callable' is refused",
        "import inspect\n__name__ = 'inspect'\n" + _EVALUATED,
    ),
    Way(
        "a program without a name has the classes that have no module",
        "attribute '__subclasses__' is refused",
        "del __name__\nprint(object.__subclasses__())",
        "calculator",
    ),
    *(
        Way(
            f"a library's class says that it is the program's: {how}",
            "cannot set '__module__' attribute of immutable type 'Signature'",
            f"import inspect\nL = [inspect.Signature]\n{store}\n" + _EVALUATED,
        )
        for how, store in {
            "an assignment": "L[0].__module__ = '__main__'",
            "a loop": "for L[0].__module__ in ['__main__']: pass",
            "an unpacking": "a, L[0].__module__ = 1, '__main__'",
            "deleted": "del L[0].__module__",
            "added to": "L[0].__module__ += ''",
            "in the interpreter's setter": "type.__setattr__(L[0], '__module__', '__main__')",
        }.items()
    ),
    Way(
        "the descriptor that sets a class' module",
        "cannot set '__module__' attribute of immutable type 'JSONEncoder'",
        "import json\ntype.__dict__['__module__'].__set__(json.JSONEncoder, '__main__')",
        "calculator",
    ),
    *(
        Way(
            f"a descriptor that the interpreter stores {name} with, {how}",
            f"cannot set '{name}' attribute of immutable type 'sin'",
            f"import sympy\nclass M(type): pass\nclass F(type(sympy.sin)): pass\nclass B: pass\n{source}",
            "data-analysis",
        )
        for name, how, source in (
            ("__module__", "by super()", "super(M, M).__module__.__set__(sympy.sin, '__main__')"),
            ("__bases__", "from a dict", "vars(type)['__bases__'].__set__(sympy.sin, (B,))"),
            ("__class__", "of object", "vars(object)['__class__'].__set__(sympy.sin, F)"),
            ("__doc__", "deleting it", "super(M, M).__doc__.__delete__(sympy.sin)"),
        )
    ),
    Way(
        "a module of the program has the name that the classes of pybind11 say",
        "cannot set '__init__' attribute of immutable type 'pybind11_object'",
        "open('pybind11_builtins.py', 'w').write('x = 1')\nimport pybind11_builtins\nimport matplotlib.pyplot\n"
        "renderer = matplotlib.pyplot.figure().canvas.get_renderer()._renderer\n"
        "base = type(renderer).__mro__[1]\nbase.__init__ = print",
        "data-analysis",
    ),
]

_LOOP = "import asyncio, copy\nloop = asyncio.new_event_loop()\n"
WHAT_A_STATE_HOLDS = [
    Way(
        "the state of an event loop",
        "names []",
        _LOOP + "print('names', sorted(loop.__getstate__().keys() & {'_ssock', '_csock', '_selector'}))",
    ),
    Way(
        "what stands for the method that tells it",
        "given ()",
        _LOOP + "print('given', loop.__getstate__.args)",
    ),
    Way(
        "the state as object tells it",
        "names []",
        _LOOP + "print('names', sorted(object.__getstate__(loop).keys() & {'_ssock', '_csock', '_selector'}))",
    ),
    *(
        Way(
            f"a copy of {what} is given its state",
            "an event loop is made by asyncio.new_event_loop(), and has no classes of its own",
            f"{_LOOP}class L({base}):\n    def __setstate__(self, state): print(state['_ssock'])\ncopy.copy(L())",
        )
        for what, base in {"a loop": "type(loop)", "a loop of the base class": "type(loop).__mro__[1]"}.items()
    ),
    Way(
        "a socket in a loop of the program's own class",
        "an event loop is made by asyncio.new_event_loop(), and has no classes of its own",
        _LOOP + "class L(type(loop)): pass\nprint(L()._ssock)",
    ),
    Way(
        "a program started by a loop of the base class",
        "subprocess_exec() of the event loop is refused",
        _LOOP + "type(loop).__mro__[1].subprocess_exec(loop, object, 'true')",
    ),
]

WHAT_A_STATE_HOLDS += [
    *(
        Way(
            f"the slots of an object, given to a method of the program by {how}",
            "slots {}",
            "import copy\nclass H:\n    __slotnames__ = ['__reduce_ex__']\n"
            f"    def __setstate__(self, state): print('slots', state[1])\n{made}",
            "data-analysis",
        )
        for how, made in {
            "copy": "copy.copy(H())",
            "a library that copies": "import numpy\na = numpy.array([H()])\na.__deepcopy__({})",
        }.items()
    ),
    Way(
        "the stack of a task, among its slots",
        "state None",
        "import asyncio\nclass T(asyncio.Task):\n    __slotnames__ = ['get_stack']\nasync def nothing(): pass\n"
        "async def main(): print('state', object.__getstate__(T(nothing())))\nasyncio.run(main())",
    ),
]

_BASES = (
    "import copy, functools, typing, weakref\nN = typing.NamedTuple\ndef evil(bases): return (int,)\n"
    "W = weakref.proxy(N)\nname = '__mro_' + 'entries__'\ndef like(): pass\nvars(like)[name] = evil\n"
    "class R:\n    def __reduce_ex__(self, protocol): return lambda: W, (), {name: evil}\n"
)
WHAT_CLASSES_ARE_MADE_OF = [  # the reporter of errors and the compiler have named tuples, which are made late
    Way(
        "a descriptor of a library writes into the dict of the function that named tuples are made by",
        "a descriptor of openpyxl is for an object of openpyxl",
        "import typing\nfrom openpyxl.styles import Font\n"
        "field, = [c for c in type(vars(Font)['name']).__mro__ if c.__name__ == 'Descriptor']\n"
        "field(name='__mro_entries__').__set__(typing.NamedTuple, lambda bases: (object,))\n"
        "class X(typing.NamedTuple):\n    a: int\nprint('made', [c.__name__ for c in X.__bases__])",
        "data-analysis",
    ),
    *(
        Way(
            f"what a named tuple is made of: {what}",
            told,
            f"{_BASES}{what}\nclass P(N):\n    a: int = 1\nprint('made', issubclass(P, tuple), P().a)",
        )
        for what, told in {
            "for T in [N]: T.__mro_entries__ = evil": "'__mro_entries__' is refused",
            "for W.__mro_entries__ in [evil]: pass": "'__mro_entries__' is refused",
            "for T in [N]: del T.__mro_entries__": "'__mro_entries__' is refused",
            "setattr(N, name, evil)": "'__mro_entries__' is refused",
            "object.__setattr__(N, name, evil)": "'__mro_entries__' is refused",
            "functools.update_wrapper(N, like, (name,), ())": "'__mro_entries__' is refused",
            "for T in [W]: T.__dict__ = {name: evil}": "'__dict__' is refused",
            "setattr(N, '__dict__', {name: evil})": "'__dict__' is refused",
            "setattr(like, name, evil); setattr(N, name, evil)": "'__mro_entries__' is refused",
            "setattr(like, '__dict__', {}); setattr(N, '__dict__', {name: evil})": "'__dict__' is refused",
            "class M(type):\n    __hash__ = lambda cls: hash(type)\n    __eq__ = lambda cls, other: True\n"
            "class C(metaclass=M): pass\nsetattr(C(), 'x', 1)\n"
            "import difflib\nsetattr(difflib.HtmlDiff, 'x', 1)": "immutable type 'HtmlDiff'",
            "typing.Optional.__init__(evil)": "objects of typing are read-only",
            "object.__setattr__(typing.Literal, '_getitem', evil)": "objects of typing are read-only",
            "copy.copy(R())": "not made by a copy",
            "copy.deepcopy(R())": "not made by a copy",
            "N.__dict__[name] = evil": "made True 1",
            "vars(W)[name] = evil": "made True 1",
            "functools.wraps(like)(N)": "made True 1",
        }.items()
    ),
    Way(
        "the program's own bases",
        "made True",
        "class E:\n    def __mro_entries__(self, bases): return (int,)\nclass F(E()): pass\n"
        "def h(): pass\nh.__mro_entries__ = lambda bases: (F,)\nclass G(h): pass\nprint('made', issubclass(G, int))",
    ),
]
WHAT_CLASSES_ARE_MADE_OF += [
    Way(
        "the function that named tuples of typing_extensions are made by, which is imported late",
        "made True",
        "import matplotlib.dates, typing_extensions\nN = typing_extensions.NamedTuple\n"
        "try: matplotlib.dates.rrulewrapper.__setstate__(N, {'__mro_entries__': lambda bases: (object,)})\n"
        "except Exception as e: print(e)\nclass P(N):\n    x: int\nprint('made', issubclass(P, tuple))",
        "data-analysis",
        marks=[pytest.mark.modules("typing_extensions")],
    ),
    Way(
        "defaults that Python itself sets",
        "made 1 2",
        "import collections, types\n@types.coroutine\ndef f():\n    yield\n"
        "print('made', *collections.namedtuple('P', 'x y', defaults=[2])(1))",
    ),
]
_FOR_TYPING = (
    "import copy, dataclasses, functools, logging, typing, weakref\nM, name = typing.Mapping, '__origin__'\n"
    "def evil(*given): print('got', given)\ndef like(): pass\nlike.__dict__['copy_with'] = evil\n"
    "class R:\n    def __reduce_ex__(self, protocol): return lambda: M, (), {name: evil}\n"
)
OBJECTS_OF_TYPING = [  # modules that are imported late put types and classes between their brackets
    Way(f"an object of typing: {what}", told, f"{_FOR_TYPING}{what}")
    for what, told in {
        "for T in [M]: T.__origin__ = evil": "objects of typing are read-only",
        "for T in [M]: T.copy_with = evil": "objects of typing are read-only",
        "for T in [M]: del T.__origin__": "objects of typing are read-only",
        "weakref.proxy(M).__origin__ = evil": "objects of typing are read-only",
        "setattr(M, name, evil)": "objects of typing are read-only",
        "object.__setattr__(M, name, evil)": "objects of typing are read-only",
        "typing.List[int].__init__(evil, ())": "objects of typing are read-only",
        "type(typing.Optional)._name.__set__(typing.Optional, 'x')": "objects of typing are read-only",
        "functools.update_wrapper(M, evil, ('__name__',), ())": "objects of typing are read-only",
        "M.__dict__[name] = evil": "does not support item assignment",
        "vars(M)[name] = evil": "does not support item assignment",
        "functools.update_wrapper(M, like, (), ('__dict__',))": "has no attribute 'update'",
        "copy.copy(R())": "has no attribute 'update'",
        "object.__getstate__(M)[name] = evil\nprint(M.__origin__)": "collections.abc.Mapping",
        "class C:\n    _name = functools.cached_property(evil)\nC._name.__get__(M)": "objects of a class that has it",
        "dataclasses.make_dataclass('D', ['_name'], frozen=True).__init__(M, 'x')": "no instance of a dataclass",
        "logging.setLogRecordFactory(lambda *_: M)\nlogging.makeLogRecord({name: 1})": "typing are read-only",
    }.items()
]
OBJECTS_OF_TYPING += [
    Way(
        "an object of typing_extensions, whose class has a way to store of its own",
        "objects of typing are read-only",
        "import typing_extensions\nfor T in [typing_extensions.Generator]: T.__origin__ = print",
        "data-analysis",
        marks=[pytest.mark.modules("typing_extensions")],
    ),
    Way(
        "a stream is told the name of an object of sys",
        "'_Output' object attribute '_name' is read-only",
        "import sys\nsys.stdout._name = 'modules'\nprint('x')",
    ),
]
_RECEIVED = "got = []\ndef evil(*given, **named): got.append(given)\n"
CLASSES_OF_PYTHON = [
    *(
        Way(
            f"a method of a class of Python: {name}",
            f"{name.rpartition('.')[2]}'",
            f"import {name.partition('.')[0]}\n{_RECEIVED}for c in [{name}]: c.{attribute} = evil\nexec('1', {{}})\n"
            "print(got)",
        )
        for name, attribute in {
            "contextlib.ExitStack": "enter_context",
            "weakref.WeakKeyDictionary": "__getitem__",
            "ast.Attribute": "attr",
            "ast.NodeTransformer": "visit_Name",
            "string.Template": "pattern",
            "asyncio.Runner": "run",
            "json.JSONEncoder": "default",
        }.items()
    ),
    *(
        Way(
            f"a class that no module gives: {what}",
            "immutable type",
            f"import asyncio, contextlib, operator, re, sys\nmade = {what}\nfor c in [type(made)]: c.__call__ = print",
        )
        for what in (
            "contextlib.contextmanager(lambda: (yield))()",
            "globals()",
            "compile('1', '', 'eval')",
            "operator.attrgetter('a')",
            "operator.attrgetter",
            "asyncio.new_event_loop()",
            "re.I",
            "sys.modules",
        )
    ),
    Way(
        "a class that a module has in a dict",
        "immutable type 'module'",
        "import types\nfor c in [types.ModuleType]: c.x = 1",
    ),
    Way(
        "a class of a module that is imported late",
        "immutable type 'Fraction'",
        "import asyncio, fractions\nL = [fractions.Fraction]\nL[0].x = 1",
    ),
    Way(
        "by a loop, an unpacking, a deletion and a with",
        "refused 4",
        "import json\nL = [json.JSONEncoder]\nn = 0\nclass C:\n    def __enter__(self): return 1\n"
        "    def __exit__(self, *a): pass\n"
        "def a():\n    for L[0].x in [1]: pass\ndef b(): L[0].x, y = 1, 2\ndef c(): del L[0].default\n"
        "def d():\n    with C() as L[0].x: pass\n"
        "for f in (a, b, c, d):\n    try: f()\n    except TypeError: n += 1\nprint('refused', n)",
    ),
]

NAMES_OF_A_CALLER = [
    *(
        Way(
            f"numpy looks a name up where it is called: {call}",
            "name '__builtins__' is not defined",
            "import numpy as np\ngot = []\nclass A:\n    def __array_function__(self, *given):\n"
            f"        got.append(given)\n        return np.zeros((1, 1))\na = A()\nnp.{call}\nprint(got)",
            "data-analysis",
        )
        for call in ("bmat('__builtins__, a')", "r_['__builtins__, a']")
    ),
    Way(
        "sympy binds a name where it is called",
        "'_write_' is no name that a program can bind",
        "import sympy\nsympy.var('_write_')",
        "data-analysis",
    ),
    Way(
        "sympy binds a name of a library that calls it",
        "a library cannot bind names",
        "import sympy, pandas\nlist(pandas.Series(['getattr']).map(sympy.var))",
        "data-analysis",
    ),
]

FRAMES_OF_LIBRARIES = [
    Way(
        "locals in a library's function",
        "has {}",
        "from concurrent.futures import ThreadPoolExecutor\n"
        "with ThreadPoolExecutor(1) as pool: print('has', pool.submit(locals).result())",
    ),
    Way(
        "vars without an object in a library's function",
        "has {}",
        "from concurrent.futures import ThreadPoolExecutor\n"
        "with ThreadPoolExecutor(1) as pool: print('has', pool.submit(vars).result())",
    ),
    Way(
        "eval in a library's function",
        "NameError: name 'self' is not defined",
        "from concurrent.futures import ThreadPoolExecutor\n"
        "with ThreadPoolExecutor(1) as pool: print(pool.submit(eval, 'self').result())",
    ),
]

REAL_MODULES = [
    Way(
        "a package that the name of a style begins with is imported",
        "'matplotlib.mpl-data.stylelib.classic' is not a valid package style",
        "import matplotlib.pyplot as plt\nplt.style.use('matplotlib.mpl-data.stylelib.classic')",
        "data-analysis",
    ),
    Way(
        "3.12: what a path is taken apart with", "AttributeError", "import pathlib\nprint(pathlib.PurePath._flavour.os)"
    ),
    Way(
        "3.13: what a path is taken apart with",
        "attribute 'parser'",
        "import pathlib\nprint(pathlib.PurePath('a').parser.os)",
    ),
    Way(
        "by a computed name, or from the class' dict",
        "found [None, None, None, None]",
        "import pathlib, operator\nfound = []\nfor name in ('_flavour', 'parser'):\n"
        "    try: found.append(operator.attrgetter(name + '.os')(pathlib.PurePosixPath))\n"
        "    except AttributeError: found.append(None)\n"
        "    found.append(getattr(vars(pathlib.PurePath).get(name), 'os', None))\nprint('found', found)",
    ),
    Way(
        "the module of the future statement",
        "assignment to '__future__.x' is refused: modules are read-only",
        "import __future__\nm = [__future__]\nm[0].x = 1",
    ),
]

REAL_MODULES += [
    *(
        Way(
            f"a transport of any objects, {how}: the module warnings is a default of its finalizer",
            f"{name}() of the event loop is refused: it uses the network",
            "import asyncio, inspect\n"
            "class S:\n    family = type = proto = 0\n    def __getattr__(self, name): return lambda *a, **k: 1000\n"
            "async def main():\n    loop = asyncio.get_running_loop()\n"
            f"    made = {call}\n"
            "    print([p.default for p in inspect.signature(type(made).__del__).parameters.values()])\n"
            "asyncio.run(main())",
        )
        for how, name, call in (
            ("by the loop", "_make_ssl_transport", "loop._make_ssl_transport(S(), S(), S(), None)"),
            ("by its base", "_make_ssl_transport", "type(loop).__mro__[2]._make_ssl_transport(loop, S(), S(), S(), 0)"),
            ("of a socket", "_make_socket_transport", "loop._make_socket_transport(S(), S())"),
            ("of packets", "_make_datagram_transport", "loop._make_datagram_transport(S(), S())"),
        )
    ),
    Way(
        "what a signature shows of the defaults of a library's function",
        "found [True, True, True] (self, _atomic_removal=<_remove_dead_weakref>)",
        "import inspect, functools, weakref\n"
        "f = weakref.WeakValueDictionary._commit_removals\n"
        "found = [inspect.getfullargspec(f).defaults[0], inspect.getcallargs(f, 1)['_atomic_removal']]\n"
        "bound = inspect.signature(functools.partial(f, 1)).bind()\nbound.apply_defaults()\n"
        "found.append(bound.arguments['_atomic_removal'])\n"
        "print('found', [not callable(value) for value in found], inspect.signature(f))",
    ),
    Way(
        "what a rotation computes with",
        "has no attribute 'f2py'",
        "from scipy.spatial.transform import Rotation\nprint(Rotation.identity()._xp.f2py.os)",
        "data-analysis",
    ),
    Way(
        "a function of it that its facade replaces",
        "has no attribute 'load'",
        "from scipy.spatial.transform import Rotation\nprint(Rotation.identity()._xp.load)",
        "data-analysis",
    ),
    Way(
        "what a rotation is computed by",
        "has no attribute 'np'",
        "from scipy.spatial.transform import Rotation\nprint(Rotation.identity()._backend.np)",
        "data-analysis",
    ),
    Way(
        "what sklearn gives to a method that a program overrides",
        "has no attribute 'f2py'",
        "import numpy\nfrom sklearn.decomposition import PCA\nclass P(PCA):\n"
        "    def _fit_full(self, X, n, xp, *rest): print(xp.f2py.os)\nP(n_components=1).fit(numpy.eye(3))",
        "data-analysis",
    ),
    Way(
        "a module that a class has imported into itself",
        "has no attribute 're'",
        "import plotly.graph_objects as go\nprint(go.Layout.re.enum.sys)",
        "data-analysis",
    ),
]

REAL_MODULES += [
    Way(
        "3.11: what takes a path apart has it",
        "attribute 'pathmod' is refused",
        "import pathlib\nprint(pathlib.PurePath('a')._flavour.pathmod.os)",
        marks=[pytest.mark.skipif(sys.version_info >= (3, 12), reason="until 3.11")],
    ),
    Way(
        "what a plot of sympy is drawn by",
        "matplotlib.pyplot.sys is refused",
        "import sympy\nprint(sympy.plot(sympy.Symbol('x'), show=False).plt.sys)",
        "data-analysis",
    ),
    Way(
        "what a tree of html5lib is built by, asked of the class above that of lxml",
        "attribute 'implementation' is refused",
        "from lxml.html.html5parser import HTMLParser\np = HTMLParser()\nHTMLParser.__mro__[1].__init__(p)\n"
        "print(p.tree.implementation.sys)",
        "data-analysis",
        marks=[pytest.mark.modules("html5lib")],
    ),
    Way(
        "a function that gives a module",
        "getdraw is refused",
        "from PIL import ImageDraw\nprint(ImageDraw.getdraw()[1].Image.os)",
        "data-analysis",
    ),
    Way(
        "what a compressed stream of tarfile has",
        "has no attribute 'sys'",
        "import io, tarfile\nprint(tarfile.open(fileobj=io.BytesIO(), mode='w|gz').fileobj.zlib.sys)",
        "data-analysis",
    ),
]

_CURVE = "from scipy import stats\nclass D(stats.rv_continuous):\n    def _pdf(self, x): return x\n"
CODE_OF_LIBRARIES = [
    Way(
        "a template in an object of a library",
        "builtin '__builtins__' is refused",
        _CURVE + "d = D()\nd._parse_arg_template = 'print(__builtins__)'\nd._attach_argparser_methods()",
        "data-analysis",
    ),
    Way(
        "a template that imports",
        "import of 'socket' is refused",
        _CURVE + "d = D()\nd._parse_arg_template = 'import socket'\nd._attach_argparser_methods()",
        "data-analysis",
    ),
    Way(
        "a template that is equal to what is trusted",
        "attribute 'gi_frame' is refused",
        "import scipy.stats, sympy\nx = sympy.Symbol('x')\nsympy.lambdify(x, x)\nclass T(str):\n    asked = False\n"
        "    def __hash__(self):\n"
        "        return hash('import numpy; from numpy import *; from numpy.linalg import *')\n"
        "    def __eq__(self, other):\n        T.asked, answer = True, not T.asked\n        return answer\n"
        "curve = scipy.stats.norm\ncurve._parse_arg_template = T('print((i for i in ()).gi_frame)')\n"
        "curve._attach_argparser_methods()",
        "data-analysis",
    ),
    Way(
        "the kind of a parameter of a series is a text that says it is one letter",
        "attribute 'gi_frame' is refused",
        "import mpmath\nclass Z(str):\n    __hash__ = str.__hash__\n"
        "    def __eq__(self, other): return other == 'Z'\n"
        "kind = Z('(x=print((i for i in ()).gi_frame)): pass\\ndef q')\n"
        "mpmath.mp.hypsum(1, 0, (kind,), [1], mpmath.mpf(1))",
        "mathematics",
    ),
    Way(
        "what compiles the decorators of networkx is in the dict of a function",
        "KeyError: '__argmap__'",
        "import networkx\nvars(networkx.pagerank)['__argmap__']",
        "data-analysis",
    ),
    Way(
        "the same, with its attributes copied to a function of the program",
        "KeyError: '__argmap__'",
        "import functools, networkx\n@functools.wraps(networkx.pagerank)\ndef own(): pass\nvars(own)['__argmap__']",
        "data-analysis",
    ),
    Way(
        "the names of parameters that a function of networkx is said to have",
        "a decorator of networkx calls functions, and does nothing else",
        "import inspect, networkx\nclass P(inspect.Parameter): name = 'print, x=print(1)'\n"
        "inner = networkx.is_connected.orig_func\n"
        "inner.__signature__ = inspect.Signature([inspect.Parameter('G', 1), P('x', 1)])\n"
        "networkx.is_connected(networkx.path_graph(2))",
        "data-analysis",
    ),
]

_SOURCE = """
import asyncio, logging, numpy
loop = asyncio.new_event_loop()
loop.set_debug(True)
folder = repr(loop.call_soon(numpy.vander)).split(' at ')[1].partition('numpy/')[0]
class K(str):
    def __hash__(self): return hash(folder + 'tqdm/std.py')
    def __eq__(self, other): return True
class Code:
    co_filename, co_name, co_qualname = K('nofile.py'), 'x', 'x'
    def co_positions(self): return iter([(1, 1, 0, 1)])
class Loader:
    def get_source(self, name): return 'def format_meter(*given): import os; return os\\n' * 3000
class Frame:
    f_code, f_lineno, f_locals, f_globals = Code(), 1, {}, {'__name__': 'x', '__loader__': Loader()}
class Trace:
    tb_frame, tb_lineno, tb_lasti, tb_next = Frame(), 1, 0, None
logging.Formatter().formatException((KeyError, KeyError(), Trace()))
from tqdm import tqdm
print(tqdm.format_meter(1, 2, 3))
"""
CODE_OF_LIBRARIES += [
    Way("a traceback says what is in the file of a library", "50%", _SOURCE, "data-analysis"),
]
_MADE_UP, _, _ = _SOURCE.partition("logging.Formatter()")
_SHOW = "logging.Formatter().formatException((KeyError, KeyError(), Trace()))\n"
CODE_OF_LIBRARIES += [
    Way(
        "a traceback asks a program what is in a file",
        "asked []",
        f"asked = []\n{_MADE_UP}{_SHOW}print('asked', asked)".replace("K('nofile.py')", "'nofile.py'").replace(
            "return 'def", "return asked.append(name) or 'def"
        ),
        "data-analysis",
    ),
    Way(
        "a traceback reads a file whose name is equal to that of a library's",
        'in x\n    """',
        f"{_MADE_UP}open('nofile.py', 'w').write('a lie\\n' * 9)\n{_SHOW}"
        "class Other(Code): co_filename = folder + 'tqdm/std.py'\n"
        f"class Else(Frame): f_code = Other()\nclass Trace(Trace): tb_frame = Else()\nprint({_SHOW})",
        "data-analysis",
    ),
]

CLASSES_OF_LIBRARIES = [
    *(
        Way(
            f"an accessor of pandas named {name}",
            f"the accessor '{name}' is refused",
            f"import pandas\npandas.api.extensions.register_dataframe_accessor('{name}')(list)",
            "data-analysis",
        )
        for name in ("merge", "__reduce__", "plot")
    ),
    *(
        Way(
            f"a function of Python's stores into a class, called by {who}",
            "cannot set 'to_csv' attribute of immutable type 'DataFrame'",
            "import functools, pandas\nfrom concurrent.futures import ThreadPoolExecutor\nclass Own:\n"
            "    def to_csv(self): pass\n"
            "store = functools.partial(functools.update_wrapper, wrapped=Own, assigned=('to_csv',), updated=())\n"
            + call,
            "data-analysis",
        )
        for who, call in {
            "a thread": "ThreadPoolExecutor().submit(store, pandas.DataFrame).result()",
            "a library": "pandas.Series([pandas.DataFrame]).map(store)",
        }.items()
    ),
    *(
        Way(
            f"a metaclass answers a library that is imported: {what}",
            f"cannot set '{name}' attribute of immutable type 'DataFrame'",
            "import collections.abc, functools, numbers, pandas\nfrom collections.abc import *\nclass Own:\n"
            "    def to_csv(self): pass\nclass M(type): pass\nclass G(metaclass=M): pass\n"
            "for kind in (Mapping, Sequence, Iterable, Callable, Hashable, Set, numbers.Number): kind.register(G)\n"
            "store = functools.partial(functools.update_wrapper, wrapped=Own, assigned=('to_csv',), updated=())\n"
            f"M.__subclasscheck__ = functools.partial(next, map({store}))\nimport sympy",
            "data-analysis",
            [pytest.mark.modules("sympy")],
        )
        for what, name, store in (
            ("by a function of Python's", "to_csv", "store, [pandas.DataFrame] * 99"),
            (
                "by a descriptor",
                "__module__",
                "vars(type)['__module__'].__set__, [pandas.DataFrame] * 99, ['__main__'] * 99",
            ),
        )
    ),
    *(
        Way(
            f"a method of the class calls a descriptor of its {name}",
            f"cannot set '{name}' attribute of immutable type 'DataFrame'",
            "import functools, pandas\nframe = pandas.DataFrame({'a': [1]})\n"
            f"store = vars(type)['{name}'].__set__\n"
            f"frame.pipe(functools.partial(next, map(store, [pandas.DataFrame], [{value}])))",
            "data-analysis",
        )
        for name, value in (("__module__", "'__main__'"), ("__bases__", "(pandas.Series,)"))
    ),
    Way(
        "and what the interpreter stores with",
        "KeyError: '__setitem__'",
        "import functools, pandas\nframe = pandas.DataFrame({'a': [1]})\nstore = vars(type)['__setitem__']\n"
        "frame.pipe(functools.partial(next, map(store, [pandas.DataFrame], ['to_csv'], [1])))",
        "data-analysis",
    ),
    Way(
        "the base of the classes of pybind11",
        "cannot set '__init__' attribute of immutable type 'pybind11_object'",
        "import matplotlib.pyplot\nrenderer = matplotlib.pyplot.figure().canvas.get_renderer()._renderer\n"
        "base = type(renderer).__mro__[1]\nbase.__init__ = print",
        "data-analysis",
    ),
    Way(
        "what is assigned to an object is stored in its class",
        "'S.__module__' is refused",
        "import sympy\nsympy.S.__module__ = '__main__'",
        "data-analysis",
    ),
    Way(
        "any class that a module gives, stored into where the compiler does not know it",
        "changed []",
        "import matplotlib.figure, matplotlib.axes, mpmath, numpy, pandas, scipy.stats, sklearn.linear_model, sympy\n"
        "modules = [matplotlib.figure, matplotlib.axes, mpmath, numpy, pandas, scipy.stats, sklearn.linear_model]\n"
        "values = [getattr(m, name, None) for m in (*modules, sympy) for name in dir(m)]\n"
        "classes = {c for value in values for c in (value, type(value)) if isinstance(c, type)}\nchanged = []\n"
        "def store(c): c.__init__ = print\n"
        "def delete(c): del c.__doc__\n"
        "for c in classes:\n    for way in (store, delete):\n        try: way(c)\n        except TypeError: continue\n"
        "        changed.append(c)\n"
        "assert len(classes) > 500, len(classes)\nprint('changed', changed)",
        "data-analysis",
    ),
    Way(
        "an accessor of the program's own is an ordinary one",
        "made 4",
        "import pandas\nclass A:\n    def __init__(self, of): self.n = len(of) + 1\n"
        "for register in ('dataframe', 'series', 'index'):\n"
        "    getattr(pandas.api.extensions, f'register_{register}_accessor')('mine')(A)\n"
        "frame = pandas.DataFrame({'a': [1, 2, 3]})\n"
        "assert frame.mine.n == frame.a.mine.n == frame.index.mine.n\nprint('made', frame.mine.n)",
        "data-analysis",
    ),
    *(
        Way(
            f"a class given to a method of another, {how}",
            told,
            "import pandas, matplotlib.pyplot\nfrom sklearn.pipeline import Pipeline\n"
            f"from sklearn.preprocessing import StandardScaler\nf = [pandas.concat][0]\n{source}",
            "data-analysis",
        )
        for how, told, source in (
            (
                "which stores what it is given",
                "attribute of immutable type 'DataFrame'",
                "StandardScaler.__init__(pandas.DataFrame, copy=print)",
            ),
            (
                "which is made of the fields of a dataclass, in no module",
                "cannot set 'DataFrame' attribute of immutable type 'DataFrame'",
                "import dataclasses\nclass D:\n    __module__ = 'nowhere'\n    DataFrame: int\n    merge: int\n"
                "dataclasses.dataclass(D).__init__(pandas.DataFrame, 1, print)",
            ),
            (
                "of the same library",
                "attribute of immutable type 'Pipeline'",
                "StandardScaler.__init__(Pipeline, copy=print)",
            ),
            (
                "which says whose part it is",
                "attribute of immutable type 'DataFrame'",
                "matplotlib.pyplot.figure().add_subplot().add_artist(pandas.DataFrame)",
            ),
            (
                "which stores by a name that it is given",
                "cannot set '__module__' attribute of immutable type 'DataFrame'",
                "Pipeline._set_params(pandas.DataFrame, '__module__', **{'__module__': '__main__'})",
            ),
            (
                "and so is a function of a library",
                "attribute '__kwdefaults__' is refused",
                "Pipeline._set_params(f, '__kwdefaults__', **{'__kwdefaults__': {}})",
            ),
        )
    ),
    Way(
        "a class given to a method of another, which writes past its setters",
        "NDFrame.__setstate__() is for a 'NDFrame' object",
        "import pandas\nframe = pandas.DataFrame()\nstate = frame.__getstate__() | {'_metadata': ['x'], 'x': print}\n"
        "pandas.DataFrame.__setstate__(pandas.Series, state)",
        "data-analysis",
    ),
]

_TASK = (
    "import asyncio\nclass T(asyncio.Task):\n    converters = ['_stack']\n    __slotnames__ = ['get_stack']\n"
    "async def g(): await asyncio.sleep(9)\nloop = asyncio.new_event_loop()\nt = T(g(), loop=loop)\n"
    "loop.run_until_complete(asyncio.sleep(0))\n"
)
DICTS_OF_OTHERS = [
    Way(
        "cached_property reads the dict of a class",
        "for the objects of a class that has it",
        "import functools\nc = functools.cached_property(len)\nc.attrname = '__subclasses__'\n"
        "print(c.__get__(type)(object))",
        "calculator",
    ),
    *(
        Way(
            f"a class is wrapped by {what}",
            "KeyError: '__subclasses__'"
            if sys.version_info[:2] != (3, 12) or "lru_cache" in what
            else "__type_params__ must be set to a tuple",  # of 3.12 itself
            f"import functools, contextlib\ndef f(): pass\nprint(vars({what})['__subclasses__'](object))",
        )
        for what in (
            "functools.update_wrapper(f, type)",
            "functools.lru_cache(type)",
            "contextlib.contextmanager(type)",
        )
    ),
    Way(
        "argparse: what a parser of its own answers",
        "KeyError: '__getattribute__'",
        "import argparse, json\ngot = {}\nclass N:\n    def __setattr__(self, name, value): got[name] = value\n"
        "class P:\n    def __init__(self, **options): pass\n"
        "    def parse_known_args(self, arguments, namespace): return object, []\n"
        "p = argparse.ArgumentParser()\np.add_subparsers(parser_class=P).add_parser('x')\n"
        "try: p.parse_args(['x'], namespace=N())\nexcept AttributeError: pass\n"
        "print(got['__getattribute__'](json.dumps, '__globals__'))",
    ),
    Way(
        "argparse: a method that is given another self",
        "_get_kwargs() is for a '_AttributeHolder' object",
        "import argparse\nprint(dict(argparse.Namespace._get_kwargs(type))['__subclasses__'](object))",
    ),
    Way(
        "argparse: a Namespace sets any attribute of any object",
        "attribute '__kwdefaults__' is refused",
        "import argparse, json\nargparse.Namespace.__init__([json.dumps][0], **{'__kwdefaults__': {}})",
    ),
    Way(
        "pprint: the names of a namespace",
        "_pprint_simplenamespace() is for a 'SimpleNamespace' object",
        "import pprint, io\nclass P(pprint.PrettyPrinter):\n"
        "    def _format_namespace_items(self, items, *rest): print(dict(items)['__subclasses__'](object))\n"
        "P()._pprint_simplenamespace(type, io.StringIO(), 0, 0, {}, 0)",
        "calculator",
    ),
    Way(
        "pprint: the fields of a dataclass",
        "attribute '__globals__' is refused",
        "import pprint, io, json, dataclasses\n@dataclasses.dataclass\nclass D:\n    a: int = 1\n"
        "f = dataclasses.fields(D)[0]\nf.name = '__globals__'\nx = [json.dumps][0]\nx.__dataclass_fields__ = {'a': f}\n"
        "class P(pprint.PrettyPrinter):\n    def _format_namespace_items(self, items, *rest): print(dict(items))\n"
        "P()._pprint_dataclass(x, io.StringIO(), 0, 0, {}, 0)",
    ),
    Way(
        "logging: what a format is filled with",
        "Formatting field not found in record: '__subclasses__'",
        "import logging\nclass G:\n    def __mod__(self, values): print(values['__subclasses__'](object))\n"
        "f = logging.Formatter('%(message)s')\nf._style._fmt = G()\nf.formatMessage(type)",
    ),
    Way(
        "configparser: a converter's method of any object",
        "attribute 'get_stack' is refused",
        _TASK + "import configparser\nc = configparser.ConfigParser()\nc['a'] = {}\n"
        "class S(type(c['a'])):\n    def __setattr__(self, name, value):\n"
        "        if name == 'get_stack': print(value.keywords['_impl']())\n"
        "        object.__setattr__(self, name, value)\nS(t, 'n')",
    ),
    Way(
        "a function that the library imported for itself",
        "np.load(allow_pickle=True) is refused",
        "import sympy\nopen('a.npy', 'wb').write(b'cposix\\ngetpid\\n(tR.')\n"
        "class Load(sympy.Function):\n    def _numpycode(self, printer): return 'load'\n"
        "x = sympy.Symbol('x')\n"
        "print(sympy.lambdify(x, Load(x), 'numpy')(1)('a.npy', allow_pickle=True))",
        "data-analysis",
    ),
    Way(
        "a function of another library that a text names",
        "np.load(allow_pickle=True) is refused",
        "import io, pandas as pd\ndata = io.BytesIO(b'cposix\\ngetpid\\n(tR.')\n"
        "class S(pd.Series):\n    def read(self, *n): return data.read(*n)\n"
        "    def readline(self, *n): return data.readline(*n)\n    def seek(self, *n): return data.seek(*n)\n"
        "print(S([1]).agg('load', allow_pickle=True))",
        "data-analysis",
    ),
    Way(
        "text that names a function of the library",
        "'Symbol' object is not callable",
        "import sympy\nsympy.sympify('preview')('x', viewer='file', filename='x.png')",
        "data-analysis",
    ),
    Way(
        "sympy: the builtins that a transformation is given",
        "NameError: builtin '__import__' is refused",
        "import sympy\ngot = []\ndef keep(tokens, local, space):\n    got.append(space)\n    return tokens\n"
        "try: sympy.parse_expr('1', transformations=(keep,))\nexcept Exception: pass\n"
        "print(got[0]['getattr'] is getattr, got[0]['__import__']('os'))",
        "mathematics",
    ),
    Way(
        "sympy: the names of a lambdified function",
        "is not defined",
        "import sympy\nx = sympy.Symbol('x')\n"
        "print(sympy.lambdify(x, sympy.Function('__subclasses__')(x), modules=[type])(object))",
        "mathematics",
    ),
    Way(
        "an annotation that a library's dispatcher evaluates",
        "an annotation given as text may not contain",
        "import sympy.vector\ndef g(x: 'print(().__class__.__base__.__subclasses__())'): ...\n"
        "sympy.vector.parametric_region_list.register(g)",
        "data-analysis",
    ),
    Way(
        "__getattr__ of a library is told the name by a keyword",
        "__getattr__() takes no keyword arguments",
        "import codecs, json\nclass S: pass\ns = S()\ns.stream = json.dumps\n"
        "print(codecs.StreamReader.__getattr__(s, name='__globals__'))",
    ),
    Way(
        "inspect.unwrap, to the original of a library",
        "True",
        "import inspect, functools\n"
        "print(inspect.unwrap(functools.lru_cache(functools.reduce)) is not functools.reduce)",
    ),
    Way(
        "a state that is copied with a class for self",
        "is for a 'rv_continuous' object",
        "from scipy import stats\nprint(stats.rv_continuous.__getstate__(type))",
        "data-analysis",
    ),
]

STREAMS = [
    Way(
        f"the class that opens files, below {what}",
        "raw: None",
        f"import threading, argparse, pprint\n{source}\nprint('raw:', stream.buffer.raw)",
    )
    for what, source in {
        "the standard error that the main thread has kept": "stream = threading.main_thread()._stderr",
        "the standard error that a thread keeps": "stream = threading.Thread()._stderr",
        "the standard output of pprint": "stream = pprint.PrettyPrinter()._stream",
        "what argparse writes errors to": (
            "class P(argparse.ArgumentParser):\n    def _print_message(self, text, file=None):\n"
            "        global stream\n        stream = file\ntry: P().exit(0, 'x')\nexcept SystemExit: pass"
        ),
    }.items()
]

PAGES_AND_TREES = [
    Way(
        "functions of an object for XPath",
        "attribute '__globals__' is refused",
        "from lxml import etree\ndef f(): pass\nprint(etree.Extension(f, ['__globals__']))",
        "data-analysis",
    ),
    Way(
        "the name of a method of a page",
        "attribute '__globals__' is refused",
        "from lxml import html\ndef f(): pass\nm = html.make_links_absolute\nm.name = '__globals__'\nprint(m(f))",
        "data-analysis",
    ),
    Way(
        "memory by address",
        "it reads or writes memory by address",
        "from lxml import etree\netree.adopt_external_document(1)",
        "data-analysis",
    ),
    Way(
        "an entity names a file",
        "Permission denied",
        "from lxml import etree\np = etree.XMLParser(resolve_entities=True, load_dtd=True, huge_tree=True)\n"
        "print(etree.fromstring('<!DOCTYPE a [<!ENTITY e SYSTEM \"file:///proc/self/environ\">]><a>&e;</a>', p).text)",
        "data-analysis",
    ),
    Way(
        "a stylesheet writes a file",
        "unable to save to /tmp/out.xml",
        "from lxml import etree\nx = 'http://www.w3.org/1999/XSL/Transform'\ne = 'http://exslt.org/common'\n"
        'etree.XSLT(etree.XML(f\'<x:stylesheet version="1.0" xmlns:x="{x}" xmlns:e="{e}" '
        'extension-element-prefixes="e"><x:template match="/"><e:document href="/tmp/out.xml"><b/></e:document>'
        "</x:template></x:stylesheet>'))(etree.XML('<a/>'))",
        "data-analysis",
    ),
    Way(
        "a form is sent",
        "it uses the network",
        "from lxml import html\nhtml.submit_form(html.fromstring('<form action=\"http://a\"></form>'))",
        "data-analysis",
    ),
    Way(
        "the module behind selectors",
        "has no attribute 'css_match'",
        "import bs4\nprint(bs4.BeautifulSoup('<a>', 'html.parser').css.api.css_match.util)",
        "data-analysis",
    ),
]

_FIGURE = "import plotly.graph_objects as go\nf = go.Figure(go.Bar(y=[2]))\nv = f.layout._get_validator('title')\n"
FIGURES = [
    Way(
        "a validator names a module",
        "import of os is refused",
        _FIGURE + "v.module_str = 'os'\nv.data_class_str = 'system'\nv._data_class = None\nprint(v.data_class)",
        "data-analysis",
    ),
    Way(
        "a validator is text, in letters that have no capitals",
        "is not defined",
        _FIGURE + "v = f.layout.xaxis._get_validator('range')\n"
        "print(v.build_validator({'valType': '\U0001d428\U0001d429\U0001d41e\U0001d427#'}, 'a', 'b'))",
        "data-analysis",
    ),
    Way(
        "a trend line by name",
        "attribute '__reduce__' is refused",
        "import plotly.express as px\npx.scatter(x=[1, 2], y=[1, 2], trendline='rolling',"
        " trendline_options={'window': 2, 'function': '__reduce__'})",
        "data-analysis",
    ),
    Way(
        "a picture by a browser",
        "it starts programs",
        "import plotly.io as pio\npio.write_image({}, 'a.png')",
        "data-analysis",
    ),
]

_PARTIAL = (
    "import functools\nclass G:\n    def __get__(self, o, c=None): return len\n    def __call__(self): pass\n"
    "p = functools.partialmethod(G()).__get__(1)\n"
)
_TAKES = "class U:\n    def update(self, given): print('given', given)\n"
WHO_ANSWERS_TWICE = [
    *(
        Way(
            f"flags of compile that are one thing and then another: {what}",
            "attribute '__subclasses__' is refused",
            f"class F({base}):\n    def __and__(self, other): return 1\n    def __index__(self): return 0\n"
            "print(compile('().__class__.__base__.__subclasses__()', 'x', 'eval', F()))",
        )
        for what, base in {"an object": "object", "a kind of int": "int"}.items()
    ),
    Way(
        "a file's name that says that it is none",
        "'<json.py>'",
        "class S(str):\n    def __getitem__(self, at): return '<'\n"
        "import traceback\ntry: exec(compile('1/0', S('json.py'), 'exec'))\n"
        "except Exception as e: print(repr(traceback.extract_tb(e.__traceback__)[-1].filename))",
    ),
]
NAMES_OF_WRAPPERS = [
    Way(
        "a weak reference to a method has the object of it",
        "argument should be a bound method",
        "import weakref\nprint(vars(weakref.ref.__call__(weakref.WeakMethod(display))))",
    ),
    Way(
        "a partial of a builtin has what it is a method of",
        "has {}",
        "import functools\nclass G:\n    def __get__(self, o, c=None): return print\n    def __call__(self): pass\n"
        "print('has', vars(functools.partialmethod(G()).__get__(1)))",
    ),
    Way(
        "functools.update_wrapper is told the names",
        "attribute '__globals__' is refused",
        "import functools, json\nclass W:\n    def __setattr__(self, name, value): print(name, value)\n"
        "functools.update_wrapper(W(), json.dumps, assigned=('__globals__',), updated=())",
    ),
    Way(
        "and writes into what it is told to update",
        "attribute '__globals__' is refused",
        "import functools, json\nclass W: pass\n"
        "functools.update_wrapper(json.dumps, W(), assigned=(), updated=('__globals__',))",
    ),
    Way(
        "the dict of what is wrapped is given to what wraps it",
        "given {}",
        f"{_PARTIAL}{_TAKES}class W:\n    __dict__ = property(lambda self: U())\n"
        "functools.update_wrapper(W(), p, assigned=())",
    ),
    Way(
        "an alias of a class of its own answers for another object",
        "type 'types.GenericAlias' is not an acceptable base type",
        f"import types, collections\n{_PARTIAL}{_TAKES}class A(types.GenericAlias):\n    def __new__(cls, *given):\n"
        "        if given: return super().__new__(cls, *given)\n"
        "        return type('I', (), {'__dict__': property(lambda self: U())})()\n"
        "collections.UserDict.__copy__(A(p, int))",
    ),
    Way(
        "and so does that of a Callable",
        "type '_CallableGenericAlias' is not an acceptable base type",
        "import collections.abc\nclass A(type(collections.abc.Callable[[int], int])): pass",
    ),
]

_NO_FIELD = "Field names must be valid identifiers, and not names of the interpreter's own"
_FRAME_FIELD = (
    "import dataclasses\n@dataclasses.dataclass\nclass D:\n    gi_frame: int = 0\ndef g(): yield 1\nt = g()\nnext(t)\n"
)
FIELDS = [
    Way("a field of a dataclass is a frame, printed", _NO_FIELD, _FRAME_FIELD + "print(D.__repr__(t))"),
    Way(
        "a field of a dataclass is a frame, compared",
        _NO_FIELD,
        _FRAME_FIELD + "class E:\n    def __eq__(self, other): print(other)\n"
        "class O:\n    __class__ = type(t)\n    gi_frame = E()\nD.__eq__(t, O())",
    ),
    Way(
        "a field of a dataclass depends on the object",
        "attribute 'obj' is refused",
        "import dataclasses, math\n@dataclasses.dataclass\nclass D:\n    obj: int = 0\n"
        "try: math.nothing\nexcept AttributeError as e: print(D.__repr__(e))",
    ),
    Way(
        "a frozen dataclass sets what no program may set",
        _NO_FIELD,
        "import dataclasses, json\n@dataclasses.dataclass(frozen=True, eq=False, repr=False)\n"
        "class D:\n    __kwdefaults__: dict\nD.__init__([json.dumps][0], {})",
    ),
    Way(
        "the state of a dataclass with slots sets it",
        _NO_FIELD,
        "import dataclasses, json\n@dataclasses.dataclass(frozen=True, slots=True)\nclass D:\n    a: int\n"
        "f = dataclasses.fields(D)[0]\nf.name = '__kwdefaults__'\nt = [json.loads][0]\n"
        "t.__dataclass_fields__ = {'a': f}\nD.__setstate__(t, [{}])",
    ),
    Way(
        "a field is the method that sets",
        _NO_FIELD,
        "import dataclasses\n@dataclasses.dataclass\nclass D:\n    __setattr__: int",
    ),
    Way(
        "what stands for a class is made a dataclass",
        "dataclass() is for classes",
        "import dataclasses, types\ndataclasses.dataclass(slots=True)(types.GenericAlias(type, int))",
    ),
]

COPIES = [
    Way(
        "a memo says what stands for the name of a method that is copied",
        "attribute '__globals__' is refused",
        "import copy, json\nclass M(dict):\n    n = 0\n    def get(self, key, default=None):\n        self.n += 1\n"
        "        return {2: json.dumps, 3: '__globals__'}.get(self.n, default)\n"
        "print(copy.deepcopy([].__len__, M()))",
    ),
    Way(
        "and so it does where a library copies",
        "attribute '__globals__' is refused",
        "import json, xml.etree.ElementTree as ET\nclass M(dict):\n    n = 0\n    def get(self, key, default=None):\n"
        "        self.n += 1\n        return {2: json.dumps, 3: '__globals__'}.get(self.n, default)\n"
        "e = ET.Element('a')\ne.text = [].__len__\nprint(e.__deepcopy__(M()).text)",
    ),
    Way(
        "a memo holds the code of a reference",
        "held []",
        "import copy, typing\nr = typing.List['1'].__args__[0]\nm = {}\ncopy.deepcopy(r, m)\n"
        "print('held', [k for v in list(m.values()) if type(v) is dict for k in v if 'code' in k])",
    ),
    Way(
        "a memo holds the dict of a partial",
        "held {}",
        f"import copy\n{_PARTIAL}m = {{}}\nprint('held', copy.deepcopy(p, m).__dict__, m)",
    ),
    Way(
        "a class that says that it is a library's is given its state",
        "slots ['get_loop']",
        "import copy, asyncio\nclass T(asyncio.Task):\n    __module__ = 'json'\n"
        "    __slotnames__ = ['get_stack', 'get_loop'] * 40\n"
        "    def __init__(self, *a):\n        if a: super().__init__(*a)\n"
        "    def __setstate__(self, state): print('slots', sorted(state[1]))\nasync def nothing(): pass\n"
        "async def main(): copy.copy(T(nothing()))\nasyncio.run(main())",
    ),
    Way(
        "a metaclass is compared with the types that are copied",
        "code False",
        "import copy\ngot = []\nat = [0]\nclass M(type):\n    def __hash__(self): return at[0]\n"
        "    def __eq__(self, other): got.append(other)\nclass X(metaclass=M): pass\n"
        "start = type.__hash__(type(lambda: 0))\nfor at[0] in range(start - 6000, start + 6000): copy.copy(X())\n"
        "print('code', 'code' in [cls.__name__ for cls in got] or not got)",
    ),
]
_ALIAS = "import copy, typing\na = type(typing.List[int])(list, ('eval',), name='__builtins__')\n"
COPIES += [
    Way(
        "an alias of typing says which global of typing its copy is an item of",
        "cannot copy '_GenericAlias' object: its parts lead out of the program",
        f"{_ALIAS}print(copy.copy(a))",
    ),
    Way(
        "and so does the one whose parts are copied first",
        "cannot copy '_GenericAlias' object: its parts lead out of the program",
        f"{_ALIAS}m = {{}}\ntry: print(copy.deepcopy([a], m))\n"
        "finally: print([v for v in m.values() if type(v) is dict])",
    ),
    Way(
        "a module that a program makes would be copied as the one that has its name",
        "cannot create 'module' instances",
        "import copy\nfrom scipy.spatial.transform import Rotation\nm = type(Rotation.identity()._xp)('shlex')\n"
        "c = copy.copy(m)\nprint('made', copy.deepcopy(c), hasattr(c, 'split'))",
        "data-analysis",
    ),
]
_KEPT = (types.CodeType, types.FrameType, types.ModuleType, io.FileIO)
_ASKED = f"""
got = []
at = [0]
class M(type):
    def __hash__(self): return at[0]
    def __eq__(self, other):
        if other is not X: got.append(other.__name__)
for away in {[identity(cls) - identity(int) for cls in _KEPT]}:  # those of CPython's own types lie side by side
    at[0] = object.__hash__(int) + away
    class X(metaclass=M): pass
    x = X.__new__(X)
    ASK
print('got', got)
"""
TYPES_COMPARED = [
    Way(
        "a metaclass is compared with the types that an attribute may not have",
        "got []",
        "class O: pass\no = O()\n" + _ASKED.replace("ASK", "o.a = x; o.__dict__"),
    ),
    Way(
        "a metaclass is compared with the types that a dataclass' values are taken as they are of",
        "got []",
        "import dataclasses\n@dataclasses.dataclass\nclass D:\n    a: object\n"
        + _ASKED.replace("ASK", "dataclasses.asdict(D(x))"),
    ),
    Way(
        "a metaclass is compared with the class that opens files",
        "got []",
        "import io\n" + _ASKED.replace("ASK", "isinstance(x, io.RawIOBase)"),
    ),
]
TYPES_COMPARED += [
    Way(
        "a metaclass says what its class is derived from, and is compared with all classes by singledispatch",
        "got []",
        "import functools\nclass L(type): __mro__ = property(lambda cls: (X,))\nclass C(metaclass=L): pass\n"
        "@functools.singledispatch\ndef f(x): pass\ndef ask():\n    f._clear_cache()\n    try: f.dispatch(C)\n"
        "    except TypeError: pass\n" + _ASKED.replace("ASK", "ask()"),
    ),
]
_SPY = "stored = []\nclass Spy({}):\n    def __setattr__(self, name, value):\n        stored.append(value)\n"
_SPY += "        object.__setattr__(self, name, value)\n"
STORED_IN_OTHERS = [
    Way(
        "a loop of a class of the program is given a selector and sockets",
        "an event loop is made by asyncio.new_event_loop(), and has no classes of its own",
        f"import asyncio\nT = type(asyncio.new_event_loop())\n{_SPY.format('T')}try: Spy()\n"
        "finally: print([type(v).__name__ for v in stored if type(v).__name__ in ('socket', 'EpollSelector')])",
    ),
    Way(
        "and so is an object that is no loop",
        "an event loop is made by asyncio.new_event_loop(), and has no classes of its own",
        f"import asyncio\nT = type(asyncio.new_event_loop())\n{_SPY.format('')}for k in T.__mro__:\n"
        "    try: k._make_self_pipe(Spy())\n    except Exception as e: print(e)\n"
        "assert 'socket' not in [type(v).__name__ for v in stored], stored",
    ),
    Way(
        "a stream of a class of the program is given zlib",
        "'compressobj'",
        "import io, sys, tarfile\nT = type(tarfile.open(fileobj=io.BytesIO(), mode='w|gz').fileobj)\n"
        f"{_SPY.format('T')}level = [9] if sys.version_info >= (3, 12) else []\n"
        "Spy('x', 'w', 'gz', io.BytesIO(), 512, *level)\n"
        "names = [dir(v) for v in stored if 'compressobj' in dir(v)]\nprint(names)\n"
        "assert '__spec__' not in names[0]",
        "data-analysis",
    ),
    Way(
        "a plot of a class of the program is given matplotlib",
        "matplotlib.os is refused",
        "import sympy\nT = type(sympy.plot(sympy.Symbol('x'), show=False))\n"
        f"{_SPY.format('T')}Spy()\nfound = [v for v in stored if hasattr(v, 'pyplot')]\nprint(found[0].os)",
        "data-analysis",
    ),
]
ENUMS = [
    Way(
        "an object in the place of __reduce_ex__ is compared with that of object",
        "got []",
        "import enum\ngot = []\nclass Spy:\n    def __eq__(self, other): got.append(other)\n"
        "class Mix: __reduce_ex__ = Spy()\nclass E(Mix, enum.Enum): A = 1\nprint('got', got)",
    ),
    Way(
        "enum.property reads a name that another function of enum spells",
        "attribute '__reduce_ex__' is refused" if sys.version_info >= (3, 12) else "_member_map_",
        "import enum\np = enum.property(None)\np._attr_type = 'attr'; p._cls_type = [].__len__\n"
        "p.name = '__reduce_ex__'\nprint(p.__get__(1, int))",
    ),
]


DICTS_OF_OTHERS += [
    Way(
        f"the text of a hint names what is in the dict of a class of Python's own: {name}, {how}",
        f"name {name!r} is not defined",
        f"import inspect, pathlib, types, typing\nasync def a(): yield\nclass C:\n    x: {name!r}\n"
        f"    __wrapped__ = {cls}\ndef f(x: {name!r}): pass\nf.__wrapped__ = {cls}\nprint({how})",
    )
    for name, cls in (
        ("gi_frame", "types.GeneratorType"),
        ("ag_code", "type(a())"),
        ("parser" if sys.version_info >= (3, 13) else "_flavour", "pathlib.PurePosixPath"),
        ("obj", "AttributeError"),
    )
    for how in (
        "typing.get_type_hints(C)",
        "inspect.get_annotations(f, eval_str=True)",
        "inspect.signature(f, follow_wrapped=False, eval_str=True)",
    )
]
REAL_MODULES += [
    Way(
        f"a module of the program calls something {name}, and imports it of itself",
        "mine",
        f"{name} = 'mine'\nfrom __main__ import {name} as found\nprint(found)",
    )
    for name in ("__class__", "__dict__", "__annotations__")
] + [
    Way(
        f"what a rotation computes with, past its own class: {how}",
        "has no attribute 'numpy'",
        f"from scipy.spatial.transform import Rotation\nheld = Rotation.identity()._xp\nprint(held)\nprint({how})",
        "data-analysis",
    )
    for how in ("object.__getattribute__(held, 'numpy')", "type(held).__mro__[1].__getattribute__(held, 'numpy')")
]
DICTS_OF_OTHERS += [
    Way(name, reason, source, marks=[pytest.mark.skipif(sys.version_info < (3, 12), reason="from 3.12 on")])
    for name, reason, source in (
        (
            "a name that a program tells a property of enum, in a module of that name",
            "attribute '__forward_code__' is refused",
            "import enum, typing\n__name__ = 'enum'\np = enum.property()\np._attr_type = 'attr'\n"
            "p._cls_type, = typing.List['1'].__args__\nclass C: x = p\np.name = '__forward_code__'\nprint(C().x)",
        ),
        (
            "3.12: the dict of a class, which a scope within it has",
            "[[], ['T']]",
            "class C:\n    type V = locals()\n    def f[T](self, x: locals()): pass\n"
            "print([list(C.V.__value__), list(C.f.__annotations__['x'])])",
        ),
        (
            "3.12: the same by its name in a text",
            "builtin '__classdict__' is refused",
            "class C:\n    type V = eval('__classdict__')\nprint(C.V.__value__)",
        ),
        (
            "3.12: the same in the cell of a function",
            "attribute '__closure__' is refused",
            "def outer():\n    v = 1\n    def f(): return v\n    return f\nf = outer()\n"
            "class C: locals()['__classdictcell__'] = getattr(f, '__clo' + 'sure__')[0]\nprint(f())",
        ),
        (
            "3.12: the same in a cell that is compared",
            "[[], False, True]",
            "got = []\nclass Spy:\n    def __eq__(self, other): got.append(other)\nclass M(type):\n"
            "    def __new__(m, n, b, space):\n        C = type(space['__classcell__'])\n        c = C()\n"
            "        type.__new__(m, n, b, {**space, '__classdictcell__': c})\n"
            "        C.__eq__(c, C(Spy()))\n        print([got, c in [C(Spy())], c == c])\n"
            "        return type.__new__(m, n, b, space)\n"
            "class K(metaclass=M):\n    def f(self): super()",
        ),
        (
            "3.12: the same in the cell that has the class",
            "[['self'], ['self']]",
            "class M(type):\n    def __new__(m, n, b, space):\n        global made\n"
            "        made = type.__new__(m, n, b, {**space, '__classdictcell__': space.pop('__classcell__')})\n"
            "        return made\n"
            "try:\n    class C(metaclass=M):\n        def f(self):\n"
            "            print([list(locals()), eval('list(locals())')])\n"
            "            super()\nexcept TypeError: made.f(1)",
        ),
    )
]

_SPIES = (
    "got = []\nclass Spy:\n    def __eq__(self, other): got.append(other)\n"
    "    def __ror__(self, other): got.append(other)\n"
)
_UNCLOSED = (
    "    warnings.simplefilter('always')\n    loop = asyncio.new_event_loop()\n    loop.is_closed = lambda: True\n"
    "    del loop\n    gc.collect()\n"
)
OBJECTS_HANDED_ON = [
    *(
        Way(
            f"a class of the program's is made of that of all {what}, and a test writes into its objects by any place",
            "is not an acceptable base type",
            f"import json, __main__\nfrom unittest import mock\nclass M(type({module}).__mro__[1], type):\n"
            "    x = vars(type)['__basicsize__']\n    def __new__(m, *a): return type.__new__(m, *a)\n"
            "C = M('C', (), {})\nwith mock.patch.object(C, 'x', 123456): print('written', C.__basicsize__)",
        )
        for what, module in {"facades": "json", "modules of programs": "__main__"}.items()
    ),
    Way(
        "a library's object that reads attributes has a class that makes one of any name",
        "cannot create 'operator.attrgetter' instances",
        "import pathlib, json\nprint(type(vars(pathlib.PurePath)['drive'].fget)('__globals__')(json.dumps))",
        marks=[pytest.mark.skipif(sys.version_info >= (3, 12), reason="until 3.11")],
    ),
    Way(
        "a library reads by a path that it is told",
        "attribute '__globals__' is refused",
        "import numpy\nfrom sklearn.base import BaseEstimator\nfrom sklearn.feature_selection import SelectFromModel\n"
        "class E(BaseEstimator):\n    def fit(self, X, y=None): return self\n"
        "SelectFromModel(E(), importance_getter='fit.__globals__').fit(numpy.eye(3), [1, 2, 3]).get_support()",
        "data-analysis",
    ),
    Way(
        "an object of no type in the place of the context that C code takes it for",
        "the context of decimal must be a decimal.Context",
        "import contextvars, decimal\ndecimal.getcontext()\n"
        "v, = [v for v in contextvars.copy_context() if v.name == 'decimal_context']\n"
        "v.set(decimal.Context(prec=3))\nassert str(decimal.Decimal(1) / 3) == '0.333'\nv.set(b'A' * 400)\n"
        "print(decimal.getcontext())",
    ),
    *(
        Way(
            f"a pickle sets {name} of an object that is among its buffers",
            told,
            f"import pickle, json\nt = json.dumps\nname = {name!r}.encode()\n"
            "data = b'\\x80\\x05\\x97N}\\x8c' + bytes([len(name)]) + name + b'\\x97s\\x86b.'\n"
            "pickle.loads(data, buffers=[t, {'skipkeys': 1}])\nprint('set')",
        )
        for name, told in {
            "__kwdefaults__": "attribute '__kwdefaults__' is refused",
            "__code__": "attribute '__code__' is refused",
            "harmless": "set",
        }.items()
    ),
    Way(
        "a warning of what was not closed has the socket",
        "about [None, None]",
        f"import asyncio, gc, warnings\nwith warnings.catch_warnings(record=True) as caught:\n{_UNCLOSED}"
        "print('about', [w.source for w in caught])",
    ),
    *(
        Way(
            f"a read-only view of a mapping gives the mapping, {how}",
            "changed nothing",
            f"import dataclasses, functools, string\n{_SPIES}@dataclasses.dataclass\nclass D:\n    a: int\n"
            "@functools.singledispatch\ndef f(x): pass\n"
            "views = [string.Template.pattern.groupindex, dataclasses.fields(D)[0].metadata, f.registry]\n"
            f"before = [dict(view) for view in views]\nfor view in views: {join}\n"
            "assert len(got) == 3\nfor one in got: one['x'] = 9\n"
            "print('changed', 'nothing' if [dict(view) for view in views] == before else views)",
        )
        for how, join in {"compared": "view == Spy()", "joined": "view | Spy()"}.items()
    ),
    *(
        Way(
            f"a stream of the program keeps the memory that it is lent, which then belongs to others: {how}",
            "the others' 0",
            f"import io\nclass R(io.RawIOBase):\n{methods}r = R()\nb = {made}\n{use}\n"
            "assert b.raw is r and type(r.kept) is memoryview\n"
            "del b\nothers = [bytes([65 + i]) * 4960 for i in range(20)]\n"
            'print("the others\'", sum(bytes(r.kept).count(other[:9]) for other in others))',
            "calculator",
        )
        for how, methods, made, use in (
            (
                "to read into",
                "    def readable(self): return True\n    def readinto(self, b):\n        self.kept = b\n"
                "        return 0\n",
                "io.BufferedReader(r, 5000)",
                "b.read(5)",
            ),
            (
                "to write from",
                "    def writable(self): return True\n    def write(self, b):\n        self.kept = b\n"
                "        return len(b)\n",
                "io.BufferedWriter(r, 5000)",
                "b.write(b'a' * 4000)\nb.flush()",
            ),
        )
    ),
    *(
        Way(
            f"a loop watches any descriptor of the process, {how}",
            "of the event loop is refused: it reaches processes, signals or descriptors",
            f"import asyncio\nloop = asyncio.new_event_loop()\nclass S:\n    def fileno(self): return 3\n{call}",
        )
        for how, call in {
            "to read": "loop._add_reader(3, print)",
            "to write": "loop._add_writer(3, print)",
            "by its base": "type(loop).__mro__[2]._add_reader(loop, 3, print)",
            "as its own": "loop._ssock = S()\nloop._add_reader(3, print)",
        }.items()
    ),
    Way(
        "what answers for another object has its __self__: the function behind a builtin",
        "attribute '__self__' is refused",
        "import codecs\nclass X(codecs.StreamReader):\n    def f(self): pass\n    __func__ = f\n"
        "    def __init__(self, stream): self.stream = stream\nprint(X(getattr).__self__)",
    ),
    Way(
        "what answers for another object asks what a library's class would answer",
        "attribute 'obj' is refused",
        "import codecs, math\nclass X(codecs.StreamReader):\n    def __init__(self, stream): self.stream = stream\n"
        "    def __getattr__(self, name): return super().__getattr__(name)\n"
        "try: math.nothing\nexcept AttributeError as error: x = X(error)\nprint(x.obj)",
    ),
]
_WRAPPER = (
    "import typing\nfrom tqdm import tqdm\n"
    "W, = [c for c in type(tqdm([]).fp).__mro__ if c.__name__ == 'ObjectWrapper']\n"
)
_CODES = (
    "import sympy\nfound = []\nclass S(sympy.Symbol):\n"
    "    def _ccode(self, printer, **settings):\n        found.extend(printer.type_mappings)\n        return 'x'\n"
    "sympy.ccode(S('x'))\nT, = [c for c in type(found[0]).__mro__ if c.__name__ == 'Token']\n"
)
_PDF = (
    "import io, matplotlib.pyplot as plt, matplotlib.lines\nfound = []\nclass L(matplotlib.lines.Line2D):\n"
    "    def draw(self, renderer):\n        found.append(renderer.new_gc())\n        super().draw(renderer)\n"
    "fig, ax = plt.subplots()\nax.add_line(L([0, 1], [0, 1]))\nfig.savefig(io.BytesIO(), format='pdf')\n"
)
DICTS_OF_OTHERS += [
    Way(
        "a masked array has a copy of the dict of whatever it is made from",
        "KeyError: '__globals__'",
        "import numpy, types\nm = numpy.ma.array([1])\nnumpy.ma.MaskedArray._update_from(m, types.FunctionType)\n"
        "print(m._optinfo['__glo' + 'bals__'].__get__(types.coroutine)['sys'])",
        "data-analysis",
    ),
    Way(
        "a method compares the dict of a class with an object of the program",
        "EqNeAttrs.__eq__() is for a 'EqNeAttrs' object",
        "import types\nfrom xlrd.formatting import Font\nclass Spy:\n    def __eq__(self, other):\n"
        "        print(other['__glo' + 'bals__'].__get__(types.coroutine)['sys'])\n"
        "class O: __dict__ = Spy()\nFont.__eq__(types.FunctionType, O())",
        "data-analysis",
        marks=[pytest.mark.modules("xlrd")],
    ),
]
TEXT_BECOMES_A_NAME += [
    Way(
        "the names that an object of a library is asked for are what the program's object says",
        "attribute '__globals__' is refused",
        f"{_PDF}got = []\ndef f(): pass\ndef command(self, *theirs):\n    got.extend(theirs)\n    return ()\n"
        "f.commands = [(['__glo' + 'bals__'], command)]\n"
        "try: type(found[0]).delta(f, type(found[0]).delta)\nfinally: print([x['os'] for x in got])",
        "data-analysis",
    ),
    Way(
        "and so are those of a node of code",
        "attribute '__globals__' is refused",
        f"{_CODES}def f(): pass\nf._fields = ['__glo' + 'bals__']\nprint(T.kwargs(f)['__glo' + 'bals__'])",
        "data-analysis",
    ),
    Way(
        "a wrapper of tqdm reads any name of any object",
        "attribute '__globals__' is refused",
        f"{_WRAPPER}print(W.wrapper_getattr(tqdm.format_meter, '__glo' + 'bals__')['sys'].modules['os'])",
        "data-analysis",
    ),
    Way(
        "and stores one past the object's own class",
        "wrapper_setattr() is for a 'ObjectWrapper' object",
        f"{_WRAPPER}W.wrapper_setattr(typing.List, '__origin__', 5)\nprint(typing.List.__origin__)",
        "data-analysis",
    ),
    Way(
        "a table is set the state of, which is a function",
        "NDFrame.__setstate__() is for a 'NDFrame' object",
        "import pandas\nf = pandas.concat\nf._internal_names = f._metadata = []\n"
        "state = {'_typ': 1, '_flags': {'allows_duplicate_labels': 1}, '__defaults__': (5,)}\n"
        "pandas.DataFrame.__setstate__(f, state)\nprint(f())",
        "data-analysis",
    ),
]
_DEPUTY = "import io, json\nfrom tqdm import tqdm\nW = type(tqdm([1], file=io.StringIO()).fp)\nf = [json.dumps][0]\n"
_SET = "attribute '__kwdefaults__' is refused"
TOLD_BY_A_LIBRARY = [
    *(
        Way(f"a library reads {what}", told, _DEPUTY + f"print(W.wrapper_getattr({value}, {name!r}))", "data-analysis")
        for what, told, value, name in (
            ("what a function finds", "attribute '__globals__' is refused", "f", "__globals__"),
            ("the code of a function", "attribute '__code__' is refused", "f", "__code__"),
            ("the module of a builtin", "attribute '__self__' is refused", "len", "__self__"),
            ("the frame of a generator", "attribute 'gi_frame' is refused", "(i for i in ())", "gi_frame"),
            ("all classes", "attribute '__subclasses__' is refused", "object", "__subclasses__"),
        )
    ),
    *(
        Way(f"{who} stores what a function does", told, f"import json\nf = [json.dumps][0]\n{source}", profile)
        for who, told, source, profile in (
            (
                "a state",
                "NDFrame.__setstate__() is for a 'NDFrame' object",
                "import pandas\nf._internal_names = f._metadata = []\n"
                "pandas.DataFrame.__setstate__(f, {'_typ': 1, '__kwdefaults__': {}})",
                "data-analysis",
            ),
            (
                "a file",
                _SET,
                "import scipy.io\nf._read_att_array = lambda: {'__kwdefaults__': {}}\n"
                "scipy.io.netcdf_file._read_gatt_array(f)",
                "data-analysis",
            ),
            (
                "a registry",
                "still 1",
                "import sympy\nf._classes_to_install = {'__kwdefaults__': dict}\n"
                "try: type(sympy.S).__getattr__(f, '__kwdefaults__')\nexcept AttributeError: print('still', f(1))",
                "mathematics",
            ),
        )
    ),
    Way(
        "a getter that a property of a library has, by the method that makes one",
        "object.__new__(operator.attrgetter) is not safe",
        "import pathlib\nG = type(pathlib.PurePath.drive.fget)\nG.__new__(G, '__globals__')",
        marks=[pytest.mark.skipif(sys.version_info >= (3, 12), reason="until 3.11")],
    ),
    Way(
        "a path of attributes to what a model weighs",
        "attribute '__globals__' is refused",
        "from sklearn.feature_selection import SelectFromModel\nfrom sklearn.base import BaseEstimator\nimport json\n"
        "class E(BaseEstimator):\n    coef_ = staticmethod(json.dumps)\n    def fit(self, *given): return self\n"
        "    def __sklearn_is_fitted__(self): return True\n"
        "chosen = SelectFromModel(E(), importance_getter='coef_.__globals__', prefit=True)\n"
        "chosen.estimator_ = E()\nchosen.get_support()",
        "data-analysis",
    ),
    Way(
        "an array takes over the dict of a class",
        "MaskedArray._update_from() is for a 'MaskedArray' object",
        "import numpy\nclass F: pass\nf = F()\nnumpy.ma.MaskedArray._update_from(f, type)\n"
        "print('found', [name for name in f._optinfo if 'subclasses' in name])",
        "data-analysis",
    ),
    Way(
        "what a program may ask of its own",
        "own [<class '__main__.B'>] (1,) True ['abc']",
        "import collections.abc, functools, inspect, pathlib\nclass A: pass\nclass B(A): pass\ndef f(a=1): pass\n"
        "assert inspect.signature(f).parameters['a'].default == 1\n"
        "print('own', A.__subclasses__(), f.__defaults__, isinstance({}, collections.abc.Mapping),"
        " sorted(['abc'], key=functools.cmp_to_key(lambda a, b: 0)))",
    ),
]

_RESULT = "import types\nfrom scipy import stats\nR = type(stats.linregress([1, 2, 3], [1, 2, 4]))\n"
DICTS_OF_ALL_CLASSES = [
    Way(
        "a super of a class of its own is asked for its dict, which is the descriptor of all",
        "type 'super' is not an acceptable base type",
        f"import collections\n{_TAKES}class I: __dict__ = property(lambda self: U())\nclass M(type): pass\n"
        "class S(super):\n    def __new__(cls, *given): return super().__new__(cls, *given) if given else I()\n"
        "collections.UserDict.__copy__(S(M, M))",
        "calculator",
    ),
    *(
        Way(
            f"a result of scipy is asked by {method} for the dict of what answers for `type`",
            f"LinregressResult.{method}() is for a 'LinregressResult' object",
            f"{_RESULT}R.{method}(types.GenericAlias(type, int))",
            "data-analysis",
        )
        for method in ("__getnewargs_ex__", "_asdict")
    ),
    Way(
        "a copy of a font that is a class",
        "FontProperties.__copy__() is for a 'FontProperties' object",
        "from matplotlib.font_manager import FontProperties\nprint(vars(FontProperties.__copy__(type))['__dict__'])",
        "data-analysis",
    ),
    *(
        Way(
            f"the state of a method of a class: {what}",
            "__getstate__() is for a ",
            f"import types\nfrom matplotlib.artist import Artist\nfrom scipy import stats\n"
            f"m = types.MethodType(type, 1)\nprint({call}['__dict__'])",
            "data-analysis",
            [pytest.mark.modules("scipy", "matplotlib")],
        )
        for what, call in (
            ("of an artist", "Artist.__getstate__(m)"),
            ("of a method", "Artist.__getstate__(types.MethodType(m, 1))"),
            ("of a distribution", "stats.rv_continuous.__getstate__(m)"),
        )
    ),
    Way(
        "the code of a reference, read by pprint for a program whose module has that name",
        "attribute '__forward_code__' is refused",
        "import dataclasses, pprint, typing\n__name__ = 'pprint'\nname = '__forward_code__'\n"
        "@dataclasses.dataclass\nclass Data: x: int = 0\n"
        "fields = dataclasses.fields(Data)\nfields[0].name = name\n"
        "reference, = typing.List['1'].__args__\n"
        "class R(type(reference), _root=True): __dataclass_fields__ = {'x': fields[0]}\n"
        "class Self:\n    def _format_namespace_items(self, items, *rest): print(items)\n"
        "    def write(self, *text): pass\n"
        "pprint.PrettyPrinter._pprint_dataclass(Self(), R('1'), Self(), 0, 0, {}, 0)",
    ),
    Way(
        "the globals of a function of Cython, by a name that an object of the program lists",
        "kept ['__globals__', 'func_code'] []",
        "import codecs, pandas\nfrom sklearn.base import BaseEstimator\nclass K(str):\n"
        "    def startswith(self, x): return False\n    def endswith(self, x): return True\n"
        "class X(codecs.StreamReader):\n    def __init__(self, stream): self.stream = stream\n"
        "    def __dir__(self): return listed\n"
        "listed = [K('__globals__'), K('func_code')]\n"
        "found = BaseEstimator._get_fitted_attr_html(X(pandas.api.types.is_integer))\n"
        "print('kept', listed, [name for name in found if name in listed])",
        "data-analysis",
    ),
    Way(
        "what a descriptor may be called for",
        "own 4 <class '__main__.C'> (1, 2) attribute '__dict__' is refused",
        "class C:\n    __slots__ = ('a', '__dict__')\n    @classmethod\n    def f(cls): return cls\n"
        "c = C()\nc.a = 4\n"
        "try: vars(C)['__dict__'].__get__(c)\nexcept AttributeError as error: refused = error\n"
        "print('own', C.a.__get__(c), vars(C)['f'].__get__(None, C)(), (lambda a=1, b=2: 0).__defaults__, refused)",
    ),
]

_TABLE = (
    "import pandas, warnings\nimport seaborn.objects as so\nwarnings.simplefilter('ignore')\n"
    "class Buffer:\n    ptr, bufsize = id(tuple), 64\n"
    "class Column:\n    dtype, describe_null, null_count, offset = (0, 64, 'l', '='), (0, None), 0, 0\n"
    "    def size(self): return 4\n"
    "    def get_buffers(self): return {'data': (Buffer(), self.dtype), 'validity': None, 'offsets': None}\n"
    "class Table:\n    def __dataframe__(self, **options): return self\n"
    "    def get_chunks(self): return [self]\n    def num_chunks(self): return 1\n"
    "    def column_names(self): return ['a']\n    def get_column_by_name(self, name): return Column()\n"
)
MEMORY = [
    Way(
        "a table says at which address its buffers begin",
        "memory is not read by its address",
        _TABLE + "try: print(so.Plot(Table(), x='a')._data.frame)\nexcept RuntimeError as e: print(e.__cause__)",
        "data-analysis",
    ),
    Way(
        "and another holds an array that is shorter than it says",
        "buffer is smaller than requested size",
        _TABLE + "Buffer._x = pandas.Series([1, 2]).to_numpy()\n"
        "try: print(so.Plot(Table(), x='a')._data.frame)\nexcept RuntimeError as e: print(e.__cause__)",
        "data-analysis",
    ),
    Way(
        "an honest one is read as ever",
        "read [1, 2] ['x', 'y'] [1.5, nan] ['u', 'v']",
        _TABLE + "frame = pandas.DataFrame({'a': [1, 2], 'b': ['x', 'y'], 'c': [1.5, None],"
        " 'd': pandas.Categorical(['u', 'v'])})\n"
        "class Other:\n    def __dataframe__(self, **options): return frame.__dataframe__(**options)\n"
        "got = so.Plot(Other(), x='a')._data.source_data\nprint('read', *(got[name].tolist() for name in got))",
        "data-analysis",
    ),
]

_XP = "from scipy.spatial.transform import Rotation\nxp = Rotation.identity()._xp\n"
_DESCRIPTOR = (
    "from openpyxl.styles import Font\n"
    "D, = [c for c in type(vars(Font)['name']).__mro__ if c.__name__ == 'Descriptor']\n"
)
DICTS_OF_OTHERS += [
    *(
        Way(f"a method of a library for whatever has a dict: {call}", reason, f"{before}{call}", "data-analysis")
        for before, call, reason in (
            ("import collections\n", "collections.UserDict.__copy__(int)", "is for a 'UserDict' object"),
            ("import collections\n", "collections.UserList.__copy__(int)", "is for a 'UserList' object"),
            (
                "import openpyxl\nsheet = openpyxl.Workbook().active\n",
                "type(sheet.column_dimensions['A']).__mro__[1].__copy__(int)",
                "is for a 'Dimension' object",
            ),
            (
                "from matplotlib.font_manager import FontProperties\n",
                "FontProperties.__copy__(int)",
                "is for a 'FontProperties' object",
            ),
            (
                "import types\nfrom matplotlib.artist import Artist\n",
                "Artist.__getstate__(types.MethodType(type, 1))",
                "is for a 'Artist' object",
            ),
            (
                "from scipy import stats\nR = type(stats.linregress([1, 2, 3], [1, 2, 4]))\n",
                "R.__getnewargs_ex__(int)",
                "is for a 'LinregressResult' object",
            ),
        )
    ),
    *(
        Way(f"a library writes into the dict of a function: {store}", reason, f"{before}{store}", "data-analysis")
        for before, store, reason in (
            (
                "import json, logging\nlogging.setLogRecordFactory(lambda *_: json.dumps)\n",
                "logging.makeLogRecord({'__argmap__': 1})",
                "attribute '__argmap__' is refused",
            ),
            (
                "import json, logging\nlogging.setLogRecordFactory(lambda *_: json.dumps)\n",
                "logging.getLogger().warning('x', extra={'__argmap__': 1})",
                "attribute '__argmap__' is refused",
            ),
            (
                f"import json\n{_DESCRIPTOR}",
                "D(name='__argmap__').__set__(json.dumps, 1)",
                "is for an object of openpyxl",
            ),
            (
                "import json\nfrom bs4 import BeautifulSoup\n",
                "BeautifulSoup.__setstate__(json.dumps, {'__argmap__': 1})",
                "is for a 'BeautifulSoup' object",
            ),
            (
                "import json\nfrom scipy import stats\nR = type(stats.linregress([1, 2, 3], [1, 2, 4]))\n",
                "R.__setattr__(json.dumps, 'x', 1)",
                "is for a 'LinregressResult' object",
            ),
            (
                "import json, yaml\nloader = yaml.SafeLoader('{__argmap__: 1}')\n"
                "class Y:\n    def __new__(cls): return json.dumps\n",
                "list(loader.construct_yaml_object(loader.get_single_node(), Y))",
                "attribute '__argmap__' is refused",
            ),
        )
    ),
    Way(
        "a module of scipy is written to by a library",
        "modules are read-only",
        f"import logging\n{_XP}logging.setLogRecordFactory(lambda *_: xp)\nlogging.makeLogRecord({{'asarray': print}})",
        "data-analysis",
    ),
    Way(
        "a rotation is copied, and still turns",
        "turned [0.0, 1.0, 0.0]",
        "import copy, pickle\nfrom scipy.spatial.transform import Rotation\n"
        "r = copy.deepcopy(copy.copy(Rotation.from_euler('z', 90, degrees=True)))\n"
        "print('turned', abs(r.apply([1, 0, 0]).round(6)).tolist())",
        "data-analysis",
    ),
]
TOLD_BY_A_LIBRARY += (
    [
        Way(
            f"the documentation of mpmath, asked for any name: {call}",
            "never <class",
            f"import mpmath\nclass F: __doc__, __name__ = 'never', 'mpf___builtins__'\nf = F()\n"
            f"try: f = {call} or f\nexcept TypeError: pass\nprint('never', type(f.__doc__))",
            "mathematics",
        )
        for call in (
            "mpmath.mp._wrap_specfun('__builtins__', f, False)",
            "mpmath.fp._wrap_specfun('__builtins__', f, False)",
            "mpmath.mp._wrap_libmp_function(f)",
        )
    ]
    + [
        Way(
            f"a library lists what a stream answers for another object: {cls}",
            "found []",
            "import codecs, pandas\nfrom sklearn.base import BaseEstimator\n"
            "class K(str):\n    def startswith(self, x): return False\n    def endswith(self, x): return True\n"
            f"class X({cls}):\n    def __init__(self, stream): self.stream = stream\n"
            "    def __dir__(self): return [K('__globals__'), K('func_code')]\n"
            "try: print('found', [*BaseEstimator._get_fitted_attr_html(X(pandas.api.types.is_integer))])\n"
            "except AttributeError: print('found []')",
            "data-analysis",
        )
        for cls in ("codecs.StreamReader", "codecs.StreamWriter", "codecs.StreamReaderWriter")
    ]
    + [
        Way(
            "a library lists a class, whose dict has what cannot be read of it",
            "found []",
            "import types\nfrom sklearn.base import BaseEstimator\n"
            "try: found = BaseEstimator._get_fitted_attr_html(types.FunctionType)\n"
            "except (AttributeError, TypeError): found = []\n"
            "print('found', [name for name in found if name in ('__globals__', '__code__')])",
            "data-analysis",
        ),
    ]
)
CODE_OF_LIBRARIES += [
    Way(
        "what a program writes as the decorator of a function of networkx",
        "'str' object has no attribute",
        "import logging\nimport networkx as nx\nfrom sympy.parsing.sympy_parser import eval_expr\n"
        "class Evil:\n    def compile(self, f): return eval_expr\n"
        "logging.setLogRecordFactory(lambda *_: nx.pagerank)\n"
        "try: logging.makeLogRecord({'__argmap__': Evil()})\nexcept AttributeError: pass\n"
        "print(nx.pagerank('__import__(\"os\")', {}, {}))",
        "data-analysis",
    ),
]

_SAYS_TABLE = "got = []\nclass S:\n    def _with_version(self, version): got.append(version)\n"
OBJECTS_HANDED_ON += [
    Way(
        f"what says that narwhals has made it is told what narwhals is made of: {call}",
        "told []",
        f"import plotly.graph_objects as go\nimport plotly.express as px\n{_SAYS_TABLE}"
        f"    def __narwhals_{kind}__(self): return self\n{more}try: {call}\nexcept Exception: pass\n"
        "print('told', got)",
        "data-analysis",
    )
    for kind, call, more in (
        ("series", "go.Scatter(x=S())", ""),
        ("dataframe", "px.scatter(S())", ""),
        ("lazyframe", "px.imshow(S())", ""),
        (
            "dataframe",
            "px.scatter(D({'x': [1]}), x='x')",
            "import pandas as pd\nclass D(pd.DataFrame):\n    def __narwhals_dataframe__(self): return S()\n",
        ),
    )
]
DICTS_OF_OTHERS += [
    Way(
        "an element of a grammar is compared by the dicts of whatever it is",
        "is for a 'ParserElement' object",
        "import pathlib\nimport matplotlib.pyplot as plt\nfig = plt.figure()\nfig.text(0, 0, '$x$')\n"
        "fig.canvas.draw()\nelement = type(fig.canvas.get_renderer().mathtext_parser)._parser._expression\n"
        "kind, = [c for c in type(element).__mro__ if c.__name__ == 'ParserElement']\ngot = []\n"
        "class D(dict):\n    def __eq__(self, other): got.append(other)\n    __hash__ = None\n"
        "class O:\n    __dict__ = property(lambda self: D())\n    __class__ = property(lambda self: kind)\n"
        "kind.__eq__(getattr(pathlib.PurePath, '_flavour', pathlib.PurePath), O())\nprint(got)",
        "data-analysis",
    ),
    Way(
        "the state of what keeps results of functions, of a class",
        "is refused",
        "import types\nfrom sklearn.utils.validation import check_memory\n"
        "print(type(check_memory(None)).__getstate__(types.FunctionType))",
        "data-analysis",
    ),
]
REAL_MODULES += [
    Way(
        "a function keeps the module that it computes with",
        "has no attribute 'stats'",
        "from scipy.integrate import qmc_quad\nqmc_quad(lambda x: x.sum(), [0.0], [1.0])\nprint(qmc_quad.stats)",
        "data-analysis",
    ),
]
TEXT_BECOMES_A_NAME += [
    Way(
        "a field of a row is read in the next row",
        "attribute '__globals__' is refused",
        "import dataclasses\nfrom tabulate import tabulate\n"
        "@dataclasses.dataclass\nclass Row:\n    a: int\n"
        "dataclasses.fields(Row)[0].name = '__globals__'\nprint(tabulate([Row(1), tabulate]))",
        "data-analysis",
    ),
]

GIVEN_BY_WHAT_LIBRARIES_DO = [
    Way(
        "what loads modules, in the memo of a copy",
        "its parts lead out of the program",
        "import copy, typing\nmade = type(typing.List[int])(list, ('x',), name='__spec__')\nmemo = {}\n"
        "try: copy.deepcopy([made], memo)\n"
        "except TypeError as error: print(error)\n"
        "print([type(v).__name__ for v in memo.values()])\nassert 'ModuleSpec' not in str(memo)",
    ),
    Way(
        "the getattr of a library, called by C code in the name of one that spells the name",
        "attribute '__globals__' is refused",
        "import enum, functools, inspect, json\nclass Named: _name_ = 'x'\n"
        "read = enum.pickle_by_enum_name(Named(), 0)[0]\nkept = []\n"
        "def named(f, *a):\n    try: return f(*a)\n    except AttributeError as error: print(error); return {}\n"
        "found = map(read, [json.dumps], ['__globals__'])\n"
        "class O: __class__ = property(functools.partial(next, map(kept.append, found)))\n"
        "try: inspect.get_annotations(O())\nexcept TypeError as error: print(error)\n"
        "print(kept)\nnamed(read, json.dumps, '__globals__')",
    ),
    Way(
        "names of guards in the namespace that sympy runs text in",
        "attribute 'obj' is refused",
        "import sympy, math\n"
        "class M(type):\n    def __instancecheck__(cls, o): return True\n"
        "class K(metaclass=M): __match_args__ = ('obj',)\ngot = []\n"
        "try: math.nothing\nexcept AttributeError as e: target = e\n"
        "names = {'_match_class_': lambda c: c, 'target': target, 'K': K, 'keep': got.append}\n"
        "text = 'x)\\nmatch target:\\n    case K(v):\\n        keep(v)\\n(0'\nx = sympy.Symbol('x')\n"
        "try: sympy.lambdify(x, x, modules=[names], printer=lambda e: text)\n"
        "except AttributeError as e: print(e)\nprint(got)",
        "data-analysis",
    ),
    Way(
        "a copy that finds what it makes by what a program has written",
        "cannot copy '_Function' object",
        "import copy, scipy.fft\nf = scipy.fft.fft\nassert copy.copy(f) is not None\n"
        "class Home(str):\n    def startswith(self, *a): return False\n"
        "    def __getitem__(self, at): return answers.pop(0)\n"
        "class Path:\n    def split(self, *a): return paths.pop(0)\n"
        "answers, paths = [f.__module__, 'builtins', 'builtins'], [[f.__qualname__], ['eval'], ['eval']]\n"
        "f.__module__, f.__qualname__ = Home(f.__module__), Path()\nprint(copy.copy(f))",
        "data-analysis",
    ),
    Way(
        "a class that the program's own method has returned",
        "cannot set 'index' attribute of immutable type 'DataFrame'",
        "import pandas as pd\nclass S(pd.DataFrame):\n    def copy(self, *a, **k): return pd.DataFrame\n"
        "S({'a': [1, 2]}).set_index(pd.Index(['own', 'index']))",
        "data-analysis",
    ),
    Way(
        "the names of attributes that a task of sklearn hands back",
        "cannot set 'predict' attribute of immutable type 'LogisticRegression'",
        "from sklearn.linear_model import LogisticRegression\n"
        "class E(LogisticRegression):\n    def __copy__(self): return LogisticRegression\n"
        "class CB:\n    def __getattr__(self, name): return lambda *a, **k: None\n"
        "    def on_fit_task_end(self, estimator, context, *, fitted_estimator): pass\n"
        "e = E()\ne._skl_callbacks = [CB()]\n"
        "e._init_callback_context().call_on_fit_task_end(estimator=e, reconstruction_attributes={'predict': len})",
        "data-analysis",
    ),
    Way(
        "a module that is named where a kind of table is asked for",
        "import of duckdb is refused",
        "import plotly.data\n"
        "class K(str):\n    __eq__ = lambda self, other: other == 'pandas'\n"
        "    __hash__ = lambda self: hash('pandas')\n"
        "plotly.data.iris(return_type=K('duckdb'))",
        "data-analysis",
    ),
    Way(
        "a module that is named where a zone is asked for",
        "None",
        "import dateutil.tz\nclass Tail:\n    def __radd__(self, other): return ['this']\n"
        "class Parts(list):\n    def __getitem__(self, at): return Tail() if isinstance(at, slice) else 'y'\n"
        "class K(str):\n    def split(self, *a): return Parts(['x', 'y'])\n    def replace(self, *a): return self\n"
        "    def __iter__(self): return iter(())\n"
        "print(dateutil.tz.gettz.nocache(K('Nowhere')))\nassert dateutil.tz.gettz('Europe/Paris') is not None",
        "data-analysis",
    ),
]

TRUSTED_AS_IT_IS_GIVEN = [
    Way(
        "any object as self: a forward reference stores its code in it",
        "argument 'code' must be code, not None",
        "import types, typing\ngot = []\n"
        "class S:\n    def __setattr__(self, n, v): got.append(v)\n"
        "type(typing.List['1'].__args__[0]).__init__(S(), \"p.__self__.__import__('os')\")\n"
        "print(types.FunctionType(got[1], {'__builtins__': {}, 'p': len})())",
        "calculator",
    ),
    Way(
        "a layout that is made anew while it packs",
        "a Struct is made once",
        "import struct\ns = struct.Struct('8s')\nit = s.iter_unpack(bytes(64))\ns.__init__('64x8s')\nnext(it)",
        "calculator",
    ),
    Way(
        "a buffered stream that is made anew while it reads",
        "a BufferedReader is made once",
        "import io\n"
        "class Raw(io.RawIOBase):\n    def readable(self): return True\n"
        "    def readinto(self, b):\n        reader.__init__(self, 1)\n        return 0\n"
        "reader = io.BufferedReader(Raw(), 64)\nreader.read(8)",
    ),
    Way(
        "any str as the name of a module: its methods say which file is run",
        "import of module 'evil' failed",
        "import os, pickle\nopen('evil.py', 'w').write('print(1 / 0)')\n"
        "target = '../' * 12 + os.getcwd().strip('/') + '/evil.py'\n"
        "class File(str):\n    def __hash__(self): return hash('abc.py')\n    def __eq__(self, o): return True\n"
        "    def rstrip(self, *a): return target\n"
        "class Tail(str):\n    def __add__(self, suffix): return File('abc.py') if suffix == '.py' else 'nothing'\n"
        "class Name(str):\n    def rpartition(self, sep): return '', '', Tail('evil')\n"
        "class X:\n    def __reduce_ex__(self, p): return 'zen'\n"
        "x = X()\nx.__module__ = Name('evil')\npickle.dumps(x)",
        "data-analysis",
    ),
    Way(
        "a module that is imported because an object says that it is its own",
        "import of module 'antigravity' failed",
        "import pickle\nclass C: pass\nC.__module__ = 'antigravity'\npickle.dumps(C)",
        "data-analysis",
    ),
    Way(
        "a zone whose key says how it is split",
        "No time zone found",
        "import zoneinfo\nclass Tail:\n    def __radd__(self, other): return ['this']\n"
        "class K(str):\n    def rsplit(self, *a): return ['x', 'this']\n    split = rsplit\n"
        "zoneinfo.ZoneInfo(K('No/where'))",
        "data-analysis",
    ),
    Way(
        "compiled code calls the method that is named after any function",
        "has no attribute '__array_ufunc__'",
        "import pathlib, pandas as pd\n"
        "class K(str):\n    def __format__(self, s): return 'getattribute'\nclass U: nin = 2\n"
        "u = U()\nu.__name__ = K('add')\nf = type(pathlib.PurePath()).__mro__[-1]()\n"
        "print(pd.Series.__array_ufunc__(f, u, '__call__', f, '__class__'))",
        "data-analysis",
    ),
    Way(
        "a name that a function spells for another call",
        "function must be a callable or one of",
        "import json, numpy as np\nfrom scipy.interpolate import Rbf\n"
        "class K(str):\n    def __radd__(self, other): return '__code__'\n    def lower(self): return self\n"
        "f = [json.dumps][0]\nf.function = K('x')\nRbf._init_function(f, np.zeros(2))",
        "data-analysis",
    ),
    Way(
        "the fields of a dataclass, asked for by pandas",
        "attribute '_evaluate' is refused",
        "import dataclasses, typing, pandas as pd\n@dataclasses.dataclass\nclass D: a: int = 0\n"
        "f, = dataclasses.fields(D)\nf.name = '_evaluate'\nref, = typing.List['1'].__args__\n"
        "class R(type(ref), _root=True):\n    __dataclass_fields__ = {'x': f}\n"
        "    def __deepcopy__(self, memo): return self\n"
        "print(pd.DataFrame([R('1')]).iloc[0, 0])",
        "data-analysis",
    ),
    Way(
        "a setting that has functions of matplotlib called by any name",
        "the setting figure.hooks is refused",
        "import matplotlib, matplotlib.pyplot as plt\n"
        "matplotlib.rcParams['figure.hooks'] = ['matplotlib.backend_bases:_Backend.export']\nplt.figure()",
        "data-analysis",
    ),
    Way(
        "the state of a table, of an object of typing",
        "NDFrame.__setstate__() is for a 'NDFrame' object",
        "import typing, pandas as pd\npd.DataFrame.__setstate__(typing.Mapping, {'_typ': 1, '_attrs': {'evil': 1}})",
        "data-analysis",
    ),
    Way(
        "a class of Python's own that is loaded in the middle of a step",
        "cannot set 'submit' attribute of immutable type 'ThreadPoolExecutor'",
        "import asyncio\nasync def main():\n    await asyncio.to_thread(int)\n"
        "    for k in [type(asyncio.get_running_loop()._default_executor)]: k.submit = len\n"
        "asyncio.run(main())",
    ),
    Way(
        "abstract classes forget what is registered with them",
        "attribute '_abc_registry_clear' is refused",
        "import abc\nfrom collections.abc import Sequence\nabc.ABCMeta._abc_registry_clear(Sequence)",
    ),
    Way(
        "the functions of a coding",
        "assignment to 'incrementaldecoder' is refused: codings are read-only",
        "import codecs\nfor coding in [codecs.lookup('utf-8')]: coding.incrementaldecoder = len",
    ),
    Way(
        "the functions of a coding, past its class",
        "assignment to 'incrementaldecoder' is refused: codings are read-only",
        "import codecs\nobject.__setattr__(codecs.lookup('utf-8'), 'incrementaldecoder', len)",
    ),
    Way(
        "the functions of a coding, in its dict",
        "does not support item assignment",
        "import codecs\nvars(codecs.lookup('utf-8'))['incrementaldecoder'] = len",
    ),
    Way(
        "a layout whose class says that it was not made yet",
        "a Struct is made once",
        "import struct\nclass S(struct.Struct): size = -1\ns = S('8s')\ns.__init__('64x8s')",
        "calculator",
    ),
    Way(
        "a buffered stream that is let go while it reads, and made anew",
        "a BufferedReader that is at work is not detached",
        "import io\n"
        "class Raw(io.RawIOBase):\n    def readable(self): return True\n"
        "    def readinto(self, b):\n        reader.detach()\n        reader.__init__(Raw(), 1)\n        return 0\n"
        "reader = io.BufferedReader(Raw(), 64)\nreader.read(8)",
    ),
    Way(
        "numpy pickles a class that says it is of a module which nobody has loaded",
        "import of module 'antigravity' failed",
        "import numpy as np\nclass C: pass\nC.__module__ = 'antigravity'\nnp.array([C], dtype=object).dumps()",
        "data-analysis",
    ),
    Way(
        "a field that is renamed while its dataclass is made: names of one method in another",
        "Field names must be valid identifiers",
        "import dataclasses\ngot, L = [], []\ndef keep(x):\n    got.append(x)\n    return 0\n"
        "@dataclasses.dataclass\nclass Base: a: int = 0\nf, = dataclasses.fields(Base)\n"
        "EVIL = ('a)\"\\n def g(__import__, keep, L): pass\\n'\n"
        "        ' def h(y=keep(__import__(\"os\", None, None, L))): pass\\n #')\n"
        "class Late:\n    def __get__(self, o, c=None):\n        f.name = EVIL\n        return 1\n"
        "class Own(Base): b: int = Late()\n"
        "try: dataclasses.dataclass(Own, init=False, eq=False)\nfinally: print(got)",
        "calculator",
    ),
    Way(
        "where a callback was made, when asyncio is debugged",
        "attribute '_source_traceback' is refused",
        "import asyncio\nloop = asyncio.new_event_loop()\nloop.set_debug(True)\n"
        "print(loop.call_soon(print)._source_traceback)",
    ),
    Way(
        "the members of an enum of Python's own",
        "does not support item assignment",
        "import re\ntype(re.I)._value2member_map_[66] = 1",
    ),
]

_DOM = (
    "import enum, sympy\ngot = []\nclass S(sympy.Symbol):\n    def _mathml_content(self, printer, *a):\n"
    "        got.append(printer.dom)\n        return printer.dom.createElement('ci')\nsympy.mathml(S('x'))\n"
    "B = type(got[0].implementation.createDOMBuilder(1, None))\nclass O: pass\no = O()\n"
)
_IDENTIFY = "import mpmath\nidentify = type(mpmath.mp).identify\ngot = []\n"
READ_AND_RUN_FOR_OTHERS = [
    Way(
        "a loader among the builtin types of annotations",
        "name '__loader__' is not defined",
        "import typing\ndef f(x: '__loader__'): pass\nprint(typing.get_type_hints(f, {})['x'])",
    ),
    Way(
        "the same of a signature",
        "name '__loader__' is not defined",
        "import inspect\ndef f(x: '__loader__'): pass\nprint(inspect.signature(f, globals={}, eval_str=True))",
    ),
    Way(
        "a library has a module of Python run text",
        "timeit.Timer.__init__ makes code, which is refused",
        "from sympy.utilities import timed\ntimed('pass', setup='import os; print(os)', limit=1)",
        "data-analysis",
    ),
    Way(
        "a library pickles a function by the module that it is told",
        "same object as None",
        "import sys, os, pickle, scipy.fft\nopen('test_evil.py', 'w').write('import os; print(os)')\n"
        "sys.argv = ['x', 'discover', '-s', os.getcwd(), '-p', 'test_evil.py']\nf = scipy.fft.fft\n"
        "f.__module__, f.__qualname__ = 'unittest.__main__', 'main'\npickle.dumps(f)",
        "data-analysis",
    ),
    Way(
        "a library has an enum read names into itself",
        "name '_convert_' is not defined",
        _IDENTIFY + "import enum\nclass M(type(enum.Enum)):\n"
        "    def __dir__(cls): return ['_convert_', 'filt', 'mpf', 'grab']\nclass E(enum.Enum, metaclass=M):\n"
        "    def mpf(v): return mpmath.mpf(v)\n    def filt(name): return name in ('sys', 'path')\n"
        "    def grab(x): print(list(x))\n"
        "identify(E, 2, [\"grab(_convert_('X', 'os', filt))\"], tol=0.1)",
        "data-analysis",
    ),
    Way(
        "a library has a task give its frames",
        "name 'get_stack' is not defined",
        _IDENTIFY + "import asyncio\nclass T(asyncio.Task):\n    def mpf(self, v): return mpmath.mpf(v)\n"
        "    def grab(self, x): print(x)\n    def __dir__(self): return ['get_stack', 'grab']\n"
        "async def main():\n    async def g(): await asyncio.sleep(9)\n    t = T(g())\n    await asyncio.sleep(0)\n"
        "    identify(t, 2, ['grab(get_stack())'], tol=0.1)\nasyncio.run(main())",
        "data-analysis",
    ),
    Way(
        "a builder of documents reads any attribute of an enum",
        "feature '_convert_' not known",
        _DOM + "class E(enum.Enum): pass\no._options = E\n"
        "print(list(B.getFeature(o, '_convert_')('X', 'os', lambda n: n == 'path')))",
        "data-analysis",
    ),
    Way(
        "and of an event loop",
        "feature '_ssock' not known",
        _DOM + "import asyncio\no._options = asyncio.new_event_loop()\nprint(B.getFeature(o, '_ssock'))",
        "data-analysis",
    ),
    Way(
        "a parser of settings hands on the file that it opens",
        "builtin 'open' is refused",
        "import configparser\nclass C(configparser.ConfigParser):\n    def _read(self, fp, name): print(fp.buffer)\n"
        "C().read([1])",
    ),
    Way(
        "a dataclass whose text sets an attribute of an argument",
        "Field names must be valid identifiers",
        "import codecs, dataclasses\nclass K(str):\n    n = 0\n    def __format__(self, spec):\n"
        "        K.n += 1\n        if K.n != 3: return 'a'\n"
        "        return \"a)\\n  __dataclass_builtins_object__.__setattr__(b,'incrementaldecoder',c\"\n"
        "    def __repr__(self): return \"'a'\"\n    def __hash__(self): return hash('a')\n"
        "@dataclasses.dataclass(frozen=True)\nclass Base: a: int = 0\nf, = dataclasses.fields(Base)\n"
        "class Late:\n    def __get__(self, o, c=None):\n        f.name = K('a')\n        return 1\n"
        "class Own(Base):\n    b: int = Late()\n    c: int = 0\n"
        "D = dataclasses.dataclass(Own, init=True, eq=False, repr=False, frozen=True)\n"
        "D(0, codecs.lookup('utf-8'), print)",
    ),
    Way(
        "a value that is shown as a REPL does",
        "Ellipsis\nFalse",
        "exec(compile('...', '', 'single'))\nimport builtins\nprint(hasattr(builtins, '_'))",
    ),
]

WAYS = [
    *OBJECTS_HANDED_ON,
    *DICTS_OF_ALL_CLASSES,
    *MEMORY,
    *TOLD_BY_A_LIBRARY,
    *WHO_ANSWERS_TWICE,
    *NAMES_OF_WRAPPERS,
    *FIELDS,
    *COPIES,
    *TYPES_COMPARED,
    *STORED_IN_OTHERS,
    *ENUMS,
    *WHOSE_CLASS_IT_IS,
    *WHAT_A_STATE_HOLDS,
    *CLASSES_OF_PYTHON,
    *WHAT_CLASSES_ARE_MADE_OF,
    *OBJECTS_OF_TYPING,
    *NAMES_OF_A_CALLER,
    *FRAMES_OF_LIBRARIES,
    *REAL_MODULES,
    *STREAMS,
    *STORES_INTO_FACADES,
    *WHAT_COMES_BACK,
    *ROUTES_TO_FRAMES,
    *TEXT_BECOMES_A_NAME,
    *DATABASES_AND_DOCUMENTS,
    *WORKBOOKS_AND_GRAPHS,
    *MODELS,
    *PAGES_AND_TREES,
    *FIGURES,
    *DICTS_OF_OTHERS,
    *TEMPLATES,
    *CODE_OF_LIBRARIES,
    *CLASSES_OF_LIBRARIES,
    *GIVEN_BY_WHAT_LIBRARIES_DO,
    *TRUSTED_AS_IT_IS_GIVEN,
    *READ_AND_RUN_FOR_OTHERS,
]


@pytest.fixture(scope="module")
def sandboxes() -> Iterator[dict[str, Sandbox]]:
    """One sandbox for each profile, made when it is asked for."""
    made: dict[str, Sandbox] = {}
    yield made
    for sandbox in made.values():
        sandbox.close()


def told(sandboxes: dict[str, Sandbox], way: Way) -> str:
    """What a way printed and how it ended."""
    if way.profile not in sandboxes:
        sandboxes[way.profile] = Sandbox(way.profile).open()
    sandbox = sandboxes[way.profile]
    texts = []
    with sandbox.session() as session:
        for source in way.source.split(STEP):
            result = session.run(source)
            error: Any = result.error
            texts += [result.stdout, result.text or "", f"{error.type}: {error.message}" if error else ""]
    return "\n".join(texts)


def _marked(way: Way) -> Any:
    libraries = [
        name
        for name in (
            "pandas",
            "sklearn",
            "matplotlib",
            "seaborn",
            "openpyxl",
            "networkx",
            "statsmodels",
            "lxml",
            "bs4",
            "plotly",
            "tabulate",
            "numpy",
            "scipy",
            "sympy",
            "mpmath",
            "PIL",
            "tqdm",
        )
        if name in way.source
    ]
    libraries += ["jinja2"] if ".style." in way.source else []
    return pytest.param(way, id=way.name, marks=[*way.marks, *([pytest.mark.modules(*libraries)] if libraries else [])])


@pytest.mark.parametrize("way", [_marked(way) for way in WAYS])
def test_it_is_stopped_by_its_rule(sandboxes: dict[str, Sandbox], way: Way) -> None:

    found = told(sandboxes, way)
    assert way.reason in found
    assert not re.search(OBJECTS, found)
