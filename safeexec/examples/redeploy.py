"""A math backend through a redeploy: what users have defined outlives the process; what costs something happens once.

Prints:

    ada, first server: 5
    ada, second server: 7
    ben, second server: name 'f' is not defined
    the server was killed while ada's step ran; charged: [3, 4]
    ada, third server: 7
    told: charge(4) of step 3 was begun: nobody knows what became of it
    in the store: ada, ben
"""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from safeexec import Sandbox

STORE = Path(os.environ.get("STORE", ""))


def charge(units: int) -> int:
    """Return what must not happen twice: it is written down before it is called, and after."""
    with open(STORE / "charged", "a") as file:
        print(units, file=file)
    if units == 4:
        os.kill(os.getpid(), signal.SIGKILL)  # the machine goes down
    return units


def serve(name: str, requests: list[tuple[str, str]]) -> None:
    """One life of the server."""
    with Sandbox("standard", tools=[charge], store=STORE / "sessions", durable="step") as sandbox:
        for user, source in requests:
            result = sandbox.session_for(user).run(source)
            told = result.error.message if result.error else result.value
            print(f"{user}, {name} server: {told}", flush=True)
            for note in result.notes:
                if "charge" in note:
                    print("told:", note, flush=True)
        if name == "third":
            print("in the store:", ", ".join(sorted(row.label for row in sandbox.stored())))


LIVES = {
    "first": [("ada", "def f(x): return x ** 2 + offset\noffset = 1\nf(2)")],
    "second": [
        ("ada", "offset += charge(3) - 1\nf(2)"),
        ("ben", "f(2)"),
        ("ada", "offset = charge(4)"),
    ],
    "third": [("ada", "f(2)")],
}


def main() -> None:
    """Three servers, one after the other, with one store."""
    with tempfile.TemporaryDirectory() as directory:
        for life in LIVES:
            done = subprocess.run([sys.executable, __file__, life], env={**os.environ, "STORE": directory})
            if done.returncode:
                charged = [int(line) for line in Path(directory, "charged").read_text().split()]
                print(f"the server was killed while ada's step ran; charged: {charged}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:]:
        serve(sys.argv[1], LIVES[sys.argv[1]])
    else:
        main()
