"""The things that `stdlib` and `any` of a policy leave out, and why: modules that cannot work in a sandbox, names that
fail or mislead there.

These tables are advice with force. They hold nothing: the kernel does. A row is here because an honest program that
writes the name is better served by a reason before it runs than by an error, or by no error, in the middle of its work.
Everything that no row names is allowed, so that what a library adds tomorrow works on the day it appears. A line of the
policy that names a module (`socket: all`), or a name of it (`os: [system]`), is stronger than a row.

What to write instead is in `safeexec.hints`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple, TypeVar

Tag = Literal["", "files", "process", "network", "memory", "display"]


class Reason(NamedTuple):
    """A kind of refusal, and why, as half a sentence."""

    tag: Tag
    text: str


NO_FILES: Final = Reason("files", "it works on files, and this policy has no workspace")
PROCESS: Final = Reason("process", "it starts programs or reaches other processes, which the kernel refuses here")
NETWORK: Final = Reason("network", "it uses the network, which the kernel refuses here")
MEMORY: Final = Reason("memory", "it reads and writes memory by address, and a mistake ends the session's process")
DISPLAY: Final = Reason("display", "it needs a display, or a person at a keyboard")


_What = TypeVar("_What")


def by_name(table: Mapping[str, _What]) -> dict[str, _What]:
    """Return a table by single names: its keys are one or several names, separated by blanks."""
    return {name: what for names, what in table.items() for name in names.split()}


MODULES: Final = by_name(
    {
        "subprocess multiprocessing pty concurrent.futures.process asyncio.subprocess _posixsubprocess": PROCESS,
        "socket _socket ssl _ssl socketserver http.client http.server http.cookiejar urllib.request urllib.robotparser "
        "ftplib smtplib poplib imaplib nntplib telnetlib xmlrpc wsgiref asyncore asynchat webbrowser "
        "antigravity": NETWORK,
        "ctypes _ctypes": MEMORY,
        "pdb bdb tkinter _tkinter turtle turtledemo curses _curses readline idlelib": DISPLAY,
    }
)
"""Module of the standard library → why the word `stdlib` leaves it out; its submodules, too. The word `any` opens them,
but for those that need a display. A program that imports an opened one learns from the kernel what it cannot do, and
can put another object in its place in a test.
"""

NAMES: Final[dict[str, dict[str, Reason]]] = {
    "os": by_name(
        {
            "system popen fork forkpty posix_spawn posix_spawnp execl execle execlp execlpe execv execve execvp "
            "execvpe spawnl spawnle spawnlp spawnlpe spawnv spawnve spawnvp spawnvpe kill killpg pidfd_open "
            "setuid setgid seteuid setegid setsid setpgid setns unshare chroot": PROCESS,
            "access fwalk link listdir lstat makedirs mkdir mkfifo mknod open readlink remove "
            "removedirs rename renames replace rmdir scandir stat symlink truncate unlink utime walk": NO_FILES,
        }
    ),
    "os.path": by_name(
        {"exists getatime getctime getmtime getsize isdir isfile islink ismount lexists samefile": NO_FILES}
    ),
    "io": by_name({"open open_code FileIO": NO_FILES}),
    "codecs": by_name({"open": NO_FILES}),
    "glob": by_name({"glob iglob": NO_FILES}),
    "shutil": by_name(
        {
            "copy copy2 copyfile copymode copystat copytree disk_usage make_archive move rmtree "
            "unpack_archive": NO_FILES,
            "chown": PROCESS,
        }
    ),
    "tempfile": by_name(
        {"mkdtemp mkstemp mktemp NamedTemporaryFile SpooledTemporaryFile TemporaryDirectory TemporaryFile": NO_FILES}
    ),
    "asyncio": by_name(
        {
            "create_subprocess_exec create_subprocess_shell": PROCESS,
            "open_connection open_unix_connection start_server start_unix_server": NETWORK,
        }
    ),
    "concurrent.futures": by_name({"ProcessPoolExecutor": PROCESS}),
    "builtins": by_name({"breakpoint help copyright credits license": DISPLAY}),
}
"""Module → its names that are refused where they are written. Those about files are there where a policy has files."""

CALLS: Final[dict[str, str]] = {
    "subprocess": "run call check_call check_output Popen getoutput getstatusoutput",
    "multiprocessing": "Pool Process Manager",
    "socket": "create_connection create_server socket",
    "urllib.request": "urlopen urlretrieve",
    "requests": "get post put patch delete head request",
    "httpx": "get post put patch delete head request",
}
"""Module → its functions that fail at the kernel. A program is refused before it runs where such a call is sure to run;
where it is not, in a function or a test that replaces it, the kernel says no when it does.
"""

FETCHES: Final = "http_get"
"""The tool of the host that `urllib.request` calls where there is one (`engine/child/process/fetching.py`)."""
_EXEMPT: Final = frozenset({"multiprocessing.dummy"})
"""Submodules to which the row of their package does not apply."""
_CANONICAL: Final = {"posixpath": "os.path", "posix": "os", "_io": "io"}


def canonical(module: str) -> str:
    """Return the name by which the tables know a module: ``os.path`` for ``posixpath``."""
    return _CANONICAL.get(module, module)


def of_module(module: str) -> Reason | None:
    """Return why the word `stdlib` leaves this module out; None for one that no row names."""
    return MODULES.get(row_of(module))


def row_of(module: str) -> str:
    """Return the module of the row that is about this one: itself, or a package above it; ``""`` if none is."""
    while module and module not in MODULES:
        if module in _EXEMPT:
            return ""
        module = module.rpartition(".")[0]
    return module


def of_call(module: str, name: str) -> Reason | None:
    """Return why a call of this function fails here; None for one that no row names."""
    if name not in CALLS.get(module, "").split():
        return None
    return MODULES.get(module, NETWORK)


def of_name(module: str, name: str) -> Reason | None:
    """Return why this name of a module is refused; None for one that no row names."""
    return NAMES.get(canonical(module), {}).get(name)
