# proves: prints ESCAPED pid; a descriptor answers the guard and the interpreter differently

import json
class Late:
    reads = 0
    def __get__(self, value, cls):
        Late.reads += 1
        return ("__globals__",) if Late.reads > 1 else ()
class Any(type):
    def __instancecheck__(cls, value):
        return True
class P(metaclass=Any):
    __match_args__ = Late()
match json.dumps:
    case P(g):
        print("ESCAPED", g["__builtins__"]["__import__"]("os").getpid())
