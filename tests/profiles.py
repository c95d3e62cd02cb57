"""Policies that only tests need, by the path that `Sandbox` takes."""

from __future__ import annotations

from pathlib import Path

FORKING = str(Path(__file__).parent / "data" / "forking.yaml")
"""`confined-python` whose guests may fork."""
