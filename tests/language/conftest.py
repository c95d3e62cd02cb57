"""A plan that opens everything the tables have, made by hand: these tests need no profile."""

from __future__ import annotations

import builtins

import pytest

from safeexec.protocol.plan import ImportPlan, LanguagePlan

MODULES = [
    "math", "json", "re", "typing", "functools", "operator", "dataclasses", "enum", "random", "statistics",
    "collections", "collections.abc", "string", "asyncio",
]  # fmt: skip
WITHOUT = {"eval", "exec", "compile", "open", "input", "breakpoint", "help", "__import__"}


@pytest.fixture(scope="session")
def plan() -> LanguagePlan:
    """The whole language, some modules, no builtin that reads or runs text."""
    return LanguagePlan(
        profile="test",
        builtins=frozenset(dir(builtins)) - WITHOUT,
        imports={name: ImportPlan(rule="test.yaml:3") for name in MODULES},
        rules={"imports": "test.yaml:2", "builtins": "test.yaml:1", "language.mode": "test.yaml:9"},
    )
