"""Files as an ordinary user has them, in a process of root: the kernel refuses what it refuses to others."""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

NOBODY = 65534


@contextlib.contextmanager
def ordinary_user() -> Iterator[Path]:
    """A directory that an ordinary user owns, who this thread is for all that it does with files. New directories for
    temporary files lie there. The other threads of the process stay who they are.
    """
    place, before = tempfile.mkdtemp(), tempfile.tempdir
    set_user = ctypes.CDLL(None).setfsuid
    as_root = os.geteuid() == 0
    try:
        if as_root:
            os.chown(place, NOBODY, NOBODY)
            set_user(NOBODY)
        tempfile.tempdir = place
        yield Path(place)
    finally:
        tempfile.tempdir = before
        if as_root:
            set_user(0)
        shutil.rmtree(place)
