"""Examples of the rules for hints in `mended.jsonl`: programs that fail, each with its mended form, which runs."""

from __future__ import annotations

import json
from pathlib import Path

_LINES = Path(__file__).with_name("mended.jsonl").read_text(encoding="utf-8").splitlines()
_ALL = [tuple(json.loads(line).values()) for line in _LINES]
SYNTAX = [example[1:] for example in _ALL if example[0] == "SyntaxError"]
EXAMPLES = [example for example in _ALL if example[0] != "SyntaxError"]
"""The kind of the exception, what fails, its mended form, and how the hint begins under CPython 3.11."""
