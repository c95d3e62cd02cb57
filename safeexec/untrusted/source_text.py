"""The encoding that a Python file of a stranger declares."""

from __future__ import annotations

import codecs
import re
from encodings.aliases import aliases

_CHARSETS = ("latin_1", "iso8859", "cp", "koi8", "mac", "shift_jis", "euc", "gb", "big5")
"""Codecs that are believed when a source declares one. Others of Python are no charsets: some raise errors of their own
(rot13, undefined), some cost quadratic time (punycode). They are known by their names: looking a codec up imports a
module of that name.
"""
_DECLARATION = re.compile(rb"[ \t\f]*+#.*?coding[:=][ \t]*+([-\w.]{1,40})")
_DECLARED_BYTES = 400
_KNOWN = frozenset(codec for codec in aliases.values() if codec.startswith(_CHARSETS))


def encoding_of(data: bytes) -> str | None:
    """What the mark of a source, or a comment in its first two lines (PEP 263) says; None for nothing to believe."""
    if data.startswith(codecs.BOM_UTF8):
        return "utf-8-sig"
    for line in data[:_DECLARED_BYTES].split(b"\n")[:2]:
        if found := _DECLARATION.match(line):
            name = found[1].decode("ascii", "replace").lower().replace("-", "_").replace(".", "_")
            codec = aliases.get(name, name)
            return codec if codec in _KNOWN else None
    return None


MAX_PARTS = 200
"""Parts of a dotted name in a program that the host parses."""
_LONG_NAME = re.compile(rf"(?:\.[\s\\]*+\w++[\s\\]*+){{{MAX_PARTS}}}")


def has_long_name(source: str) -> bool:
    """Whether a dotted name has too many parts: CPython's parser copies that of an import once for each of its parts,
    and keeps every copy (20,000 parts: 400 MB).
    """
    return source.count(".") >= MAX_PARTS and _LONG_NAME.search(source) is not None
