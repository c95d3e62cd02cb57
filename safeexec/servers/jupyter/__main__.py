"""The program of the Jupyter kernel: `python -P -m safeexec.servers.jupyter --policy NAME -f FILE`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from safeexec.servers.jupyter.notebook import Notebook


def main(argv: Sequence[str] | None = None) -> None:
    """Serve one front end until it shuts the kernel down."""
    parser = argparse.ArgumentParser(prog="safeexec.servers.jupyter")
    parser.add_argument("--policy", default="data-analysis")
    options, rest = parser.parse_known_args(argv)
    notebook = Notebook(options.policy)
    try:
        from safeexec.servers.jupyter import kernel  # while the sandbox starts

        app = kernel.SafeexecKernelApp.instance(kernel_class=kernel.SafeexecKernel, outstream_class=None)
        app.initialize(rest)
        app.kernel.notebook = notebook
        app.start()
    finally:
        notebook.close()


if __name__ == "__main__":
    main()
