"""The attempts of `escapes/` and the world around them, for tests and benchmarks: nothing here needs pytest."""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

from safeexec import Result, Sandbox
from tests.footprint import pause
from tests.inhabitant import remove_shared

DIRECTORY = Path(__file__).parent / "escapes"
INHABITANT = Path(__file__).with_name("inhabitant.py")
STEP = "# --- step ---\n"
OFF = "confined-python"
"""The profile without a language layer."""
TIMEOUT = 3.0
LATE_SECONDS = 4.0
"""By then the evidence of a case with a late oracle would be there."""
PROBE = "import json, math\nprint(json.dumps([len([1, 2]), math.floor(1.5)]))"

# How a case that consumes something may end. Doing nothing about it is among them only where it ends by itself.
ENDS = {
    "cpu": {"timeout", "cpu", "memory", "error", "rejected", "ok"},
    "wall": {"timeout", "error", "rejected", "violation"},
    "memory": {"memory", "error", "timeout", "cpu", "rejected"},
    "output": {"output", "ok", "timeout", "memory", "cpu"},
    "stack": {"error", "crashed", "timeout", "memory", "cpu"},
    "parse": {"error", "rejected", "memory", "timeout", "crashed", "cpu", "ok"},
}

REACH = """
import builtins, os, socket, subprocess
CANARY, HOST, PORT = {canary!r}, {host}, {port}
WAYS = [
    ("a file of the host", lambda: open(CANARY).read()),
    ("a file of the system", lambda: open('/etc/passwd').read(20)),
    ("a new file", lambda: open(CANARY + '.drop', 'w').write('x')),
    ("the folder of the secret", lambda: os.listdir(os.path.dirname(CANARY))),
    ("a link to the secret", lambda: (os.symlink(CANARY, 'l'), open('l').read())),
    ("a signal to the host", lambda: os.kill(HOST, 0)),
    ("the host's memory", lambda: open(f'/proc/{{HOST}}/mem', 'rb').fileno()),
    ("the host's environment", lambda: open(f'/proc/{{HOST}}/environ', 'rb').read(9)),
    ("its own environment", lambda: os.environ['SAFEEXEC_TEST_SECRET']),
    ("a connection", lambda: socket.create_connection(('127.0.0.1', PORT), 2).recv(50)),
    ("an abstract socket", lambda: socket.socket(socket.AF_UNIX).connect('\\0safeexec-' + str(PORT))),
    ("a named socket", lambda: socket.socket(socket.AF_UNIX).connect(CANARY + '.sock')),
    ("a program", lambda: 1 / (os.system('echo x > ' + CANARY + '.drop') == 0)),
    ("another program", lambda: subprocess.run(['true'])),
    ("a process", lambda: os.execv('/bin/true', ['true'])),
]
for name, way in WAYS:
    try:
        way()
    except BaseException:
        continue
    builtins.print('REACHED', name)
"""


class Case(NamedTuple):
    """One attempt under one profile."""

    headers: dict[str, str]
    text: str
    profile: str

    @property
    def oracle(self) -> str:
        return self.headers.get("oracle", "consumes" if "consumes" in self.headers else "marker")

    @property
    def layer(self) -> str:
        """Which layer is to stop it: `language`, `kernel` or `both`."""
        return self.headers.get("layer", "language")

    @property
    def needs(self) -> list[str]:
        """Libraries that must be installed."""
        return self.headers.get("needs", "").replace(",", " ").split()


def read() -> Iterator[Case]:
    """Each attempt at the language layer, under the profile that its needs ask for."""
    for case in every():
        if case.layer != "kernel":
            yield case._replace(profile="data-analysis" if case.needs else "standard")


def every() -> Iterator[Case]:
    """Each attempt, under the profile without a language layer."""
    for path in sorted(DIRECTORY.glob("*/*.py")):
        text = path.read_text(encoding="utf-8")
        headers = {"id": path.stem, "class": path.parent.name}
        for line in text.splitlines():
            if not line.startswith("#"):
                break
            if found := re.match(r"# ([a-z]+): (.*)$", line):
                headers[found[1]] = found[2]
        yield Case(headers, text, OFF)


def suits(version: str) -> bool:
    """Whether a case is about this Python: ``>=3.12``, ``<3.13`` or nothing."""
    found = re.match(r"(>=|<)(\d+)\.(\d+)$", version)
    if not found:
        return True
    at_least = sys.version_info >= (int(found[2]), int(found[3]))
    return at_least if found[1] == ">=" else not at_least


class World:
    """What lies outside the sandbox: a secret in a file, in the environment, and with a process that offers it."""

    def __init__(self) -> None:
        self.base = Path(tempfile.mkdtemp(prefix="escapes-", dir="/tmp"))
        self.base.chmod(0o755)
        self.canary = self.base / "canary.txt"
        self.token = secrets.token_hex(12)
        self.canary.write_text(self.token)
        os.environ["SAFEEXEC_TEST_SECRET"] = self.token
        self.leaked = [os.open(self.canary, os.O_RDONLY), os.open(self.base, os.O_RDONLY)]
        for fd in self.leaked:
            os.set_inheritable(fd, True)
        self.inhabitant = subprocess.Popen(
            [sys.executable, str(INHABITANT), str(self.canary)], stdout=subprocess.PIPE, text=True
        )
        assert self.inhabitant.stdout is not None
        self.port = int(self.inhabitant.stdout.readline())

    def close(self) -> None:
        self.inhabitant.kill()
        self.inhabitant.communicate()
        remove_shared(self.port)
        for fd in self.leaked:
            os.close(fd)
        del os.environ["SAFEEXEC_TEST_SECRET"]
        shutil.rmtree(self.base)

    @property
    def drop(self) -> Path:
        return Path(f"{self.canary}.drop")

    @property
    def beacon(self) -> Path:
        return Path(f"{self.canary}.beacon")

    def clean(self) -> None:
        for path in (self.drop, self.beacon):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)

    def source(self, case: Case, workspace: str) -> str:
        """The attempt with what it must know of this world filled in."""
        source = case.text
        for name, value in {
            "{CANARY_PATH}": str(self.canary),
            "{CANARY_TOKEN}": self.token,
            "{HOST_PORT}": str(self.port),
            "{HOST_PID}": str(os.getpid()),
            "{WORKSPACE}": workspace,
        }.items():
            source = source.replace(name, value)
        if "\n# generator:" in source:
            namespace: dict[str, Any] = {}
            exec(source, namespace)
            return str(namespace["src"])
        return source

    @property
    def reach(self) -> str:
        """A step that looks for what it can reach of this world, and prints REACHED and what it was."""
        return REACH.format(canary=str(self.canary), host=os.getpid(), port=self.port)

    def bystander_suffers(self) -> bool:
        """Whether the inhabitant has died, or was stopped."""
        if self.inhabitant.poll() is not None:
            return True
        state = Path(f"/proc/{self.inhabitant.pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        return state in "TtZ"


class Tried(NamedTuple):
    """What came of an attempt."""

    results: list[Result]
    problems: list[str]
    """What shows that something got out, or was hurt."""


def attempt(case: Case, world: World, sandbox: Sandbox, *, then: str = "") -> Tried:
    """Run a case in a session of its own, and `then` one more step there."""
    world.clean()
    before = host_peak(reset=True)
    with sandbox.session() as session:
        source = world.source(case, str(session.workspace or world.base))
        steps = [*source.split(STEP), *([then] if then else [])]
        started = monotonic()
        results = [session.run(step, timeout=TIMEOUT) for step in steps]
        wall = monotonic() - started
        answer = session.run("1 + 1", timeout=10)
    if case.oracle.startswith("late"):
        until = monotonic() + LATE_SECONDS
        while monotonic() < until and not (world.drop.exists() or world.beacon.exists()):
            pause()
    problems = [*evidence(case, world, source, results)]
    if answer.value != 2:
        problems.append(f"the session no longer answers: {answer.outcome}")
    if sandbox.run(PROBE).stdout != "[2, 1]\n":
        problems.append("the next session is broken")
    if (kind := case.headers.get("consumes")) and results[-1].outcome not in ENDS[kind]:
        problems.append(f"it ended as {results[-1].outcome}")
    if (grown := host_peak() - before) > 400 + 8 * (len(source) >> 20):
        problems.append(f"the host grew by {grown} MiB")
    if wall > TIMEOUT * len(results) + 60:
        problems.append(f"it took {wall:.1f} s")
    return Tried(results, problems)


def evidence(case: Case, world: World, source: str, results: list[Result]) -> Iterator[str]:
    """What shows that something got out."""
    printed = "".join(result.stdout + result.stderr for result in results)
    everything = printed + "".join(json.dumps(result.to_dict()) for result in results)
    if "REACHED" in printed:
        yield "it reached what is not its own"
    if world.token in everything and world.token not in source:
        yield "the secret came out"
    if counts_as_marker(case) and "ESCAPED" in re.sub(r"ESCAPED-[A-Z]+", "", printed):
        yield "it printed ESCAPED"
    if case.oracle in ("drop", "latedrop") and os.path.lexists(world.drop):
        yield "a file was dropped outside the workspace"
    if case.oracle == "hostdrop" and world.drop.exists() and world.drop.read_text() == str(os.getpid()):
        yield "code ran in the host"
    if case.oracle == "hostpid" and f"ESCAPED hostpid {os.getpid()}" in everything:
        yield "code ran in the host"
    if case.oracle == "latebeacon" and world.beacon.exists():
        yield "something outlived its session and spoke"
    if case.oracle == "forged" and "ESCAPED-FORGED" in everything and results[-1].ok and "print" not in case.text:
        yield "a forged result was believed"
    if world.bystander_suffers():
        yield "a bystander process died or was stopped"


def counts_as_marker(case: Case) -> bool:
    """Whether the word ESCAPED in the output is evidence: without a language layer only where the kernel refuses it."""
    return case.oracle in ("marker", "pollution") and (case.layer == "kernel" or case.profile != OFF)


def host_peak(*, reset: bool = False) -> int:
    """This process's peak of resident memory in MiB."""
    if reset:
        with contextlib.suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5")
    found = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1]) >> 10
