"""Facades hold the allowed names of a module and nothing else; ``import`` gives facades and nothing else."""

from __future__ import annotations

import math
import random
import sys
import types
from collections.abc import Callable
from typing import Any

import pytest

from safeexec.facades import access, build
from safeexec.facades.build import RefusedImport, facade, facade_name, importer, known_names
from safeexec.protocol.plan import ImportPlan, LanguagePlan

Guest = Callable[..., dict[str, Any]]
MakePlan = Callable[..., LanguagePlan]


def test_a_facade_looks_like_a_module_with_the_allowed_names(plan: MakePlan) -> None:
    made = facade("math", plan("math"))
    assert repr(type(made)) == "<class 'module'>" and not isinstance(made, types.ModuleType)
    assert repr(made) == "<module 'math'>"
    assert made.sqrt is math.sqrt
    assert facade_name(made) == "math" and facade_name(math) is None


def test_a_missing_attribute_says_what_cpython_says(plan: MakePlan) -> None:
    for name in ("math", "numpy"):
        if name == "numpy":
            pytest.importorskip("numpy")
        with pytest.raises(AttributeError) as caught:
            facade(name, plan(name)).squrt
        assert str(caught.value) == f"module '{name}' has no attribute 'squrt'"


@pytest.mark.parametrize("path", ["json.codecs", "random._os", "collections._sys", "dataclasses.inspect", "re.enum"])
def test_modules_that_a_module_imported_do_not_exist(plan: MakePlan, path: str) -> None:
    module, _, name = path.partition(".")
    with pytest.raises(AttributeError):
        getattr(facade(module, plan(module)), name)


def test_a_documented_name_that_is_refused_says_so(plan: MakePlan) -> None:
    made = facade("os", plan("os", workspace="read-write"))
    with pytest.raises(AttributeError, match=r"os.system is refused by test.yaml:3: it starts programs"):
        made.system


def test_a_name_that_a_library_took_away_keeps_the_librarys_own_words(plan: MakePlan) -> None:
    numpy = pytest.importorskip("numpy")
    with pytest.raises(AttributeError) as real:
        numpy.in1d_
    with pytest.raises(AttributeError) as caught:
        facade("numpy", plan("numpy")).in1d_
    assert str(caught.value) == str(real.value)
    with pytest.raises(AttributeError) as real:
        numpy.float
    with pytest.raises(AttributeError) as caught:
        facade("numpy", plan("numpy")).float
    assert str(caught.value) == str(real.value)


def test_a_refused_name_is_refused_before_the_library_looks_for_it(plan: MakePlan) -> None:
    """`concurrent.futures` imports a pool of processes when its name is read."""
    futures = facade("concurrent.futures", plan("concurrent.futures"))
    loaded = set(sys.modules)
    with pytest.raises(AttributeError, match=r"ProcessPoolExecutor is refused by test\.yaml:3"):
        futures.ProcessPoolExecutor
    with pytest.raises(RefusedImport):
        importer(plan("concurrent.futures"))("concurrent.futures", None, None, ("ProcessPoolExecutor",))
    assert "concurrent.futures.process" not in set(sys.modules) - loaded


def test_a_refused_module_is_caught_as_a_missing_one(guest: Guest) -> None:
    names = guest("try:\n    import socket\nexcept ModuleNotFoundError as error:\n    name = error.name\n", "math")
    assert names["name"] == "socket"


def test_a_facade_takes_no_assignment(plan: MakePlan) -> None:
    made = facade("random", plan("random"))
    with pytest.raises(AttributeError, match=r"assignment to 'random.choice' is refused: modules are read-only"):
        made.choice = None
    with pytest.raises(AttributeError, match=r"assignment to 'random.__class__' is refused"):
        made.__class__ = types.ModuleType
    with pytest.raises(AttributeError, match=r"assignment to 'random.choice' is refused"):
        del made.choice
    assert made.choice is random.choice


def test_the_same_object_every_time(plan: MakePlan) -> None:
    opened = plan("json")
    assert facade("json", opened) is facade("json", opened)
    assert importer(opened)("json") is facade("json", opened)


def test_file_names_exist_only_with_a_workspace(plan: MakePlan) -> None:
    assert not hasattr(facade("pathlib", plan("pathlib")), "Path")
    assert hasattr(facade("pathlib", plan("pathlib", workspace="read-only")), "Path")
    assert access.name_access("pathlib", "Path", plan("pathlib")).tag == "files"


def test_a_policy_may_list_names_or_take_them_away(plan: MakePlan) -> None:
    listed = plan(statistics=ImportPlan(names=frozenset({"NormalDist"}), rule="p.yaml:9"))
    assert known_names("statistics", listed) == {"NormalDist"}
    with pytest.raises(AttributeError, match=r"statistics.mean is refused by p.yaml:9: .* lists other names"):
        facade("statistics", listed).mean
    without = plan(math=ImportPlan(refused=frozenset({"factorial"}), rule="p.yaml:4"))
    with pytest.raises(AttributeError, match=r"math.factorial is refused by p.yaml:4: the policy takes it away"):
        facade("math", without).factorial


def test_an_entry_covers_the_reviewed_submodules_below_it(plan: MakePlan) -> None:
    assert access.module_access("collections.abc", plan("collections")).allowed
    only_below = plan("urllib.parse")
    assert access.module_access("urllib", only_below).allowed
    assert vars(facade("urllib", only_below)).keys().isdisjoint({"request", "error"})
    inner = plan(collections=ImportPlan(names=frozenset({"Counter"})))
    assert not access.module_access("collections.abc", inner).allowed
    listed = plan(collections=ImportPlan(names=frozenset({"Counter", "abc"})))
    assert access.module_access("collections.abc", listed).allowed
    refused = plan(collections=ImportPlan(refused=frozenset({"abc"})))
    assert not access.module_access("collections.abc", refused).allowed


def test_what_the_policy_says_and_what_the_facade_has_agree(plan: MakePlan) -> None:
    opened = plan("os", "sys", "collections", "json", "asyncio", "inspect", "typing", "urllib.parse")
    for name in (*opened.imports, "urllib", "collections.abc"):
        made = facade(name, opened)
        for item in set(dir(sys.modules[name])) | known_names(name, opened):
            if not item.startswith("__"):
                allowed = access.name_access(name, item, opened).allowed and hasattr(sys.modules[name], item)
                assert hasattr(made, item) == allowed, f"{name}.{item}"


def test_every_form_of_import(guest: Guest) -> None:
    names = guest(
        "import math\n"
        "import collections.abc\n"
        "import collections.abc as abc_as\n"
        "from collections import abc, Counter as C\n"
        "import urllib.parse as parse\n"
        "from math import *\n"
        "from json.decoder import JSONDecodeError\n"
        "value = sqrt(16)\n",
        "math",
        "collections",
        "urllib.parse",
        "json",
    )
    assert names["value"] == 4.0
    assert names["abc"] is names["abc_as"] is names["collections"].abc
    for name in ("math", "collections", "abc", "parse"):
        assert facade_name(names[name]), name


def test_star_import_of_a_module_with_all(guest: Guest) -> None:
    names = guest("from queue import *\nfrom types import *\nfrom string import *", "queue", "types", "string")
    assert {"Queue", "SimpleNamespace", "ascii_letters"} <= names.keys()
    assert not {"threading", "CodeType"} & names.keys()


@pytest.mark.parametrize(
    "source",
    [
        "from json import scanner",
        "from json import codecs",
        "from numpy import ctypeslib",
        "from random import _os",
        "import json.tool",
        "import json.scanner as s",
        "import os",
        "import subprocess",
        "import importlib.util",
    ],
)
def test_refused_imports_name_module_and_rule(guest: Guest, source: str) -> None:
    if "numpy" in source:
        pytest.importorskip("numpy")
    with pytest.raises(RefusedImport) as caught:
        guest(source, "json", "numpy", "random")
    assert caught.value.module in str(caught.value)
    assert caught.value.rule.startswith("test.yaml:")
    assert caught.value.reason


@pytest.mark.parametrize(
    "source",
    [
        "del collections.abc\nimport collections.abc as found",
        "collections.__name__ = 'os'\nfrom collections import path as found",
        "collections.__getattr__ = lambda name: len(0)\nfrom collections import abc as found",
        "collections.__path__ = []\nfrom collections import _sys as found",
    ],
)
def test_the_statement_never_falls_back_on_the_real_modules(guest: Guest, source: str) -> None:
    """IMPORT_FROM looks into sys.modules for what a module lacks: there the real module is."""
    try:
        guest(f"import collections, collections.abc\n{source}", "collections")
    except (ImportError, AttributeError) as error:
        assert "refused" in str(error) or "cannot import name" in str(error)
    else:
        pytest.fail("something was written into a facade")


def test_what_cpython_says_when_there_is_no_such_module(guest: Guest) -> None:
    with pytest.raises(ModuleNotFoundError) as caught:
        guest("import surely_not_installed")
    assert str(caught.value) == "No module named 'surely_not_installed'"
    with pytest.raises(ImportError, match="cannot import name 'squrt' from 'math'"):
        guest("from math import squrt", "math")
    with pytest.raises(ImportError, match="attempted relative import"):
        guest("from . import math", "math")


def test_libraries_import_for_themselves(guest: Guest) -> None:
    """strptime imports _strptime from C, through the __import__ of the frame that called it."""
    sys.modules.pop("_strptime", None)
    names = guest("import datetime\nday = datetime.datetime.strptime('2024-02-03', '%Y-%m-%d')", "datetime")
    assert names["day"].day == 3


def test_lazy_submodules_and_aliases(plan: MakePlan) -> None:
    pytest.importorskip("pandas")
    opened = plan("pandas", "numpy", "scipy")
    assert repr(facade("pandas", opened).offsets) == "<module 'pandas.tseries.offsets'>"
    assert facade("numpy", opened).linalg is facade("numpy.linalg", opened)
    if build.installed("scipy"):
        assert facade("scipy", opened).stats is facade("scipy.stats", opened)


@pytest.mark.modules("sympy")
def test_a_function_with_a_submodule_of_its_name_is_the_function(guest: Callable[..., dict[str, Any]]) -> None:
    source = "import sympy\nfrom sympy import series\nfrom sympy.simplify import radsimp"
    names = guest(source, "sympy", "sympy.simplify")
    assert callable(names["sympy"].simplify)
    assert callable(names["series"])
    assert callable(names["radsimp"])
