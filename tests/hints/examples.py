"""Runs the examples of the rules for exceptions and prints what is wrong with them; ``0`` or ``1`` is which half."""

from __future__ import annotations

import json
import pathlib
import sys
from collections.abc import Iterator

from safeexec.hints.rules import HintRule
from safeexec.hints.runtime import RULES
from safeexec.protocol.plan import LanguagePlan
from tests.hints.running import FILES, PLAN, WORKSPACE, answer, before, run

OWN_HINT = LanguagePlan(imports=PLAN.imports, builtins=PLAN.builtins, hints={"price": "Call `fetch_price(item)`."})


def examples() -> list[HintRule]:
    """Each rule that has an example, once: a rule for several exceptions has one."""
    every = [rule for rules in RULES.by_kind.values() for rule in rules if rule.wrong and rule.kind != "PatternError"]
    return list({(rule.hint, rule.wrong): rule for rule in reversed(every)}.values())


def plan_for(rule: HintRule) -> LanguagePlan:
    """The policy that the rule holds under."""
    if "_with_prefix" in str(rule.hint):
        return LanguagePlan(imports=PLAN.imports, builtins=PLAN.builtins, tools=("fetch_price",))
    if "price" in rule.wrong and "_of_policy" in str(rule.hint):
        return OWN_HINT
    of_files = rule.kind in ("FileNotFoundError", "FileExistsError", "IsADirectoryError", "NotADirectoryError")
    of_files = of_files or rule.kind == "PermissionError"
    return WORKSPACE if of_files and "_no_files" not in str(rule.hint) else PLAN


def faults(rule: HintRule) -> Iterator[str]:
    """What is wrong with the example: it does not fail, another rule answers, the mended form fails."""
    try:
        kind, found, text = answer(rule.wrong, before(rule.wrong, rule.kind), plan_for(rule))
        if found is None or (found.hint is not rule.hint and sys.version_info < (3, 12)):  # later ones use other words
            yield f"{rule.wrong!r}: {kind} is answered by another rule: {text}"
        elif text[-1] not in ".?":
            yield f"{rule.wrong!r}: no sentence: {text}"
    except BaseException as exc:
        yield f"{rule.wrong!r}: {exc!r}"
    try:
        run(rule.right, before(rule.right, rule.kind))
    except BaseException as exc:
        yield f"{rule.right!r} fails: {exc!r}"


if __name__ == "__main__":
    for absent in ("jinja2", "tabulate"):  # examples are of a machine without them
        sys.modules[absent] = None  # type: ignore[assignment]
    for name in FILES:
        pathlib.Path(name).write_text("a,b\n1,2\n")
    chosen = examples()[int(sys.argv[1]) :: 2]
    print(json.dumps({"examples": len(chosen), "wrong": [fault for rule in chosen for fault in faults(rule)]}))
