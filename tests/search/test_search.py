"""Seconds of the search for ways past the language layer; an hour of it is ``python -m tests.search.search``."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import pytest

from safeexec import Sandbox, Session
from tests.search.search import (
    bindings,
    call_back,
    found,
    prepare,
    programs,
    readings,
    run_programs,
    spy,
    walk,
    ways_out,
    write,
)  # fmt: skip


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    """A session that has the oracle."""
    with Sandbox("standard") as sandbox, sandbox.session() as session:
        prepare(session)
        yield session


def test_the_oracle_knows_what_is_outside(session: Session) -> None:
    """Else the searches below could find nothing whatever there was."""
    source = "_look([{'__import__': 1}], 'builtins')\nimport json\n_look(json, 'facade')\n"
    assert ways_out(session.run(source).check().stdout) == ["builtins[...]"]
    assert ways_out(session.run(source + "while True: pass", timeout=1.0).stdout) == ["builtins[...]"]


def test_routes_names_and_carriers_find_no_way_out(session: Session) -> None:
    assert run_programs(session, list(islice(programs(seed=7), 60))) == []


def test_what_once_led_out_leads_nowhere(session: Session) -> None:
    once = [
        ("a partialmethod's result, vars, __self__"),
        ("a typing alias of an exception, getattr, obj"),
        ("a task, a call of it, get_stack"),
        ("a facade, a weak proxy, __dict__"),
        ("a cell, compared with one of its kind, __dict__"),
        ("an enum property, a descriptor, __globals__"),
    ]
    chosen = [(told, source) for told, source in programs(seed=0) if told in once]
    assert len(chosen) == len(once)
    assert run_programs(session, chosen) == []


def test_what_a_library_reads_in_its_own_modules_leads_nowhere(session: Session) -> None:
    assert run_programs(session, list(islice(readings("standard"), 0, None, 40))) == []


def test_no_form_of_binding_takes_a_name_of_the_interpreter(session: Session) -> None:
    for source in bindings():
        assert session.run(source, timeout=30.0).outcome == "rejected", source


def test_what_a_callback_is_given_is_looked_at(session: Session) -> None:
    source = "class Gives:\n    def over(self, text, by): by[0]({'__import__': 1})\n_call_back(Gives(), 'it', ['x'])"
    assert ways_out(session.run(source).check().stdout) == ["it.over(by=)"]


@pytest.mark.parametrize("module", ["json", "functools", "re", "contextlib"])
def test_callbacks_are_given_nothing_that_is_outside(session: Session, module: str) -> None:
    assert call_back(session, module, timeout=10.0) == []


def test_what_is_stored_and_compared_is_looked_at(session: Session) -> None:
    source = (
        "class Keeps:\n    def use(self): self.kept = {'__import__': 1}\n"
        "class Gives:\n    held = Keeps\n    def among(self, x): return x in [{'__import__': 1}]\n"
        "_spy(Gives(), 'it')"
    )
    assert set(ways_out(session.run(source).check().stdout)) == {"it.among", "it.held"}


@pytest.mark.parametrize("module", ["asyncio", "enum", "pprint"])
def test_nothing_that_is_outside_is_stored_or_compared(session: Session, module: str) -> None:
    assert spy(session, module, timeout=10.0) == []


def test_what_objects_hand_on_to_their_attributes_is_looked_at(session: Session) -> None:
    source = (
        "class Held:\n    def use(self): self.told({'__import__': 1})\n    def told(self, x): pass\n"
        "class Gives:\n    held = Held()\n    def over(self): type(self).held.use()\n"
        "for turn in (0, 1):\n    Gives.held = Held(); _write_to(Gives(), 'it', turn); _call_all(Gives())"
    )
    assert ways_out(session.run(source).check().stdout) == ["it.held.told()"]


@pytest.mark.parametrize("module", ["typing", "reprlib"])
def test_what_is_written_to_objects_of_libraries_meets_nothing_that_is_outside(session: Session, module: str) -> None:
    session.run(f"import {module} as _start").check()
    assert write(session, module, ["statistics", "unittest"], timeout=20.0) == []


@pytest.mark.parametrize("module", ["json", "functools", "enum", "asyncio", "collections"])
def test_the_walk_finds_nothing(session: Session, module: str) -> None:
    assert walk(session, module, depth=2, calls=1, limit=2000, timeout=10.0) == []


def test_an_error_of_the_host_is_a_find_and_the_search_goes_on() -> None:
    def breaks(session: Session) -> list[str]:
        session.close()
        return [session.run("1").text]

    with Sandbox("standard") as sandbox:
        finds = list(found(sandbox, [breaks, lambda session: [session.run("1 + 1").text]], float("inf")))
    assert finds[0].startswith("the host, at ") and finds[1:] == ["2"]
