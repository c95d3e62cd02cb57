"""A child of a policy without files: no path can be opened, and everything that a program of it needs is there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zoneinfo
from collections.abc import Callable
from pathlib import Path

import pytest

from safeexec.zygote.image import _zone_files
from tests.kernel.harness import Outcome

Run = Callable[..., Outcome]


def test_a_time_zone_that_is_a_link_to_nowhere_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "Here").write_bytes(b"TZif")
    (tmp_path / "localtime").symlink_to(tmp_path / "etc" / "localtime")
    assert list(_zone_files(str(tmp_path), "")) == [("Here", str(tmp_path / "Here"))]


OPENS = """
import json, os, sys
import _decimal
told = {}
paths = [os.__file__, json.__file__, os.path.dirname(os.__file__), _decimal.__file__, sys.executable, SECRET, "/", ".",
         "/proc", "/proc/self", "/proc/self/maps", "/proc/self/fd", "/proc/self/root", "/proc/1/environ", "/dev/null",
         "/usr/share/zoneinfo/UTC", "/etc/localtime", "/tmp", "/sys"]
paths += [f"/proc/self/fd/{number}" for number in range(8)]
for path in paths:
    for flags in (os.O_RDONLY, os.O_RDWR, os.O_WRONLY | os.O_CREAT, os.O_PATH, os.O_TMPFILE | os.O_RDWR):
        try:
            os.open(path, flags, 0o600)
        except OSError as error:
            told[f"{path} {flags:o}"] = error.errno
        else:
            told[f"{path} {flags:o}"] = "opened"
for name, act in {
    "open": lambda: open(os.__file__),
    "listdir": lambda: os.listdir("/"),
    "scandir": lambda: os.scandir("."),
    "readlink": lambda: os.readlink("/proc/self/exe"),
    "chdir": lambda: os.chdir("/"),
    "truncate": lambda: os.truncate(SECRET, 0),
    "getxattr": lambda: os.getxattr(os.__file__, "user.x"),
    "reopen through a descriptor": lambda: os.open("maps", os.O_RDONLY, dir_fd=1),
    "descriptors": lambda: [os.write(number, b"x") for number in range(3, 64)],
}.items():
    try:
        act()
    except OSError as error:
        told[name] = error.errno
    else:
        told[name] = "done"
print(json.dumps(told))
"""

NEEDS = """
import copy, datetime, json, logging, sys, traceback, warnings, zoneinfo
import tracemalloc, difflib, inspect, tokenize
import safeexec.hints.runtime, safeexec.hints.syntax, safeexec.hints.limits
from safeexec.compiler import transformer
import cloudpickle, asttokens, RestrictedPython
texts = ["x\u20ac".encode("cp1252").hex(), "\u00fc".encode("idna").hex(), bytes([129]).decode("cp037")]
when = datetime.datetime(2024, 7, 1, tzinfo=zoneinfo.ZoneInfo("Europe/Paris"))
try:
    zoneinfo.ZoneInfo("Nowhere/Else")
except zoneinfo.ZoneInfoNotFoundError as error:
    missing = str(error)
try:
    "".encode("no-such-encoding")
except LookupError as error:
    unknown = str(error)
try:
    import sqlite3
except ImportError as error:
    refused = str(error)
try:
    import no_such_module
except ModuleNotFoundError as error:
    absent = str(error)
print(json.dumps([texts, when.isoformat(), sorted(zoneinfo.available_timezones()), missing, unknown, refused, absent]))
"""


@pytest.mark.parametrize(
    "profile",
    ["calculator", "standard", *[pytest.param(name, marks=pytest.mark.slow) for name in ("plugin", "expression")]],
)
def test_no_path_can_be_opened(run: Run, profile: str) -> None:
    """Not the library's own files, not /proc, not the image that it imports from by another way."""
    outcome = run(OPENS, profile, secret="5eaf00d5")
    told = json.loads(outcome.output)
    assert len(told) > 100
    allowed = {name: answer for name, answer in told.items() if not isinstance(answer, int)}
    assert not allowed


def test_what_comes_late_comes_from_memory(run: Run) -> None:
    texts, when, zones, missing, unknown, refused, absent = json.loads(run(NEEDS, "calculator").output)
    assert texts == ["x\u20ac".encode("cp1252").hex(), "\u00fc".encode("idna").hex(), "a"]
    assert when == "2024-07-01T00:00:00+02:00"
    assert set(zones) == zoneinfo.available_timezones()
    assert missing == "'No time zone found with key Nowhere/Else'"
    assert unknown == "unknown encoding: no-such-encoding"
    assert refused == "sqlite3 cannot be imported here: this session opens no files"
    assert absent == "No module named 'no_such_module'"


LATE_IMPORTS = """
import sys
sys.modules["typing_extensions"], sys.modules["platform"] = None, type(sys)("platform")
sys.modules["platform"].system = lambda: "Linux"
from safeexec.zygote.server import run
del sys.modules["typing_extensions"], sys.modules["platform"]
from safeexec.zygote.preload import COMMON, LATE, import_modules
import_modules(COMMON)
import safeexec.zygote.confine, safeexec.child.step.tools
from safeexec.zygote.image import Image
image = Image()
before = set(sys.modules)
import importlib
for name in (*LATE, *{more!r}):
    importlib.import_module(name)
files = {{name: str(getattr(module, "__file__", "")) for name, module in sys.modules.items() if name not in before}}
while not image.complete:
    image.fill()
known = image.library.table(0)
print([name for name, file in files.items() if file.endswith(".py") and known.get(name, (0, -1))[1] < 0])
"""
MORE = (
    "safeexec.language.determinism",
    "safeexec.child.step.rich",
    "safeexec.child.process.selftest",
    "safeexec.child.step.sql",
    "safeexec.child.process.state",
    "safeexec.hints.limits",
    "safeexec.protocol.values.frames",
    "safeexec.protocol.values.tables",
    "tracemalloc",
)


def test_whatever_late_parts_import_is_in_the_image() -> None:
    """A child forked before the zygote has imported them gets each module from there."""
    boot = f"import sys; sys.path[:] = {sys.path!r}\n"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-X", "utf8", "-c", boot + LATE_IMPORTS.format(more=MORE)],
        capture_output=True,
        text=True,
        timeout=60,
        env={"PATH": os.defpath},
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")
