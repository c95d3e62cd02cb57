"""How long a health check of `safeexec serve` waits while one client sends, or has made, the most that it may.

    python -m benchmarks.health [--quick]

A process of its own asks for /healthz every 5 ms. The reference is the same server, while a process beside it computes
that has nothing to do with it: a check waits for a core as well.
"""

from __future__ import annotations

import http.client
import json
import multiprocessing
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from benchmarks.common import options

LARGE = 30 << 20
EVERY_SECONDS = 0.005


def _run(source: str, **more: Any) -> tuple[str, bytes]:
    return "/v1/run", json.dumps({"source": source, **more}).encode()


ATTACKS: dict[str, Callable[[], tuple[str, bytes]]] = {
    "a source of 30 MB": lambda: _run("x" * LARGE),
    "standard input of 30 MB": lambda: _run("1", stdin="x" * LARGE),
    "a text of 30 MB, escaped": lambda: _run("1", stdin="\n" * (LARGE // 2)),
    "7 million arguments": lambda: ("/run_code", b'{"code":"1","args":[' + b'"a",' * 7_000_000 + b'"a"]}'),
    "values of 9 million parts": lambda: _run("1", namespace={"x": [1] * 9_000_000}),
    "a file of 22 MB, as base64": lambda: _run("1", files={"a": {"type": "bytes", "base64": "eHh4" * (LARGE // 4)}}),
    "300,000 dicts, unread": lambda: _run("1", other=[{"a": 1}] * 300_000),
    "30 MB that are no JSON": lambda: ("/v1/run", b"[" * LARGE),
    "a value of 40 MB": lambda: _run("'y' * 40_000_000"),
    "a value of 1.5 million ints": lambda: _run("list(range(1_500_000))"),
    "a value of 130,000 dicts": lambda: _run("[{'a': i, 'b': str(i)} for i in range(130_000)]"),
    "halves of characters": lambda: _run("['\\ud800' * 9] * 1_000_000"),
    "8 MB that are printed": lambda: _run("print('x' * 8_000_000)"),
    "800 files of 20 kB": lambda: _run("for i in range(800): open(str(i), 'w').write('x' * 20_000)"),
}


@contextmanager
def serving() -> Iterator[tuple[int, str]]:
    """Port and token of a server."""
    command = [sys.executable, "-m", "safeexec", "serve", "--port", "0", "--policy", "confined-python"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert server.stdout is not None
        found = re.search(r":(\d+) token=(\S+)", server.stdout.readline())
        assert found is not None
        yield int(found[1]), found[2]
    finally:
        server.terminate()
        server.wait()


def _ask(port: int, token: str, path: str, body: bytes) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    connection.request("POST", path, body, {"Authorization": f"Bearer {token}", "Content-Type": "application/json"})
    connection.getresponse().read()
    connection.close()


def _check(port: int, stop: Any, waited: Any) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    found = []
    while not stop.is_set():
        began = time.perf_counter()
        connection.request("GET", "/healthz")
        connection.getresponse().read()
        found.append(time.perf_counter() - began)
        time.sleep(EVERY_SECONDS)
    waited.put(found)


def checked(port: int, work: Callable[[], object]) -> list[float]:
    """Seconds that each health check took while `work` was done."""
    stop, waited = multiprocessing.Event(), multiprocessing.Queue()  # type: ignore[var-annotated]
    checker = multiprocessing.Process(target=_check, args=(port, stop, waited))
    checker.start()
    try:
        work()
    finally:
        stop.set()
    found: list[float] = waited.get(timeout=60)
    checker.join()
    return found


def _compute() -> None:
    until = time.perf_counter() + 2
    while time.perf_counter() < until:
        pass


def main(quick: bool) -> None:
    with serving() as (port, token):
        _ask(port, token, *_run("1"))
        rows: dict[str, Callable[[], object]] = {"beside a process that computes": _compute}
        for name, attack in ATTACKS.items():
            path, body = attack()
            rows[name] = lambda path=path, body=body: [  # type: ignore[misc]
                _ask(port, token, path, body) for _ in range(2 if quick else 10)
            ]
        for name, work in rows.items():
            found = checked(port, work)
            middle, most = statistics.median(found), max(found)
            print(f"{name:32}  {len(found):5} checks  {middle * 1e3:6.1f} ms  at most {most * 1e3:6.1f} ms", flush=True)


if __name__ == "__main__":
    main(options(__doc__).quick)
