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
PINNED = ["standard-0.9", "data-analysis-0.9"]
"""Profiles with the imports of an earlier release, for those who extend them."""
