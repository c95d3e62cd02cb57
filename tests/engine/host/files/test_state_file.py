"""States that outlive the host: what comes back, what is refused, and that nothing of a foreign file is believed."""

from __future__ import annotations

import hashlib
import os
import resource
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic
from typing import Any

import msgspec
import pytest

from safeexec import Policy, PolicyError, Sandbox, Session, SessionClosed, StateFileError
from safeexec.engine.host.files import state_file
from safeexec.engine.host.sandbox import SandboxCore
from safeexec.engine.host.session.session import SessionCore
from tests.engine.host.inside import open_sessions
from tests.footprint import until
from tests.interrupting import interrupting
from tests.limits import limited

Save = Callable[[str], Path]


@pytest.fixture
def saved(sandbox: Sandbox, tmp_path: Path) -> Save:
    """What saves a session that has run a program. All that the program has bound can be saved."""

    def save(source: str) -> Path:
        with sandbox.session() as session:
            session.run(source, timeout=30).check()
            assert session.save(tmp_path / "state") == {}
        return tmp_path / "state"

    return save


def test_variables_come_back_and_what_cannot_is_named(sandbox: Sandbox, tmp_path: Path) -> None:
    path = tmp_path / "state"
    with sandbox.session() as session:
        session.run("x = [1]\ny = x\ndef f(n): return n + len(x)\nopened = (n for n in x)").check()
        failed = session.save(path)
        assert list(failed) == ["opened"] and "generator" in failed["opened"]
        assert session.run("next(opened)").value == 1
        # The last value is `_`, as at Python's prompt: what a program holds, and not what belongs to the sandbox.
        assert session.run("class Item: pass\nitem = Item(); item").check() and list(session.save(path)) == ["opened"]
    assert path.stat().st_mode & 0o777 == 0o600
    with sandbox.restore(path) as session:
        assert session.run("type(item) is Item").value is True
        assert session.run("y.append(2)\nx, f(1)").value == ([1, 2], 3)
        assert session.run("x.append(3)\nwhile True: pass", timeout=0.1).state == "restored"
        assert session.get("x") == [1, 2]
        session.rollback()
        assert session.get("x") == [1]
        (branch,) = session.branch()
        with branch:
            assert branch.get("x") == [1]
    # Without checkpoints the file is the only descriptor that goes with the request.
    with sandbox.session_for("again", restore=path, checkpoints="off") as session:
        assert session.run("x + [2]").value == [1, 2]


@pytest.mark.needs("mount")  # in the host's own tree modes cannot be changed at all
@pytest.mark.profile("confined-python")
def test_files_come_back_with_modes_and_directories_and_follow_a_kill(sandbox: Sandbox, saved: Save) -> None:
    write = "open('a/b/f', 'w').write('1')\nopen('run', 'w').write('2')\nos.chmod('run', 0o755)"
    path = saved(f"import os\nos.makedirs('a/b')\nos.mkdir('empty')\n{write}")
    with sandbox.restore(path) as session:
        assert session.list_files() == ["a/b/f", "run"]
        for _ in range(2):
            session.run("import os\nopen('a/b/f', 'w').write('9')\nos.rmdir('empty')\nwhile True: pass", timeout=0.2)
            assert session.read_file("a/b/f") == b"1"
        assert session.run("import os\nos.path.isdir('empty'), oct(os.stat('run').st_mode)").value == (True, "0o100755")


@pytest.mark.profile("confined-python")
def test_a_file_comes_back_whole_however_little_one_call_gives(
    sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Linux reads at most 2 GiB at once, here 64 KiB."""
    read = os.pread
    monkeypatch.setattr(os, "pread", lambda fd, size, place: read(fd, min(size, 1 << 16), place))
    contents = {"a": bytes(range(256)) * 1000, "b": b"", "c": b"end"}
    with sandbox.session() as session:
        for name, content in contents.items():
            session.write_file(name, content)
        session.save(tmp_path / "state")
    with sandbox.restore(tmp_path / "state") as session:
        assert {name: session.read_file(name) for name in contents} == contents


def test_what_lies_at_the_target_stays_unless_it_is_a_file(session: Session, tmp_path: Path) -> None:
    """As root, renaming a file over a device would replace the device."""
    session.run("x = 1").check()
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "directory").mkdir()
    for name in ("fifo", "directory", ""):
        with pytest.raises(StateFileError, match="no regular file"):
            session.save(tmp_path / name)
    (tmp_path / "old").write_bytes(b"old")
    (tmp_path / "link").symlink_to("old")
    session.save(tmp_path / "link")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "old").read_bytes().startswith(state_file.MAGIC)
    session.save(tmp_path / ("x" * 255))
    with pytest.raises(FileNotFoundError, match="missing/state'"):
        session.save(tmp_path / "missing" / "state")


def test_a_file_that_cannot_be_written_leaves_the_old_one(session: Session, tmp_path: Path) -> None:
    session.run("x = 'y' * 100_000").check()
    (tmp_path / "state").write_bytes(b"old")
    with limited(resource.RLIMIT_FSIZE, 50_000), pytest.raises(OSError, match="File too large"):
        session.save(tmp_path / "state")
    assert (tmp_path / "state").read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["state"]


def test_what_is_no_state_is_refused_at_once(sandbox: Sandbox, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "text").write_text("hello")
    (tmp_path / "empty").touch()
    with open(tmp_path / "zeros", "wb") as file:
        file.truncate(10 << 30)
    for name, said in {"huge": {"payload_bytes": 10 << 30}, "files": {"files": [("f", 10 << 30)]}}.items():
        encoded = msgspec.msgpack.encode({"policy": "p", "digest": "d", "python": "3", **said})
        with open(tmp_path / name, "wb") as file:
            file.write(state_file.MAGIC + len(encoded).to_bytes(8, "little") + encoded)
            file.truncate(file.tell() + (10 << 30) + 32)
    before, started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, monotonic()
    for path, told in {
        "fifo": "no regular file",
        "text": "not a saved state",
        "empty": "not a saved state",
        "zeros": "not a saved state",
        "huge": "10240 MiB of variables, more than fit",
        "files": "10240 MiB of files, more than fit",
        "missing": "no file",
        "": "no regular file",
        "/dev/zero": "no regular file",
        "a\0b": r"cannot be read: .*embedded null",
        "/proc/self/mem": "/proc/self/mem cannot be read: Input/output error",  # nothing is mapped at its beginning
    }.items():
        with pytest.raises(StateFileError, match=told):
            sandbox.restore(tmp_path / path)
    assert monotonic() - started < 60
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000


def foreign(path: Path, contents: bytes = b"", **said: Any) -> None:
    """A state that no safeexec wrote: its header says this, and its sum is right."""
    header = {"policy": "p", "digest": "d", "python": state_file.python_version(), "payload_bytes": 4, **said}
    encoded = msgspec.msgpack.encode(header)
    length = len(encoded).to_bytes(8, "little")
    whole = state_file.MAGIC + length + encoded + contents + b"\x80\x04}."
    path.write_bytes(whole + hashlib.sha256(whole).digest())


FOREIGN: dict[str, tuple[dict[str, Any], str]] = {
    "files that lie too deep": ({"files": [("a/" * 3000 + "f", 1)], "contents": b"x"}, "deeper than a workspace's"),
    "directories that lie too deep": ({"directories": ["a/" * 101]}, "deeper than a workspace's"),
    "a name outside": ({"files": [("../f", 1)], "contents": b"x"}, "not a path inside"),
    "a directory outside": ({"directories": ["../d"]}, "not a path inside"),
    "no text": ({"files": [("a\0b", 1)], "contents": b"x"}, "cannot be restored"),
    "a file in a file": ({"files": [("a", 1), ("a/b", 1)], "contents": b"xx"}, "cannot be restored"),
    "more files than fit": (
        {"files": [(f"f{number}", 0) for number in range(1001)]},
        r"holds 1001 files; limits.workspace_files is 1000",
    ),
    "sizes below zero": ({"files": [("a", -5), ("b", 6)], "contents": b"x"}, "do not add up"),
    "another Python": ({"python": "\x1b[2J\n"}, r"saved by Python \\x1b\[2J\\n;"),
}


@pytest.mark.profile("confined-python")
@pytest.mark.parametrize("name", FOREIGN)
def test_a_header_that_lies_is_refused_in_words_that_a_terminal_may_show(
    sandbox: Sandbox, tmp_path: Path, name: str
) -> None:
    said, told = FOREIGN[name]
    foreign(tmp_path / "state", **said)
    with pytest.raises(StateFileError, match=told):
        sandbox.restore(tmp_path / "state")
    assert sandbox.run("1 + 1").value == 2


def test_a_state_that_is_cut_off_while_it_is_read_leaves_nothing_open(tmp_path: Path) -> None:
    """Its size was looked at before: another process may write to it at any time."""
    foreign(tmp_path / "state", b"files", files=[("f", 5)])
    size = (tmp_path / "state").stat().st_size
    open_before = os.listdir("/proc/self/fd")
    with open(tmp_path / "state", "r+b") as file:
        whole = state_file._read(file.fileno(), size, Policy().limits, "it")
        assert (os.pread(whole.files, 9, 0), os.pread(whole.payload, 9, 0)) == (b"files", b"\x80\x04}.")
        whole.close()
        for lost in (34, 38):  # of the variables, of the files
            file.truncate(size - lost)
            with pytest.raises(StateFileError, match="it became shorter while it was read"):
                state_file._read(file.fileno(), size, Policy().limits, "it")
    assert os.listdir("/proc/self/fd") == open_before


@pytest.mark.parametrize(
    ("file", "variables", "told"),
    [(4, 3, "the file 'own' became shorter while it was saved"), (3, 4, "cut off while it was read from the child")],
)
def test_what_becomes_shorter_while_it_is_saved_leaves_the_old_state(
    tmp_path: Path, file: int, variables: int, told: str
) -> None:
    """The guest writes both, and may go on in a thread."""
    (tmp_path / "own").write_bytes(b"abc")
    (tmp_path / "pickle").write_bytes(b"123")
    (tmp_path / "state").write_bytes(b"old")
    header = state_file.Header(policy="p", digest="d", python="3", files=[("own", file)], payload_bytes=variables)
    with open(tmp_path / "pickle", "rb") as pickle, pytest.raises(StateFileError, match=told):
        pieces = state_file.pieces(header, lambda name: os.open(tmp_path / name, os.O_RDONLY), pickle.fileno())
        state_file.write(str(tmp_path / "state"), pieces)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["own", "pickle", "state"]
    assert (tmp_path / "state").read_bytes() == b"old"


@pytest.mark.profile("confined-python")
def test_a_file_whose_name_is_no_text_is_told_and_others_are_saved(sandbox: Sandbox, tmp_path: Path) -> None:
    with sandbox.session() as session:
        session.run("open(b'\\xff.txt', 'w').close()\nopen('kept.txt', 'w').close()").check()
        assert session.save(tmp_path / "state") == {r"'\udcff.txt'": "the name of this file is not UTF-8"}
    with sandbox.restore(tmp_path / "state") as session:
        assert session.list_files() == ["kept.txt"]


def test_every_cut_and_every_changed_byte_is_noticed(sandbox: Sandbox, saved: Save) -> None:
    path = saved("x = list(range(100))")
    whole = path.read_bytes()
    for place in (*range(60), *range(60, len(whole), 41), len(whole) - 1):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x41]) + whole[place + 1 :])
        with pytest.raises(StateFileError):
            sandbox.restore(path)
        path.write_bytes(whole[:place])
        with pytest.raises(StateFileError):
            sandbox.restore(path)
    path.write_bytes(whole + b"x")
    with pytest.raises(StateFileError, match="do not add up"):
        sandbox.restore(path)
    path.write_bytes(whole.replace(b"state-2", b"state-3", 1))
    with pytest.raises(StateFileError, match="newer version"):
        sandbox.restore(path)
    path.write_bytes(whole.replace(b"state-2", b"state-1", 1)[:-32] + bytes(32))
    with sandbox.restore(path) as session:
        assert session.get("x") == [*range(100)], "one of the format that had a key is read without it"


@pytest.mark.profile("confined-python")
def test_a_state_of_another_policy_runs_under_the_policy_that_it_is_restored_in(saved: Save) -> None:
    path = saved("import os\nx = 1\ndef read(): return os.stat('/')")
    other = Policy.load("confined-python").replace(limits={"memory_mb": 1024})
    for policy in ("calculator", other):
        with Sandbox(policy) as sandbox_of_other, sandbox_of_other.restore(path) as session:
            assert session.get("x") == 1
            assert session.run("import os").outcome == ("rejected" if policy == "calculator" else "ok")


BOMBS = {
    "exit": ("import os\nclass Bomb:\n    def __reduce__(self): return os._exit, (3,)", "died while it restored"),
    "memory": ("class Bomb:\n    def __reduce__(self): return bytearray, (10**12,)", "MemoryError"),
    "no text": (
        "class Bomb:\n    def __reduce__(self): return exec, ('raise ValueError(chr(0xd800))',)",
        r"ValueError: .ud800",
    ),
}


FAILING = """
class Bad:
    def __init__(self): self.parts = [1, 2]
    def __setstate__(self, state): raise ValueError("old version")
class Unmade:
    def __new__(cls, *parts): return object.__new__(cls) if parts != (7,) else 1 / 0
    def __getnewargs__(self): return 7,
class Good: pass
a = Bad()
shared = [1]
before, after = [shared, Good], {"of": shared, "more": [Good(), {3}, frozenset("x")]}
made_of_it = [a.parts]
unmade = (1, [Unmade(), 2])
def f(): return shared
last = 5
"""


@pytest.mark.parametrize("profile", ["calculator", "confined-python"])
def test_a_variable_that_fails_leaves_the_others(sandbox: Sandbox, saved: Save) -> None:
    with sandbox.restore(saved(FAILING)) as session:
        result = session.run(
            "before[0] is after['of'] is f(), type(after['more'][0]) is before[1] is Good, "
            "after['more'][1:] == [{3}, frozenset('x')], isinstance(Bad(), Bad), last"
        )
        assert result.check().value == (True, True, True, True, 5)
        assert [note.partition(":")[0] for note in result.notes] == [
            f"'{name}' was not restored" for name in ("a", "made_of_it", "unmade")
        ]
        assert "old version" in result.notes[0] and "made of a variable" in result.notes[1]
        assert "ZeroDivisionError" in result.notes[2] and session.run("1").notes == ()
        assert [session.run(name).error.type for name in ("a", "made_of_it", "unmade")] == ["NameError"] * 3


@pytest.mark.profile("confined-python")
@pytest.mark.parametrize("bomb", BOMBS)
def test_what_goes_off_in_the_child_is_told(sandbox: Sandbox, saved: Save, bomb: str) -> None:
    source, told = BOMBS[bomb]
    path = saved(f"{source}\nx = Bomb()\ndel Bomb")  # nothing else is there that could be restored
    with pytest.raises(StateFileError, match=told):
        sandbox.restore(path)
    assert sandbox.run("1 + 1").value == 2


@pytest.mark.profile("confined-python")
def test_more_than_a_state_may_hold_is_told_with_what_is_large(session: Session, tmp_path: Path) -> None:
    session.run("large = bytes(600 << 20)\nlarger = bytes(700 << 20)\nsmall = 1").check()
    with pytest.raises(StateFileError, match=r"larger \(700 MiB\), large \(600 MiB\)"):
        session.save(tmp_path / "state")
    assert session.get("small") == 1
    assert not (tmp_path / "state").exists()


ENDLESS = "class X:\n    def __setstate__(self, state):\n        while True:\n            pass\nx = X()\nx.a = 1"
"""What restores for ever."""
ENDLESS_STATE = "class X:\n    def __getstate__(self):\n        while True:\n            pass\nx = X()"
"""What is saved for ever."""


def test_restoring_obeys_the_limits_of_a_step(endless: Path) -> None:
    policy = Policy.load("standard").replace(limits={"wall_seconds": 1.0})
    with Sandbox(policy, spare=0) as sandbox:
        started = monotonic()
        with pytest.raises(StateFileError, match="stopped after its limit of 1 s"):
            sandbox.restore(endless)
        assert monotonic() - started < policy.limits.max_wall_seconds / 2
        assert sandbox.run("1 + 1").value == 2


def test_saving_obeys_the_limits_of_a_step_and_the_session_goes_on(tmp_path: Path) -> None:
    limits = {"cpu_seconds": 0.5, "wall_seconds": 60.0, "max_wall_seconds": 60.0}
    with Sandbox(Policy.load("standard").replace(limits=limits), spare=0) as sandbox, sandbox.session() as session:
        session.run(f"kept = 1\n{ENDLESS_STATE}", timeout=60.0).check()
        with pytest.raises(StateFileError, match=r"limits\.cpu_seconds"):
            session.save(tmp_path / "state")
        assert not (tmp_path / "state").exists()
        assert session.run("del x\nkept", timeout=60.0).value == 1
        assert session.save(tmp_path / "state", timeout=60.0) == {} and (tmp_path / "state").exists()


def test_a_caller_may_give_saving_and_restoring_more_time(tmp_path: Path) -> None:
    slow = (
        "from time import sleep\nclass X:\n    def __getstate__(self):\n        sleep(0.4)\n        return {}\nx = X()"
    )
    policy = Policy.load("standard").replace(limits={"wall_seconds": 0.2, "max_wall_seconds": 60.0})
    with Sandbox(policy) as sandbox, sandbox.session() as session:
        session.run(slow, timeout=60.0).check()
        with pytest.raises(StateFileError, match=r"limit of 0\.2 s"):
            session.save(tmp_path / "state")
        assert not session.save(tmp_path / "state", timeout=60.0)
        with pytest.raises(PolicyError, match="max_wall_seconds"):
            session.save(tmp_path / "state", timeout=61.0)
        with sandbox.restore(tmp_path / "state", timeout=60.0) as other:
            assert "x" in other.namespace
        with pytest.raises(PolicyError, match="max_wall_seconds"):
            sandbox.restore(tmp_path / "state", timeout=0)


def once_running(core: SessionCore) -> None:
    """Wait until the session's guest code runs."""
    until(lambda: core.supervisor.forks_requested)
    threading.Event().wait(0.1)


def test_a_save_is_cancelled_from_another_thread(session: Session, tmp_path: Path) -> None:
    session.run(f"kept = 1\n{ENDLESS_STATE}", timeout=30).check()
    told: list[bool] = []

    def cancel() -> None:
        once_running(session._core)
        told.append(session.cancel())

    thread = threading.Thread(target=cancel)
    thread.start()
    with pytest.raises(StateFileError, match="cancelled by the host"):
        session.save(tmp_path / "state", timeout=30)
    thread.join()
    assert told == [True] and session.get("kept") == 1 and not (tmp_path / "state").exists()


@pytest.fixture
def alone() -> Iterator[Sandbox]:
    """A sandbox that has no other session."""
    with Sandbox("standard") as sandbox:
        yield sandbox


@pytest.fixture
def endless(saved: Save) -> Path:
    """A saved state that restores for ever."""
    return saved(ENDLESS)


def restoring(sandbox: SandboxCore) -> SessionCore:
    """The one session of a sandbox, once it restores its state."""
    until(lambda: sandbox.sessions.of_callers())
    (core,) = sandbox.sessions.of_callers()
    once_running(core)
    return core


@pytest.mark.parametrize("how", ["cancel", "close"])
def test_a_restore_is_stopped_from_another_thread(alone: Sandbox, endless: Path, how: str) -> None:
    def stop() -> None:
        core = restoring(alone._core)
        core.supervisor.cancel() if how == "cancel" else alone.close()

    thread = threading.Thread(target=stop)
    thread.start()
    with pytest.raises((StateFileError, SessionClosed), match=r"cancelled|closed"):
        alone.restore(endless, timeout=60.0)
    thread.join()
    if how == "cancel":
        assert not open_sessions(alone) and alone.run("1 + 1").value == 2


def test_ctrl_c_during_a_restore_ends_its_process(alone: Sandbox, endless: Path) -> None:
    pids: list[int] = []

    with pytest.raises(KeyboardInterrupt), interrupting(lambda: pids.extend(restoring(alone._core).processes.pids())):
        alone.restore(endless, timeout=60.0)
    assert pids and not any(os.path.exists(f"/proc/{pid}") for pid in pids)
    assert not open_sessions(alone) and alone.run("1 + 1").value == 2


LIBRARY_MADE = """
import contextlib, dataclasses
@dataclasses.dataclass
class Row:
    a: int
    b: object = None
row = Row(3)
row.b = row
@contextlib.contextmanager
def more(n):
    yield n + 1
space = {}
exec('def ' + 'f(): return eval', space)
f = space['f']
"""


def test_functions_that_libraries_made_for_the_program_come_back(sandbox: Sandbox, saved: Save) -> None:
    """The `__repr__` of a dataclass holds a module that no policy lists; a function of another namespace would be given
    the real builtins by cloudpickle. Once more, from what came back.
    """
    path = saved(LIBRARY_MADE)
    for _ in range(2):
        with sandbox.restore(path) as session:
            found = session.run("with more(1) as n: pass\nrepr(row), repr(Row(n)), row.b is row").check().value
            assert found == ("Row(a=3, b=...)", "Row(a=2, b=None)", True)
            assert session.run("f() is eval").value is True, "that of the policy"
            assert session.save(path) == {}
