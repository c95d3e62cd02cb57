# domain: types
"""Names that programs use: coroutines, scanners, members of an enum as names, compiled text."""

import types, re, copy, random, enum, json.decoder, json


@types.coroutine
def g():
    x = yield 1
    return x


async def f():
    return await g()


c = f()
print(c.send(None))
try:
    c.send(5)
except StopIteration as e:
    print(e.value)
print(re.Scanner([(r"\d+", lambda s, t: int(t)), (r"\s+", None), (r"\w+", lambda s, t: t)]).scan("a 12 b"))
print(copy.error is copy.Error, random.TWOPI)


@enum.global_enum
class Color(enum.Enum):
    RED = 1
    BLUE = 2


print(RED, repr(BLUE), Color.RED is RED)


print(json.decoder.scanstring('abc"', 0, True))
exec("z = 3")
print(z, eval("z + 1"))
code = compile("z * 2", "<f>", "eval")
print(eval(code))
import ast

t = ast.parse("1 + 2", mode="eval")
print(eval(compile(t, "x", "eval")))
ns = {}
exec(compile("def h(): return 7", "f.py", "exec"), ns)
print(ns["h"]())
