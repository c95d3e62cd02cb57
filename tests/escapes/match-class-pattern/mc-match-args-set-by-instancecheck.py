# id: mc-match-args-set-by-instancecheck
# class: match-class-pattern
# expect: blocked-at-run
# layer: language
# proves: prints ESCAPED pid; __match_args__ changes between the guard's look and the match
# severity: escape
# oracle: marker

import json
class Any(type):
    def __instancecheck__(cls, value):
        cls.__match_args__ = ("__globals__",)
        return True
class P(metaclass=Any):
    __match_args__ = ()
match json.dumps:
    case P(g):
        print("ESCAPED", g["__builtins__"]["__import__"]("os").getpid())
