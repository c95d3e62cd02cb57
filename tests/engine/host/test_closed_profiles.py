"""Profiles without files, from a new sandbox's first step on: what comes late is there, and nothing of the host."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from safeexec import Policy, Sandbox
from safeexec.engine.host.children import Children
from safeexec.protocol import messages as m
from tests.kernel.test_closed import OPENS


@pytest.mark.parametrize(
    ("profile", "source", "told"),
    [
        ("calculator", "1 / 0", "The divisor is 0"),
        ("standard", "import subprocess\nsubprocess.run('ls')", "rejected"),
        ("plugin", "import numpy", "numpy"),
        (
            "calculator",
            "from zoneinfo import ZoneInfo\nfrom datetime import datetime\n"
            "datetime(2024, 7, 1, tzinfo=ZoneInfo('Europe/Paris')).isoformat()",
            "2024-07-01T00:00:00+02:00",
        ),
        ("standard", "import zoneinfo\n'Europe/Paris' in zoneinfo.available_timezones()", "True"),
        ("plugin", "'x€'.encode('cp1252')", "x\\x80"),
        ("calculator", "import copy\ncopy.deepcopy([1, [2]])", "[1, [2]]"),
        ("standard", "[1, 2][5]", "IndexError"),
    ],
)
def test_the_first_step_of_a_new_sandbox(profile: str, source: str, told: str) -> None:
    """The zygote has not had a pause yet in which it could have prepared anything."""
    with Sandbox(profile, spare=0) as sandbox:
        result = sandbox.run(source)
    assert told in f"{result.outcome} {result.text} {result.observation()}"
    assert not result.refusals


@pytest.mark.parametrize("profile", ["calculator", "standard"])
def test_the_kernel_opens_nothing_of_the_host_without_a_language_layer(
    profile: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first child and a later one; told by the kernel's rule, with the line of the profile."""
    decided = Children._configuration

    def without_language(children: Children, *given: Any) -> m.Configure:
        return msgspec.structs.replace(
            decided(children, *given), language=Policy.load("confined-python").language_plan(())
        )

    monkeypatch.setattr(Children, "_configuration", without_language)
    with Sandbox(profile, spare=0) as sandbox:
        opens = f"SECRET, HOST = '/etc/hostname', {os.getpid()}\n{OPENS}"
        assert [sandbox.run(opens).check().stdout for _ in range(2)] == ["{}\n"] * 2
        assert sandbox.run("import wave, sqlite3, email.message, zoneinfo\nzoneinfo.ZoneInfo('Asia/Tokyo').key").ok
        result = sandbox.run("open('/new', 'w')")
    assert result.outcome == "violation"
    assert result.error.message.startswith("open() of '/new' is refused by calculator.yaml:")


def test_a_policy_with_paths_to_read_and_no_workspace_says_so(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text")
    policy = Policy.load("standard").replace(filesystem={"read": [str(tmp_path)]}, builtins={"add": ["open"]})
    found = (
        f"import os, glob\nfolder = {str(tmp_path)!r}\n"
        "file = folder + '/a.txt'\n"
        "os.listdir(folder), os.path.exists(file), len(glob.glob(folder + '/*')), open(file).read()"
    )
    assert policy.why("os.listdir").allowed and policy.why("glob.glob").allowed
    with Sandbox(policy) as sandbox:
        assert sandbox.run(found).check().value == (["a.txt"], True, 1, "text")
        for source, outcome, message in [
            (f"open({str(tmp_path / 'b.txt')!r})", "error", "No such file"),
            ("open('b.txt')", "error", "No such file"),
            ("open('/etc/passwd')", "rejected", "it lies outside of what can be read here"),
        ]:
            result = sandbox.run(source)
            assert (result.outcome, message in result.error.message) == (outcome, True)
            assert str(tmp_path) in (result.error.hint or ""), result.error
