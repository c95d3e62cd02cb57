"""Modules and tests in a workspace: imported, and run by unittest, doctest and pytest, under the kernel layer alone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from safeexec import Sandbox, Session

HELPER = "def half(n):\n    '''\n    >>> half(4)\n    2\n    '''\n    return n\n"
TESTS = (
    "import unittest\nfrom helper import half\n\n\nclass T(unittest.TestCase):\n    def test_four(self):\n"
    "        self.assertEqual(half(4), 2)\n\n\ndef test_six():\n    assert half(6) == 3\n"
)
RUNNERS = {
    "unittest": (
        "import unittest\nunittest.main(module='test_helper', argv=['tests'], exit=False)",
        "AssertionError: 4 != 2",
    ),
    "unittest discovers": (
        "import unittest\nunittest.main(module=None, argv=['tests', 'discover'], exit=False)",
        "AssertionError: 4 != 2",
    ),
    "doctest": ("import doctest, helper\ndoctest.testmod(helper).failed", "Expected:\n    2\nGot:\n    4"),
    # Without plugins that may be installed beside it, it starts in a fifth of the time.
    "pytest": (
        "import pytest\nothers = 'cacheprovider', 'xdist', 'anyio', 'hypothesispytest', 'timeout'\n"
        "pytest.main(['-q', *(f'-pno:{name}' for name in others), '--doctest-modules'])",
        "assert 6 == 3",
    ),
}


@pytest.fixture(scope="module")
def prepared() -> Iterator[Session]:
    with Sandbox("confined-python", spare=0) as sandbox, sandbox.session() as session:
        session.write_file("helper.py", HELPER.encode())
        session.write_file("test_helper.py", TESTS.encode())
        yield session


def test_a_module_of_the_workspace_is_imported_and_a_branch_from_before_reads_the_edited_file(
    prepared: Session,
) -> None:
    (session,) = prepared.branch()
    with session:
        result = session.run("import helper\nhelper.half(4)").check()
        assert result.value == 4
        assert not result.files, "no byte code is left beside it"
    for text, value in (("return n // 2", 2), ("return n + 100", 104)):
        (attempt,) = prepared.branch()
        with attempt:
            attempt.write_file("helper.py", HELPER.replace("return n", text).encode())
            assert attempt.run("import helper\nhelper.half(4)").check().value == value


@pytest.mark.parametrize(("source", "shown"), RUNNERS.values(), ids=RUNNERS.keys())
def test_tests_run_on_files_of_the_workspace_and_show_the_values(prepared: Session, source: str, shown: str) -> None:
    (session,) = prepared.branch()
    with session:
        result = session.run(source).check()
        assert shown in result.stdout + result.stderr


def test_a_reload_reads_the_edited_file(prepared: Session) -> None:
    (session,) = prepared.branch()
    with session:
        assert session.run("import helper\nhelper.half(4)").check().value == 4
        session.write_file("helper.py", HELPER.replace("return n", "return 0").encode())
        assert session.run("helper.half(4)").check().value == 4
        session.write_file("helper.py", (HELPER.replace("return n", "return 0") + "\nVERSION = 2\n").encode())
        for source in ("helper.VERSION", "from helper import VERSION"):
            error = session.run(source).error
            assert error is not None and "importlib.reload(helper)" in str(error.hint)
        assert session.run("import importlib\nimportlib.reload(helper).half(4)").check().value == 0
