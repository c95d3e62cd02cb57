"""A file's text as a model edits it, and its bytes again: encoding, byte order mark and line ends are kept. Pure."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

from safeexec.untrusted.source_text import encoding_of


@dataclass(frozen=True, slots=True)
class TextForm:
    """Encoding, byte order mark and line ends of a file."""

    encoding: str = "utf-8"
    mark: bytes = b""
    newline: str = "\n"

    def decode(self, data: bytes) -> str:
        text = data[len(self.mark) :].decode(self.encoding)
        return text.replace("\r\n", "\n") if self.newline == "\r\n" else text

    def encode(self, text: str) -> bytes:
        """Return the bytes. Raises UnicodeEncodeError for a character that the encoding has not."""
        if self.newline == "\r\n":
            text = text.replace("\r\n", "\n").replace("\n", "\r\n")
        return self.mark + text.encode(self.encoding)


def form_of(data: bytes) -> TextForm | None:
    """Return the form of a file's bytes; None for what is no text. Where line ends are mixed they stay as they are."""
    if b"\0" in data:
        return None
    mark = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
    ends = data.count(b"\r\n")
    newline = "\r\n" if ends and ends == data.count(b"\n") == data.count(b"\r") else "\n"
    return TextForm(_encoding(data), mark, newline)


def _encoding(data: bytes) -> str:
    """Return UTF-8, or what the source declares, or Latin-1, in which each byte is a character."""
    for encoding in ("utf-8", encoding_of(data) or "latin-1"):
        try:
            if data.decode(encoding).encode(encoding) == data:
                return encoding
        except UnicodeError:
            continue
    return "latin-1"
