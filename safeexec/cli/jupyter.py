"""`safeexec jupyter`: make the kernel known to JupyterLab, Notebook, VS Code and nbclient; list and remove it."""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from safeexec import Policy, SandboxError
from safeexec.cli.common import add_policy_option, tell
from safeexec.common.text import one_line

if TYPE_CHECKING:
    from jupyter_client.kernelspec import KernelSpecManager

MODULE = "safeexec.servers.jupyter"
_NAME = re.compile(r"[A-Za-z0-9._-]{1,100}")


def add_options(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    install = actions.add_parser("install", help="make the kernel known to Jupyter")
    add_policy_option(install, "data-analysis")
    install.add_argument("--name", default="safeexec", help="the kernel's name (default: safeexec)")
    listed = actions.add_parser("list", help="the kernels that are ours")
    remove = actions.add_parser("remove", help="make it unknown again")
    remove.add_argument("name", nargs="?", default="safeexec", help="the kernel's name (default: safeexec)")
    for action in (install, listed, remove):
        place = action.add_mutually_exclusive_group()
        place.add_argument("--user", action="store_true", help="for this user (the default)")
        place.add_argument("--prefix", metavar="DIR", help="in DIR/share/jupyter/kernels, as of a virtual environment")


def main(options: argparse.Namespace) -> int:
    """Run one action. Raises `SandboxError` where it cannot be."""
    if importlib.util.find_spec("ipykernel") is None:
        raise SandboxError("the Jupyter kernel needs ipykernel: pip install 'safeexec[jupyter]'")
    from jupyter_client.kernelspec import KernelSpecManager

    manager = KernelSpecManager()
    if options.prefix is not None:
        manager.kernel_dirs = [os.path.join(options.prefix, "share", "jupyter", "kernels")]
    {"install": _install, "list": _list, "remove": _remove}[options.action](manager, options)
    return 0


def _install(manager: KernelSpecManager, options: argparse.Namespace) -> None:
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
        placed = manager.install_kernel_spec(directory, options.name, user=user, prefix=options.prefix)
    tell(f"installed the kernel {options.name} with the policy {policy.name} in {placed}")


def _ours(manager: KernelSpecManager) -> dict[str, tuple[str, list[str]]]:
    """Return name → directory and command of each kernel that runs this module."""
    found = manager.get_all_specs()
    return {
        name: (row["resource_dir"], row["spec"]["argv"])
        for name, row in sorted(found.items())
        if MODULE in row["spec"].get("argv", ())
    }


def _list(manager: KernelSpecManager, options: argparse.Namespace) -> None:
    for name, (directory, command) in _ours(manager).items():
        policy = command[command.index("--policy") + 1] if "--policy" in command else ""
        tell(f"{one_line(name):20} {one_line(policy):30} {one_line(directory)}")


def _remove(manager: KernelSpecManager, options: argparse.Namespace) -> None:
    if options.name not in _ours(manager):
        raise SandboxError(
            f"there is no kernel {one_line(options.name)!r} of safeexec; `safeexec jupyter list` shows them"
        )
    tell(f"removed {manager.remove_kernel_spec(options.name)}")
