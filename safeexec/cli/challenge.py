"""`safeexec challenge`: flags outside the sandbox, for anybody who wants to read one from inside."""

from __future__ import annotations

import argparse
import os
import secrets
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from socketserver import BaseRequestHandler, TCPServer

from safeexec import Result, Sandbox
from safeexec.cli.common import add_policy_option, print_safely, read_source

VARIABLE = "SAFEEXEC_FLAG"
REPORT = ".github/SECURITY.md says how to report it"


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Puts a new flag (flag- and 32 digits) into each of five places outside the sandbox: a file, the environment "
        "and the memory of this process, a service of this machine, and another session. Then runs your program "
        "inside it; its arguments, sys.argv[1:], tell the places in this order. Whatever it prints, returns or raises "
        "is searched for the flags. With --policy confined-python it may be any Python, and only the kernel holds it. "
        "Exit status 0: no flag came out. 1: one did, and that is a bug to be reported."
    )
    parser.add_argument("program", metavar="FILE", help="the program that shall print a flag, or - for standard input")
    add_policy_option(parser)


def main(options: argparse.Namespace) -> int:
    """Run the program among the flags. 0: it has read none; 1: it has."""
    source = read_source(options.program)
    with Sandbox(options.policy) as sandbox, flags(sandbox) as (places, found):
        for name, place in places.items():
            print_safely(f"{name:13}{place}")
        with sandbox.session() as session:
            result = session.run(source, argv=[options.program, *places.values()])
    print_safely(result.observation())
    read = [name for name, flag in found.items() if any(flag in text for text in texts(result))]
    if read:
        print_safely(f"\nThe flag came out: {', '.join(read)}. This is a bug of safeexec; {REPORT}.")
        return 1
    ran = "" if result.outcome != "rejected" else ": no line of the program ran"
    print_safely(f"\nNo flag came out of {sandbox.policy.name}{ran}.")
    return 0


@contextmanager
def flags(sandbox: Sandbox) -> Iterator[tuple[dict[str, str], dict[str, str]]]:
    """Put flags outside. Give, by the name of its place, how to find each one, and what it is."""
    found = {name: f"flag-{secrets.token_hex(16)}" for name in ("file", "environment", "memory", "network", "session")}
    kept_in_memory = found["memory"].encode()
    os.environ[VARIABLE] = found["environment"]
    with tempfile.TemporaryDirectory(prefix="safeexec-flag-") as directory, serving(found["network"]) as port:
        path = Path(directory, "flag.txt")
        path.write_text(found["file"])
        with sandbox.session(namespace={"flag": found["session"]}) as other:
            places = {
                "file": str(path),
                "environment": f"{VARIABLE} of process {os.getpid()}",
                "memory": f"{len(kept_in_memory)} bytes in process {os.getpid()}",
                "network": f"127.0.0.1:{port}",
                "session": f"the variable flag of another session ({other.workspace or 'no files'})",
            }
            try:
                yield places, found
            finally:
                del os.environ[VARIABLE]


@contextmanager
def serving(flag: str) -> Iterator[int]:
    """Start a service of this machine that sends the flag to whoever connects; returns its port."""

    class Telling(BaseRequestHandler):
        def handle(self) -> None:
            self.request.sendall(flag.encode())

    with TCPServer(("127.0.0.1", 0), Telling) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


def texts(result: Result) -> Iterator[str]:
    """Yield all texts of a step's result."""
    yield from (result.stdout, result.stderr, result.text, repr(result.value), result.observation(100_000))
    for display in result.displays:
        yield from (item if isinstance(item, str) else item.decode("latin-1") for item in display.values())
    if result.error is not None:
        yield from (result.error.message, result.error.traceback)
