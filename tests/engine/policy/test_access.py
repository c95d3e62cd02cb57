"""May guest code import this module, write this name? The nearest line decides, then the words, then the tables."""

from __future__ import annotations

import pytest

from safeexec.engine.policy.access import module_access, name_access
from safeexec.protocol.plan import ImportPlan, LanguagePlan


def plan(workspace: str = "none", **imports: ImportPlan | str) -> LanguagePlan:
    """A plan of these lines: ``all``, a list of names, or a list of what is taken away, after a minus sign."""
    lines = {
        name.replace("_", "."): line if isinstance(line, ImportPlan) else lines_of(line)
        for name, line in imports.items()
    }
    return LanguagePlan(imports=lines, workspace=workspace, rules={"imports": "p.yaml:1"})


def lines_of(text: str) -> ImportPlan:
    if text == "all":
        return ImportPlan(rule="p.yaml:2")
    names = frozenset(text.removeprefix("-").split())
    return ImportPlan(refused=names, rule="p.yaml:2") if text[0] == "-" else ImportPlan(names, rule="p.yaml:2")


@pytest.mark.parametrize(
    ("lines", "module", "allowed"),
    [
        ({"numpy": "all"}, "numpy.random", True),
        ({"numpy": "all"}, "numpyx", False),
        ({"numpy_random": "all"}, "numpy", True),  # the way down
        ({"numpy_random": "all"}, "numpy.linalg", False),
        ({"numpy": "-random"}, "numpy.random.mtrand", False),
        ({"numpy": "-random", "numpy_random": "all"}, "numpy.random.mtrand", True),
        ({"stdlib": "all"}, "difflib", True),
        ({"stdlib": "all"}, "socket", False),
        ({"stdlib": "all"}, "multiprocessing.pool", False),
        ({"stdlib": "all", "socket": "all"}, "socket", True),
        ({"stdlib": "-difflib"}, "difflib", False),
        ({"stdlib": "-xml.dom"}, "xml.dom.minidom", False),
        ({"any": "all"}, "socket", True),
        ({"any": "all", "stdlib": "all"}, "ctypes", True),
        ({"any": "-requests", "stdlib": "all"}, "requests.sessions", False),
        ({"http": "all"}, "http.client", False),  # a row of its own is opened by its own name
        ({"http": "all", "http_client": "all"}, "http.client", True),
        ({"os": "path"}, "os.path", True),
        ({"os": "path"}, "posixpath", True),
        ({}, "__future__", True),
    ],
)
def test_modules(lines: dict[str, str], module: str, allowed: bool) -> None:
    answer = module_access(module, plan(**lines))
    assert answer.allowed == allowed
    assert answer.rule or module == "__future__"
    assert bool(answer.reason) is not allowed


@pytest.mark.parametrize(
    ("lines", "name", "allowed"),
    [
        ({"math": "pi"}, "math.pi", True),
        ({"math": "pi"}, "math.tau", False),
        ({"math": "-pi"}, "math.pi", False),
        ({"numpy": "-random.seed"}, "numpy.random.seed", False),
        ({"os": "all"}, "os.system", False),
        ({"os": "system"}, "os.system", True),  # listed by its name
        ({"os": "all"}, "os.a_name_of_tomorrow", True),
        ({"posix": "all", "os": "all"}, "posix.system", False),
        ({"stdlib": "all"}, "os.system", False),
        ({"stdlib": "-json.dumps"}, "json.dumps", False),
        ({"numpy_random": "all"}, "numpy.zeros", False),  # of the way down nothing else
        ({"numpy_random": "all"}, "numpy.random", True),
    ],
)
def test_names(lines: dict[str, str], name: str, allowed: bool) -> None:
    module, _, leaf = name.rpartition(".")
    answer = name_access(module, leaf, plan(**lines))
    assert answer.allowed == allowed
    assert answer.rule and bool(answer.reason) is not allowed


def test_a_refused_row_tells_its_kind() -> None:
    opened = plan(stdlib="all")
    assert (module_access("socket", opened).tag, name_access("os", "system", opened).tag) == ("network", "process")
    assert name_access("os", "listdir", opened).tag == "files"


def test_none_is_told_with_its_line() -> None:
    own = LanguagePlan(imports={}, rules={"imports": "p.yaml:1", "imports.random": "p.yaml:4"})
    assert module_access("random", own) == (False, "the policy says `none` there", "p.yaml:4", "")
    assert module_access("math", own).rule == "p.yaml:1"
