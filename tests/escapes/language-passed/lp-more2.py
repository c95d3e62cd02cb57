# expect: contained
# layer: kernel
# proves: names of inspect, weakref, contextlib and asyncio that lead on
# severity: primitive
# oracle: drop
# then: reach

import weakref, typing, functools, types, contextlib, inspect, ast, asyncio, logging, string, copy, operator, re, dataclasses, enum, pprint, json, traceback
def tryit(label, f):
    try: print(label, '->', repr(f())[:200])
    except BaseException as e: print(label, 'x', type(e).__name__, str(e)[:110])
# finalize: weakref.finalize._registry / atexit
def g():
    fin = weakref.finalize(set(), len)
    return fin._registry
tryit('finalize registry', g)
tryit('inspect.getdoc', lambda: inspect.getmro(type(json)))
tryit('inspect.Signature.from_callable', lambda: inspect.Signature.from_callable(len))
tryit('inspect BoundArguments', lambda: inspect.getcallargs(lambda x: x, 1))
tryit('inspect getfullargspec', lambda: inspect.getfullargspec(dataclasses.field))
class W: 
    __wrapped__ = len
tryit('__wrapped__', lambda: W().__wrapped__)
tryit('singledispatch registry', lambda: functools.singledispatch(len).registry)
tryit('singledispatch closure', lambda: functools.singledispatch(lambda a: a).register)
tryit('lru_cache wrapped', lambda: functools.lru_cache(re.compile).__wrapped__)
tryit('contextmanager gen', lambda: contextlib.contextmanager(lambda: (yield))().gen)
tryit('contextmanager func', lambda: contextlib.contextmanager(re.compile)().func)
# contextlib recreate
tryit('ExitStack', lambda: contextlib.ExitStack()._exit_callbacks)
# copy: __reduce_ex__ via copy of an object with __reduce_ex__ of guest
class R:
    def __reduce_ex__(self, p): return (getattr, (len, '__self__'))
tryit('copy reduce getattr', lambda: copy.copy(R()))
class R2:
    def __reduce_ex__(self, p): return (types.SimpleNamespace, (), {'a': 1})
tryit('copy state', lambda: copy.copy(R2()))
class R3:
    def __reduce_ex__(self, p): return (lambda: f_, (), (None, {'__globals__': 1}))
def f_(): pass
tryit('copy slots', lambda: copy.copy(R3()))
class NV(ast.NodeVisitor):
    def visit(self, n): return super().visit(n)
tryit('NodeVisitor getattr', lambda: NV().visit)
# NodeVisitor.visit: getattr(self, 'visit_' + node.__class__.__name__)
tryit('logging getattr', lambda: logging.getLogger('x').manager)
tryit('logging root', lambda: logging.getLogger('x').manager.loggerClass)
tryit('asyncio loop', lambda: asyncio.new_event_loop())
tryit('asyncio task get_stack', lambda: None)
async def co(): 
    t = asyncio.current_task(); return t.get_stack()
tryit('task get_stack', lambda: asyncio.run(co()))
async def co2():
    return asyncio.get_running_loop()
tryit('get_coro', lambda: asyncio.run(co2()))
async def co3():
    t = asyncio.current_task(); return t.get_coro()
tryit('get_coro', lambda: asyncio.run(co3()))
async def co4():
    loop = asyncio.get_running_loop(); h = loop.call_soon(len, ()); return h._loop, h._source_traceback, h._context
tryit('handle', lambda: asyncio.run(co4()))
async def co5():
    loop = asyncio.get_running_loop(); return [n for n in dir(loop) if 'sock' in n or 'sub' in n or 'exec' in n][:30]
tryit('loop dir', lambda: asyncio.run(co5()))
async def co6():
    loop = asyncio.get_running_loop(); return loop._ready, loop._default_executor, loop._run_once
tryit('loop priv', lambda: asyncio.run(co6()))
