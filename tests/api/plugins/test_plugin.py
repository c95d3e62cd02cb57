"""Plugins: loaded once, called many times with values; what a call does wrong costs that call alone."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import os
import re
import select
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import Enum
from functools import reduce
from pathlib import Path
from typing import Any, Protocol

import pytest

from safeexec import AsyncSandbox, Handle, Opaque, PluginError, Policy, PolicyError, Sandbox
from safeexec.api.plugins.process import AHEAD
from safeexec.api.plugins.source import define, read_manifest
from safeexec.engine.host.session.channel import Channel
from safeexec.engine.host.waiting import Core, drive
from safeexec.toolkit.ready_made import limited
from tests.footprint import until

PRICES = """
rate = 0.9
seen = 0

def price(amount, *, quantity: int = 1):
    global seen
    seen += 1
    return {"total": amount * quantity * rate, "seen": seen}

class Rule:
    @staticmethod
    def limit(): return 100

def items(count):
    for number in range(count): yield number * number

async def later(number): return number + 1

async def ticks(count):
    for number in range(count): yield number

def _private(): return 1
"""


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox("plugin") as sandbox:
        yield sandbox


@pytest.mark.parametrize("state", ["keep", "fresh"])
def test_calls_with_values(sandbox: Sandbox, state: Any) -> None:
    with sandbox.plugin(PRICES, state=state, name="prices") as plugin:
        assert plugin.call("price", 10, quantity=2)["total"] == 18
        assert plugin.price(10)["seen"] == (2 if state == "keep" else 1)
        assert (list(plugin.items(4)), plugin.later(1), list(plugin.ticks(3))) == ([0, 1, 4, 9], 2, [0, 1, 2])
        result = plugin.invoke("price", (10,), {"quantity": 3})
        assert (result.value["total"], result.ok, result.usage.wall_ms > 0) == (27, True, True)
        assert plugin.name == "prices" and plugin.exports["price"] == "(amount, *, quantity: int = 1)"
        assert set(plugin.exports) == {"price", "Rule", "items", "later", "ticks"}


def test_only_exports_can_be_called_and_an_interface_may_take_any_arguments(sandbox: Sandbox) -> None:
    with sandbox.plugin(PRICES, exports=["price", "Rule.limit"]) as plugin:
        assert plugin.call("Rule.limit") == 100
        for name in ("items", "_private", "__builtins__", "price.__globals__"):
            with pytest.raises(PluginError, match="does not export"):
                plugin.call(name)
        with pytest.raises(AttributeError, match="does not export 'items'; it exports price"):
            plugin.items

    def wanted(*amounts: float, **options: float) -> float: ...

    with pytest.raises(PluginError, match=r"does not take \*amounts(?s:.*)does not take \*\*options"):
        sandbox.plugin("def f(amount): pass", exports={"f": inspect.signature(wanted)})
    with sandbox.plugin("def f(*a, **b): return len(a) + len(b)", exports={"f": inspect.signature(wanted)}) as plugin:
        assert plugin.f(1.0, 2.0, tax=3.0) == 3


def test_errors_carry_the_plugins_own_traceback(sandbox: Sandbox) -> None:
    source = "def outer(x):\n    return inner(x)\n\ndef inner(x):\n    return 1 / x\n"
    with sandbox.plugin(source, name="division") as plugin:
        with pytest.raises(PluginError, match=r"division.outer\(\): ZeroDivisionError: division by zero") as caught:
            plugin.outer(0)
        assert 'File "<plugin division>", line 5, in inner' in caught.value.traceback
        assert "safeexec" not in caught.value.traceback
        assert caught.value.result.outcome == "error"
        with pytest.raises(PluginError, match="TypeError"):
            plugin.outer()
        with pytest.raises(TypeError, match="cannot cross"):
            plugin.outer("x" * (17 << 20))
        with pytest.raises(TypeError, match=r"args is a tuple of arguments, \('abc',\) for one; found str"):
            plugin.invoke("outer", "abc")  # type: ignore[arg-type]
        assert plugin.outer(2) == 0.5


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("def f(:\n    pass", "SyntaxError(?s:.*)line 1"),
        ("x = 1\nraise ValueError('not today')", "ValueError: not today(?s:.*)line 2"),
        ("import os\nos.system('true')", "os"),
        ("def g(): pass", "does not define 'f'"),
        ("f = 7", "'f' is neither a function nor a class"),
        ({"main": "import missing"}, "missing"),
        ({"main": "from other import nothing", "other": ""}, "cannot import name 'nothing' from 'other'"),
        ({"main": "import other", "other": "x = 1\n1 / 0"}, "ZeroDivisionError"),
        ({"main": "import other", "other": "def f(): pass\nf.__globals__"}, "module other"),
        ({"main": "", "json": "dumps = 1"}, "a library has that name"),
        ({"main": "import subprocess"}, "subprocess"),
    ],
)
def test_a_plugin_that_cannot_be_loaded(sandbox: Sandbox, source: Any, told: str) -> None:
    with pytest.raises(PluginError, match=told):
        sandbox.plugin(source, exports=["f"] if isinstance(source, str) else [])


def test_a_refusal_is_told_in_short_and_printable_with_rules_and_what_to_do_instead(sandbox: Sandbox) -> None:
    with pytest.raises(PluginError) as caught:
        sandbox.plugin("import subprocess\nimport socket\ndef f(): pass")
    first, hint, other = str(caught.value).split("\n")
    refused = "the plugin could not be loaded: PolicyViolation: import of 'subprocess' is refused (line 1, "
    assert first.startswith(refused)
    assert ".yaml:" in first and hint.startswith("hint: ")
    assert other.startswith("also: PolicyViolation: import of 'socket' is refused (line 2, ")
    hostile = "class X(Exception): pass\nX.__name__ = '\\x1b[2J'\nraise X('\\x1b]0;x\\x07 told')"
    with pytest.raises(PluginError, match="told") as caught:
        sandbox.plugin(hostile)
    assert "\x1b" not in str(caught.value)
    with pytest.raises(PluginError, match=r"and 980 more$"):
        sandbox.plugin("def f(): pass", exports=[f"g{number}" for number in range(1000)])


class Pricing(Protocol):
    def price(self, amount: float, *, quantity: int = 1) -> float: ...


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("def price(amount): return 1", "line 1: price() lacks the parameter 'quantity'"),
        ("\n\ndef price(amount, quantity=1, *, tax): return 1", "line 3: price() requires the parameter 'tax'"),
        ("def price(amount, *, quantity): return 1", "price() needs a default for 'quantity'"),
        ("def price(a, amount, *, quantity=1): return 1", "price() does not take 'amount' at position 1"),
        ("def price(amount, quantity=1, /): return 1", "price() does not take 'quantity' by keyword"),
        ("def price(amount: str, *, quantity=1): return 1", "price() takes 'amount' as str, expected float"),
        ("def price(amount, *, quantity=1) -> str: return 1", "price() returns str, expected float"),
        ("price = None", "'price' is neither a function nor a class"),
    ],
)
def test_an_interface_is_checked_when_the_plugin_is_loaded(sandbox: Sandbox, source: str, problem: str) -> None:
    with pytest.raises(PluginError, match=re.escape(problem)):
        sandbox.plugin(source, exports=Pricing)


@pytest.mark.parametrize(
    "source",
    [
        "def price(amount: float, *, quantity: int = 1) -> float: return amount * quantity",
        "def price(amount, quantity=1, tax=0): return amount * quantity",
        "def price(amount, **options): return amount * options.get('quantity', 1)",
    ],
)
def test_what_can_be_called_as_the_interface_says_matches(sandbox: Sandbox, source: str) -> None:
    with sandbox.plugin(source, exports=Pricing) as plugin:
        assert plugin.price(2.0, quantity=3) == 6.0


@pytest.mark.parametrize("state", ["keep", "fresh"])
def test_a_plugin_that_is_a_package_imports_what_lies_below_it(sandbox: Sandbox, tmp_path: Path, state: Any) -> None:
    package = tmp_path / "shop"
    package.mkdir()
    (package / "__init__.py").write_text(
        "from . import money\nfrom .tax import gross\nimport shop.tax as tax\nVAT = 0.5\n"
        "def price(x):\n    from shop.late import label\n    return label(gross(x)), tax.rate(), money.currency\n"
    )
    (package / "money.py").write_text("currency = 'EUR'")
    (package / "tax.py").write_text("import shop\ndef rate(): return shop.VAT\ndef gross(x): return x * (1 + rate())")
    (package / "late.py").write_text("from .money import currency\ndef label(x): return f'{x} {currency}'")
    with sandbox.plugin(tmp_path, name="prices", state=state) as plugin:
        assert list(plugin.exports) == ["price"]
        assert plugin.price(2) == plugin.price(2) == ("3.0 EUR", 0.5, "EUR")


NO_NAME = "def __getattr__(name):\n    raise AttributeError"


@pytest.mark.parametrize(
    "modules",
    [
        {"main": "from trick import path", "trick": "__name__ = 'os'"},
        {"main": "import trick.path as found", "trick": "__name__ = 'os'", "trick.path": "import trick\n"},
        {"main": "from trick import *\nfound = path", "trick": "__name__ = 'os'\n__all__ = ['path']"},
        {"main": "import trick\nfound = trick.path", "trick": "__name__ = 'os'"},
        {"main": "from trick import sys as found", "trick": f"import trick\n__name__ = 'os'\n{NO_NAME}"},
    ],
)
def test_no_module_of_a_plugin_can_pass_itself_off_as_a_library(sandbox: Sandbox, modules: dict[str, str]) -> None:
    """IMPORT_FROM looks in sys.modules under the name that a module gives itself."""
    modules["main"] += (
        "\ndef leak():\n    found = globals().get('found')\n"
        "    return [name for name in ('environ', 'getcwd', 'sep', 'sys') if hasattr(found, name)]"
    )
    try:
        with sandbox.plugin(modules, exports=["leak"]) as plugin:
            assert plugin.leak() == []
    except PluginError as error:
        assert "import" in str(error) or "attribute" in str(error) or "not defined" in str(error)


def test_a_directory_with_a_manifest(sandbox: Sandbox, tmp_path: Path) -> None:
    """A byte order mark before any of its files is no error."""
    files = {
        "plugin.yaml": "name: shop\nversion: 1.2\npolicy: plugin\nmain: entry\nexports: [total]\n",
        "entry.py": "from parts.sums import add\ndef total(*xs):\n    return add(xs), 'é'\ndef other(): pass\n",
        "parts/__init__.py": "",
        "parts/sums.py": "def add(xs):\n    return sum(xs)\n",
    }
    (tmp_path / "parts").mkdir()
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8-sig")
    with sandbox.plugin(tmp_path) as plugin:
        assert plugin.total(1, 2, 3) == (6, "é")
        assert (plugin.name, plugin.manifest.version, list(plugin.exports)) == ("shop", "1.2", ["total"])
    (tmp_path / "plugin.yaml").write_text("policy: data-analysis\nmain: entry\n")
    with pytest.raises(PolicyError, match=r"written for the policy 'data-analysis'.*Sandbox\('data-analysis'\)"):
        sandbox.plugin(tmp_path)


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        ("name: [", "plugin.yaml"),
        ("- a", "plugin.yaml:1:1: expected a mapping of keys, found a list"),
        ("name: a\nexports: price", "plugin.yaml:2:1: exports: expected a list of names; found the text 'price'"),
        ("policy: ./theirs.yaml", "plugin.yaml:1:1: policy: expected the name of a profile, found a path"),
        ("exports: [a, 3]", r"plugin.yaml:1:14: exports\[1\]: expected text; found 3"),
        ("a: 1\nsettings:\n  a: {typ: int}", "(?s)1:1: a: unknown.*3:7: settings.a.typ: .*; did you mean type"),
        (f"settings:\n  a: {{type: float, default: 1{'0' * 399}}}", "a.default: 10{3,}.* is too large for a float"),
        ("main: 3", "1:1: main: expected text; found 3"),
        ("settings:\n  b: {type: int, default: x}", "2:18: settings.b.default: expected int, got str 'x'"),
    ],
)
def test_a_manifest_that_is_none(manifest: str, message: str) -> None:
    with pytest.raises(PluginError, match=message):
        read_manifest(manifest)


class Nothing(Protocol):
    """Declares no method."""


@pytest.mark.parametrize("exports", ["f", Nothing, ["a b"], [3], {"a b": None}])
def test_exports_that_are_none(exports: Any) -> None:
    with pytest.raises(PluginError, match=r"export|declares no public method"):
        define("def f(): pass", exports=exports, name=None)


def test_hot_reload_keeps_the_old_one_in_service_until_the_new_one_works(sandbox: Sandbox, tmp_path: Path) -> None:
    file = tmp_path / "rule.py"
    file.write_text("def value(): return 1")
    with sandbox.plugin(file, exports=["value"], state="fresh") as plugin:
        assert plugin.value() == 1
        file.write_text("def value(: return 2")
        with pytest.raises(PluginError, match="SyntaxError"):
            plugin.reload()
        assert plugin.value() == 1
        file.write_text("def value(): return 3")
        plugin.reload()
        assert plugin.value() == 3
        plugin.reload("def value(): return 4")
        assert plugin.value() == 4


def test_tools_of_one_plugin_are_its_own(sandbox: Sandbox) -> None:
    def stock(item: str) -> int:
        return len(item)

    source = "def left(item):\n    return stock(item) - 1"
    with sandbox.plugin(source, tools=[stock]) as plugin, sandbox.plugin(source) as bare:
        assert plugin.left("abc") == 2
        with pytest.raises(PluginError, match="TypeError: stock"):
            plugin.left(7)
        with pytest.raises(PluginError, match="NameError"):
            bare.left("abc")


@pytest.mark.parametrize("state", ["keep", "fresh"])
def test_a_plugin_called_from_its_own_tool_is_told_so(sandbox: Sandbox, state: Any) -> None:
    """It would wait for itself; also where the tool runs in a thread of its own."""

    def back(x: int) -> Any:
        return plugin.call("f", x)

    for tool in (back, limited(back, timeout=60)):
        plugin = sandbox.plugin("def f(x):\n    return back(x)", tools=[tool], state=state)
        with plugin, pytest.raises(PluginError, match="cannot be called from its own tools"):
            plugin.f(1)


@dataclass
class Item:
    name: str
    where: Path
    price: float = 1.0


class Unit(Enum):
    KILO = "kg"


class Shop(Protocol):
    def raised(self, item: Item, by: float) -> Item: ...
    def unit(self, unit: Unit) -> Unit: ...
    def moved(self, to: Path) -> Path: ...
    def items(self, count: int) -> Iterator[Item]: ...
    def listed(self, items: list[Item]) -> list[Item]: ...
    def wrong(self) -> Item: ...


SHOP = """
from dataclasses import dataclass
from enum import Enum

@dataclass
class Own:
    name: str
    where: str
    price: float

class Kind(Enum):
    KILO = "kg"

def raised(item: dict, by: float) -> Own:
    return Own(item["name"], item["where"], item["price"] + by)

def unit(unit): return Kind(unit)
def moved(to): return to + "/moved"
def items(count):
    for number in range(count): yield Own(str(number), "shelf", number)
def listed(items: list[dict]) -> "list[dict]": return items
def wrong(): return {"name": "a"}
"""


def test_objects_cross_where_the_interface_names_their_class(sandbox: Sandbox) -> None:
    apple = Item("apple", Path("shelf"))
    wanted = {"unit": inspect.signature(lambda unit: unit).replace(return_annotation=Unit), "wrong": None}
    with sandbox.plugin(SHOP, exports=wanted) as plugin:
        assert plugin.unit(Unit.KILO.value) is Unit.KILO
        assert plugin.wrong() == {"name": "a"}
    with sandbox.plugin(SHOP, exports=Shop) as plugin:
        assert plugin.raised(item=apple, by=1) == Item("apple", Path("shelf"), 2.0)
        assert plugin.unit(Unit.KILO) is Unit.KILO
        assert plugin.moved(Path("a")) == Path("a/moved")
        assert list(plugin.items(2)) == [Item("0", Path("shelf"), 0.0), Item("1", Path("shelf"), 1.0)]
        assert plugin.listed([apple]) == [apple]
        with pytest.raises(PluginError, match=r"returned another type: expected Item, a dict with .* lacks 'where'"):
            plugin.wrong()
        assert plugin.invoke("wrong").outcome == "error"


def test_models_of_pydantic_cross_where_the_interface_names_them(sandbox: Sandbox) -> None:
    pydantic = pytest.importorskip("pydantic")
    model = pydantic.create_model("Price", amount=(float, ...), currency=(str, "EUR"))

    def doubled(price: Any) -> Any: ...

    doubled.__annotations__ = {"price": model, "return": model}
    source = "def doubled(price): return {'amount': price['amount'] * 2}"
    with sandbox.plugin(source, exports={"doubled": doubled}) as plugin:
        assert plugin.doubled(model(amount=2)) == model(amount=4)
        with pytest.raises(PluginError, match="value: 1 validation error for Price amount Input should be a valid"):
            plugin.doubled({"amount": "x"})


ITSELF: list[Any] = []
ITSELF.append(ITSELF)


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (Unit.KILO, "argument 1 is, or holds, an object that is no value, of type .*Unit; pass its data .*`exports`"),
        ([0, {"k": Item("a", Path())}], r"argument 1\[1\]\['k'\] .*Item; pass its data"),
        ({"k": (1, print)}, r"argument 1\['k'\]\[1\] .*builtin_function_or_method; .*one of the tools"),
        (object(), "of type object; pass its data as numbers"),
        (ITSELF, "it holds itself"),
        (reduce(lambda inner, _: [inner], range(5000), []), r"nested deeper than limits.value_depth \(64\)"),
    ],
)
def test_what_cannot_cross_is_told_by_type_and_place(sandbox: Sandbox, value: Any, told: str) -> None:
    with sandbox.plugin("def f(x):\n    return x", exports=["f"]) as plugin, pytest.raises(TypeError, match=told):
        plugin.f(value)


def test_arrays_and_frames_come_back_as_they_are() -> None:
    numpy, pandas = pytest.importorskip("numpy"), pytest.importorskip("pandas")
    source = (
        "import numpy, pandas\ndef echo(x: numpy.ndarray): return x\ndef zeros(n): return numpy.zeros(n)\n"
        "def frame(): return pandas.DataFrame({'a': [1, 2]})\ndef rows():\n    yield numpy.arange(2)"
    )
    with Sandbox("data-analysis") as sandbox, sandbox.plugin(source, value_kb=1024) as plugin:
        assert plugin.exports["echo"] == "(x: numpy.ndarray)"
        assert (plugin.echo(numpy.arange(3)) == numpy.arange(3)).all()
        assert plugin.frame().equals(pandas.DataFrame({"a": [1, 2]}))
        assert [row.tolist() for row in plugin.rows()] == [[0, 1]]
        assert plugin.zeros(100_000).shape == (100_000,)
        with pytest.raises(TypeError, match=r"limits\.value_kb \(1024 KiB\)"):
            plugin.echo(numpy.zeros(200_000))
        assert "limits.value_kb" in plugin.zeros(200_000).reason


COUNTER = """
class Counter:
    def __init__(self):
        self.n = 0
    def add(self, k):
        self.n += k
        return self.n
    def itself(self):
        return self

def make(): return Counter()
def adder(k): return lambda x: x + k
def hang():
    while True: pass
"""


def test_an_object_that_cannot_cross_stays_and_is_called_there(sandbox: Sandbox) -> None:
    """It survives a call that is undone, and ends with the handle, and when the plugin is loaded again."""
    with sandbox.plugin(COUNTER, timeout=5) as plugin:
        counter = plugin.call("make")
        assert isinstance(counter, Handle)
        with pytest.raises(AttributeError, match=r"handle\.call\('add', …\)"):
            counter.add(1)
        assert (counter.type, counter.call("add", 1), counter.call("add", 2)) == ("Counter", 1, 3)
        assert counter.call("itself").call("add", 1) == 4
        assert plugin.adder(2)(3) == 5
        assert plugin.invoke("hang", timeout=0.2).outcome == "timeout"
        assert counter.call("add", 1) == 5
        with pytest.raises(PluginError, match="underscore"):
            counter.call("__init__")
        with pytest.raises(PluginError, match="has no attribute 'nothing'"):
            counter.call("nothing")
        for name in ("\udc80", 5, None):
            with pytest.raises(PluginError, match="is not the name of a method"):
                counter.call(name)  # type: ignore[arg-type]
        plugin.reload()
        with pytest.raises(PluginError, match="gone: the plugin was loaded again"):
            counter.call("add", 1)
    with sandbox.plugin(COUNTER, state="fresh") as plugin:
        stayed = plugin.make()
        assert isinstance(stayed, Opaque)
        with pytest.raises(TypeError, match=r'never left its sandbox: .* state="keep", which gives a handle'):
            plugin.adder(stayed)


def test_a_handle_may_be_an_argument_of_the_same_plugin_and_what_nobody_holds_is_given_up(sandbox: Sandbox) -> None:
    source = COUNTER + "\ndef pair(a, b=None, *, c=None): return [type(one).__name__ for one in (a, b, c)]\n"
    source += "def same(a, b): return a is b\n"
    with sandbox.plugin(source) as plugin, sandbox.plugin(source) as other:
        one, two = plugin.make(), plugin.make()
        assert plugin.pair(1, one, c=two) == ["int", "Counter", "Counter"]
        assert (plugin.same(one, one), plugin.same(one, two)) == (True, False)
        assert one.call("add", 2) == 2
        with pytest.raises(PluginError, match=r"argument 2 of same\(\) is an object of another plugin"):
            other.same(1, one)
        with pytest.raises(TypeError, match=r"argument 1\[0\] is, .* by itself"):
            plugin.same([one], 1)
    source = "import weakref\nmade = weakref.WeakSet()\nclass A: pass\ndef count(): return len(made)\n"
    with sandbox.plugin(f"{source}def make():\n    made.add(a := A())\n    return a") as plugin:
        plugin.make()
        kept = plugin.make()
        assert plugin.count() == 1, "the first one was told with the second call"
        del kept
        assert plugin.count() == 0


GUARDED = """
class Found:
    def of(self): return (one for one in ())
    def raised(self):
        try: 1 / 0
        except ZeroDivisionError as error: return error.__traceback__
def make(): return Found()
"""


def test_the_path_of_an_export_and_a_method_of_a_handle_are_read_under_the_rules(sandbox: Sandbox) -> None:
    """A manifest is written by whoever wrote the plugin."""
    for path in ("make.__globals__.copy", "make.__code__.replace", "make.__builtins__.get"):
        with pytest.raises(PluginError, match=r"attribute '__\w+__' is refused|does not define"):
            sandbox.plugin(GUARDED, exports=[path])
    with sandbox.plugin(GUARDED) as plugin:
        trace = plugin.make().call("raised")
        with pytest.raises(PluginError, match="attribute 'tb_frame' is refused"):
            trace.call("tb_frame")


MODULES = {
    "main": "from .util import divided\nfrom . import util\ndef f(x):\n    return divided(x)\n"
    "def hang():\n    return util.hang()",
    "util": "def divided(x):\n    return 1 / x\n\ndef hang():\n    while True: pass",
}

OF_UTIL = ("<plugin shop:util>", "util")


@pytest.mark.parametrize("on_disk", [False, True])
def test_an_error_names_its_module_or_its_file(sandbox: Sandbox, tmp_path: Path, on_disk: bool) -> None:
    for name, text in MODULES.items():
        (tmp_path / f"{name}.py").write_text(text)
    source, place, short = (tmp_path, str(tmp_path / "util.py"), "util.py") if on_disk else (MODULES, *OF_UTIL)
    with sandbox.plugin(source, name="shop") as plugin:
        assert plugin.f(2) == 0.5
        error = plugin.invoke("f", (0,)).error
        assert error is not None and (error.file, error.line) == (place, 2)
        with pytest.raises(PluginError, match=rf"ZeroDivisionError: division by zero \({short}, line 2\)"):
            plugin.f(0)
        error = plugin.invoke("hang", timeout=0.2).error
        assert error is not None and (error.file, error.line) == (place, 5)
        assert "it was at line 5: while True: pass" in error.message
    (tmp_path / "alone.py").write_text("def f():\n    return 1 / 0\n")
    with sandbox.plugin(tmp_path / "alone.py") as plugin:
        error = plugin.invoke("f").error
        assert error is not None and (error.file, error.line) == (str(tmp_path / "alone.py"), 2)


def test_a_manifest_has_settings_and_a_version_of_the_interface(sandbox: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "plugin.yaml").write_text(
        "name: shop\napi: 1\nsettings:\n  rate: {type: float, default: 0.2, minimum: 0, maximum: 1}\n"
        "  currency: {choices: [EUR, USD]}\n"
    )
    (tmp_path / "main.py").write_text("import util\ndef f(): return settings['currency'], util.g()\n")
    (tmp_path / "util.py").write_text("def g(): return settings['rate']\n")
    with sandbox.plugin(tmp_path, settings={"currency": "EUR", "rate": 1}, api=1) as plugin:
        assert plugin.f() == ("EUR", 1.0)
    rates = {"-1 is less than 0": -1, "2 is more than 1": 2, "10{3,}.* is too large for a float": 10**399}
    wrong: dict[str, dict[str, Any]] = {
        "'currency' must be given": {},
        "no setting 'curency'; did you mean currency": {"curency": "EUR"},
        "'X' is not one of 'EUR', 'USD'": {"currency": "X"},
        **{f"rate: {told}": {"currency": "EUR", "rate": rate} for told, rate in rates.items()},
        "expected float, got str": {"currency": "EUR", "rate": "1"},
    }
    described = r"its settings: rate: float from 0 to 1 = 0\.2; currency: 'EUR' \| 'USD'"
    for told, settings in wrong.items():
        with pytest.raises(PluginError, match=f"{told}.*{described}"):
            sandbox.plugin(tmp_path, settings=settings)
    with pytest.raises(PluginError, match="written for api 1; this host has 2"):
        sandbox.plugin(tmp_path, settings={"currency": "EUR"}, api=2)


HOSTILE = """
calls = 0

def good(x):
    global calls
    calls += 1
    return x, calls

def hang():
    while True: pass
def flood():
    while True: print("x" * 100_000)
def eat():
    kept = []
    while True: kept.append(bytearray(1 << 20))
def deep(): return deep() + 1
def spin(): return sum(range(10 ** 12))
def leave(): raise SystemExit(3)
"""


@pytest.mark.parametrize("state", ["keep", "fresh"])
def test_a_hostile_call_costs_that_call(sandbox: Sandbox, state: Any) -> None:
    ends = {"hang": "timeout", "flood": "output", "eat": "memory", "deep": "error", "spin": "timeout", "leave": "error"}
    with sandbox.plugin(HOSTILE, state=state) as plugin:
        assert plugin.good(1) == (1, 1)
        for count, (name, end) in enumerate(ends.items(), 2):
            result = plugin.invoke(name, timeout=0.3 if end == "timeout" else 30)
            assert result.outcome == end, (name, result.error)
            assert plugin.good("after") == ("after", count if state == "keep" else 1)


def test_a_kept_plugin_without_checkpoints_comes_back(sandbox: Sandbox) -> None:
    """A kill loses what calls have kept, and says so; an exception loses nothing, and says that nothing was undone."""
    with sandbox.plugin(HOSTILE, state="keep", checkpoints="off") as plugin:
        assert [plugin.good(1), plugin.good(1)] == [(1, 1), (1, 2)]
        result = plugin.invoke("leave")
        assert (result.outcome, result.state) == ("error", "kept")
        assert any("was not undone" in note for note in result.notes)
        assert plugin.good(1) == (1, 3)
        for _ in range(2):
            result = plugin.invoke("hang", timeout=0.1)
            assert (result.outcome, result.state) == ("timeout", "lost")
            assert "loaded again before the next call: what earlier calls kept in it is lost" in result.notes[0]
            result = plugin.invoke("good", (1,))
            assert (result.value, result.notes) == ((1, 1), ())


def test_a_plugin_that_dies_costs_that_call() -> None:
    """No language layer: the plugin ends its own process, and leaves a child of its own behind."""
    source = """
import os, time
def good(): return 1
def die(): os._exit(3)
def orphan():
    os.fork() or time.sleep(3600)
    os._exit(4)
def kill(): vars(os)["kill"](1, 9)
"""
    with Sandbox("confined-python") as sandbox:
        for state in ("keep", "fresh"):
            with sandbox.plugin(source, state=state, exports=["good", "die", "orphan", "kill"]) as plugin:  # type: ignore[arg-type]
                for name in ("die", "orphan", "kill"):
                    result = plugin.invoke(name)
                    assert result.outcome in ("crashed", "error", "violation")
                    assert plugin.good() == 1
                assert result.error is not None and result.error.message.startswith("kill() is refused by ")


def test_a_generator_ends_early_with_the_next_call_and_by_an_error(sandbox: Sandbox) -> None:
    source = """
log = []
def count():
    try: yield from range(9)
    finally: log.append('closed')
def closed(): return log
"""
    with sandbox.plugin(source, exports=["count", "closed"]) as plugin:
        items = plugin.count()
        assert [next(items), next(items)] == [0, 1]
        items.close()
        assert plugin.closed() == ["closed"]
        items = plugin.count()
        next(items)
        plugin.closed()
        with pytest.raises(PluginError, match=r"count\(\) ended .* another call was made: .* list\(plugin\.count\("):
            next(items)
    source = "def items(kind):\n    yield 1\n    if kind == 'hang':\n        while True: pass\n    1 / 0"
    with sandbox.plugin(source, exports=["items"], state="fresh", timeout=0.5) as plugin:
        for kind, message in (("fail", "ZeroDivisionError"), ("hang", "TimeoutError")):
            items = plugin.items(kind)
            assert next(items) == 1
            with pytest.raises(PluginError, match=message):
                next(items)


async def test_awaited() -> None:
    async with AsyncSandbox("plugin") as sandbox:
        async with await sandbox.plugin(PRICES, state="fresh") as plugin:
            answers = await asyncio.gather(*(plugin.price(n) for n in range(10)))
            assert [answer["seen"] for answer in answers] == [1] * 10
            assert [item async for item in plugin.iterate("items", 4)] == [0, 1, 4, 9]
            assert await plugin.items(3) == [0, 1, 4]
            with pytest.raises(PluginError, match="TypeError"):
                await plugin.price()
            wrong = {"price": (1,), "items": (), "_private": ()}
            for name, args in wrong.items():
                told = {"price": r"price\(\) returned a value, no generator", "items": "TypeError"}
                with pytest.raises(PluginError, match=told.get(name, "does not export")):
                    await anext(plugin.iterate(name, *args))
            with pytest.raises(PluginError, match=r"items\(\): TypeError: 'str'"):
                await anext(plugin.iterate("items", "x"))
            early = plugin.iterate("items", 4)
            assert await anext(early) == 0
            await early.aclose()
            assert (await plugin.price(1))["seen"] == 1
        async with await sandbox.plugin(HOSTILE, state="keep") as plugin:
            await plugin.good(1)
            hanging = asyncio.create_task(plugin.call("hang"))
            await asyncio.sleep(0)
            waiting = asyncio.create_task(plugin.good(2))
            await asyncio.sleep(0)
            hanging.cancel()
            with pytest.raises(asyncio.CancelledError):
                await hanging
            assert await waiting == (2, 2)


def test_a_fresh_call_never_begins_in_a_process_that_is_being_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """When the copy that the next calls' processes come from is gone, they are ended as orphans: on a busy machine one
    of them may have said that it is there, and not have died yet.
    """
    monkeypatch.setattr("safeexec.engine.host.session.channel.Channel.has_ended", lambda channel: False)
    policy = Policy.load("standard").replace(filesystem={"workspace": "read-write"})
    source = "def double(x):\n    return x + x"
    with Sandbox(policy, spare=0) as sandbox, sandbox.plugin(source, state="fresh") as plugin:
        for number in range(3):
            assert plugin.double(number) == 2 * number
            loaded = plugin._core._loaded
            assert loaded is not None and loaded._frozen is not None
            for copy in loaded._next:
                assert select.select([copy.channel.socket], [], [], 30)[0]
                copy.channel.read_if_ready()
            loaded._frozen.copy.kill()
            for _ in range(3):
                assert plugin.invoke("double", [number]).value == 2 * number


WRITES = "open('a', 'w').write('loaded')\ndef write(x):\n    with open('a') as file: before = file.read()\n"
WRITES += "    open('a', 'w').write(x)\n    return before\n"


def test_a_file_that_cannot_be_brought_back_is_told_with_the_next_call() -> None:
    with Sandbox("confined-python", spare=0) as sandbox, sandbox.plugin(WRITES, state="fresh") as plugin:
        assert plugin.invoke("write", ("1",)).check().value == "loaded"
        loaded = plugin._core._loaded
        assert loaded is not None and loaded.core.processes.workspace is not None
        store = Path(loaded.core.processes.workspace._lineage.store)
        for kept in store.iterdir():
            kept.unlink()
        assert plugin.invoke("write", ("2",)).check().value == "loaded"
        result = plugin.invoke("write", ("3",))
        (note,) = result.notes
        assert note.startswith("a in the workspace could not be brought back")


def test_who_is_cancelled_before_a_fresh_call_begins_leaves_no_output_open(monkeypatch: pytest.MonkeyPatch) -> None:
    with Sandbox("plugin", spare=0) as sandbox, sandbox.plugin("def f():\n    return 1", state="fresh") as plugin:
        loaded = plugin._core._loaded
        copy = loaded._next[0]
        with monkeypatch.context() as patched:
            patched.setattr(Channel, "wait_ready", interrupted)
            with pytest.raises(KeyboardInterrupt):
                plugin.f()
        for file in (copy.output.stdout, copy.output.stderr):
            with pytest.raises(OSError, match="Bad file descriptor"):
                os.fstat(file.fd)
        assert plugin.f() == 1


def interrupted(channel: Any, deadline: float) -> Any:
    channel.give_up()
    raise KeyboardInterrupt
    yield


def test_closing_waits_for_no_copy_that_does_not_come_up() -> None:
    with Sandbox("plugin", spare=0) as sandbox:
        plugin = sandbox.plugin("def f():\n    return 1", state="fresh")
        loaded = plugin._core._loaded
        assert loaded is not None and loaded._frozen is not None
        for copy in loaded._next:
            assert select.select([copy.channel.socket], [], [], 30)[0]
        frozen = loaded._frozen.copy.pid()
        assert frozen is not None
        os.kill(frozen, signal.SIGSTOP)
        assert plugin.f() == 1
        coming = [copy.channel._wait for copy in loaded._next]
        assert len(coming) == AHEAD

        def close() -> Core[None]:
            closing = loaded.close()
            with contextlib.suppress(StopIteration):
                wanted = next(closing)
                while True:
                    assert wanted not in coming
                    wanted = closing.send((yield wanted))

        drive(close())


class Prices(Protocol):
    def price(self, kind: str) -> float: ...
    def parts(self, kind: str) -> list[int]: ...
    def stream(self, kind: str) -> Iterator[int]: ...
    def maybe(self, kind: str) -> int | None: ...
    def anything(self, kind: str): ...  # type: ignore[no-untyped-def]


GIVES = """
GIVEN = {"free": "free", "half": 0.5, "whole": 2, "none": None, "list": [1, 2], "mixed": [1, "2"]}
def price(kind): return GIVEN[kind]
def parts(kind): return GIVEN[kind]
def stream(kind): yield from GIVEN[kind]
def maybe(kind): return GIVEN[kind]
def anything(kind): return GIVEN[kind]
"""


@pytest.mark.parametrize("state", ["keep", "fresh"])
def test_what_a_plugin_gives_is_checked_against_the_interface(sandbox: Sandbox, state: Any) -> None:
    with sandbox.plugin(GIVES, exports=Prices, state=state) as plugin:
        assert plugin.price("half") == 0.5 and plugin.maybe("none") is None and plugin.maybe("whole") == 2
        assert type(plugin.price("whole")) is float
        assert plugin.parts("list") == list(plugin.stream("list")) == [1, 2]
        assert plugin.anything("free") == "free"
        for name, kind in (("price", "free"), ("price", "none"), ("parts", "mixed"), ("maybe", "half")):
            with pytest.raises(PluginError, match="returned another type: expected"):
                plugin.call(name, kind)
        with pytest.raises(PluginError, match="expected int"):
            list(plugin.stream("mixed"))
        assert plugin.price("half") == 0.5


def test_who_waits_for_a_turn_is_held_to_the_interface_of_its_own_call(sandbox: Sandbox) -> None:
    begun, goes_on = threading.Event(), threading.Event()

    def hold() -> None:
        begun.set()
        goes_on.wait(60)

    def price(kind: str) -> float: ...

    exports = {"price": price, "anything": None, "holds": None}
    with sandbox.plugin(f"{GIVES}\ndef holds(): hold()", exports=exports, tools=[hold]) as plugin:
        waiting = plugin._core._turn._places
        with ThreadPoolExecutor(3) as threads:
            first = threads.submit(plugin.holds)
            assert begun.wait(60)
            checked = threads.submit(plugin.price, "free")
            until(lambda: waiting.waiting == 1)
            free = threads.submit(plugin.anything, "free")
            until(lambda: waiting.waiting == 2)
            goes_on.set()
            with pytest.raises(PluginError, match="returned another type: expected float"):
                checked.result()
            assert (first.result(), free.result()) == (None, "free")


GUARDS = ["if '__main__' == __name__:", 'if __name__ == "__main__" and True:', 'if __name__ != "__main__": 0\nelse:']


@pytest.mark.parametrize("guard", GUARDS)
def test_what_a_module_does_when_run_by_hand_is_not_done_at_load(sandbox: Sandbox, guard: str) -> None:
    source = f"import sys\ndef f():\n    return 1\n{guard}\n    sys.exit(f())\ndef g():\n    return 1 / 0\n"
    with sandbox.plugin(source) as plugin:
        assert plugin.f() == 1
        with pytest.raises(PluginError) as caught:
            plugin.g()
        assert caught.value.result.error.line == source.count("\n")


def test_a_module_exports_the_public_names_that_it_lists_and_an_enum_tells_what_a_call_takes(sandbox: Sandbox) -> None:
    source = "from math import sqrt\n__all__ = ['f', 'sqrt', 'x']\nx = 1\ndef f(): return 2\ndef g(): return 3\n"
    with sandbox.plugin(source) as plugin:
        assert list(plugin.exports) == ["f", "sqrt"] and plugin.sqrt(4) == 2
    with sandbox.plugin("from enum import Enum\nclass Colour(Enum):\n    RED = 'red'") as plugin:
        assert plugin.exports == {"Colour": "(value)"}
        assert plugin.Colour("red").type.endswith("Colour")
