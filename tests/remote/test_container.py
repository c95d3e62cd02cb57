"""A sandbox in a container: by name on Linux, by itself elsewhere. The engine is one of ours, that holds nothing; with
SAFEEXEC_TESTS_IMAGE set, the engine of this machine runs the image of `safeexec container build`.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from safeexec import AsyncSandbox, Policy, ProtectionError, Sandbox, SandboxClosed, SandboxError
from safeexec.engine.host.faces import blocking
from safeexec.remote import container
from safeexec.remote.container import NOT_OFFERED, OPTIONS
from tests.footprint import pause
from tests.test_elsewhere import _there

REAL = bool(os.environ.get("SAFEEXEC_TESTS_IMAGE"))
ENGINE = f"{sys.executable} {Path(__file__).with_name('engine.py')}"
ours = pytest.mark.skipif(REAL, reason="of the engine that stands for one")


@pytest.fixture(autouse=True)
def engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    if not REAL:
        monkeypatch.setenv("SAFEEXEC_ENGINE", ENGINE)
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    yield
    while container._started:
        container._started.pop().close()


def test_steps_states_and_files(tmp_path: Path) -> None:
    (tmp_path / "tree" / "deep").mkdir(parents=True)
    (tmp_path / "tree" / "deep" / "a.txt").write_text("of the host")
    files = {"given": tmp_path / "tree", "b.bin": b"12"}
    with Sandbox("confined-python", engine="container", files=files) as sandbox, sandbox.session() as session:
        assert session.run("x = [1, 2]\nsum(x)").value == 3
        assert session.run("open('given/deep/a.txt').read() + open('b.bin').read()").value == "of the host12"
        killed = session.run("x.append(3)\nwhile True: pass", timeout=0.5)
        assert (killed.outcome, killed.state, session.get("x")) == ("timeout", "restored", [1, 2])
        session.run("open('out.txt', 'w').write('back')").check()
        assert session.read_file("out.txt") == b"back"
        session.checkpoint("here")
        session.run("x = 0")
        session.rollback("here")
        (branch,) = session.branch(1)
        with branch:
            assert branch.run("len(x)").value == 2
        assert session.run("open('/etc/passwd').read()").outcome in ("violation", "error")
        session.save(tmp_path / "state")
        with sandbox.restore(tmp_path / "state") as again:
            assert again.get("x") == [1, 2]
        assert "in a container, open" in repr(sandbox)


def test_every_profile_and_a_policy_of_ones_own() -> None:
    for name in ("calculator", "standard", "plugin", "confined-python"):
        with Sandbox(name, engine="container") as sandbox:
            assert sandbox.run("1 + 1").value == 2
            refused = sandbox.run("import socket\nsocket.socket()")
            assert not refused.ok
    policy = Policy.from_yaml(
        "extends: calculator\nimports: {random: none}\nhints: {random: Use a fixed list.}", name="mine"
    )
    with Sandbox(policy, engine="container") as sandbox:
        assert sandbox.policy.name == "mine"
        refused = sandbox.run("import random")
        assert refused.outcome == "rejected" and refused.error is not None
        assert refused.error.rule == policy.origin("imports.random")
        assert "fixed list" in str(refused.error.hint)


def test_sandboxes_share_a_container_which_stays() -> None:
    with Sandbox("calculator", engine="container") as one, Sandbox("standard", engine="container") as two:
        assert one._core._wire is two._core._wire  # type: ignore[attr-defined]
        wire = one._core._wire  # type: ignore[attr-defined]
        assert (one.run("1").value, two.run("2").value) == (1, 2)
    with Sandbox("calculator", engine="container") as three:
        assert three._core._wire is wire  # type: ignore[attr-defined]


def test_fifty_sessions_side_by_side() -> None:
    with Sandbox("calculator", engine="container") as sandbox:
        sessions = [sandbox.session() for _ in range(50)]
        with ThreadPoolExecutor(10) as threads:
            done = list(threads.map(lambda pair: pair[1].run(f"x = {pair[0]}\nx * x").value, enumerate(sessions)))
        assert done == [number * number for number in range(50)]
        assert sessions[7].get("x") == 7


def test_on_an_event_loop() -> None:
    async def main() -> None:
        async with AsyncSandbox("calculator", engine="container") as sandbox, sandbox.session() as session:
            assert (await session.run("6 * 7")).value == 42
            step = asyncio.create_task(session.run("while True: pass"))
            await asyncio.sleep(0.3)
            step.cancel()
            with pytest.raises(asyncio.CancelledError):
                await step
            assert (await session.run("1")).value == 1

    asyncio.run(main())


def test_a_container_that_is_killed_amid_a_step_is_told_and_the_next_sandbox_starts_another() -> None:
    with Sandbox("calculator", engine="container") as sandbox:
        session = sandbox.session()
        wire = sandbox._core._wire  # type: ignore[attr-defined]
        with ThreadPoolExecutor(1) as threads:
            step = threads.submit(session.run, "while True: pass", timeout=30)
            for _ in range(25):
                pause()
            wire._process.kill()
            with pytest.raises(SandboxClosed):
                step.result(20)
        with sandbox.open().session() as another:
            assert another.run("1 + 1").value == 2


@ours
@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ("no image", "image not known.*safeexec container build"),
        ("another version", "the image has safeexec 0.0.1, and this is"),
        ("hangs", "has not answered in time|reads nothing"),
    ],
)
def test_an_engine_that_fails_says_how(wrong: str, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAFEEXEC_TESTS_ENGINE", wrong)
    monkeypatch.setattr(container, "START_SECONDS", 1.0 if wrong == "hangs" else 60.0)
    monkeypatch.setattr("safeexec.remote.pipe.END_SECONDS", 0.2)
    with pytest.raises(ProtectionError, match=says), Sandbox("calculator", engine="container"):
        pass


def test_without_an_engine_it_says_how_to_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SAFEEXEC_ENGINE", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ProtectionError, match=r"install Podman .* or Docker, then `safeexec container build`"):
        Sandbox("calculator", engine="container").open()
    with pytest.raises(ValueError, match="there is 'container'"):
        Sandbox("calculator", engine="vm")  # type: ignore[arg-type]


def test_every_argument_of_a_sandbox_is_taken_or_named(tmp_path: Path) -> None:
    """The table: what is new in `Sandbox` must be in one of them."""
    taken = {"policy", "files", "engine", "requirements", *OPTIONS}
    names = set(blocking.SandboxFace.__init__.__kwdefaults__ or ())
    assert names - taken == set(NOT_OFFERED)
    given = {"tools": [len], "approval": lambda call: True, "audit": str(tmp_path / "log")}
    for name, value in given.items():
        with pytest.raises(SandboxError, match=f"{name}= is not offered in a container"):
            Sandbox("calculator", engine="container", **{name: value}).open()
    with Sandbox("calculator", engine="container") as sandbox, pytest.raises(SandboxError, match="plugins are not"):
        sandbox.plugin("x = 1")
    with pytest.raises(SandboxError, match="no network"):
        Sandbox("calculator", engine="container", requirements=["attrs"]).open()


def test_nothing_is_left_when_the_host_dies() -> None:
    program = (
        "from safeexec import Sandbox\nfrom safeexec.remote import container\n"
        "with Sandbox('calculator', engine='container') as s:\n"
        " print(container._started[0]._process.pid, flush=True)\n s.run('while True: pass', timeout=60)\n"
    )
    host = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert host.stdout is not None
    server = int(host.stdout.readline())
    host.send_signal(signal.SIGKILL)
    host.wait()
    host.stdout.close()
    for _ in range(1000):
        try:
            os.kill(server, 0)
        except ProcessLookupError:
            break
        pause()
    else:
        pytest.fail("the engine's process is still there")


_ELSEWHERE = """
from safeexec import Sandbox
with Sandbox("calculator") as sandbox, sandbox.session() as session:
    session.run("balance, rate = 0.0, 0.08").check()
    result = session.run("for month in range(120): balance = (balance + 500) * (1 + rate / 12)\\nround(balance, 2)")
    print(result.outcome, result.value)
    result = session.run("balance = -1\\nwhile True: pass", timeout=0.5)
    print(result.outcome, "in line", result.error.line, "- state:", result.state)
    print(round(session.get("balance"), 2))
from safeexec.agent import CodeAgent, ScriptedModel
replies = ["<execute_python>\\nimport math\\nmath.squrt(2)\\n</execute_python>", "It is 1.414214."]
result = CodeAgent(ScriptedModel(replies), "calculator").run("What is the square root of 2?")
print(result.steps[0].result.error.hint)
"""


@pytest.mark.parametrize("system", ["darwin", "win32"])
def test_elsewhere_every_sandbox_is_in_a_container(system: str) -> None:
    done = _there(system, _ELSEWHERE)
    assert done.stdout.splitlines() == [
        "ok 92082.84",
        "timeout in line 2 - state: restored",
        "92082.84",
        "Did you mean `math.sqrt`?",
    ]
