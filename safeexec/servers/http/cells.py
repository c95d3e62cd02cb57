"""A result in the form of notebook clients: what was shown, the error with its hint."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from safeexec import Result
from safeexec.results.jsonable import jsonable, to_base64
from safeexec.results.observation import failure_of
from safeexec.untrusted.json_text import loads

E2B_NAMES = {
    "text/plain": "text",
    "text/html": "html",
    "text/markdown": "markdown",
    "image/svg+xml": "svg",
    "image/png": "png",
    "image/jpeg": "jpeg",
    "application/pdf": "pdf",
    "text/latex": "latex",
    "application/javascript": "javascript",
}


class ShownPart(NamedTuple):
    """One thing that a step has shown. `main`: it is the value of the step."""

    data: Mapping[str, str | bytes]
    main: bool


def shown(result: Result) -> list[ShownPart]:
    """Return the displays of a step and its value, which may be one of them: that comes last then."""
    parts = [ShownPart(display, False) for display in result.displays]
    if not result.text:
        return parts
    if parts and "image/png" not in parts[-1].data and parts[-1].data.get("text/plain") == result.text:
        return [*parts[:-1], parts[-1]._replace(main=True)]
    return [*parts, ShownPart({"text/plain": result.text}, True)]


def traceback_of(result: Result) -> str:
    """Return why a step failed, as a program would tell it: traceback, or what was refused by which rule; the hint."""
    return "" if result.error is None else "\n".join(failure_of(result.error)) + "\n"


def as_result(part: ShownPart) -> dict[str, Any]:
    """Return one thing shown, in E2B's words."""
    row: dict[str, Any] = {"is_main_result": part.main}
    extra = {}
    for mime, shown in part.data.items():
        item = shown if isinstance(shown, str) else to_base64(shown)
        if mime in E2B_NAMES:
            row[E2B_NAMES[mime]] = item
        else:
            extra[mime] = item
    with suppress(ValueError):  # what cannot be read stays a text
        if (read := loads(extra.get("application/json", "null"))) is not None:
            row["json"] = jsonable(read)
            del extra["application/json"]
    return row | ({"extra": extra} if extra else {})
