"""New files for what guests show: below a directory, under names that are not taken, never through a link."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import PurePosixPath

from safeexec.untrusted.below import directory_below, new_file, opened

SIGNATURES = {"image/png": b"\x89PNG\r\n\x1a\n", "image/jpeg": b"\xff\xd8\xff"}
"""The first bytes of a picture."""
_NUMBER = re.compile(r"(?:-([0-9]{1,9}))?(?:-[0-9]++)?\.[a-z.]++")
_MAX_LISTED = 100_000


def is_picture(mime: str, data: object) -> bool:
    """Return whether `data` begins as a picture of this kind does."""
    signature = SIGNATURES.get(mime)
    return isinstance(data, bytes) and signature is not None and data.startswith(signature)


class NewFiles:
    """Files in `directory`, which is made when the first one is written.

    A relative directory is below the current one, and no link on the way is followed. One that is absolute, or that
    leaves the current one, is taken as the caller wrote it.
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.directory = os.fspath(directory)

    def next_number(self, stem: str) -> int:
        """Return one more than the highest number of the files that are called `stem`-N, links among them."""
        return 1 + max(self._numbers(stem), default=0)

    def free_name(self, stem: str) -> str:
        """`stem`, or where files are called that, `stem`-2, `stem`-3 …"""
        numbers = self._numbers(stem)
        return f"{stem}-{max(1, *numbers) + 1}" if numbers else stem

    def _numbers(self, stem: str) -> list[int]:
        """Return the numbers of the files that are called `stem`-N.suffix, links among them; 0 for `stem`.suffix."""
        with self._opened() as directory, os.scandir(directory) as entries:
            names = [entry.name for entry in islice(entries, _MAX_LISTED) if entry.name.startswith(stem)]
        found = (_NUMBER.fullmatch(name, len(stem)) for name in names)
        return [int(number[1] or 0) for number in found if number]

    def write(self, name: str, data: bytes) -> str:
        """Write a new file; its path. OSError where the name is taken, or a link is in the way."""
        with self._opened() as directory:
            new_file(directory, name, data)
        return os.path.join(self.directory, name)

    @contextmanager
    def _opened(self) -> Iterator[int]:
        pure = PurePosixPath(self.directory)
        if pure.is_absolute() or ".." in pure.parts:
            with opened(self.directory, make=True) as directory:
                yield directory
            return
        try:
            with opened(".") as here, directory_below(here, self.directory, make=True) as directory:
                yield directory
        except NotADirectoryError:
            why = "a link or a file stands in the place of a directory"
            raise NotADirectoryError(errno.ENOTDIR, why, self.directory) from None
