"""The fixtures for authors of plugins, as an author uses them."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.alone import ran

_TEST = """
import pytest
from safeexec import PluginError

@pytest.fixture(scope="session")
def plugin_options():
    return {"settings": {"rate": 2}}

@pytest.fixture(scope="module")
def plugin_policy(plugin_source):
    return plugin_source / "mine.yaml"

def test_price(plugin):
    assert plugin.price(10) == 20

def test_it_is_loaded_anew(plugin, plugin_sandbox):
    assert (plugin.count(), plugin_sandbox.policy.name) == (1, "mine")

def test_it_is_loaded_anew_again(plugin):
    assert plugin.count() == 1
"""

OTHERS = ("cacheprovider", "xdist", "anyio", "hypothesispytest", "timeout")
"""Plugins that have no part in it; without those that are installed pytest starts in a fifth of the time."""


def test_a_plugin_is_tested_in_a_process_as_its_host_has_it(tmp_path: Path) -> None:
    (tmp_path / "plugin.yaml").write_text("name: shop\npolicy: mine\nmain: shop\nsettings:\n  rate: {type: int}\n")
    (tmp_path / "shop.py").write_text(
        "calls = 0\ndef price(x): return x * settings['rate']\n"
        "def count():\n    global calls\n    calls += 1\n    return calls\n"
    )
    (tmp_path / "mine.yaml").write_text("extends: plugin\n")
    tests = tmp_path / "tests"
    tests.mkdir()
    (tests / "conftest.py").write_text('pytest_plugins = ["safeexec.testing"]\n')
    (tests / "test_shop.py").write_text(_TEST)
    done = _pytest(tests, ".")
    assert "3 passed" in done, done
    without = tmp_path.parent / "without"
    without.mkdir()
    (without / "test_none.py").write_text("def test_none(plugin): pass\n")
    # From the folder of all plugins as well; and a test that belongs to none is told so.
    done = _pytest(tmp_path.parent, str(tests), str(without), "-p", "safeexec.testing")
    assert "3 passed, 1 error" in done and "no plugin.yaml in a directory above" in done, done


def _pytest(directory: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "pytest", "-q", *(f"-pno:{name}" for name in OTHERS), *arguments]
    done = ran(command, cwd=directory)
    return done.stdout + done.stderr
