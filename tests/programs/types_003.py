# domain: types
"""The types of functions and builtins, asked for in every way."""

import types, collections.abc, typing, functools


def f():
    pass


print(type(f) is types.FunctionType, type(f) == types.FunctionType, type(lambda: 0) is types.LambdaType)
print(types.FunctionType is types.LambdaType)
print([isinstance(function, types.BuiltinFunctionType) for function in (sum, len, f)])
for g in (globals, locals, vars, dir, len, sorted, callable):
    print(g.__name__, type(g), isinstance(g, types.BuiltinFunctionType), isinstance(g, types.FunctionType), callable(g))
print(issubclass(types.FunctionType, collections.abc.Callable), isinstance(types.FunctionType, type))
print(types.FunctionType.__name__, repr(types.FunctionType), isinstance(f, types.FunctionType))
print(issubclass(type(f), types.FunctionType), issubclass(types.FunctionType, object))
print({types.FunctionType: 1}[type(f)])
d = functools.singledispatch(lambda x: "other")


@d.register(types.FunctionType)
def _(x):
    return "function"


print(d(f), d(1))
print(type(f), type(len))
import math

match f:
    case types.FunctionType():
        print("matched")
print(typing.get_type_hints(f))
print(types.FunctionType.__mro__, types.FunctionType.__bases__, types.FunctionType.__module__)
print(isinstance(f, (int, types.FunctionType)), isinstance(f, types.FunctionType | None))
print(type(f).__name__, hasattr(f, "__call__"))
print(list(map(type, [f, len, f.__get__(1), [].append, str.join, int.__add__, (1).__add__])))


def sort_key(v):
    return isinstance(v, (types.FunctionType, types.BuiltinFunctionType, types.MethodType))


print([sort_key(v) for v in (f, len, sum, callable, 1)])
try:
    types.FunctionType()
except TypeError as e:
    print(type(e).__name__)
