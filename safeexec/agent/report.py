"""Reports of an analysis: Markdown, and one HTML file that holds its pictures and runs nothing.

Output, tables and names come from guest code. In HTML everything is escaped but the plain structure of tables, and a
Content-Security-Policy forbids scripts and any request, should an escape be missed.
"""

from __future__ import annotations

import base64
import html
import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING

from safeexec.agent.transcript import shorten

if TYPE_CHECKING:
    from safeexec.agent.analyst import Analysis
    from safeexec.agent.outcome import AgentStep
    from safeexec.results import Display

_MAX_OUTPUT = 20_000
_HTML = re.compile(r"<(?=[A-Za-z/!?])")
_TABLE_TAGS = frozenset({"table", "thead", "tbody", "tfoot", "tr", "th", "td", "caption"})
_SILENT_TAGS = frozenset(
    {"script", "style", "head", "title", "template", "iframe", "object", "svg", "math", "textarea", "noscript"}
)

_PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<title>{title}</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222; }}
pre {{ background: #f6f6f4; padding: .75rem; overflow-x: auto; font-size: 13px; }}
pre.code {{ border-left: 3px solid #6a8caf; }} pre.failed {{ border-left: 3px solid #b3543f; }}
.prose {{ white-space: pre-wrap; }}
table {{ border-collapse: collapse; font-size: 13px; margin: 1rem 0; }}
th, td {{ border: 1px solid #ddd; padding: .2rem .6rem; text-align: right; }}
img {{ max-width: 100%; }}
</style>
</head>
<body>
{body}
</body>
</html>
"""


def markdown_report(analysis: Analysis, pictures: list[str]) -> str:
    """The report as Markdown; `pictures` are the names of the files that hold its PNGs, in order."""
    remaining = iter(pictures)
    answer = analysis.text or f"No answer: {analysis.run.reason}."
    parts = [f"# {inert_markdown(_one_line(analysis.question))}", inert_markdown(answer), "## Files"]
    parts += [fenced(survey.render()) for survey in analysis.files]
    parts.append("## Steps")
    for step in analysis.run.steps:
        parts += [f"### Step {step.number}", fenced(step.source, "python")]
        parts += [fenced(text) for _, text in _texts(step)]
        for display in step.result.displays:
            if display.png:
                parts.append(f"![Picture of step {step.number}]({next(remaining)})")
            elif display.markdown and _is_table(display):
                parts.append(inert_markdown(display.markdown))
    return "\n\n".join(parts) + "\n"


def html_report(analysis: Analysis) -> str:
    """The report as one HTML page."""
    answer = html.escape(analysis.text or f"No answer: {analysis.run.reason}.")
    parts = [
        f"<h1>{html.escape(_one_line(analysis.question))}</h1>",
        f'<div class="prose">{answer}</div>',
        "<h2>Files</h2>",
    ]
    parts += [f"<pre>{html.escape(survey.render())}</pre>" for survey in analysis.files]
    parts.append("<h2>Steps</h2>")
    for step in analysis.run.steps:
        parts += [f"<h3>Step {step.number}</h3>", f'<pre class="code">{html.escape(step.source)}</pre>']
        parts += [f'<pre class="{kind}">{html.escape(text)}</pre>' for kind, text in _texts(step)]
        parts += [shown for display in step.result.displays if (shown := _html_display(display))]
    return _PAGE.format(title=html.escape(_one_line(analysis.question)), body="\n".join(parts))


def _texts(step: AgentStep) -> list[tuple[str, str]]:
    """Output, value and failure of a step, as far as its displays do not show them."""
    result = step.result
    texts = [("output", text) for text in (result.stdout, result.stderr) if text.strip()]
    if result.text and not any(display.text == result.text for display in result.displays):
        texts.append(("output", result.text))
    if result.error is not None:
        failure = result.error.traceback.strip() or f"{result.error.type}: {result.error.message}"
        texts.append(("failed", failure + (f"\nHint: {result.error.hint}" if result.error.hint else "")))
    return [(kind, _printable(text)) for kind, text in texts]


def _html_display(display: Display) -> str:
    if display.png:
        return f'<img alt="Picture" src="data:image/png;base64,{base64.b64encode(display.png).decode()}">'
    if display.html:
        return plain_tables(display.html)
    return f"<pre>{html.escape(_printable(display.text))}</pre>" if display.text else ""


def _is_table(display: Display) -> bool:
    return bool(display.markdown and display.markdown.lstrip().startswith("|"))


def _printable(text: str) -> str:
    if len(text) > _MAX_OUTPUT:
        text = shorten(text, _MAX_OUTPUT)
    return "".join(c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in text)


def _one_line(text: str) -> str:
    return " ".join(text.split())[:200]


def inert_markdown(text: str) -> str:
    """Markdown that a model or a table wrote, without HTML and without pictures, which a reader would fetch."""
    return _HTML.sub("&lt;", text).replace("![", "!\\[")


def fenced(text: str, label: str = "") -> str:
    """A code block that nothing in the text ends."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{label}\n{text.rstrip()}\n{fence}"


class _Tables(HTMLParser):
    """Keeps tables without any attribute but spans, and the text in them; all other markup goes."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._silent = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _SILENT_TAGS:
            self._silent += 1
        elif tag in _TABLE_TAGS and not self._silent:
            spans = "".join(
                f' {name}="{value}"'
                for name, value in attrs
                if name in ("colspan", "rowspan") and (value or "").isdecimal()
            )
            self.parts.append(f"<{tag}{spans}>")

    def handle_endtag(self, tag: str) -> None:
        if tag in _SILENT_TAGS:
            self._silent = max(0, self._silent - 1)
        elif tag in _TABLE_TAGS and not self._silent:
            self.parts.append(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.parts.append(html.escape(data))


def plain_tables(markup: str) -> str:
    """The tables and the text of `markup`, and nothing that could run, load or style."""
    parser = _Tables()
    parser.feed(markup)
    parser.close()
    return "".join(parser.parts)
