"""A guest: a namespace with the restricted language installed, and a way to run code in it."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import pytest

from safeexec.language.language import RestrictedLanguage
from safeexec.protocol.plan import ImportPlan, LanguagePlan

Run = Callable[..., Any]

MODULES = [
    "math",
    "json",
    "operator",
    "functools",
    "datetime",
    "collections",
    "collections.abc",
    "enum",
    "copy",
    "typing",
    "statistics",
]


def make_guest(**changes: Any) -> Run:
    """A session under a plan that opens every builtin (`eval` and `exec` in their guarded form) and some modules."""
    plan = LanguagePlan(
        **{
            "profile": "test",
            "builtins": frozenset(dir(builtins)) | {"exit", "quit"},
            "imports": {name: ImportPlan(rule="test.yaml:3") for name in MODULES},
            "rules": {"imports": "test.yaml:2", "language.mode": "test.yaml:9"},
        }
        | changes
    )
    namespace: dict[str, Any] = {"__name__": "__main__"}
    language = RestrictedLanguage(plan)
    language.install(namespace)

    def run(source: str, **values: Any) -> Any:
        namespace.update(values)
        step = language.compile(source, "<step>")
        if step.body is not None:
            exec(step.body, namespace)
        return eval(step.tail, namespace) if step.tail is not None else None

    return run


@pytest.fixture
def guest() -> Run:
    """Runs source texts as steps of one session; the value of the last expression comes back."""
    return make_guest()


@pytest.fixture
def guest_with() -> Callable[..., Run]:
    """A guest whose plan differs: ``guest_with(builtins=frozenset())``."""
    return make_guest
