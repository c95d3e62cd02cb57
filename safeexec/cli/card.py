"""`safeexec card`: what guest code may use under a policy, short enough for a system prompt."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from safeexec import Policy

if TYPE_CHECKING:
    import argparse


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("policy", nargs="?", help="name or path (default: standard)")
    parser.add_argument("--policy", "-p", dest="option", help="the same, as the other commands take it")
    parser.add_argument("--format", choices=["text", "markdown", "json"], default="text")


def main(args: argparse.Namespace) -> int:
    """Print the card. Raises `PolicyError` for an unknown policy."""
    if args.option is not None and args.policy is not None:
        print("safeexec card: one policy: -p, or its name without it", file=sys.stderr)
        return 2
    card = Policy.load(args.option or args.policy or "standard").card(format=args.format)
    print(card, end="" if card.endswith("\n") else "\n")
    return 0
