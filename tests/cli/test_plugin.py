"""`safeexec plugin check`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from safeexec import plugin_manifest
from tests.conftest import Called


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    (tmp_path / "plugin.yaml").write_text("name: shop\nversion: 1.0.0\nsettings:\n  rate: {type: float}\n")
    (tmp_path / "main.py").write_text("def price(amount: float) -> float:\n    return amount * settings['rate']\n")
    return tmp_path


def test_a_plugin_is_loaded_or_told_with_its_line(shop: Path, called: Called) -> None:
    described = "shop 1.0.0, under plugin\n  price(amount: float) -> float\n  setting rate: float\n"
    assert called("plugin", "check", shop, "--set", "rate=0.5") == (0, described, "")
    told = called("plugin", "check", shop)
    assert told.status == 1 and "'rate' must be given" in told.err
    (shop / "main.py").write_text("import util\n")
    (shop / "util.py").write_text("x = 1\nimport socket\n")
    told = called("plugin", "check", shop, "--set", "rate=1")
    assert told.status == 1 and "module util: import of 'socket' is refused" in told.err
    assert "line 2" in told.err and "rule: " in told.err


def test_a_plugin_does_not_bring_its_own_policy(shop: Path, called: Called, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(shop)
    secret = shop.parent / f"{shop.name}.secret"
    secret.write_text("theirs-to-keep")
    (shop / ".yaml").write_text(f"extends: confined-python\nfilesystem:\n  read: [{str(shop.parent)!r}]\n")
    (shop / "plugin.yaml").write_text("policy: .yaml\n")  # the one path that a profile can have for its name
    (shop / "main.py").write_text(f"raise ValueError(open({str(secret)!r}).read())\n")
    told = called("plugin", "check", ".")
    assert told.status == 1
    assert "theirs-to-keep" not in told.err and "expected the name of a profile" in told.err


def test_all_mistakes_of_a_manifest_are_told_in_one_round(shop: Path, called: Called) -> None:
    (shop / "plugin.yaml").write_text("nme: shop\npolicy: plugn\nmain: prices\n")
    told = called("plugin", "check", shop)
    mistakes = {"1:1: nme": "unknown key; did you mean name?", "2:1: policy": "did you mean plugin?"}
    for place, words in (mistakes | {"3:1: main": "are main"}).items():
        assert any(f"plugin.yaml:{place}: " in line and words in line for line in told.err.splitlines()), told.err
    problem = json.loads(called("plugin", "check", shop, "--json").out)["problem"]
    assert told.status == 1 and "plugin.yaml:1:1: nme: unknown key" in problem
    (shop / "plugin.yaml").write_text("policy: plugn\n")
    assert plugin_manifest(shop).policy == "plugn"  # perhaps one that the host has made
