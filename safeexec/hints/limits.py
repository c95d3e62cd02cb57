# ruff: noqa: E501 (a table of sentences)
"""Hints for steps that hit a limit: one sentence per outcome, with the limit and its usual causes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from safeexec.protocol.plan import LimitsPlan


NO_PROCESSES = "No more processes can be started here: use `concurrent.futures.ThreadPoolExecutor` instead of a pool of processes, or a plain loop."


def limit_hint(
    outcome: str, limits: LimitsPlan | None = None, *, wall_seconds: float | None = None, source_line: str = ""
) -> str | None:
    """Return what to change after `outcome` (a word of `Result.outcome`, or the setting that was broken); None for
    outcomes that are not limits.

    `wall_seconds` is the deadline the step had; `source_line` is the line it was stopped in, if known.
    """
    if outcome == "timeout":
        limit = f"the limit of {wall_seconds:.3g} s" if wall_seconds else "its time limit"
        return f"The step took longer than {limit}: {_cause(source_line)}"
    if outcome == "cpu":
        limit = f"the limit of {limits.cpu_seconds} s of CPU time" if limits else "its limit of CPU time"
        return f"The step used more than {limit}: {_cause(source_line)}"
    if outcome == "memory":
        limit = f"the limit of {_bytes(limits.memory_bytes)}" if limits else "its limit"
        return f"The step needed more memory than {limit}: use smaller data, work in parts, prefer generators to lists, and `del` what is no longer needed."
    if outcome == "output":
        limit = f"the limit of {_bytes(limits.output_bytes)}" if limits else "the limit"
        return f"The step printed far more than {limit}: print a summary or the first lines only, and look for a loop that never ends."
    return _FIXED.get(outcome)


_FIXED = {
    "limits.workspace_mb": "The files of the step took more room than the workspace has: write less, in a more compact form, or remove what is no longer needed before you write more.",
    "limits.workspace_files": "The step made more files than the workspace may hold: put the data into one file or a few.",
    "limits.processes": NO_PROCESSES,
    "memory of a library": "The library maps more memory than the session may have: do without it, or have the policy raise `limits.memory_mb`.",
    "crashed": "The process ended (a crash in compiled code, recursion that went too deep, or a signal that it asked for); the state before the step is back: try smaller data or a loop instead of recursion.",
    "exited": "The program ended its process (`os._exit`, or a fatal error of a library), and the state before the step is back: `sys.exit()` ends the step alone, and keeps what it did.",
    "waiting": "The state before the step is back. The step runs again, to its end, when the answer is there: do not run its code once more yourself.",
    "cancelled": "The step was stopped from outside; the state before the step is back, and it can be run again.",
}


def _cause(source_line: str) -> str:
    line = source_line.strip()
    return next(text for pattern, text in _CAUSES.items() if re.search(pattern, line))


_CAUSES = {
    r"^while": "make sure that the condition of the `while` loop becomes false, and count the rounds.",
    r"^(?:import\b|from\s+\S+\s+import\b)[^;]*;?$": "a large library takes long to import: import it in a step of its own with a longer `timeout`, or have the host import it in a template.",
    r"sleep\(": "leave the `sleep` out; there is nothing to wait for.",
    r"\bre\.\w+\(|\.(?:match|search|fullmatch|findall|finditer)\(": "a repetition inside a repetition, `(a+)+`, tries every way to split the text: write `a+`, or make the pattern more exact.",
    r"\*\*[^=]*\*\*|\*\*\s*\d{5,}|\bfactorial\(": "the number has too many digits: use `pow(a, b, m)` for a remainder, logarithms for its size, or smaller numbers.",
    "": "look for a loop that never ends, use less data or a faster method (vectorise, sort once, a dict instead of a search), or split the work over several steps.",
}
"""Pattern of the line that was running → the usual cause; the first that is found."""


def _bytes(count: int) -> str:
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= size:
            return f"{count / size:.4g} {unit}"
    return f"{count} bytes"
