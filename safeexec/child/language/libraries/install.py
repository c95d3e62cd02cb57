"""All changes to libraries, for one program."""

from __future__ import annotations

import sys
from typing import Any

from safeexec.child.language.libraries import (
    documents,
    imports,
    methods,
    numbers,
    reads,
    signatures,
    standard,
    tables,
    templates,
    typing_objects,
)
from safeexec.compiler.rules import Rules


def guard_libraries(rules: Rules, guest_globals: dict[str, Any], table: dict[str, Any]) -> None:
    """Change the modules of libraries, now or when each is imported. `guest_globals` is the program's namespace,
    `table` its builtins.
    """
    reads.guard(rules)  # first: others keep the `getattr` that it gives to a module
    imports.guard(rules)
    methods.guard()
    signatures.guard(rules, table)
    standard.guard(rules)
    typing_objects.guard()
    documents.guard()
    numbers.guard()
    tables.guard()
    templates.guard()
    if any(name.partition(".")[0] not in sys.stdlib_module_names for name in rules.plan.imports):
        from safeexec.child.language.libraries import eval_sinks, interchange  # for programs that have libraries

        eval_sinks.guard(rules, guest_globals, table)
        interchange.guard()
