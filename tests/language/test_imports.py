"""What an import gives: the real module, or one of the program; and what it says where the policy has neither."""

from __future__ import annotations

import pytest

from safeexec import Session
from tests.conftest import OpenSession

HELPERS = """
import os
os.makedirs("pack/inner", exist_ok=True)
def write(name, text):
    with open(name, "w") as file: file.write(text)
write("helper.py", "import json\\ndef double(x): return x * 2\\nNAME = __name__\\n")
write("pack/__init__.py", "from .part import value\\nfrom . import part as again\\n")
write("pack/part.py", "value = 7\\n")
write("pack/inner/__init__.py", "from ..part import value\\nfrom pack.part import value as same\\n")
write("bad.py", "x = 1\\nimport turtle\\n")
write("broken.py", "x = = 1\\n")
write("raises.py", "\\n\\n1 / 0\\n")
os.makedirs("folder", exist_ok=True)
write("folder/leaf.py", "here = __file__\\n")
"""


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("import math\ntype(math).__name__, math is __import__('sys').modules['math']", ("module", True)),
        ("import json\njson.dumps.__module__", "json"),
        ("import json\njson.own = 1\nfrom json import own\nown", 1),
        ("import os.path as p\np.join('a', 'b')", "a/b"),
        ("from collections import *\nCounter('aab')['a']", 2),
        ("import importlib\nimportlib.import_module('json').loads('[1]')", [1]),
        ("__import__('xml.dom').__name__", "xml"),
        ("__import__('js' + 'on').__name__", "json"),
        ("import datetime\ndatetime.datetime.strptime('2024', '%Y').year", 2024),
        ("try:\n    import is_not_here\nexcept ModuleNotFoundError as e:\n    name = e.name\nname", "is_not_here"),
        ("try:\n    import socket\nexcept ImportError as e:\n    told = type(e).__name__\ntold", "ModuleNotFoundError"),
        ("try:\n    from os import system\nexcept ImportError as e:\n    told = type(e).__name__\ntold", "ImportError"),
    ],
)
def test_real_modules(session: Session, source: str, value: object) -> None:
    assert session.run(source).check().value == value


@pytest.mark.parametrize(
    ("source", "kind", "words"),
    [
        ("__import__('soc' + 'ket')", "ModuleNotFoundError", "import of socket is refused by standard.yaml:"),
        ("import importlib\nimportlib.import_module('soc' + 'ket').socket()", "PermissionError", ""),
        (
            "__import__('os', fromlist=['system'])",
            "ImportError",
            "import of system from os is refused by standard.yaml:",
        ),
        ("__import__('nothing' + '_here')", "ModuleNotFoundError", "No module named 'nothing_here'"),
        ("exec('import nothing_here')", "ModuleNotFoundError", "nothing_here"),
        ("from json import nothing", "ImportError", "cannot import name 'nothing' from 'json'"),
        ("import json.nothing", "ModuleNotFoundError", "No module named 'json.nothing'"),
        ("import xml.nothing", "ModuleNotFoundError", "No module named 'xml.nothing'"),
    ],
)
def test_what_is_refused_or_missing_while_code_runs(session: Session, source: str, kind: str, words: str) -> None:
    result = session.run(source)
    assert result.outcome in ("error", "violation", "rejected") and result.error is not None
    if result.outcome != "rejected":
        assert result.error.type == kind and words in result.error.message


@pytest.fixture
def helped(open_session: OpenSession) -> Session:
    session = open_session(profile="data-analysis")
    session.run(HELPERS).check()
    return session


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("import helper\nhelper.double(2), helper.NAME, helper.__file__", (4, "helper", "helper.py")),
        ("from helper import *\ndouble(3)", 6),
        ("import pack\npack.value, pack.again.value, pack.__path__", (7, 7, ["pack"])),
        ("import pack.inner as i\ni.value + i.same", 14),
        ("from folder import leaf\nleaf.here", "folder/leaf.py"),
        ("import folder.leaf\nfolder.leaf.here", "folder/leaf.py"),
        ("import sys\nsys.path.append('folder')\nimport leaf\nleaf.here", "folder/leaf.py"),
        ("import sys, helper\nsys.modules['helper'] is helper ", True),
        ("import helper\nhelper.double = lambda x: 0\nfrom helper import double\ndouble(2)", 0),
        ("import inspect, helper\ninspect.getsource(helper.double)", "def double(x): return x * 2\n"),
        (
            "from unittest.mock import patch\nimport helper as h\n"
            "with patch('helper.double', abs): y = h.double(-5)\ny",
            5,
        ),
    ],
)
def test_modules_of_the_workspace(helped: Session, source: str, value: object) -> None:
    assert helped.run(source).check().value == value


def test_a_module_that_a_step_writes_is_imported_one_that_changed_is_loaded_again_and_a_library_keeps_its_name(
    helped: Session,
) -> None:
    assert helped.run("write('fresh.py', 'x = 9')\nimport fresh\nfresh.x").check().value == 9
    helped.run("import helper").check()
    helped.run("write('helper.py', 'def double(x): return x * 20')").check()
    assert helped.run("helper.double(1)").value == 2
    assert helped.run("import importlib\nimportlib.reload(helper).double(1)").check().value == 20
    helped.run("write('json.py', 'x = 1')").check()
    assert helped.run("import json\njson.dumps([1])").check().value == "[1]"
    missing = helped.run("json.x").error
    assert missing is not None and missing.type == "AttributeError"


@pytest.mark.parametrize(
    ("module", "kind", "words"),
    [
        ("bad", "ImportError", "bad.py, line 2: import of 'turtle' is refused"),
        ("broken", "SyntaxError", "invalid syntax"),
        ("raises", "ZeroDivisionError", "division by zero"),
    ],
)
def test_modules_that_cannot_be_loaded(helped: Session, module: str, kind: str, words: str) -> None:
    error = helped.run(f"import {module}").error
    assert error is not None and error.type == kind and words in error.message
    attempt = f"try:\n    import {module}\nexcept Exception:\n    pass"
    assert helped.run(f"{attempt}\nimport sys\n{module!r} in sys.modules").value is False
