"""The fixtures for authors of plugins, as an author uses them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_TEST = """
import pytest
from safeexec import PluginError

@pytest.fixture(scope="session")
def plugin_options():
    return {"settings": {"rate": 2}}

def test_price(plugin):
    assert plugin.price(10) == 20

def test_it_is_loaded_anew(plugin, plugin_sandbox):
    assert (plugin.count(), plugin_sandbox.policy.name) == (1, "plugin")

def test_it_is_loaded_anew_again(plugin):
    assert plugin.count() == 1
"""


def test_a_plugin_is_tested_in_a_process_as_its_host_has_it(tmp_path: Path) -> None:
    (tmp_path / "plugin.yaml").write_text("name: shop\nmain: shop\nsettings:\n  rate: {type: int}\n")
    (tmp_path / "shop.py").write_text(
        "calls = 0\ndef price(x): return x * settings['rate']\n"
        "def count():\n    global calls\n    calls += 1\n    return calls\n"
    )
    tests = tmp_path / "tests"
    tests.mkdir()
    (tests / "conftest.py").write_text('pytest_plugins = ["safeexec.testing"]\n')
    (tests / "test_shop.py").write_text(_TEST)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "."],
        cwd=tests,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert "3 passed" in done.stdout, done.stdout + done.stderr
