"""`safeexec policy`: what a policy file of a stranger says does not act on the terminal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from safeexec import Policy
from safeexec.cli import main
from tests.untrusted.hostile import BIDI, FILES

ESCAPE = "\x1b]0;owned\x07\x9b31m"


@pytest.fixture
def policies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "below").mkdir()
    monkeypatch.setenv("SAFEEXEC_POLICY_PATH", str(tmp_path / "below"))
    return tmp_path / "below"


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    main(["policy", *arguments])
    told = "".join(capsys.readouterr())
    assert all(line.isprintable() for line in told.split("\n")), ascii(told)
    return told


def test_list_and_why_print_nothing_that_a_terminal_obeys(policies: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "".join(f"\\u{ord(sign):04x}" for sign in [*BIDI, *ESCAPE])
    (policies / "mine\x1b[2J.yaml").write_text(f'description: "a{text}"\nhints: {{eval: "b{text}"}}\n')
    (policies / "broken.yaml").write_text(f'"c{text}": 1\nbuiltins: ["d{text}"]\n')
    listed = printed(capsys, "list")
    assert "broken" in listed
    assert "(cannot be loaded)" in listed
    path = str(policies / "mine\x1b[2J.yaml")
    printed(capsys, "why", "eval", "--policy", path)
    printed(capsys, "why", ESCAPE, "--policy", "calculator")
    printed(capsys, "check", path, str(policies / "broken.yaml"))
    printed(capsys, "diff", "calculator", path)
    assert json.loads(printed(capsys, "why", "eval", "--json", "--policy", path))[0]["allowed"] is False


@pytest.mark.parametrize("kind", FILES)
def test_a_policy_that_is_no_regular_file_ends_with_one_line(
    kind: str, policies: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    FILES[kind](policies / "mine.yaml")
    told = printed(capsys, "show", str(policies / "mine.yaml"))
    assert told.startswith("safeexec: ")


def test_strict_passes_what_only_tells_a_cost(tmp_path: Path) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text("extends: standard\nrequirements: [humanize==4.9.0]\n")
    assert main(["policy", "check", "--strict", str(mine)]) == 0
    mine.write_text("extends: standard\nfilesystem: {workspace: read-write}\n")
    assert main(["policy", "check", str(mine)]) == 0
    assert main(["policy", "check", "--strict", str(mine)]) == 1


def test_diff_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text("extends: calculator\nlimits: {memory_mb: 64}\nimports: {random: none}\n")
    assert main(["policy", "diff", "--json", "calculator", str(mine)]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["steps"] == []
    (memory,) = [one for one in told["differences"] if one["path"] == "limits.memory_mb"]
    assert (memory["before"], memory["after"], memory["rule"]) == (256, 64, "mine.yaml:2")
    assert memory["direction"] == "narrower"
    assert "imports.random" in {one["path"] for one in told["differences"]}
    assert main(["policy", "diff", "--json", "calculator", "calculator"]) == 0
    assert json.loads(capsys.readouterr().out) == {"differences": [], "steps": []}


def test_a_profile_from_scratch_requires_what_the_shipped_ones_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text("builtins: [print]\n")
    assert main(["policy", "check", "--strict", str(mine)]) == 0
    assert capsys.readouterr().err == ""
    required = Policy.load("calculator").require
    assert Policy.load(mine).require == Policy().require == required
    mine.write_text("builtins: [print]\nrequire: {add: [uts-namespace], remove: [rlimits]}\n")
    assert Policy.load(mine).require == (*(one for one in required if one != "rlimits"), "uts-namespace")
    for words in ("require: []", "require: [seccomp]"):
        mine.write_text(f"builtins: [print]\n{words}\n")
        assert f"require: [{', '.join(Policy.load(mine).require)}]" == words
        assert Policy.from_yaml(Policy.load(mine).to_yaml()).require == Policy.load(mine).require


@pytest.mark.parametrize(
    "arguments", [[], ["policy"], ["jupyter"], ["plugin"]], ids=lambda words: " ".join(words) or "-"
)
def test_a_command_without_the_next_word_lists_the_words(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
    told = capsys.readouterr().err
    assert "required" not in told and ("check" in told or "install" in told)
    with pytest.raises(SystemExit, match="2"):
        main(["policy", "diff"])
    assert "the following arguments are required: NEW" in capsys.readouterr().err
