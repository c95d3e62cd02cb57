"""A file's text as a model edits it, and back to the bytes it came from: encoding, byte order mark and line ends stay
as they were. Pure.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from encodings.aliases import aliases

_CHARSETS = ("iso8859", "cp", "koi8", "mac", "shift_jis", "euc", "gb", "big5")
"""Codecs that are believed when a source declares one; others of Python are no charsets, and some cost quadratic
time. They are known by their names: looking a codec up imports a module of that name.
"""
_DECLARATION = re.compile(rb"[ \t\f]*+#.*?coding[:=][ \t]*+([-\w.]{1,40})")
_DECLARED_BYTES = 400
_KNOWN = frozenset(codec for codec in aliases.values() if codec.startswith(_CHARSETS))


@dataclass(frozen=True, slots=True)
class TextForm:
    """How a text stands in its file."""

    encoding: str = "utf-8"
    mark: bytes = b""
    newline: str = "\n"

    def decode(self, data: bytes) -> str:
        text = data[len(self.mark) :].decode(self.encoding)
        return text.replace("\r\n", "\n") if self.newline == "\r\n" else text

    def encode(self, text: str) -> bytes:
        """Raises UnicodeEncodeError for a character that the encoding has not."""
        if self.newline == "\r\n":
            text = text.replace("\r\n", "\n").replace("\n", "\r\n")
        return self.mark + text.encode(self.encoding)


def form_of(data: bytes) -> TextForm | None:
    """The form of a file's bytes; None for what is no text. Where line ends are mixed they stay as they are."""
    if b"\0" in data:
        return None
    mark = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
    ends = data.count(b"\r\n")
    newline = "\r\n" if ends and ends == data.count(b"\n") == data.count(b"\r") else "\n"
    return TextForm(_encoding(data), mark, newline)


def _encoding(data: bytes) -> str:
    """UTF-8, or what the source declares, or Latin-1: each byte is a character there, so every text comes back."""
    for encoding in ("utf-8", _declared(data)):
        try:
            if data.decode(encoding).encode(encoding) == data:
                return encoding
        except UnicodeError:
            continue
    return "latin-1"


def _declared(data: bytes) -> str:
    """The charset that one of the first two lines declares (PEP 263), or Latin-1."""
    for line in data[:_DECLARED_BYTES].split(b"\n")[:2]:
        if found := _DECLARATION.match(line):
            name = found[1].decode("ascii").lower().replace("-", "_").replace(".", "_")
            codec = aliases.get(name, name)
            return codec if codec in _KNOWN else "latin-1"
    return "latin-1"
