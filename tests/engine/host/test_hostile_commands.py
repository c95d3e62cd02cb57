"""Programs that a policy allows, with arguments that the guest chose: what they start ends, what they fill counts."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest

from safeexec import (
    AsyncSandbox,
    CommandResult,
    Policy,
    PolicyError,
    Sandbox,
    SandboxClosed,
    SandboxError,
    Session,
    WorkspaceError,
)
from safeexec.engine.host.startup.programs import executables
from tests.footprint import footprint, until

PYTHON = os.path.basename(os.path.realpath(sys.executable))


def allowing(program: str, **limits: int) -> Sandbox:
    """A sandbox whose policy allows one program."""
    policy = Policy.load("confined-python").replace(danger_allow_commands=(program,), **limits)
    return Sandbox(policy, spare=0)


@pytest.fixture(scope="module")
def commanding(_own_temporary_directory: None) -> Iterator[Sandbox]:
    with allowing(PYTHON, workspace_mb=64, memory_mb=256) as sandbox:
        yield sandbox


@pytest.fixture
def session(commanding: Sandbox) -> Iterator[Session]:
    with commanding.session() as session:
        yield session


def members(sandbox: Sandbox) -> set[int]:
    """The processes of a sandbox."""
    zygote = psutil.Process(sandbox._core.children.zygote.pid)  # type: ignore[union-attr]
    return {process.pid for process in zygote.children(recursive=True)}


# Each process is the parent of the next and gone soon; none is there for two looks.
RELAY = """
import os, time
for _ in range(30):
    if os.fork() == 0:
        while True:
            try:
                if os.fork():
                    time.sleep(0.0005)
                    os._exit(0)
            except OSError:
                pass
"""


def test_nothing_that_a_command_started_outlives_it(commanding: Sandbox, session: Session) -> None:
    before = members(commanding)
    for _ in range(2):
        session.command([PYTHON, "-c", RELAY], timeout=10)
    until(lambda: members(commanding) <= before)


@pytest.mark.parametrize("cwd", ["/etc", "..", "a/../..", "nowhere", "a/file", "a\0b", "\ud800"])
def test_a_command_begins_in_a_directory_of_the_workspace_or_not_at_all(session: Session, cwd: str) -> None:
    """There is one of the machine's names in it, too."""
    session.write_file("etc/b", b"")
    session.write_file("a/file", b"")
    with pytest.raises(
        WorkspaceError, match=r"inside the workspace|does not exist|a file or a link|cannot be the name"
    ):
        session.command([PYTHON, "-c", ""], cwd=cwd)
    assert session.command([PYTHON, "-c", "import os; print(os.listdir())"], cwd="./etc/").stdout == "['b']\n"


BURN = """
import time
while time.process_time() < 0.4: pass
open("burnt", "w").close()
"""


async def test_what_a_command_has_used_is_told_once_also_where_its_caller_leaves(commanding: Sandbox) -> None:
    async with AsyncSandbox(commanding.policy, spare=0) as sandbox, sandbox.session() as session:
        assert session.workspace is not None
        told = await session.command([PYTHON, "-c", BURN])
        assert session.untold_cpu < told.usage.cpu_ms / 2000
        (burnt := Path(session.workspace, "burnt")).unlink()
        running = asyncio.create_task(session.command([PYTHON, "-c", f"{BURN}while True: pass"]))
        await asyncio.to_thread(until, burnt.exists)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert session.untold_cpu >= 0.2, "as of the last look at it, a moment before"


def test_a_long_command_line_is_sent_whole(commanding: Sandbox, session: Session) -> None:
    """Longer than the socket's buffer: what follows it must not be read as its rest."""
    program = "import sys; print(len(sys.argv), len(''.join(sys.argv[1:])))"
    result = session.command([PYTHON, "-c", program, *["a" * 1000] * 900])
    assert result.stdout == "901 900000\n", result
    with commanding.session() as other:
        assert other.run("1 + 1").value == 2


@pytest.mark.parametrize("words", [["a" * 1000] * 2000, ["a" * (1 << 18)], ["\ud800"], ["a\0"]])
def test_a_command_line_that_no_system_takes_is_refused_before_it_is_sent(session: Session, words: list[str]) -> None:
    with pytest.raises(ValueError, match="argv"):
        session.command([PYTHON, *words])
    assert session.run("1 + 1").value == 2


@pytest.mark.parametrize("where", [".", "../tmp"])
def test_files_count_wherever_they_are(session: Session, where: str) -> None:
    """In the workspace, and where its temporary files are. What was too much is undone."""
    assert session.workspace is not None
    session.write_file("kept", b"1")
    fill = f"for n in range(4): open(f'{where}/{{n}}', 'wb').write(b'x' * (30 << 20))"
    assert session.command([PYTHON, "-c", fill]).outcome == "violation"
    assert session.list_files() == ["kept"]
    home = Path(session.workspace).parent
    assert sum(file.stat().st_size for file in home.rglob("*") if file.is_file()) < 1 << 20
    assert session.run("import os\nos.listdir()").value == ["kept"]


ELF = b"\x7fELF" + bytes((1, 1)) + bytes(58), b"\x7fELF" + bytes((2, 1)) + bytes(58)


@pytest.mark.parametrize(
    ("content", "others"),
    [
        (b"#!\n", []),
        (b"#!/usr/bin/env no-such-program\n", ["/usr/bin/env"]),
        (b"#!/usr/bin/env -S sh\n", ["/usr/bin/env", "/bin/sh"]),
        (ELF[0], []),
        (ELF[1], []),
        (ELF[1][:20], []),
    ],
    ids=["nobody's script", "env of nothing", "env", "32 bits", "static", "cut off"],
)
def test_every_file_that_a_program_needs_may_be_executed(content: bytes, others: list[str], tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_bytes(content)
    program.chmod(0o755)
    found = {os.path.realpath(path) for path in executables([str(program)])}
    wanted = {os.path.realpath(path) for path in (program, *others)}
    assert wanted <= found if others else wanted == found


def test_a_program_is_found_by_each_usual_path_that_leads_to_it() -> None:
    """As `subprocess` with `shell=True` takes /bin/sh, wherever the policy's `sh` was found."""
    usual = [path for path in ("/bin/sh", "/usr/bin/sh") if os.path.exists(path) and os.path.samefile(path, "/bin/sh")]
    assert set(usual) <= set(executables(["sh"]))
    script = "import subprocess; subprocess.run('echo ran', shell=True)"
    policy = Policy.load("confined-python").replace(danger_allow_commands=("sh", PYTHON))
    with Sandbox(policy) as sandbox:
        assert sandbox.command([PYTHON, "-c", script]).stdout == "ran\n"


def test_a_program_that_is_not_there_is_named(session: Session, tmp_path: Path) -> None:
    """When the policy is read; and when it is called, for it may have gone meanwhile."""
    program = tmp_path / "program"
    with pytest.raises(PolicyError, match="there is no program"):
        executables([str(program)])
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    with allowing(str(program)) as sandbox:
        program.unlink()
        with pytest.raises(PolicyError, match="there is no program"):
            sandbox.command([str(program)])
    for argv, timeout, told in ((["other"], None, "does not allow the command"), ([PYTHON], 1e9, "max_wall_seconds")):
        with pytest.raises(PolicyError, match=told):
            session.command(argv, timeout=timeout)


def test_a_command_whose_watcher_is_killed_has_crashed(commanding: Sandbox, session: Session) -> None:
    before = members(commanding)
    results: list[CommandResult] = []
    sleeps = [PYTHON, "-c", "import time; time.sleep(3600)"]
    calling = threading.Thread(target=lambda: results.append(session.command(sleeps, timeout=60)))
    calling.start()
    until(lambda: len(members(commanding) - before) >= 2)
    (watcher,) = (pid for pid in members(commanding) - before if psutil.Process(pid).ppid() in before)
    os.kill(watcher, signal.SIGKILL)
    calling.join()
    assert results[0].outcome == "crashed" and "watched the command" in results[0].message
    assert session.run("1 + 1").value == 2


def test_a_policy_lists_more_programs_than_a_session_may_open_files(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    for number in range(40):
        (program := tmp_path / f"p{number}").write_text(f"#!/bin/sh\necho {number}; ulimit -n\n")
        program.chmod(0o755)
    policy = Policy.load("confined-python").replace(
        danger_allow_commands=sorted(map(str, tmp_path.iterdir())), open_files=16
    )
    with Sandbox(policy, spare=0) as sandbox, sandbox.session() as session:
        most = session.run("import resource\nresource.getrlimit(resource.RLIMIT_NOFILE)[0]").check().value
        assert session.command([str(tmp_path / "p39")]).stdout == f"39\n{most}\n" and most < 64


@pytest.mark.parametrize("program", ["sh", "/bin/sh", "script"])
def test_a_program_may_be_a_link_or_named_through_one(program: str, tmp_path: Path) -> None:
    """`sh` is a link, as `/bin` is where it lies in `/usr`, and the first line of a script names it so."""
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\necho $0-$1\n")
    script.chmod(0o755)
    tmp_path.chmod(0o755)
    argv = [str(script), "1"] if program == "script" else [program, "-c", "echo $0-$1", "x", "1"]
    with allowing(argv[0]) as sandbox:
        result = sandbox.command(argv)
    assert (result.outcome, result.stdout) == ("ok", f"{script if program == 'script' else 'x'}-1\n")


PIPELINES = """
import os, signal
signal.signal(signal.SIGCHLD, lambda *_: None)
forks = 0
for _ in range(50):
    for _ in range(2):
        if os.fork() == 0:
            os._exit(0)
        forks += 1
    for _ in range(2):
        os.wait()
print(forks)
"""


@pytest.mark.parametrize("where", ["a command", "guest code"])
def test_a_child_that_ends_while_the_next_one_is_forked_interrupts_nothing(where: str) -> None:
    """fork(2) knows no EINTR: a shell with a handler of SIGCHLD that waited for the host said "Cannot fork"."""
    with allowing(PYTHON, processes=8) as sandbox:
        if where == "a command":
            result = sandbox.command([PYTHON, "-c", PIPELINES])
            assert (result.outcome, result.stdout) == ("ok", "100\n"), result
        else:
            assert sandbox.run(PIPELINES).check().stdout == "100\n"


AS_MAKE_DOES = {
    # The host ends all of its group in one call. The errno is one that timeout(1) and shells go on after.
    "stays in its group": (
        """
import os
for leave in (lambda: os.setpgid(0, 0)), os.setsid:
    try:
        leave()
    except OSError as error:
        print(error.errno)
""",
        "1\n1\n",
    ),
    "output to append, or without where that is refused": (
        """
import contextlib, fcntl, os
with contextlib.suppress(OSError):
    fcntl.fcntl(1, fcntl.F_SETFL, os.O_WRONLY | os.O_APPEND)
print("told")
""",
        "told\n",
    ),
    "others as the user that it is": (
        """
import os, sys
os.waitpid(os.posix_spawn(sys.executable, [sys.executable, "-c", "print(1)"], os.environ, resetids=True), 0)
for ids in [(0, -1, -1), (-1, 0, -1), (-1, -1, 0)]:
    for change in os.setresuid, os.setresgid:
        try:
            change(*ids)
        except OSError:
            print("refused")
""",
        "1\n" + "refused\n" * 6,
    ),
}


@pytest.mark.parametrize(("program", "told"), AS_MAKE_DOES.values(), ids=AS_MAKE_DOES)
def test_a_program_asks_of_its_process_what_shells_and_make_do(session: Session, program: str, told: str) -> None:
    if "setresuid" in program and not any(row.active for row in session.protection if row.name == "unprivileged-user"):
        pytest.skip("guests run as root here, who may be root")
    result = session.command([PYTHON, "-c", program])
    assert (result.outcome, result.stdout) == ("ok", told)


def test_a_flood_is_told_as_one_however_it_ends(session: Session) -> None:
    """Between two looks of the host the program comes to the end of its output, and fails by itself."""
    result = session.command([PYTHON, "-c", "import os\nwhile True: os.write(1, b'x' * (1 << 20))"])
    assert (result.outcome, result.truncated) == ("output", True) and "limits.output_kb" in result.message


def test_a_command_that_cannot_be_started_leaves_no_output_open() -> None:
    with allowing(PYTHON) as sandbox:
        psutil.Process(sandbox._core.children.zygote.pid).kill()  # type: ignore[union-attr]
        until(lambda: not sandbox._core.children.alive)
        before = outputs()
        for _ in range(3):
            with pytest.raises(SandboxError):
                sandbox.command([PYTHON, "-c", ""])
        assert outputs() == before


def outputs() -> dict[str, int]:
    """The files behind standard streams that this process has open, by name."""
    return {name: number for name, number in footprint().descriptors.items() if name.startswith("/memfd:std")}


def test_more_commands_at_once_than_a_child_may_have_descriptors_for() -> None:
    """What is on its way to the process that makes them counts against nobody's limit."""
    with allowing("true", open_files=16) as sandbox, ExitStack() as opened:
        sessions = [opened.enter_context(sandbox.session()) for _ in range(40)]
        with ThreadPoolExecutor(len(sessions)) as callers:
            results = list(callers.map(lambda session: session.command(["true"], timeout=60), sessions))
    assert {result.outcome for result in results} == {"ok"}


def test_the_end_of_what_makes_the_commands_is_told() -> None:
    with allowing("true") as sandbox:
        (maker,) = members(sandbox) - {sandbox._core.children.reapers[1]}
        os.kill(maker, signal.SIGKILL)
        with sandbox.session() as session:
            with pytest.raises(SandboxClosed, match="reopen the sandbox"):
                until(lambda: session.command(["true"], timeout=60) is None)
            assert session.run("1 + 1").value == 2
        sandbox.reopen()
        with sandbox.session() as session:
            assert session.command(["true"], timeout=60).outcome == "ok"


@pytest.mark.parametrize("how", ["cancel", "session", "sandbox"])
def test_a_command_ends_with_what_it_runs_in(how: str) -> None:
    with allowing("sleep") as sandbox, ThreadPoolExecutor(1) as callers:
        session = sandbox.session()
        before = members(sandbox)
        command = callers.submit(session.command, ["sleep", "3600"])
        until(lambda: len(members(sandbox) - before) >= 2)
        end = {"cancel": session.cancel, "session": session.close, "sandbox": sandbox.close}[how]
        end()
        result = command.result(timeout=60)
        assert result.outcome == "cancelled", result


def test_each_command_has_limits_of_its_own() -> None:
    """What makes them is held to none: the CPU time of all would be its own."""
    limit = "import resource; print(resource.getrlimit(resource.RLIMIT_CPU)[1])"

    def cpu_limit(pid: int) -> list[str]:
        return [line for line in Path(f"/proc/{pid}/limits").read_text().splitlines() if line.startswith("Max cpu")]

    with allowing(PYTHON, cpu_seconds=1) as sandbox:
        (maker,) = members(sandbox) - {sandbox._core.children.reapers[1]}
        assert cpu_limit(maker) == cpu_limit(os.getpid())
        assert sandbox.command([PYTHON, "-c", limit]).stdout == "2\n"


@pytest.mark.parametrize(
    ("limits", "program", "outcome"),
    [
        ({"wall_seconds": 0.2}, "import time; time.sleep(3600)", "timeout"),
        ({"cpu_seconds": 0.2}, "while True: pass", "cpu"),
        ({"memory_mb": 64}, "import time; kept = b'x' * (200 << 20); time.sleep(3600)", "memory"),
        ({"output_kb": 1}, "print('x' * (1 << 16))", "output"),
        ({"workspace_mb": 1}, "import time; open('f', 'wb').write(bytes(3 << 20)); time.sleep(3600)", "violation"),
    ],
)
def test_the_limits_of_a_session_hold_its_commands(
    commanding: Sandbox, limits: dict[str, float], program: str, outcome: str
) -> None:
    with commanding.session(**limits) as session:
        assert session.command([PYTHON, "-c", program]).outcome == outcome


REMOVED = """
import os, time
held = []
for number in range(12):
    held.append(os.open("f", os.O_CREAT | os.O_WRONLY))
    os.unlink("f")
    os.write(held[-1], b"x" * (8 << 20))
time.sleep(3600)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user's host may not look at what its guests have open")
def test_removed_files_count_while_they_are_open(session: Session) -> None:
    result = session.command([PYTHON, "-c", REMOVED], timeout=30)
    assert result.outcome == "violation" and "of them in removed ones" in result.message
