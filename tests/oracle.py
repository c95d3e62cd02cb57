"""What plain CPython makes of the steps of a program: a JSON list of sources on stdin, a list of outcomes on stdout."""

from __future__ import annotations

import contextlib
import io
import json
import sys
from types import ModuleType
from typing import Any


def outcomes(steps: list[str]) -> list[dict[str, Any]]:
    """Run the steps in this very process, one namespace for all."""
    module = ModuleType("__main__")
    sys.modules["__main__"] = module
    told = []
    for step in steps:
        printed = io.StringIO()
        error: BaseException | None = None
        with contextlib.redirect_stdout(printed):
            try:
                exec(compile(step, "<step>", "exec", dont_inherit=True), module.__dict__)
            except BaseException as raised:
                error = raised
        told.append(
            {
                "stdout": printed.getvalue(),
                "error": type(error).__name__ if error is not None else None,
                "message": str(error) if error is not None else "",
            }
        )
    return told


if __name__ == "__main__":
    print(json.dumps(outcomes(json.load(sys.stdin))))
