"""What is repeated comes out the same: the whole namespace, after every step that the child calls repeatable."""

from __future__ import annotations

import ast
from collections.abc import Callable

import pytest

from safeexec import Display, Sandbox, Session
from tests.footprint import until
from tests.test_programs import Program, programs

pytestmark = pytest.mark.profile("confined-python")

DUMP = """
def _shown(value):
    import re, types
    if isinstance(value, types.GeneratorType):
        frame = value.gi_frame
        value = frame and (frame.f_lasti, frame.f_locals)
    elif isinstance(value, types.FunctionType):
        value = value.__code__.co_code, [cell.cell_contents for cell in value.__closure__ or ()], value.__defaults__
    elif type(value).__module__ == "__main__" and hasattr(value, "__dict__"):
        value = type(value).__name__, vars(value)
    try:
        return re.sub(" at 0x[0-9a-f]+", "", repr(value))[:10_000]
    except Exception as error:
        return type(error).__name__
def _all():
    import random
    held = {name: value for name, value in globals().items() if not name.startswith("__")}
    return [*(f"{name} {_shown(value)}" for name, value in held.items()), f"random {hash(random.getstate())}"]
_all()
"""
"""Gives the whole namespace, as lines in which nothing hangs on addresses but the order of sets. The digest that a
session compares by itself goes deeper.
"""


def namespace(session: Session) -> list[str]:
    (branch,) = session.branch(checkpoints="off")
    with branch:
        result = branch.run(DUMP)
        assert result.ok and not result.truncated, result
        return list(result.value)


def split(program: Program) -> list[str]:
    """The steps of a session; of one text, three statements each."""
    if len(program.steps) > 1:
        return list(program.steps)
    text = program.steps[0]
    lines, body = text.splitlines(), ast.parse(text).body
    starts = [min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))]) for node in body[::3]]
    ends = [start - 1 for start in starts[1:]] + [len(lines)]
    return ["\n".join(lines[start - 1 : end]) for start, end in zip(starts, ends, strict=True)]


def depth(session: Session) -> int:
    """How many steps would be repeated to have the state."""
    return session._core.processes.history.current.memory.depth


def check_repeated(session: Session, what: str) -> None:
    """The state is the same after the steps of its journal have been repeated."""
    if depth(session):
        before = namespace(session)
        steps = session._core.steps.number
        session.run("0").check()
        assert session._core.steps.number == steps + 1
        session.rollback()
        after = namespace(session)
        assert session._core.processes.copying.repeats and session._core.processes.runner is not None, f"{what}: lost"
        assert after == before, f"{what}: {[pair for pair in zip(before, after, strict=False) if pair[0] != pair[1]]}"


ORDINARY = [program for program in programs() if not program.needs]


@pytest.mark.parametrize(
    "program",
    [
        pytest.param(program, id=program.name, marks=[pytest.mark.slow] if number % 3 else [])
        for number, program in enumerate(ORDINARY)
    ],
)
def test_every_step_of_ordinary_programs_comes_out_the_same(sandbox: Sandbox, program: Program) -> None:
    with sandbox.session() as session:
        steps = split(program)
        for number, source in enumerate(steps, 1):
            session.run(source)
            if number % 2 == 0 or number == len(steps):  # what is repeated then is the step before as well
                check_repeated(session, f"{program.name}, step {number}")


COMPARED = """
class P:
    def __init__(self, x): self.x = x
    def __eq__(self, other): return self.x == other.x
"""
DIRECTED = {
    "a generator half-way": [
        "def count():\n    n = 0\n    while True:\n        yield n\n        n += 1",
        "g = count()",
        *["[next(g) for _ in range(3)]"] * 2,
    ],
    "random": [
        "import random",
        "random.seed(7)\nx = random.random()",
        "y = [random.random() for _ in range(5)]",
        "z = random.choice(y)",
    ],
    "the last value": ["1 + 1", "_ * 2", "x = _ + 1", "x"],
    "an error half-way": ["x = [1]", "x.append(2)\nx.append(1 / 0)\nx.append(3)", "x.append(4)"],
    "sets of text": [
        "s = set()",
        "for n in range(500):\n    s.add(str(n))",
        "t = list(s)",
        "s.discard('7')",
        "u = list(s)",
    ],
    "dataclasses in sets": [
        "from dataclasses import dataclass\n@dataclass(frozen=True)\nclass P:\n    x: int\n    y: int",
        "points = {P(x, y) for x in range(10) for y in range(10)}",
        "order = [p.x for p in points]",
    ],
    "monkeypatches": ["import math", "math.sqrt = lambda x: -x", "y = math.sqrt(4)", "z = y + math.sqrt(9)"],
    "sets of objects by value": [
        f"from fractions import Fraction\n{COMPARED}    def __hash__(self): return hash((self.x,))",
        "x = [p.x for p in {P(n) for n in range(20)} | {P(Fraction(1, n)) for n in range(1, 20)}]",
    ],
    "views": [
        "class A:\n    d = {'a': 1}\n    def keys(self):\n        return self.d.keys()",
        "x = A().keys() - {'b': 1}.keys()",
    ],
    "sets in a program with classes": [
        "class Matrix:\n    def __init__(self, rows):\n        if len({len(row) for row in rows}) != 1:\n"
        "            raise ValueError('ragged')\n        self.rows = rows",
        "m = Matrix([[1, 2], [3, 4]])",
        "seen = {str(n) for row in m.rows for n in row}\norder = list(seen)",
    ],
    "random numbers of a new child": ["import random", "x = [random.random() for _ in range(700)]"],
    "positional patterns": [
        "class P:\n    __match_args__ = ('x', 'y')\n    def __init__(self, x, y):\n        self.x, self.y = x, y",
        "match P(1, [2]):\n    case P(x, y):\n        y.append(x)",
    ],
    "sets that a library makes empty": [
        "from collections import defaultdict\nfrom dataclasses import dataclass, field\n"
        "@dataclass\nclass Node:\n    name: str\n    tags: set = field(default_factory=set)",
        "graph = defaultdict(set)\nfor n in range(50):\n    graph[n % 7].add(str(n))",
        "node = Node('a')\nnode.tags.update('bcd')\norder = [*node.tags, *graph[3]]\nprint(type(node))",
    ],
}


@pytest.mark.parametrize("steps", DIRECTED.values(), ids=DIRECTED.keys())
def test_what_is_hard_to_do_once_more_comes_out_the_same(sandbox: Sandbox, steps: list[str]) -> None:
    """On a busy machine a journal may be full before its last step, by what that takes of the processor; as long as the
    zygote has not imported what an error needs, each child imports it: 18 ms on CPython 3.15, and 20 fill a journal.
    """
    until(lambda: is_journalled(sandbox, steps))


def is_journalled(sandbox: Sandbox, steps: list[str]) -> bool:
    with sandbox.session() as session:
        for number, source in enumerate(steps, 1):
            session.run(source)
            if depth(session) != number:
                return False
        check_repeated(session, "all steps")
    return True


KEEPS = "class A:\n    def __init__(self, x): self.x = x"
COPIED = {
    "a clock": ["import time", "t = time.time()"],
    "a clock that was stored": ["import time\nclock = time.time", "clock()"],
    "a clock in a function": ["import time\ndef now():\n    return time.time()", "x = 1", "now()"],
    "a clock in a closure": ["import time\ndef make(f):\n    return lambda: f()\nnow = make(time.time)", "now()"],
    "a clock under another name in a list": ["import time\nl = [time.time]", "k = l", "k[0]()"],
    "a clock by its class": ["from datetime import datetime", "datetime.now()"],
    "entropy": ["import secrets", "secrets.token_hex()"],
    "a seed of its own": ["import random", "r = random.Random()"],
    "a seed of nothing": ["import random", "random.seed()"],
    "an address": ["x = id([])"],
    "a hash": ["x = hash('a')"],
    "an address that is shown": ["class A: pass\na = A()", "a"],
    "an address that is printed": ["class A: pass\na = A()", "print([a])"],
    "an address that is kept": ["class A: pass\na = A()", "text = str(a)"],
    "a set of objects": ["class A: pass", "s = {A() for _ in range(5)}"],
    "an old set that takes an object": ["class A: pass", "s = set()", "s.add(A())"],
    "an order by texts that show addresses": ["class A: pass", "order = sorted([A(), A()], key=str)"],
    "a file": ["f = open('a.txt', 'w')"],
    "a finalizer": ["class A:\n    def __del__(self):\n        print('gone')", "a = A()", "del a"],
    "a weak reference": ["import weakref", "x = 1"],
    "an await": ["import asyncio", "await asyncio.sleep(0)"],
    "computed code": ["eval('1 + 1')"],
    "a computed name": ["import datetime", "name = 'n' + 'ow'", "getattr(datetime.datetime, name)()"],
    "an address in a text in a list": ["class A: pass", "texts = [f'{A()}' for _ in range(500)]"],
    "the end of an address": ["class A: pass", "text = repr(A())[-13:]"],
    "identities in a memo": [
        "class A:\n    def __deepcopy__(self, memo):\n        self.memo = [*memo]\n        return self",
        "import copy\nb = copy.deepcopy([A(), [1]])",
    ],
    "an address by a percent sign": ["class A: pass", "texts = ['%s' % A() for _ in range(500)]"],
    "a clock by a pattern": ["import datetime as d\nmatch d.datetime:\n    case object(now=f): pass\nt = str(f())"],
    "a clock by its name": ["import datetime as d, operator\nt = str(operator.methodcaller('now')(d.datetime))"],
    "a clock by a template": ["import datetime as d\nt = '{0.datetime.now}'.format(d)"],
    "a set that is filled later": [
        "class A: pass",
        "s = set()",
        "def fill(s):\n    for n in range(20):\n        s.add(A())",
        "fill(s)\norder = [type(a).__name__ for a in s]\ns.clear()",
    ],
    "a set of views by an operator of a function, after a view": [
        "for pair in {1: 2}.items():\n    pass",
        KEEPS + "\ndef both(a, b):\n    return a | b",
        "order = [a.x for a in both({A(n): n for n in range(20)}.keys(), ())]",
    ],
    "a set in a function that is older": [
        "def unique(things):\n    return [*{*things}]",
        "class A: pass\nlist_of = [A() for n in range(20)]",
        "order = [list_of.index(a) for a in unique(list_of)]",
    ],
    "a set of a generator that runs on": [
        "things = []\ng = ([*{x, *things}] for x in range(9))",
        "class A: pass\nthings += [A() for n in range(20)]",
        "order = [things.index(a) if type(a) is A else a for a in next(g)]",
    ],
    "a method of the class of sets": [
        "class A: pass\nthings = [A() for n in range(20)]",
        "order = [things.index(a) for a in frozenset().union(things)]",
    ],
    "a set of objects without a class": ["a = [object() for _ in range(20)]", "x = [a.index(b) for b in {*a}]"],
    "a kept set of errors": ["a = {ValueError(n) for n in range(20)}"],
    "entropy by a private name": ["import random", "x = random._urandom(4)"],
    "a function in a dict of its own": [
        "import time\nspace = {'time': time}\nexec('def stamp(): return time.time()', space)\nstamp = space['stamp']",
        "t = stamp()",
    ],
    "a text of a function in a long list": [
        "calls = []\ndef f(x):\n    calls.append(f'{f} {x}')",
        "for n in range(200): f(n)",
    ],
    "a text of a class of its own": ["class A: pass\nclass Name(str): pass\nb = [[]]", "b[0].append(Name(A()))"],
    "an object printed elsewhere": ["import io\nclass A: pass\nbuffer = io.StringIO()", "print(A(), file=buffer)"],
    "functions that fill a set": [
        "def each(functions):\n    todo = set()\n    todo.update(functions)\n    return [f() for f in todo]",
        "order = each([lambda n=n: n for n in range(20)])",
    ],
    "a hash of a text of an object": [
        "class H:\n    def __init__(self, n): self.n = n\n    def __eq__(self, o): return self.n == o.n\n"
        "    def __hash__(self): return hash(self.n)\n"
        "class L:\n    def __init__(self, h): self.h = h\n    def __hash__(self): return hash(f'{self.h}')",
        "order = [l.h.n for l in {L(H(n)) for n in range(20)}]",
    ],
    "a hash that is kept": [
        "class K:\n    def __init__(self): self.h = None\n    def __hash__(self):\n"
        "        if self.h is None: self.h = hash((type(self), 1))\n        return self.h",
        "d = {K(): 1}",
    ],
    "a clock in a loop that imports it last": [
        "for i in range(2):\n    if i:\n        t = now.now().timestamp()\n    from datetime import datetime as now"
    ],
    "a clock in a function that imports something": [
        "def call(d):\n    import math\n    return d.now()",
        "import datetime as d",
        "t = call(d.datetime)",
    ],
    "a text of an object by a mapping": ["class A: pass", "rows = ['{a}'.format_map({'a': A()}) for _ in range(500)]"],
    "a seed that is taken back": ["import random\nr = random.Random(5)", "r.__init__()"],
    "a clock by a computed name in a pattern": [
        "import datetime as d\nclass Day(d.datetime): pass\nday, name = Day(2024, 1, 1), 'NOW'.lower()",
        "Day.__match_args__ = (name,)",
        "match day:\n    case Day(now):\n        t = now().timestamp()",
    ],
    "a clock by a name in a pattern that is older": [
        "import datetime as d\nclass Day(d.datetime): __match_args__ = ('now',)\nday = Day(2024, 1, 1)",
        "match day:\n    case Day(now):\n        t = now().timestamp()",
    ],
    "a clock by a pattern in a function that is older": [
        "def call(day):\n    match day:\n        case object(now=now):\n            return now().timestamp()",
        "import datetime as d",
        "t = call(d.datetime)",
    ],
    "a clock by a name that a decorator is given": [
        "import functools, datetime as d\nname = 'NOW'.lower()",
        "@functools.wraps(d.datetime, assigned=(name,), updated=())\ndef f(): pass",
    ],
    "a finalizer under a computed name": [
        "class A: pass\ndef f(self): print('gone')\nname = '__DEL__'.lower()",
        "setattr(A, name, f)",
        "a = A()",
        "x = 1",
    ],
    "a finalizer under a name in a text": ["class A: pass\nsetattr(A, '__del__', print)", "x = 1"],
    "a number made of a text of an object": [
        "import hashlib\nclass A: pass",
        "n = int(hashlib.md5(f'{A()}'.encode()).hexdigest(), 16) % 97",
    ],
}


def test_what_comes_of_entropy_is_repeated_where_the_entropy_was_copied(sandbox: Sandbox) -> None:
    with sandbox.session() as session:
        session.run("import random\nr, s = random.Random(), random.SystemRandom()").check()
        assert depth(session) == 0
        session.run("x = r.random()").check()
        assert depth(session) == 1
        check_repeated(session, "a number of a generator without a seed")
        session.run("x = s.random()").check()
        assert depth(session) == 0


CLOCK = "import datetime\nclass A:\n    def __repr__(self):\n        return 'A'\na = A()"
COPIED_BY_NAME = {  # a name that the language layer guards counts as what was written
    "a clock by its name": [CLOCK, "a.x = getattr(datetime.datetime, 'now')()"],
    "a clock by a computed name": [CLOCK, "a.x = getattr(datetime.datetime, ''.join(['no', 'w']))()"],
    "a clock by a name in a variable": [CLOCK + "\nn = 'no' + 'w'", "a.x = getattr(datetime.datetime, n)()"],
    "a clock by a name in a function that is older": [
        "def call(d): return getattr(d, 'now')()",
        CLOCK,
        "a.x = call(datetime.datetime)",
    ],
    "a clock by getattr in a list": [CLOCK + "\nl = [getattr]", "a.x = l[0](datetime.datetime, 'now')()"],
    "a clock by eval under another name": [CLOCK + "\ne = eval", "a.x = e('datetime.datetime.n' + 'ow()')"],
    "a set by a name": [
        "class B: pass",
        "bs = [B() for _ in range(300)]",
        "x = [bs.index(b) for b in getattr({1}, 'union')(bs) - {1}]",
    ],
    "a text by a template": ["class B: pass\nt = '{}'", "texts = [t.format(B()) for _ in range(500)]"],
}


@pytest.mark.parametrize(
    ("profile", "steps"),
    [
        pytest.param(profile, steps, id=f"{profile}, {name}")
        for profile, table in (("confined-python", COPIED), ("standard", COPIED_BY_NAME))
        for name, steps in table.items()
    ],
)
def test_what_cannot_be_done_once_more_is_copied(sandbox: Sandbox, steps: list[str]) -> None:
    with sandbox.session() as session:
        for source in steps:
            session.run(source)
        assert depth(session) == 0


@pytest.mark.parametrize("listener", [None, lambda display: None], ids=["unheard", "displays are sent"])
def test_the_stack_is_as_deep_as_the_first_time(sandbox: Sandbox, listener: Callable[[Display], None] | None) -> None:
    deep = "def deep(n=0):\n    try:\n        return deep(n + 1)\n    except RecursionError:\n        return n"
    with sandbox.session() as session:
        session.run(f"{deep}\ndepth = deep()", on_display=listener).check()
        assert depth(session) == 1
        check_repeated(session, "a deep stack")


@pytest.mark.parametrize("by", ["the session", "a branch"])
def test_what_a_look_has_changed_is_in_no_journal(sandbox: Sandbox, by: str) -> None:
    counts = "n = 0\nclass A:\n    def __repr__(self):\n        global n\n        n += 1\n        return 'A'"
    with sandbox.session() as session:
        session.run(counts).check()
        with session.branch()[0] if by == "a branch" else session as looked_at:
            looked_at.run("a = A()").check()
            looked_at.variables()
            looked_at.run("m = n").check()
            seen = looked_at.get("m")
            result = looked_at.run("while True: pass", timeout=0.2)
            assert (result.state, looked_at.get("m")) == ("restored", seen)


def test_a_step_that_comes_out_otherwise_is_lost_and_told(sandbox: Sandbox) -> None:
    """The session is in the state before that step, and from then on every step is copied."""
    with sandbox.session() as session:
        session.run("import time\nx = 0").check()
        session.run("x = 1").check()
        session.run("y = 2").check()
        history = session._core.processes.history
        assert history.current.memory.depth == 2
        entry = history.current.memory.entry
        history.current.memory.entry = type(entry)(entry.request, entry.did + 1)
        result = session.run("1 / 0", atomic=True)
        assert result.state == "diverged" and "step 3 came out otherwise" in result.notes[-1]
        assert "the state of checkpoint 'step 2'" in result.notes[-1]
        assert session.run("x").value == 1 and session.get("y") is None
        session.run("z = 1").check()
        assert depth(session) == 0
        session.rollback()
        assert session.get("z") is None


def test_a_set_made_of_the_keys_of_a_dict_is_looked_at(sandbox: Sandbox) -> None:
    with sandbox.session() as session:
        session.run("class Node: pass\nnodes = [Node() for _ in range(40)]\ndone = {nodes[0]: 1}").check()
        before = depth(session)
        for source in (
            "first = min(dict.fromkeys(nodes).keys() - done, key=id_of)",
            "k = done.keys; left = k() ^ nodes",
        ):
            session.run(f"def id_of(node): return 1\n{source}").check()
            assert depth(session) == 0, source
        session.run("a = 1").check()
        session.run("1 / 0", atomic=True)
        assert before and session.get("a") == 1


def test_a_journal_is_bounded(sandbox: Sandbox) -> None:
    with sandbox.session() as session:
        depths = []
        for _ in range(450):
            session.run("x = 1").check()
            depths.append(depth(session))
        assert max(depths) <= 400
        session.set("y", "a" * 200_000)
        session.run("x = 2").check()
        assert depth(session) == 0
        session.run("sum(range(30_000_000))").check()
        assert depth(session) == 0


def test_what_the_host_sets_is_bounded_without_a_step(sandbox: Sandbox) -> None:
    with sandbox.session() as session:
        for number in range(20):
            session.set(f"x{number}", str(number) * 50_000)
            del session.namespace["x0"]
            session.set("x0", "0" * 50_000)
            assert session._core.processes.history.current.memory.size < 300_000
        assert depth(session) < 10
        session.run("1 / 0", atomic=True)
        assert [session.get(f"x{number}")[:1] for number in range(20)] == [str(number)[0] for number in range(20)]


def test_nothing_outside_happens_twice(sandbox: Sandbox) -> None:
    heard: list[str] = []
    with sandbox.session(record=True) as session:
        session.run("x = 1\nprint('once')", on_stdout=heard.append).check()
        session.run("print('twice')", on_stdout=heard.append).check()
        told = len(list(session.history()))
        assert session.run("x = 2\n1 / 0", atomic=True).stdout == ""
        assert session.run("x").value == 1
        assert "".join(heard) == "once\ntwice\n"
        assert len(list(session.history())) == told + 2
