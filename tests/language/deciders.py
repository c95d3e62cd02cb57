"""Who decides about each kind of node: the table in ``safeexec/language/README.md``.

python -m tests.language.deciders       writes the table anew
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from RestrictedPython.transformer import RestrictingNodeTransformer

from safeexec.language.transformer import ONLY_CONTENTS, StepTransformer

PAGE = Path(__file__).parents[2] / "safeexec" / "language" / "README.md"
BEGIN, END = "<!-- who decides: python -m tests.language.deciders -->\n", "<!-- end -->"
OURS = {name: value for name, value in vars(StepTransformer).items() if callable(value) and not name.startswith("__")}
HOOKS = sorted(name for name in OURS if hasattr(RestrictingNodeTransformer, name) and not name.startswith("visit_"))
"""What the base class calls, and is ours."""


def table() -> str:
    """Both tables, in Markdown."""
    methods = sorted(name for name in dir(StepTransformer) if name.startswith("visit_"))
    kinds = {name.removeprefix("visit_"): getattr(StepTransformer, name) for name in methods}
    ours = {kind: _told(method) for kind, method in kinds.items() if f"visit_{kind}" in OURS} | ONLY_CONTENTS
    theirs = {kind: method for kind, method in kinds.items() if kind not in ours}
    plain = [kind for kind, method in theirs.items() if _only_visits_contents(method)]
    rows = ["| node | who decides | what, and why ours differs |", "| --- | --- | --- |"]
    rows.append(f"| {', '.join(map(_code, plain))} | base class | allowed; their contents are visited |")
    rows += [f"| `{kind}` | base class{_by(method)} | {_told(method)} |" for kind, method in theirs.items()
             if kind not in plain]  # fmt: skip
    rows += [f"| `{kind}` | ours | {ours[kind]} |" for kind in sorted(ours)]
    rows.append(f"| any other | ours (`generic_visit`) | {_told(StepTransformer.generic_visit)} |")
    rows += ["", "| what the base class calls | ours, because |", "| --- | --- |"]
    rows += [f"| `{name}` | {_told(OURS[name])} |" for name in HOOKS]
    return "\n".join(rows) + "\n"


def _by(method: Any) -> str:
    called = [name for name in HOOKS if name in method.__code__.co_names and name != "node_contents_visit"]
    return f", by our {', '.join(map(_code, called))}" if called else ""


def _only_visits_contents(method: Any) -> bool:
    """Whether all that a method of the base class does is to visit what the node holds."""
    return bool(method.__code__.co_names == ("node_contents_visit",))


def _code(name: str) -> str:
    return f"`{name}`"


def _told(method: Any) -> str:
    """The first sentence of a docstring."""
    lines = (method.__doc__ or "").strip().split("\n\n")[0].split("\n")
    text = " ".join(line.strip() for line in lines).replace("``", "`").replace("|", "\\|")
    return text or "as the method that it calls"


def main() -> None:
    """Write the table into the page."""
    text = PAGE.read_text()
    head, _, rest = text.partition(BEGIN)
    PAGE.write_text(head + BEGIN + table() + END + rest.partition(END)[2])


if __name__ == "__main__":
    main()
