"""A PostgreSQL server of its own, where this machine has one."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest


class Server:
    """A server below a directory, over a Unix socket."""

    def __init__(self, binaries: Path, folder: Path, run: Any) -> None:
        self._binaries, self._run, self.folder = binaries, run, folder
        self.url = f"postgresql:///postgres?host={folder}&user=postgres"

    def control(self, *command: str) -> None:
        options = f"-c listen_addresses='' -c unix_socket_directories={self.folder} -c max_connections=40"
        command = (str(self._binaries / "pg_ctl"), "-s", "-w", "-D", f"{self.folder}/data", "-o", options, *command)
        self._run([*command, "-l", f"{self.folder}/log"])

    def pid(self) -> int:
        return int((self.folder / "data/postmaster.pid").read_text().split()[0])

    def kill(self) -> None:
        """As a machine that loses its power would: not one process of it goes on."""
        os.kill(self.pid(), signal.SIGQUIT)

    def restart(self) -> None:
        """Start it again after that, as soon as its last process has ended."""
        while True:
            with suppress(subprocess.CalledProcessError):
                return self.control("start")


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    with served() as made:
        yield made


@contextmanager
def served() -> Iterator[Server]:
    """A server, as long as it is needed."""
    pytest.importorskip("psycopg")
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not found:
        pytest.skip("no PostgreSQL server is installed")
    folder, who = Path(mkdtemp(prefix="safeexec-pg-", dir="/tmp")), None
    if os.geteuid() == 0:
        who = pwd.getpwnam("nobody").pw_uid
        os.chown(folder, who, -1)

    def run(command: list[str]) -> None:
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, user=who, cwd="/", timeout=120)

    binaries = found[-1].parent
    made = Server(binaries, folder, run)
    try:
        run([str(binaries / "initdb"), "-A", "trust", "-U", "postgres", "-D", f"{folder}/data", "--no-sync"])
        made.control("start")
        yield made
    finally:
        with suppress(subprocess.CalledProcessError):  # it was killed just now
            made.control("stop", "-m", "immediate")
        shutil.rmtree(folder, ignore_errors=True)
