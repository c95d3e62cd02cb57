"""Ten thousand users at one address, on a cluster of three replicas; one of them is killed while all go on.

On this machine, by Ray; with an argument for so many users, and else a hundredth of them.

Needs: ray

Prints:

    … users at one address, three replicas
    a replica is killed
    each has made 3 visits, and none is lost
    calls that the lost replica did not answer, made again: …
"""

import logging
import os
import secrets
import signal
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stdout
from functools import partial
from io import StringIO
from pathlib import Path

from safeexec import SandboxError, connect

USERS, WAYS = 100, 16
# May be done twice: a call that a lost replica did not answer may have been made.
# Steps that can be repeated, as this one: a session has no process then while nobody uses it.
STEP = "try:\n    visits |= {bit}\nexcept NameError:\n    visits = {bit}\nvisits"


def kill_one() -> None:
    """As a machine that goes down."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if path.read_bytes().startswith(b"ray::ServeReplica:safeexec:"):
                return os.kill(int(path.parent.name), signal.SIGKILL)
        except OSError:
            pass  # it has ended meanwhile


def main(users: int) -> None:
    """Three visits of each user; the replica is killed in the second round."""
    import ray

    from safeexec import cluster

    token, again = secrets.token_urlsafe(), []
    ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    logging.disable(logging.INFO)
    say, quiet = partial(print, file=sys.stdout, flush=True), redirect_stdout(StringIO())  # Ray tells of losses there
    with tempfile.TemporaryDirectory() as store, ThreadPoolExecutor(WAYS) as ways, quiet:
        cluster.serve(token, "calculator", store=store, durable="step", replicas=3)
        with connect("http://127.0.0.1:8000", token) as sandbox:
            say(f"{users} users at one address, three replicas")

            def visit(user: int, number: int) -> int:
                if number == 1 and user == users // 2:
                    say("a replica is killed")
                    kill_one()
                for _ in range(3):
                    try:
                        result = sandbox.session_for(f"user-{user}").run(STEP.format(bit=1 << number))
                        return int(result.check().value)
                    except SandboxError as error:
                        again.append(error)
                return 0

            for number in range(3):
                visits = list(ways.map(visit, range(users), [number] * users))
            say("each has made 3 visits, and none is lost" if visits == [0b111] * users else visits)
            say("calls that the lost replica did not answer, made again:", len(again))
        ray.serve.shutdown()
        ray.shutdown()


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else USERS)
