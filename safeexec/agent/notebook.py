"""The steps of an analysis as a Jupyter notebook (nbformat 4.5), written by hand: the format is JSON and small."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from safeexec.agent.report import answer_of
from safeexec.common.text import printable
from safeexec.results.mimebundle import inert
from safeexec.untrusted.markup import fenced, plain_markdown, plain_tables, prose
from safeexec.untrusted.saving import is_picture

if TYPE_CHECKING:
    from safeexec.agent.outcome import AgentResult, AgentStep
    from safeexec.agent.survey import FileSurvey
    from safeexec.results import Display

_NOTICE = (
    "A model wrote these cells, and they ran in a sandbox. A notebook has none: read them before you run them, in a "
    "directory that holds the files."
)
_FINAL_ANSWER = "def final_answer(answer):\n    return answer"


def notebook(question: str, files: Sequence[FileSurvey], run: AgentResult) -> str:
    """The notebook as JSON text: question, files, each step with its outputs, answer.

    It may be opened as trusted: no cell of text and no output holds markup of the guest's or the model's.
    """
    cells = [_markdown("question", f"# {plain_markdown(question)}\n\n{_NOTICE}")]
    cells += [_markdown(f"file-{n}", fenced(survey.render())) for n, survey in enumerate(files, 1)]
    if any("final_answer" in step.source for step in run.steps):
        cells.append(_cell("final-answer", None, _FINAL_ANSWER, []))
    cells += [_step(step) if _ran(step) else _not_run(step) for step in run.steps]
    cells.append(_markdown("answer", prose(answer_of(run))))
    document = {
        "cells": cells,
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(document, indent=1, ensure_ascii=True) + "\n"


def _markdown(identity: str, text: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "id": identity, "metadata": {}, "source": _lines(text)}


def _cell(identity: str, count: int | None, source: str, outputs: list[dict[str, Any]], *tags: str) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "id": identity,
        "metadata": {"tags": list(tags)} if tags else {},
        "execution_count": count,
        "source": _lines(source),
        "outputs": outputs,
    }


def _ran(step: AgentStep) -> bool:
    """Return whether a step ran, to its end or to an exception of its own, and was not refused or undone."""
    error = step.result.error
    return step.result.outcome in ("ok", "error") and (error is None or not error.rule)


def _step(step: AgentStep) -> dict[str, Any]:
    """Behind a step that raised, running all cells goes on, as the analysis did."""
    tags = () if step.result.ok else ("raises-exception",)
    return _cell(f"step-{step.number}", step.number, step.source, _outputs(step), *tags)


def _not_run(step: AgentStep) -> dict[str, Any]:
    """A step that was refused, or stopped and undone: a kernel outside the sandbox would run it."""
    error = step.result.error
    why = plain_markdown(error.message if error is not None else "")
    text = f"Step {step.number} is no cell ({step.result.outcome}): {why}\n\n{fenced(step.source, 'python')}"
    return _markdown(f"step-{step.number}", text)


def _outputs(step: AgentStep) -> list[dict[str, Any]]:
    result = step.result
    outputs: list[dict[str, Any]] = [
        {"output_type": "stream", "name": name, "text": _lines(printable(text))}
        for name, text in (("stdout", result.stdout), ("stderr", result.stderr))
        if text
    ]
    outputs += [{"output_type": "display_data", "metadata": {}, "data": _data(display)} for display in result.displays]
    if result.text and not any(display.text == result.text for display in result.displays):
        data = {"text/plain": _lines(printable(result.text))}
        outputs.append({"output_type": "execute_result", "execution_count": step.number, "metadata": {}, "data": data})
    if result.error is not None:
        error = result.error
        name, message = printable(error.type), printable(error.message)
        traceback = printable(error.traceback or f"{name}: {message}").split("\n")
        outputs.append({"output_type": "error", "ename": name, "evalue": message, "traceback": traceback})
    return outputs


def _data(display: Display) -> dict[str, Any]:
    data: dict[str, Any] = {"text/plain": _lines(printable(display.text or ""))}
    if display.png and is_picture("image/png", display.png):
        data["image/png"] = base64.b64encode(display.png).decode()
    elif display.html:
        data["text/html"] = _lines(inert(plain_tables(display.html)))
    return data


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)
