"""Text that a stranger wrote, read in the host: a result, or an error of safeexec."""

# ruff: noqa: E501  (lists of odd signs read best when they fill their lines)

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import yaml
from hypothesis import strategies as st

from safeexec import PluginError, Policy, PolicyError
from safeexec.api.plugins.source import read_manifest
from safeexec.engine.policy.document import Document
from safeexec.engine.policy.settings import Limits
from tests.agent import test_strangers_texts as of_agents
from tests.fuzz.mutation import drawn, edited, lines_mutated, mutated
from tests.fuzz.target import Target, plain
from tests.untrusted import hostile
from tests.untrusted import test_readers as of_readers

READERS = of_readers.READERS | of_agents.READERS
TEXTS = sorted(hostile.TEXTS)
SEEDS = [
    "Here is it:\n\n```python\nimport math\nprint(math.pi)\n```\n\nDone.",
    "<think>so</think>\n<execute_python>\nx = 1\nx\n</execute_python>",
    '{"name": "run_python", "arguments": {"code": "print(1)"}}',
    "<table><tr><td>1</td><td>a &amp; b</td></tr></table>",
    "| a | b |\n| --- | --- |\n| 1 | 2 |\n",
    "\\frac{1}{2} + \\sqrt{3} \\cdot \\text{m}",
    "--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,2 @@\n-a\n+c\n b\n",
    "=== FAILURES ===\nE   assert 1 == 2\nFAILED tests/test_x.py::test_y - assert 1 == 2\n1 failed, 2 passed in 0.1s\n",
    "The answer is 1,234.5 x 10^3, about -2 3/4 or 50 %, at most 3/7 and not 2e400.",
    "a: [1, 2]\nb: {c: |\n  text\n  more\n}\n- x\n",
    'File "<step 1>", line 3 in f\n  File "/usr/lib/x.py", line 9 in g\n',
    "# -*- coding: latin-1 -*-\nx = 1\n",
]
SIGNS = [*hostile.STRANGE, *hostile._UNITS, *hostile.SHORT[:20], "1" * 400, "\n\n", "```", "</think>", "None", "1e999"]

PROFILES = sorted(Path(path) for path in Policy.profiles(shipped=True).values())
POLICIES = [path.read_text(encoding="utf-8") for path in PROFILES]
POLICIES += [
    "extends: standard\nimports: {add: [json, 'collections.abc'], remove: [re]}\nlimits: {memory_mb: 64}\n",
    "extends: calculator\nbuiltins: {except: [print]}\nlanguage: {mode: restricted, refuse: [decorator]}\n",
]
WORDS = [
    *Document.__struct_fields__, *Limits.__struct_fields__, "add", "remove", "except", "standard", "restricted", "python", "numpy",
    "math", "true", "null", "-1", "0", "1e9", "99999999999999999999", ".inf", ".nan", "0x10", "[]", "{}", "[a, a]", "''", "read-write", "&a", "*a",
    "!!int", "2020-01-01", ": ", "- ", "\n", "\n  ", "'", '"', "#", "\t", "é", "\u2028", "\ud800", "all", "idle", "*", "os.path", "a.b.c", "..",
]  # fmt: skip
MANIFESTS = [
    "name: prices\nversion: 1.2\ndescription: of things\nmain: prices\nrequires: [standard]\n",
    "name: a\nexports: [transform, Point.move]\nsettings:\n  rate: {type: number, default: 1.5, description: x}\n",
    "settings:\n  mode: {type: string, default: a, choices: [a, b]}\n  on: {type: boolean, default: true}\n",
]
SETTINGS = [*WORDS, "type: ", "default: ", "choices: ", "minimum: ", "number", "integer", "list", "string", "exports: "]


def read(given: list[str]) -> None:
    """The name of a reader and a text."""
    name, text = given[0], "".join(given[1:])
    (of_agents if name in of_agents.READERS else of_readers).tolerant(READERS[name])(text)


def _texts() -> st.SearchStrategy[list[str]]:
    names = sorted(READERS)

    def make(random: Random) -> list[str]:
        if random.random() < 0.1:
            return [random.choice(names), hostile.TEXTS[random.choice(TEXTS)](random.randint(1, 3000))]
        return [random.choice(names), edited(random, SEEDS, SIGNS, 8)]

    return drawn(make)


def policy(text: str) -> None:
    """A policy, which every question can be asked about, or a `PolicyError`."""
    try:
        found = Policy.from_yaml(text)
    except PolicyError as error:
        assert str(error)
        return
    found.language_plan()
    found.limits_plan()
    assert json.dumps(found.card("json")) and found.card() and found.why("numpy.load") and found.why("eval")
    found.needs("import json\nprint(open('x'))")
    again = Policy.from_yaml(found.to_yaml())
    assert not [difference for difference in again.diff(found) if difference]


def _documents() -> st.SearchStrategy[str]:
    """Documents of the right keys with values of any kind."""
    values: list[Any] = [
        None, True, 0, 1, -1, 2**70, 1.5, float("nan"), "", "x", "math", "standard", [], {}, ["math", "json"], ["", 1],
        {"add": ["json"]}, {"remove": ["json"]}, {"add": [], "remove": []}, {"except": ["print"]}, {"a": {"b": []}},
        {"math": ["pi"]}, {"math": {"except": ["pi"]}}, {"mode": "python"}, {"refuse": ["decorator"]}, {"seed": 1},
        {"memory_mb": 1}, {"wall_seconds": 1e308}, {"threads": -1}, {"workspace": "read"}, {"json": {"add": ["x"]}},
    ]  # fmt: skip
    keys = [*Document.__struct_fields__, "unheard", ""]

    def make(random: Random) -> str:
        document = {random.choice(keys): random.choice(values) for _ in range(random.randint(1, 5))}
        document["extends"] = random.choice(["standard", "calculator", "data-analysis", "confined-python", "x"])
        return yaml.safe_dump(document)

    return drawn(make)


def manifest(text: str) -> None:
    """A manifest or a `PluginError`."""
    try:
        read_manifest(text)
    except PluginError as error:
        assert str(error)


TARGETS = [
    Target("readers", "every reader of strangers' text: replies, tables, diffs, logs", _texts, plain(read), 400),
    Target("policies", "policies with edits", lambda: lines_mutated(POLICIES, WORDS), plain(policy), 60),
    Target("policy-documents", "policies of any values", _documents, plain(policy), 60),
    Target("manifests", "manifests of plugins", lambda: mutated(MANIFESTS, SETTINGS), plain(manifest), 200),
]
