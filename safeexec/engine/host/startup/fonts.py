"""matplotlib's font cache, built once per machine: without one every session would look through all fonts for seconds.

The cache is made by a process of the host's own Python and lies where only the user writes; zygotes read it. A user who
may not write where caches are kept has one as long as the process lives.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, version

from safeexec.engine.host.files.workspace_root import WorkspaceRoot
from safeexec.engine.host.startup.launch import import_path
from safeexec.errors import WorkspaceError

_BUILD = "import sys;sys.path[:]={path!r};import matplotlib.font_manager"
BUILD_SECONDS = 120.0


def font_cache() -> str | None:
    """Return the directory of the cache, made if need be. None without matplotlib, or where it cannot be made."""
    try:
        release = version("matplotlib")
    except PackageNotFoundError:
        return None
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    name = f"matplotlib-{release}-{sys.version_info[0]}.{sys.version_info[1]}"
    path = os.path.join(base, "safeexec", name)
    if _is_built(path):
        return path
    try:
        os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)
        return _build(path)
    except OSError:
        return _build_for_now(name)


def _build_for_now(name: str) -> str | None:
    """Return a cache that goes with this process, or with the next host where this one is killed."""
    if not _for_now or not _is_built(_for_now[-1][1]):  # none yet, or that of a process which has forked this one
        try:
            root = WorkspaceRoot()  # it removes itself when this process ends
        except WorkspaceError:
            return None
        _for_now.append((root, _build(os.path.join(root.path, name)) or ""))
    return _for_now[-1][1] or None


_for_now: list[tuple[WorkspaceRoot, str]] = []


def _is_built(path: str) -> bool:
    try:
        return any(name.startswith("fontlist-") for name in os.listdir(path))
    except OSError:
        return False


def _build(path: str) -> str | None:
    import subprocess

    fresh = tempfile.mkdtemp(prefix="building-", dir=os.path.dirname(path))
    try:
        # The user's own environment: this runs no guest code, and fontconfig may need HOME.
        done = subprocess.run(
            [sys.executable, "-I", "-c", _BUILD.format(path=import_path())],
            env={**os.environ, "MPLCONFIGDIR": fresh, "MPLBACKEND": "Agg"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=BUILD_SECONDS,
            check=False,
        )
        if done.returncode != 0 or not _is_built(fresh):
            return None
        os.chmod(fresh, 0o755)
        for name in os.listdir(fresh):
            os.chmod(os.path.join(fresh, name), 0o644)
        # Another process may have been faster; either result will do.
        with contextlib.suppress(OSError):
            os.rename(fresh, path)
        return path if _is_built(path) else None
    except subprocess.TimeoutExpired:
        return None
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
