"""Fixtures of pytest for those who write plugins. In the plugin's ``conftest.py``:

    pytest_plugins = ["safeexec.testing"]

and a test, run with the policy that the manifest names, in a process as the host would have it:

    def test_price(plugin):
        assert plugin.price(10) == 12

`plugin_source`, `plugin_policy` and `plugin_options` may be overridden by fixtures of the same name: where the plugin
is (default: the nearest directory with a manifest, from the test's own file upwards), the policy (default: that of the
manifest, which is found by name; a `Policy` or the path of a file for one of the host's own), and the keywords of
`Sandbox.plugin` (``settings``, ``tools``, ``exports``, ``state``).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from safeexec import Plugin, Policy, Sandbox, plugin_manifest

__all__ = ["plugin", "plugin_options", "plugin_policy", "plugin_sandbox", "plugin_source"]
_MANIFESTS = ("plugin.yaml", "plugin.yml")


@pytest.fixture(scope="module")
def plugin_source(request: pytest.FixtureRequest) -> Path:
    """Return the directory of the plugin: the nearest one with a manifest, from the test's own file upwards."""
    for place in request.path.parents:
        if any((place / name).is_file() for name in _MANIFESTS):
            return place
    raise pytest.UsageError(
        f"no plugin.yaml in a directory above {request.path}: write one, or a fixture `plugin_source` of yours"
    )


@pytest.fixture(scope="session")
def plugin_options() -> dict[str, Any]:
    """Return the keywords of `Sandbox.plugin`."""
    return {}


@pytest.fixture(scope="module")
def plugin_policy(plugin_source: Path) -> Policy | str:
    """Return the policy that the manifest names, else ``plugin``."""
    return plugin_manifest(plugin_source, find_policy=True).policy or "plugin"


@pytest.fixture(scope="module")
def plugin_sandbox(plugin_policy: Policy | str) -> Iterator[Sandbox]:
    """Yield one sandbox for the tests of a file."""
    with Sandbox(plugin_policy) as sandbox:
        yield sandbox


@pytest.fixture
def plugin(plugin_sandbox: Sandbox, plugin_source: Path, plugin_options: dict[str, Any]) -> Iterator[Plugin]:
    """Yield the plugin, loaded anew for each test."""
    with plugin_sandbox.plugin(plugin_source, **plugin_options) as loaded:
        yield loaded
