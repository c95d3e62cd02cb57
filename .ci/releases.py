"""How a new Python or a new library is met: `python .ci/releases.py` tries every interpreter that it finds on PATH
with the newest libraries, and the first of them with the oldest that setup.cfg takes.

Each gets an environment of its own and runs the library tests and a step of every profile. A line says what came of it;
what has changed since the last run, a release or a result, stands below. Exit status 1: something failed.
"""

from __future__ import annotations

import argparse
import configparser
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
REMEMBERED = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "safeexec" / "releases.json"
STEPS = """
import importlib.metadata, json
from safeexec import Sandbox
from safeexec.engine.policy.places import names
for name in names(shipped=True):
    if name != "expression":
        with Sandbox(name) as sandbox:
            assert sandbox.run("print(6 * 7)").stdout == "42\\n", name
print(json.dumps({found.name: found.version for found in importlib.metadata.distributions()}))
"""


def interpreters() -> dict[str, str]:
    """Version (``3.14.1``) → path of each CPython on PATH that this package takes, the oldest first."""
    found: dict[tuple[int, ...], str] = {}
    for directory in os.environ.get("PATH", os.defpath).split(os.pathsep):
        for path in sorted(Path(directory).glob("python3.*")):
            if re.fullmatch(r"python3\.\d+", path.name) and (version := _version(path)) >= (3, 11):
                found.setdefault(version, str(path))
    return {".".join(map(str, version)): found[version] for version in sorted(found)}


def _version(python: Path) -> tuple[int, ...]:
    """What an interpreter says that it is; nothing if it does not start."""
    asked = [str(python), "-c", "import sys, venv; print(*sys.version_info[:3])"]
    try:
        done = subprocess.run(asked, capture_output=True, text=True, timeout=60)
    except OSError:
        return ()
    return tuple(map(int, done.stdout.split()))


def oldest() -> list[str]:
    """The extra `libraries`, each package at the lowest release that setup.cfg takes."""
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    extras = config["options.extras_require"]
    rows = [row.strip() for extra in ("data", "libraries") for row in extras[extra].splitlines()]
    return [row.replace(">=", "==") for row in rows if ">=" in row]


def tried(python: str, libraries: list[str]) -> tuple[str, dict[str, str]]:
    """``ok``, or the last words of what failed; and the release of each package that was there."""
    with tempfile.TemporaryDirectory() as made:
        os.chmod(made, 0o755)  # guests of root are a user who must be able to read it
        own, place = f"{made}/bin/python", str(ROOT)
        pip = [own, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--only-binary", ":all:"]
        commands = (
            [python, "-m", "venv", made],
            [own, "-m", "pip", "install", "-q", "--disable-pip-version-check", f"{place}[test]"],
            [*pip, *(libraries or [f"{place}[libraries]"])],
            [own, "-m", "pytest", "-q", "-n", "auto", "-p", "no:cacheprovider", "tests/test_libraries.py"],
            [own, "-c", STEPS],
        )
        for command in commands:
            done = subprocess.run(command, cwd=place, capture_output=True, text=True, timeout=3600)
            if done.returncode:
                words = (done.stdout + done.stderr).strip().splitlines()
                failed = [line for line in words if line.startswith(("FAILED", "ERROR"))] or words[-1:]
                return "; ".join(failed[:10])[:2000], {}
        return "ok", json.loads(done.stdout.splitlines()[-1])


def main() -> int:
    """0 if all that was tried works."""
    parser = argparse.ArgumentParser(prog="python .ci/releases.py", description=__doc__)
    parser.add_argument("--only", default="", help="interpreters whose version begins so: 3.15")
    only = parser.parse_args().only
    before = json.loads(REMEMBERED.read_text()) if REMEMBERED.exists() else {}
    results: dict[str, tuple[str, dict[str, str]]] = {}
    runs = [(version, python, "newest") for version, python in interpreters().items() if version.startswith(only)]
    if not runs:
        print(f"no interpreter {only or 'that this package takes'} is on PATH")
        return 1
    runs.append((*runs[0][:2], "oldest"))
    for version, python, which in runs:
        name = f"Python {version}, {which} libraries"
        results[name] = tried(python, oldest() if which == "oldest" else [])
        print(f"{name}: {results[name][0]}", flush=True)
    for name, (result, packages) in results.items():
        was, had = before.get(name, ("never tried", {}))
        changes = [f"{was} → {result}"] if was != result else []
        changes += [f"{one} {had[one]} → {new}" for one, new in packages.items() if had.get(one, new) != new]
        if changes:
            print(f"since the last run, {name}: {'; '.join(changes)}")
    REMEMBERED.parent.mkdir(parents=True, exist_ok=True)
    REMEMBERED.write_text(json.dumps({**before, **results}))
    return int(any(result != "ok" for result, _ in results.values()))


if __name__ == "__main__":
    sys.exit(main())
