"""Modules that are files of the workspace: ``import helper`` where there is a helper.py.

A module of the library keeps its name, whether the policy opens it or not: what a program means by ``import json`` does
not depend on the files beside it.
"""

from __future__ import annotations

import sys
from importlib.machinery import PathFinder

from safeexec.common.own import os
from safeexec.engine.child.step.program import ModuleSource
from safeexec.engine.policy.access import module_access
from safeexec.protocol.plan import LanguagePlan

MAX_BYTES = 1 << 20
"""The most bytes of one module."""
MAX_FOLDERS = 32


class WorkspaceModules:
    """The modules of the current directory, which is the session's workspace, and of folders that are added."""

    def __init__(self, plan: LanguagePlan) -> None:
        self._plan = plan
        self._of_libraries: dict[str, bool] = {}
        self.source = ""
        """The step that is compiled now."""

    def find(self, name: str) -> ModuleSource | None:
        """Return the source of a module, or None. Raises ImportError for a file that cannot be one."""
        parts = name.split(".")
        if not all(part.isidentifier() for part in parts) or not self._has(parts[0]) or self.is_library(parts[0]):
            return None
        for folder in self._places():
            stem = "/".join((*folder, *parts))
            for path, is_package in (f"{stem}/__init__.py", True), (f"{stem}.py", False):
                if (text := _read(name, path)) is not None:
                    return ModuleSource(path, text, is_package, path)
            if os.path.isdir(stem):
                return ModuleSource(stem, "", is_package=True)
        return None

    def may_have(self, name: str) -> bool:
        """Return whether a step may name this module: its topmost package is there, or the step names its file, which
        it may be about to write, or says where modules are.
        """
        top = name.partition(".")[0]
        if not top.isidentifier() or self.is_library(top):
            return False
        return self._has(top) or any(text in self.source for text in (f"{top}.py", f"{top}/", "sys.path"))

    def shadowed(self, name: str) -> str | None:
        """Return what to do where a library has the name of a file: a hint, or None."""
        top = name.partition(".")[0]
        file = next((file for file in (f"{top}.py", f"{top}/__init__.py") if os.path.lexists(file)), None)
        if file is None or not self.is_library(top):
            return None
        return (
            f"`{file}` of the workspace is not imported, because a library is called `{top}`: "
            "rename the file, and import it by its new name."
        )

    def is_library(self, top: str) -> bool:
        """Return whether this name is a library's: of Python itself, in a line of the policy, or installed and open."""
        found = self._of_libraries.get(top)
        if found is None:
            found = top in sys.stdlib_module_names or f"imports.{top}" in self._plan.rules
            if not found and module_access(top, self._plan).allowed:
                here = f"{os.getcwd()}/"
                elsewhere = [path for path in sys.path if os.path.isabs(path) and not f"{path}/".startswith(here)]
                found = PathFinder.find_spec(top, elsewhere) is not None
            self._of_libraries[top] = found
        return found

    def _places(self) -> list[tuple[str, ...]]:
        """Return the workspace, and the folders of `sys.path` that are below it."""
        here = os.getcwd()
        paths = [path for path in sys.path[:MAX_FOLDERS] if type(path) is str and path.isprintable()]
        below = (os.path.relpath(path, here) if os.path.isabs(path) else path for path in paths)
        named = (tuple(part for part in path.split("/") if part not in ("", ".")) for path in below)
        return [(), *(parts for parts in named if parts and ".." not in parts)]

    def _has(self, top: str) -> bool:
        names = ("/".join((*folder, name)) for folder in self._places() for name in (top, f"{top}.py"))
        return any(map(os.path.lexists, names))


def _read(module: str, path: str) -> str | None:
    """Return the source of a module, or None where there is no such file."""
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        text = f"import of {module} is refused: {path} is unreadable ({error.strerror})"
        raise ImportError(text, name=module, path=path) from None
    if len(data) > MAX_BYTES:
        text = f"import of {module} is refused: {path} is longer than the {MAX_BYTES} bytes of a module"
        raise ImportError(text, name=module, path=path)
    try:
        return decoded(data)
    except (SyntaxError, UnicodeDecodeError, LookupError) as error:
        raise SyntaxError(f"{path} is not the text that it says it is: {error}") from None


def decoded(source: bytes) -> str:
    """Return source text in the encoding that it declares. Raises SyntaxError, UnicodeDecodeError or LookupError."""
    from tokenize import detect_encoding

    lines = iter(source.splitlines(keepends=True)[:2])
    encoding = detect_encoding(lambda: next(lines, b""))[0] if b"coding" in source[:400] else "utf-8"
    return source.decode(encoding).removeprefix("\ufeff")
