"""`safeexec plugin check`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from safeexec import plugin_manifest
from safeexec.cli import main


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    (tmp_path / "plugin.yaml").write_text("name: shop\nversion: 1.0.0\nsettings:\n  rate: {type: float}\n")
    (tmp_path / "main.py").write_text("def price(amount: float) -> float:\n    return amount * settings['rate']\n")
    return tmp_path


def test_a_plugin_that_can_be_loaded(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plugin", "check", str(shop), "--set", "rate=0.5"]) == 0
    assert capsys.readouterr().out == (
        "shop 1.0.0, under plugin\n  price(amount: float) -> float\n  setting rate: float\n"
    )


def test_a_plugin_that_cannot_be_loaded_is_told_with_its_line(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plugin", "check", str(shop)]) == 1
    assert "'rate' must be given" in capsys.readouterr().err
    (shop / "main.py").write_text("import util\n")
    (shop / "util.py").write_text("x = 1\nimport socket\n")
    assert main(["plugin", "check", str(shop), "--set", "rate=1"]) == 1
    told = capsys.readouterr().err
    assert "module util: import of 'socket' is refused" in told and "line 2" in told and "rule: " in told
    (shop / "plugin.yaml").write_text("nme: shop\n")
    assert main(["plugin", "check", str(shop), "--json"]) == 1
    told = json.loads(capsys.readouterr().out)["problem"]
    assert "plugin.yaml:1:1: nme: unknown key; did you mean name?" in told


def test_a_plugin_does_not_bring_its_own_policy(
    shop: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(shop)
    secret = shop.parent / f"{shop.name}.secret"
    secret.write_text("theirs-to-keep")
    (shop / ".yaml").write_text(f"extends: confined-python\nfilesystem:\n  read: [{str(shop.parent)!r}]\n")
    (shop / "plugin.yaml").write_text("policy: .yaml\n")  # the one path that a profile can have for its name
    (shop / "main.py").write_text(f"raise ValueError(open({str(secret)!r}).read())\n")
    assert main(["plugin", "check", "."]) == 1
    told = capsys.readouterr().err
    assert "theirs-to-keep" not in told and "expected the name of a profile" in told


def test_all_mistakes_of_a_manifest_are_told_in_one_round(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (shop / "plugin.yaml").write_text("nme: shop\npolicy: plugn\nmain: prices\n")
    assert main(["plugin", "check", str(shop)]) == 1
    lines = capsys.readouterr().err.splitlines()
    for place, told in (
        ("1:1: nme", "unknown key"),
        ("2:1: policy", "did you mean plugin?"),
        ("3:1: main", "are main"),
    ):
        assert any(f"plugin.yaml:{place}: " in line and told in line for line in lines), lines
    (shop / "plugin.yaml").write_text("policy: plugn\n")
    assert plugin_manifest(shop).policy == "plugn"  # perhaps one that the host has made
