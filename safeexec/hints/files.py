# ruff: noqa: E501 (one sentence, one line)
"""Hints for files: what the workspace has, and that there is none where the policy has none."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from safeexec.hints.matching import nearest, quoted

if TYPE_CHECKING:
    from safeexec.hints.failure import Failure

KERNEL_REFUSALS = 3000
"""Error numbers from here on are refusals by the kernel layer, which explains them itself."""


def hint(failure: Failure) -> str | None:
    """For an OSError that names a file; None for the others."""
    number = OSError.__dict__["errno"].__get__(failure.exc)
    if type(number) is int and number >= KERNEL_REFUSALS:
        return None
    name = OSError.__dict__["filename"].__get__(failure.exc)
    if type(name) is bytes:
        name = name.decode("utf-8", "replace")
    if type(name) is not str and (match := re.fullmatch(r"(\S+) not found\.", failure.message)):
        name = match[1]  # numpy's own words
    if type(name) is not str:
        return None
    if failure.plan.workspace == "none" and failure.plan.mode == "restricted":
        return "There are no files here: keep the data in variables, or put it into the code as text and read it with `io.StringIO(text)`."
    if issubclass(failure.kind, FileNotFoundError):
        return _not_found(failure, name)
    if issubclass(failure.kind, FileExistsError):
        return "It exists already: choose another name, open a file with mode `'w'` to replace it, or pass `exist_ok=True` for a folder."
    if issubclass(failure.kind, IsADirectoryError):
        return f"`{name}` is a folder: name a file in it."
    if issubclass(failure.kind, NotADirectoryError):
        return f"A part of `{name}` is a file, not a folder."
    if issubclass(failure.kind, PermissionError):
        if failure.plan.workspace == "read-only":
            return "The workspace can only be read here: print the result instead of writing a file."
        return "Only files of the workspace can be opened: use a relative name, for example `'result.csv'`."
    return None


def _not_found(failure: Failure, name: str) -> str:
    if "\n" in name or name[:1] in ("{", "[", "<"):
        return "It was taken for the name of a file: wrap a text in `io.StringIO(text)` (with `import io`)."
    files = (failure.workspace_files or _here)()
    writing = any(mode in failure.segment for mode in ("'w", '"w', "'a", '"a', "to_csv", "savefig", "write_"))
    if writing and "/" in name.strip("/"):
        folder = name.rpartition("/")[0]
        return f"The workspace has no folder `{folder}`: write to a plain name, `{name.rpartition('/')[2]!r}`, or make the folder first."
    if not files:
        return f"The workspace is empty: there is no file `{name}`; create it first, or put the data into the code."
    base = name.replace("\\", "/").rpartition("/")[2]
    same = [file for file in files if file.rpartition("/")[2] == base]
    if same:
        return f"There is no `{name}`; the workspace has `{same[0]}`: use that name, `{same[0]!r}`."
    found = _nearest_files(base, files)
    if found:
        return f"There is no file `{name}`; did you mean {' or '.join(f'`{file}`' for file in found)}?"
    return f"There is no file `{name}`; the workspace has {quoted(sorted(files), 10)}."


MAX_FILES = 500
MAX_DEPTH = 3


def _here() -> list[str]:
    """The files below the current directory, which is the workspace, by their relative names."""
    found: list[str] = []
    for folder, folders, files in os.walk("."):
        relative = folder.removeprefix(".").removeprefix("/")
        if relative.count("/") >= MAX_DEPTH:
            folders.clear()
        found += [f"{relative}/{file}" if relative else file for file in files]
        if len(found) >= MAX_FILES:
            break
    return found[:MAX_FILES]


def _nearest_files(base: str, files: list[str]) -> list[str]:
    """The files whose name, with or without its ending, is near; first those with the same ending."""
    stem, _, ending = base.rpartition(".")
    by_name = {file.rpartition("/")[2]: file for file in files}
    by_stem: dict[str, str] = {}
    for plain, file in by_name.items():
        if plain.endswith("." + ending) or plain.rpartition(".")[0] == stem:
            by_stem.setdefault(plain.rpartition(".")[0] or plain, file)
    found = [by_stem[other] for other in ([stem] if stem in by_stem else []) + nearest(stem, by_stem, 2)]
    found = found or [by_name[other] for other in nearest(base, by_name, 2)]
    return list(dict.fromkeys(found))[:2]
