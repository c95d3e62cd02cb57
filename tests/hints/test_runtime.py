"""Run-time hints: each mistake with the words that its hint must have, or None where a hint would only guess.

Here is what no mistake of `tests/mistakes/` has. That a sentence of the tables is found, `test_rules.py` shows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import pytest

from safeexec.engine.child.step.errors import report
from safeexec.engine.policy.model import Policy
from safeexec.engine.policy.plans import language_plan
from safeexec.protocol.plan import ImportPlan, LanguagePlan
from tests.hints.running import PLAN, WORKSPACE, answer
from tests.untrusted.doubling import SLACK, growth

CALCULATOR = language_plan(Policy.load("calculator"))


def hint_of(source: str, plan: LanguagePlan = PLAN, files: Sequence[str] = ()) -> str | None:
    """Return the hint for a step that fails, or None."""
    return answer(source, plan=plan, files=files)[2] or None


NAMES = [
    pytest.param(*("clear_output()", "from IPython.display import clear_output"), marks=pytest.mark.modules("IPython")),
    ("x = null", "`None`"),
    ("helper()\ndef helper(): pass", "line 2"),
    ("class A:\n  def a(self): return b()\n  def b(self): pass\nA().a()", "`self.b`"),
    ("print(quxbaz)", "put quotes around it"),
    ("input_data.strip()", "assign it first."),
    ("i + 1", "assign it first"),
]
MISSPELT = {
    "squrt(2)": "from math import sqrt", "Sqrt(2)": "from math import sqrt", "SQRT(2)": "from math import sqrt",
    "PI": "from math import pi", "factoral(5)": "from math import factorial", "fraction(1, 2)": "import Fraction",
    "prnt(1)": "`print`", "rnage(3)": "`range`", "Print(1)": "`print`", "summ([1])": "`sum`", "lenght([1])": "len(x)",
    "parse_int('3')": "int(text)", "parseint('3')": "int(text)", "consol.log(3)": "print(...)", "NUll": "`None`",
    "modulo(3, 2)": "x % y", "solve(x)": "formula", "limit(x)": "numerically", "var([1, 2])": "variance",
    "count([1], 1)": "values.count", "maths.sqrt(2)": "import math", "system('ls')": "no shell commands",
    "Ture": "`True`", "fact0rial(5)": "from math import factorial",
}  # fmt: skip
NOBODYS = """
    undefined_var variable stdin_ windows documents processes mapped contains writer strings arrays vectors modulo
    last main point item lists sets tuples count length size system mean undef printer('a') main() point(1,2)
    writer.x men([1]) contains('a') sort([1]) variable(1) items[0] result total average data value values text
    name
"""
ON_PURPOSE = [
    ("raise ValueError('day is out of range for month')", None),
    ("def f(): raise KeyError('x')\nf()", None),
    ("assert 1 == 2", None),
    ("eval('unit price + 1')", None),  # no query of pandas, whose words are the same but for `<unknown>`
    ("class StatisticsError(Exception): pass\ndef f(): raise StatisticsError('at least one')\nf()", None),
]


@pytest.mark.parametrize(("source", "words"), [*NAMES, *ON_PURPOSE])
def test_plain_python(source: str, words: str | None) -> None:
    hint = hint_of(source)
    assert hint is None if words is None else words in (hint or "")


@pytest.mark.parametrize(("source", "words"), MISSPELT.items())
def test_a_slip_leads_to_what_was_meant(source: str, words: str) -> None:
    assert words in (hint_of(source, CALCULATOR) or "")


@pytest.mark.parametrize("source", NOBODYS.split())
def test_a_word_that_looks_like_a_function_is_not_taken_for_it(source: str) -> None:
    """No hint but that the name has no value."""
    name = re.match(r"\w+", source)[0]
    assert (hint_of(source, CALCULATOR) or "").startswith(
        (f"Nothing is called `{name}`", f"No function or class is called `{name}`")
    )


@pytest.mark.parametrize(
    ("name", "files", "words"),
    [
        ("sales-2024.csv", ("sales_2024.csv", "notes.txt"), "`sales_2024.csv`"),
        ("data/sales.csv", ("sales.csv",), "'sales.csv'"),
        ("weight.npy", ("weights.npy", "weight_log.txt"), "`weights.npy`"),
        ("other.csv", ("a.csv", "b.csv"), "`a.csv` and `b.csv`"),
    ],
)
def test_missing_files(name: str, files: tuple[str, ...], words: str) -> None:
    assert words in (hint_of(f"open({name!r})", WORKSPACE, files) or "")


def test_the_policy_s_own_hint_wins() -> None:
    own = "Call `fetch_price(item)`; `open(name)` is for others."  # as it is, whatever the policy refuses
    assert hint_of("price", LanguagePlan(imports=PLAN.imports, hints={"price": own})) == own


def test_no_import_is_recommended_that_is_refused() -> None:
    plan = LanguagePlan(imports=PLAN.imports, refused_constructs={"import": "p.yaml:1"})
    for source in ("math.sqrt(2)", "sqrt(2)", "Math.sqrt(2)", "datetime.now()", "np.zeros(3)"):
        assert "import" not in (hint_of(source, plan) or ""), source
    plan = LanguagePlan(imports={"math": ImportPlan()})
    assert "statistics" not in (hint_of("import math\nmath.mean([1])", plan) or "")
    assert "import numpy" not in (hint_of("np.zeros(3)", plan) or "")
    assert "import" not in (hint_of("Counter('a')", plan) or "")


REFUSED_PARTS = {
    "float('abc')": "pd.to_numeric",
    "(1, 2).describe()": "pd.DataFrame",
    "b'\\x00\\xff'.decode()": "open(",
    "async def f(): return 1\nf() + 1": "asyncio.run",
}
"""What fails → what one of two policies allows of its hint."""


@pytest.mark.parametrize(("source", "part"), REFUSED_PARTS.items())
def test_no_part_of_a_hint_is_refused(source: str, part: str) -> None:
    assert part in (hint_of(source) or "")
    hint = hint_of(source, LanguagePlan(imports={"math": ImportPlan()}, builtins=PLAN.builtins - {"open"}))
    assert hint
    assert part not in hint


@pytest.mark.parametrize("name", ["__class__", "__dict__", "colour"])
def test_objects_of_the_guest_are_not_asked(name: str) -> None:
    """Looking for the nearest attribute calls no property and no `__getattr__` of the guest's class."""
    source = (
        "asked = []\n"
        "class A:\n"
        f"    {name} = property(lambda self: asked.append(1))\n"
        "    def __dir__(self): asked.append(2); return []\n"
        "a = A()\n"
        "a.color\n"
    )
    names: dict = {"__name__": "__main__"}
    with pytest.raises(AttributeError) as caught:
        exec(compile(source, "<step 1>", "exec"), names)
    report(caught.value, sources={"<step 1>": source}, namespace=names, plan=PLAN)
    assert names["asked"] == []


def nested(depth: int, line: str) -> str:
    """A step in which so many functions are nested, with as many more lines, and one that fails."""
    inside = f"{' ' * depth}a = b\n" * (150 * depth)
    return "".join(f"{' ' * at}def f():\n" for at in range(depth)) + f"{inside}\n{line}"


def looped(depth: int, line: str) -> str:
    """The same of comprehensions, each of which loops over the next."""
    inside = "[0 for a in " * depth + f"[{'b, ' * 400 * depth}]" + "]" * depth
    return f"f = lambda: {inside}\n{line}"


@pytest.mark.parametrize(("make", "line"), [(nested, "missing"), (looped, "list(5)")])
def test_nested_code_is_looked_at_once(make: Callable[[int, str], str], line: str) -> None:
    assert growth(hint_of, lambda depth: make(depth, line), 4, 64) < SLACK


def test_so_much_of_the_steps_before_is_parsed() -> None:
    """4 MiB of them took as long as a step may."""
    sources = {"<step 1>": "def f():\n    value = 1", "<step 3>": "value"}
    with pytest.raises(NameError) as caught:
        exec(compile("value", "<step 3>", "exec"), names := {"__name__": "__main__"})
    for between, is_told in (("", True), ("# value " * 40_000, False)):
        steps = {"<step 1>": sources["<step 1>"], "<step 2>": between, "<step 3>": sources["<step 3>"]}
        hint = report(caught.value, sources=steps, namespace=names, plan=PLAN).hint or b""
        assert (b"local variable of the function" in hint) == is_told
