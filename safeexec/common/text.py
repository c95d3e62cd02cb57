"""Text made safe and short: for terminals, for messages, for models. Pure, and the same in host and child.

Guest code decides what a `repr` says and what a program prints. `printable` takes away what a terminal would obey,
`head_and_tail` and `short_repr` bound the length, whatever the object does.
"""

from __future__ import annotations

import re
from codecs import utf_8_decode
from collections.abc import Callable
from functools import cache
from keyword import iskeyword
from typing import Any

from safeexec.common.identity import module_of, qualname_of

_ESCAPE_SEQUENCES = re.compile(
    # Linear: what repeats never holds what comes after it (possessive), and no sequence holds the start of another one.
    "\x1b\\[[0-9;:<=>?]*+[ -/]*+[@-~]"  # CSI: colours, cursor, clear, window reports
    "|(?:\x1b[\\]P^_X]|[\x90\x98\x9d\x9e\x9f])[^\x07\x1b\x90\x98\x9b-\x9f\n]*+(?:\x07|\x1b\\\\|\x9c)"  # OSC, DCS, APC
    "|\x9b[0-9;:<=>?]*+[ -/]*+[@-~]"  # CSI in its one-character form
    "|\x1b[ -/]*+[0-~]"  # two-character escapes
)
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_UTF_8_PIECE = 1 << 14


def from_utf_8(
    data: bytes | bytearray | memoryview, between: Callable[[], None] | None = None, *, replace: bool = False
) -> str:
    """Return text that guest code has made, in which half of a character may stand. Raises UnicodeDecodeError; with
    `replace` what is no text is replaced.

    Piece by piece: no other thread interrupts a call of C, and one took 6 s for 15 MB of half characters. `between` is
    called after each piece, and may raise where that has taken too long.
    """
    if len(data) <= _UTF_8_PIECE and not replace:
        return str(data, "utf-8", "surrogatepass")
    pieces, at = [], 0
    while at < len(data):
        end = at + _UTF_8_PIECE
        try:
            piece, used = utf_8_decode(data[at:end], "surrogatepass", end >= len(data))
        except UnicodeDecodeError:
            if not replace:
                raise
            piece, used = utf_8_decode(data[at:end], "replace", end >= len(data))
        pieces.append(piece)
        if between is not None:
            between()
        at += used  # a character that the end cuts begins the next piece
    return "".join(pieces)


def as_bytes(data: bytes | bytearray | memoryview | str) -> bytes:
    """Return the content of a file as it was given: bytes, or text, which is UTF-8 then. Raises TypeError."""
    if isinstance(data, str):
        return data.encode()
    try:
        return bytes(memoryview(data))
    except TypeError:
        raise TypeError(f"the content of a file is str or bytes, not {type(data).__name__}") from None


@cache
def _visible() -> dict[int, str]:
    """Return what each control character is shown as. Made once, when one is met: a table is ten times as fast as a
    function for each match (1 MB of U+0090: 0.1 s).
    """
    codes = [*range(0x20), *range(0x7F, 0xA0), 0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
    shown = {code: f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" for code in (*codes, *range(0xD800, 0xE000))}
    shown |= {code: chr(0x2400 + code) for code in range(0x20)}  # their pictures: U+2400 is that of NUL
    shown[0x7F] = "\u2421"
    del shown[ord("\t")], shown[ord("\n")]
    return shown


def printable(text: str) -> str:
    r"""Return `text` as a terminal may show it: escape sequences are removed, other control characters become visible.

    Newlines and tabs stay. A carriage return acts as it would on screen: what it overwrites on its line is dropped, so
    that progress bars become their last state. Lone surrogates and bidirectional overrides become ``\uXXXX``.
    """
    if text.isascii() and text.isprintable():
        return text
    text = _ESCAPE_SEQUENCES.sub("", text)
    if "\r" in text:
        # A search for the last one of each line, from its end: a pattern would read the rest of a line once for each of
        # its characters.
        text = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    return text.translate(_visible()) if _CONTROLS.search(text) else text


def head_and_tail(text: str, limit: int, *, tail: float = 0.5) -> tuple[str, int]:
    """Return `text` within about `limit` characters, and how many characters were left out of its middle.

    `tail` is the share of the room that the end gets. Cuts are made at line ends where one is near.
    """
    if len(text) <= limit:
        return text, 0
    limit = max(limit, 0)
    keep_end = int(limit * tail)
    keep_start = limit - keep_end
    start, end = text[:keep_start], text[len(text) - keep_end :]
    newline = start.rfind("\n")
    if newline >= keep_start * 3 // 4 and newline > 0:
        start = start[: newline + 1]
    newline = end.find("\n")
    if 0 <= newline < keep_end // 4:
        end = end[newline + 1 :]
    left_out = len(text) - len(start) - len(end)
    before = "" if not start or start.endswith("\n") else "\n"
    after = "\n" if end else ""
    return f"{start}{before}... {left_out} characters left out ...{after}{end}", left_out


def shorten(text: str, limit: int) -> str:
    """Return `text` within `limit` characters; an ellipsis marks what was cut from its end."""
    if len(text) > limit:
        text = text[: max(limit - 3, 0)] + "..."
    return text


def one_line(text: str, limit: int = 300) -> str:
    """Return `text` on one line within `limit` characters, what is not plainly visible escaped: a stranger's name."""
    text = shorten(text, limit)
    return text if text.isprintable() else ascii(text)[1:-1]


def spelt(name: str) -> str:
    """Return an identifier as Python reads it: the micro sign, U+00B5, is the letter mu, U+03BC, to it."""
    if name.isascii():
        return name
    from unicodedata import normalize

    return normalize("NFKC", name)


def can_be_name(name: object) -> bool:
    """Return whether a program can write `name` for a variable or a function: it is an identifier and no keyword."""
    return isinstance(name, str) and name.isidentifier() and not iskeyword(spelt(name))


def columns(text: str) -> int:
    """Return the columns that `text` takes in a terminal: two for a wide character, none for a combining one."""
    if text.isascii():
        return len(text)
    from unicodedata import category, east_asian_width

    return sum(0 if category(sign) in _JOINED else 2 if east_asian_width(sign) in _WIDE else 1 for sign in text)


_JOINED = ("Mn", "Me", "Cf")
_WIDE = ("W", "F")


def blank(text: str) -> str:
    """Return as much blank as `text` takes in a terminal, tabs kept: what stands before a caret."""
    return "\t".join(" " * columns(part) for part in text.split("\t"))


def type_name(kind: type) -> str:
    """Return the name of a type as people write it: ``dict``, ``Point``, ``numpy.ndarray``. Runs none of its code."""
    name = qualname_of(kind)
    module = module_of(kind)
    if type(module) is not str or module in ("builtins", "__main__"):
        return name
    return f"{module}.{name}"


_OPENING: dict[type, tuple[str, str]] = {
    list: ("[", "]"),
    tuple: ("(", ")"),
    set: ("{", "}"),
    frozenset: ("frozenset({", "})"),
    dict: ("{", "}"),
}


REPR_FAILED = "object; its repr failed"


def short_repr(value: Any, limit: int = 500) -> str:
    """Return `repr(value)` within `limit` characters, at bounded cost for the builtin containers, and never an
    exception.

    A `repr` written by guest code runs (call it where the guest's limits hold); whatever it raises stands in the text.
    """
    return shorten(_repr(value, limit, 4), limit)


def _repr(value: Any, limit: int, depth: int) -> str:
    kind = type(value)
    if kind is str or kind is bytes or kind is bytearray:
        return repr(value) if len(value) <= limit else repr(value[:limit])
    if kind is int:
        return int_repr(value, limit)
    if any(kind is known for known in _OPENING):  # by identity: a guest's metaclass may lie in `__hash__` and `__eq__`
        return _container_repr(value, kind, limit, depth)
    try:
        text = repr(value)
        return text[: limit + 1] if type(text) is str else str.__str__(text)[: limit + 1]
    except BaseException as error:
        return f"<{type_name(kind)} {REPR_FAILED}: {_brief(error)}>"


def _brief(error: BaseException) -> str:
    """Return the class of an exception and what it says first. Runs no code of the exception's."""
    said: tuple[Any, ...] = BaseException.__dict__["args"].__get__(error)
    name = type_name(type(error))
    return f"{name}: {shorten(said[0].partition('; ')[0], 100)}" if said and type(said[0]) is str else name


def _container_repr(value: Any, kind: type, limit: int, depth: int) -> str:
    opening, closing = _OPENING[kind]
    if not value:
        return repr(value)
    if depth == 0:
        return opening + "..." + closing
    parts: list[str] = []
    length = 0
    items = list(value.items()) if kind is dict else list(value) if kind in (set, frozenset) else value
    for item in items:
        if length > limit:
            parts.append("...")
            break
        if kind is dict:
            part = f"{_repr(item[0], limit - length, depth - 1)}: {_repr(item[1], limit - length, depth - 1)}"
        else:
            part = _repr(item, limit - length, depth - 1)
        parts.append(part)
        length += len(part) + 2
    if kind is tuple and len(parts) == 1:
        closing = ",)"
    return opening + ", ".join(parts) + closing


def int_repr(value: int, limit: int = 500) -> str:
    """Return the digits of an int, cut at `limit`; only their number where CPython would be slow or refuse."""
    bits = value.bit_length()
    if bits > 14_000:  # 4214 digits: `int` to `str` is quadratic, and refused beyond 4300 digits
        return f"<int of about {int(bits * 0.30103) + 1} digits>"
    return shorten(repr(value), limit)


class Source(str):
    """Text whose repr is the text: an annotation, or a default, as it is to be read."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def default_text(value: Any, annotation: str) -> str:
    """Return a parameter's default as a stranger may read it: a number, a truth value, None, what is empty, and text
    that its `annotation` (a Literal) says anyway. Any other may hold a secret, a key or a path: ``...``.
    """
    kind = type(value)
    if value is None or kind in (bool, int, float) or (kind in (str, bytes, list, tuple, dict, set) and not value):
        return short_repr(value, 200)
    text = repr(value) if kind is str else ""
    return text if text and text in annotation.replace('"', "'") else "..."


def estimate_tokens(text: str) -> int:
    """Return about how many tokens a model needs for `text`: one for four ASCII characters, one for each other
    character.

    An overestimate for ordinary prose and code in the tokenizers we know, an underestimate for long runs of digits.
    """
    ascii_characters = len(text.encode("ascii", "ignore"))
    return (ascii_characters + 3) // 4 + len(text) - ascii_characters
