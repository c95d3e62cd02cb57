"""The encoding that a text of a stranger declares, and whether its names are fit for CPython's parser."""

from __future__ import annotations

import codecs
import re
from encodings.aliases import aliases
from unicodedata import combining, normalize

_CHARSETS = ("latin_1", "iso8859", "cp", "koi8", "mac", "shift_jis", "euc", "gb", "big5")
"""Codecs that are believed when a text declares one. Others of Python are no charsets: some raise errors of their own
(rot13, undefined), some cost quadratic time (punycode). They are known by their names: looking a codec up imports a
module of that name.
"""
_DECLARATION = re.compile(rb"[ \t\f]*+#.*?coding[:=][ \t]*+([-\w.]{1,40})")
_DECLARED_BYTES = 400
_KNOWN = frozenset(codec for codec in aliases.values() if codec.startswith(_CHARSETS))


def encoding_of(data: bytes) -> str | None:
    """Return what the mark of a source, or a comment in its first two lines (PEP 263), says, or None."""
    if data.startswith(codecs.BOM_UTF8):
        return "utf-8-sig"
    for line in data[:_DECLARED_BYTES].split(b"\n")[:2]:
        if found := _DECLARATION.match(line):
            return charset_of(found[1].decode("ascii", "replace"))
    return None


def charset_of(name: str) -> str | None:
    """Return the codec of a charset that a stranger names; None for nothing to believe."""
    name = name.lower().replace("-", "_").replace(".", "_")
    codec = aliases.get(name, name)
    return codec if codec in _KNOWN else None


MAX_PARTS = 200
"""Parts of a dotted name in a program that the host parses: CPython's parser copies that of an import once for each of
its parts, and keeps every copy (20,000 parts: 400 MB).
"""
_LONG_NAME = re.compile(rf"(?:\.[\s\\]*+\w++[\s\\]*+){{{MAX_PARTS}}}")

MAX_MARKS = 50
"""Combining marks that may follow one another: more than any language puts on a letter."""


def costly_name(source: str) -> str:
    """Return what in a program would take CPython's parser too long or too much memory, in words; "" for nothing."""
    if source.count(".") >= MAX_PARTS and _LONG_NAME.search(source):
        return "a dotted name of too many parts"
    return "too many combining marks on one letter" if has_many_marks(source) else ""


def has_many_marks(text: str) -> bool:
    """Return whether more than `MAX_MARKS` combining marks follow one another. Python normalises the names of a program
    and the host of a URL: the marks of one letter are put in order by an insertion sort, in which no other thread runs
    (a name with 32,000 of them took the parser 5 s).
    """
    if text.isascii():
        return False
    # Decomposed: some that are no marks become two.
    marks = {sign for sign in {*text} if combining(normalize("NFKD", sign)[0])}
    run = 0
    for sign in text if marks else "":
        run = run + 1 if sign in marks else 0
        if run > MAX_MARKS:
            return True
    return False
