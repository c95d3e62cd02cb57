"""Plugins on disk were filled by a stranger: a file of the host is not disclosed, and nothing is waited for."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from safeexec import PluginError
from safeexec.api.plugins.source import MAX_SOURCE, define, read_manifest
from safeexec.protocol.messages import Export, python_signature
from tests.untrusted.doubling import SLACK, growth
from tests.untrusted.hostile import FILES, SECRET, SHORT, growing


@pytest.mark.parametrize("name", ["settings.py", "plugin.yaml"])
@pytest.mark.parametrize("kind", FILES)
def test_a_file_of_a_plugin_discloses_nothing_and_waits_for_nothing(kind: str, name: str, tmp_path: Path) -> None:
    top = tmp_path / "plugin"
    top.mkdir()
    (top / "main.py").write_text("import settings\ndef get():\n    return settings.KEY\n")
    FILES[kind](top / name)
    if kind == "directory":
        assert [module for module, _ in define(top, exports=None, name=None).modules] == ["main"]
        return
    with pytest.raises(PluginError, match=rf"the plugin cannot be read: .*{re.escape(name)}") as refused:
        define(top, exports=None, name=None)
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize(
    ("files", "loaded"),
    [
        (["shop.py", "__main__.py"], ["shop"]),
        (["__main__.py"], ["__main__"]),
        (["shop/__init__.py", "shop/__main__.py"], ["shop", "shop.__main__"]),
        (["shop.py", "__main__.py", "plugin.yaml"], ["__main__", "shop"]),  # its manifest names it as the module
    ],
)
def test_a_program_beside_the_modules_is_no_module(files: list[str], loaded: list[str], tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    for name in files:
        (tmp_path / name).write_text("main: __main__" if name == "plugin.yaml" else "def get(): pass\n")
    assert [module for module, _ in define(tmp_path, exports=None, name=None).modules] == loaded


def test_a_linked_directory_is_not_entered(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "inner.py").write_text(f"KEY = {SECRET!r}\n")
    top = tmp_path / "plugin"
    top.mkdir()
    (top / "main.py").write_text("def get(): pass\n")
    (top / "linked").symlink_to(secret)
    assert [module for module, _ in define(top, exports=None, name=None).modules] == ["main"]


def test_a_plugin_that_grows_or_is_large_is_refused(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text("def get(): pass\n")
    with growing(tmp_path / "grows.py"):
        while (tmp_path / "grows.py").stat().st_size <= MAX_SOURCE:
            pass
        with pytest.raises(PluginError, match=r"grows\.py"):
            define(tmp_path, exports=None, name=None)


@pytest.mark.parametrize("text", SHORT)
def test_a_manifest_of_a_stranger_is_read_or_refused_with_its_line(text: str) -> None:
    try:
        read_manifest(text)
    except PluginError as error:
        assert re.match(r"plugin\.yaml:\d+:\d+: ", str(error))
        assert len(str(error)) < 2000


def test_a_source_that_is_not_utf_8_is_told_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_bytes(b"x = 1\ny = '\xff'\n")
    with pytest.raises(PluginError, match=r"main\.py is not UTF-8 text: byte 11, in line 2, is 0xff"):
        define(tmp_path, exports=None, name=None)


def test_a_signature_is_told_in_one_pass() -> None:
    def export(n: int) -> Export:
        return Export(name="f", kind="function", parameters=[(f"a{place}", "keyword", "", "") for place in range(n)])

    assert str(python_signature(export(2))) == "(*, a0, a1)"
    assert growth(lambda described: str(python_signature(described)), export, 1 << 10, 1 << 14) < SLACK


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ({"util": "x = 1", "shop": "y = 2"}, "modules shop, util .* exported.*name='util'.*`main: util`"),
        ({"main.py": "x = 1", "util.py": "y = 2"}, "give the module's name, .* 'main'"),
        ({"a": " \n"}, "empty"),
        ({}, "has no module"),
        ({"not a module": ""}, "'not a module' is not a module's name and source"),
        ({3: ""}, "3 is not a module's name and source"),
        ({"main": "#" * (MAX_SOURCE + 1)}, "sources have more than 16 MiB"),
        ("nowhere.py", "cannot be read: nowhere.py: No such file"),
        (Path(__file__).parent / "data", "cannot be read: .*/data: No such file"),
    ],
    ids=range(9),
)
def test_a_source_that_is_no_plugin_says_what_is_wrong(source: Any, said: str) -> None:
    with pytest.raises(PluginError, match=said):
        define(source, exports=None, name=None)
