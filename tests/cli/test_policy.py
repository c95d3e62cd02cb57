"""`safeexec policy`: what a policy file of a stranger says does not act on the terminal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from safeexec import Policy
from tests.conftest import Called
from tests.untrusted.hostile import BIDI, FILES

ESCAPE = "\x1b]0;owned\x07\x9b31m"


@pytest.fixture
def policies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "below").mkdir()
    monkeypatch.setenv("SAFEEXEC_POLICY_PATH", str(tmp_path / "below"))
    return tmp_path / "below"


def printed(called: Called, *arguments: str) -> str:
    _, out, err = called("policy", *arguments)
    assert all(line.isprintable() for line in f"{out}{err}".split("\n")), ascii(out + err)
    return out + err


def test_list_and_why_print_nothing_that_a_terminal_obeys(policies: Path, called: Called) -> None:
    text = "".join(f"\\u{ord(sign):04x}" for sign in [*BIDI, *ESCAPE])
    (policies / "mine\x1b[2J.yaml").write_text(f'description: "a{text}"\nhints: {{eval: "b{text}"}}\n')
    (policies / "broken.yaml").write_text(f'"c{text}": 1\nbuiltins: ["d{text}"]\n')
    listed = printed(called, "list")
    assert "broken" in listed
    assert "(cannot be loaded)" in listed
    path = str(policies / "mine\x1b[2J.yaml")
    printed(called, "why", "eval", "--policy", path)
    printed(called, "why", ESCAPE, "--policy", "calculator")
    printed(called, "check", path, str(policies / "broken.yaml"))
    printed(called, "diff", "calculator", path)
    assert json.loads(printed(called, "why", "eval", "--json", "--policy", path))[0]["allowed"] is False


@pytest.mark.parametrize("kind", FILES)
def test_a_policy_that_is_no_regular_file_ends_with_one_line(kind: str, policies: Path, called: Called) -> None:
    FILES[kind](policies / "mine.yaml")
    assert printed(called, "show", str(policies / "mine.yaml")).startswith("safeexec: ")


def test_strict_passes_what_only_tells_a_cost_and_differences_go_as_json(tmp_path: Path, called: Called) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text("extends: standard\nrequirements: [humanize==4.9.0]\n")
    assert called("policy", "check", "--strict", mine).status == 0
    mine.write_text("extends: standard\nfilesystem: {workspace: read-write}\n")
    assert called("policy", "check", mine).status == 0
    assert called("policy", "check", "--strict", mine).status == 1
    mine = tmp_path / "mine.yaml"
    mine.write_text("extends: calculator\nlimits: {memory_mb: 64}\nimports: {random: none}\n")
    status, out, _ = called("policy", "diff", "--json", "calculator", mine)
    told = json.loads(out)
    rows = {one["path"]: one for one in told["differences"]}
    memory = rows["limits.memory_mb"]
    assert (status, told["steps"], "imports.random" in rows) == (1, [], True)
    assert (memory["before"], memory["after"], memory["rule"]) == (256, 64, "mine.yaml:2")
    assert memory["direction"] == "narrower"
    status, out, _ = called("policy", "diff", "--json", "calculator", "calculator")
    assert (status, json.loads(out)) == (0, {"differences": [], "steps": []})


def test_a_profile_from_scratch_requires_what_the_shipped_ones_do(tmp_path: Path, called: Called) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text("builtins: [print]\n")
    told = called("policy", "check", "--strict", mine)
    assert (told.status, told.err) == (0, "")
    required = Policy.load("calculator").require
    assert Policy.load(mine).require == Policy().require == required
    mine.write_text("builtins: [print]\nrequire: {add: [uts-namespace], remove: [rlimits]}\n")
    assert Policy.load(mine).require == (*(one for one in required if one != "rlimits"), "uts-namespace")
    for words in ("require: []", "require: [seccomp]"):
        mine.write_text(f"builtins: [print]\n{words}\n")
        assert f"require: [{', '.join(Policy.load(mine).require)}]" == words
        assert Policy.from_yaml(Policy.load(mine).to_yaml()).require == Policy.load(mine).require


@pytest.mark.parametrize("words", ["", "policy", "jupyter", "plugin"])
def test_a_command_without_the_next_word_lists_the_words(words: str, called: Called) -> None:
    told = called(*words.split())
    assert told.status == 2 and "required" not in told.err and ("check" in told.err or "install" in told.err)
