"""The page as one file: looks, behaviour and data inside it, nothing fetched, nothing of a guest's run."""

from __future__ import annotations

import base64
import hashlib
import html
from functools import cache
from importlib.resources import files

import msgspec

from safeexec.common.text import printable
from safeexec.playback.page.nodes import RunPage, chains_of

_PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<style>
{style}
</style>
</head>
<body>
<noscript>This page needs JavaScript to show its steps.</noscript>
<script type="application/json" id="data">{data}</script>
<script>{script}</script>
</body>
</html>
"""
_POLICY = (
    "default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:; font-src data:; "
    "form-action 'none'; base-uri 'none'"
)


def render(page: RunPage) -> str:
    """Return the whole page. Its one script is known to the browser by its digest, so no other one runs."""
    script = _part("page.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return _PAGE.format(
        policy=_POLICY.format(digest=digest),
        title=html.escape(printable(page.title)),
        style=_part("page.css"),
        data=_data(page),
        script=script,
    )


def _data(page: RunPage) -> str:
    """Return JSON that ends no script element, whatever its texts say."""
    shown = {**msgspec.to_builtins(page), "chains": chains_of([node.parent for node in page.nodes])}
    text = msgspec.json.encode(_plain(shown)).decode()
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e").replace("\u2028", "\\u2028")


def _plain(value: object) -> object:
    """Return `value` with texts that UTF-8 can carry, and that read in the order in which they are written."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, dict):
        return {_plain(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value


@cache
def _part(name: str) -> str:
    return (files("safeexec.playback.page") / name).read_text(encoding="utf-8")
