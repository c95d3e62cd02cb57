"""`safeexec example`: short programs to begin with; one is printed, so that it can be written to a file."""

from __future__ import annotations

import argparse
import ast
import sys
from pathlib import Path

from safeexec.common.matching import nearest

EXAMPLES = Path(__file__).parent.parent / "examples"


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.description = "Without NAME: the examples, a line each. With NAME: its program, to standard output."
    parser.add_argument("name", nargs="?", metavar="NAME", help="an example, as the list names it")


def main(options: argparse.Namespace) -> int:
    """List the examples, or print one. 2 for a name that there is not."""
    programs = {path.stem: path for path in sorted(EXAMPLES.glob("*.py")) if path.stem != "__init__"}
    if options.name is None:
        width = max(map(len, programs))
        for name, path in programs.items():
            print(f"{name:{width}}  {summary(path)}")
        return 0
    wanted = options.name.removesuffix(".py").replace("-", "_")
    if wanted not in programs:
        near = nearest(wanted, programs)
        advice = f"did you mean {near[0]}?" if near else f"there are {', '.join(programs)}"
        print(f"safeexec example: no example {options.name!r}; {advice}", file=sys.stderr)
        return 2
    print(programs[wanted].read_text(encoding="utf-8"), end="")
    return 0


def summary(path: Path) -> str:
    """Return the first line of an example's docstring, and the libraries that it needs."""
    lines = (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").splitlines()
    needs = next((line for line in lines if line.startswith("Needs: ")), "")
    return f"{lines[0]} ({needs[0].lower()}{needs[1:]})" if needs else lines[0]
