"""Each reader of strangers' input takes whatever comes: the work grows no faster than the input, and nothing else than
an error of safeexec is raised.

A reader is added here with its module: a function of `safeexec/untrusted/` that is neither in `READERS` nor in `TESTED`
fails the last test.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any
from unicodedata import normalize

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Raw

import safeexec.untrusted
from safeexec.untrusted import markup, stack_dump
from safeexec.untrusted.call_arguments import code_of, why_no_call
from safeexec.untrusted.json_shapes import check_parts, shaped
from safeexec.untrusted.json_text import loads
from safeexec.untrusted.latex import plain_latex
from safeexec.untrusted.lines import Lines
from safeexec.untrusted.multipart import files_of
from safeexec.untrusted.saving import is_picture
from safeexec.untrusted.source_text import charset_of, costly_name, encoding_of, has_many_marks
from safeexec.untrusted.yaml_text import kind_of, plain_scalar, read_yaml
from tests.untrusted.doubling import SLACK, growth
from tests.untrusted.hostile import TEXTS, texts, tolerant


def _shaped(text: str) -> object:
    """The same, of an object whose values stay text."""
    try:
        return shaped(text.encode(errors="replace"), dict[str, Raw])
    except ValueError:
        return None


def _json(text: str) -> object:
    """Whatever cannot be read is a ValueError."""
    try:
        return loads(text)
    except ValueError:
        return None


def _parts(text: str) -> None:
    """A text with too many parts is a ValueError."""
    for most in (10, 1_000_000):
        try:
            check_parts(text.encode(errors="replace"), most)
        except ValueError:
            pass


def _files(before: bytes, text: str, after: bytes) -> object:
    """Whatever is no form is a ValueError."""
    try:
        return files_of(before + text.encode(errors="replace") + after, f"multipart/form-data; {text}; boundary=b")
    except ValueError:
        return None


READERS: dict[str, Callable[[str], object]] = {
    "stack_dump.read": lambda text: stack_dump.read(
        b"Stack (most recent call first):\n" + text.encode("utf-8", "surrogatepass")
    ),
    **{
        f"markup.{name}": getattr(markup, name)
        for name in ("unescape", "escape", "plain_tables", "framed_html", "framed_svg", "picture")
    },
    "markup.frame": lambda text: markup.frame(text, "20em"),
    "latex.plain_latex": plain_latex,
    "call_arguments.code_of": code_of,
    "call_arguments.why_no_call": why_no_call,
    "call_arguments.why_no_call of JSON": lambda text: why_no_call(f'{{"code": {text}}}'),
    "multipart.files_of": lambda text: _files(b"--b\r\nContent-Disposition: x; filename=a\r\n\r\n", text, b"\r\n--b--"),
    "multipart.files_of of parts": lambda text: _files(b"", text, b"\r\n--b--"),
    "call_arguments.code_of of JSON": lambda text: code_of(f'{{"code": {text}}}'),
    "saving.is_picture": lambda text: is_picture("image/png", text.encode(errors="replace")),
    "json_text.loads": _json,
    "json_shapes.check_parts": _parts,
    "json_shapes.shaped": _shaped,
    "lines.Lines": lambda text: [*Lines(1 << 30).feed(text.encode("utf-8", "surrogatepass"))],
    "source_text.charset_of": charset_of,
    "source_text.costly_name": costly_name,
    "source_text.has_many_marks": has_many_marks,
    "source_text.encoding_of": lambda text: encoding_of(text.encode("utf-8", "surrogatepass")),
    "yaml_text.read_yaml": lambda text: read_yaml(text, "a policy"),
    "yaml_text.plain_scalar": plain_scalar,
    "yaml_text.kind_of": kind_of,
}
"""Module and function → how it is called with a text of a stranger."""

TESTED = {
    "read bytes below a size, entries below a number, that the caller gives: test_below.py": """
        below.opened below.walk below.read_file below.read_named below.open_named below.read_descriptor
    """,
    "write: test_below.py": "below.new_file below.put_file below.replace_file below.remove_file",
    "holds what was found": "below.Found",
    "opens a directory: test_below.py": "below.directory_below",
    "writes; it lists a bounded number of names": "saving.NewFiles",
}
"""What they do that take no text, and where that is tested → their names."""


PARTS = 6
"""In how many tests the texts go to each reader: all at once would take a busy machine longer than a test may."""


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("reader", READERS)
def test_the_work_grows_no_faster_than_the_input(reader: str, part: int) -> None:
    read = tolerant(READERS[reader])
    texts = list(TEXTS.items())[part::PARTS]
    told = {kind: ratio for kind, make in texts if (ratio := growth(read, make)) > SLACK}
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
    tested = {name for names in TESTED.values() for name in names.split()}
    assert found == {name.partition(" ")[0] for name in READERS} | tested


def test_millions_of_tiny_parts_are_no_value() -> None:
    with pytest.raises(ValueError, match="more than 4000000 parts"):
        loads("[" + "[]," * 2_000_001 + "1]")
    assert shaped(b'{"x": [' + b"[]," * 2_000_001 + b"1]}", dict[str, Raw]).keys() == {"x"}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("9" * 21, "a number has 21 digits, and 20 are read"),
        (f"1.{'9' * 400}", "a number has 402 digits, and 400 are read"),
        ("1e999", "1e999 is larger than any number that is read"),
        ("[-Infinity]", "-Infinity is no JSON"),
        ("[" * 100_000, "it is nested too deeply"),
        ('"\n"', "Invalid control character at"),
    ],
)
def test_what_is_no_json_for_the_host_is_said(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(why)}"):
        loads(text)
    assert loads('"\n"', strict=False) == "\n"


@pytest.mark.parametrize(
    ("data", "kind", "why"),
    [
        (b'{"a": 5}', dict[str, str], "Expected `str`, got `int` - at `$[...]`"),
        (b'["\xff"]', list[str], "UTF-8"),  # msgspec 0.23 words it itself
        (b'["\\ud800"]', list[str], "(half of a character, as \\ud800, is no text)"),
        (b"[1", list[int], "Input data was truncated"),
        (b"[" * 100_000, object, "it is nested too deeply"),
    ],
)
def test_what_has_another_shape_is_said(data: bytes, kind: Any, why: str) -> None:
    with pytest.raises(ValueError) as told:
        shaped(data, kind)
    assert why in str(told.value)


def test_the_mark_of_a_source_says_its_encoding() -> None:
    assert encoding_of("\ufeffx = 1".encode()) == "utf-8-sig"
    assert encoding_of(b"#!python\n# -*- coding: Latin-1 -*-\n") == "latin_1"
    assert charset_of("Windows-1252") == "cp1252" and charset_of("punycode") is charset_of("") is None
    assert encoding_of(b"# coding: punycode\n") is encoding_of(b"\n\n# coding: latin-1\n") is None


@pytest.mark.parametrize("marks", ["\u0301\u0316", "\u0f73", "\uff9e\u0334"], ids=ascii)
def test_marks_of_one_letter_are_counted_as_they_are_once_decomposed(marks: str) -> None:
    assert costly_name(f"a{marks * 100_000} = 1") == "too many combining marks on one letter"


def test_no_text_of_a_language_has_too_many_marks() -> None:
    for text in ("größe", "Tiếng Việt", "สวัสดี ที่นี่", "हिन्दी", "שָׁלוֹם", "ｶﾞｷﾞ", "\u0301" * 50, "\ud800"):
        assert not costly_name(f"{normalize('NFD', text)} = {text!r}\n" * 1000)
    assert costly_name("import " + "a." * 400_000 + "b") == "a dotted name of too many parts"
