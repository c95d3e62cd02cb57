"""A child of a policy without files: it reads Python's own library, and nothing else; it writes nothing."""

from __future__ import annotations

import json
import zoneinfo

import pytest

from tests.kernel.conftest import Run

SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in ("plugin", "expression")]
PROFILES = ["calculator", "standard", *SLOW]

OPENS = """
import json, os, sys
told = {}
paths = [SECRET, os.path.dirname(SECRET), "/proc/1/environ", "/etc/passwd", "/etc/shadow", "/root", "/home", "/sys",
         f"/proc/{HOST}/maps", f"/proc/{os.getppid()}/mem", "/proc/sys/kernel/core_pattern", "/dev/shm", "/proc/1/maps",
         "/sys/kernel", "/proc/self/mem"]
for path in paths:
    for flags in (os.O_RDONLY, os.O_RDWR, os.O_PATH):
        try:
            descriptor = os.open(path, flags)
            # A name may be there, or be handed out as a place (O_PATH): nothing is told of what is in it.
            told[f"{path} {flags:o}"] = bool(os.listdir(descriptor) if os.path.isdir(path) else os.read(descriptor, 1))
        except OSError:
            pass
for path in (os.__file__, os.path.dirname(os.__file__), sys.executable, "/", ".", "/tmp", "/proc/self/mem", "/new"):
    for flags in (os.O_RDWR, os.O_WRONLY | os.O_CREAT, os.O_TMPFILE | os.O_RDWR, os.O_RDONLY | os.O_TRUNC):
        try:
            os.open(path, flags, 0o600)
        except OSError:
            continue
        told[f"{path} {flags:o}"] = "opened"
for name, act in {
    "truncate": lambda: os.truncate(SECRET, 0),
    "remove": lambda: os.remove(os.__file__),
    "mkdir": lambda: os.mkdir("/tmp/x"),
    "chmod": lambda: os.chmod(os.__file__, 0o777),
    "utime": lambda: os.utime(os.__file__),
    "link": lambda: os.link(os.__file__, "/tmp/x"),
}.items():
    try:
        act()
    except OSError:
        continue
    told[name] = "done"
print(json.dumps(told))
"""
"""Opens and changes what it may not, of the host and of Python's own library, and prints what it did."""
WRITES = """
for number in range(3, 64):
    try:
        os.write(number, b"x")
    except OSError:
        continue
    print("written to", number)
"""

NEEDS = """
import copy, datetime, json, logging, sys, traceback, warnings, zoneinfo
import tracemalloc, difflib, inspect, tokenize, wave, sqlite3, _lsprof
import safeexec.hints.runtime, safeexec.hints.syntax, safeexec.hints.limits
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
    import no_such_module
except ModuleNotFoundError as error:
    absent = str(error)
print(json.dumps([texts, when.isoformat(), sorted(zoneinfo.available_timezones()), missing, unknown, absent]))
"""


@pytest.mark.parametrize("profile", PROFILES)
def test_nothing_of_the_host_is_opened_and_nothing_written(run: Run, profile: str) -> None:
    assert run(OPENS + WRITES, profile, secret="5eaf00d5").output == "{}\n"


@pytest.mark.parametrize("profile", PROFILES[1:])
def test_what_comes_late_is_imported_as_anywhere(run: Run, profile: str) -> None:
    texts, when, zones, missing, unknown, absent = json.loads(run(NEEDS, profile).output)
    assert texts == ["x\u20ac".encode("cp1252").hex(), "\u00fc".encode("idna").hex(), "a"]
    assert when == "2024-07-01T00:00:00+02:00"
    assert set(zones) == zoneinfo.available_timezones()
    assert missing == "'No time zone found with key Nowhere/Else'"
    assert unknown == "unknown encoding: no-such-encoding"
    assert absent == "No module named 'no_such_module'"


TZDATA = """
import sys, zoneinfo
zoneinfo.reset_tzpath(to=())
print(zoneinfo.ZoneInfo("Asia/Kolkata").utcoffset(__import__("datetime").datetime(2024, 1, 1)))
"""


def test_a_time_zone_comes_from_the_package_where_the_system_has_none(run: Run) -> None:
    pytest.importorskip("tzdata")
    assert run(TZDATA, "calculator").output == "5:30:00\n"
