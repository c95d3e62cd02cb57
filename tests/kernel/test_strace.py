"""What the kernel sees of a calculator's steps: the system calls of its processes, against the table they may make."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from safeexec import Policy
from safeexec.engine.host.startup.confinement import plan
from safeexec.engine.syscalls.table import rules_for
from tests.alone import importing

PROGRAMS = Path(__file__).parents[1] / "programs"
STRACE = shutil.which("strace")
HOST = """
import sys
from contextlib import suppress
from pathlib import Path
from safeexec import CheckpointError, Sandbox

with Sandbox("calculator", spare=1) as sandbox:
    for path in sys.argv[1:]:
        with sandbox.session(checkpoints="before-step") as session:
            session.run(Path(path).read_text())
            session.run("1 / 0")
            session.run("[0, 1][2]\\nundefined")
            session.run("from zoneinfo import ZoneInfo; ZoneInfo('Asia/Tokyo'), 'x'.encode('cp1250')")
            session.namespace["given"] = [1.5, {"a": 2}]
            session.run("x = given[1]; x")
            session.run("while True: pass", timeout=0.2)
            session.run("bytearray(1 << 40)")
            with suppress(CheckpointError):  # traced processes are slow: a copy may not freeze in time
                session.checkpoint("here")
                session.rollback("here")
                for branch in session.branch(2):
                    branch.run("x['b'] = 3; x")
                    branch.close()
"""
_LINE = re.compile(r"(\d+) +(?:<\.\.\. )?(\w+)(.*)")
_FORKED = re.compile(r"= (\d+)(?: /\* (\d+) in strace)?")
TRIES = 3
"""strace 6.1 gives up where a process that it has just stopped is killed (PTRACE_LISTEN: EIO): once in some runs."""
ZYGOTE = "zygote-ready"
"""What only the process says that forks the children of sessions."""
_REFUSED = re.compile(r"= -1 EPERM")


def traced(directory: Path, *arguments: str) -> dict[str, list[tuple[str, str]]]:
    """(call, the rest of its line) of each child of a zygote from its filter on, and of all that it forks."""
    assert STRACE is not None
    log = directory / "strace.log"
    command = [STRACE, "-f", "-qq", "--decode-pids=pidns", "-o", str(log), sys.executable, *arguments]
    for _ in range(TRIES):
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=importing())
        if not (done.returncode and done.stderr.startswith(f"{STRACE}: ptrace(")):
            break
    assert done.returncode == 0, done.stderr
    lines: dict[str, list[tuple[str, str]]] = {}
    for line in log.read_text(errors="replace").splitlines():
        if found := _LINE.match(line):
            lines.setdefault(found[1], []).append((found[2], found[3]))
    filtered: dict[str, list[tuple[str, str]]] = {}
    parents = [pid for pid, made in lines.items() if any(call == "sendmsg" and ZYGOTE in rest for call, rest in made)]
    while parents:
        for call, rest in lines[parents.pop()]:
            if call in ("clone", "fork", "vfork") and (child := _FORKED.search(rest)):
                pid = child[2] or child[1]
                if pid in lines and pid not in filtered:
                    last = max((index for index, (made, _) in enumerate(lines[pid]) if made == "seccomp"), default=-1)
                    filtered[pid] = lines[pid][last + 1 :]
                    parents.append(pid)
    return filtered


@pytest.mark.slow
@pytest.mark.skipif(STRACE is None, reason="strace (a Debian package) is not installed")
def test_a_calculator_makes_no_call_outside_its_list(tmp_path: Path) -> None:
    programs = sorted(map(str, PROGRAMS.glob("calc_*.py")))[:8]
    children = traced(tmp_path, "-c", HOST, *programs)
    allowed = {name for name, rule in rules_for(plan(Policy.load("calculator")).child).items() if rule.alternatives}
    assert len(children) > 5 * len(programs), "strace saw no forks: the test would show nothing"
    made = {call for calls in children.values() for call, _ in calls}
    assert {"clone", "recvmsg"} <= made
    assert made <= allowed, sorted(made - allowed)
    assert not [line for calls in children.values() for _, line in calls if _REFUSED.search(line)]


@pytest.mark.slow
@pytest.mark.skipif(STRACE is None, reason="strace (a Debian package) is not installed")
def test_a_refused_call_would_be_seen(tmp_path: Path) -> None:
    script = """
from safeexec import Sandbox
with Sandbox("confined-python") as sandbox:
    sandbox.run("import socket; socket.socket()")
"""
    children = traced(tmp_path, "-c", script)
    assert "socket" in [call for calls in children.values() for call, line in calls if _REFUSED.search(line)]
