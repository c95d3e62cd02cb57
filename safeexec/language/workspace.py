"""Modules that are files of the workspace: ``import helper`` where there is a helper.py.

A module of the library keeps its name, whether the policy opens it or not: what a program means by ``import json`` does
not depend on the files beside it. Files are read as a stranger's: regular ones of at most `MAX_BYTES`, and no link is
followed.
"""

from __future__ import annotations

import stat
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
            *above, leaf = *folder, *parts
            for file, is_package in (((*above, leaf), "__init__.py"), True), ((above, f"{leaf}.py"), False):
                path = "/".join((*file[0], file[1]))
                if (text := self._read(name, file[0], file[1], path)) is not None:
                    return ModuleSource(path, text, is_package, path)
            if self._is_folder((*above, leaf)):
                return ModuleSource("/".join((*above, leaf)), "", is_package=True)
        return None

    def may_have(self, name: str) -> bool:
        """Tell whether a step may name this module: its topmost package is there, or the step names its file, which it
        may be about to write, or says where modules are.
        """
        top = name.partition(".")[0]
        if not top.isidentifier() or self.is_library(top):
            return False
        return self._has(top) or any(text in self.source for text in (f"{top}.py", f"{top}/", "sys.path"))

    def shadowed(self, name: str) -> str | None:
        """Return what to do where a library has the name of a file: a hint, or None."""
        top = name.partition(".")[0]
        file = next((file for file in (f"{top}.py", f"{top}/__init__.py") if _exists(file)), None)
        if file is None or not self.is_library(top):
            return None
        return (
            f"`{file}` of the workspace is not imported, because a library is called `{top}`: "
            "rename the file, and import it by its new name."
        )

    def is_library(self, top: str) -> bool:
        """Tell whether this name is a library's: of Python itself, in a line of the policy, or installed and open."""
        found = self._of_libraries.get(top)
        if found is None:
            found = self._of_libraries[top] = (
                top in sys.stdlib_module_names
                or f"imports.{top}" in self._plan.rules
                or (module_access(top, self._plan).allowed and self._is_installed(top))
            )
        return found

    def _is_installed(self, top: str) -> bool:
        here = f"{os.getcwd()}/"
        elsewhere = [path for path in sys.path if os.path.isabs(path) and not f"{path}/".startswith(here)]
        return PathFinder.find_spec(top, elsewhere) is not None

    def _places(self) -> list[tuple[str, ...]]:
        """Return the workspace, and the folders of `sys.path` that are below it."""
        here = os.getcwd()
        paths = [path for path in sys.path[:MAX_FOLDERS] if type(path) is str and path.isprintable()]
        below = (os.path.relpath(path, here) if os.path.isabs(path) else path for path in paths)
        named = (tuple(part for part in path.split("/") if part not in ("", ".")) for path in below)
        return [(), *(parts for parts in named if parts and ".." not in parts)]

    def _has(self, top: str) -> bool:
        return any(_exists("/".join((*folder, name))) for folder in self._places() for name in (top, f"{top}.py"))

    def _is_folder(self, parts: tuple[str, ...]) -> bool:
        try:
            os.close(_descend(parts))
        except OSError:
            return False
        return True

    def _read(self, module: str, folder: tuple[str, ...] | list[str], name: str, path: str) -> str | None:
        try:
            directory = _descend(folder)
        except OSError:
            return None
        try:
            flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_NOFOLLOW | os.O_CLOEXEC
            found = os.open(name, flags, dir_fd=directory)
        except FileNotFoundError:
            return None
        except OSError as error:
            why = "a link, and links are not followed" if os.path.islink(path) else f"unreadable ({error.strerror})"
            raise ImportError(f"import of {module} is refused: {path} is {why}", name=module, path=path) from None
        finally:
            os.close(directory)
        try:
            info = os.fstat(found)
            if not stat.S_ISREG(info.st_mode):
                raise ImportError(f"import of {module} is refused: {path} is no regular file", name=module, path=path)
            with open(found, "rb", closefd=False) as file:
                data = file.read(MAX_BYTES + 1)
        finally:
            os.close(found)
        if len(data) > MAX_BYTES:
            raise ImportError(
                f"import of {module} is refused: {path} is longer than the {MAX_BYTES} bytes of a module",
                name=module,
                path=path,
            )
        return _text(data, path)


def _exists(path: str) -> bool:
    try:
        os.lstat(path)
    except (OSError, ValueError):
        return False
    return True


def _descend(parts: tuple[str, ...] | list[str]) -> int:
    """Return the descriptor of a folder below the current directory. OSError where a part is a link, or no folder."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC  # here: reports import this on Windows, too
    at = os.open(".", flags)
    for part in parts:
        try:
            below = os.open(part, flags, dir_fd=at)
        finally:
            os.close(at)
        at = below
    return at


def _text(data: bytes, path: str) -> str:
    """Source text in the encoding that it declares. SyntaxError, as the parser raises, where it is not in it."""
    from tokenize import detect_encoding

    lines = iter(data.splitlines(keepends=True)[:2])
    try:
        encoding = detect_encoding(lambda: next(lines, b""))[0] if b"coding" in data[:400] else "utf-8"
        return data.decode(encoding).removeprefix("\ufeff")
    except (SyntaxError, UnicodeDecodeError, LookupError) as error:
        raise SyntaxError(f"{path} is not the text that it says it is: {error}") from None
