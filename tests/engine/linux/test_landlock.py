"""Landlock rulesets in real processes: the rights of each rule, and no more."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from safeexec.engine.linux import landlock, seccomp
from safeexec.engine.linux.libc import make
from safeexec.engine.linux.probe import probe
from tests.engine.linux.forked import in_a_fork

pytestmark = pytest.mark.skipif(not probe().landlock.works, reason=probe().landlock.reason)


def _refused(act: object, *arguments: object) -> bool:
    try:
        act(*arguments)  # type: ignore[operator]
    except OSError:
        return True
    return False


def restrict(rules: landlock.Ruleset) -> None:
    """Hold this process to them, for good."""
    seccomp.set_no_new_privs()
    make([landlock.restricting_self(rules.descriptor)])


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in ("read", "write", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    return tmp_path


@pytest.mark.parametrize("version", range(1, landlock.abi() + 1))
def test_what_each_rule_grants(tree: Path, version: int) -> None:
    """By any ABI up to this kernel's."""

    def act() -> dict[str, bool]:
        rules = landlock.Ruleset(version)
        rules.add_path(str(tree / "read"), landlock.READ)
        rules.add_path(str(tree / "write"), landlock.WRITE)
        restrict(rules)
        rules.close()
        return {
            "read": not _refused((tree / "read" / "file").read_text),
            "list": not _refused(os.listdir, tree / "read"),
            "write": not _refused((tree / "write" / "file").write_text, "x"),
            "make": not _refused((tree / "write" / "new").write_text, "x"),
            "read other": not _refused((tree / "other" / "file").read_text),
            "list other": not _refused(os.listdir, tree / "other"),
            "write what may be read": not _refused((tree / "read" / "file").write_text, "x"),
            "link": not _refused(os.symlink, "file", tree / "write" / "link"),
            "pipe": not _refused(os.mkfifo, tree / "write" / "pipe"),
            "move out": not _refused(os.rename, tree / "write" / "file", tree / "other" / "moved"),
        }

    granted = {"read", "list", "write", "make"}
    assert {name for name, works in in_a_fork(act).items() if works} == granted


def test_a_rule_on_a_file_in_a_ruleset_that_serves_many_processes(tree: Path) -> None:
    rules = landlock.Ruleset()
    rules.add_path(str(tree / "other" / "file"), landlock.READ)

    def act() -> list[bool]:
        restrict(rules)
        return [_refused((tree / "other" / "file").read_text), _refused((tree / "read" / "file").read_text)]

    assert [in_a_fork(act) for _ in range(2)] == [[False, True]] * 2
    rules.close()


@pytest.mark.skipif(landlock.abi() < 4, reason="ports came with ABI 4")
def test_no_port_is_taken_or_reached() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def act() -> list[bool]:
            restrict(landlock.Ruleset())
            with socket.socket() as one, socket.socket() as other:
                return [_refused(one.bind, ("127.0.0.1", 0)), _refused(other.connect, server.getsockname())]

        assert in_a_fork(act) == [True, True]


@pytest.mark.skipif(landlock.abi() < 6, reason="scopes came with ABI 6")
def test_signals_stay_inside() -> None:
    parent = os.getpid()

    def act() -> list[bool]:
        restrict(landlock.Ruleset())
        return [_refused(os.kill, parent, 0), _refused(os.kill, os.getpid(), 0)]

    assert in_a_fork(act) == [True, False]
