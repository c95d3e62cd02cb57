"""`from IPython.display import display` works where there is no IPython: programs for notebooks are written so."""

from __future__ import annotations

import pytest

from safeexec import Session

pytestmark = pytest.mark.profile("data-analysis")


@pytest.mark.parametrize(
    "line",
    [
        "from IPython.display import display, HTML, Markdown",
        "from IPython.core.display import display, HTML, Markdown",
        "import IPython.display as d\ndisplay, HTML, Markdown = d.display, d.HTML, d.Markdown",
    ],
)
def test_displays_are_there_and_a_shell_is_not(session: Session, line: str) -> None:
    result = session.run(f"{line}\ndisplay(HTML('<b>a</b>'))\ndisplay(Markdown('# b'))").check()
    assert [one.get("text/html") or one.get("text/markdown") for one in result.displays] == ["<b>a</b>", "# b"]
    assert session.run("from IPython import get_ipython\nget_ipython()").check().value is None


SHOWN = {
    "Latex('$x$')": {"text/latex": "$x$"},
    "Math('$x$')": {"text/latex": "$\\displaystyle x$"},
    "SVG('<?xml?><svg></svg>')": {"image/svg+xml": "<svg></svg>"},
    "JSON('[1]')": {"application/json": "[1]"},
    "Image(b'GIF8', width=3, alt='\"a\"')": {
        "text/html": '<img src="data:image/gif;base64,R0lGOA==" width="3" alt="&quot;a&quot;"/>'
    },
}


@pytest.mark.parametrize("source", SHOWN)
def test_each_kind_has_its_form(session: Session, source: str) -> None:
    (shown,) = session.run(f"from IPython.display import *\ndisplay({source})").check().displays
    assert {mime: shown.get(mime) for mime in SHOWN[source]} == SHOWN[source]
    refused = session.run("from IPython.display import HTML\nHTML(1)").error
    assert refused is not None and refused.message == "HTML expects text, not 1"
