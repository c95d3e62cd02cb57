"""Replies of scripted models."""

from __future__ import annotations


def code(source: str) -> str:
    """A reply that is one step."""
    return f"<execute_python>\n{source}\n</execute_python>"
