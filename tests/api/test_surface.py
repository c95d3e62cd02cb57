"""Both faces have the same names, parameters and defaults; what a call gives back has a public type."""

from __future__ import annotations

import inspect
from typing import get_type_hints

import pytest

import safeexec
from safeexec import (
    AsyncPlugin,
    AsyncSandbox,
    AsyncSession,
    AsyncStream,
    Limits,
    Plugin,
    Policy,
    PolicyError,
    Sandbox,
    Session,
    Stream,
)
from safeexec.api.blocking import SandboxAPI, SessionAPI
from safeexec.engine.policy import keywords
from safeexec.engine.policy.settings import PolicyData

PAIRS = [(Sandbox, AsyncSandbox), (Session, AsyncSession), (Stream, AsyncStream), (Plugin, AsyncPlugin)]
ONLY_BLOCKING = {Session: {"namespace"}}
ONLY_AWAITED = {AsyncSession: {"names", "remove"}, AsyncPlugin: {"iterate"}}
"""A mapping cannot be awaited: in the other face its parts are methods."""
BY_HAND = (
    {"open", "reopen", "map", "map_as_completed", "stream", "call", "iterate"}
    | {"run", "result"}
    | {"read_file", "write_file", "list_files"}
)
"""What is not one operation of the core: in each face it does what that face can."""


def public(face: type) -> set[str]:
    return {name for name in dir(face) if not name.startswith("_")}


@pytest.mark.parametrize(("blocking", "awaited"), PAIRS, ids=lambda face: face.__name__)
def test_both_faces_have_the_same_names(blocking: type, awaited: type) -> None:
    assert public(blocking) - public(awaited) == ONLY_BLOCKING.get(blocking, set())
    assert public(awaited) - public(blocking) == ONLY_AWAITED.get(awaited, set())


@pytest.mark.parametrize(
    ("blocking", "awaited", "name"),
    [(*pair, name) for pair in PAIRS for name in sorted((public(pair[0]) & public(pair[1])) | {"__init__"})],
)
def test_a_method_has_the_same_parameters_in_both(blocking: type, awaited: type, name: str) -> None:
    ours, theirs = inspect.getattr_static(blocking, name), inspect.getattr_static(awaited, name)
    assert type(ours) is type(theirs)
    if inspect.isfunction(ours):
        shown = inspect.signature(ours)
        assert shown.replace(return_annotation="") == inspect.signature(theirs).replace(return_annotation="")
        assert "Core[" not in shown.return_annotation
        if hasattr(theirs, "__wrapped__") and hasattr(ours, "__wrapped__"):
            assert ours.__wrapped__ is theirs.__wrapped__
        else:
            assert name in BY_HAND | public(SandboxAPI) | public(SessionAPI) | {"__init__"}
    assert name == "__init__" or (inspect.getdoc(ours) and inspect.getdoc(theirs))


@pytest.mark.parametrize("name", sorted(safeexec.__all__))
def test_a_public_name_says_what_it_is(name: str) -> None:
    value = getattr(safeexec, name)
    assert inspect.getdoc(value), name


def test_keywords_are_those_of_a_policy_and_a_word_of_another_library_is_answered_with_ours() -> None:
    limits = {name for name in Limits.__struct_fields__ if name != "checkpoints"}
    assert set(keywords.LimitChanges.__annotations__) == limits
    written = get_type_hints(Limits)
    for name, kind in get_type_hints(keywords.LimitChanges).items():
        assert kind is written[name], name
    settings = set(PolicyData.__struct_fields__) - {"origins", "files"}
    assert set(keywords.PolicyChanges.__annotations__) == limits | settings
    assert set(keywords.PluginChanges.__annotations__) == limits | settings - {"name", "description", "tools"}
    with pytest.raises(PolicyError, match=r"no setting 'timeout'; did you mean wall_seconds\?"):
        Policy.load("calculator").replace(timeout=3)  # type: ignore[call-arg]


def test_a_session_begins_with_values(sandbox: Sandbox) -> None:
    with sandbox.session(namespace={"a": 1, "b": [2]}) as session:
        assert session.run("a + b[0]").check().value == 3
        assert session.run("a + b[0] + c", namespace={"a": 10, "c": 100}).check().value == 112
        session.rollback()
        assert session.get("a") == 10
        with pytest.raises(TypeError, match="cannot cross"):
            session.run("1", namespace={"a": object()})
        assert session.get("a") == 10
    assert sandbox.run("q * 2", namespace={"q": 21}).check().value == 42
    with pytest.raises(TypeError, match="cannot cross"):
        sandbox.session(namespace={"a": object()})


async def test_both_faces_try_what_the_session_must_not_be_able_to_do(sandbox: Sandbox) -> None:
    with sandbox.session() as session:
        tried = session.protection
    assert {"programs", "files", "signals"} <= {row.name for row in tried if row.active and "tried: " in row.detail}
    async with AsyncSandbox(sandbox.policy) as other, other.session() as awaited:
        rows = await awaited.protection
    assert [(row.name, row.active) for row in rows] == [(row.name, row.active) for row in tried]


def test_what_is_shown_tells(sandbox: Sandbox) -> None:
    assert repr(Sandbox("calculator")) == "<Sandbox 'calculator', not open>"
    with sandbox.session(label="ann") as session:
        session.run("1")
        assert "(ann)" in repr(session) and "step 1, idle" in repr(session)
    assert repr(session).endswith("step 1, closed>")
    box = Sandbox("calculator", tools=[], files=None)
    for _ in range(2):  # it opens anew
        with box:
            assert box.run("1").check().value == 1
        assert repr(box) == "<Sandbox 'calculator', closed>"
