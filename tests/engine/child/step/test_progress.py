"""tqdm in guest code becomes a few events and writes no lines."""

from __future__ import annotations

import json
import textwrap
from typing import Any

import pytest

from tests.alone import alone

pytest.importorskip("tqdm")


def events(code: str) -> tuple[list[Any], str, str]:
    """The events of `code` in a process of its own, and what it wrote to stdout and stderr."""
    start = """
        import json, os, sys
        from safeexec.engine.child.step.progress import ProgressBars
        told = []
        ProgressBars(lambda *event: told.append(event)).prepare()
        assert "tqdm" not in sys.modules
    """
    source = textwrap.dedent(start) + textwrap.dedent(code) + "\nprint('\\n' + json.dumps(told))"
    out = alone(source, check=True)
    printed, _, last = out.stdout.rstrip("\n").rpartition("\n")
    return json.loads(last), printed, out.stderr


def test_a_loop_is_a_first_and_a_last_event() -> None:
    told, out, err = events("from tqdm import tqdm\nfor _ in tqdm(range(100_000), desc='load'): pass")
    assert (told[0], told[-1]) == (["load", 0.0, 100_000.0], ["load", 100_000.0, 100_000.0])
    assert len(told) < 100 and (out, err) == ("", "")


def test_bars_of_every_kind() -> None:
    told, out, err = events("""
        from tqdm.auto import tqdm, trange
        for _ in tqdm(iter("ab")): tqdm.write("between")
        with tqdm(total=10, leave=False) as bar:
            bar.set_description("half"); bar.update(5)
        for _ in trange(3, file=sys.stdout, disable=True): pass
        import threading
        told.append(threading.active_count())
    """)
    assert told[:2] == [["", 0.0, None], ["", 2.0, None]]
    assert told[-2:] == [["half", 5.0, 10.0], 1], "no thread is left"
    assert (out.split(), err) == (["between", "between"], "")


def test_a_total_that_is_no_number_stops_nothing() -> None:
    told, _, err = events("""
        from tqdm import tqdm
        class Odd:
            def __float__(self): raise ValueError
            def __bool__(self): return True
        bar = tqdm(total=5); bar.total = Odd(); bar.update(2); bar.close()
    """)
    assert told == [["", 0.0, 5.0]]
    assert err == ""


def test_bars_of_the_notebook_are_bars() -> None:
    """They are widgets, and raise where ipywidgets is missing."""
    told, out, err = events("""
        from tqdm.notebook import tqdm, trange
        for _ in trange(2, desc="outer"):
            for _ in tqdm(range(3), desc="inner", leave=False): pass
    """)
    assert told == [
        ["outer", 0.0, 2.0], ["inner", 0.0, 3.0], ["inner", 3.0, 3.0], ["inner", 0.0, 3.0], ["inner", 3.0, 3.0],
        ["outer", 2.0, 2.0],
    ]  # fmt: skip
    assert (out, err) == ("", "")
