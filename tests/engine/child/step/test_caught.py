"""What the kernel refused is listed in the result, also where the guest or a library caught the error."""

from __future__ import annotations

import pytest

from safeexec import Result, Session
from tests.conftest import Run


def refused(result: Result) -> list[tuple[str, int | None]]:
    return [(refusal.message.partition(" is refused by ")[0], refusal.line) for refusal in result.check().refusals]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("open('/x', 'w')", "open() of '/x'"),
        ("import os; os.listdir('/')", "open() of '/'"),
        ("import os; os.symlink('a', 'b')", "symlinkat()"),
        ("import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (10, 10))", "setrlimit()"),
        ("import os; os.system('ls')", "execve()"),
    ],
)
@pytest.mark.profile("confined-python")
def test_a_refusal_that_was_caught_is_listed(run: Run, source: str, expected: str) -> None:
    result = run(f"try:\n    {source}\nexcept (OSError, ValueError):\n    pass")
    assert refused(result) == [(expected, 2)]
    (refusal,) = result.refusals
    assert refusal.type == "PermissionError" and refusal.hint and refusal.rule
    assert run("1").refusals == (), "each step has its own"


@pytest.mark.profile("data-analysis")
def test_in_the_restricted_language_it_is_listed_too_but_what_ends_the_step_is_told_once(run: Run) -> None:
    source = "import contextlib\nwith contextlib.suppress(OSError):\n    open('/x', 'w')"
    assert refused(run(source)) == [("open() of '/x'", 3)]
    late = run("name = '/x'\nopen(name, 'w')")
    assert (late.outcome, late.refusals) == ("violation", ())
    early = run("print('ran')\nopen('/x', 'w')")
    assert (early.outcome, early.refusals, early.stdout) == ("rejected", (), "") and early.error is not None
    assert early.error.message == "open() of '/x' is refused: it lies outside of the workspace"


@pytest.mark.profile("data-analysis")
def test_ordinary_work_has_no_refusals(run: Run) -> None:
    for source in (
        "open('a.txt', 'w').write('x')",
        "import os; os.mkdir('d'); os.rename('a.txt', 'd/b.txt'); os.listdir('d')",
        "import asyncio; asyncio.run(asyncio.sleep(0))",
        "try:\n    open('missing.csv')\nexcept FileNotFoundError:\n    pass",
        "import threading; t = threading.Thread(target=print); t.start(); t.join()",
    ):
        assert refused(run(source)) == []


@pytest.mark.profile("confined-python")
def test_libraries_ask_no_other_program_and_leave_no_byte_code(run: Run, session: Session) -> None:
    # It would be refused, and listed, wherever a library is used for the first time.
    assert run("import sys\nsys.dont_write_bytecode").value is True
    # `platform`, `uuid`, matplotlib's list of fonts: they catch an error. A fork in the kernel would end the step.
    session.run("import platform, subprocess, uuid\nplatform.processor(), uuid.getnode()").check()
    caught = session.run("try:\n    subprocess.run(['ls'])\nexcept PermissionError as error:\n    print('caught')")
    assert (caught.outcome, caught.stdout, caught.state) == ("ok", "caught\n", "kept")
    refused = session.run("subprocess.run(['ls'])")
    assert (refused.outcome, refused.state) == ("violation", "kept")
    assert refused.error is not None and refused.error.message.startswith("execve() is refused by ")
    assert refused.error.hint == "No other program can be started: do it in Python."
    forked = session.run("import os\nos.fork()")
    assert (forked.outcome, forked.state) == ("violation", "restored"), "the kernel holds what goes around it"


def test_a_default_that_stands_for_a_refused_name_is_told(run: Run) -> None:
    result = run("def f(): pass\ngetattr(f, '__globals__', 5)")
    (refusal,) = result.refusals
    assert (result.value, refusal.message, refusal.line) == (5, "attribute '__globals__' is refused", 2)
    assert refusal.rule
    assert run("getattr(f, 'nope', 5)").refusals == ()
