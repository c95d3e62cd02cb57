"""`safeexec jupyter install`: make the kernel known to JupyterLab, Notebook, VS Code and nbclient."""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import sys
import tempfile
from pathlib import Path

from safeexec import Policy, SandboxError
from safeexec.cli.common import add_policy_option, print_safely
from safeexec.common.text import one_line

MODULE = "safeexec.servers.jupyter"
_NAME = re.compile(r"[A-Za-z0-9._-]{1,100}")


def add_options(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    install = actions.add_parser("install", help="make the kernel known to Jupyter")
    install.description = (
        "`jupyter kernelspec list` shows what is installed, `jupyter kernelspec remove` takes it away."
    )
    add_policy_option(install, "data-analysis")
    install.add_argument("--name", default="safeexec", help="the kernel's name (default: safeexec)")
    place = install.add_mutually_exclusive_group()
    place.add_argument("--user", action="store_true", help="for this user (the default)")
    place.add_argument("--prefix", metavar="DIR", help="in DIR/share/jupyter/kernels, as of a virtual environment")


def main(options: argparse.Namespace) -> int:
    """Install the kernel. Raises `SandboxError` where that cannot be."""
    if importlib.util.find_spec("ipykernel") is None:
        raise SandboxError("the Jupyter kernel needs ipykernel: pip install 'safeexec[jupyter]'")
    from jupyter_client.kernelspec import KernelSpecManager

    if not _NAME.fullmatch(options.name):
        raise SandboxError(f"{one_line(options.name)!r} is no kernel's name: letters, digits, '.', '_' and '-'")
    policy = Policy.load(options.policy)
    given = os.path.abspath(options.policy) if os.path.isfile(options.policy) else options.policy
    spec = {
        # -P: nothing is imported from the directory of a notebook.
        "argv": [sys.executable, "-P", "-m", MODULE, "--policy", given, "-f", "{connection_file}"],
        "display_name": f"Python, sandboxed ({one_line(policy.name, 60)})",
        "language": "python",
        "interrupt_mode": "message",
        "metadata": {"debugger": False},
    }
    with tempfile.TemporaryDirectory() as directory:
        Path(directory, "kernel.json").write_text(json.dumps(spec, indent=1) + "\n", encoding="utf-8")
        Path(directory).chmod(0o755)
        user = options.prefix is None
        placed = KernelSpecManager().install_kernel_spec(directory, options.name, user=user, prefix=options.prefix)
    print_safely(f"installed the kernel {options.name} with the policy {policy.name} in {placed}")
    return 0
