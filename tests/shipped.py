"""The profiles that are shipped, spelt out: a test that reads them from the folder would not miss one that is gone."""

from __future__ import annotations

PROFILES = [
    "expression",
    "calculator",
    "mathematics",
    "standard",
    "plugin",
    "data-analysis",
    "deterministic",
    "confined-python",
]
