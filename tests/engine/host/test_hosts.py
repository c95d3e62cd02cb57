"""Hosts as they are in the wild: preforking servers, task queues, notebooks, disks without room. Each with the real
program, where it is installed.
"""

from __future__ import annotations

import http.client
import importlib.util
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Any

import psutil
import pytest

from safeexec.engine.host.files.tree import PREFIX
from tests.alone import alone, importing, ran
from tests.footprint import pause

ROOT = Path(__file__).parents[3]
STARTED_SECONDS = 60.0
"""How long a server of others may take to start and to end."""

WORKER = '''
"""A web application and a task queue that open their sandbox too early: at import, before the worker is forked."""
import json, os
from safeexec import Sandbox, SandboxClosed

opened_in = os.getpid()
sandbox = Sandbox("calculator", tools={"add": lambda a, b: a + b}).open()
assert sandbox.run("1").value == 1

def answer():
    told = None
    try:
        value = sandbox.run("add(1, 41)").value
    except SandboxClosed as error:
        told = str(error)
        value = sandbox.reopen().run("add(1, 41)").value
    return {"value": value, "told": told, "forked": os.getpid() != opened_in}
'''
WSGI = """
def application(environ, start_response):
    start_response("200 OK", [("Content-Type", "application/json")])
    return [json.dumps(answer()).encode()]
"""
ASGI = """
from safeexec import AsyncSandbox

own = AsyncSandbox("calculator")

async def application(scope, receive, send):
    if scope["type"] == "lifespan":
        while True:
            message = await receive()
            await (own.open() if message["type"] == "lifespan.startup" else own.close())
            await send({"type": message["type"] + ".complete"})
            if message["type"] == "lifespan.shutdown":
                return
    found = {**answer(), "awaited": (await own.run("6 * 7")).value}
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": json.dumps(found).encode()})
"""
CELERY = """
from celery import Celery

queue = Celery("worker", broker="filesystem://", backend="file://" + os.environ["QUEUE"] + "/results")
queue.conf.update(
    broker_transport_options={
        "data_folder_in": os.environ["QUEUE"] + "/tasks",
        "data_folder_out": os.environ["QUEUE"] + "/tasks",
        "control_folder": os.environ["QUEUE"] + "/control",
    },
    worker_enable_remote_control=False,
)
task = queue.task(answer, name="answer")
"""
BEFORE = "this sandbox was opened before the process forked; open one in each worker, or reopen() it"


@contextmanager
def running(command: list[str], directory: Path, **variables: str) -> Iterator[subprocess.Popen[bytes]]:
    """A program that is asked to end, must do so, and must leave no process behind."""
    log = directory / "log"
    with log.open("wb") as output:
        started = [sys.executable, "-m", *command]
        program = subprocess.Popen(started, cwd=directory, env=importing(**variables), stdout=output, stderr=output)
        family: list[psutil.Process] = []
        try:
            yield program
            family = psutil.Process(program.pid).children(recursive=True)
            program.send_signal(signal.SIGTERM)
            program.wait(STARTED_SECONDS)
        except BaseException:
            print(log.read_text(errors="replace"))
            raise
        finally:
            program.kill()
            program.wait()
    _, alive = psutil.wait_procs(family, STARTED_SECONDS)
    assert not alive


class _Local(http.client.HTTPConnection):
    """HTTP over a socket in the file system: no port to be taken."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost")
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(STARTED_SECONDS)
        self.sock.connect(str(self._path))


def asked(path: Path, program: subprocess.Popen[bytes]) -> Any:
    """What the server answers, as soon as it does."""
    deadline = monotonic() + STARTED_SECONDS
    while monotonic() < deadline:
        assert program.poll() is None, "the server ended"
        connection = _Local(path)
        try:
            connection.request("GET", "/")
            return json.loads(connection.getresponse().read())
        except (ConnectionError, FileNotFoundError):
            pause()
        finally:
            connection.close()
    raise AssertionError("the server does not answer")


SERVERS: dict[str, tuple[list[str], list[dict[str, Any]]]] = {
    "gunicorn that loads the application before it forks": (
        ["gunicorn", "--preload", "-w", "1", "-b", "unix:{}", "web:application"],
        # The worker is told that the sandbox is its parent's, opens its own, and keeps it.
        [{"value": 42, "told": BEFORE, "forked": True}, {"value": 42, "told": None, "forked": True}],
    ),
    "gunicorn that loads it in each worker": (
        ["gunicorn", "-w", "2", "--threads", "4", "-b", "unix:{}", "web:application"],
        [{"value": 42, "told": None, "forked": False}] * 8,
    ),
    # Its workers import the application themselves; blocking and awaited sandboxes live beside its event loop.
    "uvicorn with workers": (
        ["uvicorn", "--workers", "2", "--uds", "{}", "web:application"],
        [{"value": 42, "told": None, "forked": False, "awaited": 42}] * 4,
    ),
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.modules(command[0])) for name, (command, _) in SERVERS.items()]
)
def test_a_web_server_that_forks(tmp_path: Path, name: str) -> None:
    command, answers = SERVERS[name]
    (tmp_path / "web.py").write_text(WORKER + (ASGI if command[0] == "uvicorn" else WSGI))
    path = tmp_path / "socket"
    with running([word.format(path) for word in command], tmp_path) as program:
        assert [asked(path, program) for _ in answers] == answers


@pytest.mark.modules("celery")
def test_a_prefork_worker_of_celery(tmp_path: Path) -> None:
    for directory in ("tasks", "control", "results"):
        (tmp_path / directory).mkdir()
    (tmp_path / "worker.py").write_text(WORKER + CELERY)
    ask = "import json, worker; print(json.dumps([worker.task.delay().get(timeout=60) for _ in range(2)]))"
    command = ["celery", "-A", "worker:queue", "worker", "--pool", "prefork", "-c", "1", "--loglevel", "WARNING"]
    with running(command, tmp_path, QUEUE=str(tmp_path)) as program:
        asking = alone(ask, env=importing(QUEUE=str(tmp_path)), cwd=tmp_path)
        assert program.poll() is None
        assert asking.returncode == 0, asking.stderr
    assert json.loads(asking.stdout) == [{"value": 42, "told": told, "forked": True} for told in (BEFORE, None)]


CELL = """
from safeexec import Sandbox
async def later(number):
    return number + 1
with Sandbox("calculator", tools=[later]) as sandbox, sandbox.session() as session:
    session.run("x = later(40)").check()
    blocking = session.run("x + 1").value
"""
AWAITING = """
from safeexec import AsyncSandbox
async with AsyncSandbox("calculator", tools=[later]) as sandbox, sandbox.session() as session:
    (await session.run("x = later(40)")).check()
    awaited = (await session.run("x + 1")).value
"""
INTERRUPTED = """
import _thread, threading
sandbox = Sandbox("calculator").open()
session = sandbox.session()
session.run("x = 1").check()
interrupt = lambda text: interrupt_once.acquire(blocking=False) and _thread.interrupt_main()
interrupt_once = threading.Lock()
session.run("x = 2\\nprint('on', flush=True)\\nwhile True: pass", timeout=60, on_output=interrupt)
"""


NOTEBOOK = """
import json, sys
from jupyter_client.manager import start_new_kernel

manager, client = start_new_kernel(kernel_name="python3")
try:
    for cell, expression in json.loads(sys.argv[1]):
        content = client.execute_interactive(
            cell, user_expressions={"found": expression}, timeout=60, output_hook=lambda message: None
        )["content"]
        found = content.get("user_expressions", {}).get("found", {}).get("data", {}).get("text/plain")
        print(json.dumps(found or content["ename"]))
finally:
    client.stop_channels()
    manager.shutdown_kernel(now=True)
"""


@pytest.mark.modules("ipykernel", "jupyter_client")
def test_a_notebook(tmp_path: Path) -> None:
    """In IPython's kernel an event loop runs while a cell does: both APIs work in cells, and an interrupted cell
    undoes its step.
    """
    after = "kept = session.run('x').value; sandbox.close()"
    cells = [(CELL, "blocking"), (AWAITING, "awaited"), (INTERRUPTED, "None"), (after, "kept")]
    done = alone(NOTEBOOK, json.dumps(cells), env=importing(IPYTHONDIR=str(tmp_path)))
    assert done.returncode == 0, done.stderr
    assert [json.loads(line) for line in done.stdout.splitlines()] == ["42", "42", "KeyboardInterrupt", "1"]


ON_A_TINY_DISK = r"""
import os, sys
from safeexec import Sandbox, WorkspaceError

with Sandbox("calculator") as sandbox:
    assert sandbox.run("6 * 7").value == 42
with Sandbox("confined-python", files={"a.txt": b"a" * 10}) as sandbox, sandbox.session() as session:
    session.run("kept = 1").check()
    result = session.run("kept = 2\nopen('b.bin', 'wb').write(bytes(1 << 20))")
    assert not result.ok, result
    assert session.run("kept, open('a.txt').read()").value == (1 if result.state == "restored" else 2, "a" * 10)
    try:
        session.write_file("c.bin", bytes(1 << 20))
    except WorkspaceError as error:
        assert "No space left on device" in str(error), error
    else:
        raise AssertionError("it fitted")
    assert session.run("1 + 1").value == 2
try:
    with Sandbox("confined-python", files={"a.bin": bytes(1 << 20)}) as sandbox:
        sandbox.session()
except WorkspaceError as error:
    assert "No space left on device; set TMPDIR" in str(error), error
else:
    raise AssertionError("it fitted")
print("done")
"""


def test_a_full_and_a_read_only_temporary_directory(tmp_path: Path) -> None:
    """On a file system of 64 KiB: steps that need more are undone or fail, and say why. A directory that cannot be
    written to is passed over for the next of the usual ones.
    """
    (tmp_path / "program.py").write_text(ON_A_TINY_DISK)
    script = f"""
        TMPDIR={tmp_path}/tiny {sys.executable} program.py
        test -z "$(ls tiny)"
        mount -o remount,ro tiny
        TMPDIR={tmp_path}/tiny {sys.executable} -c '
from safeexec import Sandbox
with Sandbox("confined-python") as sandbox:
    print(sandbox.run("open(chr(97), chr(119)).write(chr(97))").value)'
    """
    assert on_a_small_disk(tmp_path, 64, script).split() == ["done", "1"]


def on_a_small_disk(tmp_path: Path, kib: int, script: str) -> str:
    """What a shell script prints that has a file system of so many KiB in ``tiny`` of its directory."""
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("only root can mount a small file system, with unshare of util-linux")
    (tmp_path / "tiny").mkdir()
    script = f"set -e\nmount -t tmpfs -o size={kib}k tmpfs tiny\n{script}"
    command = ["unshare", "--mount", "--propagation", "private", "sh", "-c", script]
    done = ran(command, cwd=tmp_path, env=importing())
    if "mount:" in done.stderr or "unshare:" in done.stderr:
        pytest.skip(f"no private mounts here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    return done.stdout


LEFT_BEHIND = """
import os, signal
from safeexec import Sandbox
sandbox = Sandbox("confined-python").open()
sandbox.session().run("open('a.txt', 'w').write('a')").check()
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_directories_of_hosts_that_were_killed_are_removed_by_the_next(tmp_path: Path) -> None:
    """By any host of the same user; those of one that lives stay, and what is no directory of this user's hosts."""
    environment = importing(TMPDIR=str(tmp_path))

    def directories() -> set[str]:
        return {path.name for path in tmp_path.iterdir() if path.name.startswith(PREFIX)} - others

    others: set[str] = set()
    elsewhere = tmp_path / "another-directory"
    elsewhere.mkdir()
    (tmp_path / f"{PREFIX}file").touch()
    (tmp_path / f"{PREFIX}link").symlink_to(elsewhere)
    if os.geteuid() == 0:
        (tmp_path / f"{PREFIX}foreign").mkdir()
        os.chown(tmp_path / f"{PREFIX}foreign", 12345, 12345)
    others = directories()
    program = LEFT_BEHIND.replace("os.kill(os.getpid(), signal.SIGKILL)", "print('on', flush=True); input()")
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, env=environment, stdin=-1, stdout=-1, text=True) as alive:
        assert alive.stdout is not None and alive.stdout.readline() == "on\n"
        (living,) = directories()
        for _ in range(2):
            assert alone(LEFT_BEHIND, env=environment).returncode == -signal.SIGKILL
            assert len(directories()) == 2 and living in directories(), "that of the first is gone, its own is left"
        alone(FEW, env=environment, check=True)
        assert directories() == {living} and elsewhere.exists() and all((tmp_path / name).exists() for name in others)
        alive.communicate("\n", timeout=60)


FEW = """
from safeexec import Sandbox, SandboxError
try:
    with Sandbox("confined-python", spare=0) as sandbox, sandbox.session() as session:
        print(session.run("1").outcome)
except (SandboxError, OSError) as error:
    print(error)
"""


def test_too_few_descriptors_are_named_wherever_they_end() -> None:
    """By the kernel, or before: a session that would take the last ones from the others is refused."""
    told: list[str] = []
    for limit in range(12, 45, 8):
        lowered = f"import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, ({limit}, {limit}))\n"
        told.append(alone(lowered + FEW).stdout.strip())
        if told[-1] == "ok":
            break
    *failures, last = told
    named = ("Too many open files", "raise RLIMIT_NOFILE")
    assert last == "ok" and all(any(words in text for words in named) for text in failures), told
    # Without namespaces the zygote needs more than the host's reserve, and all are the kernel's.
    assert any(named[0] in text for text in failures), told


BESIDE = """
import sys
sys.path.append(sys.argv[1])
from time import monotonic
from safeexec import Sandbox
from tests.footprint import pause
from tests.kernel.harness import refuse_namespaces
refuse_namespaces()
with Sandbox("calculator", spare=0) as sandbox, sandbox.session() as session:
    session.run("x = 1").check()
    deadline = monotonic() + 1.0
    while sandbox._core.alive and monotonic() < deadline:
        pause()
    print(sandbox._core.alive, session.run("1 / 0").error.type)
"""


def test_a_copy_of_a_library_beside_the_program_ends_no_zygote(tmp_path: Path) -> None:
    """It is looked for when the imports of the zygote are over, and may not be read then."""
    spec = importlib.util.find_spec("cloudpickle")
    assert spec is not None and spec.origin is not None
    shutil.copytree(Path(spec.origin).parent, tmp_path / "cloudpickle")
    (tmp_path / "program.py").write_text(BESIDE)
    command = [sys.executable, str(tmp_path / "program.py"), str(ROOT)]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = ran(command, env=environment)
    assert done.stdout == "True ZeroDivisionError\n", done.stderr
