import types
import inspect
def f(): pass
async def c(): pass
def g(): yield
class A:
    def m(self): pass
    @staticmethod
    def s(): pass
for thing in (f, lambda: 0, c, g, A.m, A().m, A.s, len, print, getattr, [].append, A):
    print(type(thing).__name__, isinstance(thing, types.FunctionType), isinstance(thing, types.BuiltinFunctionType),
          isinstance(thing, types.MethodType), inspect.isroutine(thing), callable(thing))
print(type(f) is types.FunctionType is types.LambdaType)
