"""A recording run again: nothing differs where the policy is determined, and the first difference is named."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from safeexec import Policy, RecordingError, RecordOptions, Sandbox, SandboxError, Session, ToolError, replay, tool
from safeexec.playback.replay import recorded_policy
from safeexec.recordings.format import Heading, Note, StateSaved
from safeexec.recordings.forms import line_of
from safeexec.recordings.reader import Recording

DATA = Path(__file__).parents[1] / "recordings" / "data"
FIXED = Policy.load("calculator").replace(
    determinism={"seed": 3, "clock": "2025-01-01T00:00:00+00:00"},
    filesystem={"workspace": "read-write"},
    builtins={"add": ["open", "eval", "exec"]},
    imports={"stdlib": "all"},
    limits={"threads": 16, "memory_mb": 512},
    socketpair=True,
)
"""What `standard` allows, and files; its modules are loaded when they are imported, which is quicker where few are."""
Record = Callable[..., Path]


def price(item: str, n: int = 1) -> float:
    if n > 3:
        raise ValueError("so many are not there")
    return len(item) * n / 4


def token() -> str:
    """A tool whose answer nobody writes down."""
    return "open" + "sesame"


@tool(effect="deferred")
def send(to: str) -> None:
    """A tool whose calls are carried out when their step is kept."""
    if to == "1":
        raise ValueError("there is no such person")


def cancel(seat: str, row: int) -> None:
    """What undoes `book`."""
    if row == 2:
        raise OSError("the line is dead")


@tool(undo=cancel)
def book(row: int) -> str:
    if row < 0:
        raise ValueError("no such row")
    return f"seat {row}"


TOOLS = [price, token, send, book]


@pytest.fixture(scope="module")
def fixed(_own_temporary_directory: None) -> Iterator[Sandbox]:
    with Sandbox(FIXED, tools=TOOLS, files={"start.txt": b"begin"}, spare=0) as sandbox:
        yield sandbox


@pytest.fixture
def record(fixed: Sandbox, tmp_path: Path) -> Record:
    """The recording of what a function does with a session."""

    def made(act: Callable[[Session], None], **options: Any) -> Path:
        path = tmp_path / f"{len([*tmp_path.iterdir()])}.jsonl"
        with fixed.session(record=RecordOptions(path=path, **options)) as session:
            act(session)
        return path

    return made


@pytest.mark.parametrize("name", ["errand", "search"])
def test_the_recordings_here_replay(name: str) -> None:
    """Made elsewhere and at another time, under another Python perhaps: what is recorded comes again."""
    with replay(DATA / f"{name}.jsonl", on_difference="go on") as replayed:
        assert replayed.steps > 5
        assert not [str(one) for one in replayed.differences if not one.what.startswith("error.")], "words may change"


STEPS = (
    "x = random.random(); total = total + x; x",
    "names = set(str(n) for n in range(20)); names",
    "price('tea', n=random.randrange(5))",
    "log.append(time.time()); len(log), time.time()",
    "open(f'f{len(log)}.txt', 'w').write('x' * 5)",
    "class Point:\n    pass\np = Point(); p",
    "lambda: 1",
    "print(uuid.uuid4()); 1 / 0",
    "def gen():\n    yield 1\ng = gen(); next(g)",
    "g = iter(range(9))\nheld = [next(g)]",
    "held.append(next(g)); held",
    "import socket",
    "input()",
    "del log[:]; float('nan'), [float('nan')]",
    "send(str(len(log)))",
    "row = len(log)\nbook(row)",
    "book(-1)",
    "send('x')\n1 / 0",
    "f = open('kept.txt', 'a+'); f.write(str(len(log))); f.flush()",
    "f.seek(0); f.read()",
    "open('gone.txt', 'w').write('1')\nimport helper\nhelper.f(2)",
    "open('helper.py', 'w').write(f'def f(n):\\n    return n * {len(log)}\\n')",
    "import sys\nsys.exit(3)",
    "total = object()\ntotal",
    "def deep(n):\n    return deep(n + 1)\ndeep(0)",
    "hash('x'), hash(('a', 1)), id(log) == id(log)",
    "import datetime\ndatetime.datetime.now(), datetime.date.today()",
    "import secrets\nsecrets.token_hex(4)",
    "random.seed(len(log)); random.sample(range(99), 3)",
    "import asyncio\nasync def f():\n    await asyncio.sleep(0.001)\n    return time.time()\nasyncio.run(f())",
    "import decimal\ndecimal.getcontext().prec = 5 + len(log)\ndecimal.Decimal(1) / 7",
    "import functools\n@functools.cache\ndef fib(n):\n    return n if n < 2 else fib(n - 1) + fib(n - 2)\nfib(30)",
    "import sqlite3\nsqlite3.connect(':memory:').execute('select random() is not null').fetchall()",
    "sorted(globals().keys() - {'f'})",
    "display({'text/html': '<b>1</b>', 'text/plain': str(random.random())})",
    "x = 1 /",
    "().__class__.__subclasses__()",
    "while random.random() < 0.9:\n    log.append(random.random())\nlog[-3:]",
    "import asyncio\nawait asyncio.sleep(0.001)\ntime.time(), random.random()",
    "import asyncio\nasync def late():\n    await asyncio.sleep(9)\ntry:\n    await asyncio.wait_for(late(), 0.002)\n"
    "except asyncio.TimeoutError:\n    log.append('late')\nlog[-1:]",
    "first, second = input('a? '), input('b? ')\nfirst + second",
    "import sys\nfor line in sys.stdin:\n    log.append(line)\nlen(log), sys.argv",
    "import warnings\nwarnings.warn('w%d' % len(log))",
    "try:\n    1 / 0\nexcept ZeroDivisionError as error:\n    error.add_note('n')\n    raise RuntimeError from error",
    "class Loud:\n    def __repr__(self):\n        print('asked')\n        raise ValueError(len(log))\nLoud()",
    "class Dies:\n    def __del__(self):\n        log.append('died')\nDies(); log[-1]",
    "import dataclasses\n@dataclasses.dataclass\nclass Row:\n    a: int\n    b: list\nd = Row(len(log), [])\nd",
    "d.b.append(len(log)); d",
    "{frozenset({'a', n}) for n in range(5)}",
    "'\\ud800', '\\x00', '\\u202e', float('inf'), -0.0, 2 ** 5000",
    "[list(range(300))] * 300",
    "import time\nt0 = time.time(); time.sleep(0.003); time.time() - t0",
    "send('a'); send('b'); book(3); price('tea')",
    "try:\n    price('x', n=9)\nexcept Exception as error:\n    log.append(str(error))\nlog[-1]",
    "stays = open('stays.txt', 'w'); stays.write('buffered')",
    "stays.flush(); stays.tell()",
    "raise KeyboardInterrupt",
)
ANALYSIS = (
    *STEPS,
    "import numpy as np\nnp.random.rand(3), np.random.default_rng(4).normal(size=2)",
    "import pandas as pd\ndf = pd.DataFrame({'a': [1, 2, len(log)], 'b': list('xyz')})\ndf",
    "df['c'] = df.a * 2\ndf.groupby('b').sum()",
    "import matplotlib.pyplot as plt\nplt.plot([1, 2, len(log)])\nplt.title('t')\nplt.show()",
    "import matplotlib.pyplot as plt\nfig, ax = plt.subplots()\nax.hist([random.random() for _ in range(9)])\nfig",
    "import os\nos.urandom(4), sorted(os.listdir('.')), os.getpid() > 0",
    "import os\nos.remove('kept.txt')",
    "import sqlite3\nc = sqlite3.connect('db.sqlite')\nc.execute('create table if not exists t(x)')\n"
    "c.execute('insert into t values(?)', (len(log),))\nc.commit()\nc.execute('select * from t').fetchall()",
    "import zipfile\nz = zipfile.ZipFile('z.zip', 'w')\nz.writestr('a', 'b')\nz.close()\nopen('z.zip', 'rb').read()",
    "import pathlib\npathlib.Path('d').mkdir(exist_ok=True)\npathlib.Path('d/x').write_text('1')\n"
    "sorted(str(one) for one in pathlib.Path('.').rglob('*'))",
    "import pickle\npickle.dumps({'a', 'b', 1})",
    "import threading\nt = threading.Thread(target=log.append, args=(1,))\nt.start()\nt.join()\nlen(log)",
    "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(2) as pool:\n"
    "    squares = list(pool.map(lambda n: n * n, range(5)))\nsquares",
    "import asyncio\nawait asyncio.to_thread(len, 'abc')",
    "from scipy import stats\nstats.norm.rvs(size=2)",
    "import shutil\nshutil.copy('start.txt', 'copy.txt'); sorted(os.listdir())",
)
STOPS = (
    "total = 5\nwhile True:\n    pass",
    "open('half.txt', 'w').write('half')\nwhile True:\n    pass",
    "price('x')\nsend('late')\nwhile True:\n    pass",
    "x = bytearray(1 << 40)",
    "while True:\n    print('x' * 100000)",
)
GIVEN = {"start.txt": b"prepared", "d/x.txt": b"below"}
OPENING = "import random, time, uuid\ntotal = 0\nlog = []"


def wander(session: Session, choose: random.Random, length: int, steps: Sequence[str] = STEPS) -> None:
    """A random session: steps, files, values, tools, effects, checkpoints, rollbacks, branches, stops."""
    session.run(OPENING).check()
    open_sessions = [session]
    for number in range(length):
        some = choose.choice(open_sessions)
        act = choose.randrange(22)
        try:
            if act == 0:
                some.checkpoint(f"c{choose.randrange(2)}")
            elif act in (1, 2):
                some.rollback(choose.choice([None, None, "c0", "c1"]))
            elif act == 3 and len(open_sessions) < 4:
                open_sessions += some.branch(choose.randrange(1, 3))
            elif act == 4:
                some.set(choose.choice(["total", "log", "x"]), choose.choice([choose.random(), [1, {2}], "text", None]))
            elif act == 5:
                some.write_file(choose.choice(["given.txt", "helper.py"]), f"def f(n):\n    return {number}".encode())
            elif act == 6:
                some.run(choose.choice(STOPS), timeout=0.05, atomic=choose.random() < 0.2)
            elif act == 7 and some is not session:
                open_sessions.remove(some)
                some.close()
            elif act == 8:
                some.drop(f"c{choose.randrange(2)}")
            elif act == 9:
                del some.namespace[choose.choice(["total", "x", "held"])]
            elif act == 10 and some is not session:
                some.adopt()
            elif act == 11:
                some.run("total, x", namespace={"total": number, "x": [choose.random()]}, argv=["prog", str(number)])
            elif act == 12:
                some.get(choose.choice(["total", "log", "f"]))
                some.namespace.keys()
            elif act == 13:
                with TemporaryDirectory() as directory:
                    some.save(Path(directory, "state"))
            else:
                source = choose.choice(steps)
                some.run(source, atomic=choose.random() < 0.2, stdin=choose.choice([None, "line", ["a", "b"]]))
        except Exception as error:
            assert type(error).__name__ in ("CheckpointError", "SandboxError", "KeyError", "TypeError"), error
    for some in open_sessions[1:]:
        some.close()


def begun(fixed: Sandbox, path: Path, seed: int, steps: Sequence[str]) -> Session:
    """A session that is recorded: one of three goes on from a saved state, one from a template."""
    if seed % 3 == 1:
        return fixed.session(record=path)
    if seed % 3 == 2:
        name = f"t{seed}"
        fixed.template(name, prepare=lambda session: wander(session, random.Random(-seed), 8, steps), files=GIVEN)
        try:
            return fixed.session(template=name, record=path)
        finally:
            fixed.drop_template(name)
    state = path.with_suffix(".state")
    with fixed.session() as first:
        wander(first, random.Random(-seed), 8, steps)
        first.save(state)
    return fixed.restore(state, record=path)


RACE = """
import threading, time
seen, going = 0, True
def count():
    global seen
    while going:
        seen += 1
counting = threading.Thread(target=count)
counting.start()
time.sleep(0.01)
going = False
counting.join()
seen
"""


def test_what_threads_did_is_taken_as_recorded_and_is_the_cause_in_branches_too(record: Record) -> None:
    def act(session: Session) -> None:
        session.run(RACE)
        session.run("seen > 0")
        (branch,) = session.branch()
        session.run("seen")
        branch.run("seen")

    with replay(record(act), trust=True, on_difference="go on") as replayed:
        (told,) = replayed.taken
        assert told.startswith("threads ran in step 1: ") and told.endswith(": taken as recorded")
        assert [(one.session, one.step) for one in replayed.differences] == [(1, 3), (2, 3)]
        causes = {one.cause for one in replayed.differences}
        assert causes == {"threads ran in step 1, which ended otherwise than recorded"}


def test_a_stop_that_took_more_leads_back_as_far_and_one_in_the_replay_alone_says_so(record: Record) -> None:
    """A state beside whose process a thread ran has no copy."""

    def act(session: Session) -> None:
        session.run("import threading\nx = 1\nend = threading.Event()")
        session.run("x = 2\nwaiting = threading.Thread(target=end.wait)\nwaiting.start()")
        assert session.run("while True:\n    pass", timeout=0.05).outcome == "timeout"
        assert session.run("x").value == 1

    with replay(record(act), trust=True) as replayed:
        assert replayed.difference is None and len(replayed.taken) == 1 and replayed.session.get("x") == 1
    path = record(lambda session: session.run("total = 0\nfor n in range(300_000):\n    total += n"))
    slow = FIXED.replace(limits={"wall_seconds": 0.001, "max_wall_seconds": 0.001})
    with replay(path, policy=slow) as replayed:
        assert replayed.difference.cause == "the step was stopped here: this machine is slower, or gives it less"


def test_refused_branches_are_taken_as_recorded_and_a_saved_session_replays(record: Record, tmp_path: Path) -> None:
    def act(session: Session) -> None:
        session.run("x = 1")
        with pytest.raises(SandboxError, match="branches asked for"):
            session.branch(5000)
        session.run("x")

    with replay(record(act), trust=True) as replayed:
        assert replayed.difference is None and "branches could not be made" in replayed.taken[0]

    def act(session: Session) -> None:
        session.run("class Once:\n def __reduce__(self):\n  global seen\n  seen = 1\n  raise OSError\n")
        session.run("seen, once, steps = 0, Once(), (n for n in range(3))")
        assert set(session.save(tmp_path / "state")) >= {"steps"}
        session.run("seen")

    path = record(act)
    assert any(isinstance(one, StateSaved) and one.failed for one in Recording(path))
    with replay(path, trust=True) as replayed:
        assert replayed.difference is None


def replays_alike(fixed: Sandbox, path: Path, seed: int, length: int, steps: Sequence[str] = STEPS) -> None:
    with begun(fixed, path, seed, steps) as session:
        wander(session, random.Random(seed), length, steps)
    with replay(path, trust=True) as replayed:
        assert replayed.difference is None, (seed, str(replayed.difference))
        assert replayed.steps > length // 4


@pytest.mark.parametrize(("first", "count", "length"), [(2, 2, 25), pytest.param(10, 30, 60, marks=pytest.mark.slow)])
@pytest.mark.timeout(900)
def test_random_sessions_replay_without_a_difference(
    fixed: Sandbox, tmp_path: Path, first: int, count: int, length: int
) -> None:
    for seed in range(first, first + count):
        replays_alike(fixed, tmp_path / f"{seed}.jsonl", seed, length)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.modules("numpy", "pandas", "scipy", "matplotlib")
def test_random_analyses_replay_without_a_difference(tmp_path: Path) -> None:
    policy = Policy.load("data-analysis").replace(determinism=FIXED.determinism)
    with Sandbox(policy, tools=TOOLS, files={"start.txt": b"begin"}, spare=0) as sandbox:
        for seed in range(10):
            replays_alike(sandbox, tmp_path / f"{seed}.jsonl", seed, 60, ANALYSIS)


def edited(path: Path, kind: str, **changes: object) -> None:
    """Change the first record of a kind, as somebody who edits a recording."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    next(line for line in lines if line["kind"] == kind).update(changes)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def counting(session: Session) -> None:
    session.set("n", 1)
    for _ in range(4):
        session.run("n += 1\nprint(n)\nn")


def test_any_point_can_be_had_and_a_difference_is_named_with_its_cause(record: Record) -> None:
    path = record(counting)
    with replay(path, trust=True, to=2) as replayed:
        assert replayed.session.get("n") == 3 and replayed.steps == 2
        assert replayed.session.run("n * 10").value == 30
        (branch,) = replayed.session.branch()
        assert branch.run("n").value == 3
    with pytest.raises(RecordingError, match="there is no step 9 of session 1"):
        replay(path, trust=True, to=9)
    with pytest.raises(RecordingError, match="replace: there is no step 9 of session 1"):
        replay(path, trust=True, replace={9: "n = 0"})
    with replay(path, trust=True, set={"n": 5}) as replayed:
        assert "step 1: stdout was '2\\n', and is '6\\n'; because n was set" in str(replayed.difference)
    with replay(path, trust=True, replace={3: "n = 0"}) as replayed:
        assert replayed.taken[0].startswith("step 3 was replaced: stdout was '4\\n', and is ''")
        assert replayed.difference is not None and replayed.difference.step == 4
        assert replayed.difference.cause == "because step 3 was replaced"
    with replay(path, policy=FIXED.replace(builtins={"remove": ["print"]})) as replayed:
        found = replayed.difference
        assert found is not None and found.what == "outcome" and found.now == "'rejected'"
        assert "because of the policy 'calculator'" in found.cause
    path.write_text(path.read_text().replace("n += 1", "n += 2", 1))
    for changes, cause in (
        ({}, "the cause is not known: somebody changed the recording"),
        ({"python": "3.9.1"}, "it was recorded under Python 3.9.1, and this is 3."),
    ):
        edited(path, "recording", **changes)
        with replay(path, trust=True) as replayed:
            assert replayed.difference is not None and replayed.difference.cause.startswith(cause)


@pytest.mark.modules("numpy", "pandas")
def test_other_versions_of_libraries_are_named_before_those_that_are_missing(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    policy = Policy.load("data-analysis").replace(determinism=FIXED.determinism)
    with Sandbox(policy, spare=0) as sandbox, sandbox.session(record=path) as session:
        session.run("import numpy\nnumpy.arange(2)")
    heading, *steps = path.read_text().replace("array([0, 1])", "array([0., 1.])").splitlines(keepends=True)
    recorded = json.loads(heading)
    had = recorded["libraries"]["numpy"]
    recorded["libraries"] |= {"numpy": "0.9", "absent": "1.0"}
    path.write_text("".join([json.dumps(recorded) + "\n", *steps]))
    with replay(path, policy=policy) as replayed:
        assert replayed.difference.cause.endswith(f"with numpy 0.9, absent 1.0, and here is numpy {had}, absent none")


def test_tools_answer_from_the_recording(record: Record) -> None:
    path = record(lambda session: session.run("price('tea'), price('milk', n=2)"))
    with replay(path, trust=True) as replayed:
        assert replayed.difference is None
        answer = replayed.session.run("price('tea')")
        assert answer.error is not None and "the recording has no answer to this call" in answer.error.message
    with replay(path, trust=True, replace={1: "price('tea', n=2)"}) as replayed:
        assert "the step called price('tea', n=2)" in str(replayed.difference)
    with replay(path, trust=True, tools=[price], to=1) as replayed:
        assert replayed.session.run("price('tea', n=3)").value == 2.25
    whatever = "try:\n    price('tea', n=2)\nexcept Exception:\n    pass\n"
    other = "price('tea', n=2); price('milk', n=2); 0.75, 2.0"
    for source, tools, told in (
        (f"{whatever}0.75, 2.0", [], "the step called price('tea', n=2)"),
        (other, [price], "price('tea'), and is not made"),
    ):
        with replay(path, trust=True, replace={1: source}, tools=tools) as replayed:
            assert told in str(replayed.difference)


def test_what_a_recording_has_nothing_of_is_refused(record: Record) -> None:
    path = record(lambda session: session.run("try:\n    given\nexcept NameError:\n    given = 1\ngiven"))
    with pytest.raises(ToolError, match="it would have its effect"):
        replay(path, trust=True, tools=[send])
    with pytest.raises(RecordingError, match="the session was not restored from a state"):
        replay(path, trust=True, state=path)
    with pytest.raises(ValueError, match="on_difference='continue': it is 'stop' or 'go on'"):
        replay(path, trust=True, on_difference="continue")  # type: ignore[arg-type]
    with replay(Recording(path), trust=True, set={"given": 5}, files={"start.txt": b"other"}) as replayed:
        assert "because given was set" in str(replayed.difference)
        with pytest.raises(RecordingError, match="no session 2 that is open here"):
            replayed.session_of(2)


def test_queries_replay_and_remarks_are_kept(tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    path = tmp_path / "r.jsonl"
    with Sandbox("data-analysis", spare=0) as sandbox, sandbox.session(record=path) as session:
        session.sql("select 40 + 2 as answer", name="table").check()
        session.note("that is it", score=0.5)
        session.run("int(table.answer[0])").check()
    (note,) = [record for record in Recording(path) if isinstance(record, Note)]
    assert (note.step, note.text, note.score) == (1, "that is it", 0.5)
    with replay(path) as replayed:
        assert replayed.difference is None
        assert replayed.results[1, 2].value == 42


def test_what_was_redacted_is_given_anew(record: Record) -> None:
    def act(session: Session) -> None:
        session.set("secret", "hunter2-hunter2")
        session.run("print(secret)\nlen(secret)")

    path = record(act, redact=["secret"])
    with pytest.raises(RecordingError, match=r"'secret' is needed: .* redacted \(set=\{'secret': …\} or --set secret="):
        replay(path, trust=True)
    with replay(path, trust=True, set={"secret": "another-secret!"}) as replayed:
        assert replayed.difference is None
    with replay(path, trust=True, set={"secret": "short"}) as replayed:
        assert "because secret was set to another value" in str(replayed.difference)


def test_a_recording_that_is_cut_or_has_strange_tools_or_another_order_is_told(record: Record) -> None:
    path = record(counting)
    data = path.read_bytes()
    path.write_bytes(data[: data.index(b'"n":7,') + 20])
    with replay(path, trust=True) as replayed:
        assert replayed.difference is None, "it is replayed to its last whole step"
        assert (replayed.steps, replayed.session.get("n")) == (2, 3)
    for shape in ({"name": "a b"}, {"name": "a", "parameters": [["x", "odd", "", ""]]}):
        path.write_bytes(data)
        edited(path, "recording", tools=[shape])
        with pytest.raises(RecordingError, match="invalid tool"):
            replay(path, trust=True)
    lines = data.decode().splitlines(keepends=True)
    orphan = json.loads(lines[2]) | {"session": 7}
    path.write_text("".join([*lines[:2], json.dumps(orphan) + "\n", *lines[3:]]))
    with pytest.raises(RecordingError, match=r"has no session 7|has not begun"):
        replay(path, trust=True)


def test_the_policy_of_a_stranger_is_not_simply_taken(record: Record) -> None:
    path = record(counting)
    harm = Policy.load("calculator").replace(filesystem={"read": ["/etc"]})
    for policy, told in (
        (harm, "it opens files of the host: give a policy of yours"),
        (Policy.load("calculator").replace(memory_mb=4096), "it allows more of limits.memory_mb"),
    ):
        edited(path, "recording", yaml=policy.to_yaml(), digest=policy.replace(name="calculator").digest)
        with pytest.raises(RecordingError, match=told):
            replay(path)
        assert recorded_policy(Recording(path), trust=True).digest == policy.digest
    edited(path, "recording", yaml="- no policy")
    with pytest.raises(RecordingError, match="its policy cannot be read"):
        replay(path, trust=True)


def test_a_session_that_was_restored_goes_on_from_the_recorded_state(fixed: Sandbox, tmp_path: Path) -> None:
    state, path, without = tmp_path / "s.state", tmp_path / "r.jsonl", tmp_path / "without.jsonl"
    with fixed.session() as first:
        first.run("def double(n):\n    return 2 * n\nopen('a.txt', 'w').write('a')")
        first.save(state)
    with fixed.restore(state, record=path) as session:
        result = session.run("double(21), open('a.txt').read()")
        assert result.value == (42, "a") and result.files == (), "the step has changed no file"
    with replay(path, trust=True) as replayed:
        assert replayed.difference is None and replayed.session.run("double(1)").value == 2
    with fixed.restore(state, record=RecordOptions(path=without, redact=["x"])) as session:
        session.set("x", "double")  # a text that is in the state
    heading = Recording(path).heading
    assert heading.state is not None and heading.state.size == state.stat().st_size and not heading.files
    edited(without, "recording", state={"left_out": "redacted", "size": 5})
    with pytest.raises(RecordingError, match=r"the state that the session goes on from is needed: .*--state"):
        replay(without, trust=True)
    with replay(without, trust=True, state=state, set={"x": "double"}) as replayed:
        assert replayed.session.run("double(1)").value == 2
    with replay(path, policy="standard") as replayed:
        assert replayed.session.run("double(1)").value == 2, "a state goes on under whatever policy it is restored in"


def test_programs_run_again_and_that_is_said(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    policy = Policy.load("confined-python").replace(danger_allow_commands=["date", "cp"])
    with Sandbox(policy, files={"a": b"1"}, spare=0) as sandbox, sandbox.session(record=path) as session:
        session.command(["cp", "a", "b"])
        session.run("open('b').read()")
        session.command(["date", "+%N"])
        with pytest.raises(SandboxError):
            session.command(["rm", "b"])
    with replay(path, policy=policy) as replayed:
        assert replayed.session.read_file("b") == b"1" and replayed.steps == 1
        assert replayed.taken[0] == "the program 'cp a b' is run again: what it does is not recorded"
        assert replayed.difference is not None and "a program of this machine depends" in replayed.difference.cause
    with pytest.raises(RecordingError, match="it runs programs"):
        replay(path)


def test_a_policy_that_came_with_a_recording_asks_no_less(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = Policy.load("confined-python").replace(danger_allow_commands=["sh"])
    (tmp_path / "own.yaml").write_text(policy.to_yaml())
    monkeypatch.chdir(tmp_path)
    beside = Policy.load("own.yaml")
    heading = Heading(
        format=1, safeexec="1", python="3.12.1", policy="own.yaml", digest=beside.digest, yaml=beside.to_yaml()
    )
    (tmp_path / "r.jsonl").write_bytes(line_of(heading))
    with pytest.raises(RecordingError, match="this machine does not have its policy"):
        recorded_policy(Recording(tmp_path / "r.jsonl"))
    less = Policy(name="unheard-of", require=("seccomp",))
    heading = Heading(format=1, safeexec="1", python="3.12.1", policy=less.name, digest="", yaml=less.to_yaml())
    (tmp_path / "r.jsonl").write_bytes(line_of(heading))
    recording = Recording(tmp_path / "r.jsonl")
    assert {*Policy().require} <= {*recorded_policy(recording).require}
    assert recorded_policy(recording, trust=True).require == ("seccomp",)


def test_the_name_of_a_policy_may_be_any_text(record: Record) -> None:
    path = record(lambda session: session.run("x = 1"))
    heading, *rest = path.read_text().splitlines()
    named = json.loads(heading) | {"policy": "\ud800\x1b[2J"}
    path.write_text("\n".join([json.dumps(named), *rest, ""]))
    assert replay(path, trust=True).difference is None


LEFT_OUT = {"left_out": "redacted", "size": 5}


def test_what_was_left_out_of_a_recording_is_asked_for(record: Record) -> None:
    path = record(lambda session: session.run("input(), open('start.txt').read()", stdin="typed"))
    whole = path.read_text()
    edited(path, "recording", files={"start.txt": LEFT_OUT})
    with pytest.raises(RecordingError, match=r"the file 'start\.txt' is needed: .*--file NAME=PATH"):
        replay(path, trust=True)
    with pytest.raises(RecordingError, match=r"no file 'other\.txt' is in the recording"):
        replay(path, trust=True, files={"start.txt": b"begin", "other.txt": b""})
    with replay(path, trust=True, files={"start.txt": b"begin"}) as replayed:
        assert replayed.difference is None
    path.write_text(whole)
    edited(path, "run", stdin=LEFT_OUT)
    with pytest.raises(RecordingError, match="the standard input of step 1 is needed: "):
        replay(path, trust=True)
    path = record(lambda session: session.run("len(token())"), redact=["token"])
    with replay(path, trust=True) as replayed:
        assert "the answer to token() is needed: " in str(replayed.difference)
    with replay(path, trust=True, tools=[token]) as replayed:
        assert replayed.difference is None


def test_running_functions_are_told_with_their_variables_and_a_step_that_cannot_begin_differs(record: Record) -> None:
    path = record(lambda session: session.run("def half(n):\n    m = n - 3\n    return n / m\nhalf(3)"))
    with replay(path, trust=True) as replayed:
        assert replayed.difference is None
        frame = replayed.frames()[-1]
        assert (frame.function, [one.name for one in frame.variables]) == ("half", ["n", "m"])
        with pytest.raises(RecordingError, match="no session 2"):
            replayed.frames(2)
    path = record(lambda session: session.run("1 + 1", argv=["p"]))
    edited(path, "run", namespace={"no name": LEFT_OUT})
    with pytest.raises(RecordingError, match="the value of 'no name' is needed"):
        replay(path, trust=True)
    with replay(path, trust=True, set={"no name": 1}) as replayed:
        found = replayed.difference
        assert found is not None and found.what == "outcome" and "no name" in found.now
        assert (replayed.steps, found.cause) == (0, "because no name was set to another value")


def test_what_the_host_did_may_end_otherwise_too(record: Record, tmp_path: Path) -> None:
    def act(session: Session) -> None:
        session.run("x, items = 1, [1]")
        del session.namespace["x"]
        assert session.save(tmp_path / "state") == {}
        with pytest.raises(SandboxError):
            session.rollback("there")

    path = record(act)
    with replay(path, trust=True, replace={1: "items = (n for n in [1])"}, on_difference="go on") as replayed:
        told = {one.what: one for one in replayed.differences}
        assert told["operation 'delete'"].recorded == "done" and told["operation 'delete'"].now.startswith("KeyError")
        assert "generator" in told["what cannot be saved"].now
        assert {one.cause for one in told.values()} == {"because step 1 was replaced"}
        assert "operation 'rollback'" not in told, "it failed, and fails again"
    edited(path, "delete", now=7)
    with replay(path, trust=True) as replayed:
        assert str(replayed.difference).startswith("step 1: state was that of step 7, and is that of step 1; ")


def test_what_a_stranger_wrote_is_told_in_one_short_line(record: Record) -> None:
    path, much = record(lambda session: (session.checkpoint("a"), session.run("x = 1"))), "much\n" * 10_000
    edited(path, "checkpoint", problem=much)
    edited(path, "result", problem=much)
    with replay(path, trust=True, on_difference="go on") as replayed:
        told = [*replayed.taken, *map(str, replayed.differences)]
    assert len(told) > 1 and all(len(text) < 1000 and text.isprintable() for text in told)


def test_a_session_without_checkpoints_that_lost_all_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    policy = Policy.load("standard").replace(checkpoints="off", determinism=FIXED.determinism)
    with Sandbox(policy, spare=0) as sandbox, sandbox.session(record=path) as session:
        session.run("x = 1")
        assert session.run("x = 2\nwhile True: pass", timeout=0.05).state == "lost"
        assert session.run("x").error.type == "NameError"  # type: ignore[union-attr]
    with replay(path, policy=policy) as replayed:
        assert replayed.difference is None and replayed.session.run("x + 1").error is not None
        assert replayed.taken == ["step 2 was stopped (timeout): taken as recorded"]


def test_without_determinism_that_is_the_cause_or_the_policy(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    with Sandbox("standard") as sandbox, sandbox.session(record=path) as session:
        session.run("import random\nrandom.random()")
    with replay(path) as replayed:
        assert "the policy has no `determinism`" in str(replayed.difference)
    with replay(path, policy=Policy.load("standard").replace(memory_mb=300)) as replayed:
        assert "because of the policy 'standard', or by chance: the policy has no" in replayed.difference.cause
    with replay(path, set={"unused": 1}) as replayed:
        assert "because unused was set, or by chance: the policy has no" in replayed.difference.cause
