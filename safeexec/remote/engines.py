"""The container engine of this machine, and the image of this version: for `safeexec container` and what runs it."""

from __future__ import annotations

import os
import shlex
import shutil
import sys

from safeexec.errors import ProtectionError

VERSION: str = vars(sys.modules["safeexec"])["__version__"]
BUILD = "`safeexec container build` makes the image"


def words(variable: str) -> list[str]:
    """Return the words of a command in a variable of the environment."""
    return shlex.split(os.environ.get(variable, ""), posix=os.name != "nt")


def image() -> str:
    """Return the image that is built and run: what SAFEEXEC_IMAGE says, else that of this version."""
    return os.environ.get("SAFEEXEC_IMAGE") or f"localhost/safeexec:{VERSION}"


def engine() -> list[str]:
    """Return the command of a container engine: what SAFEEXEC_ENGINE says, else podman or docker. Raises
    `ProtectionError`.
    """
    if given := words("SAFEEXEC_ENGINE"):
        return given
    if found := shutil.which("podman") or shutil.which("docker"):
        return [found]
    here = "" if sys.platform == "linux" else f"this is {sys.platform}, only Linux can hold guest code, and "
    how = f"install Podman (podman.io) or Docker, then {BUILD}"
    raise ProtectionError(f"{here}no container engine is on PATH: {how}")
