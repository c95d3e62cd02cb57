"""A sandbox in a container: by name on Linux, by itself elsewhere. The engine is one of ours, that holds nothing; with
SAFEEXEC_TESTS_IMAGE set, the engine of this machine runs the image of `safeexec container build`.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from safeexec import (
    CheckpointError,
    Policy,
    PolicyError,
    ProtectionError,
    Sandbox,
    SandboxClosed,
    SandboxError,
    Session,
    SessionClosed,
    StepFailed,
    tool,
)
from safeexec.api import blocking
from safeexec.remote import container
from safeexec.remote.container import OPTIONS
from tests.alone import ran
from tests.footprint import pause, until
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
        wire = container._started.pop()
        wire.close()
        assert not REAL or wire._name not in _containers()


def test_steps_and_files(tmp_path: Path) -> None:
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
        assert session.run("open('/etc/passwd').read()").outcome in ("violation", "error")
        assert "in a container, open" in repr(sandbox)


def test_profiles_a_policy_of_ones_own_and_two_sandboxes_in_one_container() -> None:
    for name in ("calculator", "confined-python"):
        with Sandbox(name, engine="container") as sandbox:
            assert sandbox.run("1 + 1").value == 2
            refused = sandbox.run("import socket\nsocket.socket()")
            assert not refused.ok
    policy = Policy.from_yaml("extends: calculator\nimports: {random: none}\nhints: {random: a list}", name="mine")
    with Sandbox(policy, engine="container") as sandbox:
        assert sandbox.policy.name == "mine"
        refused = sandbox.run("import random")
        assert refused.outcome == "rejected" and refused.error is not None
        assert refused.error.rule == policy.origin("imports.random")
        assert "a list" in str(refused.error.hint)
    with Sandbox("calculator", engine="container") as one, Sandbox("standard", engine="container") as two:
        assert one._core._wire is two._core._wire  # type: ignore[attr-defined]
        wire = one._core._wire  # type: ignore[attr-defined]
        assert (one.run("1").value, two.run("2").value) == (1, 2)
    with Sandbox("calculator", engine="container") as three:
        assert three._core._wire is wire  # type: ignore[attr-defined]


def _containers() -> list[str]:
    """The names of the containers that the engine of this machine has."""
    return ran([*container.engine(), "ps", "--all", "--format", "{{.Names}}"]).stdout.split()


def test_a_container_that_is_killed_amid_a_step_is_told_and_the_next_sandbox_starts_another(tmp_path: Path) -> None:
    with Sandbox("calculator", engine="container") as sandbox:
        session = sandbox.session()
        session.run("x = 1").check()
        session.save(tmp_path / "state")
        wire = sandbox._core._wire  # type: ignore[attr-defined]
        with ThreadPoolExecutor(1) as threads:
            step = threads.submit(session.run, "while True: pass", timeout=60)
            for _ in range(25):
                pause()
            if REAL:
                ran([*container.engine(), "kill", wire._name], check=True)
            else:
                wire._process.kill()
            with pytest.raises(SandboxClosed, match=r"has ended; sandbox.open\(\) starts another"):
                step.result(60)
        for use in (lambda: session.run("x"), lambda: session.get("x"), sandbox.session):
            with pytest.raises(SandboxClosed):
                use()
        with sandbox.open().restore(tmp_path / "state") as another:
            assert another.run("x + 1").value == 2
        assert not REAL or wire._name not in _containers()


@pytest.mark.skipif(not REAL, reason="of a container's own file system")
def test_a_full_disk_is_told_and_costs_the_step_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    more = os.environ.get("SAFEEXEC_ENGINE_RUN", "")
    monkeypatch.setenv("SAFEEXEC_ENGINE_RUN", f"{more} --tmpfs /small:mode=1777,size=48m --env TMPDIR=/small")
    with Sandbox("confined-python", engine="container") as sandbox, sandbox.session() as session:
        session.run("x = 1\nopen('kept.txt', 'w').write('kept')").check()
        full = session.run(
            "x = 2\nwith open('large', 'wb') as file:\n    for _ in range(90): file.write(bytes(1 << 20))"
        )
        assert not full.ok
        with pytest.raises(SandboxError):
            session.write_file("more", bytes(47 << 20))
        session.run("import os\nif os.path.exists('large'): os.remove('large')")
        assert session.run("open('kept.txt').read()").value == "kept"
        with sandbox.session() as other:
            assert other.run("open('a', 'w').write('b')").ok


@pytest.mark.modules("pandas")
def test_data_analysis_has_its_libraries() -> None:
    """`safeexec container build` puts them in, unless `--extras` says otherwise."""
    with Sandbox("data-analysis", engine="container") as sandbox, sandbox.session() as session:
        session.write_file("sales.csv", "item,price\ntea,2\nmilk,3\n")
        assert session.run("import pandas as pd\nint(pd.read_csv('sales.csv').price.sum())").value == 5
        assert session.run("import numpy as np\nx = np.arange(4)").ok
        assert session.get("x").tolist() == [0, 1, 2, 3]


@ours
@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ("no image", "image not known.*safeexec container build"),
        ("another version", "the image has safeexec 0.0.1, and this is"),
        ("hangs", "(has not answered in time|reads nothing).* info` answers"),
    ],
)
def test_an_engine_that_fails_says_how(wrong: str, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAFEEXEC_TESTS_ENGINE", wrong)
    monkeypatch.setattr(container, "START_SECONDS", 1.0 if wrong == "hangs" else 60.0)
    monkeypatch.setattr("safeexec.remote.pipe.END_SECONDS", 0.2)
    with pytest.raises(ProtectionError, match=says), Sandbox("calculator", engine="container"):
        pass


@ours
def test_an_image_is_built_of_a_source_tree_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    information = tmp_path / "safeexec-0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: safeexec\nVersion: 0\n")
    builder = tmp_path / "builder.py"
    builder.write_text(
        "import glob, sys, zipfile\n"
        "(wheel,) = glob.glob(sys.argv[-1] + '/*.whl')\n"
        "print(*zipfile.ZipFile(wheel).namelist())\n"
    )
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path]))
    monkeypatch.setenv("SAFEEXEC_ENGINE", f"{sys.executable} {builder}")
    source = Path(__file__).parents[2]
    build = [sys.executable, "-m", "safeexec", "container", "build"]
    names = ran(build, cwd=source, check=True).stdout.split()
    assert len(names) == len(set(names))
    for name in ("safeexec/__init__.py", "safeexec/policies/__init__.py", "safeexec/policies/calculator.yaml"):
        assert name in names


def test_without_an_engine_it_says_how_to_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SAFEEXEC_ENGINE", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ProtectionError, match=r"install Podman .* or Docker, then `safeexec container build`"):
        Sandbox("calculator", engine="container").open()
    with pytest.raises(ValueError, match="there is 'container'"):
        Sandbox("calculator", engine="vm")  # type: ignore[arg-type]


def test_every_argument_of_a_sandbox_is_taken() -> None:
    taken = {"policy", "files", "tools", "approval", "audit", "engine", "requirements", "store", "durable", *OPTIONS}
    assert set(blocking.SandboxAPI.__init__.__kwdefaults__ or ()) | {"policy"} == taken


def opening(**given: Any) -> Callable[[Sandbox, Session], object]:
    return lambda *_: Sandbox("calculator", engine="container", **given).open()


@tool(effect="deferred")
def deferred() -> None:
    """Nothing."""


NOT_OFFERED: dict[str, tuple[Callable[[Sandbox, Session], object], str]] = {
    "requirements=": (opening(requirements=["attrs"]), "a container, which has no network"),
    "store=": (opening(store="sessions"), "not in a container"),
    "tools with effects": (opening(tools=[deferred]), "called where the session is, alone"),
    "record=": (lambda sandbox, session: sandbox.session(record=True), "recorded where they run"),
    "history()": (lambda sandbox, session: session.history(), "recorded where they run"),
    "pending()": (lambda sandbox, session: session.pending(), "carried out where the tools are"),
    "adopt()": (lambda sandbox, session: session.adopt(), "carried out where the tools are"),
    "plugin()": (lambda sandbox, session: sandbox.plugin("x = 1"), "plugins are not offered"),
    "template(prepare=FUNCTION)": (lambda sandbox, session: sandbox.template("t", prepare=bool), "by a program"),
    "Sandbox.command": (lambda sandbox, session: sandbox.command(["ls"]), "in the workspace of a session"),
}
"""The table of what a sandbox here does and one in a container does not, each with the words of its error."""


def test_what_is_not_offered_says_so() -> None:
    page = (Path(container.__file__).parents[1] / "docs" / "operations.md").read_text()
    listed = page.partition("Not offered, with an error that says so:")[2].partition(".\n")[0]
    with Sandbox("calculator", engine="container") as sandbox, sandbox.session() as session:
        for name, (operation, words) in NOT_OFFERED.items():
            with pytest.raises(SandboxError, match=words):
                operation(sandbox, session)
            assert name.strip("()=") in listed


def test_sessions_begin_in_a_template(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("of the host")
    with Sandbox("confined-python", engine="container", files={"b.txt": b"of the sandbox"}) as sandbox:
        program = "text = open('a.txt').read() + ', ' + open('b.txt').read()\nopen('b.txt', 'w').write('changed')"
        row = sandbox.template("prepared", prepare=program, files={"a.txt": tmp_path / "a.txt"}, branches=5)
        assert (row.name, row.sessions, row.prepared) == ("prepared", 0, 1)
        with sandbox.session(template="prepared") as one, sandbox.session(template="prepared") as two:
            assert one.run("text = text.upper()\nopen('b.txt').read()").value == "changed"
            assert two.get("text") == "of the host, of the sandbox"
            assert [row.sessions for row in sandbox.templates()] == [2]
            one.rollback("prepared")
            assert one.get("text") == two.get("text")
        with pytest.raises(StepFailed, match="could not be prepared"):
            sandbox.template("bad", prepare="1 / 0")
        with pytest.raises(CheckpointError, match="no template 'bad'"):
            sandbox.session(template="bad")
        sandbox.drop_template("prepared")
        assert sandbox.templates() == []


def test_a_session_is_found_by_its_label_until_it_is_closed(tmp_path: Path) -> None:
    with Sandbox("confined-python", engine="container", files={"b.txt": b"of the sandbox"}) as sandbox:
        with pytest.raises(SessionClosed, match="no session of 'alice'"):
            sandbox.session_for("alice", new=False)
        with ThreadPoolExecutor(4) as threads:
            found = list(threads.map(lambda _: sandbox.session_for("alice", namespace={"x": 1}), range(4)))
        found[0].run("x += 1").check()
        assert [one.get("x") for one in found] == [2] * 4
        assert sandbox.session_for("alice", new=False).run("open('b.txt').read()").value == "of the sandbox"
        with pytest.raises(PolicyError, match="other keywords"):
            sandbox.session_for("alice", memory_mb=64)
        found[1].save(tmp_path / "state")
        with sandbox.session() as other, sandbox.session_for("bob", restore=tmp_path / "state") as bob:
            assert (bob.get("x"), bob.run("open('b.txt').read()").value) == (2, "of the sandbox")
            until(lambda: sandbox.stats().idle == 3)  # the server answers a step before it is done with it
            counted = sandbox.stats()
            assert other.run("1").ok
        assert counted.open == 3
        assert {label: row.open for label, row in counted.by_label.items()} == {"alice": 1, "bob": 1, None: 1}
        found[2].close()
        assert sandbox.session_for("alice", restore=tmp_path / "nothing").get("x") is None
        with pytest.raises(SessionClosed):
            found[3].run("x")


def test_an_audit_log_is_written_here(tmp_path: Path) -> None:
    log = tmp_path / "audit.jsonl"
    with Sandbox("calculator", engine="container", audit=log) as sandbox:
        with sandbox.session(label="alice") as session:
            session.run("1 + 1")
            session.run("1 / 0")
        sandbox.run("import os")
    told = [json.loads(line) for line in log.read_text().splitlines()]
    assert [one["who"] for one in told] == ["alice", "alice", None]
    assert [one["outcome"] for one in told] == ["ok", "error", "rejected"]
    assert told[0]["source_bytes"] == 5 and told[0]["session"] == told[1]["session"] != told[2]["session"]


def test_nothing_is_left_when_the_host_dies_amid_a_step() -> None:
    program = (
        "from safeexec import Sandbox\nfrom safeexec.remote import container\n"
        "with Sandbox('calculator', engine='container') as sandbox, sandbox.session() as session:\n"
        " wire = container._started[0]\n tell = lambda _: print(wire._process.pid, wire._name, flush=True)\n"
        " session.run('print(1)\\nwhile True: pass', timeout=60, on_output=tell)\n"
    )
    host = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert host.stdout is not None
    process, name = host.stdout.readline().split()
    host.send_signal(signal.SIGKILL)
    host.wait()
    host.stdout.close()
    until(lambda: not os.path.exists(f"/proc/{process}") and not (REAL and name in _containers()), 40.0)


_ELSEWHERE = """
from safeexec import Sandbox, SandboxError
from safeexec.agent import CodeAgent, ScriptedModel
async def order(fruit: str) -> str: return fruit + " ordered"
with Sandbox("standard", tools=[order]) as sandbox, sandbox.session() as session:
    print(session.run("balance = -1\\nwhile True: pass", timeout=0.5).state, session.run("order('pear')").value)
    try:
        sandbox.plugin("def f(): return 1")
    except SandboxError as error:
        print(str(error).partition(":")[0])
replies = ["<execute_python>\\nimport math\\nmath.squrt(2)\\n</execute_python>", "It is 1.414214."]
result = CodeAgent(ScriptedModel(replies), "calculator").run("What is the square root of 2?")
print(result.steps[0].result.error.hint)
"""


_TERMINAL = """
import io
from safeexec.cli import main
sys.stdin = io.StringIO("x = 2\\nx + 1\\n:history\\n:rollback\\n:vars\\n")
sys.exit(main(sys.argv[2:]))
"""


def test_elsewhere_the_terminal_has_all_but_what_is_recorded(tmp_path: Path) -> None:
    done = _there("darwin", _TERMINAL, "repl", "--policy", "calculator", cwd=tmp_path)
    assert done.stdout.splitlines()[:1] == ["3"] and "x" in done.stdout.splitlines()[-1]
    assert "recorded where they run" in done.stderr


def test_elsewhere_every_sandbox_is_in_a_container(tmp_path: Path) -> None:
    done = _there("win32", _ELSEWHERE, cwd=tmp_path)
    assert done.stdout.splitlines() == [
        "restored pear ordered",
        "plugins are not offered over a connection or in a container",
        "Did you mean `math.sqrt`?",
    ]
