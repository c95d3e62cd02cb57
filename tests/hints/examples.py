"""Runs the examples of the rules for exceptions and prints what is wrong with them; ``0`` or ``1`` is which half."""

from __future__ import annotations

import json
import pathlib
import sys
from collections.abc import Iterator

from safeexec.protocol.plan import LanguagePlan
from tests.hints.mended import EXAMPLES
from tests.hints.running import FILES, PLAN, WORKSPACE, answer, before, run

OWN_HINT = LanguagePlan(imports=PLAN.imports, builtins=PLAN.builtins, hints={"price": "Call `fetch_price(item)`."})
WITH_TOOL = LanguagePlan(imports=PLAN.imports, builtins=PLAN.builtins, tools=("fetch_price",))
OF_FILES = ("FileNotFoundError", "FileExistsError", "IsADirectoryError", "NotADirectoryError", "PermissionError")
PLANS = {
    "price()": OWN_HINT,
    "x = 3\nx.price": OWN_HINT,
    "functions.fetch_price('a')": WITH_TOOL,
    "functions.fetchprice('a')": WITH_TOOL,
    "open('data.csv')": PLAN,
}
"""The policies that single examples are run under."""


def faults(kind: str, wrong: str, right: str, says: str, told: set[str]) -> Iterator[str]:
    """What is wrong with an example: it does not fail, no rule answers, or another one, the mended form fails."""
    try:
        plan = PLANS.get(wrong, WORKSPACE if kind in OF_FILES else PLAN)
        failed, found, text = answer(wrong, before(wrong, kind), plan)
        if found is None:
            yield f"{wrong!r}: {failed} has no answer"
        elif text[-1] not in ".?":
            yield f"{wrong!r}: no sentence: {text}"
        elif not text.startswith(says) and sys.version_info < (3, 12):  # later ones use other words
            yield f"{wrong!r}: another hint: {text}"
        else:
            told.add(name_of(found.hint))
    except BaseException as exc:
        if sys.version_info < (3, 12) or "did not fail" not in str(exc):  # what a later one can do
            yield f"{wrong!r}: {exc!r}"
    try:
        run(right, before(right, kind))
    except BaseException as exc:
        yield f"{right!r} fails: {exc!r}"


def name_of(hint: object) -> str:
    """The sentence of a rule, or the function that makes it."""
    return hint if isinstance(hint, str) else f"{hint.__module__}.{hint.__name__}"  # type: ignore[attr-defined]


if __name__ == "__main__":
    for absent in ("jinja2", "tabulate"):  # examples are of a machine without them
        sys.modules[absent] = None  # type: ignore[assignment]
    for name in FILES:
        pathlib.Path(name).write_text("a,b\n1,2\n")
    answered: set[str] = set()
    wrong = [fault for example in EXAMPLES[int(sys.argv[1]) :: 2] for fault in faults(*example, answered)]
    print(json.dumps({"answered": sorted(answered), "wrong": wrong}))
