"""Builds the reference of every public name: ``python -m safeexec.docs DIR``.

Needs pdoc (``pip install '.[docs]'``).
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

try:
    import pdoc
except ModuleNotFoundError as error:
    raise SystemExit("the reference is built by pdoc: pip install 'safeexec[docs]'") from error

from safeexec import SandboxError

PAGES = (
    "safeexec",
    "safeexec.errors",
    "safeexec.toolkit",
    "safeexec.agent",
    "safeexec.agent.repair",
    "safeexec.cluster",
    "safeexec.testing",
    "safeexec.adapters.dspy",
    "safeexec.adapters.fastmcp",
    "safeexec.adapters.functions",
    "safeexec.adapters.langchain",
    "safeexec.adapters.openenv",
    "safeexec.adapters.pydantic_ai",
    "safeexec.adapters.rlms",
    "safeexec.adapters.smolagents",
)
"""The modules whose names are public. Those whose libraries are not installed are left out."""


def build(directory: Path) -> list[str]:
    """Write one page per module below `directory`; the names of the modules."""
    found = [name for name in PAGES if _loaded(name)]
    leave_out = [f"!{name}\\." for name in found if name not in ("safeexec.agent", "safeexec")]
    pdoc.doc.Class._taken_from = _taken_from
    pdoc.render.configure(docformat="markdown", footer_text="safeexec", show_source=False)
    pdoc.pdoc(*found, *leave_out, output_directory=directory)
    return found


_declared_in = pdoc.doc.Class._taken_from


def _taken_from(shown: pdoc.doc.Class, member: str, value: object) -> tuple[str, str]:
    """Where pdoc is to say that a member comes from: that of a base without a page of its own is the class's."""
    module, name = _declared_in(shown, member, value)
    if module.startswith("safeexec.") and module not in PAGES:
        return shown.modulename, f"{shown.qualname}.{member}"
    return module, name


def _loaded(name: str) -> bool:
    """Import a module, and the public names that it would load on first use. False where a library is missing."""
    try:
        module = importlib.import_module(name)
        for public in getattr(module, "__all__", ()):
            getattr(module, public)
    except (ImportError, SandboxError):  # of a library, or ours, which says what to install
        return False
    return True


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("python -m safeexec.docs DIR: the directory to write the reference to")
    target = Path(sys.argv[1])
    for name in build(target):
        print(target / f"{name.replace('.', '/')}.html")
