"""A sandbox: what opening, closing and misusing one does."""

from __future__ import annotations

import threading
from pathlib import Path
from time import monotonic
from typing import Any

import psutil
import pytest

from safeexec import Policy, PolicyError, ProtectionError, Sandbox, SandboxClosed, machine_protection
from safeexec.engine.host.children import Children
from safeexec.engine.host.patience import patient
from safeexec.engine.host.session.runner import READY_SECONDS
from safeexec.engine.host.waiting import drive
from safeexec.engine.policy.settings import PROTECTIONS
from tests.alone import alone
from tests.chaos.faults import children_of, zygote_of
from tests.footprint import DEADLINE_SECONDS, footprint, leaks, until


def test_the_expression_profile_runs_expressions(sandbox_for) -> None:  # type: ignore[no-untyped-def]
    sandbox = sandbox_for("expression")
    assert sandbox.run("2 ** 10").value == 1024
    assert sandbox.run("x = 1").outcome == "rejected"


def test_spare_children_are_new_sessions(profile: str) -> None:
    """A session that gets a child made ahead sees nothing of the session before it, nor of the warm-up runs."""
    with Sandbox(profile, spare=2) as sandbox:
        for _ in range(6):
            with sandbox.session() as session:
                assert list(session.namespace) == []
                assert session.run("x").error.type == "NameError"  # type: ignore[union-attr]
                assert session.run("x = 1").ok


@pytest.mark.parametrize("profile", ["calculator", "confined-python"])
def test_a_spare_child_that_is_made_while_the_sandbox_closes_goes_with_it(
    profile: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another thread closes it right after the child was asked for."""
    before = footprint()
    spawn = Children.spawn

    def closing(children: Children, *given: Any) -> Any:
        made = spawn(children, *given)
        closer = threading.Thread(target=drive, args=(sandbox._core.close(),))
        closer.start()
        closer.join()
        return made

    sandbox = Sandbox(profile, spare=1)
    monkeypatch.setattr(Children, "spawn", closing)
    sandbox.open()
    with pytest.raises(SandboxClosed):
        sandbox.session()
    assert not leaks(before)


def test_a_spare_child_that_died_is_nobodys_session(profile: str) -> None:
    with Sandbox(profile, spare=1) as sandbox:
        zygote = zygote_of(sandbox)
        for _ in range(3):
            until(lambda: children_of(zygote))
            spares = [psutil.Process(pid) for pid in children_of(zygote)]
            for spare in spares:
                spare.kill()
            psutil.wait_procs(spares, timeout=DEADLINE_SECONDS)
            assert sandbox.run("1 + 1").value == 2


def test_a_child_that_comes_up_renews_the_deadline_of_those_behind_it(monkeypatch: pytest.MonkeyPatch) -> None:
    now = monotonic()
    with Sandbox("calculator") as sandbox:
        children = sandbox._core.children
        monkeypatch.setattr("safeexec.engine.host.children.monotonic", lambda: now)
        opening = children.new_child(children.policy, None, (1, 2))
        assert next(opening).deadline == now + patient(READY_SECONDS)
        now += patient(READY_SECONDS)
        children._came_up = now  # one that was asked for before
        assert opening.send(False).deadline == now + patient(READY_SECONDS)
        now += patient(READY_SECONDS)
        with pytest.raises(ProtectionError, match=f"no child .* ready in {patient(READY_SECONDS):.3g} s"):
            opening.send(False)


def test_closing_twice_is_harmless_and_only_an_open_sandbox_runs_anything(profile: str) -> None:
    sandbox = Sandbox(profile).open()
    sandbox.close()
    sandbox.close()
    for one, told in ((sandbox, "closed"), (Sandbox(), "not open")):
        with pytest.raises(SandboxClosed, match=told):
            one.run("1")


def test_a_first_open_that_fails_leaves_neither_process_nor_descriptor() -> None:
    """In a new process: only a first open asks what the machine can do."""
    program = """
import ctypes  # a newer libffi opens its own file for the first callback, and keeps it open
import os
from safeexec import PolicyError, Sandbox

before = len(os.listdir("/proc/self/fd"))
try:
    Sandbox("no such profile").open()
except PolicyError:
    print(len(os.listdir("/proc/self/fd")) - before)
try:
    print(os.waitpid(-1, os.WNOHANG))
except ChildProcessError:
    print("no child")
"""
    done = alone(program, check=True)
    assert done.stdout.split("\n") == ["0", "no child", ""]


def test_a_session_may_be_held_tighter_never_looser_and_files_need_a_workspace(sandbox: Sandbox) -> None:
    for told, ask in {
        "memory_mb can only be lowered": lambda: sandbox.session(memory_mb=1 << 15),
        "label= says whose": lambda: sandbox.session(name="ada"),  # type: ignore[call-arg]
        "another policy": lambda: sandbox.session(imports={"random": "none"}),
        r"^session\(\): limits\.memory_mb: expected int >= 16": lambda: sandbox.session(memory_mb=1),
        r"^template\(\): limits\.memory_mb: expected int >= 16": lambda: sandbox.template("small", memory_mb=1),
        r"filesystem\.workspace": lambda: Sandbox("calculator", files={"a.txt": b"x"}).open(),
        "files= needs a workspace": lambda: sandbox.template("data", files={"a": b""}),
    }.items():
        with pytest.raises(PolicyError, match=told):
            ask()


FIRST_OPEN = """
import asyncio, sys, threading
from safeexec import AsyncSandbox

class Seen:
    def find_spec(self, name, *_):
        if threading.current_thread() is threading.main_thread() or name == "hashlib":
            seen.append(name)

async def main():
    async with AsyncSandbox("calculator") as sandbox:
        assert (await sandbox.run("1 + 1")).value == 2

seen = []
sys.meta_path.insert(0, Seen())
asyncio.run(main())
print([name for name in seen if name.startswith("safeexec.engine.host.session") or name == "hashlib"])
"""


def test_a_first_open_imports_on_no_event_loop_and_not_what_it_does_without() -> None:
    ran = alone(FIRST_OPEN, check=True)
    assert ran.stdout.split() == ["[]"]


def test_a_library_that_does_not_fit_into_memory_is_no_refusal() -> None:
    pytest.importorskip("PIL", reason="pillow is not installed")
    policy = Policy.load("calculator").replace(memory_mb=24, imports={"PIL": "all"})
    with Sandbox(policy) as sandbox:
        result = sandbox.run("data = bytes(17 << 20)\nfrom PIL import Image")
        assert (result.outcome, result.error.rule) == ("memory", None) and "memory" in result.error.hint
        assert sandbox.run("from PIL import Image").ok


def test_a_library_that_is_imported_late_finds_its_fonts_and_leaves_nothing() -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    with Sandbox("confined-python") as sandbox, sandbox.session() as session:
        result = session.run("import matplotlib.pyplot as plt\nplt.plot([1])\nplt.show()", timeout=120)
        assert (result.outcome, result.stderr, len(result.displays)) == ("ok", "", 1)
        assert session.list_files() == []


def test_a_mechanism_that_is_missing_is_named_with_the_line_that_asks_for_it(tmp_path: Path) -> None:
    inactive = [mechanism.name for mechanism in machine_protection() if not mechanism.active]
    asked = next((name for name in PROTECTIONS if name in inactive), None)
    if asked is None:
        pytest.skip("this machine has every mechanism")
    path = tmp_path / "mine.yaml"
    path.write_text(f"extends: calculator\nrequire:\n  add:\n    - {asked}\n")
    with pytest.raises(ProtectionError, match=rf"requires: {asked} .* \(mine.yaml:4\) to accept less"), Sandbox(path):
        pass
    unwritten = Policy(name="mine", require=("seccomp", asked))
    with pytest.raises(ProtectionError, match=r"Write `require: \[seccomp\]` into the policy"), Sandbox(unwritten):
        pass
