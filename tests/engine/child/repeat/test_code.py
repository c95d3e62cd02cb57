"""What the code of a step names, as this CPython spells it."""

from __future__ import annotations

import dis
import inspect
from collections.abc import Iterator
from types import CodeType

from safeexec.engine.child.repeat.code import named
from tests.test_programs import programs

KINDS = "\n".join(
    [
        *(f"n{number} = n{number}.o{number}" for number in range(300)),
        "import a.b, c\nfrom d import e as f, g\nclass K(B):\n    x: int = 3\n    def m(self):\n        global q",
        "        q = super().foo.bar; del q\n        self.z = 1; del self.z\n        return super().foo(1), self.v(2)",
        "    y = x\ndel K\nasync def z():\n    async with k: await v.c\nmatch a:\n    case Foo(bar=1): pass",
    ]
)
SOURCES = [KINDS, inspect.getsource(dis), *("\n".join(program.steps) for program in programs())]


def codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes(constant)


def test_names_are_those_that_dis_tells() -> None:
    seen: set[str] = set()
    for source in SOURCES:
        try:
            whole = compile(source, "source", "exec", dont_inherit=True)
        except SyntaxError:
            continue
        for code in codes(whole):
            told = [(one.argval, one.opname) for one in dis.get_instructions(code) if one.opcode in dis.hasname]
            assert list(named(code)) == told
            seen.update(does for _, does in told)
    assert len(seen) >= 10
