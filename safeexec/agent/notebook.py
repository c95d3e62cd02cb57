"""The steps of an analysis as a Jupyter notebook (nbformat 4.5), written by hand: the format is JSON and small."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

from safeexec.agent.report import plain_tables

if TYPE_CHECKING:
    from safeexec.agent.analyst import Analysis
    from safeexec.agent.outcome import AgentStep
    from safeexec.results import Display


def notebook(analysis: Analysis) -> str:
    """The notebook as JSON text: question, files, each step with its outputs, answer."""
    cells = [_markdown("question", f"# {analysis.question}")]
    cells += [_markdown(f"file-{n}", f"```\n{survey.render()}\n```") for n, survey in enumerate(analysis.files, 1)]
    cells += [_code(step) for step in analysis.run.steps]
    cells.append(_markdown("answer", analysis.text or f"No answer: {analysis.run.reason}."))
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


def _code(step: AgentStep) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "id": f"step-{step.number}",
        "metadata": {},
        "execution_count": step.number,
        "source": _lines(step.source),
        "outputs": _outputs(step),
    }


def _outputs(step: AgentStep) -> list[dict[str, Any]]:
    result = step.result
    outputs: list[dict[str, Any]] = [
        {"output_type": "stream", "name": name, "text": _lines(text)}
        for name, text in (("stdout", result.stdout), ("stderr", result.stderr))
        if text
    ]
    outputs += [{"output_type": "display_data", "metadata": {}, "data": _data(display)} for display in result.displays]
    if result.text and not any(display.text == result.text for display in result.displays):
        data = {"text/plain": _lines(result.text)}
        outputs.append({"output_type": "execute_result", "execution_count": step.number, "metadata": {}, "data": data})
    if result.error is not None:
        error = result.error
        traceback = (error.traceback or f"{error.type}: {error.message}").split("\n")
        outputs.append({"output_type": "error", "ename": error.type, "evalue": error.message, "traceback": traceback})
    return outputs


def _data(display: Display) -> dict[str, Any]:
    data: dict[str, Any] = {"text/plain": _lines(display.text or "")}
    if display.png:
        data["image/png"] = base64.b64encode(display.png).decode()
    elif display.html:
        data["text/html"] = _lines(plain_tables(display.html))
    return data


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)
