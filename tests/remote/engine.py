"""What stands for a container engine in tests: it runs the command of a container here, and nothing else.

As the program of an engine: ``python engine.py run … --entrypoint safeexec IMAGE serve --stdio --owned``.
SAFEEXEC_TESTS_ENGINE says what is wrong with it.
"""

from __future__ import annotations

import os
import sys
import time
from itertools import pairwise


def main(arguments: list[str]) -> None:
    wrong = os.environ.get("SAFEEXEC_TESTS_ENGINE", "")
    if arguments[0] != "run":
        sys.exit(0)
    if wrong == "no image":
        sys.exit("Error: localhost/safeexec: image not known")
    if wrong == "hangs":
        time.sleep(600)
    at = arguments.index("--entrypoint")
    options = arguments[1:at]
    held = [("--network", "none"), ("--cap-drop", "all"), ("--security-opt", "no-new-privileges"), ("--pull", "never")]
    if "--read-only" not in options or any(pair not in pairwise(options) for pair in held):
        sys.exit(f"a container that holds less: {options}")
    program = "import sys; from safeexec.cli import main; sys.exit(main(sys.argv[1:]))"
    if wrong == "another version":
        program = "import safeexec; safeexec.__version__ = '0.0.1'; " + program
    os.environ.pop("SAFEEXEC_ENGINE")
    os.execv(sys.executable, [sys.executable, "-c", program, *arguments[at + 3 :]])


if __name__ == "__main__":
    main(sys.argv[1:])
