"""The page as a file: whole, and nothing in it but its own script."""

from __future__ import annotations

import base64
import hashlib
import json
import re

import pytest

from safeexec.common.text import printable
from safeexec.playback.page.nodes import Node, RunPage
from safeexec.playback.page.render import render

HOSTILE = [
    *("</script><script>alert(1)</script>", "<!--", "&lt;", "\u2028\u2029", "\x00\x1b[31m", "\ud800"),
    *("\u202egnp.exe", "'\"`${1}"),
]


@pytest.mark.parametrize("text", HOSTILE)
def test_texts_stay_data(text: str) -> None:
    node = Node(kind="step", title=text, source=text, described={text: text})
    whole = render(RunPage(title=text, facts=[(text, text)], nodes=[node]))
    assert whole.encode()
    assert whole.count("<script") == whole.count("</script>") == 2
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', whole, re.DOTALL)
    assert found
    assert json.loads(found[1])["nodes"][0]["source"] == printable(text)


def test_one_script_runs_and_nothing_is_fetched() -> None:
    whole = render(RunPage(title="t", facts=[], nodes=[]))
    (script,) = re.findall(r"<script>(.*?)</script>", whole, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in whole
    assert "default-src 'none'" in whole
    assert not re.search(r"(src|href)\s*=\s*[\"']?(https?:)?//", whole)
    assert "@import" not in whole
