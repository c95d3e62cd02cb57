"""Each reader of strangers' input takes whatever comes: the work grows no faster than the input, and nothing else than
an error of safeexec is raised.

A reader is added here with its module: a function of `safeexec/untrusted/` that is neither in `READERS` nor in `TESTED`
fails the last test.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import safeexec.untrusted
from safeexec.errors import SandboxError
from safeexec.untrusted.files import shown, text_of
from safeexec.untrusted.yaml_text import kind_of, plain_scalar, read_yaml
from tests.untrusted.hostile import TEXTS, linear, texts

READERS: dict[str, Callable[[str], object]] = {
    "files.text_of": lambda text: text_of(text.encode("utf-8", "surrogatepass"), "x"),
    "files.shown": shown,
    "yaml_text.read_yaml": lambda text: read_yaml(text, "a policy"),
    "yaml_text.plain_scalar": plain_scalar,
    "yaml_text.kind_of": kind_of,
}
"""Module and function → how it is called with a text of a stranger."""

TESTED = {
    "files.Root": "reads bytes below a size that the caller gives: test_files.py",
    "files.read_named": "reads bytes below a size that the caller gives: test_files.py",
    "files.open_named": "reads nothing: test_files.py",
}
"""What takes no text → where its own bounds are tested."""


def tolerant(read: Callable[[str], object]) -> Callable[[str], None]:
    """`read` with its refusals, which are an answer; whatever else it raises is a fault."""

    def call(text: str) -> None:
        try:
            read(text)
        except SandboxError:
            pass

    return call


@pytest.mark.parametrize("reader", READERS)
def test_the_work_grows_no_faster_than_the_input(reader: str) -> None:
    read = tolerant(READERS[reader])
    told = {kind: problem for kind, make in TEXTS.items() if (problem := linear(read, make))}
    assert not told


@settings(max_examples=200, deadline=None)
@given(text=texts(), reader=st.sampled_from(sorted(READERS)))
def test_nothing_but_an_error_of_safeexec_is_raised(text: str, reader: str) -> None:
    tolerant(READERS[reader])(text)


def test_every_reader_is_in_the_table() -> None:
    here = Path(safeexec.untrusted.__file__).parent
    found = set()
    for path in here.glob("*.py"):
        module = import_module(f"safeexec.untrusted.{path.stem}") if path.stem != "__init__" else safeexec.untrusted
        for name, value in vars(module).items():
            public = not name.startswith("_") and getattr(value, "__module__", "") == module.__name__
            if public and (inspect.isfunction(value) or (inspect.isclass(value) and not issubclass(value, tuple))):
                found.add(f"{path.stem}.{name}")
    assert found == READERS.keys() | TESTED.keys()
