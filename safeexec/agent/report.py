"""The report of an analysis: one HTML file that holds its pictures and runs nothing.

Output, tables, names and the answer come from guest code and a model. Everything is escaped but the plain structure of
tables, and a Content-Security-Policy forbids scripts and any request besides.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import TYPE_CHECKING

from safeexec.common.text import head_and_tail
from safeexec.untrusted.markup import CONTENT_SECURITY_POLICY, escape, plain_tables
from safeexec.untrusted.saving import is_picture

if TYPE_CHECKING:
    from safeexec.agent.outcome import AgentResult, AgentStep
    from safeexec.agent.survey import FileSurvey
    from safeexec.results import Display

_MAX_OUTPUT = 20_000
_MAX_TITLE = 200

_PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
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


def pictures_of(step: AgentStep) -> list[bytes]:
    """Return the PNGs that a step showed: what begins as one."""
    return [display.png for display in step.result.displays if display.png and is_picture("image/png", display.png)]


def report(question: str, files: Sequence[FileSurvey], run: AgentResult, written: Sequence[str]) -> str:
    """Return the report as one HTML page."""
    title = escape(" ".join(question[:_MAX_TITLE].split()))
    answer = run.text or f"No answer: {run.reason}."
    parts = [f"<h1>{title}</h1>", f'<div class="prose">{escape(answer)}</div>', "<h2>Files</h2>"]
    parts += [f"<pre>{escape(survey.render())}</pre>" for survey in files]
    parts.append("<h2>Steps</h2>")
    for step in run.steps:
        parts += [f"<h3>Step {step.number}</h3>", f'<pre class="code">{escape(step.source)}</pre>']
        parts += [f'<pre class="{kind}">{escape(text)}</pre>' for kind, text in _texts(step)]
        parts += [shown for display in step.result.displays if (shown := _html_display(display))]
    if written:
        parts.append("<h2>Files written</h2>\n<pre>" + escape("\n".join(written)) + "</pre>")
    return _PAGE.format(title=title, policy=CONTENT_SECURITY_POLICY, body="\n".join(parts))


def _texts(step: AgentStep) -> list[tuple[str, str]]:
    """Return output, value and failure of a step, as far as its displays do not show them."""
    result = step.result
    texts = [("output", text) for text in (result.stdout, result.stderr) if text.strip()]
    if result.text and not any(display.text == result.text for display in result.displays):
        texts.append(("output", result.text))
    if result.error is not None:
        failure = result.error.traceback.strip() or f"{result.error.type}: {result.error.message}"
        texts.append(("failed", failure + (f"\nHint: {result.error.hint}" if result.error.hint else "")))
    return [(kind, head_and_tail(text, _MAX_OUTPUT)[0]) for kind, text in texts]


def _html_display(display: Display) -> str:
    if display.png and is_picture("image/png", display.png):
        return f'<img alt="Picture" src="data:image/png;base64,{base64.b64encode(display.png).decode()}">'
    if display.html:
        return plain_tables(display.html)
    return f"<pre>{escape(head_and_tail(display.text, _MAX_OUTPUT)[0])}</pre>" if display.text else ""
