"""Which refusal is a `violation`, which an ordinary `error`, and by which name it is told."""

from __future__ import annotations

import errno
import re

import pytest

from safeexec.engine.child.step.violations import of_call
from safeexec.engine.syscalls.table import GROUPS
from tests.conftest import OpenSession, Run

CALLS = [
    ("import os; os.nice(-5)", "os.nice()", "Other processes"),
    ("import os; os.kill(1, 9)", "kill()", "Other processes"),
    ("import os; os.setsid()", "os.setsid()", "Other processes"),
    ("import os; os.chroot('/')", "os.chroot() of '/'", "The system refuses"),
    ("import os; os.symlink('a', 'b')", "symlinkat() of 'a'", "Copy the file"),
    ("import os; os.mkfifo('p')", "os.mkfifo()", "Copy the file"),
    ("import os; os.memfd_create('x')", "os.memfd_create()", "Keep the data in ordinary variables"),
    ("import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (10, 10))", "setrlimit()", "The limits"),
    ("import signal; signal.pidfd_send_signal(0, 9)", "signal.pidfd_send_signal()", "Other processes"),
    ("import socket; socket.socket()", "socket()", "There is no network"),
    ("import socket; socket.create_connection(('192.0.2.1', 80))", "socket()", "There is no network"),
    ("import socket; socket.sethostname('x')", "sethostname()", "No ordinary program"),
    ("import subprocess; subprocess.check_output('ls', shell=True)", "execve()", "No other program"),
    ("import fcntl; fcntl.fcntl(0, fcntl.F_SETOWN, 1)", "fcntl.fcntl()", "The system refuses"),
    ("from os import nice as lower\ndef f():\n    return lower(-1)\nf()", "lower()", "Other processes"),
    (
        "import os\ntry:\n    os.nice(-5)\nexcept OSError as e:\n    kept = e\nraise kept",
        "os.nice()",
        "Other processes",
    ),
    (
        "import ctypes\nsay = ctypes.pythonapi.PyErr_SetFromErrno\n"
        "say.argtypes, say.restype = [ctypes.py_object], None\nctypes.pythonapi.chroot(b'/')\nsay(OSError)",
        "say()",
        "The system refuses",
    ),
]


@pytest.mark.parametrize("group", [*GROUPS, None])
def test_every_group_of_refused_calls_says_what_to_do_instead(group: str | None) -> None:
    call = "chroot" if group is None else min(GROUPS[group])
    assert of_call(call).hint


@pytest.mark.parametrize(("source", "subject", "hint"), CALLS)
@pytest.mark.profile("confined-python")
def test_an_uncaught_refusal_is_a_violation_with_a_name(run: Run, source: str, subject: str, hint: str) -> None:
    result = run(source)
    assert (result.outcome, result.state) == ("violation", "kept")
    assert result.error.type == "PermissionError"
    # From 3.14 on subprocess names the program, too.
    assert re.sub(" of '/bin/sh'", "", result.error.message) == f"{subject} is refused by {result.error.rule}"
    assert (result.error.hint or "").startswith(hint)
    assert result.refusals == (), "what ends the step is told once"


@pytest.mark.profile("confined-python")
def test_a_program_may_ask_for_more_stack_and_a_plain_eperm_is_a_permission_error(run: Run) -> None:
    raised = "resource.setrlimit(resource.RLIMIT_STACK, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))"
    before = "import resource\nbefore = resource.getrlimit(resource.RLIMIT_STACK)"
    result = run(f"{before}\n{raised}\nbefore == resource.getrlimit(resource.RLIMIT_STACK)")
    assert result.value is True and result.refusals == ()
    assert run("import resource; resource.prlimit(0, resource.RLIMIT_STACK, (9, 9))").outcome == "violation"
    nice = "import os\ntry:\n    os.nice(-5)\nexcept PermissionError as e:\n    told = e.errno\ntold"
    assert run(nice).value == errno.EPERM
    source = "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\nlibc.ptrace(0, 0, 0, 0), ctypes.get_errno()"
    assert run(source).value == (-1, errno.EPERM)


RAISED = [
    "raise PermissionError(1, 'Operation not permitted')",
    "raise PermissionError(13, 'Permission denied', '/etc/passwd')",
    'raise RuntimeError("can\'t start new thread")',
    "raise ValueError('not allowed to raise maximum limit')",
    "import os\ntry:\n    os.nice(-5)\nexcept OSError:\n    raise PermissionError(1, 'mine')",
    "from unittest import mock\nimport os\nwith mock.patch('os.nice', side_effect=OSError(1, 'x')):\n    os.nice(1)",
    "def f():\n    yield\ng = f()\nnext(g)\ng.throw(PermissionError(1, 'x'))",
    "import asyncio\nasync def f():\n    future = asyncio.get_running_loop().create_future()\n"
    "    future.set_exception(PermissionError(1, 'x'))\n    await future\nasyncio.run(f())",
    "import sqlite3\nsqlite3.connect('no/such/directory.db').execute('select 1')",
    "import sqlite3\nsqlite3.connect('a.db').execute('select nothing')",
    "class Mine(Exception): pass\nraise Mine('Permission denied: /usr/x')",
    "import ctypes, os\nraise OSError(1, os.strerror(1))",
    "import os\nos.close(os.open('mine', os.O_CREAT, 0))\nopen('mine', 'w')",
]


@pytest.mark.parametrize("source", RAISED)
@pytest.mark.profile("confined-python")
def test_what_python_code_raised_itself_is_an_error(run: Run, source: str) -> None:
    result = run(source)
    assert (result.outcome, result.refusals) == ("error", ())


LIBRARIES = [
    ("duckdb", "import duckdb\nduckdb.connect('/usr/x.db')", "open() of '/usr/x.db'"),
    ("duckdb", "import duckdb\nduckdb.sql(\"copy (select 1) to '/usr/x.csv'\")", "open() of '/usr/x.csv'"),
    ("sqlite3", "import sqlite3\nsqlite3.connect('/usr/x.db').execute('create table t(a)')", "open() of '/usr/x.db'"),
    ("sqlite3", "import sqlite3\nsqlite3.connect('').execute(\"attach '/usr/y.db' as y\")", "open() of '/usr/y.db'"),
    ("pyarrow", "import pyarrow.fs as fs\nfs.LocalFileSystem().create_dir('/usr/x')", "open() of '/usr/x'"),
    ("numpy", "import numpy\nnumpy.save('/usr/x.npy', numpy.zeros(3))", "open() of '/usr/x.npy'"),
    ("PIL", "from PIL import Image\nImage.new('L', (1, 1)).save('/usr/x.png')", "open() of '/usr/x.png'"),
    ("pandas", "import pandas\npandas.read_csv('https://example.com/a.csv')", "socket()"),
]


RESTRICTED = [
    ("numpy", "path = '/usr/x'\nopen(path, 'w')", "open() of '/usr/x'"),
    ("numpy", "import numpy\nnumpy.savetxt('/usr/x', numpy.zeros(3))", "open() of '/usr/x'"),
    ("pandas", "import pandas\npandas.DataFrame({'a': [1]}).to_csv('/usr/x.csv')", "open() of '/usr/x.csv'"),
    LIBRARIES[2],
    ("numpy", "import os\nos.mkdir('/usr/x')", "open() of '/usr/x'"),
]


@pytest.mark.parametrize(
    ("profile", "module", "source", "subject"),
    [("confined-python", *row) for row in LIBRARIES] + [("data-analysis", *row) for row in RESTRICTED],
)
def test_what_a_library_was_refused_is_a_violation(
    open_session: OpenSession, profile: str, module: str, source: str, subject: str
) -> None:
    pytest.importorskip("pandas" if profile == "data-analysis" else module)
    result = open_session(profile).run(source)
    assert result.outcome == "violation" and result.error is not None
    assert result.error.message == f"{subject} is refused by {result.error.rule}"
    if "/usr" in subject:
        assert result.error.hint == "Use relative paths: the session's own directory is open."


@pytest.mark.parametrize("kind", ["confined-python", "data-analysis", "calculator"])
def test_memory_is_the_word_for_memory_alone(open_session: OpenSession, kind: str) -> None:
    session, asks = open_session(kind), "bytearray(1 << 45)"
    for source in ("raise MemoryError('mine')", "def f():\n    raise MemoryError\nf()"):
        assert session.run(source).outcome == "error", source
    for source in (asks, "[0] * (1 << 45)", f"try:\n    {asks}\nexcept MemoryError:\n    raise"):
        assert session.run(source).outcome == "memory", source
