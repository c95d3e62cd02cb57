"""Every step can be undone: what a restore brings back, and what `checkpoint`, `rollback`, `drop` promise."""

from __future__ import annotations

import os
import signal

import pytest

from safeexec import CheckpointError, Result, Sandbox, Session
from safeexec.engine.host.waiting import Core
from safeexec.engine.host.watch.verdict import Verdict
from tests.conftest import OpenSession
from tests.footprint import until

pytestmark = pytest.mark.usefixtures("copied")
FOREVER = "while True: pass"


def kill(session: Session) -> Result:
    """Lose a step to a timeout."""
    result = session.run("lost = 1\n" + FOREVER, timeout=0.1)
    assert (result.outcome, result.state) == ("timeout", "restored")
    return result


def test_a_step_that_ends_for_what_was_done_before_it_says_so() -> None:
    """A look at the rest before the step comes to its verdict as the step begins."""

    def end() -> None:
        core = session._core
        core.supervisor.idle_violation = Verdict("memory", "the session holds 900 MiB; limits.memory_mb is 512")
        core.processes.runner.channel.kill()

    with Sandbox("standard", tools=[end]) as sandbox, sandbox.session() as session:
        session.run("x = 1").check()
        result = session.run("end()")
        assert (result.outcome, result.state) == ("memory", "restored")
        assert result.error is not None and "holds 900 MiB" in result.error.message
        assert session.run("x").check().notes == ()


def test_what_a_look_finds_as_a_step_is_ended_is_not_told_of_the_time_after_it(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    core = session._core
    stop = core.processes.stop

    def stop_and_look() -> Core[None]:
        yield from stop()
        core.supervisor.exceed(Verdict("memory", "the session holds too much"))

    monkeypatch.setattr(core.processes, "stop", stop_and_look)
    kill(session)
    monkeypatch.undo()
    assert session.run("1").check().notes == ()


# What survives


@pytest.mark.profile("data-analysis")
def test_open_files_keep_their_own_offsets(session: Session) -> None:
    """A copy of a process shares its offsets with the original."""
    session.run("with open('f.txt', 'w') as f: f.write('0123456789')\nf = open('f.txt')\nf.seek(3)\nf.tell()").check()
    session.checkpoint("at 3")
    assert session.run("f.seek(8)\nf.read(1)").value == "8"
    for _ in range(2):
        session.rollback("at 3")
        assert session.run("f.read(2)").value == "34"


@pytest.mark.profile("data-analysis")
def test_what_cannot_be_carried_is_named(session: Session) -> None:
    session.run("f = open('f.txt', 'w')\nf.write('x')\nf.flush()").check()
    session.checkpoint("open")
    session.run("import os\nos.remove('f.txt')").check()
    session.rollback("open")
    assert session.run("f.write('y')\nf.flush()\nopen('f.txt').read()").check().value == "xy"
    session.run("import os\nos.remove('f.txt')").check()
    session.checkpoint("removed")
    session.rollback("removed")
    assert any("'f.txt' could not be carried over" in note for note in session.run("1").notes)
    assert session.run("1").notes == ()
    (branch,) = session.branch()
    with branch:
        for one in (session, branch):
            result = one.run("f.write('z')\nf.flush()")
            assert result.error is not None and "Bad file descriptor" in result.error.message
            assert result.notes == ()


@pytest.mark.profile("confined-python")
def test_a_branch_has_no_way_to_its_parent_by_a_descriptor(session: Session) -> None:
    """Each that cannot be opened again is unusable, and its number is not given to another file."""
    opened = "os.open('f', os.O_RDWR | os.O_CREAT), os.open('.', os.O_RDONLY), open('gone', 'w+b', 0)"
    session.run(f"import os\nfile, here, gone = {opened}\nos.write(file, b'old')\nos.remove('gone')").check()
    session.run("out, into = os.pipe()\nprinted, event = os.dup(1), os.eventfd(0)").check()
    (branch,) = session.branch()
    with branch:
        result = branch.run("os.pwrite(file, b'new', 0)\nopen('g', 'w').close()\nsorted(os.listdir(here))")
        assert result.value == ["f", "g"], result.error
        cut, named = sorted(result.notes)
        assert cut.startswith("4 open pipes or files without a name could not be") and named.startswith("the open file")
        for use in (
            "os.write(into, b'x')", "os.read(out, 1)", "os.write(printed, b'x')", "os.eventfd_write(event, 1)",
            "gone.write(b'x')", "gone.seek(0)",
        ):  # fmt: skip
            refused = branch.run(use).error
            assert refused is not None and "Bad file descriptor" in refused.message, use
        kept = branch.run("gone.close()\nos.close(out)\nopen('g').fileno()").check()
        assert kept.notes == ()
    use = "os.write(into, b'y'), os.read(out, 1), gone.write(b'z'), os.listdir(here), os.pread(file, 9, 0)"
    assert session.run(use).check().value == (1, b"y", 1, ["f"], b"old")


@pytest.mark.profile("confined-python")
def test_an_event_loop_works_in_a_branch(session: Session) -> None:
    session.run("import asyncio\nloop = asyncio.new_event_loop()\nloop.run_until_complete(asyncio.sleep(0))").check()
    (branch,) = session.branch()
    for one in (branch, session):
        result = one.run("loop.call_soon_threadsafe(print, 'woken')\nloop.run_until_complete(asyncio.sleep(0, 7))")
        assert (result.value, result.stdout, result.notes) == (7, "woken\n", ())
    branch.close()


@pytest.mark.profile("data-analysis")
def test_a_write_ahead_log_follows_undo_and_branch(session: Session) -> None:
    """Its index would lie in a shared mapping, which a branch had in common with its parent."""
    begin = "import sqlite3\na = sqlite3.connect('d')\nmode = a.execute('pragma journal_mode=wal').fetchall()[0][0]\n"
    session.run(f"{begin}a.execute('create table t (x)')\na.commit()").check()
    rows = "mode, a.execute('select x from t').fetchall(), sqlite3.connect('d').execute('select x from t').fetchall()"
    add = "a.execute('insert into t values ({})')\na.commit()\n" + rows
    assert session.run(add.format(1)).value == ("wal", [(1,)], [(1,)])
    session.rollback()
    assert session.run(rows).value == ("wal", [], [])
    (branch,) = session.branch()
    with branch:
        assert branch.run(add.format(2)).value == ("wal", [(2,)], [(2,)])
        assert session.run(rows).value == ("wal", [], [])
        assert session.run(add.format(3)).value == ("wal", [(3,)], [(3,)])
        assert branch.run(rows).value == ("wal", [(2,)], [(2,)])


@pytest.mark.modules("numpy")
@pytest.mark.profile("data-analysis")
def test_an_array_in_a_file_is_read_where_it_lies_and_written_as_a_file(session: Session) -> None:
    session.run("import numpy\nnumpy.save('a.npy', numpy.arange(9))\nnumpy.arange(9).tofile('b')").check()
    assert session.run("numpy.memmap('b', dtype='i8', mode='c')[3]").ok
    refused = session.run("numpy.memmap('b', dtype='i8', mode='r+')[3] = 5", atomic=True).error
    assert refused is not None and "array.tofile" in refused.message
    written = session.run("b = numpy.memmap('b', dtype='i8', mode='c')\nb[3] = 5\nb.tofile('c')\nb = None").check()
    assert [file.name for file in written.files] == ["c"]
    read = "int(numpy.load('a.npy', mmap_mode='c')[3]), int(numpy.memmap('c', 'i8', 'r')[3])"
    assert session.run(read).value == (3, 5)


@pytest.mark.profile("confined-python")
def test_only_a_pipe_through_which_something_went_is_named(session: Session) -> None:
    """Not the one by which an event loop wakes itself, which every program with a loop of its own leaves open."""
    session.run("import asyncio, os\nloop = asyncio.new_event_loop()\nout, into = os.pipe()").check()
    session.checkpoint("empty")
    session.rollback("empty")
    assert session.run("loop.run_until_complete(asyncio.sleep(0, 7))").notes == ()
    session.run("os.write(into, b'x')").check()
    session.checkpoint("full")
    session.rollback("full")
    (note,) = session.run("1").notes
    assert note.startswith("an open pipe or socket could not be carried over")


# When


@pytest.mark.parametrize(("on_error", "atomic"), [("keep", True), ("restore", False)])
def test_a_step_that_raises_is_undone(open_session: OpenSession, on_error: str, atomic: bool) -> None:
    session = open_session(on_error=on_error)
    session.run("x = [1]").check()
    for change in ("x.append(2)\n1 / 0", "x.append(2)\nraise SystemExit(1)"):
        result = session.run(change, atomic=atomic)
        assert (result.outcome, result.state) == ("error", "restored")
        assert session.run("x").value == [1]
    assert session.run("x = 3", atomic=atomic).state == "kept" and session.run("x").value == 3


def test_a_guest_thread_means_no_checkpoint_and_the_result_says_so(session: Session) -> None:
    session.run("import threading\nx = 1").check()
    result = session.run("gate = threading.Event()\nt = threading.Thread(target=gate.wait)\nt.start()\nx = 2")
    assert any("thread" in note for note in result.notes), result.notes
    with pytest.raises(CheckpointError, match="thread"):
        session.checkpoint("now")
    killed = session.run(FOREVER, timeout=0.1)
    assert killed.state == "restored"
    assert session.run("x").value == 1
    assert any("step 1" in note for note in killed.notes), killed.notes
    told = killed.observation()
    assert isinstance(told, str) and "restored to an older one" in told and "as they were" not in told
    session.run("import threading\nt = threading.Thread(target=print)\nt.start()\nt.join()\nx = 3").check()
    kill(session)
    assert session.run("x").value == 3, "a thread that has ended is no hindrance"


# Names


def test_the_list_is_a_tree(session: Session) -> None:
    session.run("x = 1").check()
    session.checkpoint("root")
    session.run("x = 2").check()
    session.checkpoint("left")
    session.rollback("root")
    session.run("x = 3").check()
    session.checkpoint("right")
    rows = {row.name: row for row in session.checkpoints()}
    assert {"root", "left", "right"} <= set(rows)
    assert rows["right"].parent == "root"
    assert (rows["root"].step, rows["left"].step) == (1, 2)
    assert not rows["root"].automatic
    assert all(row.age >= 0 and row.memory_mb >= 0 for row in rows.values())


def test_the_list_has_no_checkpoint_that_has_died(session: Session) -> None:
    session.run("x = 1").check()
    session.checkpoint("here")
    (copy,) = [copy for _, copy in session._core.processes.history.named.values()]
    pid = copy.pid()
    assert pid is not None and "here" in [row.name for row in session.checkpoints()]
    os.kill(pid, signal.SIGKILL)
    until(lambda: not copy.alive)
    assert "here" not in [row.name for row in session.checkpoints()]
    with pytest.raises(CheckpointError, match="gone"):
        session.rollback("here")
    assert session.get("x") == 1


def test_mistakes_with_names(session: Session) -> None:
    session.run("x = 1").check()
    session.checkpoint("here")
    with pytest.raises(CheckpointError, match="here"):
        session.rollback("there")
    with pytest.raises(CheckpointError, match="here"):
        session.drop("there")
    for name in ("", None, 3, [], "x" * 201, "a\nb", "\x1b[31m", "\0", "\ud800", "step 1"):
        with pytest.raises(CheckpointError, match="name"):
            session.checkpoint(name)  # type: ignore[arg-type]
        with pytest.raises(CheckpointError, match="no checkpoint"):
            session.rollback(name if name is not None else "None")  # type: ignore[arg-type]
    session.checkpoint("../größe 1")
    session.drop("../größe 1")
    session.drop("here")
    with pytest.raises(CheckpointError, match="none"):
        session.rollback("here")
    assert session.run("x").value == 1


def test_the_number_of_names_is_limited(sandbox: Sandbox) -> None:
    with sandbox.session(limits={"checkpoints": 2}) as session:
        session.checkpoint("a")
        session.checkpoint("b")
        with pytest.raises(CheckpointError, match=r"limits\.checkpoints allows 2.*a, b"):
            session.checkpoint("c")
        session.checkpoint("a")
        session.drop("b")
        session.checkpoint("c")


def test_deep_chains_of_named_restores_end_in_a_clear_error_or_stay_fast(session: Session) -> None:
    """Each restore on top of a living restore makes forks slower; past the limit the way out is said."""
    session.run("x = 0").check()
    with pytest.raises(CheckpointError, match="drop one"):
        for n in range(20):
            session.checkpoint(f"c{n}")
            session.rollback(f"c{n}")
            session.run("x = x + 1").check()
    depth = session.run("x").value
    assert 4 <= depth <= 12
    session.drop("c0")
    session.checkpoint("again")


# Files


def test_a_restored_result_names_what_there_is(session: Session) -> None:
    session.run("import math\nrows = [1]\ndef f(): pass").check()
    result = session.run("rows, g = None, 1\n1 / 0", atomic=True)
    assert result.state == "restored" and result.remaining == ("math", "rows", "f")
    told = result.observation()
    assert isinstance(told, str) and "earlier variables are as they were: math, rows, f.\n" in f"{told}\n"


@pytest.mark.profile("confined-python")
def test_a_database_that_is_open_goes_on_after_a_kill(session: Session) -> None:
    """It minds that its file is the same one, and not one of the same name and contents."""
    session.run("import sqlite3\nbase = sqlite3.connect('base.db')\nbase.execute('create table t (x)')").check()
    add = "base.executemany('insert into t values (?)', [({},)] * {})\nbase.commit()\n"
    session.run(add.format(1, 1)).check()
    assert session.run(add.format(2, 9999) + FOREVER, timeout=0.5).state == "restored"
    session.run(add.format(3, 1)).check()
    rows = "sqlite3.connect('base.db').execute('select x from t').fetchall()"
    assert session.run(rows).check().value == [(1,), (3,)]


@pytest.mark.profile("data-analysis")
@pytest.mark.parametrize("before", ["kill", "rollback", "branch"])
def test_a_file_of_the_host_belongs_to_the_state_that_it_was_written_to(session: Session, before: str) -> None:
    session.run("x = 1").check()
    session.checkpoint("clean")
    if before == "kill":
        kill(session)
    elif before == "rollback":
        session.rollback("clean")
    else:
        (session,) = session.branch()
    session.write_file("given.txt", b"1")
    for _ in range(2):
        session.run("open('given.txt', 'w').write('2')\n" + FOREVER, timeout=0.2)
        assert session.read_file("given.txt") == b"1"
    if before == "branch":
        session.close()
    else:
        session.rollback("clean")
        assert session.list_files() == []


@pytest.mark.profile("confined-python")
def test_the_current_directory_follows_a_kill_and_a_branch(session: Session) -> None:
    session.run("import os\nos.mkdir('sub')\nopen('top', 'w').write('t')\ntop = open('top')").check()
    session.run("os.chdir('sub')\nopen('in', 'w').write('i')").check()
    session.run("import shutil\nshutil.rmtree(os.getcwd())\n" + FOREVER, timeout=0.3)
    where = "open('in').read(), os.path.basename(os.getcwd()), open('../top').read()"
    assert session.run(where).check().value == ("i", "sub", "t")
    (branch,) = session.branch()
    with branch:
        assert branch.run(where).check().value == ("i", "sub", "t")
        file = branch.run("os.readlink(f'/proc/self/fd/{top.fileno()}')").check().value
        assert file == f"{branch.workspace}/top"


@pytest.mark.profile("confined-python")
def test_a_directory_that_the_guest_is_in_and_removes_costs_no_checkpoint(session: Session) -> None:
    session.run("import os\nos.mkdir('sub')\nos.chdir('sub')\nos.rmdir('../sub')\nx = 1").check()
    session.checkpoint("nowhere")
    kill(session)
    assert session.get("x") == 1
    assert session.run("os.path.realpath('.')").check().value == session.workspace


def test_random_numbers_go_on_where_they_were(session: Session) -> None:
    """A plain fork reseeds `random` in the copy."""
    session.run("import random\nrandom.seed(1)\nrandom.random()").check()
    draw = "[random.random() for _ in range(3)]"
    session.checkpoint("here")
    expected = session.run(draw).value
    session.rollback("here")
    assert session.run(draw).value == expected
    session.rollback("here")
    kill(session)
    assert session.run(draw).value == expected
