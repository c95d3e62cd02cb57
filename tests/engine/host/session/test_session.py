"""A session: steps in order, one user at a time, and what a step's result tells."""

from __future__ import annotations

import gc
import threading
import weakref
from pathlib import Path

import pytest

from safeexec import Result, Sandbox, Session, SessionBusy, SessionClosed
from tests.footprint import until


def test_closing_twice_is_harmless_and_using_it_after_is_not(session: Session) -> None:
    session.close()
    session.close()
    for use in (
        lambda: session.run("1"),
        lambda: session.get("x"),
        lambda: session.checkpoint("a"),
        lambda: session.rollback(),
        lambda: session.branch(),
        lambda: session.variables(),
    ):
        with pytest.raises(SessionClosed):
            use()


@pytest.mark.profile("confined-python")
def test_a_second_thread_is_refused_at_once_and_the_first_goes_on(session: Session, tmp_path: Path) -> None:
    started = threading.Event()
    results: list[Result] = []

    def work() -> None:
        source = "import time\nprint('started')\ntime.sleep(3600)"
        results.append(session.run(source, timeout=60, on_output=lambda _: started.set()))

    thread = threading.Thread(target=work)
    thread.start()
    assert started.wait(60)
    try:
        for use in (
            lambda: session.run("1"),
            lambda: session.run("1", wait=0.05),
            lambda: session.get("x"),
            lambda: session.save(tmp_path / "state", wait=0.05),
        ):
            with pytest.raises(SessionBusy, match=r"session\.run\(\.\.\., wait=seconds\), use a session per thread"):
                use()
    finally:
        session.cancel()
        thread.join(60)
    assert [result.outcome for result in results] == ["cancelled"]
    assert session.save(tmp_path / "state", wait=30) == {}
    assert session.run("1 + 1", wait=30).value == 2


@pytest.mark.parametrize("source", ["'ab' * 50_000", "list(range(100_000))"])
def test_the_text_of_a_long_value_is_both_ends_of_its_repr(session: Session, source: str) -> None:
    result = session.run(source)
    whole = repr(eval(source))
    assert result.truncated and result.text == whole[:10_000] + " … " + whole[-10_000:]


def test_a_name_that_no_text_can_show_is_no_variable(session: Session) -> None:
    """A program can bind any text in `globals()`, and a host ask for anything: neither ends the process."""
    session.run("x = 1\nspace = globals()\nspace['\\ud800'] = space['\\x1b[31m'] = 2\nspace['two words'] = 3")
    before = session.run("x").step
    assert list(session.namespace) == ["x", "space", "two words"]
    assert session.get("two words") == 3
    names: list[object] = ["\udc80", "\ud800", "\x1b[31m", 1, None, b"x"]
    for name in names:
        assert session.get(name, "none") == "none" and name not in session.namespace  # type: ignore[arg-type]
        with pytest.raises(KeyError, match="no variable"):
            del session.namespace[name]  # type: ignore[arg-type]
    assert session.run("x").step == before + 1


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ([1, {"f": print}], r"it\[1\]\['f'\] is, .* of type builtin_.*; give a function as one of the tools"),
        (Path("a"), r"it is, .* of type .*PosixPath; pass its data \(.*, a path as str\)$"),
        (object(), "of type object; pass its data as numbers, text, lists or dicts"),
    ],
    ids=["function", "path", "object"],
)
def test_a_value_that_cannot_be_a_variable_is_named_with_what_to_do(session: Session, value: object, told: str) -> None:
    with pytest.raises(TypeError, match=told):
        session.set("x", value)


def test_a_session_that_was_closed_is_let_go_of_without_the_collector() -> None:
    """It holds its sandbox, whose processes end when nobody does."""
    with Sandbox("confined-python") as sandbox:
        gc.disable()
        try:
            session = sandbox.session(record=True)
            session.run("x = 1").check()
            session.set("y", 2)
            session.write_file("a", "b")
            session.checkpoint("now")
            session.rollback("now")
            session.branch()[0].close()
            core = weakref.ref(session._core)
            session.close()
            del session
            until(lambda: core() is None)  # a thread that looks after sessions may hold it
        finally:
            gc.enable()
