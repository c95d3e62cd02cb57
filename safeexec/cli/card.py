"""`safeexec card`: what guest code may use under a policy, short enough for a system prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from safeexec import Policy
from safeexec.cli.common import add_policy_option

if TYPE_CHECKING:
    import argparse


def add_options(parser: argparse.ArgumentParser) -> None:
    add_policy_option(parser)
    parser.add_argument("--format", choices=["text", "markdown", "json"], default="text")


def main(args: argparse.Namespace) -> int:
    """Print the card. Raises `PolicyError` for an unknown policy."""
    card = Policy.load(args.policy).card(format=args.format)
    print(card, end="" if card.endswith("\n") else "\n")
    return 0
