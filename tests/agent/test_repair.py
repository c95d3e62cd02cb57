"""Repair of real small repositories: the real confined verification, a scripted model."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from safeexec import Deny
from safeexec.agent import RepairError, ScriptedModel
from safeexec.agent.repair import RepairAgent
from safeexec.agent.repair.copies import WorkingCopy
from safeexec.agent.repair.verdicts import Verification
from safeexec.agent.repair.verification import PROGRAMS, Verifier, digest
from tests.agent.chat_server import Say, chat_server
from tests.agent.scripted import code
from tests.alone import ran

PRICING = '''"""Prices."""


def buggy_discount(price, rate):
    """The price after a discount."""
    return price - rate


def double(amount):
    return 2 * amount
'''

TESTS = """from shop.pricing import buggy_discount, double


def test_a_discount_of_twenty_percent():
    assert buggy_discount(100, 0.8) == 80.0


def test_half_price():
    assert buggy_discount(50, 0.5) == 25.0


def test_double():
    assert double(2) == 4
"""

UNIT = """import unittest
from shop.pricing import buggy_discount


class T(unittest.TestCase):
    def test_half(self):
        self.assertEqual(buggy_discount(50, 0.5), 25)
"""

GOOD = """print(replace_text('src/shop/pricing.py', 'return price - rate', 'return price * rate'))
print(verify('Multiply the price by the rate'))"""

MENDED = (
    "diff --git a/src/shop/pricing.py b/src/shop/pricing.py\n--- a/src/shop/pricing.py\n+++ b/src/shop/pricing.py\n"
    '@@ -3,7 +3,7 @@\n \n def buggy_discount(price, rate):\n     """The price after a discount."""\n'
    "-    return price - rate\n+    return price * rate\n \n \n def double(amount):\n"
)

LEAN = "[pytest]\naddopts = -p no:anyio -p no:hypothesispytest -p no:timeout"
"""Without plugins that may be installed beside it pytest starts in a fifth of the time."""

SCRIPT = ["python", "-c", "import shop.pricing as p; assert p.buggy_discount(100, 0.8) == 80"]
"""A verification that begins at once, for tests of something else."""

HARMFUL = """print(replace_text('src/shop/pricing.py', '    return 2 * amount', '    return 3 * amount'))
print(verify('Harm'))"""


def git(repository: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=test", "-c", "user.email=test@localhost", "-c", "commit.gpgSign=false")
    return ran(("git", *identity, *arguments), cwd=repository, check=True).stdout


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / "src/shop").mkdir(parents=True)
    (root / "tests").mkdir()
    (root / "src/shop/__init__.py").write_text("")
    (root / "src/shop/pricing.py").write_text(PRICING)
    (root / "tests/test_pricing.py").write_text(TESTS)
    (root / "pytest.ini").write_text(f"{LEAN} -p no:xdist\n")
    return root


def repair(shop: Path, *sources: str, editable: tuple[str, ...] = ("src/",), **options: object):  # type: ignore[no-untyped-def]
    model = ScriptedModel([*map(code, sources), "Done.", "Done."])
    return RepairAgent(model, shop, editable=editable, **options).run()  # type: ignore[arg-type]


def test_a_harmful_patch_is_rolled_back_and_a_good_one_committed_through_the_real_sdk(shop: Path) -> None:
    git(shop, "init", "-q")
    git(shop, "add", "-A")
    git(shop, "commit", "-q", "-m", "as it was")
    before = git(shop, "status", "--porcelain=v2", "--branch")
    answers = [Say(code(source)) for source in ("print(read_file('src/shop/pricing.py'))", HARMFUL, GOOD)]
    with chat_server(*answers, Say("It subtracted the rate.")) as server:
        result = RepairAgent(server.model(api_key="k"), shop, verify=["pytest", "-q"], editable=["src/"]).run("Mend.")
    seen = server.requests[-1]["messages"]
    assert "99.2 == 80.0" in seen[1]["content"], "the task shows why it fails"
    assert any("ROLLED BACK" in message["content"] and "test_double" in message["content"] for message in seen)
    assert result.ok and result.after.passed == 3
    steps = [entry for entry in result.run.transcript.entries if entry["kind"] == "step"]
    assert [step["verdict"] for step in steps] == [None, "rolled back", "committed"]
    assert (result.before.passed, len(result.before.failing)) == (1, 2)
    assert len(result.rolled_back) == 1
    assert [commit.message for commit in result.commits] == ["Multiply the price by the rate"]
    assert result.commits[0].diff == result.diff == MENDED
    assert result.warnings == ()

    pricing = shop / "src/shop/pricing.py"
    assert pricing.read_text() == PRICING, "the original is untouched"
    assert git(shop, "status", "--porcelain=v2", "--branch") == before
    pricing.write_text("# edited by a person\n")
    with pytest.raises(RepairError, match="was changed in"):
        result.apply()
    assert pricing.read_text() == "# edited by a person\n"
    pricing.write_text(PRICING)
    assert result.apply() == ["src/shop/pricing.py"]
    assert pricing.read_text() == PRICING.replace("price - rate", "price * rate")
    assert git(shop, "status", "--porcelain").strip() == "M src/shop/pricing.py"


def test_a_diff_in_the_answer_is_asked_for_as_a_step_and_a_change_is_verified_at_the_end(shop: Path) -> None:
    model = ScriptedModel([f"The patch:\n\n```diff\n{MENDED}```\n", code(GOOD), "Done."], keep_requests=True)
    assert RepairAgent(model, shop, verify=SCRIPT).run().ok
    assert "with replace_text()" in str(model.requests[1][-1].content)
    result = repair(shop, "replace_text('src/shop/pricing.py', 'price - rate', 'price * rate')", verify=SCRIPT)
    assert result.ok and len(result.commits) == 1


CHEATS = {
    "outside the editable paths": ("write_file('setup.cfg', 'x')", "setup.cfg: may not be changed; editable are src"),
    "out of the repository": ("write_file('src/../../x.py', 'x')", "not a path inside the repository"),
    "absolute": ("read_file('/etc/passwd')", "not a path inside the repository"),
    "version control": ("write_file('src/.git/hooks/pre-commit', 'x')", "version control is not for editing"),
    "deleting": ("delete_file('src/shop/pricing.py')", "delete_file(): delete src/shop/pricing.py: needs"),
    "a file that runs with the tests": ("write_file('src/conftest.py', 'x')", "PermissionError: write_file(): change"),
    "the same, spelt otherwise": ("write_file('src\\\\./conftest.py', 'x')", "change the test src/conftest.py: needs"),
    "a directory": ("read_file('src')", "src: is a directory"),
    "a link": ("print(read_file('src/link.py'))", "a link"),
    "nowhere": ("list_files('nowhere')", "nowhere: there are no files"),
    "behind the end": ("read_file('src/shop/pricing.py', 900)", "has 11 lines"),
    **{
        f"a passage that is {what}": (f"replace_text('src/shop/pricing.py', {search!r}, 'x')", said)
        for what, search, said in (
            ("other", "def double(amount):\n  return 2*amount", "The nearest lines are:\n 9 | def double(amount):"),
            ("other by white space", "def double(amount):\n\treturn 2 * amount", "Only white space differs"),
            ("there twice", "return ", "2 times (lines 6, 10)"),
            ("nowhere", "0123456789 @@@@", "Nothing in the file is like it"),
            ("empty", "", "the text to search for is empty"),
        )
    },
    "a hook of an editor": ("write_file('src/.vscode/tasks.json', 'x')", "which decides what is run"),
}


def test_boundaries_are_named(shop: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.py"
    secret.write_text("password = 1")
    (shop / "src/link.py").symlink_to(secret)
    result = repair(shop, *[attempt for attempt, _ in CHEATS.values()], verify=SCRIPT)
    for (name, (_, refusal)), step in zip(CHEATS.items(), result.run.steps, strict=False):
        assert refusal in step.observation, name
        assert "password" not in step.observation
    assert len(result.run.steps) >= len(CHEATS) and result.diff == ""


def test_a_model_searches_and_undoes(shop: Path) -> None:
    change = "print(replace_text('src/shop/pricing.py', '2 * amount', 'amount * 2'))\nprint(verify('As good'))"
    steps = {
        "print(search('amount', 'src'), search('no such text'))": (
            "['src/shop/pricing.py:9: def double(amount):', 'src/shop/pricing.py:10: return 2 * amount'] []"
        ),
        "search('')": "the pattern is empty",
        "read_file('src/shop/pricing.py', 0)": "lines count from 1",
        "print(write_file('src/shop/__init__.py', ''))": "nothing has changed",
        change: "No better than before: the changes are kept, but not committed",
        "print(search('amount * 2'), undo(), undo())": (
            "['src/shop/pricing.py:10: return amount * 2'] undone: src/shop/pricing.py there was nothing to undo"
        ),
        "print(search('amount * 2'), verify())": "[] The verification fails.\n",
    }
    result = repair(shop, *steps, verify=SCRIPT)
    for step, shown in zip(result.run.steps, steps.values(), strict=True):
        assert shown in step.observation, shown
    verdicts = [entry["verdict"] for entry in result.run.transcript.entries if entry["kind"] == "step"]
    assert verdicts == [None, None, None, None, "no better", "undone", None]
    assert not result.ok and not result.commits and result.diff == ""


def test_deleting_failing_tests_does_not_pass_for_a_repair(shop: Path) -> None:
    tests = "from shop.pricing import double\n\n\ndef test_double():\n    assert double(2) == 4\n"
    result = repair(
        shop,
        "write_file('tests/test_pricing.py', 'def test_nothing():\\n    pass\\n')\nverify('None that passed')",
        f"write_file('tests/test_pricing.py', {tests!r})\nverify('Fewer tests')",
        "delete_file('tests/test_pricing.py')\nprint(verify('None'))",
        editable=("tests/",),
        approval=lambda a, t: True,
    )
    assert [commit.message for commit in result.commits] == ["Fewer tests"]
    assert "test_double" in result.rolled_back[0]
    assert [one.rule for one in result.warnings] == ["test-changed"]


FORGERIES = {
    "skip": "import pytest\ndef buggy_discount(p, r): pytest.skip('later')\ndef double(a): return 2 * a\n",
    "xfail": "import pytest\ndef buggy_discount(p, r): pytest.xfail('later')\ndef double(a): return 2 * a\n",
    "skip the file": "import pytest\npytest.skip('later', allow_module_level=True)\n",
    "print and exit": "print('3 passed in 0.1s')\nraise SystemExit(0)\n",
    "exit of pytest": "import pytest\npytest.exit('3 passed in 0.1s', returncode=0)\n",
    "skip of unittest": "import unittest\ndef buggy_discount(p, r): raise unittest.SkipTest\ndef double(a): pass\n",
}


@pytest.mark.parametrize(
    ("verify", "names"),
    [
        (["pytest", "-q"], list(FORGERIES)[:3]),
        (["pytest", "-q"], list(FORGERIES)[3:]),
        (["python", "-m", "unittest", "discover", "tests"], ["skip the file", "print and exit", "skip of unittest"]),
    ],
    ids=["pytest, skipped", "pytest, ended", "unittest"],
)
def test_tests_that_are_not_run_to_their_end_are_no_repair(shop: Path, verify: list[str], names: list[str]) -> None:
    (shop / "tests/test_unit.py").write_text(UNIT)
    attempts = [f"write_file('src/shop/pricing.py', {FORGERIES[name]!r})\nprint(verify({name!r}))" for name in names]
    result = repair(shop, *attempts, verify=verify)
    assert not result.ok
    assert (result.commits, result.diff) == ((), "")
    for name, step in zip(names, result.run.steps, strict=False):
        assert "ROLLED BACK" in step.observation or "No better than before" in step.observation, name
    assert len(result.run.steps) >= len(names)


def test_a_script_that_verifies_is_no_part_of_what_it_verifies(shop: Path) -> None:
    (shop / "check.py").write_text("import shop.pricing as p\nassert p.buggy_discount(100, 0.8) == 80\n")
    result = repair(shop, "write_file('check.py', '')\nverify('Fewer')", editable=(".",), verify=["python", "check.py"])
    assert str(result.warnings[0]) == "check.py: edited; it decides what is run"
    ending = "write_file('src/shop/pricing.py', 'raise SystemExit(0)')\nverify('Quiet')"
    result = repair(shop, ending, verify=["python", "check.py"])
    assert "src/shop/pricing.py: ended the verification by SystemExit" in map(str, result.warnings)


def test_only_a_clear_yes_approves(shop: Path) -> None:
    answers = [None, "yes", 1, object(), False, Deny("not today"), OSError("no terminal")]
    asked: list[tuple[str, str]] = []

    def approval(action: str, diff: str) -> object:
        asked.append((action, diff))
        answer = answers[len(asked) - 1]
        if isinstance(answer, Exception):
            raise answer
        return answer

    source = (
        f"for number in range({len(answers)}):\n    try:\n        delete_file('src/shop/pricing.py')\n"
        "    except Exception as error:\n        print(f'{type(error).__name__}: {error}')"
    )
    result = repair(shop, source, approval=approval, verify=SCRIPT)
    assert result.diff == ""
    assert len(asked) == len(answers) and {action for action, _ in asked} == {"delete src/shop/pricing.py"}
    assert "-    return price - rate\n" in asked[0][1], "the diff that it would make"
    refusals = [line for line in result.run.steps[0].observation.split("\n") if "Error: " in line]
    said = {Deny: "not today", OSError: "no terminal"}
    for answer, refusal in zip(answers, refusals, strict=True):
        assert said.get(type(answer), "was not approved") in refusal, answer


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"verify": ["python", "-m", "no_such_module"]}, "no module 'no_such_module'"),
        ({"verify": ["python", "no_such.py"]}, r"no file 'no_such\.py'"),
        ({"verify": ["no-such-program"]}, "no program 'no-such-program'"),
        ({"verify": ["./run_tests"]}, "name the program that runs it"),
        ({"verify": "pytest -q"}, "must be a list"),
        ({"verify": [[]]}, "verify must be"),
        ({"verify": [["pytest"], "python check.py"]}, "verify must be"),
        ({"editable": "src/"}, "must be a list"),
        ({"editable": ()}, "editable is empty"),
    ],
)
def test_what_cannot_be_worked_with_is_said_at_once(shop: Path, options: dict[str, object], problem: str) -> None:
    with pytest.raises(RepairError, match=problem):
        repair(shop, **{"editable": ("src/",), **options})  # type: ignore[arg-type]


def test_a_commit_is_the_patch_alone(shop: Path) -> None:
    (shop / "src/shop/extra.py").write_text("# untracked\n")
    delete = "delete_file('src/shop/extra.py')\nwrite_file('src/[a-z]*.py', '')\n"
    result = repair(shop, delete + GOOD, approval=lambda action, diff: True, verify=SCRIPT)
    (commit,) = result.commits
    assert commit.files == ("src/[a-z]*.py", "src/shop/extra.py", "src/shop/pricing.py")
    assert [line for line in commit.diff.split("\n") if line[:1] in ("+", "-") and line[:3] not in ("+++", "---")] == [
        "-# untracked", "-    return price - rate", "+    return price * rate",
    ]  # fmt: skip


@pytest.mark.parametrize("argv", [["python", "-m", "unittest"], ["python", "check.py"], ["python3", "-m", "check"]])
def test_other_python_commands_verify_too(shop: Path, argv: list[str]) -> None:
    check = "import shop.pricing as p\nraise SystemExit(0 if p.buggy_discount(100, 0.8) == 80 else 3)\n"
    (shop / "check.py").write_text(check)
    (shop / "test_unit.py").write_text(UNIT)
    copy = WorkingCopy(shop, ["src"])
    with Verifier(argv) as verifier:
        assert not verifier.run(copy).ok
        copy.write("src/shop/pricing.py", PRICING.replace("price - rate", "price * rate"))
        assert verifier.run(copy).ok


def verify(copy: WorkingCopy, *argv: str, **options: Any) -> Verification:
    with Verifier(argv, **options) as verifier:
        return verifier.run(copy)


def verdict(ok: bool = False, ended: str = "exit", **outcomes: str) -> Verification:
    tests = {name.replace("__", "::"): outcome for name, outcome in outcomes.items()}
    return Verification(ok, "", ended, tests)


def test_the_judgement_of_verdicts_and_of_tests_one_by_one() -> None:
    import_error = verdict(a="failed")
    two_fail = verdict(a__x="failed", a__y="failed", b__z="passed")
    passing = verdict(True, a__x="passed", a__y="passed", b__z="passed")
    assert not two_fail.worse_than(import_error), "a file that can be imported now shows its failing tests"
    assert "b::z" in verdict(b__z="failed").worse_than(two_fail)
    assert passing.better_than(two_fail)
    assert verdict(ended="timeout").worse_than(two_fail)
    assert verdict(True).worse_than(passing), "a run that tells of no tests any more"
    before = verdict(a__x="failed", a__y="passed", b="failed")
    assert not verdict(a__x="failed", a__y="passed", b__z="failed").worse_than(before), "the file is imported now"
    assert not verdict(a__x="passed", a__y="passed", b__z="passed", c="failed").worse_than(before), "c is new"
    assert "before: a::y" in verdict(a__x="passed", a__y="failed", b="failed").worse_than(before)
    assert "before: a" in verdict(a="failed", b="failed").worse_than(before)
    assert "end any more: a::x" in verdict(True, a__y="passed", b__z="passed").worse_than(before)
    assert "end any more: a::x" in verdict(True, a__x="skipped", a__y="passed", b__z="passed").worse_than(before)
    assert not verdict(True, a__y="passed").worse_than(before, may_lose_failing=True)
    assert "end any more: a::y" in verdict(True, a__x="passed").worse_than(before, may_lose_failing=True)
    cases = Verification(False, "", outcomes={"a::x[1]": "failed"})
    assert not Verification(True, "", outcomes={"a::x[2]": "passed"}).worse_than(cases), "other parameters"


def test_a_long_log_is_cut_to_what_matters() -> None:
    noise = "\n".join(f"collected item {n} and it went well" for n in range(2000))
    why, end = "E   assert 3 == 2\ntests/test_a.py:3: AssertionError", "FAILED tests/test_a.py::x\n1 failed in 1s"
    short = digest(f"{noise}\n{why}\n{noise}\n{end}", 1000)
    assert len(short) <= 1000 and {*f"{why}\n{end}".split("\n")} <= {*short.split("\n")}


def verified(shop: Path, tests: str, *argv: str, timeout: float = 60.0, **files: str) -> Verification:
    (shop / "tests/test_pricing.py").write_text(tests)
    for name, text in files.items():
        (shop / name.replace("_ini", ".ini")).write_text(text)
    return verify(WorkingCopy(shop, ["src"]), *(argv or ("pytest", "-q")), timeout=timeout)


def test_failing_tests_are_known_where_the_log_does_not_name_them(shop: Path) -> None:
    found = verified(shop, "def test_a():\n    assert 0\n", pytest_ini=f"{LEAN} --tb=no --no-summary -qq\n")
    assert found.failing == {"tests/test_pricing.py::test_a"}


@pytest.mark.modules("xdist")
def test_a_repository_may_ask_for_processes_and_a_cache(shop: Path) -> None:
    """Its tests run in the one process that there is, and nothing is left in the cache."""
    found = verified(shop, "def test_a():\n    pass\n", pytest_ini=f"{LEAN} -n auto --dist loadfile --lf\n")
    assert (found.ok, found.passed) == (True, 1), found.log


def test_a_verification_that_hangs_names_the_test(shop: Path) -> None:
    for seconds in (1, 10, 60):
        found = verified(shop, "def test_a():\n    pass\n\ndef test_hangs():\n    while True: pass\n", timeout=seconds)
        if found.passed:  # else pytest itself was so slow
            break
    assert (found.ended, found.passed) == ("timeout", 1)
    assert f"limit of {seconds} s" in found.log
    assert "The last test that began is tests/test_pricing.py::test_hangs." in found.log


MAY = """\
import getpass, os, subprocess, sys, threading, pytest

def test_fork():
    child = os.fork()
    if not child:
        pytest.main(['-q', sys.argv[0]])
        os._exit(0)
    os.waitpid(child, 0)

def test_threads():
    end = threading.Event()
    threads = [threading.Thread(target=end.wait) for _ in range(100)]
    try:
        for thread in threads:
            thread.start()
    finally:
        end.set()

def test_python():
    assert 'PYTEST_PLUGINS' not in os.environ and getpass.getuser() == 'guest'
    assert subprocess.check_output([sys.executable, '-c', 'print(6 * 7)'], text=True) == '42\\n'

def test_other():
    with pytest.raises(OSError):
        subprocess.run(['/usr/bin/env'])
"""


def test_tests_may_fork_start_threads_and_python_and_no_other_program(shop: Path) -> None:
    found = verified(shop, MAY)
    assert found.ended == "exit" and found.ok, found.log
    names = ("fork", "threads", "python", "other")
    assert found.outcomes == {f"tests/test_pricing.py::test_{name}": "passed" for name in names}


def test_what_the_sandbox_refuses_is_said_in_words(shop: Path) -> None:
    tests = "import multiprocessing, pathlib, pytest, socket, subprocess\n\n"
    tests += "def test_a():\n    subprocess.run(['true'])\n\ndef test_c():\n    multiprocessing.Lock()\n\n"
    tests += "def test_b():\n    socket.create_connection(('127.0.0.1', 9), 1)\n\n"
    # Without a mount namespace a path can be seen, and what it leads to cannot.
    tests += "def test_original():\n    with pytest.raises(OSError):\n"
    found = verified(shop, f"{tests}        pathlib.Path({str(shop / 'src/shop/pricing.py')!r}).read_text()\n")
    assert (found.passed, len(found.failing)) == (1, 3)
    assert "is what the sandbox answers to network and signals" in found.log
    assert "`multiprocessing` gets no semaphores" in found.log and "--deselect" in found.log
    assert PROGRAMS in found.log


def test_the_log_of_a_script_shows_its_lines_and_no_test_at_all_is_no_success(shop: Path) -> None:
    found = verified(shop, "x = 1\nassert x == 2, 'not two'\n", "python", "tests/test_pricing.py")
    assert 'File "tests/test_pricing.py", line 2' in found.log and "not two" in found.log
    assert "<step" not in found.log and "runpy" not in found.log
    found = verified(shop, "raise SystemExit(0)\n", "python", "-m", "unittest", "tests.test_pricing")
    assert not found.ok
    assert "No test ran." in found.log


async def test_a_repair_is_awaited_while_the_event_loop_goes_on(shop: Path) -> None:
    """Nothing of it blocks the loop, and the result is that of `run`."""
    agent = RepairAgent(ScriptedModel([code(GOOD), "Done."]), shop, verify=["pytest", "-q"], editable=["src/"])
    turns, repairing = 0, asyncio.create_task(agent.run_async())
    while not repairing.done():
        turns += 1
        await asyncio.sleep(0.01)
    result = repairing.result()
    assert result.ok and result.after.passed == 3 and result.warnings == ()
    assert result.diff == MENDED and turns > 3


def test_code_that_looks_for_files_is_told_the_tools(shop: Path) -> None:
    replies = [code("from pathlib import Path\nPath('shop.py').read_text()"), "I give up."]
    result = RepairAgent(ScriptedModel(replies), shop, verify=SCRIPT).run()
    error = result.steps[0].result.error
    assert error is not None and error.hint is not None and "read_file(path)" in error.hint
    assert (result.ok, result.stop) == (False, result.run.stop) and result.reason == result.run.reason
    with pytest.raises(RepairError, match="nothing was changed"):
        result.apply()
