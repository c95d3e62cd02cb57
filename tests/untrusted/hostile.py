"""Hostile inputs for whatever reads a stranger's names, texts, numbers and files. Shared by the tests of all readers.

`TEXTS` makes one long text of each kind that has hurt a reader, `names()` and `texts()` are hypothesis strategies,
`FILES` plants one thing that is no ordinary file. How work grows with them is measured by `tests.untrusted.doubling`.
"""

# ruff: noqa: E501  (lists of odd signs read best when they fill their lines)

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from hypothesis import strategies as st

from safeexec.errors import SandboxError

# Characters and names

CONTROLS = [chr(code) for code in [*range(0x20), *range(0x7F, 0xA0)]]
"""C0 controls, DEL and C1 controls; ESC, CSI (U+009B), OSC (U+009D) and the line feeds are among them."""
BIDI = ["\u200e", "\u200f", "\u202a", "\u202b", "\u202c", "\u202d", "\u202e", "\u2066", "\u2067", "\u2068", "\u2069"]
SURROGATES = ["\ud800", "\udbff", "\udc80", "\udfff"]
SEPARATORS = ["\u2028", "\u2029", "\ufeff", "\u00a0", "\u3000"]
STRANGE = [*CONTROLS, *BIDI, *SURROGATES, *SEPARATORS]

NAMES = [
    "", ".", "..", "../x", "a/../../x", "/etc/passwd", "//x", "./", "a//b", "~", "-rf", "*", "a\nb", "a\rb", "a\0b", "\0",
    "a\tb", " ", "a ", "\ud800", "\udc80x", "\u202egpj.exe", "\u2066x", "\x1b]0;x\x07", "\x9b31m", "a" * 256, "/".join("a" * 2000),
    "a" * 100_000, "con", "x.py/", "proc/self/environ", "%2e%2e/x", "..\\x", "é" * 200,
]  # fmt: skip


def names() -> st.SearchStrategy[str]:
    """Names of files, modules and fields as nobody means them."""
    parts = st.sampled_from([*NAMES, *STRANGE, "a", "b.py", "/"])
    return parts | st.lists(parts, max_size=5).map("".join)


# Texts

DIGITS = 10_000
LEVELS = 10_000


def _repeated(unit: str) -> Callable[[int], str]:
    return lambda length: (unit * (length // len(unit) + 1))[:length]


def _name(unit: str) -> str:
    return unit if unit.isascii() and unit.isprintable() else " ".join(f"U+{ord(sign):04X}" for sign in unit)


_UNITS = [
    *STRANGE, "a", " ", "0", "9", "[", "]", "{", "}", "(", "<", ">", "&", "'", '"', "`", "\\", "-", "#", "%", "!", "*", ":", "=", "|",
    "~", ",", ".", "/", "[[", "[{", "{'a':", "- ", "? ", "a: ", "a, ", "- - ", "-\n", "?\n", "a\n", " \n", "\n ", "\r\n", "\ra", "\x1b]", "\x1b[0",
    "\x1b[31m", "\x1b ", "<a ", "</", "<!--", "<b>", "&amp", "```\n", "``` ", "~~~\n", "{% ", "{{", "\\u0041", "\\n", "%TAG !a! b\n", "&a ", "*a ",
    "1e", "1_", "-1", "+", "a.", "(a|", 'File "<step 1>", line 9', "    at x\n", "--- a\n+++ b\n", "@@ -1 +1 @@\n", "+a\n", "=====\n", "1 passed, ",
]  # fmt: skip

TEXTS: dict[str, Callable[[int], str]] = {f"many {_name(unit)!r}": _repeated(unit) for unit in _UNITS}
"""What it is → the text of so many characters."""
TEXTS |= {
    "one key and digits": lambda length: "version: " + "1" * (length - 9),
    "a key that is long and holds much": lambda length: f"? {'k' * (length // 2)}\n: [{'1, ' * (length // 6)}]",
    "unlike keys": lambda length: "".join(f"k{number}: 1\n" for number in range(length // 11)),
    "unlike directives": lambda length: "".join(f"%TAG !a{number}! b\n" for number in range(length // 16)) + "--- a",
    "unlike anchors": lambda length: "".join(f"- &a{number} x\n" for number in range(length // 13)),
    "aliases of one anchor": lambda length: "- &a x\n" + "- *a\n" * (length // 5),
    "merges": lambda length: "a: &a {k: 1}\n" + "b: {<<: [*a, *a, *a]}\n" * (length // 22),
    "indented ever deeper": lambda length: "".join(" " * depth + "a:\n" for depth in range(int((2 * length) ** 0.5))),
    "one line after carriage returns": lambda length: "\r" + "a" * (length - 2) + "b",
    "opened and closed": lambda length: "[" * (length // 2) + "]" * (length // 2),
    "objects in objects": lambda length: '{"a":' * (length // 6) + "1" + "}" * (length // 6),
    "a text in quotes": lambda length: '"' + "\\n" * (length // 2 - 1) + '"',
    "marks in the wrong order": lambda length: "a" + "\u0301" * (length // 2) + "\u0316" * (length // 2 - 1),
    "fences of growing length": lambda length: "\n".join("`" * size for size in range(3, int((2 * length) ** 0.5))),
}

SHORT = [
    "version: 2020-99-99", "version: 0000-00-00", "when: 2020-02-30T25:61:61Z", "a: 0x" + "f" * DIGITS, "a: 0b1_0", "a: 1:60:99",
    "a: " + "1" * DIGITS, "a: 1." + "0" * DIGITS, "a: 1e" + "9" * DIGITS, "a: .inf", "a: .nan", "a: " + "[" * LEVELS, "a: " + "{a: " * LEVELS,
    "- " * LEVELS, "a: &a [*a]", "a: &a {<<: *a}", "a: !!python/object/apply:os.system [id]", "a: !!timestamp 2020-99-99", "a: !!int x",
    "a: !!set {x}", "? [a]\n: 1", "? {a: 1}\n: 1", "a: *b", "%YAML 9.9\n--- a", "--- a\n--- b", "a: b: c", "a: |\n\tx", "\ufeffa: 1", "a: \ud800",
    "a: \x00", "a: \x85b", "{a: 1, a: 2}", "<<: {a: 1}", "=: 1", "~: 1", "true: 1", "1: 1", "!", "&", "*", "@", "`", "%", "a: [", 'a: "', "a: '",
]  # fmt: skip
"""Short texts that parsers of configuration files take badly."""


def texts() -> st.SearchStrategy[str]:
    """Hostile texts, short and long: runs of one sign, deep nesting, long numbers, and mixtures of them."""
    made = st.builds(lambda kind, length: TEXTS[kind](length), st.sampled_from(sorted(TEXTS)), st.integers(16, 20_000))
    mixed = st.lists(st.sampled_from([*STRANGE, *_UNITS, "a", "\n", "1" * 5000]) | st.text(max_size=3), max_size=25)
    return st.sampled_from(SHORT) | made | mixed.map("".join)


def tolerant(read: Callable[[str], object]) -> Callable[[str], None]:
    """`read` with its refusals, which are answers; whatever else it raises is a fault."""

    def call(text: str) -> None:
        try:
            read(text)
        except SandboxError:
            pass

    return call


# Files


def _fifo(path: Path) -> None:
    os.mkfifo(path)


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        here = os.open(path.parent, os.O_RDONLY)
        try:
            made.bind(f"/proc/self/fd/{here}/{path.name}")  # the path itself may be longer than a socket's may be
        finally:
            os.close(here)


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(SPARSE_BYTES)


def _link_to_file(path: Path) -> None:
    secret = path.parent.parent / f"{path.name}.secret"
    secret.write_text(f'KEY = "{SECRET}"\n')
    path.symlink_to(secret)


SECRET = "hunter2-of-the-host"
"""What a link planted by `FILES` would disclose."""
SPARSE_BYTES = 3 << 29
"""1.5 GB, of which nothing lies on the disk."""

FILES: dict[str, Callable[[Path], None]] = {
    "link to a file": _link_to_file,
    "link to /dev/zero": lambda path: path.symlink_to("/dev/zero"),
    "link to /dev/tty": lambda path: path.symlink_to("/dev/tty"),
    "link to /proc/kmsg": lambda path: path.symlink_to("/proc/kmsg"),
    "link to itself": lambda path: path.symlink_to(path.name),
    "link to nothing": lambda path: path.symlink_to("nothing/at/all"),
    "FIFO": _fifo,
    "socket": _socket,
    "sparse file of 1.5 GB": _sparse,
    "directory": lambda path: path.mkdir(),
}
"""What it is → plants it at a path. Links lead out of the path's directory."""


@contextmanager
def growing(path: Path) -> Iterator[None]:
    """`path` grows for as long as the block runs, by a thread that writes 64 KiB at a time; to 256 MiB at most."""
    ended = threading.Event()
    piece = b"# grows\n" * 8192

    def grow() -> None:
        with path.open("ab", buffering=0) as file:
            for _ in range(4096):
                if ended.is_set():
                    return
                file.write(piece)

    path.write_bytes(piece)
    writer = threading.Thread(target=grow, daemon=True)
    writer.start()
    try:
        yield
    finally:
        ended.set()
        writer.join()


FIND_TOKEN = """\
import sys
frame = sys._getframe()
while type(frame.f_locals.get("self")).__name__ != "Server":
    frame = frame.f_back
token = frame.f_locals["self"].link.token
"""
"""Code of a guest that the language does not hold: it takes what begins the messages of its process."""
