"""Put what strangers wrote into HTML that a browser or a trusted notebook shows.

Nothing is filtered: what comes out is tags from a short list, written here, and text, escaped. One pass over the input,
whatever it holds.
"""

from __future__ import annotations

import base64
import html
import re

from safeexec.common.text import printable

_TAG = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9]*+)([^<>]*+)>")
_DECLARATION = re.compile(r"<[!?/][^<>]*+>")
_SPAN = re.compile(r"\b(colspan|rowspan)\s*+=\s*+[\"']?([0-9]{1,3})(?![0-9])", re.IGNORECASE)
_KEPT = frozenset({"table", "thead", "tbody", "tfoot", "tr", "th", "td", "caption"})
_SILENT = frozenset(
    {"script", "style", "head", "title", "template", "iframe", "object", "svg", "math", "textarea", "noscript"}
)
_END_OF = {name: re.compile(f"</{name}", re.IGNORECASE | re.ASCII) for name in _SILENT}
_MAX_DEPTH = 32
_LONG_REFERENCE = re.compile(r"&#(?:[0-9]{8,}+|[xX][0-9A-Fa-f]{8,}+);?")
_CALLING = re.compile(r"<(?=(?:iframe|frame|object|embed|fencedframe|portal|link|meta)\b)", re.IGNORECASE | re.ASCII)
"""The start of a tag for which a browser calls a server, or asks for its name, without asking the policy: it loads a
page, connects ahead of need (`<link rel=preconnect>` in Chromium 156), or lets the names of links be looked up (`<meta
http-equiv=x-dns-prefetch-control>`). The name of a server can carry anything to it."""

_FRAME = """\
<!doctype html>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>A display of guest code</title>
{body}
"""
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; img-src data:; font-src data:; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none'"
)
"""The policy of a page that holds what guests wrote: it runs nothing and fetches nothing."""
_GUARD = (
    f'<meta http-equiv="Content-Security-Policy" content="{CONTENT_SECURITY_POLICY}">'
    '<meta http-equiv="x-dns-prefetch-control" content="off">'
)
"""The head of a frame, before all that is the stranger's. Browsers that look up the names of links ask no policy."""


def unescape(text: str) -> str:
    """`html.unescape`, which turns digits of any length into an int: long references become U+FFFD before."""
    return html.unescape(_LONG_REFERENCE.sub("\N{REPLACEMENT CHARACTER}", text))


def escape(text: str) -> str:
    """Text for HTML, also in an attribute; control characters are made visible."""
    return html.escape(printable(text))


def plain_tables(markup: str) -> str:
    """Return the tables and text of `markup`, and nothing that could run, load or style. Open tags are closed."""
    parts: list[str] = []
    stack: list[str] = []
    position = 0
    while True:
        start = markup.find("<", position)
        parts.append(escape(unescape(markup[position : start if start >= 0 else len(markup)])))
        if start < 0:
            break
        after = _skip(markup, start)
        if after is None:
            break  # a comment or a script without an end is all that follows
        if after == start:
            tag = _TAG.match(markup, start)
            if tag is None:
                parts.append("&lt;")
                after = start + 1
            else:
                _keep(tag, parts, stack)
                after = tag.end()
        position = after
    parts += [f"</{name}>" for name in reversed(stack)]
    return "".join(parts)


def _skip(markup: str, start: int) -> int | None:
    """Behind what is dropped with its content; `start` where nothing is, None where that has no end."""
    if markup.startswith("<!--", start):
        end = markup.find("-->", start + 4)
        return end + 3 if end >= 0 else None
    if declaration := _DECLARATION.match(markup, start):
        return start if declaration[0][1] == "/" and _TAG.match(markup, start) else declaration.end()
    tag = _TAG.match(markup, start)
    if tag is None or tag[1] or tag[2].lower() not in _SILENT:
        return start
    end_tag = _END_OF[tag[2].lower()].search(markup, tag.end())
    return end_tag.start() if end_tag else None


def _keep(tag: re.Match[str], parts: list[str], stack: list[str]) -> None:
    """Write a tag of a table as our own; of its attributes the spans."""
    name = tag[2].lower()
    if name not in _KEPT:
        return
    if not tag[1]:
        if len(stack) < _MAX_DEPTH:
            spans = {key.lower(): value for key, value in _SPAN.findall(tag[3])}
            attributes = "".join(f' {key}="{value}"' for key, value in sorted(spans.items()))
            parts.append(f"<{name}{attributes}>")
            stack.append(name)
    elif name in stack:
        while (closed := stack.pop()) != name:
            parts.append(f"</{closed}>")
        parts.append(f"</{name}>")


def frame(markup: str, height: str) -> str:
    """`markup` in a frame without origin, scripts, forms and requests, for any page; `height` is a length of CSS."""
    alone = _CALLING.sub("<!", markup)  # a comment: pages have `<meta charset>` as a rule, and nobody wants to read it
    guarded = f"{_GUARD}{alone}"
    style = f"border: 0; width: 100%; height: {height}; background: white; color-scheme: light"
    return f'<iframe sandbox="" style="{style}" srcdoc="{html.escape(guarded)}"></iframe>'


def picture(drawing: str) -> str:
    """Return an SVG as a picture, for any page: as one it runs no script and loads nothing."""
    data = base64.b64encode(drawing.encode("utf-8", "replace")).decode()
    return f'<img alt="Picture" src="data:image/svg+xml;base64,{data}">'


def framed_html(markup: str) -> str:
    """Return a page that shows `markup` in a frame, which can do nothing."""
    return _FRAME.format(policy=CONTENT_SECURITY_POLICY, body=frame(markup, "95vh"))


def framed_svg(drawing: str) -> str:
    """Return a page that shows an SVG as a picture."""
    return _FRAME.format(policy=CONTENT_SECURITY_POLICY, body=picture(drawing))
