"""`safeexec plugin check`: whether a plugin can be loaded, what it exports, and what is wrong with it."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from msgspec.structs import replace

from safeexec import PluginError, PolicyError, Sandbox, plugin_manifest
from safeexec.cli.common import print_error, print_safely


def add_options(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    check = actions.add_parser(
        "check",
        help="load a plugin, print what it exports",
        description="Loads a plugin under the policy that its manifest names, and calls nothing. Exit status 1: it "
        "cannot be loaded.",
    )
    check.add_argument("source", metavar="DIR", help="a directory of modules, or a file")
    check.add_argument("--policy", "-p", metavar="P", help="a profile's name or a YAML file (default: the manifest's)")
    check.add_argument("--api", type=int, metavar="N", help="the version of your interface for plugins")
    check.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a setting, as JSON or text")
    check.add_argument("--json", action="store_true", help="print one JSON object")


def main(options: argparse.Namespace) -> int:
    """Load the plugin. 0: it can be loaded. 1: it cannot, and why."""
    try:
        manifest = plugin_manifest(options.source, find_policy=options.policy is None)
        with Sandbox(options.policy or manifest.policy or "plugin") as sandbox:
            settings = dict(map(_setting, options.set))
            with sandbox.plugin(options.source, api=options.api, settings=settings, checkpoints="off") as plugin:
                exports = plugin.exports
            policy = sandbox.policy.name
    except (PluginError, PolicyError) as error:
        if options.json:
            print(json.dumps({"ok": False, "problem": str(error)}))
            return 1
        if isinstance(error, PluginError) and error.result is not None:
            print_safely(str(error).partition("\n")[0], file=sys.stderr)  # `print_error` has the other lines
            print_error(replace(error.result, state="kept", notes=()))  # nobody goes on with what it left
        else:
            print_safely(error, file=sys.stderr)
        return 1
    if options.json:
        summary = {"name": manifest.name, "version": manifest.version, "policy": policy, "exports": exports}
        print(json.dumps({"ok": True} | summary))
        return 0
    print_safely(f"{manifest.name or options.source} {manifest.version}".rstrip() + f", under {policy}")
    if not exports:
        print_safely(
            "  exports nothing: its main module defines no public function or class (list others in `exports`)"
        )
    for name, signature in exports.items():
        print_safely(f"  {name}{signature}")
    for name, setting in manifest.settings.items():
        print_safely(f"  setting {name}: {setting}")
    return 0


def _setting(text: str) -> tuple[str, Any]:
    """Return a setting and its value, ``rate=0.2`` as ("rate", 0.2); what is not JSON is text."""
    name, _, value = text.partition("=")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value
