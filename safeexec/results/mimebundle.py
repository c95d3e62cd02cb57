"""Shows a `Result` and its parts in a notebook: MIME type → text. Pure.

A page runs what it is given, with its own rights. Of what a guest made it gets pictures that begin as pictures, tables
without attributes, other HTML in a frame that can do nothing, SVG as a picture, formulas of plain commands, and text.
Scripts, widgets, charts that a page would have to run and Markdown are shown as the text that stands for them.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from safeexec.common.text import one_line, printable
from safeexec.untrusted.latex import plain_latex
from safeexec.untrusted.markup import escape, frame, picture, plain_tables
from safeexec.untrusted.saving import is_picture

if TYPE_CHECKING:
    Bundle = dict[str, str]

HTML_CHARACTERS = 4 << 20
TABLE_CHARACTERS = 1 << 20
"""The most characters of a table; what is longer is shown in a frame."""
_FRAME_HEIGHT = "24em"
_PICTURES = ("image/png", "image/jpeg")


def of_display(display: Mapping[str, str | bytes]) -> Bundle:
    """Return what a page may have of one display: its text, and the best of its other forms."""
    text, svg, html, latex = (display.get(mime) for mime in ("text/plain", "image/svg+xml", "text/html", "text/latex"))
    data = {
        "text/plain": printable(str(text or display.get("text/markdown") or latex or f"data: {', '.join(display)}"))
    }
    for mime in _PICTURES:
        shown = display.get(mime)
        if isinstance(shown, bytes) and is_picture(mime, shown):
            return {**data, mime: base64.b64encode(shown).decode()}
    markup = svg or html
    if isinstance(markup, str) and len(markup) <= HTML_CHARACTERS:
        data["text/html"] = inert(picture(markup) if svg else _html(markup))
    elif isinstance(latex, str) and (formula := plain_latex(latex)) is not None:
        data["text/latex"] = formula
    return data


def _html(markup: str) -> str:
    """Return the markup for a page: a table as pandas writes it looks like the page's own; all else is in a frame."""
    if len(markup) <= TABLE_CHARACTERS and 'class="dataframe"' in markup:
        return plain_tables(markup)
    return frame(markup.encode("utf-8", "replace").decode(), _FRAME_HEIGHT)


def inert(markup: str) -> str:
    """Markup of ours around words of a guest: the classes keep MathJax out, whose ``\\href`` may name a script."""
    return f'<div class="tex2jax_ignore mathjax_ignore">{markup}</div>'


def of_step(
    plain: str, printed: Iterable[str], displays: Sequence[Mapping[str, str | bytes]], value: str, ended: Sequence[str]
) -> Bundle:
    """Return a whole step: output, displays, value, and why it ended if not well; `plain` is all that as text."""
    parts = [_block(text) for text in printed if text]
    parts += [in_page(of_display(display)) for display in displays]
    if value and not any(display.get("text/plain") == value for display in displays):
        parts.append(_block(value))
    if ended or not parts:
        parts.append(_block("\n".join(ended or ("ok",))))
    return {"text/plain": plain, "text/html": inert("".join(parts))}


def in_page(data: Bundle) -> str:
    for mime in _PICTURES:
        if mime in data:
            return f'<img alt="Picture" src="data:{mime};base64,{data[mime]}">'
    return data.get("text/html") or _block(data["text/plain"])


def _block(text: str) -> str:
    return f"<pre>{escape(text)}</pre>"


def of_rows(names: Sequence[str], rows: Iterable[Sequence[object]]) -> Bundle:
    """Return a table: `names` of its columns, and what stands in them."""
    cells = [[one_line(str(cell)) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(names, *cells, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in (names, *cells)]
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in cells)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return {"text/plain": "\n".join(line.rstrip() for line in lines), "text/html": inert(table)}


def of_text(text: str) -> Bundle:
    """Return a text of several lines as it is."""
    return {"text/plain": printable(text), "text/html": inert(_block(text))}
