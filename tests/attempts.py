"""The attempts of `escapes/` and the world around them, for tests and benchmarks: nothing here needs pytest."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tests.inhabitant import remove_shared

DIRECTORY = Path(__file__).parent / "escapes"
INHABITANT = Path(__file__).with_name("inhabitant.py")
STEP = "# --- step ---\n"


class Case(NamedTuple):
    """One attempt under one profile."""

    headers: dict[str, str]
    text: str
    profile: str

    @property
    def oracle(self) -> str:
        return self.headers.get("oracle", "marker")

    @property
    def layer(self) -> str:
        """Which layer is to stop it: `language`, `kernel` or `both`."""
        return self.headers["layer"]

    @property
    def needs(self) -> list[str]:
        """Libraries that must be installed."""
        return self.headers.get("needs", "").replace(",", " ").split()


def read() -> Iterator[Case]:
    """Each attempt, under each profile that it is made under."""
    for path in sorted(DIRECTORY.glob("*/*.py")):
        text = path.read_text(encoding="utf-8")
        headers: dict[str, str] = {}
        for line in text.splitlines():
            if not line.startswith("#"):
                break
            if found := re.match(r"# ([a-z]+): (.*)$", line):
                headers[found[1]] = found[2]
        headers["id"] = path.stem
        layer = headers.get("layer")
        if layer not in ("language", "kernel", "both"):
            raise ValueError(f"{path}: it does not say which layer is to stop it")
        profiles = [] if layer == "kernel" else ["data-analysis" if headers.get("needs") else "standard"]
        profiles += [] if layer == "language" else ["confined-python"]
        for profile in profiles:
            yield Case(headers, text, profile)


def suits(version: str) -> bool:
    """Whether a case is about this Python: ``>=3.12``, ``<3.13`` or nothing."""
    found = re.match(r"(>=|<)(\d+)\.(\d+)$", version)
    if not found:
        return True
    at_least = sys.version_info >= (int(found[2]), int(found[3]))
    return at_least if found[1] == ">=" else not at_least


class World:
    """What lies outside the sandbox: a secret in a file, in the environment, and with a process that offers it."""

    def __init__(self) -> None:
        self.base = Path(tempfile.mkdtemp(prefix="escapes-", dir="/tmp"))
        self.base.chmod(0o755)
        self.canary = self.base / "canary.txt"
        self.token = secrets.token_hex(12)
        self.canary.write_text(self.token)
        os.environ["SAFEEXEC_TEST_SECRET"] = self.token
        self.leaked = [os.open(self.canary, os.O_RDONLY), os.open(self.base, os.O_RDONLY)]
        for fd in self.leaked:
            os.set_inheritable(fd, True)
        self.inhabitant = subprocess.Popen(
            [sys.executable, str(INHABITANT), str(self.canary)], stdout=subprocess.PIPE, text=True
        )
        assert self.inhabitant.stdout is not None
        self.port = int(self.inhabitant.stdout.readline())

    def close(self) -> None:
        self.inhabitant.kill()
        self.inhabitant.communicate()
        remove_shared(self.port)
        for fd in self.leaked:
            os.close(fd)
        del os.environ["SAFEEXEC_TEST_SECRET"]
        shutil.rmtree(self.base)

    @property
    def drop(self) -> Path:
        return Path(f"{self.canary}.drop")

    @property
    def beacon(self) -> Path:
        return Path(f"{self.canary}.beacon")

    def clean(self) -> None:
        for path in (self.drop, self.beacon):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)

    def source(self, case: Case, workspace: str) -> str:
        """The attempt with what it must know of this world filled in."""
        source = case.text
        for name, value in {
            "{CANARY_PATH}": str(self.canary),
            "{CANARY_TOKEN}": self.token,
            "{HOST_PORT}": str(self.port),
            "{HOST_PID}": str(os.getpid()),
            "{WORKSPACE}": workspace,
        }.items():
            source = source.replace(name, value)
        if "\n# generator:" in source:
            namespace: dict[str, Any] = {}
            exec(source, namespace)
            return str(namespace["src"])
        return source

    def bystander_suffers(self) -> bool:
        """Whether the inhabitant has died, or was stopped."""
        if self.inhabitant.poll() is not None:
            return True
        state = Path(f"/proc/{self.inhabitant.pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        return state in "TtZ"
