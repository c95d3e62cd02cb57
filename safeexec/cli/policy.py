"""`safeexec policy`: list, show, check and compare profiles, and ask why something is allowed or refused."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from safeexec import Policy, PolicyError, compare_policies
from safeexec.cli.common import add_policy_option, print_safely, read_source
from safeexec.common.text import one_line, printable

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable

    from safeexec.engine.policy.diff import Difference


def add_options(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(dest="policy_command", required=True, metavar="COMMAND")

    commands.add_parser("list", help="every profile that can be loaded by name")

    show = commands.add_parser("show", help="a profile with all that it extends, as one YAML file")
    show.add_argument("policy", nargs="?", default="standard", help="name or path (default: standard)")
    show.add_argument("--json", action="store_true", help="as JSON")

    check = commands.add_parser("check", help="find every mistake in policy files")
    check.add_argument("policy", nargs="*", help="names or paths (default: every profile)")
    check.add_argument("--json", action="store_true", help="as JSON")
    check.add_argument(
        "--strict",
        action="store_true",
        help="notes count as mistakes",
    )

    diff = commands.add_parser("diff", help="what the second policy says differently; exit code 1 if anything")
    diff.add_argument("before", metavar="OLD", nargs="?", help="name or path")
    diff.add_argument("after", metavar="NEW", help="name or path")
    diff.add_argument(
        "--since", metavar="VERSION", default="", help="in place of OLD: NEW with the profiles of that version (0.9)"
    )
    diff.add_argument(
        "--recording",
        nargs="+",
        default=[],
        metavar="FILE",
        help="say which of its steps end differently under OLD and NEW",
    )
    diff.add_argument(
        "--only-narrower",
        action="store_true",
        help="exit code 1 only where NEW allows anything that OLD does not: a check of a team's file",
    )
    diff.add_argument("--json", action="store_true", help="as JSON: {differences, steps}")

    learn = commands.add_parser("learn", help="what recorded steps need beyond a profile, for you to review")
    learn.add_argument("recording", nargs="+", metavar="FILE", help="what `session(record=FILE)` wrote")
    learn.add_argument("--extends", default="calculator", metavar="NAME", help="that profile (default: calculator)")

    why = commands.add_parser(
        "why", help="is a name allowed, by which line, and what else to use; exit code 1 if refused"
    )
    why.add_argument(
        "name",
        nargs="*",
        help="module, module.name, .attribute, builtin, construct (walrus, async), system call (socket()), "
        "or setting (limits.memory_mb)",
    )
    add_policy_option(why)
    why.add_argument("--program", metavar="FILE", help="everything a program would need (- is standard input)")
    why.add_argument("--json", action="store_true", help="as JSON")


def main(args: argparse.Namespace) -> int:
    """Run the chosen subcommand. Raises `PolicyError` for mistakes in names and files."""
    commands: dict[str, Callable[[argparse.Namespace], int]] = {
        "list": _list,
        "show": _show,
        "check": _check,
        "diff": _diff,
        "why": _why,
        "learn": _learn,
    }
    return commands[args.policy_command](args)


def _list(args: argparse.Namespace) -> int:
    profiles = Policy.profiles()
    width = max(map(len, profiles), default=0)
    status = 0
    for name, path in profiles.items():
        try:
            description = " ".join(Policy.load(path).description.split())
        except PolicyError as error:
            print_safely(error, file=sys.stderr)
            description, status = "(cannot be loaded)", 1
        print_safely(f"{one_line(name):{width}}  {description}\n{'':{width}}  {one_line(str(path))}")
    return status


def _show(args: argparse.Namespace) -> int:
    policy = Policy.load(args.policy)
    if args.json:
        _print_json(policy.content())
        return 0
    print_safely(f"# {policy.name}, from {', which extends '.join(policy.files)}")
    print_safely(f"# sha256 {policy.digest}")
    text = policy.to_yaml()
    print(printable(text) if sys.stdout.isatty() else text, end="")
    return 0


def _check(args: argparse.Namespace) -> int:
    wrong, rows = 0, []
    for name in args.policy or Policy.profiles():
        findings: list[object] = []
        try:
            found = Policy.examine(name)
            findings += found
            mistakes = sum((args.strict and not finding.news) or not finding.harmless for finding in found)
        except PolicyError as error:
            findings.append({"rule": "", "path": "", "text": str(error), "harmless": False} if args.json else error)
            mistakes = max(1, len(error.mistakes))
        wrong += bool(mistakes)
        rows.append({"policy": str(name), "ok": not mistakes, "findings": findings})
        if not args.json:
            for finding in findings:
                print_safely(finding, file=sys.stderr)
            print_safely(
                f"{name}: {'ok' if not mistakes else '1 mistake' if mistakes == 1 else f'{mistakes} mistakes'}"
            )
    if args.json:
        _print_json(rows)
    return 1 if wrong else 0


def _diff(args: argparse.Namespace) -> int:
    after = Policy.load(args.after)
    if (args.before is None) != bool(args.since):
        raise PolicyError("policy diff compares two policies; or one with what it was, --since VERSION")
    before = Policy.load(args.before or args.after, since=args.since)
    changed = compare_policies(before, after, args.recording)
    differences = before.diff(after)
    wider = [difference for difference in differences if difference.allows_more]
    failed = wider if args.only_narrower else differences
    if args.json:
        rows = [difference._asdict() for difference in differences]
        _print_json({"differences": rows, "steps": changed})
        return 1 if failed or changed else 0
    for step in changed:
        print_safely(step)
    if args.recording:
        print_safely("" if changed else f"every recorded step ends as under {before.name}\n")
    _tell_differences(differences)
    if args.only_narrower and wider:
        print_safely(
            f"{after.name} is wider than {before.name}: {', '.join(one.path for one in wider)}", file=sys.stderr
        )
    return 1 if failed or changed else 0


def _tell_differences(differences: Iterable[Difference]) -> None:
    """Print them, a line each; modules that came or went are in one line for each place that says so."""
    modules: dict[str, list[str]] = {}
    for difference in differences:
        was, now = difference.before, difference.after
        sign = "+" if was is None and now == "all" else "-" if was == "all" and now is None else ""
        if difference.path.startswith("imports.") and sign:
            place = difference.rule if sign == "-" else difference.rule.partition(":")[0]
            modules.setdefault(place, []).append(sign + difference.path.removeprefix("imports."))
        else:
            print_safely(difference)
    for place, changes in modules.items():
        more, less = (any(change[0] == sign for change in changes) for sign in "+-")
        way = "wider and narrower" if more and less else "wider" if more else "narrower"
        print_safely(f"imports: {' '.join(changes)}   [{way}]{f'   ({place})' if place else ''}")


def _learn(args: argparse.Namespace) -> int:
    learnt = Policy.learn(args.recording, args.extends)
    print_safely(f"# learnt from {', '.join(args.recording)}: read it before you use it")
    for reason in learnt.left_out:
        print_safely(f"# not in it: {one_line(reason)}")
    print_safely(learnt.yaml.rstrip())
    return 0


def _why(args: argparse.Namespace) -> int:
    policy = Policy.load(args.policy)
    if args.program:
        return _why_program(policy, args)
    if not args.name:
        raise PolicyError("policy why needs a name, or --program FILE")
    # `policy why from math import sqrt` is one name in several words
    names = [" ".join(args.name)] if args.name[0] in ("from", "import", "async", "yield") else args.name
    answers = [policy.why(name) for name in names]
    if args.json:
        _print_json(answers)
    else:
        print_safely(*answers, sep="\n")
    return 0 if all(answer.allowed for answer in answers) else 1


def _why_program(policy: Policy, args: argparse.Namespace) -> int:
    try:
        source = read_source(args.program)
    except OSError as error:
        raise PolicyError(f"the program {args.program} cannot be read: {error}") from None
    found = policy.needs(source)
    if args.json:
        _print_json(found)
        return 1 if found.refused else 0
    for need in found.refused:
        print_safely(f"line {need.line}: {need.answer}")
    if allowed := [f"{need.answer.name} (line {need.line})" for need in found.needs if need.answer.allowed]:
        print_safely(f"{policy.name} allows {', '.join(allowed)}")
    if not found.refused:
        print_safely(f"{policy.name} refuses nothing of it")
    if found.grant:
        print_safely(f"\n# the smallest policy that allows it:\n{found.grant.rstrip()}")
    for need in found.impossible:
        print_safely(f"# not in it: {need.answer.name} (line {need.line}): {need.answer.reason}")
    return 1 if found.refused else 0


def _print_json(content: object) -> None:
    import json

    import msgspec

    print(json.dumps(msgspec.to_builtins(content), indent=2))  # in ASCII, so that nothing acts on a terminal
