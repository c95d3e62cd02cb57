"""Plans and a guest namespace for the tests of facades."""

from __future__ import annotations

import builtins
import dataclasses
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from safeexec.child.language.libraries import reads
from safeexec.facades.build import importer
from safeexec.facades.replacements import checked
from safeexec.protocol.plan import ImportPlan, LanguagePlan


def _plan(*modules: str, workspace: Any = "none", **entries: ImportPlan) -> LanguagePlan:
    """A plan that opens these modules whole, and others as `entries` say."""
    imports = {name: ImportPlan(rule="test.yaml:3") for name in modules}
    return LanguagePlan(imports=imports | entries, workspace=workspace, rules={"imports": "test.yaml:2"})


@pytest.fixture
def plan() -> Callable[..., LanguagePlan]:
    """Makes a plan: ``plan("math", "json", workspace="read-only", statistics=ImportPlan(...))``."""
    return _plan


@pytest.fixture(autouse=True)
def _strict_guards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a child the replacements read attributes with the strict pair, whatever another test has put in. The
    libraries that a guest of such a test has put guards into are read with its own pair: they may be imported here.
    """
    for name in ("getattr", "exec"):
        monkeypatch.delitem(vars(dataclasses), name, raising=False)
    monkeypatch.setattr(reads, "checked_getattr", checked._getattr)
    monkeypatch.setattr(reads, "checked_setattr", checked._setattr)
    monkeypatch.setattr(checked, "_getattr", checked._strict_getattr)
    monkeypatch.setattr(checked, "_setattr", checked._strict_setattr)


@pytest.fixture
def guest(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., dict[str, Any]]]:
    """Run source as guest code would see it: facades behind ``import``, and a ``__main__`` of its own."""

    def run(source: str, *modules: str, **options: Any) -> dict[str, Any]:
        main = types.ModuleType("__main__")
        monkeypatch.setitem(sys.modules, "__main__", main)
        names = vars(main)
        names["__builtins__"] = {**vars(builtins), "__import__": importer(_plan(*modules, **options))}
        exec(compile(source, "<step 1>", "exec"), names)
        return names

    yield run
