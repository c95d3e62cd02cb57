"""What plain CPython makes of programs. A line on stdin is a program, its answer a line on stdout, both JSON.

A program is a list of modules to import before and a list of steps; the answer is the list of their outcomes. Each runs
in a fork, in which nothing of another has happened, and in a folder of its own.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import tempfile
from importlib import import_module
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
    for line in sys.stdin:
        modules, steps = json.loads(line)
        for module in modules:
            import_module(module)
        with tempfile.TemporaryDirectory() as folder:
            if pid := os.fork():
                if os.waitpid(pid, 0)[1]:
                    print("null", flush=True)
            else:
                os.chdir(folder)
                print(json.dumps(outcomes(steps)), flush=True)
                os._exit(0)
