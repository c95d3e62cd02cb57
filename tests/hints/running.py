"""Runs an example in this process, as a step, and tells which rule answers it."""

from __future__ import annotations

import builtins
import contextlib
import io
import re
import sys
import warnings
from collections.abc import Sequence
from typing import Any

from safeexec.engine.child.step.errors import report
from safeexec.hints import runtime
from safeexec.protocol.plan import ImportPlan, LanguagePlan

MODULES = """
    ast math cmath statistics random datetime json re collections itertools functools decimal fractions asyncio string
    heapq csv enum dataclasses io hashlib copy operator textwrap time zoneinfo calendar contextlib typing numpy pandas
    sklearn sklearn.linear_model sklearn.model_selection sklearn.datasets matplotlib matplotlib.pyplot sympy scipy
    scipy.stats IPython.display concurrent.futures os sys gzip bz2 lzma zipfile sqlite3
"""
BUILTINS = frozenset(dir(builtins)) - {"input", "eval", "exec", "compile", "breakpoint"}
PLAN = LanguagePlan(imports={name: ImportPlan() for name in MODULES.split()}, builtins=BUILTINS)
WORKSPACE = LanguagePlan(imports=PLAN.imports, builtins=PLAN.builtins, workspace="read-write")
PLAIN = "math json re random asyncio itertools statistics collections datetime enum"
PRELUDE = {
    "np": "import numpy as np",
    "pd": "import pandas as pd",
    "plt": "import matplotlib\nmatplotlib.use('agg')\nimport matplotlib.pyplot as plt",
    "sp": "import sympy as sp",
    **{
        name: f"import {name}"
        for name in ["math", "json", "re", "random", "asyncio", "itertools", "statistics", "collections"]
    },
    **{name: f"import {name}" for name in ("datetime", "enum")},
    "Decimal": "from decimal import Decimal",
    "Fraction": "from fractions import Fraction",
    "dataclass": "from dataclasses import dataclass",
    "LinearRegression": "from sklearn.linear_model import LinearRegression",
    "LogisticRegression": "from sklearn.linear_model import LogisticRegression",
    "df": "import pandas as pd\ndf = pd.DataFrame({'region': ['N', 'S'], 'Amount': [1.5, 2], 'n': [1, 2]})",
}
"""Name that an example uses → the step that comes before it. A name that the example itself binds has none."""
FILES = ["sales_2024.csv", "notes.txt"]


def before(source: str, kind: str) -> str:
    """The step before an example; none for a name that is missing on purpose."""
    if kind in ("NameError", "ModuleNotFoundError", "UnboundLocalError"):
        return ""
    used = [name for name in PRELUDE if re.search(rf"(?<![.'\w]){name}\b(?! = )", source)]
    return "\n".join(PRELUDE[name] for name in used if not re.search(rf"^(?:import|from) .*\b{name}\b", source, re.M))


def run(source: str, prelude: str = "") -> dict[str, Any]:
    """The namespace after the steps."""
    names: dict[str, Any] = {"__name__": "__main__"}
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        exec(compile(prelude, "<step 1>", "exec"), names)
        exec(compile(source, "<step 2>", "exec"), names)
    return names


def answer(
    source: str, prelude: str = "", plan: LanguagePlan = PLAN, files: Sequence[str] = FILES
) -> tuple[str, Any, str]:
    """The class of the exception that a step ends with, the rule that answers it and the sentence."""
    names: dict[str, Any] = {"__name__": "__main__"}
    found: list[Any] = []
    original, stdin = runtime.RULES.answer, sys.stdin

    def listen(failure: Any) -> Any:
        found.append(original(failure))
        return found[-1]

    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            exec(compile(prelude, "<step 1>", "exec"), names)
            exec(compile(source, "<step 2>", "exec"), names)
    except BaseException as exc:
        sys.stdin = stdin
        runtime.RULES.answer = listen  # type: ignore[method-assign]
        sources = {"<step 1>": prelude, "<step 2>": source}
        try:
            told = report(
                exc, sources=sources, namespace=names, plan=plan, lost_names=("lost",), workspace_files=lambda: [*files]
            )
        finally:
            del runtime.RULES.answer
        rule, text = found[-1] if found and found[-1] else (None, "")
        return told.type, rule, told.hint.decode() if told.hint else text
    raise AssertionError(f"it did not fail: {source}")
