"""A recording run again: nothing differs where the policy is determined, and the first difference is named."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from safeexec import Policy, RecordingError, RecordOptions, Sandbox, Session, replay
from safeexec.host.replay.replay import recorded_policy
from safeexec.recordings.format import Heading
from safeexec.recordings.forms import line_of
from safeexec.recordings.reader import Recording
from tests.recordings.examples import make

DATA = Path(__file__).parents[2] / "recordings" / "data"
FIXED = Policy.load("standard").replace(
    determinism={"seed": 3, "clock": "2025-01-01T00:00:00+00:00"},
    filesystem={"workspace": "read-write"},
    builtins={"add": ["open"]},
)
Record = Callable[..., Path]


def price(item: str, n: int = 1) -> float:
    """A tool."""
    if n > 3:
        raise ValueError("so many are not there")
    return len(item) * n / 4


def token() -> str:
    """A tool whose answer nobody writes down."""
    return "open" + "sesame"


@pytest.fixture(scope="module")
def fixed(_own_temporary_directory: None) -> Iterator[Sandbox]:
    with Sandbox(FIXED, tools=[price, token], files={"start.txt": b"begin"}, spare=0) as sandbox:
        yield sandbox


@pytest.fixture
def record(fixed: Sandbox, tmp_path: Path) -> Record:
    """The recording of what a function does with a session."""

    def made(act: Callable[[Session], None], **options: Any) -> Path:
        path = tmp_path / "r.jsonl"
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


@pytest.mark.slow
@pytest.mark.modules("numpy", "pandas", "matplotlib")
def test_an_analysis_replays_with_its_figures(tmp_path: Path) -> None:
    make("analysis", tmp_path / "r.jsonl")
    with replay(tmp_path / "r.jsonl") as replayed:
        assert replayed.difference is None and replayed.steps == 5


STEPS = (
    "x = random.random(); total = total + x; x",
    "names = set(str(n) for n in range(20)); names",
    "[str(n) for n in {'a', 'b', 'c', 'd'}]",
    "price('tea', n=random.randrange(5))",
    "log.append(time.time()); len(log), time.time()",
    "open(f'f{len(log)}.txt', 'w').write('x' * 5)",
    "sorted(os.listdir('.')) if False else open('start.txt').read()",
    "class Point:\n    pass\np = Point(); p",
    "lambda: 1",
    "print(uuid.uuid4()); 1 / 0",
    "def gen():\n    yield 1\ng = gen(); next(g)",
    "import socket",
    "sum(price('x') for _ in range(3))",
    "input()",
    "del log[:]; float('nan'), [float('nan')]",
    "raise KeyError('x')",
)
OPENING = "import random, time, uuid\ntotal = 0\nlog = []"


def wander(session: Session, choose: random.Random, length: int) -> None:
    """A random session: steps, files, values, checkpoints, rollbacks, branches, stops."""
    session.run(OPENING).check()
    open_sessions = [session]
    for number in range(length):
        some = choose.choice(open_sessions)
        act = choose.randrange(14)
        try:
            if act == 0:
                some.checkpoint(f"c{choose.randrange(2)}")
            elif act == 1:
                some.rollback(choose.choice([None, "c0", "c1"]))
            elif act == 2 and len(open_sessions) < 4:
                open_sessions += some.branch(choose.randrange(1, 3))
            elif act == 3:
                some.set("total", choose.random())
            elif act == 4:
                some.write_file("given.txt", str(number).encode())
            elif act == 5:
                some.run("total = 5\nwhile True:\n    pass", timeout=0.05)
            elif act == 6 and some is not session:
                open_sessions.remove(some)
                some.close()
            else:
                source = choose.choice(STEPS)
                some.run(source, atomic=choose.random() < 0.2, stdin=choose.choice([None, "line", ["a", "b"]]))
        except Exception as error:
            assert type(error).__name__ in ("CheckpointError", "SandboxError"), error
    for some in open_sessions[1:]:
        some.close()


def replays_alike(fixed: Sandbox, path: Path, seed: int, length: int) -> None:
    with fixed.session(record=path) as session:
        wander(session, random.Random(seed), length)
    with replay(path, trust=True) as replayed:
        assert replayed.difference is None, (seed, str(replayed.difference))
        assert replayed.steps > length // 4


def test_random_sessions_replay_without_a_difference(fixed: Sandbox, tmp_path: Path) -> None:
    for seed in (1, 2):
        replays_alike(fixed, tmp_path / f"{seed}.jsonl", seed, 25)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_many_random_sessions_replay_without_a_difference(fixed: Sandbox, tmp_path: Path) -> None:
    for seed in range(10, 40):
        replays_alike(fixed, tmp_path / f"{seed}.jsonl", seed, 60)


def counting(session: Session) -> None:
    session.set("n", 1)
    for _ in range(4):
        session.run("n += 1\nprint(n)\nn")


def test_any_point_can_be_had_and_gone_on_from(record: Record) -> None:
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


def test_a_difference_is_named_with_its_cause(record: Record) -> None:
    path = record(counting)
    with replay(path, trust=True, set={"n": 5}) as replayed:
        assert str(replayed.difference) == (
            "step 1: stdout was '2\\n', and is '6\\n'; because n was set to another value"
        )
    with replay(path, trust=True, replace={3: "n = 0"}) as replayed:
        assert replayed.difference is not None and replayed.difference.step == 3
        assert replayed.difference.cause == "because step 3 was replaced"
    with replay(path, policy=FIXED.replace(builtins={"remove": ["print"]})) as replayed:
        found = replayed.difference
        assert found is not None and found.what == "outcome" and found.now == "'rejected'"
        assert "because of the policy 'standard'" in found.cause


def test_what_to_do_at_a_difference_is_one_of_two(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="on_difference='continue': it is 'stop' or 'go on'"):
        replay(tmp_path / "none.jsonl", on_difference="continue")  # type: ignore[arg-type]


def test_an_edited_source_is_a_difference(record: Record) -> None:
    path = record(counting)
    path.write_text(path.read_text().replace("n += 1", "n += 2", 1))
    with replay(path, trust=True) as replayed:
        assert replayed.difference is not None and "somebody changed the recording" in replayed.difference.cause


def test_without_determinism_that_is_the_cause(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    with Sandbox("standard", spare=0) as sandbox, sandbox.session(record=path) as session:
        session.run("import random\nrandom.random()")
    with replay(path) as replayed:
        assert "the policy has no `determinism`" in str(replayed.difference)


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


def test_what_was_redacted_is_given_anew(record: Record) -> None:
    def act(session: Session) -> None:
        session.set("secret", "hunter2-hunter2")
        session.run("print(secret)\nlen(secret)")

    path = record(act, redact=["secret"])
    with pytest.raises(RecordingError, match=r"the value of 'secret' is needed: .* redacted \(--set secret="):
        replay(path, trust=True)
    with replay(path, trust=True, set={"secret": "another-secret!"}) as replayed:
        assert replayed.difference is None
    with replay(path, trust=True, set={"secret": "short"}) as replayed:
        assert "because secret was set to another value" in str(replayed.difference)


def test_a_cut_recording_replays_to_its_last_whole_step(record: Record) -> None:
    path = record(counting)
    data = path.read_bytes()
    path.write_bytes(data[: data.index(b'"n":7,') + 20])
    with replay(path, trust=True) as replayed:
        assert replayed.difference is None and replayed.recording.torn
        assert (replayed.steps, replayed.session.get("n")) == (2, 3)


def heading_with(path: Path, **changes: object) -> None:
    first, rest = path.read_bytes().split(b"\n", 1)
    path.write_bytes(json.dumps(json.loads(first) | changes).encode() + b"\n" + rest)


def test_the_policy_of_a_stranger_is_not_simply_taken(record: Record) -> None:
    path = record(counting)
    harm = Policy.load("standard").replace(filesystem={"read": ["/etc"]})
    for policy, told in (
        (harm, "it opens files of the host: give a policy of yours"),
        (Policy.load("confined-python").replace(name="standard"), "it switches the language layer off"),
        (Policy.load("standard").replace(memory_mb=4096), "it allows more of limits.memory_mb"),
    ):
        heading_with(path, yaml=policy.to_yaml(), digest=policy.replace(name="standard").digest)
        with pytest.raises(RecordingError, match=told):
            replay(path)
        assert recorded_policy(Recording(path), trust=True).digest == policy.digest
    heading_with(path, yaml="- no policy")
    with pytest.raises(RecordingError, match="its policy cannot be read"):
        replay(path, trust=True)


def test_tools_that_are_none_are_refused(record: Record) -> None:
    path = record(counting)
    for shape in ({"name": "a b"}, {"name": "a", "parameters": [["x", "odd", "", ""]]}):
        heading_with(path, tools=[shape])
        with pytest.raises(RecordingError, match="invalid tool"):
            replay(path, trust=True)


def test_records_out_of_order_are_told(record: Record) -> None:
    path = record(counting)
    lines = path.read_text().splitlines(keepends=True)
    orphan = json.loads(lines[2]) | {"session": 7}
    path.write_text("".join([*lines[:2], json.dumps(orphan) + "\n", *lines[3:]]))
    with pytest.raises(RecordingError, match=r"has no session 7|has not begun"):
        replay(path, trust=True)


def test_files_come_along(record: Record) -> None:
    def act(session: Session) -> None:
        session.write_file("more.txt", b"more")
        session.run("open('out.txt', 'w').write(open('start.txt').read() + open('more.txt').read())")

    with replay(record(act), trust=True) as replayed:
        assert replayed.difference is None
        assert replayed.session.read_file("out.txt") == b"beginmore"


def test_a_policy_that_came_with_a_recording_is_not_one_of_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = Policy.load("confined-python").replace(danger_allow_commands=["sh"])
    (tmp_path / "own.yaml").write_text(policy.to_yaml())
    monkeypatch.chdir(tmp_path)
    beside = Policy.load("own.yaml")
    heading = Heading(
        format=1, safeexec="1", python="3.12.1", policy="own.yaml", digest=beside.digest, yaml=beside.to_yaml()
    )
    (tmp_path / "r.jsonl").write_bytes(line_of(heading))
    with pytest.raises(RecordingError, match="is none of this machine"):
        recorded_policy(Recording(tmp_path / "r.jsonl"))


def test_a_policy_of_an_unknown_name_asks_no_less_of_the_kernel(tmp_path: Path) -> None:
    less = Policy(name="unheard-of")
    heading = Heading(format=1, safeexec="1", python="3.12.1", policy=less.name, digest="", yaml=less.to_yaml())
    (tmp_path / "r.jsonl").write_bytes(line_of(heading))
    with pytest.raises(RecordingError, match="requires less of the kernel"):
        recorded_policy(Recording(tmp_path / "r.jsonl"))
