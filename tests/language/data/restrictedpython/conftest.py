"""RestrictedPython's own tests, asked of safeexec's transformer: what they compile is judged by ours."""

from __future__ import annotations

import ast
import builtins
import json
import os
from pathlib import Path
from functools import partial
from types import SimpleNamespace
from unittest import mock

import pytest
import RestrictedPython
from RestrictedPython.compile import _compile_restricted_mode
from RestrictedPython.transformer import RestrictingNodeTransformer

from safeexec.compiler.diagnostics import MESSAGES
from safeexec.compiler.rules import Rules
from safeexec.compiler.transformer import StepTransformer
from safeexec.protocol.plan import ImportPlan, LanguagePlan

PLAN = LanguagePlan(
    builtins=frozenset(dir(builtins)) - {"eval", "exec", "compile", "open", "input", "breakpoint", "__import__"},
    imports={name: ImportPlan() for name in ("asyncio", "datetime", "string", "json")},
)


REFUSED: list[str] = []
"""What was refused in the test that runs."""
FOUND: dict[str, list[str]] = {}
"""Test that does not pass → what was refused in it."""


class Policy(RestrictingNodeTransformer):
    """What `compile_restricted` takes for a policy: safeexec's transformer, speaking in lines."""

    def visit(self, node: ast.AST) -> ast.AST:
        transformer = StepTransformer(Rules(PLAN))
        transformer.check(node)
        for found in transformer.findings:
            line = getattr(found.node, "lineno", None)
            REFUSED.append(found.name)
            self.errors.append(f"Line {line}: {found.message or MESSAGES[found.kind].format(found.name)}")
        return node


RestrictedPython.compile_restricted_exec = partial(_compile_restricted_mode, mode="exec", policy=Policy)
RestrictedPython.compile_restricted_eval = partial(_compile_restricted_mode, mode="eval", policy=Policy)


@pytest.fixture
def mocker() -> SimpleNamespace:
    """As much of pytest-mock as these tests use."""
    return SimpleNamespace(stub=mock.MagicMock, MagicMock=mock.MagicMock, Mock=mock.Mock, call=mock.call)


def pytest_runtest_setup() -> None:
    """Each test begins with nothing refused."""
    REFUSED.clear()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note what does not pass."""
    if report.failed:
        FOUND[report.nodeid.removeprefix("tests/transformer/")] = list(REFUSED)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write it where the test that runs these tests reads it."""
    Path(os.environ["DIFFERENCES"]).write_text(json.dumps({"ran": session.testscollected, "differ": FOUND}))
