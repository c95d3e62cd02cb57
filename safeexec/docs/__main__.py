"""``python -m safeexec.docs`` lists the pages that are installed; with a directory it builds the reference of every
public name.

The reference needs pdoc (``pip install 'safeexec[docs]'``).
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

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


def pages() -> list[Path]:
    """Find the pages that the package brings along, by folder: the guide, operations, policies, the servers …"""
    packages = [importlib.import_module(name) for name in ("safeexec", "safeexec.policies")]
    return sorted({page for package in packages for folder in package.__path__ for page in Path(folder).rglob("*.md")})


def build(directory: Path) -> list[str]:
    """Write one page per module below `directory`; return the names of the modules."""
    try:
        import pdoc
    except ModuleNotFoundError as error:
        raise SystemExit("the reference is built by pdoc: pip install 'safeexec[docs]'") from error

    declared_in = pdoc.doc.Class._taken_from

    def taken_from(shown: Any, member: str, value: object) -> tuple[str, str]:
        """Name where a member comes from; one of a base without a page of its own is the class's."""
        module, name = declared_in(shown, member, value)
        if module.startswith("safeexec.") and module not in PAGES:
            return shown.modulename, f"{shown.qualname}.{member}"
        return module, name

    found = [name for name in PAGES if _loaded(name)]
    leave_out = [f"!{name}\\." for name in found if name not in ("safeexec.agent", "safeexec")]
    pdoc.doc.Class._taken_from = taken_from
    pdoc.render.configure(docformat="markdown", footer_text="safeexec", show_source=False)
    pdoc.pdoc(*found, *leave_out, output_directory=directory)
    return found


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
    match sys.argv[1:]:
        case []:
            print(*pages(), sep="\n")
        case [directory]:
            target = Path(directory)
            for name in build(target):
                print(target / f"{name.replace('.', '/')}.html")
        case _:
            sys.exit("python -m safeexec.docs [DIR]: the directory to write the reference to")
