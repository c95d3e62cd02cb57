# domain: types
"""Dispatch on the first argument, and what it refuses."""

from functools import singledispatch, singledispatchmethod
import functools


@singledispatch
def f(x):
    return "base"


@f.register
def _(x: int):
    return "int"


@f.register(str)
def s(x):
    return "str"


@f.register
def _(x: "float"):
    return "float"


@f.register
def _(x: list | tuple):
    return "seq"


print(f(1), f("a"), f(1.0), f([]), f(()), f(None))
for bad in (lambda: f.register(3), lambda: f(), lambda: f.register("a")):
    try:
        print(bad())
    except Exception as e:
        print(type(e).__name__, e)


def badann(x: 3):
    return 1


try:
    f.register(badann)
except TypeError as e:
    print(e)


def bad2(x: "list[int]"):
    return 1


try:
    f.register(bad2)
except TypeError as e:
    print(e)


def bad3(x: "int | list[str]"):
    return 1


try:
    f.register(bad3)
except TypeError as e:
    print(e)
print(f.__name__, f.registry.keys(), f.dispatch(bool).__name__)


class A:
    @singledispatchmethod
    def g(self, x):
        return "base"

    @g.register
    def _(self, x: int):
        return "int"

    @singledispatchmethod
    @classmethod
    def h(cls, x):
        return "cbase"

    @h.register(int)
    @classmethod
    def _(cls, x):
        return "cint"


print(A().g(1), A().g("s"), A.h(1), A.h("x"))
try:
    A().g()
except Exception as e:
    print(type(e).__name__, e)
try:
    singledispatchmethod(3)
except Exception as e:
    print(type(e).__name__, e)
print(A.g, type(A.__dict__["g"]).__name__, A().g) if False else None
print(repr(f).split(" at ")[0], type(f).__name__)
