"""What an honest program writes and cannot have is refused before a line of it ran: with its line, its rule, a hint."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from safeexec import Session
from tests.conftest import OpenSandbox

NO_FILES = ("calculator", "mathematics", "standard", "plugin")
ALL = (*NO_FILES, "data-analysis", "deterministic")
SMALL = ("calculator", "mathematics")
STDLIB = ("standard", "plugin")
WIDE = (*STDLIB, "data-analysis", "deterministic")


class Early(NamedTuple):
    """A program, the line of it that is refused, what its refusal names, and the profiles that refuse it."""

    source: str
    line: int
    name: str
    profiles: tuple[str, ...] = ALL


PROGRAMS = [
    # processes
    Early("import os\nos.system('ls -la')", 2, "os.system", WIDE),
    Early("import os, signal\nos.kill(os.getppid(), signal.SIGKILL)", 2, "os.kill", WIDE),
    Early("import subprocess\nsubprocess.run(['ls'], capture_output=True)", 1, "subprocess", NO_FILES),
    Early("from concurrent.futures import ProcessPoolExecutor", 1, "concurrent.futures.ProcessPoolExecutor", STDLIB),
    Early(
        "import asyncio\n\nasync def main():\n    await asyncio.create_subprocess_shell('ls')\n\nasyncio.run(main())",
        4, "asyncio.create_subprocess_shell", STDLIB,
    ),
    # the network
    Early("import socket\ns = socket.socket()\ns.connect(('1.1.1.1', 80))", 1, "socket", NO_FILES),
    Early("import urllib.request\nurllib.request.urlopen('http://example.com')", 1, "urllib.request", NO_FILES),
    Early(
        "import asyncio\nasync def f():\n    return await asyncio.open_connection('example.com', 80)",
        3, "asyncio.open_connection", STDLIB,
    ),
    # files
    Early("print(open('/etc/passwd').read())", 1, "open"),
    Early("import os\nprint(os.listdir('/'))", 2, "os.listdir", STDLIB),
    Early("import os\nif os.path.exists('x.txt'):\n    os.remove('x.txt')", 2, "os.path.exists", STDLIB),
    # the interpreter's insides
    Early("().__class__.__base__.__subclasses__()", 1, "__base__"),
    Early("def f(): pass\nprint(f.__globals__['__builtins__'])", 2, "__globals__"),
    Early("try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    print(e.__traceback__.tb_frame.f_back)", 4, "tb_frame"),
    Early("'{0.__globals__}'.format(print)", 1, "__globals__"),
    Early("def make():\n    x = 1\n    return lambda: x\nmake().__closure__[0].cell_contents", 4, "cell_contents"),
    # memory, displays, prompts
    Early("import ctypes\nctypes.string_at(0)", 1, "ctypes", NO_FILES),
    Early("import pdb; pdb.set_trace()", 1, "pdb"),
    Early("help(print)", 1, "help"),
    Early("name = input('Your name: ')\nprint(name)", 1, "input"),
    # what small profiles leave out
    Early("import sys, os\nprint(os.environ)", 1, "os", SMALL),
    Early("exec('x = 1')", 1, "exec", SMALL),
]  # fmt: skip
CASES = [
    pytest.param(profile, case, id=f"{profile}-{case.source.splitlines()[case.line - 1].strip()[:40]}")
    for case in PROGRAMS
    for profile in case.profiles
    if profile != "deterministic" or case.name in ("open", "__base__", "os.system", "pdb")
]


@pytest.mark.modules("numpy", "sympy", "mpmath", "pandas")
@pytest.mark.parametrize(("profile", "case"), CASES)
def test_refused_before_a_line_ran(sandbox_for: OpenSandbox, profile: str, case: Early) -> None:
    with sandbox_for(profile).session() as session:
        result = session.run(f"print('ran')\n{case.source}")
        assert (result.outcome, result.stdout) == ("rejected", ""), result
        error = result.error
        assert error is not None and error.type == "PolicyViolation"
        told = (f"'{case.name}'", "open() of" if case.name == "open" else f"'{case.name}'")
        (found, *_) = [one for one in error.diagnostics if any(text in one.message for text in told)]
        assert found.line == case.line + 1
        assert found.rule and found.hint, found
        assert found.source_line in case.source
        assert not session.variables()


@pytest.mark.profile("standard")
@pytest.mark.parametrize(
    "source",
    [
        "try:\n    import requests\nexcept ImportError:\n    requests = None\nrequests",
        "import sys\nif sys.platform == 'win32':\n    import winreg\nsys.platform",
        "from unittest.mock import patch\nimport os\nwith patch('os.system') as run:\n    os.system('ls')\nrun.called",
        "import sys\nfrom unittest.mock import Mock\nsys.modules['boto3'] = Mock()\nimport boto3\nboto3.client('s3')",
        "import sys\nfrom unittest.mock import Mock, patch\nwith patch.dict('sys.modules', {'subprocess': Mock()}):\n"
        "    import subprocess\n    subprocess.run(['ls'])",
        "import os\nhasattr(os, 'fork') and callable(getattr(os, 'fork'))",
        "open = lambda name: name\nopen('/etc/passwd')",
        "class Shell:\n    def system(self, what): return what\nShell().system('ls')",
        "'{0.real}'.format(1)",
        "text = 'import os; os.system(1)'\nlen(text)",
    ],
)
def test_what_only_looks_like_it_runs(sandbox_for: OpenSandbox, profile: str, source: str) -> None:
    with sandbox_for(profile).session() as session:
        result = session.run(source)
        assert result.outcome == "ok", result


@pytest.mark.profile("standard")
def test_a_module_that_an_earlier_step_made_is_imported_as_long_as_it_is_there(session: Session) -> None:
    session.run(
        "import sys, types\nmade = types.ModuleType('requests')\nmade.get = str.upper\nsys.modules['requests'] = made"
    )
    assert session.run("import requests\nrequests.get('a')").value == "A"
    session.run("del sys.modules['requests'], requests")
    result = session.run("import requests\nrequests.get('a')")
    assert (result.outcome, result.error and result.error.message) == ("rejected", "import of 'requests' is refused")
