# ruff: noqa: E501 (one sentence, one line)
"""Rules for files: what the workspace has, and that there is none where the policy has none."""

from __future__ import annotations

import re
from collections.abc import Iterator

from safeexec.common.matching import nearest, quoted
from safeexec.hints.choice import READ, Advice, choose
from safeexec.hints.failure import Failure
from safeexec.hints.limits import NO_PROCESSES
from safeexec.hints.remedies import hint_for
from safeexec.hints.rules import HintRule
from safeexec.hints.tables.modules import MODULES

_WRITING = ("'w", '"w', "'a", '"a', "to_csv", "savefig", "write_")
_NO_FILES = "There are no files here: keep the data in variables, or put it into the code as text and read it with `io.StringIO(text)`."


def _name(failure: Failure) -> str:
    """Return the file that the exception speaks of; empty if it names none."""
    name = failure.said_by_exception("filename")
    if type(name) is bytes:
        name = name.decode("utf-8", "replace")
    if type(name) is not str and (
        match := re.fullmatch(r"(?:File )?(\S+?)(?: not found\.| does not exist)?", failure.message)
    ):
        name = match[1]  # numpy's own words, and those of pandas
    return name if type(name) is str else ""


def _no_semaphores(failure: Failure, match: re.Match[str]) -> Iterator[str]:
    """Advise who met an error inside `multiprocessing`: it makes a semaphore first, or starts the process that forks
    for it (the default since CPython 3.14). Without an example in `mended.jsonl`: it takes a policy.
    """
    place = failure.exc.__traceback__
    while place is not None:
        if "/multiprocessing/" in place.tb_frame.f_code.co_filename:
            yield NO_PROCESSES
        place = place.tb_next


def _no_files(failure: Failure, match: re.Match[str]) -> Iterator[str | None]:
    if failure.message.startswith("Matplotlib requires"):  # sympy.plot(x), where no policy opens matplotlib
        yield choose(MODULES["matplotlib"], failure.plan)
    unnamed = re.search("No usable temporary directory|writable cache directory", failure.message)
    if not failure.plan.has_files and failure.plan.mode == "restricted" and (unnamed or _name(failure)):
        if failure.called == "connect":
            yield "There are no files here: a database is held in memory, `sqlite3.connect(':memory:')`."
        # What the policy says of `open` is said of every other way to a file.
        yield failure.plan.hints.get("open", _NO_FILES)


def _no_open(failure: Failure, match: re.Match[str]) -> Iterator[str | None]:
    """Answer where only the step's standard input opens. Without an example in `mended.jsonl`: it takes a policy."""
    yield hint_for("builtin", "open", failure.plan)


def _not_found(failure: Failure, match: re.Match[str]) -> Iterator[str]:
    name = _name(failure)
    if "\n" in name or name[:1] in ("{", "[", "<"):  # pd.read_csv('a,b\n1,2')
        yield "This text was taken for the name of a file: wrap it in `io.StringIO(text)` (with `import io`)."
    folder, slash, plain = name.rpartition("/")
    if slash and any(mode in failure.segment for mode in _WRITING):  # open('out/result.csv', 'w')
        yield f"The workspace has no folder `{folder}`: write to a plain name, `{plain!r}`, or make the folder first."
    if not name:
        return
    files = failure.workspace_files()
    if failure.plan.read and (name.startswith("/") or failure.plan.workspace == "none"):
        yield f"There is no `{name}`; what can be read by an absolute path lies below {quoted(failure.plan.read, 3)}."
    if name.startswith("/") and plain not in {file.rpartition("/")[2] for file in files}:
        yield f"Only relative names inside the workspace are found here: nothing is at `{name}`."
    if not files:
        where = "There are no files here" if failure.plan.workspace == "none" else "The workspace is empty"
        yield f"{where}: there is no file `{name}`; create it first, or put the data into the code."
    base = name.replace("\\", "/").rpartition("/")[2]
    for same in files:
        if same.rpartition("/")[2] == base:
            yield f"There is no `{name}`; the workspace has `{same}`: use that name, `{same!r}`."
    if found := _nearest_files(base, files):
        yield f"There is no file `{name}`; did you mean {' or '.join(f'`{file}`' for file in found)}?"
    yield f"There is no file `{name}`; the workspace has {quoted(sorted(files), 10)}."


def _nearest_files(base: str, files: list[str]) -> list[str]:
    """Return the files whose name, with or without its ending, is near; first those with the same ending."""
    stem, _, ending = base.rpartition(".")
    by_name = {file.rpartition("/")[2]: file for file in files}
    by_stem: dict[str, str] = {}
    for plain, file in by_name.items():
        if plain.endswith("." + ending) or plain.rpartition(".")[0] == stem:
            by_stem.setdefault(plain.rpartition(".")[0] or plain, file)
    found = [by_stem[other] for other in ([stem] if stem in by_stem else []) + nearest(stem, by_stem, 2)]
    return list(dict.fromkeys(found or [by_name[other] for other in nearest(base, by_name, 2)]))[:2]


def _of_another_kind(failure: Failure, match: re.Match[str]) -> Iterator[str]:
    name = _name(failure)
    if failure.kind is FileExistsError:
        yield f"`{name}` is there already: use it as it is; a folder is made with `os.makedirs({name!r}, exist_ok=True)`, a file written anew with the mode `'w'`."
    if failure.kind is IsADirectoryError:
        yield f"`{name}` is a folder: `os.listdir({name!r})` says which files are in it."
    yield f"`{name}` is a file, or goes through one: name a folder there, or open the file itself."


_OPEN: Advice = {
    "workspace read": "Only files of the workspace can be opened, by relative names, and to read what lies below {read}.",
    "read": READ,
    "": "Only files of the workspace can be opened: use a relative name, for example `'result.csv'`.",
}


def _outside(failure: Failure, match: re.Match[str]) -> Iterator[str | None]:
    if _name(failure) and failure.plan.workspace == "read-only":
        yield "The workspace can only be read here: print the result instead of writing a file."
    if _name(failure):
        yield choose(_OPEN, failure.plan)


_OF_FILES = "FileNotFoundError FileExistsError IsADirectoryError NotADirectoryError PermissionError OSError"
RULES = (
    HintRule("FileNotFoundError PermissionError OSError", "", _no_semaphores),
    HintRule(_OF_FILES, "", _no_files),
    HintRule("PermissionError", r"is refused: the only file here is open\(0\)", _no_open),
    HintRule("FileNotFoundError", "", _not_found),
    HintRule("FileExistsError IsADirectoryError NotADirectoryError", "", _of_another_kind),
    HintRule("PermissionError", "", _outside),
)
