"""What was repaired goes back into the user's repository."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from safeexec.agent import RepairError, ScriptedModel
from safeexec.agent.repair import RepairAgent, RepairResult
from tests.agent.chat_server import Say, chat_server
from tests.agent.scripted import code
from tests.conftest import Called

BROKEN, MENDED = b"def f():\n    return 1\n", b"def f():\n    return 2\n"
PATCH = code("replace_text('src/m.py', 'return 1', 'return 2')\nprint(verify('Two'))")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "repository"
    (root / "src").mkdir(parents=True)
    (root / "src/m.py").write_bytes(BROKEN)
    (root / "check.py").write_text("import m\nassert m.f() == 2\n")
    return root


def repaired(repository: Path) -> RepairResult:
    result = RepairAgent(ScriptedModel([PATCH, "Done."]), repository, verify=["python", "check.py"]).run()
    assert result.ok
    return result


def test_files_are_applied_once(repository: Path) -> None:
    result = repaired(repository)
    assert result.apply() == ["src/m.py"] and (repository / "src/m.py").read_bytes() == MENDED
    with pytest.raises(RepairError, match="applied already"):
        result.apply()
    assert json.loads(json.dumps(result.to_dict()))["files"] == ["src/m.py"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_command_shows_asks_and_writes(
    repository: Path, monkeypatch: pytest.MonkeyPatch, called: Called, tmp_path: Path
) -> None:
    monkeypatch.setenv("MISTRAL_API_KEY", "k")
    monkeypatch.chdir(tmp_path)
    with chat_server(*[Say(PATCH), Say("Done.")] * 3) as server:
        words = ["repair", repository, "--check", f"{sys.executable} check.py", "--apply", "--server-url", server.url]
        for said, why in (("", "nobody is there to ask (--yes)"), ("maybe\n", "")):
            monkeypatch.setattr(sys, "stdin", Terminal(said) if said else io.StringIO("y\n"))
            told = called(*words)
            assert told.status == 0 and "+    return 2" in told.out and "editable: src" in told.out
            assert "nothing was written" in told.err and why in told.err
        assert (repository / "src/m.py").read_bytes() == BROKEN
        monkeypatch.setattr(sys, "stdin", Terminal("YES\n"))
        # What is wrong may stand anywhere among the options.
        assert called(*words, "mend m", "--json").status == 0
        assert "mend m" in str(server.requests[-1])
    assert (repository / "src/m.py").read_bytes() == MENDED


def test_a_command_with_an_open_quotation_is_refused(called: Called) -> None:
    told = called("repair", ".", "--check", "pytest -k 'two")
    assert told.status == 2 and "pytest -k 'two\": No closing quotation" in told.err
